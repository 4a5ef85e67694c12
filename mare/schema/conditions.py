"""What a condition may ask of a column: an order where it has one, and values that it can have."""

from __future__ import annotations

from collections.abc import Mapping

from .columns import AnyColumn, Category, Listed, Ordinal
from .columns.category import canonical
from .condition_grammar import Among, Comparison, Condition, IsNull, comparisons_in, parse_condition
from .faults import listed
from .strict import Value


def has_order(described: AnyColumn) -> bool:
    """Whether more and less mean anything in it."""
    if isinstance(described, Category):
        return bool(described.values) and all(
            isinstance(v, int | float) and not isinstance(v, bool) for v in described.values or ()
        )
    return isinstance(described, Ordinal)


def ending_by_codes(columns: Mapping[str, AnyColumn], when: str | None) -> Condition | None:
    """What ends a sequence, where the codes of its rows tell; None where values have to come out first, or nothing ends it."""
    if when is None:
        return None
    condition = parse_condition(when)
    for test in comparisons_in(condition):
        described = columns.get(test.column)
        told = isinstance(described, Listed) or (
            isinstance(test, IsNull) and isinstance(described, Ordinal) and not described.depends_on_items
        )
        if described is None or not told or described.determined is not None or described.same_for is not None:
            return None
    return condition


def cannot_be_asked(test: Comparison | Among | IsNull, described: AnyColumn) -> tuple[str, str] | None:
    """Why a test makes no sense for a column, and what to write instead; None where it does."""
    if isinstance(test, IsNull):
        return None
    if isinstance(test, Comparison) and test.operator not in ("=", "!=") and not has_order(described):
        return f"{test.column} has no order, so {test.operator} cannot be asked", "Use = != or in"
    for value in (test.value,) if isinstance(test, Comparison) else test.values:
        if (why := never(value, described)) is not None:
            return f"{test.column} {why}", "Compare it with a value that it can have"
    return None


def never(value: Value, described: AnyColumn) -> str | None:
    """Why a column never has a value, as far as the schema says."""
    if isinstance(described, Ordinal):
        if canonical(value) in map(canonical, described.specials):
            return None
        try:
            described.compared(value)
        except ValueError as words:
            return f"{words}; {value!r} is none"
    elif isinstance(described, Listed):
        meant = described.meant(value)
        if meant is None:
            return f"is true or false; {value!r} is neither"
        known = None if described.possible is None else [canonical(v) for v in described.possible]
        if known is not None and canonical(meant) not in known:
            return f"is never {value!r}. Its values are: {listed(known)}"
    return None
