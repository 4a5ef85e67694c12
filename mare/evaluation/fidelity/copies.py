"""Exact copies: rows that equal a real one in everything but keys, and entities all of whose rows do.

A copy need not be a leak: short rows of few values repeat by chance, and a hold-out's do too. More than the hold-out has is a
sign.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mare.evaluation.evaluation import Copies, SetName
from mare.evaluation.sides import Side
from mare.schema import Schema
from mare.schema.columns import Identifier
from mare.stage.database import staging_database

from .coding import Sides
from .features import key_columns, public_columns

Hashes = NDArray[np.uint64]
FEWEST_COLUMNS = FEWEST_ROWS = 3
"""Rows of fewer columns, and entities of fewer rows, are alike by chance."""


def compared_columns(schema: Schema, table: str) -> tuple[str, ...]:
    """Those that are no keys."""
    described, keys = schema.tables[table].columns, key_columns(schema, table)
    own = [name for name, column in described.items() if column.settled and not isinstance(column, Identifier)]
    return tuple(name for name in dict.fromkeys((*own, *public_columns(schema, table))) if name not in keys)


def row_hashes(side: Side, table: str) -> Hashes:
    """One number a row, of all that it holds beside keys."""
    columns = compared_columns(side.schema, table)
    if not columns:
        return np.zeros(len(side.entity[table]), dtype=np.uint64)
    held = side.tables[table].select(columns).rename_columns([f"c{i}" for i in range(len(columns))])
    with staging_database() as connection:
        connection.register("held", held)
        # Hashed twice: a hash of several columns ends in an exclusive or, which sums would undo.
        hashed = connection.execute(f"SELECT hash(hash({', '.join(held.column_names)})) AS h FROM held").fetchnumpy()["h"]
    return np.asarray(hashed, dtype=np.uint64)


def copies(sides: Sides) -> tuple[tuple[Copies, ...], dict[SetName, int]]:
    """Of each table the share of copied rows; and how many entities are copied whole."""
    hashes = {name: {table: row_hashes(side, table) for table in side.tables} for name, side in sides.items()}
    real = sides["real"]
    shares: list[Copies] = []
    for table in real.tables:
        columns = compared_columns(real.schema, table)
        if len(columns) < FEWEST_COLUMNS:
            continue
        known = np.unique(hashes["real"][table])
        found: dict[SetName, float] = {
            name: float(np.isin(held[table], known).mean()) if len(held[table]) else 0.0
            for name, held in hashes.items()
            if name != "real"
        }
        shares.append(Copies(table, len(columns), found))
    whole = {name: _whole(side, hashes[name]) for name, side in sides.items()}
    counted: dict[SetName, int] = {
        name: int(np.isin(held, whole["real"]).sum()) for name, held in whole.items() if name != "real"
    }
    return tuple(shares), counted


def _whole(side: Side, hashes: dict[str, Hashes]) -> Hashes:
    """Of each entity with enough rows, one number of all of them, whatever their order."""
    total, rows = np.zeros(side.entities, dtype=np.uint64), np.zeros(side.entities, dtype=np.int64)
    for factor, (table, held) in zip(_odd_numbers(), hashes.items(), strict=False):
        order = side.order[table]
        order = order[side.entity[table][order] >= 0]
        if not len(order):
            continue
        owner = side.entity[table][order]
        starts = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]])
        total[owner[starts]] += np.add.reduceat(held[order] * factor, starts)
        rows[owner[starts]] += np.diff(starts, append=len(order))
    return total[rows >= FEWEST_ROWS]


def _odd_numbers() -> Iterator[np.uint64]:
    """One for each table, so that rows of one are not taken for rows of another."""
    rng = np.random.default_rng(0)
    while True:
        yield rng.integers(1, 2**63, dtype=np.uint64) | np.uint64(1)
