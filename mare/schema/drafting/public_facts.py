"""What the person who drafts knows of the data beyond its catalogue: between which days it was collected, and how many entities
there are. Both are public, and two such facts settle most of a draft."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from mare.errors import SourceError

_LIFE = 120
"""Years that nobody outlives."""
_CENTURY = 1900
"""Nobody who was born before is met in records of today."""


@dataclass(frozen=True)
class PublicFacts:
    """``between``: the first and the last day of the data; None where nobody said, and it is guessed."""

    today: date
    between: tuple[date, date] | None = None
    entities: int | None = None

    def __post_init__(self) -> None:
        if self.between is not None and self.between[0] > self.between[1]:
            raise SourceError(
                f"the data cannot begin on {self.between[0]} and end on {self.between[1]}: write the earlier day first."
            )
        if self.entities is not None and self.entities < 1:
            raise SourceError(f"{self.entities} entities: there is at least 1.")

    @property
    def calendar(self) -> tuple[date, date]:
        """As it was said, or a guess that is wide enough for most records."""
        return self.between or (date(_CENTURY, 1, 1), self.today)

    @property
    def births(self) -> tuple[date, date]:
        """Whoever lives while the data was collected was born within a lifetime before it began."""
        first, last = self.calendar
        lived = _CENTURY <= first.year <= self.today.year
        return date(_CENTURY if lived else max(1, first.year - _LIFE), 1, 1), last
