"""The rows that have an owner, in the order in which siblings stand; and truncation: how many rows of a parent and of an entity
stay, and where they stand then.

The guarantee rests on these caps. Which rows stay is decided inside the entity alone: by the order that the schema names, or
by a keyed hash of the row, whose key is drawn for each fit and never released. A rule that looked at other entities (a global
row number, a sample) would let one entity move another's rows. Every tie is broken by the row itself.

What is sorted is thin (numbers, an order, a hash): the values stay in the table that was read, and are fetched by row.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mare.relational.placing import Index

from .loading import order_columns, staged_columns
from .needs import TableNeeds

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
    """How many rows of a table were cut, by what took them. True numbers: for whoever runs the fit, never for a released file."""

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
