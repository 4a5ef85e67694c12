"""What is broken: references, keys, NULLs, domains, orders, caps, endings as the schema says them; and, against the real rows,
values that nobody has, numbers beyond all of them, and what all of them keep (`laws`).

The same is asked of every side. Real rows break rules too; a synthetic row breaks none that the schema promises.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mare.codec.category import canonical
from mare.codec.ticks import null_mask
from mare.evaluation.measured import Broken, SetName
from mare.evaluation.measured import BrokenKind as Kind
from mare.evaluation.sides import Side, starts_of
from mare.relational.conditions_met import judged
from mare.schema.columns import AnyColumn, Column, Listed, Ordinal, Quantity
from mare.schema.condition_grammar import parse_condition
from mare.schema.determined import PARENT_ROW, PREVIOUS_ROW, SAME_ROW, Anchor
from mare.schema.layout import link_cap

from .coded_sets import Sides
from .features import Feature, Values, children_of, values
from .laws import laws, parted
from .ranks import Numbers
from .ties import Found


def broken(sides: Sides) -> tuple[tuple[Broken, ...], dict[Kind, int]]:
    """References and keys always, to show that they hold; of the rest, what somebody breaks. And how many were looked at."""
    shown = list(_links(sides))
    looked_at = Counter[Kind](breach.kind for breach in shown)
    for table in sides["real"].tables:
        rules = [*_column_rules(sides["real"], table), *_row_rules(sides["real"], table)]
        looked_at.update(kind for kind, *_ in rules)
        for kind, where, what, rule in rules:
            counts = {name: rule(side) for name, side in sides.items() if where not in side.missing and table not in side.missing}
            shown += _breach(kind, where, what, counts)
        shown += _against_real(sides, table)
    kept, looked_at["law"] = laws(sides)
    return (*shown, *kept), dict(looked_at)


def _breach(kind: Kind, where: str, what: str, counts: Mapping[SetName, Found]) -> Iterator[Broken]:
    if any(rows for rows, _ in counts.values()):
        counted = {name: rows for name, (rows, _) in counts.items()}
        yield Broken(kind, where, what, counted, {name: of for name, (_, of) in counts.items()})


def _links(sides: Sides) -> Iterator[Broken]:
    real = sides["real"]
    for where in real.lost:
        lost = {name: side.lost[where] for name, side in sides.items() if where in side.lost}
        rows, of = {name: held.rows for name, held in lost.items()}, {name: held.of for name, held in lost.items()}
        yield Broken("reference", where, "leads to no row", rows, of)
    for where in real.repeated:
        table = where.partition("(")[0]
        held = {name: side for name, side in sides.items() if where in side.repeated}
        rows = {name: side.repeated[where] for name, side in held.items()}
        yield Broken("key", where, "is NULL or another row's", rows, {n: len(side.entity[table]) for n, side in held.items()})


Rule = tuple[Kind, str, str, Callable[[Side], Found]]


def _column_rules(real: Side, table: str) -> Iterator[Rule]:
    for name, column in real.schema.tables[table].columns.items():
        where = f"{table}.{name}"
        if not column.modelled or not column.settled:
            continue
        if not column.nullable and column.determined is None:
            yield "null", where, "is NULL, and may not be", partial(_nulls, table=table, name=name)
        if isinstance(column, Listed) and column.possible is not None:
            listed = frozenset(map(canonical, column.possible))
            yield "domain", where, "is none of the declared values", partial(_outside, table=table, name=name, listed=listed)
        if isinstance(column, Ordinal):
            ends = _declared(column)
            if ends != (-np.inf, np.inf):
                yield "domain", where, "lies outside the declared bounds", partial(_beyond, table=table, name=name, ends=ends)
            yield from _orders(real, table, name, column)
        if column.same_for is not None and not getattr(column, "drift", None):  # an age goes on with the dates
            what = f"differs among rows of one {column.same_for}"
            yield "same", where, what, partial(_different, table=table, name=name, shared=column.same_for)


def _row_rules(real: Side, table: str) -> Iterator[Rule]:
    cap = link_cap(real.schema, table) if real.schema.parent(table) is not None else None
    if cap is not None and real.above(table) is not None:
        yield "cap", f"{table}.parent", f"has more than {cap.rows} rows", partial(_above_cap, table=table, most=cap.rows)
    ends = real.schema.tables[table].ends
    if ends is not None:
        what = f"follows a row that ends its sequence ({ends.when})"
        yield "ending", table, what, partial(_late, table=table, when=ends.when)


def _column(side: Side, table: str, name: str) -> Values:
    ordered = isinstance(side.schema.tables[table].columns.get(name), Ordinal)
    return values(side, Feature(table, name, "number" if ordered else "category", "column", name))


def _measured(side: Side, table: str, name: str) -> Numbers:
    numbers = _column(side, table, name).numbers
    assert numbers is not None
    return numbers


def _nulls(side: Side, table: str, name: str) -> Found:
    held = side.tables[table].column(name)
    return held.null_count, len(held)


def _outside(side: Side, table: str, name: str, listed: frozenset[str]) -> Found:
    held = _column(side, table, name)
    assert held.words is not None
    wrong = np.array([*(word not in listed for word in held.dictionary), False], dtype=np.bool_)
    return int(wrong[held.words].sum()), int((held.words >= 0).sum())


def _beyond(side: Side, table: str, name: str, ends: tuple[float, float]) -> Found:
    numbers = _measured(side, table, name)
    return int(((numbers < ends[0]) | (numbers > ends[1])).sum()), int((~np.isnan(numbers)).sum())


def _declared(column: Ordinal) -> tuple[float, float]:
    """The declared bounds. Between 0.2 and 0.8 there is no number without decimals: those that come out are the nearest."""
    low, high = _measure(column.promised("min")), _measure(column.promised("max"))
    ends = [-np.inf if low is None else low, np.inf if high is None else high]
    if isinstance(column, Quantity) and np.isfinite(ends).any():
        ticks = column.ticks()
        for place, (tick, outward) in enumerate(zip(column.bounds(ticks), (min, max), strict=True)):
            ends[place] = ends[place] if tick is None else outward(ends[place], float(tick * ticks.unit))
    return ends[0], ends[1]


def _measure(bound: object) -> float | None:
    """A declared bound in the unit of its feature: days of dates and moments, hours of times of day."""
    if isinstance(bound, datetime):
        return (bound - datetime(1970, 1, 1, tzinfo=bound.tzinfo)).total_seconds() / 86400
    if isinstance(bound, date):
        return float((bound - date(1970, 1, 1)).days)
    if isinstance(bound, time):
        return bound.hour + bound.minute / 60 + bound.second / 3600
    return float(bound) if isinstance(bound, int | float) else None


def _orders(real: Side, table: str, name: str, column: Ordinal) -> Iterator[Rule]:
    """`after`, `before` and `during`, wherever both values are there."""
    if column.determined is not None or not _lie_beyond(column):
        return
    for field, anchor in column.anchors.items():
        home = table if anchor.scope in (SAME_ROW, PREVIOUS_ROW) else anchor.scope
        if anchor.scope == PARENT_ROW:
            home = real.above(table) or ""
        other = real.schema.tables[home].columns.get(anchor.column) if home in real.tables else None
        if field == "around" or field.startswith("first") or not isinstance(other, Ordinal) or other.specials:
            continue
        after = field in ("after", "during.0")
        if column.specials and not after:
            continue  # a day that never comes lies after everything
        misplaced = partial(_misplaced, table=table, name=name, home=home, anchor=anchor, after=after, strict=column.strict)
        yield "order", f"{table}.{name}", f"is {'before' if after else 'after'} {anchor}", misplaced


def _lie_beyond(column: Ordinal) -> bool:
    """Whether special values, where there are any, are days after all others: they never come before anything."""
    try:
        days = [_measure(datetime.fromisoformat(str(special))) for special in column.specials]
    except ValueError:
        return False
    last = _measure(column.max) if column.has_day else None
    return all(day is not None and last is not None and day > last for day in days)


def _misplaced(side: Side, table: str, name: str, home: str, anchor: Anchor, *, after: bool, strict: bool) -> Found:
    """Values that come before the one that they follow (``after``), or after the one that they precede."""
    less, more, of = parted(side, (table, name), (home, anchor.column), _rows_at(side, table, anchor.scope, home))
    return (of - more if strict else less) if after else more, of


def _rows_at(side: Side, table: str, scope: str, home: str) -> NDArray[np.integer] | None:
    if scope == SAME_ROW:
        return None
    if scope == PREVIOUS_ROW:
        return side.previous(table, 1)
    rows = side.ancestors(table).get(home)
    return np.full(len(side.entity[table]), -1, dtype=np.int64) if rows is None else rows


def _different(side: Side, table: str, name: str, shared: str) -> Found:
    """Rows that hold another value than the first of those that share it."""
    group: NDArray[np.integer]
    if shared == "entity":
        group = side.entity[table]
    elif shared == "parent":
        group = side.parent[table]
    else:
        group = side.ancestors(table).get(shared, side.entity[table])
    coded = side.column(table, name).dictionary_encode()
    codes = np.asarray(coded.indices.fill_null(-1), dtype=np.int64)
    owned = np.flatnonzero(group >= 0)
    _, first, place = np.unique(group[owned], return_index=True, return_inverse=True)
    return int((codes[owned] != codes[owned[first]][place]).sum()), len(owned)


def _above_cap(side: Side, table: str, most: int) -> Found:
    counts = children_of(side, table)
    return int((counts > most).sum()), len(counts)


def _late(side: Side, table: str, when: str) -> Found:
    ending = judged(parse_condition(when), _Rows(side, table)).true
    order, parent = side.order[table], side.parent[table]
    rows = order[parent[order] >= 0]
    if not len(rows):
        return 0, 0
    starts = starts_of(parent[rows])
    here = ending[rows].astype(np.int64)
    ended = np.cumsum(here) - here  # endings before each row, of all sequences
    before = ended - np.repeat(ended[starts], np.diff(starts, append=len(rows)))
    return int((before > 0).sum()), len(rows)


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows of a side, as a condition is tested on them."""

    side: Side
    table: str

    def described(self, column: str) -> AnyColumn:
        described: Column = self.side.schema.tables[self.table].columns[column]
        return described

    def held(self, column: str) -> pa.Array:
        return self.side.column(self.table, column)

    def quantities(self, column: str) -> pa.Array:
        held = self.held(column)
        described = self.side.schema.tables[self.table].columns[column]
        if not isinstance(described, Ordinal) or not described.specials:
            return held
        numbers = _measured(self.side, self.table, column)
        special = np.isin(np.array([canonical(v) for v in held.to_pylist()]), list(map(canonical, described.specials)))
        return pa.array(numbers, mask=special | null_mask(held) | np.isnan(numbers))


