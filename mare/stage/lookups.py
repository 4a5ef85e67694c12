"""From key values to places: rows of the same entity, and the keys of public tables. A row of another entity is never found,
whatever the key says.

Both sides are joined inside one entity, so a reference that leads out of it is one that leads nowhere (privacy.md, leak 8).
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import numpy as np
import pyarrow as pa

from mare.relational.placing import NOWHERE, STRANGER, Index
from mare.relational.public import Texts

from .needs import Link


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
