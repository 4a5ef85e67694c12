"""`ScaledCodec`: numbers whose scale depends on another column: lab value by test, dose by drug.

The code is a bin within the item's own range, so that a high sodium and a high potassium have the same code, and a model
learns "high" once for all items. Decoding needs to know the item; one that is unknown has the range of all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mare.domain import CodeArray, drawing
from mare.errors import InternalError

from .bins import Bins, OpenBins
from .category import canonical
from .integer import IntegerScale
from .number import OPEN_DECIMALS, NumberScale
from .slots import NULL, ORDINARY, Kinds, Reading, Slots, SpecialValues, unreadable
from .ticks import FURTHEST, Ticks

if TYPE_CHECKING:
    import pyarrow as pa

Items = NDArray[np.int64]


@dataclass(frozen=True)
class ItemScale:
    """One item's own ticks and bins."""

    scale: IntegerScale | NumberScale
    placed: Bins | OpenBins

    @property
    def bins(self) -> Bins:
        if isinstance(self.placed, OpenBins):
            raise InternalError("bins that are still open were asked for")
        return self.placed


@dataclass(frozen=True)
class ScaledCodec:
    """Codes: the bins, as many as the item with most of them has; special values; NULL where the column is nullable."""

    by: tuple[str, ...]
    """The columns of the same row whose codes tell the item."""
    sizes: tuple[int, ...]
    """How many codes each of them has."""
    items: tuple[ItemScale, ...]
    """One for each combination of their codes, the last column fastest."""
    slots: Slots = field(default_factory=Slots)

    @property
    def count(self) -> int:
        return max(item.bins.count for item in self.items)

    @property
    def size(self) -> int:
        return self.count + self.slots.extra

    @property
    def whole(self) -> bool:
        """Whether values are integers."""
        return all(isinstance(item.scale, IntegerScale) for item in self.items)

    def item_of(self, codes: Mapping[str, CodeArray]) -> Items:
        """Of each row, its item."""
        index = np.zeros(len(codes[self.by[0]]), dtype=np.int64)
        for name, size in zip(self.by, self.sizes, strict=True):
            index = index * size + np.minimum(codes[name].astype(np.int64), size - 1)
        return index

    def read(self, values: pa.Array, items: Items) -> Reading:
        read, kinds = self._base.read(values)
        numbers = read.ticks / 10.0**OPEN_DECIMALS
        with np.errstate(over="ignore"):
            scaled = np.rint(numbers * self._factors[items])
        ticks = np.clip(scaled, -float(FURTHEST), float(FURTHEST)).astype(np.int64)
        return Reading(ticks, kinds, unreadable(values, kinds))

    def code(self, reading: Reading, items: Items) -> CodeArray:
        assigned = np.zeros(len(items), dtype=np.int64)
        for item, at in self._by_item(items):
            assigned[at] = item.bins.assign(reading.measure[at])
        return self.slots.code(reading, assigned, self.count)

    def beyond(self, reading: Reading, items: Items) -> int:
        """How many ordinary rows lie outside their item's range."""
        found = 0
        for item, at in self._by_item(items):
            measure = reading.measure[at][reading.ordinary[at]]
            found += int(((measure < item.bins.low) | (measure > item.bins.high)).sum())
        return found

    def draw(self, codes: NDArray[np.integer], items: Items, rng: np.random.Generator) -> tuple[NDArray[np.float64], Kinds]:
        """A number for every ordinary row, and what each row is. An item with fewer bins takes its last one for the others."""
        kinds = self.slots.kinds_of(codes, self.count)
        ordinary = np.where(kinds == ORDINARY, codes, 0)
        ticks: Ticks = np.zeros(len(items), dtype=np.int64)
        for item, at in self._by_item(items):
            ticks[at] = item.bins.draw(np.minimum(ordinary[at], item.bins.count - 1), drawing(rng, "item", at))
        # Dividing by a power of ten is correctly rounded; multiplying by 0.01 would give 0.29000000000000004.
        factors = self._factors[items]
        numbers = np.where(factors >= 1, ticks / np.maximum(factors, 1), ticks * np.rint(1 / np.minimum(factors, 1)))
        return numbers, kinds

    def decode(self, codes: NDArray[np.integer], items: Items, rng: np.random.Generator) -> pa.Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        numbers, kinds = self.draw(codes, items, rng)
        special = kinds >= 0
        if not self._base.are_text:
            for place, tick in enumerate(self._base.ticks):
                numbers[kinds == place] = 0.0 if tick is None else tick / 10.0**OPEN_DECIMALS
            written = pa.array(numbers, type=pa.float64(), mask=kinds == NULL)
            return written.cast(pa.int64(), safe=False) if self.whole else written
        texts = pa.array([canonical(number) for number in numbers.tolist()], type=pa.string(), mask=kinds == NULL)
        words = pa.array([canonical(value) for value in self.slots.specials], type=pa.string())
        index = pa.array(np.where(special, kinds, 0).astype(np.int64))
        return pc.if_else(pa.array(special), words.take(index), texts)

    @cached_property
    def _base(self) -> SpecialValues:
        return SpecialValues(NumberScale(OPEN_DECIMALS), self.slots.specials)

    @cached_property
    def _factors(self) -> NDArray[np.float64]:
        """Ticks of a unit, for each item: a power of ten, or one over the step."""
        return np.array([float(1 / item.scale.unit) for item in self.items], dtype=np.float64)

    def _by_item(self, items: Items) -> Iterator[tuple[ItemScale, NDArray[np.intp]]]:
        """The rows of each item that occurs, in the order of the items."""
        order = np.argsort(items, kind="stable")
        found, starts = np.unique(items[order], return_index=True)
        parts = np.split(order, starts[1:]) if len(found) else []
        for number, at in zip(found, parts, strict=True):
            yield self.items[int(number)], at
