"""`StagedTable`: where the rows of one truncated table stand; and what their references lead to: rows of the same entity, and
keys of public tables. Both sides are joined inside one entity, so a reference that leads out of it is one that leads nowhere
(privacy.md, leak 8).

And what goes once the keys of a vocabulary are chosen: rows of the rest that have no place, with all that depends on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mare.relational.coding import uncoded_rows
from mare.relational.placing import NOWHERE, STRANGER, Index, Placed
from mare.relational.public import Texts
from mare.relational.unrolling import Unrolling

from .needs import Link, TableNeeds
from .truncation import turns


@dataclass(frozen=True, eq=False)
class StagedTable:
    """One truncated table: where its rows stand, and the database that still holds their values."""

    needs: TableNeeds
    relation: str
    """Where the rows stand, with their keys and references."""
    raw: str
    """What was read, values included, by row."""
    row: Index
    """Of each row, its row there; `NOWHERE` for one that stands in for a missing one."""
    entity: Index
    """Of each row, its entity."""
    parent: Index
    position: Index
    parents: int
    """Rows of the parent table; for the entity table, its own."""
    unknown: NDArray[np.bool_] | None = None
    """Rows that stand in for a missing parent; None where there are none."""
    owner: Index | None = None
    """Of each row, which of several references owns it."""
    key: Index | None = None
    """Associative: of each row, the code of its public key."""

    @property
    def counts(self) -> Index:
        """Children of every parent row, zero included."""
        return np.bincount(self.parent, minlength=self.parents).astype(np.int64)

    @cached_property
    def uncoded(self) -> Placed:
        """The rows in their places, before they have codes."""
        return uncoded_rows(self.parent, self.position, self.counts, self.owner, self.unknown)

    @property
    def counted_rows(self) -> Index:
        """The rows that are counted: all but those that stand in for a missing one."""
        if self.unknown is None:
            return np.arange(len(self.parent), dtype=np.int64)
        return np.flatnonzero(~self.unknown).astype(np.int64)


Tables = Mapping[str, StagedTable]
"""Owners before what they own."""


def read_places(connection: duckdb.DuckDBPyConnection, needs: TableNeeds, relation: str, raw: str, parents: int) -> StagedTable:
    """Where the rows of a placed relation stand."""
    names = ["entity", "parent", "position", "unknown"]
    names += ["owner"] if len(needs.owned_by) > 1 else []
    # What stands in for a missing row has no key; nobody counts it, so any will do.
    asked = [f"coalesce(row, {NOWHERE}) AS row", *names, *(["coalesce(vk, 0) AS vk"] if needs.via else [])]
    arrays = connection.sql(f"SELECT {', '.join(asked)} FROM {relation} ORDER BY place").fetchnumpy()
    entity, parent, position = (np.asarray(arrays[name], dtype=np.int64) for name in names[:3])
    if not needs.owners:
        # An entity has no parent: every row stands alone, as its own.
        parent = np.arange(len(entity), dtype=np.int64)
    unknown = np.asarray(arrays["unknown"], dtype=np.bool_)
    return StagedTable(
        needs,
        relation,
        raw,
        np.asarray(arrays["row"], dtype=np.int64),
        entity,
        parent,
        position,
        parents,
        unknown if unknown.any() else None,
        np.asarray(arrays["owner"], dtype=np.int64) if "owner" in names else None,
        np.asarray(arrays["vk"], dtype=np.int64) if needs.via else None,
    )


def without_rest(connection: duckdb.DuckDBPyConnection, tables: Tables, table: str, unrolling: Unrolling) -> Tables:
    """The tables without the rows of an association that the rest of its vocabulary has no column, group or row for.

    A second truncation, with the same cascade as the first. Which keys were chosen is a private answer, so that rows go by it
    tells nothing; which rows of a group stay is decided inside the parent, by the rows' own hash.
    """
    held = tables[table]
    if held.key is None or unrolling.rest not in ("drop", "hierarchy"):
        return tables
    rest = unrolling.slot[held.key] < 0
    if unrolling.rest == "drop":
        keep = np.flatnonzero(~rest)
    else:
        group = np.asarray(unrolling.groups, dtype=np.int64)[held.key]
        keep = np.flatnonzero(~rest | (_times(connection, held, rest, group) < unrolling.multiplicity))
    return tables if len(keep) == len(rest) else _keep(connection, tables, table, keep.astype(np.int64))


def _times(connection: duckdb.DuckDBPyConnection, held: StagedTable, rest: NDArray[np.bool_], group: Index) -> Index:
    """Of each row of the rest, how many of its parent and group come before it, by their hashes."""
    hashes = np.asarray(connection.sql(f"SELECT h FROM {held.raw}").fetchnumpy()["h"], dtype=np.uint64)[held.row]
    return turns(hashes, rest.astype(np.int64), held.parent, group)


def _keep(connection: duckdb.DuckDBPyConnection, tables: Tables, table: str, places: Index) -> Tables:
    """Only these places of a table, numbered anew; whatever belongs to the others goes with them."""
    connection.register("staying", pa.table({"old": places, "new": np.arange(len(places))}))
    connection.execute("CREATE TEMP TABLE moved AS SELECT * FROM staying")
    connection.unregister("staying")
    old = tables[table]
    # Rows that references own stand alone; of two references, a place in one table may be that in the other.
    siblings = "t.parent, t.owner" if old.needs.owned_by else "t.parent"
    _replace(
        connection,
        old.relation,
        f"SELECT t.* EXCLUDE (place, position), m.new AS place, row_number() OVER (PARTITION BY {siblings} ORDER BY t.position) "
        f"- 1 AS position FROM {old.relation} t JOIN moved m ON t.place = m.old",
    )
    below: dict[str, Index] = {}
    for name, other in tables.items():
        if table not in other.needs.owners:
            continue
        edges = [str(edge) for edge, owner in enumerate(other.needs.owners) if owner == table]
        mine = "true" if other.owner is None else f"c.owner IN ({', '.join(edges)})"
        _replace(
            connection,
            other.relation,
            f"SELECT c.* EXCLUDE (parent), CASE WHEN {mine} THEN m.new ELSE c.parent END AS parent FROM {other.relation} c "
            f"LEFT JOIN moved m ON c.parent = m.old WHERE m.old IS NOT NULL OR NOT ({mine})",
        )
        remaining = connection.sql(f"SELECT place FROM {other.relation} ORDER BY place").fetchnumpy()["place"]
        below[name] = np.asarray(remaining, dtype=np.int64)
    connection.execute("DROP TABLE moved")
    rows = len(tables[old.needs.parent].parent) if old.needs.parent is not None else 0
    tables = {**tables, table: read_places(connection, old.needs, old.relation, old.raw, rows)}
    for name, kept in below.items():
        tables = _keep(connection, tables, name, kept)
    return tables


def _replace(connection: duckdb.DuckDBPyConnection, relation: str, query: str) -> None:
    """The relation, made anew from itself."""
    connection.execute(f"CREATE TABLE remade AS {query}")
    connection.execute(f"DROP TABLE {relation}")
    connection.execute(f"ALTER TABLE remade RENAME TO {relation}")


def load_vocabulary(connection: duckdb.DuckDBPyConnection, relation: str, keys: Sequence[Texts], columns: int) -> None:
    """The public keys as a table: x0, x1 … and their code. Of keys that are compared as one, the first has it."""
    listed = {f"x{i}": pa.array([key[i] for key in keys], type=pa.string()) for i in range(columns)}
    connection.register("listed", pa.table({**listed, "code": pa.array(np.arange(len(keys)))}))
    named = ", ".join(listed)
    connection.execute(f"CREATE TABLE {relation} AS SELECT {named}, min(code) AS code FROM listed GROUP BY {named}")
    connection.unregister("listed")


def add_to_vocabulary(connection: duckdb.DuckDBPyConnection, relation: str, keys: Sequence[str], first: int) -> None:
    """Further keys of one column, with codes from ``first`` on."""
    connection.executemany(f"INSERT INTO {relation} VALUES ($1, $2)", [[key, first + code] for code, key in enumerate(keys)])


def find_rows(
    connection: duckdb.DuckDBPyConnection, relation: str, number: int, link: Link, target: str, *, within: str
) -> Index:
    """Of each row, the place of the row that its reference leads to within the same ``entity`` or ``parent``."""
    keys = [f"k{place}" for place in link.refers]
    # One place for each key: rows of one's own may be there once for every reference to them.
    there = f"SELECT {within}, {', '.join(keys)}, min(place) AS place FROM {target} WHERE NOT unknown GROUP BY ALL"
    join = " AND ".join(f"p.r{number}_{i} = t.{key}" for i, key in enumerate(keys))
    return _ordered(
        connection,
        f"SELECT p.place AS line, coalesce(t.place, {NOWHERE}) AS target FROM {relation} p "
        f"LEFT JOIN ({there}) t ON {join} AND p.{within} = t.{within}",
    )


def find_keys(connection: duckdb.DuckDBPyConnection, relation: str, names: Sequence[str], vocabulary: str) -> Index:
    """Of each row, the code of the public key that these staged columns hold; `STRANGER` where the table does not have it,
    `NOWHERE` where one of them is NULL."""
    join = " AND ".join(f"p.{name} = v.x{i}" for i, name in enumerate(names))
    null = " OR ".join(f"p.{name} IS NULL" for name in names)
    return _ordered(
        connection,
        f"SELECT p.place AS line, coalesce(v.code, CASE WHEN {null} THEN {NOWHERE} ELSE {STRANGER} END) AS target "
        f"FROM {relation} p LEFT JOIN {vocabulary} v ON {join}",
    )


def _ordered(connection: duckdb.DuckDBPyConnection, query: str) -> Index:
    targets = connection.sql(f"SELECT target FROM ({query}) ORDER BY line").fetchnumpy()["target"]
    return np.asarray(targets, dtype=np.int64)
