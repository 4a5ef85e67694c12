"""Values that are generated relative to others, so that order holds by construction (design.md, Schema).

An anchor is written ``column`` (same row), ``previous.column`` (the row before it in the sequence),
``parent.column``, or ``table.column`` (any ancestor). ``.a.b`` is a column ``a.b`` of the same row: a table puts the dot
before what is the name of one of its own columns as a whole, so that `a.b` alone is understood too.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import model_validator

from .strict import OrderedValue, Span, Strict

SAME_ROW, PREVIOUS_ROW, PARENT_ROW = "", "previous", "parent"


@dataclass(frozen=True)
class Anchor:
    """A parsed anchor: ``scope`` is ``""``, ``"previous"``, ``"parent"`` or the name of an ancestor."""

    scope: str
    column: str

    @classmethod
    def parse(cls, text: str) -> Anchor:
        if text.startswith("."):
            return cls(SAME_ROW, text[1:])
        first, dot, rest = text.partition(".")
        if dot and first in (PREVIOUS_ROW, PARENT_ROW):
            return cls(first, rest)  # whatever the column is called; a table may have a dot in its name, too
        scope, dot, column = text.rpartition(".")
        return cls(scope if dot else SAME_ROW, column)

    def __str__(self) -> str:
        """As the schema writes it."""
        if self.scope == SAME_ROW:
            return f".{self.column}" if "." in self.column else self.column
        return f"{self.scope}.{self.column}"


class FirstValue(Strict):
    """The first value of a sequence, kept in the context: later ones are gaps from their anchor.

    Absolute (`min` and `max`: a patient's first admission), or relative to a row above (`after`, `before` or both, with
    `within`: the first transfer begins around its admission).
    """

    min: OrderedValue | None = None
    """Smallest first value."""
    max: OrderedValue | None = None
    """Largest first value."""
    after: str | None = None
    """Never before this anchor: `parent.column` or `ancestor.column`."""
    before: str | None = None
    """Never after this anchor: `parent.column` or `ancestor.column`."""
    within: Span | int | float | None = None
    """Furthest distance from that anchor (of two, from `after`): a span (`2d`) for dates and times, a number for numbers."""

    @model_validator(mode="after")
    def _absolute_or_relative(self) -> FirstValue:
        absolute = self.min is not None and self.max is not None and self.within is None
        relative = self.within is not None and self.min is None and self.max is None
        anchors = (self.after is not None) + (self.before is not None)
        if not (absolute and anchors == 0) and not (relative and anchors > 0):
            raise ValueError("say min and max, or after, before or both together with within")
        return self


class Relative(Strict):
    """The fields of a column that may be tied to another. They are about order: integers, numbers, dates and times."""

    after: str | None = None
    """Never before this anchor: `column`, `previous.column`, `parent.column` or `ancestor.column`."""
    before: str | None = None
    """Never after this anchor, the first row of a sequence included.
    With `after` and `within` (or `learn`), the value is the distance from `after`; without, a fraction of the time between."""
    during: tuple[str, str] | None = None
    """Shorthand for `after` and `before`: stays within the interval between these two anchors."""
    around: str | None = None
    """Before or after this anchor, or equal to it, at most `within` away: times of one row that come in no known order."""
    within: Span | int | float | None = None
    """Furthest distance from the anchor: a span (`20y`) for dates and times, a number for numbers."""
    first: FirstValue | None = None
    """Where `after` names the previous row: bounds of the sequence's first value."""
    strict: bool = False
    """Never equal to the anchor either. A strict order makes a key of it."""

    @property
    def follows_previous(self) -> bool:
        """Whether it depends on the row before it in the sequence."""
        return self.first is not None or any(anchor.scope == PREVIOUS_ROW for anchor in self.anchors.values())

    @property
    def anchors(self) -> dict[str, Anchor]:
        """Field name → parsed anchor, for every anchor that is written."""
        written: dict[str, str | None] = {"after": self.after, "before": self.before, "around": self.around}
        if self.during is not None:
            written |= {"during.0": self.during[0], "during.1": self.during[1]}
        if self.first is not None:
            written |= {"first.after": self.first.after, "first.before": self.first.before}
        return {name: Anchor.parse(text) for name, text in written.items() if text is not None}
