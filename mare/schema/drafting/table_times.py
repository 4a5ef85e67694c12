"""What the times of the rows of one table are tied to: others of the same row, the row before, and what stands above it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mare.schema.reflection import ReflectedColumn, ReflectedTable

from .drafted import FieldValue, Note, review
from .families import Family
from .name_words import counts_visits, is_beside_calendar, is_end, is_place, is_position, is_round, numbers_lines
from .people import is_birth, is_death
from .relationships import is_age_of_row, is_event, item_column, order_column, tells_apart
from .row_dates import DAYS, is_day_of, is_year
from .survey import Survey
from .time_order import after_above, intervals, is_part, main_interval, relative_times, settles, start_of, unordered_times


def tied_times(
    survey: Survey, table: str, family: Family | None, order: str | None
) -> dict[str, tuple[Mapping[str, FieldValue], tuple[Note, ...]]]:
    parent, described = family.parent if family is not None else None, survey.table(table)
    lacking = [column.name for column in described.columns if survey.seen(table, column.name).missing]
    # What is the same for a person is drawn beside all of their rows: it ties no time of one of them.
    described = replace(described, columns=tuple(c for c in described.columns if not survey.is_fact(table, c.name)))
    if family is None or parent is None:
        times = relative_times(described, order, 0, survey.facts)
        return {**times, **unordered_times(described, order, times, survey.facts, lacking)}
    # No two rows may be equal where the order alone tells them apart: two vaccines are given on one day.
    strict = order is not None and tells_apart(survey, table, (*parent.columns, order))
    happening = order or order_column(survey, table, parent.columns)
    begins = survey.seen(table, happening).begins if happening is not None else None
    above = f"parent.{begins}" if begins is not None else _time_above(survey, family, table)
    times, happens = relative_times(described, order, family.depth, survey.facts, above, strict), order
    along = []
    if order is not None and (counts_visits(order) or is_round(order) or _counts_on(described, order)):
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
    counted = order is not None and numbers_lines(order)
    undated = order is None or (counted and happens == order)
    first = order_column(survey, table, (*parent.columns, order or "")) if undated else None
    if counted and first not in {c.name for c in described.columns if c.kind in DAYS}:
        first = None
    if first is not None and first not in times and is_death(first) and (told := _death_above(survey, family)) is not None:
        low, high = survey.facts.calendar  # for those of whom nothing is told there
        known: dict[str, FieldValue] = {} if survey.facts.between is not None else {"min": low, "max": high}
        times[first] = {**known, "around": told, "within": "365d"}, (review(f"the day that {told} tells, too?", "times"),)
    elif above is not None and first is not None and first not in times:
        times[first] = after_above(above, survey.facts)
    if undated:
        times |= _on_days_above(survey, table, parent.target)
    happened = described.column(first or happens or order or "")
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
        times[happened.name] = fields, notes
    times |= _held_above(survey, table, family, times, happened.name if happened is not None else None)
    if happened is not None and is_year(happened) and happened.name in times:
        fields, notes = times[happened.name]
        times[happened.name] = {**fields, **_within_a_life(survey, family, table)}, notes
    return {**times, **unordered_times(described, first or happens, times, survey.facts, lacking)}


def _on_days_above(survey: Survey, table: str, above: str) -> _Times:
    """What happens near a day that was booked for it, in the row above."""
    days = [c.name for c in survey.table(above).columns if c.kind in DAYS] if survey.reflection.table(above) is not None else []
    on = {c.name: day for c in survey.table(table).columns if c.kind in DAYS for day in days if is_day_of(day, c.name)}
    note = "on {day} of {above}, or near it, by their names"
    return {
        name: ({"around": f"parent.{day}", "within": "365d"}, (review(note.format(day=day, above=above), "times"),))
        for name, day in on.items()
    }


def _counts_on(table: ReflectedTable, order: str) -> bool:
    """The number of an event or a period, which goes on as time does; a line of an invoice has no time of its own."""
    return is_position(order) and (is_event(table.name) or main_interval(table) is not None)


_Times = dict[str, tuple[Mapping[str, FieldValue], tuple[Note, ...]]]


def _held_above(survey: Survey, table: str, family: Family, times: _Times, happened: str | None) -> _Times:
    """When rows happen, and the ends that follow that: not after what they are a part of has ended, and not after a death."""
    death, described = None if settles(table) else _death_above(survey, family), survey.table(table)
    whole = _whole_above(survey, table, family) if happened is not None and survey.seen(table, happened).ends is None else None
    if whole is not None and death is not None and whole[1].nullable:
        whole = None  # what nobody has ended may go on to the death
    last, held = death if whole is None else f"parent.{whole[1].name}", _Times()
    if last is None:
        return held
    spans = {end for start, end in intervals(described) if start == happened}
    # A licence holds on after a death; what a row is valid for ends with it, as it began before it.
    beside = happened is not None and is_beside_calendar(happened)
    for name in _in_order(times, happened):
        (fields, notes), column = times[name], described.column(name)
        follows = fields.get("after")
        ends = (is_end(name) or name in spans) and (beside or not is_beside_calendar(name))
        bounded = name == happened or (follows in held and ends)
        if column is None or column.kind not in DAYS or not bounded or not {"before", "around", "determined"}.isdisjoint(fields):
            continue
        after: dict[str, FieldValue] = {} if follows is None else {"after": follows}
        held[name] = {**after, "before": last, **fields}, notes
        if whole is not None and name == happened:
            note = review(f"a part of {family.ancestors[0]}, so never after {last}; some are? Remove before:", "times")
            held[name] = held[name][0], (*notes, note)
    return held


def _in_order(times: _Times, happened: str | None) -> list[str]:
    """What others follow comes before them."""
    names = [name for name in times if name != happened]
    return [*([happened] if happened in times else []), *names]


def _whole_above(survey: Survey, table: str, family: Family) -> tuple[ReflectedColumn, ReflectedColumn] | None:
    """The interval of the row above that the rows of a table are parts of: sessions of a course, moves within an admission."""
    above = survey.reflection.table(family.ancestors[0])
    if above is None or family.depth < 2 or not is_part(table):
        return None
    interval = main_interval(above, order_column(survey, above.name, ()))
    start, end = (above.column(name) for name in interval) if interval is not None else (None, None)
    if start is None or end is None or not {start.kind, end.kind} <= DAYS or is_beside_calendar(end.name):
        return None
    return start, end


def _apart(fields: Mapping[str, FieldValue], order: str, end: str | None) -> Mapping[str, FieldValue]:
    """A row that begins after the last one has ended, where no two were seen to overlap."""
    apart = end is not None and fields.get("after") == f"previous.{order}"
    return {**fields, "after": f"previous.{end}"} if apart else fields


def _death_above(survey: Survey, family: Family) -> str | None:
    """When whoever the rows are about died, as an anchor."""
    for steps, name in enumerate(family.ancestors):
        table = survey.reflection.table(name)
        died = [c.name for c in table.columns if c.kind in DAYS and is_death(c.name)] if table is not None else []
        if died:
            return f"{'parent' if steps == 0 else name}.{died[0]}"
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
