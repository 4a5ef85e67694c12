"""Columns that go with another one (`determined: {goes_with: …}`): what a code is called.

    code, name ─► **one text** ─► learned as a list of pairs ─► names by code

The code is drawn as any other column. Its name is one that stood beside it, in proportion: where a code has one name, that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .learned_domains import LearnedValues

_BETWEEN, _THERE, _NONE = "\x1f", "+", "\x1e"
"""What stands before a name; the mark of one that is there; in place of a code that is NULL."""
NAMED = 0.8
"""Where the pairs hold this part of what a list of codes does, each code is taken to have a name, or few."""


def pair_sql(code: str, name: str) -> str:
    """The one text of two SQL expressions, NULL where both are."""
    code, name = (f"CAST({value} AS VARCHAR)" for value in (code, name))
    text = f"coalesce({code}, '{_NONE}') || '{_BETWEEN}' || coalesce('{_THERE}' || {name}, '')"
    return f"CASE WHEN coalesce({code}, {name}) IS NOT NULL THEN {text} END"


@dataclass(frozen=True, eq=False)
class Names:
    """What stood beside the values of a column."""

    of: str
    """That column."""
    pairs: LearnedValues

    @cached_property
    def by_code(self) -> Mapping[str | None, tuple[tuple[str | None, float], ...]]:
        """Of each code, its names and how often they were counted."""
        held: dict[str | None, list[tuple[str | None, float]]] = {}
        for text, count in _counted(self.pairs).items():
            code, _, name = text.partition(_BETWEEN)
            held.setdefault(None if code == _NONE else code, []).append((name[1:] if name else None, max(count, 1e-9)))
        return {code: tuple(names) for code, names in held.items()}

    def draw(self, codes: pa.Array, uniform: NDArray[np.float64]) -> pa.Array:
        """A name for each code, NULL where none is known. Codes come as texts."""
        coded = codes.dictionary_encode()
        listed = [self.by_code.get(code, ((None, 1.0),)) for code in (*coded.dictionary.to_pylist(), None)]
        ends = np.cumsum([len(names) for names in listed])
        # Code c stands on a ladder between c and c + 1: one search finds all names.
        steps = np.concatenate(
            [place + np.cumsum([n for _, n in own]) / sum(n for _, n in own) for place, own in enumerate(listed)]
        )
        index = np.asarray(coded.indices.fill_null(len(listed) - 1), dtype=np.int64)
        drawn = np.minimum(np.searchsorted(steps, index + uniform, side="right"), ends[index] - 1)
        return pa.array([name for own in listed for name, _ in own], type=pa.string()).take(pa.array(drawn))

    def with_names(self, codes: LearnedValues, most: int | None = None) -> LearnedValues:
        """A list of codes, ``most`` of them: those that have names, where nearly all have one; as it is where they have not."""
        own = _counted(codes)
        without = {code: count for code, count in own.items() if code not in self.by_code}
        if sum(without.values()) > (1 - NAMED) * sum(own.values()):
            return codes
        counted = {
            code: float(f"{sum(count for _, count in names):.3g}") for code, names in self.by_code.items() if code is not None
        }
        order = sorted(counted, key=lambda code: -counted[code])
        places = len({text.partition(_BETWEEN)[0] for text in self.pairs.values} - {_NONE})
        kept, others = order[: min(places, most or places)], order[places:] if most is None else []
        counts = tuple(counted[code] for code in kept)
        return replace(
            codes, values=tuple(kept), counts=counts, others=tuple(others), other_counts=tuple(map(counted.__getitem__, others))
        )


def _counted(values: LearnedValues) -> dict[str, float]:
    listed, counts = (*values.values, *values.others), (*values.counts, *values.other_counts)
    return dict(zip(map(str, listed), counts or (1.0,) * len(listed), strict=True))
