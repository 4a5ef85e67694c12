"""Listed values: the code is the value's place in the list.

Codes of a large vocabulary are many: rare ones share a place with their kin, and come back as one of them. The hierarchy tells
which codes are alike: prefixes of the code, or columns of the public vocabulary. Its levels are public, so models may count codes
more coarsely.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mare.domain import Coarsening, CodeArray, smallest_dtype
from mare.schema.columns.category import canonical as canonical
from mare.schema.strict import Value

from .parsing import as_texts

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


@dataclass(frozen=True)
class CodeCodec:
    """Codes: those kept; then one for each group of the rest; the last is NULL where the column is nullable."""

    kept: tuple[str, ...]
    """The most frequent first, where they were chosen with budget."""
    rest: tuple[tuple[str, ...], ...] = ()
    """Groups of codes that share a place: each comes back as one of its codes, at random."""
    nullable: bool = False
    prefix: tuple[int, ...] = ()
    """Lengths of the prefixes that are levels, coarse to fine."""
    levels: tuple[tuple[str, ...], ...] = ()
    """Further levels, coarse to fine: of each kept code and each group, what the vocabulary calls it there."""

    @property
    def places(self) -> int:
        return len(self.kept) + len(self.rest)

    @property
    def size(self) -> int:
        return self.places + self.nullable

    @property
    def labels(self) -> tuple[str | None, ...]:
        """Of each code, its text; None for NULL and for what stands for several codes."""
        return (*self.kept, *(None for _ in self.rest), *([None] if self.nullable else []))

    def encode(self, values: pa.Array) -> CodeArray:
        return self.encode_counted(values)[0]

    def encode_counted(self, values: pa.Array) -> tuple[CodeArray, int]:
        """The codes, and how many values are in no vocabulary. Those are put with the codes that begin as they do."""
        known = {text: code for code, text in enumerate(self.kept)}
        known |= {text: len(self.kept) + group for group, texts in enumerate(self.rest) for text in texts}
        alike = {}
        for length in self.prefix:
            for text, code in reversed(known.items()):
                alike[length, text[:length]] = code
        unknown = self.places if self.nullable else 0
        codes, strange = coded_by_value(values, known, unknown, unknown, self.size)
        if strange and self.prefix:
            codes = self._with_kin(values, codes, known, alike)
        return codes, strange

    def _with_kin(
        self, values: pa.Array, codes: CodeArray, known: dict[str, int], alike: dict[tuple[int, str], int]
    ) -> CodeArray:
        distinct = as_texts(values).dictionary_encode()
        codes_of_kin: list[int] = []
        for text in distinct.dictionary.to_pylist():
            kin = [alike[n, text[:n]] for n in reversed(self.prefix) if (n, text[:n]) in alike]
            codes_of_kin.append(kin[0] if kin and text not in known else -1)
        table = np.array([*codes_of_kin, -1], dtype=np.int64)
        placed = table[np.asarray(distinct.indices.fill_null(len(codes_of_kin)), dtype=np.int64)]
        return np.where(placed >= 0, placed, codes).astype(smallest_dtype(self.size))

    def decode(self, codes: NDArray[np.integer], rng: np.random.Generator) -> pa.Array:
        import pyarrow as pa

        every = [*self.kept, *(text for texts in self.rest for text in texts), None]
        sizes = np.array([1] * len(self.kept) + [len(texts) for texts in self.rest] + [1], dtype=np.int64)
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        index = np.minimum(codes.astype(np.int64), self.places)
        # One draw a row whatever it is: who comes after does not depend on it.
        drawn = starts[index] + (rng.random(len(index)) * sizes[index]).astype(np.int64)
        return pa.array(every, type=pa.string()).take(pa.array(np.minimum(drawn, starts[index] + sizes[index] - 1)))

    def coarsenings(self) -> tuple[Coarsening, ...]:
        """Fine to coarse. NULL stays a code of its own."""
        names = [*self.kept, *(texts[0] for texts in self.rest)]
        by_prefix = [tuple(name[:length] for name in names) for length in self.prefix]
        coarsenings: list[Coarsening] = []
        for labels in reversed([*self.levels, *by_prefix]):
            place = {label: code for code, label in enumerate(dict.fromkeys(labels))}
            codes = [place[label] for label in labels] + [len(place)] * self.nullable
            size = len(place) + self.nullable
            if size < (coarsenings[-1].size if coarsenings else self.size):
                coarsenings.append(Coarsening(np.array(codes, dtype=np.int64), size))
        return tuple(coarsenings)


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
