"""What goes once the keys of a vocabulary are chosen: rows of the rest that have no place, and all that depends on them.

A second truncation, with the same cascade as the first. Which keys were chosen is a private answer, so that rows go by it
tells nothing; which rows of a group stay is decided inside the parent, by the rows' own hash.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mare.relational.placing import Index
from mare.relational.unrolling import Unrolling

from .staged import Staged, read_table
from .truncation import turns

if TYPE_CHECKING:
    import duckdb


def drop_rest(staged: Staged, table: str, unrolling: Unrolling) -> None:
    """Drop the rows of an association that the rest of its vocabulary has no column, group or row for."""
    held = staged.tables[table]
    if held.key is None or unrolling.rest not in ("drop", "hierarchy"):
        return
    rest = unrolling.slot[held.key] < 0
    if unrolling.rest == "drop":
        keep = np.flatnonzero(~rest)
    else:
        group = np.asarray(unrolling.groups, dtype=np.int64)[held.key]
        keep = np.flatnonzero(~rest | (_times(staged, table, rest, group) < unrolling.multiplicity))
    if len(keep) < len(rest):
        _keep(staged, table, keep.astype(np.int64))


def _times(staged: Staged, table: str, rest: NDArray[np.bool_], group: Index) -> Index:
    """Of each row of the rest, how many of its parent and group come before it, by their hashes."""
    held, parent = staged.tables[table], staged.tables[table].parent
    hashes = np.asarray(staged.connection.sql(f"SELECT h FROM {held.raw}").fetchnumpy()["h"], dtype=np.uint64)[held.row]
    return turns(hashes, rest.astype(np.int64), parent, group)


def _keep(staged: Staged, table: str, places: Index) -> None:
    """Only these places of a table, numbered anew; whatever belongs to the others goes with them."""
    import pyarrow as pa

    connection = staged.connection
    connection.register("staying", pa.table({"old": places, "new": np.arange(len(places))}))
    connection.execute("CREATE TEMP TABLE moved AS SELECT * FROM staying")
    connection.unregister("staying")
    relation = staged.tables[table].relation
    # Rows that references own stand alone; of two references, a place in one table may be that in the other.
    siblings = "t.parent, t.owner" if staged.tables[table].needs.owned_by else "t.parent"
    _replace(
        connection,
        relation,
        f"SELECT t.* EXCLUDE (place, position), m.new AS place, row_number() OVER (PARTITION BY {siblings} ORDER BY t.position) "
        f"- 1 AS position FROM {relation} t JOIN moved m ON t.place = m.old",
    )
    below: dict[str, Index] = {}
    for name, other in staged.tables.items():
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
        found = connection.sql(f"SELECT place FROM {other.relation} ORDER BY place").fetchnumpy()["place"]
        below[name] = np.asarray(found, dtype=np.int64)
    connection.execute("DROP TABLE moved")
    _read(staged, table)
    for name, kept in below.items():
        _keep(staged, name, kept)


def _replace(connection: duckdb.DuckDBPyConnection, relation: str, query: str) -> None:
    """The relation, made anew from itself."""
    connection.execute(f"CREATE TABLE remade AS {query}")
    connection.execute(f"DROP TABLE {relation}")
    connection.execute(f"ALTER TABLE remade RENAME TO {relation}")


def _read(staged: Staged, table: str) -> None:
    old = staged.tables[table]
    rows = len(staged.tables[old.needs.parent].parent) if old.needs.parent is not None else 0
    staged.tables[table] = read_table(staged.connection, old.needs, old.relation, old.raw, rows)
