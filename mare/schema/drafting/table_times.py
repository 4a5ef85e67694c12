"""What the times of the rows of one table are tied to: others of the same row, the row before, and what stands above it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from .drafted import FieldValue, Note
from .families import Family
from .people import is_birth, is_death
from .relationships import is_age_of_row, is_event, item_column, order_column, tells_apart
from .row_dates import is_year
from .survey import Survey
from .time_order import after_above, death_of, relative_times, settles, start_of, unordered_times
from .words import counts_visits, is_place, is_position, is_round


def tied_times(
    survey: Survey, table: str, family: Family | None, order: str | None
) -> dict[str, tuple[Mapping[str, FieldValue], tuple[Note, ...]]]:
    parent, described = family.parent if family is not None else None, survey.table(table)
    # What is the same for a person is drawn beside all of their rows: it ties no time of one of them.
    described = replace(described, columns=tuple(c for c in described.columns if not survey.is_fact(table, c.name)))
    if family is None or parent is None:
        times = relative_times(described, order, 0, survey.facts)
        return {**times, **unordered_times(described, order, times, survey.facts)}
    # No two rows may be equal where the order alone tells them apart: two vaccines are given on one day.
    strict = order is not None and tells_apart(survey, table, (*parent.columns, order))
    happening = order or order_column(survey, table, parent.columns)
    begins = survey.seen(table, happening).begins if happening is not None else None
    above = f"parent.{begins}" if begins is not None else _time_above(survey, family, table)
    times, happens = relative_times(described, order, family.depth, survey.facts, above, strict), order
    along = []
    if order is not None and (counts_visits(order) or is_round(order) or (is_position(order) and is_event(table))):
        # Numbered by the source: their times go on with the numbers.
        happens = order_column(survey, table, (*parent.columns, order))
        along = [happens] if happens is not None and not is_place(happens) else []
    if order is not None and (stored := described.column(order)) is not None:
        # Whoever it is about grows older by as much as time has passed: beside dates, full years follow them (`repeats`).
        aged = [column for column in described.columns if is_age_of_row(survey, table, column.name)]
        along += [c.name for c in aged if c.kind != "integer" or stored.kind not in ("date", "datetime")]
    for name in along:
        if name not in times and name in (dated := relative_times(described, name, family.depth, survey.facts, above)):
            times[name] = dated[name]
    first = order_column(survey, table, parent.columns) if order is None else None
    if above is not None and first is not None and first not in times:
        times[first] = after_above(above, survey.facts)
    happened = described.column(order or first or "")
    if happened is not None and happened.name in times:
        fields, notes = times[happened.name]
        times[happened.name] = _apart(fields, happened.name, survey.seen(table, happened.name).apart), notes
    if happened is not None and happened.kind in ("date", "datetime") and happened.name in times:
        fields, notes = times[happened.name]
        if order is not None and item_column(survey, table) is not None:
            # A panel is taken at one moment, the next one weeks later.
            fields = {**fields, "scale": "log"}
        if (ends := survey.seen(table, happened.name).ends) is not None:
            # Where noise makes too many rows for the time there is, to hold them before it costs more than it gives.
            words = f"never after it in all rows that were looked at: before: parent.{ends} keeps that, at a price"
            notes = (*notes, Note(words))
        death = _death_above(survey, family, table)
        after = {name: value for name, value in fields.items() if name == "after"}
        times[happened.name] = (fields if death is None else {**after, "before": death, **fields}), notes
    if happened is not None and is_year(happened) and happened.name in times:
        fields, notes = times[happened.name]
        times[happened.name] = {**fields, **_within_a_life(survey, family, table)}, notes
    return {**times, **unordered_times(described, happens or first, times, survey.facts)}


def _apart(fields: Mapping[str, FieldValue], order: str, end: str | None) -> Mapping[str, FieldValue]:
    """A row that begins after the last one has ended, where no two were seen to overlap."""
    apart = end is not None and fields.get("after") == f"previous.{order}"
    return {**fields, "after": f"previous.{end}"} if apart else fields


def _death_above(survey: Survey, family: Family, below: str) -> str | None:
    """When whoever the rows are about died, as an anchor."""
    for steps, name in enumerate(family.ancestors):
        table = survey.reflection.table(name)
        if table is not None and (death := death_of(table, below)) is not None:
            return f"{'parent' if steps == 0 else name}.{death}"
    return None


def _within_a_life(survey: Survey, family: Family, below: str) -> dict[str, FieldValue]:
    """Where years order rows, and whoever they are about has a year of birth or of death: what happens to them lies between."""
    tied: dict[str, FieldValue] = {}
    for steps, name in enumerate(family.ancestors):
        table = survey.reflection.table(name)
        above = "parent" if steps == 0 else name
        years = [column.name for column in table.columns if is_year(column)] if table is not None else []
        born, died = next(filter(is_birth, years), None), next(filter(is_death, years), None)
        if died is not None and not settles(below):
            tied.setdefault("before", f"{above}.{died}")
        if born is not None:
            tied.setdefault("first", {"after": f"{above}.{born}", "within": 120})
    return tied


def _time_above(survey: Survey, family: Family, below: str) -> str | None:
    """What the first row of a sequence follows, as an anchor: where the parent begins, or the nearest above that has a time."""
    for steps, name in enumerate(family.ancestors):
        table = survey.reflection.table(name)
        if table is None:  # an entity by column
            continue
        # A person has no order column: what of theirs a first visit follows is their birth, or the beginning of their record.
        order = order_column(survey, name, ()) if family.depth - steps > 1 else None
        if (start := start_of(table, order, survey.tells_nullability, below)) is not None:
            return f"{'parent' if steps == 0 else name}.{start}"
    return None
