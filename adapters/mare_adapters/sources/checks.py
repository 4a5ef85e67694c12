"""What CHECK constraints say about a table: the values of a column, its bounds, the order of two columns.

A check that is not understood, or only in part, stays in ``unread_checks`` as written: its bounds still hold, but a target
that is to keep the constraint cannot be promised that every synthetic row passes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from decimal import Decimal

from mare.schema.reflection import Bound, Check, ColumnOrder, ReflectedColumn, ReflectedTable
from mare.schema.strict import Value

from .check_grammar import Among, Compare, Condition, Constant, Items, Joined, Name, NullTest, Unreadable, parse

_ORDERED = frozenset({"integer", "number", "date", "datetime"})


@dataclass
class _Facts:
    """What one check says; ``whole`` is false when something of it was not understood."""

    columns: dict[str, ReflectedColumn]
    orders: list[ColumnOrder] = field(default_factory=list)
    whole: bool = True


def apply_checks(table: ReflectedTable, checks: Iterable[Check]) -> ReflectedTable:
    """The table with what these checks say; those not wholly understood are added to its unread ones."""
    columns = {column.name: column for column in table.columns}
    orders, unread, whole = list(table.orders), list(table.unread_checks), list(table.checks)
    for check in checks:
        facts = _Facts(dict(columns))
        try:
            _read(parse(check.text), facts)
        except (Unreadable, RecursionError):
            unread.append(check.text)
            continue
        columns = facts.columns
        orders += [order for order in facts.orders if order not in orders]
        if facts.whole:
            whole.append(check)
        else:
            unread.append(check.text)
    return replace(table, columns=tuple(columns.values()), orders=tuple(orders), unread_checks=tuple(unread), checks=tuple(whole))


def apply_domain(column: ReflectedColumn, checks: Iterable[Check]) -> tuple[ReflectedColumn, tuple[str, ...]]:
    """A column of a PostgreSQL domain, whose checks call it VALUE; and the checks that were not understood."""
    applied = apply_checks(ReflectedTable("", (replace(column, name="VALUE"),)), checks)
    return replace(applied.columns[0], name=column.name), applied.unread_checks


def _read(condition: Condition, facts: _Facts) -> None:
    match condition:
        case Joined("AND", parts):
            for part in parts:
                _read(part, facts)
        case Joined("OR", parts):
            _read_either(parts, facts)
        case Compare(op, Name() as left, Name() as right):
            _read_order(op, left, right, facts)
        case Compare(op, Name() as left, Constant() as right):
            _read_bound(op, left, right, facts)
        case Among(column, items):
            _read_values(column, items, facts)
        case NullTest(column, False):
            described = _find(column, facts)
            facts.columns[described.name] = replace(described, nullable=False)
        case _:
            facts.whole = False


def _read_either(parts: Sequence[Condition], facts: _Facts) -> None:
    """``x IS NULL OR …x…`` says no more than the rest: a check passes when it is unknown. ``x = 1 OR x = 2`` is a list."""
    rest = [part for part in parts if not isinstance(part, NullTest)]
    mentioned = {name.text.casefold() for part in rest for name in _names(part)}
    tests = [part for part in parts if isinstance(part, NullTest)]
    if any(not test.null or test.column.text.casefold() not in mentioned for test in tests):
        facts.whole = False
    elif len(rest) == 1:
        _read(rest[0], facts)
    else:
        lists = [part for part in rest if isinstance(part, Among)]
        if len(lists) < len(rest) or len({listed.column for listed in lists}) != 1:
            facts.whole = False
            return
        _read_values(lists[0].column, tuple(c for listed in lists for c in listed.items), facts)


def _names(condition: Condition) -> list[Name]:
    match condition:
        case Joined(_, parts):
            # Of several conditions, a NULL may leave one unknown and another false: only a name in all of them counts.
            shared = [set(_names(part)) for part in parts]
            return list(set.intersection(*shared)) if shared else []
        case Compare(_, left, right):
            return [side for side in (left, right) if isinstance(side, Name)]
        case Among(column, _):
            return [column]
        case _:
            return []


def _find(name: Name, facts: _Facts) -> ReflectedColumn:
    if name.text in facts.columns:
        return facts.columns[name.text]
    folded = [column for key, column in facts.columns.items() if key.casefold() == name.text.casefold()]
    if len(folded) != 1:
        raise Unreadable
    return folded[0]


def _read_values(name: Name, items: Items, facts: _Facts) -> None:
    column = _find(name, facts)
    values = tuple(dict.fromkeys(_typed_value(constant, column) for constant in items))
    if column.values is not None:
        values = tuple(value for value in column.values if value in values)
    facts.columns[column.name] = replace(column, values=values)


def _typed_value(constant: Constant, column: ReflectedColumn) -> Value:
    value = constant.value
    match column.kind:
        case "string" | "uuid" | "unknown":
            fits = isinstance(value, str)
        case "boolean":
            if not isinstance(value, bool) and value in (0, 1):
                return bool(value)
            fits = isinstance(value, bool)
        case "integer" | "number":
            fits = isinstance(value, (int, float)) and not isinstance(value, bool)
        case _:
            fits = False
    if not fits:
        raise Unreadable
    return value


def _read_order(op: str, left: Name, right: Name, facts: _Facts) -> None:
    first, second = _find(left, facts), _find(right, facts)
    if op == "=" or first == second:
        facts.whole = False
        return
    before, after = (first, second) if op in ("<", "<=") else (second, first)
    facts.orders.append(ColumnOrder(before.name, after.name, strict=op in ("<", ">")))


def _read_bound(op: str, name: Name, constant: Constant, facts: _Facts) -> None:
    column = _find(name, facts)
    if column.kind not in _ORDERED:
        facts.whole = False
        return
    bound = _typed_bound(constant, column)
    upward = op in (">", ">=")
    if op in (">", "<"):
        bound, exact = _inside(bound, column, 1 if upward else -1)
        facts.whole = facts.whole and exact
    elif column.kind == "integer" and isinstance(bound, float):
        bound = math.ceil(bound) if upward else math.floor(bound)
    if upward:
        facts.columns[column.name] = replace(column, min=_tighter(column.min, bound, 1))
    else:
        facts.columns[column.name] = replace(column, max=_tighter(column.max, bound, -1))


def _typed_bound(constant: Constant, column: ReflectedColumn) -> Bound:
    value = constant.value
    try:
        if column.kind in ("integer", "number") and isinstance(value, (int, float)) and not isinstance(value, bool):
            return value
        if column.kind == "date" and isinstance(value, str):
            return datetime.fromisoformat(value).date()
        if column.kind == "datetime" and isinstance(value, str):
            moment = datetime.fromisoformat(value)
            if moment.tzinfo is None:
                return moment
    except ValueError:
        pass
    raise Unreadable


def _inside(bound: Bound, column: ReflectedColumn, step: int) -> tuple[Bound, bool]:
    """The nearest value within a bound that is itself outside. Not exact where the type has no next value."""
    if column.kind == "integer" and isinstance(bound, (int, float)):
        return (math.floor(bound) + 1 if step > 0 else math.ceil(bound) - 1), True
    if column.kind == "date" and isinstance(bound, date):
        return bound + timedelta(days=step), True
    if column.kind == "number" and column.precision is not None and isinstance(bound, (int, float)):
        return float(Decimal(str(bound)) + step * Decimal(1).scaleb(-column.precision)), True
    return bound, False


def _tighter(old: Bound | None, new: Bound, sign: int) -> Bound:
    if old is None:
        return new
    if isinstance(old, (int, float)) and isinstance(new, (int, float)):
        return max(old, new) if sign > 0 else min(old, new)
    if isinstance(old, date) and isinstance(new, date):
        return max(old, new) if sign > 0 else min(old, new)
    return new
