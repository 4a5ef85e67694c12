"""How the rows of one parent are correlated: independent, sequential (with an order), or associative (through a public table)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mare.schema.reflection import ReflectedColumn

from .drafted import Note, RoleGuess, review
from .families import Family
from .survey import Link, Survey
from .twins import twins
from .words import is_elapsed, is_once, is_position, is_time, words

_TIME_KINDS = ("date", "datetime", "time")
_STARTS = ("start", "begin", "admit", "intime", "chart", "from", "event", "onset", "order", "visit", "invoice", "transfer")
"""Words of the time that a row happens at, rather than when it ended or was stored."""
_ENDS = (
    "end",
    "stop",
    "out",
    "disch",
    "death",
    "dod",
    "expir",
    "store",
    "enter",
    "verif",
    "updat",
    "creat",
    "modif",
    "birth",
    "dob",
)
_ITEMS = (
    "item", "test", "concept", "result_name", "measurement", "observation", "analyte", "parameter", "labname", "code", "variable",
    "attribute", "measure", "metric", "sensor", "channel", "question", "indicator", "vital_sign", "vital", "sign", "component",
    "marker", "assay",
)  # fmt: skip
_MEASURES = (
    "value", "valuenum", "value_as_number", "result", "result_value", "labresult", "amount", "val", "reading", "measured_value",
    "numeric_value", "value_numeric", "value_num", "score", "level", "result_numeric",
)  # fmt: skip

_OFTEN = (
    "trans",
    "payment",
    "rental",
    "reading",
    "movement",
    "attendance",
    "booking",
    "purchase",
    "sale",
    "click",
    "vital",
    "occurrence",
    "exposure",
)
"""Words of what one person has many of."""
_SELDOM = ("admission", "stay", "hospital", "surger", "pregnan", "loan", "contract", "polic", "enrol", "card", "period")
"""Words of what one person has a few of."""
KEYS = 50
"""Public keys that get a context column of their own, where the catalogue does not tell how many there are."""
EVENTS, CHILDREN, FEW, ONE = 100, 20, 10, 1
"""Round public caps: many small events, a list, visits of one person, an extension of the parent's row."""


@dataclass(frozen=True)
class Relationship:
    """The type of a link to the parent, with what belongs to it."""

    type: str
    max_rows: int
    why: str
    order_by: tuple[str, ...] = ()
    via: Link | None = None
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
    via = _association(survey, table, parent, roles)
    if via is not None:
        return _associative(via)
    order = order_column(survey, table, parent)
    item = item_column(survey, table)
    if order is not None:
        seldom = family.depth == 1 and any(word in table.casefold() for word in _SELDOM)
        often = item is not None or any(word in table.casefold() for word in _OFTEN) or (family.depth > 1 and _is_event(table))
        cap = EVENTS if often else FEW if seldom else CHILDREN
        return Relationship("sequential", cap, f"rows follow each other by {order}", (order,), history_by=item)
    return Relationship("independent", EVENTS if _is_event(table) else CHILDREN, "no column gives an order")


def order_column(survey: Survey, table: str, parent: tuple[str, ...]) -> str | None:
    """The column that siblings are ordered by: a part of the key, a time, a number in the sequence."""
    described = survey.table(table)
    linked = {name for link in survey.links_of(table) for name in link.columns} | set(parent)
    linked |= set(twins(described))
    free = [column for column in described.columns if column.name not in linked and not column.generated]
    rest = [column for column in free if column.name in survey.keys[table]]
    if len(survey.keys[table]) > 1:
        for column in rest:
            if _orders(column):
                return column.name
    ranked = sorted(((_order_rank(column), i, column.name) for i, column in enumerate(free) if _orders(column)))
    return ranked[0][2] if ranked else None


def item_column(survey: Survey, table: str) -> str | None:
    """What the value of an entity-attribute-value row is a value of: `itemid`, `test`."""
    names = [column.name for column in survey.table(table).columns if (column.name,) != survey.keys[table]]
    if not any(name.casefold() in _MEASURES for name in names):
        return None
    return next((name for word in _ITEMS for name in names if _is_item(name, word)), None)


def value_columns(survey: Survey, table: str) -> tuple[str, ...]:
    """The columns whose scale depends on the item."""
    return tuple(c.name for c in survey.table(table).columns if c.name.casefold() in _MEASURES)


def _is_item(name: str, word: str) -> bool:
    folded = name.casefold()
    endings = ("", "id", "_id", "_name", "_concept_id", "_code", "_type", "_key")
    return folded in {f"{word}{ending}" for ending in endings}


def _orders(column: ReflectedColumn) -> bool:
    if column.kind in ("date", "datetime"):
        return True
    named = is_position(column.name) or is_elapsed(column.name)
    if column.kind in ("integer", "number"):
        return named and "year" not in words(column.name)
    return column.kind in ("unknown", "string") and (is_position(column.name) or is_time(column.name))


def _order_rank(column: ReflectedColumn) -> tuple[int, int]:
    """Smaller is better: a start before anything else, what is never NULL before what may be."""
    folded = column.name.casefold()
    ends = any(word in folded for word in _ENDS)
    starts = any(word in folded for word in _STARTS)
    time = column.kind in _TIME_KINDS or is_time(column.name)
    kind = 3 if ends else 0 if time and starts else 1 if time else 2
    # A date next to a moment is the coarser of the two, and orders fewer rows.
    coarse = column.kind == "date" or folded.endswith("date")
    return (kind, (1 if coarse else 0) + (2 if column.nullable else 0))


def _association(survey: Survey, table: str, parent: tuple[str, ...], roles: Mapping[str, RoleGuess]) -> Link | None:
    """The link to a public table that, with the parent, is the key; or the only thing in the table."""
    described = survey.table(table)
    # Rows are joined by the public key: a vocabulary that is referred to by another column is looked up.
    keyed = [link for link in survey.links_of(table) if link.references in ((), survey.keys.get(link.target))]
    public = [link for link in keyed if roles[link.target].role == "public"]
    rest = set(survey.keys[table]) - set(parent)
    for link in public:
        if rest and set(link.columns) == rest and set(survey.keys[table]) & set(parent):
            return link
    linked = {name for link in survey.links_of(table) for name in link.columns} | set(parent)
    surrogate = set(survey.keys[table]) if len(survey.keys[table]) == 1 else set()
    others = {column.name for column in described.columns} - linked - surrogate
    return public[0] if len(public) == 1 and not others else None


def _associative(via: Link) -> Relationship:
    note = review(f"the {KEYS} most common keys get a column each; few keys? Write rows: under {via.target}, and no vocabulary")
    return Relationship("associative", CHILDREN, f"each row joins the parent with {via.target}", via=via, notes=(note,))


def _is_event(table: str) -> bool:
    folded = table.casefold()
    return any(
        word in folded
        for word in ("event", "measurement", "observation", "lab", "vital", "chart", "log", "result", "emar", *_OFTEN)
    )
