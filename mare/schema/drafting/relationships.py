"""How the rows of one parent are correlated: independent, or sequential (with an order).

An order is when what a row tells happened, or its number in the sequence. Not when somebody was born or died, which is a fact
about them; and not when something ended, which is mostly still open.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mare.schema.reflection import ReflectedColumn, ReflectedTable

from .column_types import draft_column
from .drafted import Note, RoleGuess, review
from .families import Family
from .name_words import (
    counts_rows,
    is_age,
    is_at_school,
    is_clock_unit,
    is_elapsed,
    is_end,
    is_grade,
    is_place,
    is_position,
    is_round,
    is_time,
    numbers_lines,
    words,
)
from .people import is_being, is_birth, is_death, is_once, personal_traits
from .row_dates import twins
from .survey import Survey
from .time_order import intervals

_ITEMS = (
    "item", "test", "concept", "result_name", "measurement", "observation", "analyte", "parameter", "labname", "code", "variable",
    "attribute", "measure", "metric", "sensor", "channel", "question", "indicator", "vital_sign", "vital", "sign", "component",
    "marker", "assay", "messgrosse", "analyt", "merkmal", "parametre", "parametro", "untersuchung", "examen", "esame", "bepaling",
)  # fmt: skip
_MEASURES = (
    "value", "valuenum", "value_as_number", "result", "result_value", "labresult", "amount", "val", "reading", "measured_value",
    "numeric_value", "value_numeric", "value_num", "score", "level", "result_numeric",
    "original_value", "standard_value", "standard_result", "wert", "messwert", "ergebnis", "valeur", "resultat", "valor",
    "resultado", "valore", "risultato", "waarde", "uitslag",
)  # fmt: skip
_LIMITS = (
    "range_low", "range_high", "ref_low", "ref_high", "reference_low", "reference_high", "original_range_low",
    "original_range_high", "ref_range_lower", "ref_range_upper", "normal_low", "normal_high",
)  # fmt: skip
"""Ends of what is normal: on the scale of the value."""

_OFTEN = (
    "trans", "payment", "rental", "reading", "movement", "attendance", "booking", "purchase", "sale", "click", "vital",
    "occurrence", "exposure", "medic", "prescri",
)  # fmt: skip
_OFTEN_IN_TRIALS = ("ae", "ce", "cm", "ec", "ex", "pr")
"""Words of what one person has many of, and domains of SDTM: events and what was given, at every visit anew."""
_SELDOM = ("admission", "stay", "hospital", "surger", "pregnan", "loan", "contract", "polic", "enrol", "card", "period")
"""Words of what one person has a few of."""
MEASURED, EVENTS, CHILDREN, FEW, ONE = 1000, 300, 100, 30, 1
"""Round public caps: all that was ever measured of a person, many small events, a list, visits of one person, an extension of the
parent's row. Generous: models scale entities down to what most have, so that what nobody reaches costs little; and a cap that is
too low cuts rows whatever the budget."""
_REDCAP = ("redcap_event_name", "redcap_repeat_instrument", "redcap_repeat_instance")
"""What REDCap calls the columns that tell the rows of one record apart, in every export."""


@dataclass(frozen=True)
class Relationship:
    """The type of a link to the parent, with what belongs to it."""

    type: str
    max_rows: int
    why: str
    order_by: tuple[str, ...] = ()
    history_by: str | None = None
    """The column that says what a value is of, in an entity-attribute-value table."""
    notes: tuple[Note, ...] = ()


def guess_relationship(survey: Survey, table: str, family: Family, roles: Mapping[str, RoleGuess]) -> Relationship:
    """The relationship of a private table to its parent."""
    parent = () if family.parent is None else family.parent.columns
    key = survey.keys[table]
    uniques = survey.table(table).uniques
    if parent and (set(key) == set(parent) or any(set(unique) == set(parent) for unique in uniques)):
        return Relationship("independent", ONE, "its key is the parent's: at most one row (1:0..1)")
    if is_once(table):
        return Relationship("independent", ONE, "by its name, at most once for each of them")
    order = order_column(survey, table, parent)
    item = item_column(survey, table)
    many = EVENTS if is_event(table) else CHILDREN
    # Thirty tests at each of many visits: a cap that leaves the last visit alone tells nothing of a course.
    measured = None if item is None else MEASURED if family.depth == 1 else EVENTS
    if order is not None:
        seldom = family.depth == 1 and any(word in table.casefold() for word in _SELDOM)
        often = (
            any(word in table.casefold() for word in _OFTEN)
            or table.casefold() in _OFTEN_IN_TRIALS
            or (family.depth > 1 and is_event(table))
        )
        cap = measured or (EVENTS if often else FEW if seldom else CHILDREN)
        # What is taken at the same moment stands side by side, always in the same order: the lipids of one panel.
        ties = (item,) if item is not None and item != order else ()
        return Relationship("sequential", cap, f"rows follow each other by {order}", (order, *ties), history_by=item)
    traits = personal_traits(column.name for column in survey.table(table).columns)
    several = survey.repeats.get((table, parent[0])) if len(parent) == 1 else None
    if several is False:
        return Relationship("independent", ONE, f"no two rows have the same {parent[0]}: at most one row (1:0..1)")
    if family.depth == 1 and len(traits) > 1 and not several and not survey.keys[table] and not is_being(table):
        why = f"{', '.join(traits[:3])} describe the person it is about"
        return Relationship(
            "independent", ONE, why, notes=(review("at most one row for each of them? More are cut", "caps", "1"),)
        )
    public = _public_order(survey, table, parent, roles)
    if public is not None:
        why = f"rows are taken in the order of {public}, so that each looks at those before it"
        return Relationship("sequential", many, why, (public,))
    above = family.ancestors[0]
    alone = "no column says which row comes first"
    own, linked = survey.keys[table], linked_names(survey, table, parent)
    counted = tuple(c.name for c in survey.table(table).columns if c.kind == "integer" and counts_rows(c.name))[:1]
    if counted or (len(own) == 1 and not set(own) & linked):
        # Rows of one parent are alike, whatever comes first: in any order, each can look at the one before.
        own, what = (counted, "the file") if counted else (own, "their key")
        taken = f"{alone}: they are taken in the order of {what}, {own[0]}, so that each looks at those before it"
        doubt = review(f"{taken}; is there a better one?", "orders", own[0])
        return Relationship("sequential", measured or many, "", own, history_by=item, notes=(doubt,))
    told = tuple(name for name in _REDCAP if survey.table(table).column(name) is not None)
    if told:
        why = f"{alone}: REDCap tells rows apart by {', '.join(told)}"
        return Relationship(
            "sequential", measured or many, "", told, history_by=item, notes=(review(f"{why}; is there a better one?"),)
        )
    drawn = f"{alone}: rows of one {above} are drawn without looking at each other"
    doubt = review(f"{drawn}; name the column that orders them (type: sequential, order_by: …)", "orders", f"of one {above}")
    return Relationship("independent", measured or many, "", notes=(doubt,))


def item_column(survey: Survey, table: str) -> str | None:
    """What the value of an entity-attribute-value row is a value of: `itemid`, `test`."""
    names = [column.name for column in survey.table(table).columns if (column.name,) != survey.keys[table]]
    if not any("_".join(words(name)) in _MEASURES for name in names):
        return None
    return next((name for word in _ITEMS for name in names if _is_item(name, word)), None)


def value_columns(survey: Survey, table: str) -> tuple[str, ...]:
    """The columns whose scale depends on the item."""
    return tuple(c.name for c in survey.table(table).columns if "_".join(words(c.name)) in (*_MEASURES, *_LIMITS))


def is_of_item(name: str) -> bool:
    """What goes with the item rather than with its value: the unit, the ends of what is normal."""
    return words(name) in (("unit",), ("units",)) or "_".join(words(name)) in _LIMITS


def _is_item(name: str, word: str) -> bool:
    folded = "_".join(words(name))
    endings = ("", "id", "_id", "_name", "_concept_id", "_code", "_type", "_key")
    return folded in {f"{word}{ending}" for ending in endings}


def _public_order(survey: Survey, table: str, parent: tuple[str, ...], roles: Mapping[str, RoleGuess]) -> str | None:
    """The public key that rows are sorted by where no time and no number gives an order: then each looks at those before it, so
    that what goes together does, and nothing is there twice that cannot be (which a column for each key tells worse)."""
    links = [link for link in survey.links_of(table) if roles[link.target].role == "public" and len(link.columns) == 1]
    keyed = [link for link in links if set(link.columns) <= set(survey.keys[table])] or links
    return keyed[0].columns[0] if len(keyed) == 1 and not keyed[0].nullable and keyed[0].columns[0] not in parent else None


def is_event(table: str) -> bool:
    """Whether its rows are small events, one after another: transactions, measurements."""
    folded = table.casefold()
    return folded in _OFTEN_IN_TRIALS or any(
        word in folded
        for word in ("event", "measurement", "observation", "lab", "vital", "chart", "log", "result", "emar", *_OFTEN)
    )


_TIME_KINDS = ("date", "datetime", "time")
_STARTS = ("start", "begin", "admit", "intime", "chart", "from", "event", "onset", "order", "visit", "invoice", "transfer")
"""Words of the time that a row happens at, rather than when it ended or was stored."""
_STORED = ("store", "enter", "verif", "updat", "creat", "modif", "load", "insert", "import", "erstellt", "geaendert", "geandert")
"""Words of when a row was written, which may be long after what it tells."""


def order_column(survey: Survey, table: str, parent: tuple[str, ...]) -> str | None:
    """A part of the key, a time, a number in the sequence; None where nothing gives an order."""
    described = survey.table(table)
    linked = linked_names(survey, table, parent) | set(twins(described))
    free = [c for c in described.columns if c.name not in linked and not (c.generated or survey.is_fact(table, c.name))]
    orders = [column for column in free if _orders(survey, table, column) and not _is_fact(table, column)]
    ranked = sorted((_rank(column), i, column.name) for i, column in enumerate(orders) if _may_order(survey, table, column))
    dated = bool(ranked) and ranked[0][0][0] == 0
    for key in (survey.keys[table], *described.uniques):
        parts = [column for column in orders if column.name in key and len(key) > 1]
        if not parts and linked & set(key):
            # Whatever it is called: a number that tells the rows of one parent apart also says which comes first.
            parts = [column for column in free if column.name in key and _numbers(survey, column)]
        # What is unique beside a key of its own is a number of the row: where there is a date, that says when.
        if parts and (key == survey.keys[table] or not dated or parts[0].kind in _TIME_KINDS):
            return parts[0].name
    return ranked[0][2] if ranked else None


def linked_names(survey: Survey, table: str, parent: tuple[str, ...]) -> set[str]:
    """The columns that lead elsewhere."""
    return {name for link in survey.links_of(table) for name in link.columns} | set(parent)


def tells_apart(survey: Survey, table: str, columns: tuple[str, ...]) -> bool:
    """Whether these columns together are a key, or unique: no two rows have the same."""
    return any(set(columns) == set(key) for key in (survey.keys[table], *survey.table(table).uniques))


def _orders(survey: Survey, table: str, column: ReflectedColumn) -> bool:
    if column.kind in ("date", "datetime"):
        return True
    if column.kind in ("integer", "number"):
        return is_position(column.name) or (_goes_on(survey, table, column.name) and _is_number(survey, column))
    # What is no date and no number by its values, whatever it is called, is sorted as words are: 10 before 2.
    named = is_position(column.name) or is_time(column.name)
    return column.kind in ("unknown", "string") and named and not column.looked_at


def _goes_on(survey: Survey, table: str, name: str) -> bool:
    """A number that grows from row to row: time that has passed, a year, a round of a survey, a grade of a pupil, an age."""
    if is_grade(name):
        return is_at_school((table, *(link.target for link in survey.links_of(table))))
    begins = any(name == start for start, _ in intervals(survey.table(table)))
    # A time alone: a `prothrombin_time` is a value.
    named = is_elapsed(name) or is_round(name) or words(name) in (("time",), ("t",))
    return named or begins or is_age_of_row(survey, table, name) or _is_clock_alone(survey.table(table), name)


def is_age_of_row(survey: Survey, table: str, name: str) -> bool:
    """How old somebody was when the row was written, which grows from row to row. An age that stands above too is the one that
    they had once; a child of theirs has its own."""
    above = [held for link in survey.links_of(table) if (held := survey.reflection.table(link.target)) is not None]
    return _is_own_age(name) and not is_being(table) and all(held.column(name) is None for held in above)


def _is_clock_alone(table: ReflectedTable, name: str) -> bool:
    """`minute`, where nothing tells of which hour or day: since something began."""
    others = [column for column in table.columns if column.name != name]
    timed = any(c.kind in _TIME_KINDS or is_time(c.name) or is_elapsed(c.name) or is_clock_unit(c.name) for c in others)
    return is_clock_unit(name) and not timed


def _is_own_age(name: str) -> bool:
    """`age`, `age_at_visit`; a `donor_age` is somebody else's."""
    return is_age(name) and words(name)[:1] == ("age",)


