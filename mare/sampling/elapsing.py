"""How far sequences have come, told to the models while the rows of a table are drawn one position after the other.

Only where a model looks at it: the values of a sequence are worked out here a step ahead of the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mare.codec.elapsed import Advance, elapsed_name
from mare.domain import CodeArray, smallest_dtype
from mare.relational.placing import Index

from .decoding import Decoder, decoding_draws, siblings_in
from .generator import Chunk, Generator


@dataclass(frozen=True, eq=False)
class Elapsing:
    """The free history of one table that grows with its rows."""

    advances: Mapping[str, Advance]
    """By name of the free history."""
    free: dict[str, CodeArray]
    """What the models look at: written when rows begin."""

    def begin(self, index: Index) -> None:
        for name, advance in self.advances.items():
            self.free[name][index] = advance.begin(index)

    def end(self, index: Index, codes: Mapping[str, CodeArray]) -> None:
        for advance in self.advances.values():
            advance.hand_in(index, codes)


def elapsing(made: Generator, chunk: Chunk, table: str) -> Elapsing:
    """For the rows of a table that are about to be drawn; its context and all tables above are there."""
    codec, rows = made.codecs[table], chunk.placed.tables[table].rows
    decoder = Decoder(made.codecs, made.ordered_by, made.given)
    advances, free = dict[str, Advance](), dict[str, CodeArray]()
    for column, first in codec.firsts.items():
        name = elapsed_name(column)
        if _is_looked_at(made, table, name):
            firsts = chunk.placed.tables[table].codes["context"][f"first({column})"]
            above, draws = decoder.above(chunk, codec), decoding_draws(chunk, table)
            advances[name] = Advance(codec, column, firsts, siblings_in(chunk, table), above, draws)
            free[name] = np.zeros(rows, dtype=smallest_dtype(first.elapsed.count))
    return Elapsing(advances, free)


def _is_looked_at(made: Generator, table: str, name: str) -> bool:
    for settled in made.plan.groups:
        asked = getattr(made.models[settled.name], "looks_at", None)
        for column in settled.group.history:
            mine = (column.kind, column.table, column.name) == ("free", table, name)
            if mine and (asked is None or str(column) in asked):
                return True
    return False
