"""How the rows of one parent are correlated: independent, sequential (with an order), or associative (through a public table)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .drafted import Note, RoleGuess, review
from .families import Family
from .ordering import order_column
from .people import is_once
from .survey import Link, Survey

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
        # What is taken at the same moment stands side by side, always in the same order: the lipids of one panel.
        ties = (item,) if item is not None and item != order else ()
        return Relationship("sequential", cap, f"rows follow each other by {order}", (order, *ties), history_by=item)
    above = family.ancestors[0]
    alone = f"no column gives an order: rows of one {above} are drawn without looking at each other"
    doubt = review(f"{alone}; name the column that orders them (type: sequential, order_by: …)", "orders", f"of one {above}")
    return Relationship("independent", EVENTS if _is_event(table) else CHILDREN, "", notes=(doubt,))


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
