"""The dates of one row in the order that everybody knows from their names: a birth, what begins, what ends, a death.

One moment in two columns (`visit_start_date` beside `visit_start_datetime`) would contradict itself were both drawn. So one of
them is drawn, and the other follows from it (`twins`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mare.schema.reflection import ReflectedColumn, ReflectedTable

from .drafted import Fields
from .name_words import is_beside_calendar, is_end, is_stored, words
from .people import is_birth, is_death

_LATER = (
    "return", "end", "stop", "finish", "clos", "due", "expir", "ship", "deliver", "paid", "pay", "settl", "resol", "disch",
    "complet", "approv", "cancel", "terminat", "until", "store", "verif", "validat", "receiv", "answer", "respon", "arriv",
    "releas", "decid", "decision", "require", "dropoff", "checkout", "thru", "left", "leav", "withdraw", "planned", "schedul",
    "next",
)  # fmt: skip
"""Words of what happens to a thing once it has begun: nothing comes back before it was lent."""
_STAGES = (
    ("collect", "taken", "sampl", "drawn"), ("ship", "dispatch", "sent"), ("deliver", "receiv", "arriv"), ("return", "refund"),
)  # fmt: skip
_BEGINNINGS = (
    "diagnos", "enrol", "regist", "inclu", "consent", "index", "baseline", "entry", "entered", "admit", "admission", "start",
    "onset", "began", "begin", "created", "referr", "random", "since", "joined", "signup", "sign_up", "opened", "opening",
    "aufnahme", "eintritt", "einschluss", "anmeld", "eroffn", "entree", "inscri", "ouvert", "ingres", "inicio", "inizio",
    "apertura", "iscri", "entrada", "abertura", "ricovero", "opname", "inschrijv", "indlag", "innleg", "inskriv", "przyjec",
)  # fmt: skip
"""Words of a person's dates that what happens to them hardly precedes."""
_MADE = ("creat", "insert", "erstellt", "angelegt")
"""Words of when a record was made, which is before it was last changed."""
_REGISTERED = (*_MADE, "regist", "joined", "signup", "signed", "member", "opened", "anmeld", "inscri", "iscri", "inskriv")
"""Words of when a person came to be known to whoever keeps the records: what they did there, they did since."""
_HISTORY = (
    "histor", "prior", "previous", "past", "condition", "diagnos", "problem", "allerg", "intoleran", "immuni", "vaccin",
    "illness", "disease", "disorder", "comorbid", "onset", "surger", "operation", "pregnan", "birth", "education", "employ",
    "residen", "address", "document", "exposure", "anamnes", "vorerkrank", "antecedent",
)  # fmt: skip
"""Words of rows that tell what was before somebody was known."""
_FIRST = ("first", "debut", "hire", "erst", "premier", "primer", "primo", "prima", "eerste")
"""Words of what precedes the last of its kind, and not everything else."""
_DISEASE = (
    "treat", "therap", "chemo", "radiother", "radiat", "regimen", "relaps", "recurr", "remission", "progression", "metasta",
    "behandl", "traitement", "tratam", "trattam",
)  # fmt: skip
"""Words of rows that tell what is done about a disease, or what it does."""


def earlier_in_row(moments: Sequence[ReflectedColumn], column: ReflectedColumn, order: str | None) -> str | None:
    """The date of the same row that ``column`` is never before. ``order``: when the row itself happens, where it has an order."""
    if is_birth(column.name):
        return None
    others = [other for other in moments if other.name != column.name and is_year(other) == is_year(column)]
    others = [other for other in others if is_year(other) or {other.kind, column.kind} <= DAYS]
    births = [other.name for other in others if is_birth(other.name)]
    first = births[0] if births else None
    made = [other.name for other in others if is_made(other.name)]
    if is_stored(column.name) and made:
        return made[0]
    if is_late(column.name):
        begins = [name for name in (_nearest_beginning(moments, others, column), first) if name is not None]
        starts = [o.name for o in others if o.name == order and not is_late(o.name) and not is_birth(o.name)]
        return next((name for name in (_stage_before(others, column), *starts, *begins) if name is not None), None)
    if "diagnos" in joined_words(column.name):
        first = next((other.name for other in others if "onset" in joined_words(other.name)), first)
    return first