def _against_real(sides: Sides, table: str) -> Iterator[Broken]:
    """What no real row holds: a category that is new, a number below the least or above the most."""
    real, others = sides["real"], {name: side for name, side in sides.items() if name != "real"}
    for name, column in real.schema.tables[table].columns.items():
        if not column.modelled or not column.settled or f"{table}.{name}" in real.missing:
            continue
        held = _column(real, table, name)
        where = f"{table}.{name}"
        counts: dict[SetName, Found] = {}
        if isinstance(column, Ordinal):
            ends = _ends(held.numbers)
            counts = {n: _beyond(side, table, name, ends) for n, side in others.items()} if ends else {}
            yield from _breach("beyond", where, "lies beyond all real values", counts)
        elif held.words is not None:
            listed = frozenset(_used(held))
            counts = {n: _outside(side, table, name, listed) for n, side in others.items()}
            yield from _breach("unseen", where, "is a value that no real row has", counts)


def _ends(numbers: Numbers | None) -> tuple[float, float] | None:
    there = np.zeros(0) if numbers is None else numbers[~np.isnan(numbers)]
    return (float(there.min()), float(there.max())) if len(there) else None


def _used(held: Values) -> Iterable[str]:
    assert held.words is not None
    counts = np.bincount(held.words[held.words >= 0], minlength=len(held.dictionary))
    return (word for word, count in zip(held.dictionary, counts, strict=True) if count)
