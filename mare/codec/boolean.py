"""True or false, however the source stores it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mare.domain import CodeArray
from mare.schema.strict import Value

from .category import canonical, coded_by_value, uniform

if TYPE_CHECKING:
    import pyarrow as pa

_TRUE = ("true", "t", "1", "yes", "y")
_FALSE = ("false", "f", "0", "no", "n")


@dataclass(frozen=True)
class BooleanCodec:
    """Code 0 is false, 1 is true, 2 NULL where the column is nullable. What is neither counts as NULL, else as false."""

    nullable: bool = False
    true: Value | None = None
    false: Value | None = None

    @property
    def size(self) -> int:
        return 2 + self.nullable

    @property
    def labels(self) -> tuple[str | None, ...]:
        return (canonical(self._stored[0]), canonical(self._stored[1]), *([None] if self.nullable else []))

    def encode(self, values: pa.Array) -> CodeArray:
        return self.encode_counted(values)[0]

    def encode_counted(self, values: pa.Array) -> tuple[CodeArray, int]:
        """The codes, and how many values are neither true nor false."""
        known: dict[str, int] = {}
        for code, declared, usual in ((0, self.false, _FALSE), (1, self.true, _TRUE)):
            words = [word for text in usual for word in (text, text.upper(), text.capitalize())]
            # Declared words are taken as they are; a source that stores real booleans is understood all the same.
            known |= dict.fromkeys(words if declared is None else [usual[0], canonical(declared)], code)
        unknown = 2 if self.nullable else 0
        return coded_by_value(values, known, unknown, unknown, self.size)

    def decode(self, codes: NDArray[np.integer], rng: np.random.Generator) -> pa.Array:
        import pyarrow as pa

        return pa.array([*self._stored, None]).take(pa.array(np.minimum(codes.astype(np.int64), 2)))

    @property
    def _stored(self) -> list[Value]:
        """False and true as the source writes them: where one is a text, so is the other."""
        if self.true is None and self.false is None:
            return [False, True]
        return uniform(("0" if self.false is None else self.false, "1" if self.true is None else self.true))
