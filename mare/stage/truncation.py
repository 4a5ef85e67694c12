"""The rows that have an owner, in the order in which siblings stand; and truncation: how many rows of a parent and of an entity
stay, and where they stand then.

The guarantee rests on these caps. Which rows stay is decided inside the entity alone: by the order that the schema names, or
by a keyed hash of the row, whose key is drawn for each fit and never released. A rule that looked at other entities (a global
row number, a sample) would let one entity move another's rows. Every tie is broken by the row itself.

What is sorted is thin (numbers, an order, a hash): the values stay in the table that was read, and are fetched by row.

Whose a row is where the foreign key alone does not say: every row gets one owner, and every copy of a row counts for one
(privacy.md, leaks 7 and 8):
- where two rows share a key, a row that refers to it is made anew for each: whose it is could only be decided by looking at the
  other one, which may be another entity's, and to refuse it would tell that there is such a key;
- a row that references own is made anew for each of them, as the plan counts it: two customers at one address have two;
- an entity by column is one for each value of the column;
- orphans that the schema calls entities get a parent that stands in for the missing one. It is marked unknown: what is above
  an orphan is never counted, and whoever looks up at it sees that nobody is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mare.errors import SourceError
from mare.relational.placing import Index

from .loading import order_columns, staged_columns
from .needs import TableNeeds


def check_entities(connection: duckdb.DuckDBPyConnection, table: str, needs: TableNeeds) -> None:
    """An entity that is there twice is refused: nobody could tell whom to protect. It is the one refusal that depends on values
    (docs/privacy.md, «Not protected»)."""
    for places in needs.uniques:
        keys = [f"k{place}" for place in places]
        there = " AND ".join(f"{key} IS NOT NULL" for key in keys)
        twice = f"SELECT 1 FROM {table} WHERE {there} GROUP BY {', '.join(keys)} HAVING count(*) > 1 LIMIT 1"
        if connection.execute(twice).fetchall():
            named = ", ".join(needs.key[place] for place in places)
            raise SourceError(
                f"table {needs.name!r}: its key ({named}) is not unique, so nobody could be told apart as one entity. "
                "Correct the source, or name the right key in the schema."
            )


def entities_themselves(raw: str) -> str:
    """Every row of the entity table is an entity. Sorted as one parent's they stand by their hashes, which tells nothing."""
    return f"SELECT rowid AS row, 0 AS entity, 0 AS parent FROM {raw}"


def owned_by_parent(raw: str, parent: str, needs: TableNeeds) -> str:
    """The rows that have an owner. A NULL or dangling parent has none: nobody would protect such a row, so it is dropped."""
    join = f"{raw} r JOIN {parent} p ON {needs.joins_parent}"
    return f"SELECT r.rowid AS row, p.entity AS entity, p.place AS parent FROM {join} WHERE NOT p.unknown"


MOST_COPIES, FREE_COPIES = 10, 1_000_000
"""So many copies of each row, and so many besides, are made of rows whose parents share a key."""


