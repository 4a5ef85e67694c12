"""The values of what the models have drawn, table by table: each is decoded once, by whoever asks for it first.

Generation asks for the tables above a sequence, which tell how far it has come; writing asks for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from mare.codec import Above, DecodedTable, TableCodec, decode_table
from mare.domain import CodeArray, RowDraws, as_generator, purpose_of
from mare.relational.coding import points_above, siblings_in

from .generator import Chunk
from .given import GivenTables


@dataclass(frozen=True, eq=False)
class Decoder:
    """How the codes of a chunk become values."""

    codecs: Mapping[str, TableCodec]
    ordered_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Of sequences, the columns that order them."""
    given: GivenTables | None = None
    """Rows that the user gives."""

    def table(self, chunk: Chunk, table: str) -> DecodedTable:
        """What the models generated, or the user gave, as values."""
        if table not in chunk.decoded and self.given is not None and table in chunk.given:
            chunk.decoded[table] = self.given.decoded(table, chunk.given[table])
        elif table not in chunk.decoded:
            codec, context = self.codecs[table], chunk.placed.tables[table].codes["context"]
            firsts = {name: context[f"first({name})"] for name in codec.firsts}
            above, siblings = self.above(chunk, codec), siblings_in(chunk.placed, table)
            chunk.decoded[table] = decode_table(
                codec,
                codes_of(chunk, table),
                firsts,
                siblings,
                decoding_draws(chunk, table),
                above,
                self.ordered_by.get(table, ()),
            )
        return chunk.decoded[table]

    def above(self, chunk: Chunk, codec: TableCodec) -> Above:
        """Where the columns of tables above stand that these are anchored at, gathered for each row."""
        return points_above(codec, chunk.placed, lambda table: self.table(chunk, table).points)


def decoding_draws(chunk: Chunk, table: str) -> np.random.Generator:
    """The random numbers that a table is decoded with: the same ones whoever asks, and whenever."""
    return as_generator(RowDraws(chunk.keys[table], purpose_of("decode")))


def codes_of(chunk: Chunk, table: str) -> dict[str, CodeArray]:
    """The codes of all columns and references of the rows, wherever they were generated."""
    placed = chunk.placed.tables[table]
    return {**placed.free, **placed.codes["head"], **placed.codes["rows"]}
