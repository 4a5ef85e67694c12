"""Associations while staging: the public keys, and rows folded into the columns of their context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mare.relational.public import Texts

if TYPE_CHECKING:
    import duckdb


def load_vocabulary(connection: duckdb.DuckDBPyConnection, relation: str, keys: Sequence[Texts], columns: int) -> None:
    """The public keys as a table: x0, x1 … and their code. Of keys that are compared as one, the first has it."""
    import pyarrow as pa

    listed = {f"x{i}": pa.array([key[i] for key in keys], type=pa.string()) for i in range(columns)}
    connection.register("listed", pa.table({**listed, "code": pa.array(np.arange(len(keys)))}))
    named = ", ".join(listed)
    connection.execute(f"CREATE TABLE {relation} AS SELECT {named}, min(code) AS code FROM listed GROUP BY {named}")
    connection.unregister("listed")
