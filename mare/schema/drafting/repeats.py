"""Columns that say again what is known elsewhere, by their names: a fact about the person in every row, a running value, a total.

A fact is proposed in the draft itself, for it changes from row to row otherwise; what a column adds up is a remark.
"""

from __future__ import annotations

from .drafted import Entry, FieldValue, review
from .families import Family
from .relationships import Relationship
from .survey import Survey
from .words import is_age, singular, stem, words

_TRAITS = frozenset(("sex", "gender", "race", "ethnicity", "ethnic", "dob", "yob", "birthdate", "birthday", "birthyear"))
_OF_BIRTH = frozenset(("date", "year", "month", "day", "dt", "place", "country"))
_DRAWN = ("category", "boolean", "integer", "number", "date", "datetime")
_RUNNING = frozenset(("balance", "cumulative", "running", "cum"))
_AMOUNTS = ("amount", "amt", "charge", "cost")
_TOTALS = frozenset(("total", "sum"))
_COUNTS = frozenset(("n", "num", "count", "number"))


def with_repeats(survey: Survey, table: str, entry: Entry, family: Family | None, relationship: Relationship | None) -> Entry:
    """The same column, with what its name tells of other rows."""
    if family is not None and relationship is not None and relationship.max_rows > 1:
        if relationship.type != "associative" and entry.name not in survey.keys[table]:
            entry = _fact(survey, table, entry, family, relationship)
        if relationship.type == "sequential":
            entry = _running(survey, table, entry)
    return _total(survey, table, entry)


def _fact(survey: Survey, table: str, entry: Entry, family: Family, relationship: Relationship) -> Entry:
    """Something about the person: a copy where a table above says it, else the same in all of their rows."""
    order = relationship.order_by[0] if relationship.order_by else None
    if entry.fields["type"] not in _DRAWN or entry.name == order or "after" in entry.fields:
        return entry
    above = _said_above(survey, entry.name, family) if is_trait(entry.name) or is_age(entry.name) else None
    if is_age(entry.name) and entry.fields["type"] == "integer":
        ordering = survey.table(table).column(order) if order is not None else None
        if above is not None or ordering is None or ordering.kind not in ("date", "datetime"):
            return entry
        drift: dict[str, FieldValue] = {"same_for": "entity", "drift": {"by": ordering.name, "unit": "years"}}
        return entry.with_fields(drift).with_notes(review(f"one person, whose age follows {ordering.name}?", "facts"))
    above = above or _prefixed(survey, entry.name, family)
    if not is_trait(entry.name) and above is None:
        return entry
    if above is not None:
        kept = {name: value for name, value in entry.fields.items() if name in ("type", "nullable")}
        note = review("the same as there, by its name?", "facts")
        return Entry(entry.name, kept).with_fields({"determined": {"copy_of": above}}).with_notes(note)
    return entry.with_fields({"same_for": "entity"}).with_notes(review("never changes for one person, by its name?", "facts"))


def _prefixed(survey: Survey, name: str, family: Family) -> str | None:
    """`customer_segment` of an order is the segment of its customer."""
    for above in family.ancestors:
        parts, called = words(name), words(above)
        held = survey.reflection.table(above)
        if held is None or not called or len(parts) < 2 or singular(called[-1]) != parts[0]:
            continue
        same = [column for column in held.columns if words(column.name) == parts[1:] and column.name not in survey.keys[above]]
        if same:
            return f"{above}.{same[0].name}"
    return None


def _said_above(survey: Survey, name: str, family: Family) -> str | None:
    """A column of that name in a table above, as an anchor."""
    for above in family.ancestors:
        held = survey.reflection.table(above)
        for column in held.columns if held is not None else ():
            if column.name.casefold() == name.casefold():
                return f"{above}.{column.name}"
    return None


def _running(survey: Survey, table: str, entry: Entry) -> Entry:
    if entry.fields["type"] not in ("integer", "number") or not _RUNNING & set(words(entry.name)):
        return entry
    amount = _amount(survey, table, entry.name)
    if amount is None:
        return entry
    how = f'{{expression: "previous.{entry.name} + {amount}", first: {amount}}}'
    signs = f"if(type = 'debit', -{amount}, {amount}) tells signs apart"
    return entry.with_notes(review(f"goes on from row to row? determined: {how}; {signs}", "worked out"))


def _total(survey: Survey, table: str, entry: Entry) -> Entry:
    """A number of a row that counts or adds up rows below it."""
    parts = words(entry.name)
    if entry.fields["type"] not in ("integer", "number") or not parts or "determined" in entry.fields:
        return entry
    for link in survey.links_to(table):
        if link.is_self:
            continue
        below = link.table
        if _COUNTS & {parts[0], parts[-1]} and stem(below).endswith(singular(parts[-1] if parts[0] in _COUNTS else parts[0])):
            return entry.with_notes(review(f"how many {below} there are? determined: {{count: {below}}}", "worked out"))
        amount = _amount(survey, below, "") if _TOTALS & set(parts) else None
        if amount is not None:
            return entry.with_notes(review(f"adds up {below}? determined: {{sum: {below}.{amount}}}", "worked out"))
    return entry


def _amount(survey: Survey, table: str, besides: str) -> str | None:
    """The number of a row that is most likely to be added up."""
    numbers = [c.name for c in survey.table(table).columns if c.kind in ("integer", "number") and c.name != besides]
    return next((name for word in _AMOUNTS for name in numbers if word in words(name)), None)


def is_trait(column: str) -> bool:
    """A fact about a person that hardly ever changes."""
    parts = set(words(column))
    return bool(parts & _TRAITS or "".join(words(column)) in _TRAITS or ("birth" in parts and parts & _OF_BIRTH))
