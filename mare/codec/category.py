"""One of a few values: the code is the value's place in the schema's list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mare.domain import CodeArray, smallest_dtype
from mare.schema.strict import Value

if TYPE_CHECKING:
    import pyarrow as pa


def canonical(value: object) -> str:
    """The text by which values are compared: a 1 is a 1, whether the source stores it as text, integer or 1.0."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


@dataclass(frozen=True)
class CategoryCodec:
    """Codes 0 … values-1 in the schema's order; the last code is NULL where the column is nullable.

    What the domain does not list becomes ``other``; without one NULL; and where the column has no NULL either, the first
    value. It is never a crash: whether a strange value occurs is a fact about somebody.
    """

    values: tuple[Value, ...]
    nullable: bool = False
    other: Value | None = None
    """One of the values."""

    @property
    def size(self) -> int:
        return len(self.values) + self.nullable

    @property
    def outside(self) -> int:
        """The code of a value that is not listed."""
        if self.other is not None:
            return self.values.index(self.other)
        return len(self.values) if self.nullable else 0

    def encode(self, values: pa.Array) -> CodeArray:
        import pyarrow.compute as pc

        known = {canonical(value): code for code, value in enumerate(self.values)}
        distinct = values.dictionary_encode()
        codes = [known.get(canonical(value), self.outside) for value in distinct.dictionary.to_pylist()]
        null = len(self.values) if self.nullable else self.outside
        table = np.array([*codes, null], dtype=smallest_dtype(self.size))
        index = np.asarray(pc.fill_null(distinct.indices, len(codes)), dtype=np.int64)
        return table[index]

    def decode(self, codes: NDArray[np.integer], rng: np.random.Generator) -> pa.Array:
        import pyarrow as pa

        kinds = {type(value) for value in self.values}
        # Values of several types (1, "unknown") have one in common: text.
        uniform = len(kinds) == 1 or (kinds <= {int, float} and bool not in kinds)
        listed = list(self.values) if uniform else [canonical(value) for value in self.values]
        table = pa.array([*listed, None])
        return table.take(pa.array(np.minimum(codes.astype(np.int64), len(listed))))
