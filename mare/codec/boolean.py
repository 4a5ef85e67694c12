"""True or false, however the source stores it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mare.domain import CodeArray, smallest_dtype
from mare.schema.strict import Value

from .category import canonical

if TYPE_CHECKING:
    import pyarrow as pa

_TRUE = frozenset({"true", "t", "1", "yes", "y"})
_FALSE = frozenset({"false", "f", "0", "no", "n"})


@dataclass(frozen=True)
class BooleanCodec:
    """Code 0 is false, 1 is true, 2 NULL where the column is nullable. What is neither counts as NULL, else as false."""

    nullable: bool = False
    true: Value | None = None
    false: Value | None = None

    @property
    def size(self) -> int:
        return 2 + self.nullable

    def encode(self, values: pa.Array) -> CodeArray:
        import pyarrow.compute as pc

        distinct = values.dictionary_encode()
        unknown = 2 if self.nullable else 0
        codes = [self._code(value, unknown) for value in distinct.dictionary.to_pylist()]
        table = np.array([*codes, unknown], dtype=smallest_dtype(self.size))
        index = np.asarray(pc.fill_null(distinct.indices, len(codes)), dtype=np.int64)
        return table[index]

    def _code(self, value: object, unknown: int) -> int:
        text = canonical(value)
        for code, declared, usual in ((1, self.true, _TRUE), (0, self.false, _FALSE)):
            if text == canonical(declared) if declared is not None else text.lower() in usual:
                return code
        return unknown

    def decode(self, codes: NDArray[np.integer], rng: np.random.Generator) -> pa.Array:
        import pyarrow as pa

        if self.true is None and self.false is None:
            values: list[object] = [False, True, None]
        else:
            # A source that writes one of them as text or number writes both so.
            pair = (self.false if self.false is not None else "0", self.true if self.true is not None else "1")
            same = type(pair[0]) is type(pair[1])
            values = [*(pair if same else map(canonical, pair)), None]
        return pa.array(values).take(pa.array(np.minimum(codes.astype(np.int64), 2)))
