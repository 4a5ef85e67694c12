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

from mare.errors import SourceError

from .loading import staged_columns
from .needs import TableNeeds

if TYPE_CHECKING:
    import duckdb


def place_by_column(connection: duckdb.DuckDBPyConnection, raw: str, target: str, key: bytes) -> None:
    """One entity for each value of the foreign key of the table that holds it, in the order of a keyed hash."""
    held = f"SELECT DISTINCT f0 AS k0 FROM {raw} WHERE f0 IS NOT NULL"
    order = "row_number() OVER (ORDER BY hash($1, k0), k0) - 1"
    connection.execute(
        f"CREATE TABLE {target} AS SELECT NULL::BIGINT AS row, k0, 0 AS parent, 0 AS position, {order} AS place, "
        f"{order} AS entity, false AS unknown FROM ({held})",
        [key.hex()],
    )


def check_unique(connection: duckdb.DuckDBPyConnection, table: str, needs: TableNeeds) -> None:
    """A key that two rows share would give a child two owners, or one entity two rows: refused, no entity could be told apart."""
    for places in needs.uniques:
        keys = [f"k{place}" for place in places]
        there = " AND ".join(f"{key} IS NOT NULL" for key in keys)
        twice = f"SELECT 1 FROM {table} WHERE {there} GROUP BY {', '.join(keys)} HAVING count(*) > 1 LIMIT 1"
        if connection.execute(twice).fetchall():
            named = ", ".join(needs.key[place] for place in places)
            why = "the rows that refer to it have no one owner" if needs.owners else "nobody could be told apart as one entity"
            raise SourceError(
                f"table {needs.name!r}: its key ({named}) is not unique, so {why}. Correct the source, or name the right key in "
                "the schema."
            )


def entities_themselves(raw: str) -> str:
    """Every row of the entity table is an entity. Sorted as one parent's they stand by their hashes, which tells nothing."""
    return f"SELECT rowid AS row, 0 AS entity, 0 AS parent FROM {raw}"


def owned_by_parent(raw: str, parent: str, needs: TableNeeds) -> str:
    """The rows that have an owner. A NULL or dangling parent has none: nobody would protect such a row, so it is dropped."""
    join = " AND ".join(f"r.f{i} = p.k{place}" for i, place in enumerate(needs.refers))
    return (
        f"SELECT r.rowid AS row, p.entity AS entity, p.place AS parent FROM {raw} r JOIN {parent} p ON {join} WHERE NOT p.unknown"
    )


def with_public_keys(owned: str, raw: str, vocabulary: str, needs: TableNeeds) -> str:
    """The same rows, each with the code ``vk`` of its public key, -1 where nothing public has it."""
    join = " AND ".join(f"r.a{i} = v.x{i}" for i in range(len(needs.via)))
    return (
        f"SELECT o.*, coalesce(v.code, -1) AS vk FROM ({owned}) o JOIN {raw} r ON r.rowid = o.row "
        f"LEFT JOIN {vocabulary} v ON {join}"
    )


def owned_by_reference(raw: str, needs: TableNeeds, tables: Mapping[str, tuple[str, TableNeeds]]) -> str:
    """A row for every reference that leads to it, placed under the row that refers. What nobody refers to is dropped."""
    parts = []
    for number, (table, reference) in enumerate(needs.owned_by):
        relation, owner = tables[table]
        at, link = owner.link(reference)
        join = " AND ".join(f"r.k{place} = p.r{at}_{i}" for i, place in enumerate(link.refers))
        parts.append(
            f"SELECT r.rowid AS row, p.entity AS entity, p.place AS parent, {number} AS owner FROM {raw} r "
            f"JOIN {relation} p ON {join} WHERE NOT p.unknown"
        )
    return " UNION ALL ".join(parts)


def note_owned(
    connection: duckdb.DuckDBPyConnection,
    raw: str,
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
    connection.execute(f"CREATE TABLE {target} AS SELECT {', '.join([*keys, *linked]) or '1 AS one'} FROM {raw} r WHERE {owned}")


def adopt_orphans(
    connection: duckdb.DuckDBPyConnection,
    raw: str,
    target: str,
    needs: TableNeeds,
    chain: Sequence[tuple[str, TableNeeds]],
    entities: int,
    key: bytes,
    owned: str,
) -> int:
    """The rows with an owner, where rows without one become entities: those that share a dangling key one, each NULL one.

    ``chain`` holds the tables above, the parent first; ``entities`` is how many entities there are; ``owned`` the parent's rows
    before any were cut (`note_owned`). ``target`` is filled as `owned_by_parent` finds rows. Returns how many entities were
    added, numbered from there.
    """
    relation, _ = chain[0]
    foreign = [f"f{i}" for i in range(len(needs.foreign))]
    join = " AND ".join(f"r.{f} = p.k{place}" for f, place in zip(foreign, needs.refers, strict=True))
    there = " AND ".join(f"r.{f} IS NOT NULL" for f in foreign)
    # An unknown parent may be there already: another table may miss the same row.
    dangling = (
        f"SELECT DISTINCT {', '.join(foreign)} FROM {raw} r WHERE {there} AND NOT EXISTS (FROM {relation} p WHERE {join}) "
        f"AND NOT EXISTS (FROM {owned} p WHERE {join})"
    )
    listed = ", ".join(foreign)
    connection.execute(
        f"CREATE TABLE missing AS SELECT *, row_number() OVER (ORDER BY hash($1, {listed}), {listed}) - 1 AS n FROM ({dangling})",
        [key.hex()],
    )
    named = _count(connection, "missing")
    everything = ", ".join(name for name, _, _ in staged_columns(needs))
    connection.execute(
        f"CREATE TABLE lone AS SELECT rowid AS row, row_number() OVER (ORDER BY h, {everything}) - 1 + {named} AS n "
        f"FROM {raw} r WHERE NOT ({there})"
    )
    added = named + _count(connection, "lone")
    _stand_in(connection, needs, chain, entities, added)
    above = _count(connection, relation) - added
    connection.execute(
        f"CREATE TABLE {target} AS SELECT r.rowid AS row, p.entity AS entity, p.place AS parent FROM {raw} r "
        f"JOIN {relation} p ON {join} UNION ALL SELECT row, n + {entities} AS entity, n + {above} AS parent FROM lone"
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
