"""Rows that end their sequence (`ends: {when: …}`), where codes alone tell: whether a sequence has one stands in its context.

So it is counted once for each row above, as the number of rows is. Nobody dies more than once, but each of fifty rows could be a
death, and the noise of fifty steps would make a dozen of one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

import numpy as np
import pyarrow as pa

from mare.codec import OrdinalCodec, RelativeCodec, TableCodec
from mare.codec.building import ValueCodec
from mare.codec.slots import NULL
from mare.domain import CodeArray, smallest_dtype
from mare.schema.columns import AnyColumn
from mare.schema.condition_grammar import Condition, comparisons_in

from .judging import Mask, judged
from .placing import Index

MOST_WAYS = 1 << 12
"""Combinations of codes that are looked through for those that end a sequence."""


@dataclass(frozen=True, eq=False)
class CodedEnding:
    """The condition where codes alone tell whether it holds."""

    condition: Condition
    columns: Mapping[str, AnyColumn]
    codec: TableCodec

    def holds(self, codes: Mapping[str, CodeArray], index: Index) -> Mask:
        """Of these rows, which would be the last."""
        return judged(self.condition, _Coded(self, codes, index)).true

    def context(self, codes: Mapping[str, CodeArray], parent: Index, parents: int) -> CodeArray:
        """Of each row above, whether a row below ends its sequence."""
        ends = np.zeros(parents, dtype=smallest_dtype(2))
        ends[parent[self.holds(codes, np.arange(len(parent), dtype=np.int64))]] = 1
        return ends

    @cached_property
    def ways(self) -> dict[str, CodeArray]:
        """Codes of the columns that it is about by which a row ends its sequence; none where there are too many to try."""
        names = list(dict.fromkeys(test.column for test in comparisons_in(self.condition)))
        sizes = [range(self.codec.columns[name].size) for name in names]
        if prod(map(len, sizes)) > MOST_WAYS:
            return {}
        tried = np.array(list(product(*sizes)), dtype=np.int64)
        codes = {name: tried[:, place].astype(smallest_dtype(len(sizes[place]))) for place, name in enumerate(names)}
        hold = self.holds(codes, np.arange(len(tried), dtype=np.int64))
        return {name: known[hold] for name, known in codes.items()}


@dataclass(frozen=True, eq=False)
class _Coded:
    ending: CodedEnding
    codes: Mapping[str, CodeArray]
    index: Index

    def described(self, column: str) -> AnyColumn:
        return self.ending.columns[column]

    def held(self, column: str) -> pa.Array:
        codec, codes = self.ending.codec.columns[column], self.codes[column][self.index]
        if isinstance(codec, OrdinalCodec | RelativeCodec):
            return pa.array(np.zeros(len(codes)), mask=codec.slots.kinds_of(codes, codec.bins.count) == NULL)
        assert isinstance(codec, ValueCodec)
        return pa.array(codec.labels, type=pa.string()).take(pa.array(codes.astype(np.int64)))

    def quantities(self, column: str) -> pa.Array:
        return self.held(column)
