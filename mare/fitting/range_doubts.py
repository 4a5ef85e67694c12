"""What noisy answers say against a range: that it is guessed, or that values may have been moved onto its ends. Free to tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mare.codec import Bins, OrdinalCodec, RelativeCodec
from mare.planning import Warned

HELD = 0.05
"""The part of the rows from which on it is told that they lie on an end."""


def doubts_of_range(where: str, clear: bool, vague: Sequence[str]) -> list[Warned]:
    """Bounds that had to be guessed: all, or those of vague ends."""
    what = f"how far its {' and '.join(vague)} end lies did not stand clear of the noise, so it is guessed" if vague else ""
    what = what if clear else "no stretch of its values stood clear of the noise, so nothing is known of its range"
    return (
        [Warned(where, what, "If its range may be known, declare it (`min`, `max` or `within`); or spend more")] if what else []
    )


def doubt_of_items(where: str, unclear: int, items: int) -> Warned:
    """Items whose bounds are those of all."""
    what = f"the ranges of {unclear} of its {items} items did not stand clear of the noise, and are taken to be those of all"
    return Warned(where, what, "If they may be known, declare them (`ranges`); or spend more")


def doubts_of_ends(where: str, column: OrdinalCodec | RelativeCodec, bins: Bins) -> Iterator[Warned]:
    """Of a declared range: an end that many rows lie on exactly. What lies beyond is moved there, and nobody would see it. Much
    lies on zero by itself, and at no distance from what it follows."""
    low, high = bins.on_ends
    if isinstance(column, RelativeCodec):
        if high >= HELD and not column.placing.by_parts and column.placing.reach is not None:
            yield Warned(
                where,
                f"about {high:.0%} of its rows lie exactly as far from what it follows as `within` allows",
                "What lies further is taken to be there. If that is not meant, allow more (`within`)",
            )
        return
    for share, declared, tick, field in zip((low, high), column.declared, (bins.low, bins.high), ("min", "max"), strict=True):
        if share >= HELD and declared == tick and tick != 0:
            value = column.scale.to_texts(np.array([tick]), np.array([False]))[0].as_py()
            yield Warned(
                where,
                f"about {share:.0%} of its rows lie exactly on `{field}` ({value})",
                "What lies beyond is moved there. If that is not meant, widen the range, or list words for unknown (`specials`)",
            )
