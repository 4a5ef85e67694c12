"""Whose rows they are, where the foreign key alone does not say: rows of one's own, entities by column, orphans.

Every row gets one owner, and every copy of a row counts for one (privacy.md, leaks 7 and 8):
- a row that references own is made anew for each of them, as the plan counts it: two customers at one address have two;
- an entity by column is one for each value of the column;
- orphans that the schema calls entities get a parent that stands in for the missing one. It is marked unknown: what is above
  an orphan is never counted, and whoever looks up at it sees that nobody is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .needs import TableNeeds

if TYPE_CHECKING:
    import duckdb


def place_by_column(connection: duckdb.DuckDBPyConnection, hashed: str, target: str, key: bytes) -> None:
    """One entity for each value of the foreign key of the table that holds it, in the order of a keyed hash."""
    held = f"SELECT DISTINCT f0 AS k0 FROM {hashed} WHERE f0 IS NOT NULL"
    order = "row_number() OVER (ORDER BY sha256($1 || k0)) - 1"
    connection.execute(
        f"CREATE TABLE {target} AS SELECT k0, 0 AS parent, 0 AS position, {order} AS place, {order} AS entity, "
        f"false AS unknown FROM ({held})",
        [key.hex()],
    )


def own_by_reference(
    connection: duckdb.DuckDBPyConnection,
    hashed: str,
    target: str,
    needs: TableNeeds,
    tables: Mapping[str, tuple[str, TableNeeds]],
) -> None:
    """A row for every reference that leads to it, placed under the row that refers. What nobody refers to is dropped."""
    parts = []
    for number, (table, reference) in enumerate(needs.owned_by):
        relation, owner = tables[table]
        at, link = owner.link(reference)
        join = " AND ".join(f"r.k{place} = p.r{at}_{i}" for i, place in enumerate(link.refers))
        parts.append(
            f"SELECT r.*, p.entity AS entity, p.place AS parent, {number} AS owner FROM {hashed} r JOIN {relation} p ON {join} "
            "WHERE NOT p.unknown"
        )
    connection.execute(
        f"CREATE TABLE {target} AS SELECT *, 0 AS position, row_number() OVER (ORDER BY entity, owner, parent) - 1 AS place, "
        f"false AS unknown FROM ({' UNION ALL '.join(parts)})"
    )


def note_owned(
    connection: duckdb.DuckDBPyConnection,
    hashed: str,
    target: str,
    needs: TableNeeds,
    noted: Mapping[str, str],
    tables: Mapping[str, TableNeeds],
) -> None:
    """Keys and references of every row that belongs to somebody, before anything is cut: what tells an orphan from a row whose
    parent a cap took away. Such a row is its entity's still; made an entity of its own it would escape that entity's caps."""
    if needs.parent is not None and needs.orphans == "drop":
        join = " AND ".join(f"r.f{i} = p.k{place}" for i, place in enumerate(needs.refers))
        owned = f"EXISTS (FROM {noted[needs.parent]} p WHERE {join})"
    elif needs.owned_by:
        owners = []
        for table, reference in needs.owned_by:
            at, link = tables[table].link(reference)
            join = " AND ".join(f"r.k{place} = p.r{at}_{i}" for i, place in enumerate(link.refers))
            owners.append(f"EXISTS (FROM {noted[table]} p WHERE {join})")
        owned = " OR ".join(owners)
    else:
        owned = "true"
    keys = [f"k{i}" for i in range(len(needs.key))]
    linked = [f"r{n}_{i}" for n, link in enumerate(needs.links) for i in range(len(link.columns))]
    connection.execute(
        f"CREATE TABLE {target} AS SELECT {', '.join([*keys, *linked]) or '1 AS one'} FROM {hashed} r WHERE {owned}"
    )


def adopt_orphans(
    connection: duckdb.DuckDBPyConnection,
    hashed: str,
    target: str,
    needs: TableNeeds,
    chain: Sequence[tuple[str, TableNeeds]],
    entities: int,
    key: bytes,
    owned: str,
) -> int:
    """The rows with an owner, where rows without one become entities: those that share a dangling key one, each NULL one.

    ``chain`` holds the tables above, the parent first; ``entities`` is how many entities there are; ``owned`` the parent's rows
    before any were cut (`note_owned`). Returns how many were added, numbered from there.
    """
    relation, _ = chain[0]
    foreign = [f"f{i}" for i in range(len(needs.foreign))]
    join = " AND ".join(f"r.{f} = p.k{place}" for f, place in zip(foreign, needs.refers, strict=True))
    there = " AND ".join(f"r.{f} IS NOT NULL" for f in foreign)
    # An unknown parent may be there already: another table may miss the same row.
    dangling = (
        f"SELECT DISTINCT {', '.join(foreign)} FROM {hashed} r WHERE {there} AND NOT EXISTS (FROM {relation} p WHERE {join}) "
        f"AND NOT EXISTS (FROM {owned} p WHERE {join})"
    )
    text = " || ',' || ".join(f"length({f}) || ':' || {f}" for f in foreign)
    connection.execute(
        f"CREATE TABLE missing AS SELECT *, row_number() OVER (ORDER BY sha256($1 || {text})) - 1 AS n FROM ({dangling})",
        [key.hex()],
    )
    named = _count(connection, "missing")
    connection.execute(
        f"CREATE TABLE lone AS SELECT *, row_number() OVER (ORDER BY h) - 1 + {named} AS n FROM {hashed} r WHERE NOT ({there})"
    )
    added = named + _count(connection, "lone")
    _stand_in(connection, needs, chain, entities, added)
    above = _count(connection, relation) - added
    connection.execute(
        f"CREATE TABLE {target} AS SELECT r.*, p.entity AS entity, p.place AS parent FROM {hashed} r JOIN {relation} p ON {join} "
        f"UNION ALL SELECT * EXCLUDE (n), n + {entities} AS entity, n + {above} AS parent FROM lone"
    )
    connection.execute("DROP TABLE missing")
    connection.execute("DROP TABLE lone")
    return added


def _stand_in(
    connection: duckdb.DuckDBPyConnection,
    needs: TableNeeds,
    chain: Sequence[tuple[str, TableNeeds]],
    entities: int,
    added: int,
) -> None:
    """So many unknown rows at the end of every table above, each under the one above it."""
    counts = [_count(connection, relation) for relation, _ in chain]
    for level, (relation, above) in enumerate(chain):
        parent = f"n + {counts[level + 1]}" if level + 1 < len(chain) else "0"
        owner = ", 0 AS owner" if above.owned_by else ""
        keys = ""
        if level == 0:
            keys = ", " + ", ".join(f"m.f{i} AS k{place}" for i, place in enumerate(needs.refers))
        connection.execute(
            f"INSERT INTO {relation} BY NAME SELECT {parent} AS parent, 0 AS position, n + {counts[level]} AS place, "
            f"n + {entities} AS entity, true AS unknown{owner}{keys} "
            f"FROM range({added}) AS numbers(n) LEFT JOIN missing m USING (n) ORDER BY n"
        )


def _count(connection: duckdb.DuckDBPyConnection, relation: str) -> int:
    ((count,),) = connection.execute(f"SELECT count(*) FROM {relation}").fetchall()
    return int(count)
