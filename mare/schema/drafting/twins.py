"""One moment in two columns: `visit_start_date` beside `visit_start_datetime`, `chartdate` beside `charttime`.

Drawn apart they would contradict each other. So one of them is drawn, and the other follows from it.
"""

from __future__ import annotations

from dataclasses import dataclass

from mare.schema.reflection import ReflectedColumn, ReflectedTable

from .drafted import Fields
from .words import words

_FINE = ("datetime", "timestamp", "time", "dttm", "dtm")
_COARSE = "date"


@dataclass(frozen=True)
class Twin:
    """A column that says again what ``of`` says, as a date of it or as a moment of that day."""

    name: str
    of: str
    fields: Fields

    @property
    def is_day(self) -> bool:
        """Whether it is the day of the other one, and nothing is drawn for it."""
        return "determined" in self.fields


def twins(table: ReflectedTable) -> dict[str, Twin]:
    """The columns that follow from another, by name."""
    moments = [column for column in table.columns if column.kind in ("date", "datetime") and not column.generated]
    fine = {stem: column for column in moments if (stem := _stem(column.name, _FINE)) is not None}
    found = {}
    for day in moments:
        moment = fine.get(_stem(day.name, (_COARSE,)) or "")
        if moment is not None and moment.name != day.name:
            twin = _twin(day, moment)
            found[twin.name] = twin
    return found


def _twin(day: ReflectedColumn, moment: ReflectedColumn) -> Twin:
    if moment.nullable and not day.nullable:
        # OMOP asks for the date and not for the time: the day is always there, and where the time is, it lies in that day.
        return Twin(moment.name, day.name, {"after": day.name, "within": "86399s"})
    return Twin(day.name, moment.name, {"determined": {"part": {"of": moment.name, "unit": "date"}}})


def _stem(name: str, endings: tuple[str, ...]) -> str | None:
    """The name without what says how exact it is; None where it does not say."""
    joined = "".join(words(name))
    ending = next((word for word in endings if joined.endswith(word) and len(joined) > len(word)), None)
    return joined.removesuffix(ending) if ending is not None else None
