"""Ownership and truncation, in SQL on the staged tables: which rows belong to whom, and how many of them stay.

The guarantee rests on these caps. Which rows of a parent stay is decided inside the entity alone: by the order that the
schema names, or by a keyed hash of the row, whose key is drawn for each fit and never released. A rule that looked at
other entities (a global row number, a sample) would let one entity move another's rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mare.errors import SourceError

from .needs import TableNeeds

if TYPE_CHECKING:
    import duckdb


def hash_rows(connection: duckdb.DuckDBPyConnection, source: str, target: str, key: bytes) -> None:
    """Add the keyed hash ``h`` of everything that is staged of a row. Rows with the same hash are the same row twice."""
    columns = [row[0] for row in connection.execute(f"DESCRIBE {source}").fetchall()]
    # Lengths keep ("a", "bc") and ("ab", "c") apart, and NULL from the empty text.
    parts = [f"coalesce(length(CAST({c} AS VARCHAR)) || ':' || CAST({c} AS VARCHAR), '-')" for c in columns]
    text = " || ',' || ".join(["$1", *parts])
    connection.execute(f"CREATE TABLE {target} AS SELECT *, sha256({text}) AS h FROM {source}", [key.hex()])


def check_unique(connection: duckdb.DuckDBPyConnection, table: str, needs: TableNeeds) -> None:
    """A key that two rows share would give a child two owners: refused, because no entity could be told apart."""
    for places in needs.uniques:
        keys = [f"k{place}" for place in places]
        there = " AND ".join(f"{key} IS NOT NULL" for key in keys)
        twice = f"SELECT 1 FROM {table} WHERE {there} GROUP BY {', '.join(keys)} HAVING count(*) > 1 LIMIT 1"
        if connection.execute(twice).fetchall():
            named = ", ".join(needs.key[place] for place in places)
            raise SourceError(
                f"table {needs.name!r}: its key ({named}) is not unique, so the rows that refer to it have no one owner. "
                "Correct the source, or name the right key in the schema."
            )


def place_entities(connection: duckdb.DuckDBPyConnection, hashed: str, target: str) -> None:
    """Every row of the entity table is an entity. Their order is that of the keyed hash: it tells nothing."""
    connection.execute(
        f"CREATE TABLE {target} AS SELECT *, 0 AS parent, 0 AS position, row_number() OVER (ORDER BY h) - 1 AS place, "
        f"row_number() OVER (ORDER BY h) - 1 AS entity, false AS unknown FROM {hashed}"
    )


def own_rows(connection: duckdb.DuckDBPyConnection, hashed: str, parent: str, target: str, needs: TableNeeds) -> None:
    """The rows that have an owner. A NULL or dangling parent has none: nobody would protect such a row, so it is dropped."""
    join = " AND ".join(f"r.f{i} = p.k{place}" for i, place in enumerate(needs.refers))
    connection.execute(
        f"CREATE TABLE {target} AS SELECT r.*, p.entity AS entity, p.place AS parent FROM {hashed} r JOIN {parent} p ON {join} "
        "WHERE NOT p.unknown"
    )


def kept_order(needs: TableNeeds, descending: bool = False) -> str:
    """The order of siblings, as the schema names it; ties are broken by the hash, inside the entity."""
    direction = "DESC NULLS LAST" if descending else "ASC NULLS FIRST"
    columns = [f"o{i} {direction}" for i in range(len(needs.order))]
    return ", ".join([*columns, f"h {direction}"])


def first_to_stay(needs: TableNeeds) -> str:
    """The order in which rows are kept while there is room."""
    return "h" if needs.keep == "random" else kept_order(needs, descending=needs.keep == "last")


def truncate_rows(connection: duckdb.DuckDBPyConnection, owned: str, target: str, needs: TableNeeds) -> None:
    """Enforce the caps: at most ``max_rows`` per parent row, then whole lists until the entity's own cap holds."""
    order = first_to_stay(needs)
    ranked = f"SELECT *, row_number() OVER (PARTITION BY parent ORDER BY {order}) AS rank FROM {owned}"
    kept = f"SELECT * EXCLUDE (rank) FROM ({ranked}) WHERE rank <= {needs.max_rows}"
    if needs.max_per_entity is not None:
        # Whole lists, in the order of a hash of the list: cutting inside one would falsify counts and "last".
        lists = f"SELECT entity, parent, count(*) AS length, min(h) AS lh FROM ({kept}) GROUP BY entity, parent"
        running = f"SELECT parent, sum(length) OVER (PARTITION BY entity ORDER BY lh, parent) AS total FROM ({lists})"
        kept = f"SELECT k.* FROM ({kept}) k JOIN ({running}) l ON k.parent = l.parent WHERE l.total <= {needs.max_per_entity}"
    connection.execute(f"CREATE TABLE {target} AS {kept}")


def place_rows(connection: duckdb.DuckDBPyConnection, kept: str, target: str, needs: TableNeeds) -> None:
    """Positions and places of what is kept: computed after truncation, so that "first" and "last" mean the kept rows."""
    connection.execute(
        f"CREATE TABLE {target} AS SELECT *, row_number() OVER (ORDER BY parent, position) - 1 AS place, false AS unknown FROM "
        f"(SELECT *, row_number() OVER (PARTITION BY parent ORDER BY {kept_order(needs)}) - 1 AS position FROM {kept})"
    )
