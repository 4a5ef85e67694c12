"""Whether a condition holds of rows: of which entities may stay, which case of a column, whether a row ends its sequence.

NULL is as in SQL: a comparison with it is unknown, and what is unknown does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mare.codec import OrdinalCodec, RelativeCodec, TableCodec
from mare.codec.building import ValueCodec
from mare.codec.category import canonical
from mare.codec.ordinal import NULL
from mare.codec.ticks import microseconds, null_mask
from mare.domain import CodeArray, smallest_dtype
from mare.schema.columns import AnyColumn, Listed, Ordinal
from mare.schema.condition_grammar import Among, Comparison, Condition, IsNull, Joined, Not, Operator, Value, comparisons_in

from .placing import Index

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Truth:
    """What is known to be true, and what is known to be false. The rest is unknown."""

    true: Mask
    false: Mask


class Tested(Protocol):
    """The rows that a condition is tested on."""

    def described(self, column: str) -> AnyColumn: ...

    def held(self, column: str) -> pa.Array:
        """The values of a column, one a row."""
        ...

    def quantities(self, column: str) -> pa.Array:
        """The same without special values, which are no quantities: NULL there."""
        ...


def judged(condition: Condition, rows: Tested) -> Truth:
    """What is true and what is false of each row."""
    match condition:
        case Not(part):
            truth = judged(part, rows)
            return Truth(truth.false, truth.true)
        case Joined(how, parts):
            every = [judged(part, rows) for part in parts]
            all_of, any_of = np.logical_and.reduce, np.logical_or.reduce
            both, either = (all_of, any_of) if how == "and" else (any_of, all_of)
            return Truth(both([t.true for t in every]), either([t.false for t in every]))
        case IsNull(column):
            missing = null_mask(rows.held(column))
            return Truth(missing, ~missing)
        case Among(column, listed):
            every = [_compared(rows, column, "=", value) for value in listed]
            return Truth(np.logical_or.reduce([t.true for t in every]), np.logical_and.reduce([t.false for t in every]))
        case Comparison(column, operator, value):
            return _compared(rows, column, operator, value)


def _compared(rows: Tested, column: str, operator: Operator, value: Value) -> Truth:
    described, held = rows.described(column), rows.held(column)
    there = ~null_mask(held)
    if isinstance(described, Ordinal) and canonical(value) not in map(canonical, described.specials):
        quantities = rows.quantities(column)
        ordinary = ~null_mask(quantities)
        yes = ordinary & _in_order(quantities, operator, described.compared(value))
        # A special value is no quantity: it equals none, and whether it is more or less is unknown.
        known = there if operator in ("=", "!=") else ordinary
        if operator == "!=":
            yes = yes | (there & ~ordinary)
        return Truth(yes, known & ~yes)
    if operator not in ("=", "!="):
        yes = there & _in_order(held, operator, float(value))
        return Truth(yes, there & ~yes)
    wanted = canonical(described.meant(value) if isinstance(described, Listed) else value)
    same = there & _is_text(held, wanted)
    yes = same if operator == "=" else there & ~same
    return Truth(yes, there & ~yes)


def _is_text(values: pa.Array, wanted: str) -> Mask:
    coded = values.dictionary_encode()
    same = np.array([*(canonical(value) == wanted for value in coded.dictionary.to_pylist()), False], dtype=np.bool_)
    return same[np.asarray(coded.indices.fill_null(len(same) - 1), dtype=np.int64)]


def _in_order(values: pa.Array, operator: Operator, other: float) -> Mask:
    counted = pa.array(microseconds(values)) if pa.types.is_temporal(values.type) else values
    return _SIGNS[operator](np.asarray(counted.cast(pa.float64(), safe=False).fill_null(0.0), dtype=np.float64), other)


_SIGNS: Mapping[Operator, Callable[[NDArray[np.float64], float], Mask]] = {
    "=": lambda a, b: np.asarray(a == b),
    "!=": lambda a, b: np.asarray(a != b),
    "<": lambda a, b: np.asarray(a < b),
    "<=": lambda a, b: np.asarray(a <= b),
    ">": lambda a, b: np.asarray(a > b),
    ">=": lambda a, b: np.asarray(a >= b),
}


# Rows that end their sequence (`ends: {when: …}`), where codes alone tell: whether a sequence has one stands in its context. So
# it is counted once for each row above, as the number of rows is. Nobody dies more than once, but each of fifty rows could be a
# death, and the noise of fifty steps would make a dozen of one.

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
