"""One of a few values: the code is the value's place in the list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mare.domain import CodeArray, smallest_dtype
from mare.schema.columns.category import canonical as canonical
from mare.schema.strict import Value

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class CategoryCodec:
    """Codes 0 … values-1 in the order of the list; the last code is NULL where the column is nullable.

    What the domain does not list becomes ``other``; without one NULL; and where the column has no NULL either, the first
    value. It is never a crash: whether a strange value occurs is a fact about somebody.
    """

    values: tuple[Value, ...]
    nullable: bool = False
    other: Value | None = None
    """One of the values."""
    spellings: tuple[tuple[str, Value], ...] = ()
    """Other texts that a source may write for a value."""

    @property
    def size(self) -> int:
        return len(self.values) + self.nullable

    @property
    def labels(self) -> tuple[str | None, ...]:
        """Of each code, its value as text; None for NULL."""
        return (*map(canonical, self.values), *([None] if self.nullable else []))

    @property
    def outside(self) -> int:
        """The code of a value that is not listed."""
        if self.other is not None:
            return self.values.index(self.other)
        return len(self.values) if self.nullable else 0

    def encode(self, values: pa.Array) -> CodeArray:
        return self.encode_counted(values)[0]

    def encode_counted(self, values: pa.Array) -> tuple[CodeArray, int]:
        """The codes, and how many values were not listed."""
        known = {canonical(value): code for code, value in enumerate(self.values)}
        known = {text: known[canonical(value)] for text, value in self.spellings} | known
        return coded_by_value(values, known, self.outside, len(self.values) if self.nullable else self.outside, self.size)

    def decode(self, codes: NDArray[np.integer], rng: np.random.Generator) -> pa.Array:
        import pyarrow as pa

        table = pa.array([*uniform(self.values), None])
        return table.take(pa.array(np.minimum(codes.astype(np.int64), len(self.values))))


def coded_by_value(values: pa.Array, known: dict[str, int], outside: int, null: int, size: int) -> tuple[CodeArray, int]:
    """Codes by the value's text: every distinct value is looked up once. And how many values are not known."""
    import pyarrow.compute as pc

    distinct = values.dictionary_encode()
    texts = [canonical(value) for value in distinct.dictionary.to_pylist()]
    codes = np.array([*(known.get(text, outside) for text in texts), null], dtype=smallest_dtype(size))
    strange = np.array([*(text not in known for text in texts), False])
    index = np.asarray(pc.fill_null(distinct.indices, len(texts)), dtype=np.int64)
    return codes[index], int(strange[index].sum())


def uniform(values: tuple[Value, ...]) -> list[Value]:
    """Values of one type. Those of several types (1, "unknown") have one in common: text."""
    kinds = {type(value) for value in values}
    if len(kinds) == 1 or (kinds <= {int, float} and bool not in kinds):
        return list(values)
    return [canonical(value) for value in values]