def _numbers(survey: Survey, column: ReflectedColumn) -> bool:
    return _is_number(survey, column) or (column.kind == "integer" and numbers_lines(column.name))


def _is_number(survey: Survey, column: ReflectedColumn) -> bool:
    """No id, code or flag by its name, and no list of values."""
    return not is_birth(column.name) and draft_column(column, survey.facts).fields["type"] in ("integer", "number")


def _is_fact(table: str, column: ReflectedColumn) -> bool:
    """A birth or a death of whoever the row is about, unless these are what the table is a list of."""
    return (is_birth(column.name) and not is_birth(table)) or (is_death(column.name) and not is_death(table))


def _may_order(survey: Survey, table: str, column: ReflectedColumn) -> bool:
    """An end orders rows where every row has one (a list of discharges); where nobody tells, if rows have not even an id."""
    seen = survey.seen(table, column.name)
    if seen.missing or (is_place(column.name) and seen.counts is False):
        return False
    if not is_end(column.name):
        return True
    return not column.nullable if survey.tells_nullability else not survey.keys[table]


def _rank(column: ReflectedColumn) -> tuple[int, bool, bool, bool]:
    """Smaller is better: what happened before its number, a number or a year before a place, which may be any fact, and all
    before an end or what was stored; then what is never NULL, what says that it begins something, and the finer of two."""
    folded = column.name.casefold()
    time = column.kind in _TIME_KINDS or is_time(column.name)
    stored = any(word.startswith(_STORED) for word in words(column.name))
    later = 5 if _is_own_age(column.name) else 4 if is_end(column.name) else 3 if stored else None
    group = later if later is not None else 0 if time else 2 if is_place(column.name) else 1
    # A date next to a moment is the coarser of the two, and orders fewer rows; so is a year beside days.
    coarse = column.kind == "date" or folded.endswith("date") or is_round(column.name) or is_grade(column.name)
    return group, column.nullable, not any(word in folded for word in _STARTS), coarse
