"""What noisy answers say against a range or a cap: that it is guessed, or that there was more beyond its ends. Free to tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mare.codec import Bins, OrdinalCodec, RelativeCodec
from mare.models.clarity import Clarity
from mare.planning import Warned
from mare.release import SettledGroup
from mare.schema import Schema
from mare.schema.layout import link_cap

HELD = 0.05
"""The part of the rows from which on it is told that they lie on an end."""
FILLED = 0.25
"""The part of a table's rows from which on it is told that they are as many together as its cap allows."""
CLEAR = 4.0
"""Deviations of the noise that those who have so many must be."""


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
                f"What lies beyond is moved there. If that is not meant, write a wider `{field}:` of its own for the column (a "
                "calendar's holds for those without), or list words for unknown (`specials`)",
            )


def doubt_of_cap(schema: Schema, settled: SettledGroup, clarity: Clarity | None) -> Iterator[Warned]:
    """Rows that stand together in just as many as are kept, where far fewer have one row less: more were probably there, and were
    cut. That there is one row at most is a word about the table, not a cap."""
    counted = None if clarity is None else clarity.margins.get("count")
    table = settled.group.table
    cap = None if counted is None or table not in schema.tables or schema.parent(table) is None else link_cap(schema, table)
    if counted is None or cap is None or cap.why not in ("max_rows", "max_per_entity") or len(counted.fractions) <= 2:
        return
    held = counted.fractions
    full = float(held[-1]) * (len(held) - 1) / max(float(held @ np.arange(len(held))), 1e-12)
    if full >= FILLED and held[-1] >= 2 * held[-2] and held[-1] >= CLEAR * counted.deviation:
        yield Warned(
            table,
            f"about {full:.0%} of its rows stand together in just as many as `{cap.why}` ({len(held) - 1}) keeps",
            "What there was more of was cut. If there may be more, raise it in that table's `parent:`; the noise grows with it",
        )