def is_year(column: ReflectedColumn) -> bool:
    """A year of the calendar, kept as a number: `birth_year`, `death_year`."""
    return column.kind == "integer" and "year" in words(column.name)


def is_made(name: str) -> bool:
    """When the record of a row was made."""
    return any(word.startswith(_MADE) for word in words(name))


def is_late(name: str) -> bool:
    """What comes once something has begun: its end, what is due, a death."""
    return any(word.startswith(_LATER) for word in words(name)) or is_end(name) or is_death(name)


def begins_record(name: str) -> bool:
    """Whether a person's date is one that a record of them begins with: `enrolled`, not `enrolment_end`."""
    late = is_end(name) or is_death(name) or is_stored(name)
    return not late and (words(name) == ("date",) or any(word in joined_words(name) for word in _BEGINNINGS))


def follows_diagnosis(table: str) -> bool:
    """Rows that nobody has before they fell ill: treatments, relapses."""
    return any(word.startswith(_DISEASE) for word in words(table))


_ONE_DAY = (("checkin", "arriv"), ("checkout", "depart"))
"""What happens on the day that was booked for it, or near it."""


def is_day_of(name: str, moment: str) -> bool:
    """Whether a day is booked for what happens at a moment, by their names: a guest checks out on the day of departure."""
    joined = "".join(words(moment))
    return any(event in joined and any(word.startswith(day) for word in words(name)) for event, day in _ONE_DAY)


def is_registered(name: str) -> bool:
    """When the record of a person was made: `created_at`, `registered_on`, `member_since`; not when a study took them in."""
    begins = any(word.startswith(_REGISTERED) for word in words(name)) or "sign_up" in joined_words(name)
    return begins and begins_record(name)


def is_history(table: str) -> bool:
    """Rows that may tell of a time before somebody was known: what they had and were."""
    return any(word.startswith(_HISTORY) for word in words(table))


def is_exit(name: str) -> bool:
    """When somebody is no longer followed up, which for many is when they die: `exit_date`, not a date that is due."""
    return is_end(name) and not is_death(name) and not is_beside_calendar(name)


def is_hiring(name: str) -> bool:
    return any(word.startswith(("hire", "hiring")) for word in words(name))


def is_diagnosis(name: str) -> bool:
    return "diagnos" in joined_words(name)


DAYS = {"date", "datetime"}


def _nearest_beginning(
    moments: Sequence[ReflectedColumn], others: Sequence[ReflectedColumn], column: ReflectedColumn
) -> str | None:
    """Of several, the last that stands before the column, where people write what belongs together."""
    begins = [other.name for other in others if _begins(other.name) and not is_birth(other.name)]
    names = [moment.name for moment in moments]
    before = [name for name in begins if names.index(name) < names.index(column.name)]
    return before[-1] if before else begins[0] if begins else None


def _begins(name: str) -> bool:
    return begins_record(name) or (not is_late(name) and any(word.startswith(_FIRST) for word in words(name)))


def _stage_before(others: Sequence[ReflectedColumn], column: ReflectedColumn) -> str | None:
    """Of a thing that goes through stages, the column of the one before: nothing is delivered before it was shipped."""
    stage = _stage(column.name)
    earlier = [(_stage(other.name), other.name) for other in others if other.kind == column.kind]
    before = [(at, name) for at, name in earlier if 0 <= at < stage]
    return max(before)[1] if before else None


def is_stage_before(name: str, later: str) -> bool:
    """Whether a thing reaches one stage before another: it is collected, and then received."""
    return 0 <= _stage(name) < _stage(later)


def _stage(name: str) -> int:
    return next((at for at, stage in enumerate(_STAGES) if any(part.startswith(stage) for part in words(name))), -1)


def joined_words(name: str) -> str:
    return "_".join(words(name))


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
    by_name = {}
    for day in moments:
        moment = fine.get(_stem(day.name, (_COARSE,)) or "")
        if moment is not None and moment.name != day.name:
            twin = _twin(day, moment)
            by_name[twin.name] = twin
    return by_name


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