def count_shared(connection: duckdb.DuckDBPyConnection, raw: str, parent: str, needs: TableNeeds) -> int:
    """How many copies of rows there are to be because their parents share a key: a true number, hence secret.

    Where the key is none at all (a stay's number within its patient), every row would be everybody's: that is refused, because it
    could not be joined (docs/privacy.md, «Not protected»).
    """
    keys = ", ".join(f"k{place}" for place in needs.refers)
    shared = f"SELECT {keys}, count(*) AS times FROM {parent} WHERE NOT unknown GROUP BY {keys} HAVING times > 1"
    counted = f"SELECT count(*), coalesce(sum(p.times), 0) FROM {raw} r JOIN ({shared}) p ON {needs.joins_parent}"
    ((rows, copies),) = connection.execute(counted).fetchall()
    if copies > MOST_COPIES * rows + FREE_COPIES:
        names = ", ".join(needs.foreign)
        raise SourceError(
            f"table {needs.name!r}: what {names} refers to in {needs.parent!r} is no key there: most rows of different entities "
            "share it. Name the right key in the schema; it may need the entity's own key as well."
        )
    return int(copies) - int(rows)


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
        keys = ", ".join(f"k{place}" for place in owner.link(reference)[1].refers)
        # A reference leads to one row: where several have the key, to the one that is first by what it holds.
        first = f"QUALIFY row_number() OVER (PARTITION BY {keys} ORDER BY h, {_everything(needs)}) = 1"
        parts.append(
            f"SELECT r.row, p.entity AS entity, p.place AS parent, {number} AS owner "
            f"FROM (SELECT rowid AS row, * FROM {raw} {first}) r JOIN {relation} p ON {owner.joins_owner(reference)} "
            "WHERE NOT p.unknown"
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
        owned = f"EXISTS (FROM {noted[needs.parent]} p WHERE {needs.joins_parent})"
    elif needs.owned_by:
        owners = ((noted[table], tables[table].joins_owner(reference)) for table, reference in needs.owned_by)
        owned = " OR ".join(f"EXISTS (FROM {owner} p WHERE {join})" for owner, join in owners)
    else:
        owned = "true"
    connection.execute(f"CREATE TABLE {target} AS SELECT {', '.join(needs.found_by) or '1 AS one'} FROM {raw} r WHERE {owned}")


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
    join = needs.joins_parent
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
    named = count_rows(connection, "missing")
    connection.execute(
        f"CREATE TABLE lone AS SELECT rowid AS row, row_number() OVER (ORDER BY h, {_everything(needs)}) - 1 + {named} AS n "
        f"FROM {raw} r WHERE NOT ({there})"
    )
    added = named + count_rows(connection, "lone")
    _stand_in(connection, needs, chain, entities, added)
    above = count_rows(connection, relation) - added
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
    counts = [count_rows(connection, relation) for relation, _ in chain]
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


def _everything(needs: TableNeeds) -> str:
    return ", ".join(name for name, _, _ in staged_columns(needs))


def count_rows(connection: duckdb.DuckDBPyConnection, relation: str) -> int:
    """How many rows a relation of the staging database has: a true number, hence secret."""
    ((count,),) = connection.execute(f"SELECT count(*) FROM {relation}").fetchall()
    return int(count)


Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class OwnedRows:
    """Rows of one table with their owners, sorted by parent and, among siblings, by the order that the schema names."""

    row: Index
    """Where the values are: the row of the table that was read."""
    entity: Index
    parent: Index
    hash: NDArray[np.uint64]
    """Of each row, the keyed hash of everything that is staged of it."""
    owner: Index | None = None
    """Which of several references owns the row."""
    key: Index | None = None
    """Associative: the code of its public key, or -1."""

    def __len__(self) -> int:
        return len(self.row)

    def take(self, at: Index | Mask) -> OwnedRows:
        taken: dict[str, Any] = {name: None if held is None else held[at] for name, held in vars(self).items()}
        return OwnedRows(**taken)


def sorted_rows(connection: duckdb.DuckDBPyConnection, raw: str, owned: str, needs: TableNeeds) -> OwnedRows:
    """What the query ``owned`` finds (row, entity, parent; owner or vk where there are any), in order.

    Rows that the order leaves equal come by their hash, rows of one hash by all they hold: those that are still equal are the
    same row twice, and either may stand first. The source's own order never decides: another entity could move it.
    """
    orders = order_columns(needs)
    by = ["parent", *(f"{order} ASC NULLS FIRST" for order in orders), "h"]
    table = connection.sql(
        f"SELECT o.*, r.h{''.join(f', r.{order}' for order in orders)} FROM ({owned}) o JOIN {raw} r ON r.rowid = o.row "
        f"ORDER BY {', '.join(by)}"
    ).to_arrow_table()
    numbers = {name: _numbers(table, name) for name in ("row", "entity", "parent", "owner", "vk") if name in table.column_names}
    rows = OwnedRows(
        numbers["row"],
        numbers["entity"],
        numbers["parent"],
        table.column("h").to_numpy().astype(np.uint64),
        numbers.get("owner"),
        numbers.get("vk"),
    )
    tied = _tied(table, ["parent", *orders, "h"])
    return rows if not tied.any() else rows.take(_untied(connection, raw, rows.row, tied, needs))


def _numbers(table: pa.Table, name: str) -> Index:
    return np.asarray(table.column(name).to_numpy(), dtype=np.int64)


def _tied(table: pa.Table, names: list[str]) -> Mask:
    """Whether a row is equal to the one before in all of these columns; NULL equals NULL, and no number is no number."""
    tied = np.zeros(table.num_rows, dtype=np.bool_)
    if table.num_rows < 2:
        return tied
    tied[1:] = True
    for name in names:
        column = table.column(name).combine_chunks()
        if pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
        here, before = column.slice(1), column.slice(0, len(column) - 1)
        equal = pc.or_kleene(pc.equal(here, before), pc.and_(pc.is_null(here), pc.is_null(before)))
        tied[1:] &= np.asarray(pc.fill_null(equal, False))
        if not tied.any():
            break
    return tied


def _untied(connection: duckdb.DuckDBPyConnection, raw: str, row: Index, tied: Mask, needs: TableNeeds) -> Index:
    """An order of the rows in which those of a tie stand by all they hold."""
    run = np.cumsum(~tied)
    among = np.flatnonzero(tied | np.r_[tied[1:], False])
    connection.register("tied_rows", pa.table({"row": np.unique(row[among])}))
    everything = ", ".join(name for name, _, _ in staged_columns(needs)) or "1"
    ranked = f"SELECT t.row, rank() OVER (ORDER BY {everything}) AS rank FROM tied_rows t JOIN {raw} r ON r.rowid = t.row"
    ranks = connection.sql(f"FROM ({ranked}) ORDER BY row").fetchnumpy()
    connection.unregister("tied_rows")
    rank = np.asarray(ranks["rank"], dtype=np.int64)[np.searchsorted(np.asarray(ranks["row"], dtype=np.int64), row[among])]
    order = np.arange(len(row), dtype=np.int64)
    order[among] = among[np.lexsort((rank, run[among]))]
    return order


@dataclass(frozen=True)
class Cuts:
    """How many rows of a table were cut, by what took them. True numbers: for the person who runs the fit,
    never for a released file."""

    unknown_key: int = 0
    """Associative: their public key is not in the public table."""
    multiplicity: int = 0
    max_rows: int = 0
    """Beyond the cap per parent row, wherever the schema has that from."""
    max_per_entity: int = 0
    above: int = 0
    """They depended on a row that was left out."""


def truncate_rows(rows: OwnedRows, needs: TableNeeds) -> tuple[OwnedRows, Cuts]:
    """Enforce the caps: a public key at most ``multiplicity`` times under a parent, at most ``max_rows`` rows, then whole lists
    until the entity's own cap holds. Rows whose public key is not known cannot be unrolled and are dropped."""
    known = rows if rows.key is None else rows.take(rows.key >= 0)
    once = known if known.key is None else known.take(_turns(known, needs, known.parent, known.key) < needs.multiplicity)
    capped = once.take(_turns(once, needs, once.parent) < needs.max_rows)
    kept = capped if needs.max_per_entity is None else capped.take(_whole_lists(capped, needs.max_per_entity))
    left = [len(each) for each in (rows, known, once, capped, kept)]
    return kept, Cuts(*(before - after for before, after in pairwise(left)))


def positions(parent: NDArray[np.integer]) -> Index:
    """Of each row, its place among its siblings: of what is kept, so that "first" and "last" mean the kept rows."""
    return np.arange(len(parent), dtype=np.int64) - _run_starts(parent)


def _turns(rows: OwnedRows, needs: TableNeeds, *groups: Index) -> Index:
    """Of each row, how many of its group are kept before it."""
    last = np.arange(len(rows), dtype=np.int64)
    if needs.keep == "first" and len(groups) == 1:
        return positions(groups[0])
    order: dict[str, NDArray[np.integer]] = {"first": last, "last": -last, "random": rows.hash}
    return turns(order[needs.keep], *groups)


def turns(order: NDArray[np.integer], *groups: NDArray[np.integer]) -> Index:
    """Of each row, how many rows of the same groups come before it. Equals stand as the rows do: by what they hold."""
    sequence = np.lexsort((order, *reversed(groups)))
    change = np.zeros(len(order), dtype=np.bool_)
    for group in groups:
        change[1:] |= group[sequence][1:] != group[sequence][:-1]
    number = np.arange(len(order), dtype=np.int64)
    before = np.empty(len(order), dtype=np.int64)
    before[sequence] = number - np.maximum.accumulate(np.where(change, number, 0))
    return before


def _whole_lists(rows: OwnedRows, most: int) -> Mask:
    """The rows of the lists that fit, taken in the order of a hash of the list: cutting inside one would falsify counts and
    "last"."""
    if not len(rows):
        return np.zeros(0, dtype=np.bool_)
    starts = np.flatnonzero(np.r_[True, rows.parent[1:] != rows.parent[:-1]])
    lengths, entity = np.diff(starts, append=len(rows)), rows.entity[starts]
    order = np.lexsort((np.arange(len(starts)), np.minimum.reduceat(rows.hash, starts), entity))
    total = np.cumsum(lengths[order])
    first = np.r_[True, entity[order][1:] != entity[order][:-1]]
    before = np.where(first, total - lengths[order], 0)
    stays = np.empty(len(starts), dtype=np.bool_)
    stays[order] = total - np.maximum.accumulate(before) <= most
    return np.repeat(stays, lengths)


def _run_starts(ordered: NDArray[np.integer]) -> Index:
    """Of each row, where the run of equal values that it stands in begins."""
    count = len(ordered)
    change = np.zeros(count, dtype=np.bool_)
    change[1:] = ordered[1:] != ordered[:-1]
    return np.maximum.accumulate(np.where(change, np.arange(count, dtype=np.int64), 0)) if count else np.zeros(0, dtype=np.int64)
