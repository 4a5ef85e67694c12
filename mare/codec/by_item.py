"""`ScaledCodec`: numbers whose scale depends on another column: lab value by test, dose by drug.

The code is a bin within the item's own range, so that a high sodium and a high potassium have the same code, and a model
learns "high" once for all items. Decoding needs to know the item; one that is unknown has the range of all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mare.domain import CodeArray, drawing
from mare.schema.columns import NumericRange, Quantity
from mare.schema.columns.ticks import OPEN_DECIMALS, PLAIN, NumberForm, open_ticks

from .bins import OpenBins, Scale, bins_from_edges
from .building_ordinal import cut, edges_of, settled
from .category import canonical
from .learned_domains import LearnedOrder, LearnedScales
from .ordinal import NULL, ORDINARY, Binned, Kinds, Reading, Slots, SpecialValues, beyond, unreadable
from .scales import DecimalScale, WholeScale, scale_in
from .ticks import FURTHEST, Ticks

Items = NDArray[np.int64]


@dataclass(frozen=True)
class ScaledCodec:
    """Codes: the bins, as many as the item with most of them has; special values; NULL where the column is nullable."""

    by: tuple[str, ...]
    """The columns of the same row whose codes tell the item."""
    sizes: tuple[int, ...]
    """How many codes each of them has."""
    items: tuple[Binned, ...]
    """Its own ticks and bins for each combination of their codes, the last column fastest."""
    slots: Slots = field(default_factory=Slots)
    form: NumberForm = PLAIN

    @property
    def count(self) -> int:
        return max(item.bins.count for item in self.items)

    @property
    def size(self) -> int:
        return self.count + self.slots.extra

    @property
    def whole(self) -> bool:
        """Whether values are integers."""
        return all(isinstance(item.scale, WholeScale) for item in self.items)

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
        return sum(beyond(item.bins, Reading(reading.measure[at], reading.kinds[at])) for item, at in self._by_item(items))

    def draw(self, codes: NDArray[np.integer], items: Items, rng: np.random.Generator) -> tuple[NDArray[np.float64], Kinds]:
        """A number for every ordinary row, and what each row is. An item with fewer bins takes any of its numbers for the others:
        its last bin would make all of them large."""
        kinds = self.slots.kinds_of(codes, self.count)
        ordinary = np.where(kinds == ORDINARY, codes, 0)
        ticks: Ticks = np.zeros(len(items), dtype=np.int64)
        for item, at in self._by_item(items):
            known = ordinary[at] < item.bins.count
            drawn = item.bins.draw(np.where(known, ordinary[at], 0), drawing(rng, "item", at))
            if not known.all():
                others = item.bins.whole.draw(np.zeros(len(at), dtype=np.int64), drawing(rng, "any of the item", at))
                drawn = np.where(known, drawn, others)
            ticks[at] = drawn
        # Dividing by a power of ten is correctly rounded; multiplying by 0.01 would give 0.29000000000000004.
        factors = self._factors[items]
        numbers = np.where(factors >= 1, ticks / np.maximum(factors, 1), ticks * np.rint(1 / np.minimum(factors, 1)))
        return numbers, kinds

    def decode(self, codes: NDArray[np.integer], items: Items, rng: np.random.Generator) -> pa.Array:
        numbers, kinds = self.draw(codes, items, rng)
        special = kinds >= 0
        if not self._base.are_text:
            for place, tick in enumerate(self._base.ticks):
                numbers[kinds == place] = 0.0 if tick is None else tick / 10.0**OPEN_DECIMALS
            written = pa.array(numbers, type=pa.float64(), mask=kinds == NULL)
            return written.cast(pa.int64(), safe=False) if self.whole else written
        texts = pa.array([self.form.text(canonical(number)) for number in numbers.tolist()], type=pa.string(), mask=kinds == NULL)
        words = pa.array([canonical(value) for value in self.slots.specials], type=pa.string())
        index = pa.array(np.where(special, kinds, 0).astype(np.int64))
        return pc.if_else(pa.array(special), words.take(index), texts)

    @cached_property
    def _base(self) -> SpecialValues:
        return SpecialValues(DecimalScale(OPEN_DECIMALS, form=self.form), self.slots.specials)

    @cached_property
    def _factors(self) -> NDArray[np.float64]:
        """Ticks of a unit, for each item: a power of ten, or one over the step."""
        return np.array([float(1 / item.scale.unit) for item in self.items], dtype=np.float64)

    def _by_item(self, items: Items) -> Iterator[tuple[Binned, NDArray[np.intp]]]:
        """The rows of each item that occurs, in the order of the items."""
        order = np.argsort(items, kind="stable")
        numbers, starts = np.unique(items[order], return_index=True)
        parts = np.split(order, starts[1:]) if len(numbers) else []
        for number, at in zip(numbers, parts, strict=True):
            yield self.items[int(number)], at


@dataclass(frozen=True)
class _Range:
    """What the schema says of one item."""

    low: float | None
    high: float | None
    precision: int | None
    scale: Scale


def scaled_codec(
    column: Quantity, by: tuple[str, ...], labels: Sequence[Sequence[str | None]], known: LearnedScales | None
) -> ScaledCodec:
    """The codec of a number whose scale depends on other columns; ``labels`` are what the codes of each of them mean."""
    listed = {canonical(value): limits for value, limits in (column.ranges or {}).items()}
    items = []
    for number, values in enumerate(product(*labels)):
        declared = listed.get(values[0]) if len(values) == 1 and values[0] is not None else None
        learned = known.items[number] if known is not None and number < len(known.items) else LearnedOrder()
        items.append(_item(column, _range(column, declared), learned))
    return ScaledCodec(
        by, tuple(len(values) for values in labels), tuple(items), Slots(column.specials, column.nullable), column.form
    )


def _range(column: Quantity, declared: NumericRange | None) -> _Range:
    precision = column.decimals
    if declared is not None:
        return _Range(declared.min, declared.max, precision if declared.precision is None else declared.precision, declared.scale)
    if column.ranges and (column.min is None or column.max is None) and not column.learn:
        # An item that is not listed lies somewhere in the range of all.
        limits = column.ranges.values()
        return _Range(min(r.min for r in limits), max(r.max for r in limits), precision, column.scale)
    return _Range(column.min, column.max, precision, column.scale)


def _item(column: Quantity, limits: _Range, known: LearnedOrder) -> Binned:
    scale = scale_in(column.item_ticks(*_ends(limits, known), limits.precision))
    if known.bins is not None:
        return Binned(scale, known.bins)
    most, wanted = column.most_bins, column.bins if isinstance(column.bins, int) else None
    low = settled(None if limits.low is None else scale.tick(limits.low, up=True), known.low, limits.precision, scale)
    high = settled(None if limits.high is None else scale.tick(limits.high), known.high, limits.precision, scale)
    if low is None or high is None:
        return Binned(scale, OpenBins(low, high, limits.scale, most, wanted))
    low = min(low, high)
    if isinstance(column.bins, tuple):
        return Binned(scale, bins_from_edges(low, high, edges_of(scale, column.bins)))
    return Binned(scale, cut(low, high, wanted, limits.scale, most))


def _ends(limits: _Range, known: LearnedOrder) -> tuple[float | None, float | None]:
    """The item's range as numbers: as declared, else as learned."""
    unit = open_ticks(limits.precision).unit
    low = limits.low if limits.low is not None or known.low is None else float(known.low * unit)
    high = limits.high if limits.high is not None or known.high is None else float(known.high * unit)
    return low, high
