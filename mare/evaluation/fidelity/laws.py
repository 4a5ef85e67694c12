"""What (nearly) all real rows keep though no schema says it: that a visit is not after a death, that a date is the day of a
moment, that the lines of an order add up to its total. Whatever real rows keep is asked of the others.

Times are held against each other within a row, with every row above, and with the row of a table that has at most one an entity;
other columns within a row, with rows above and with the row that a row refers to; numbers with the sum, or the number, of the
rows below. `ties` has what decides another column without being equal to it, `shared_ids` what two columns of ids share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import combinations, product

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mare.codec.ticks import DAY_US
from mare.evaluation.measured import Broken, SetName
from mare.evaluation.sides import Side
from mare.schema.columns import Ordinal, Quantity
from mare.schema.determined import PARENT_ROW, SAME_ROW

from .coded_sets import Sides, below
from .features import (
    Feature,
    Values,
    children_of,
    far_columns,
    far_values,
    own_columns,
    points_in_time,
    some_values,
    taken,
    unit_of,
    values,
)
from .ranks import Numbers
from .shared_ids import shared_ids
from .ties import FEWEST, KEPT, Found, Law, null_together, ties

SAMPLE = 1000
"""Rows that are looked at first: most of what could be a law is none."""
Parted = tuple[int, int, int]
"""Rows whose first value is smaller, rows whose first is larger, and rows that have both."""


def laws(sides: Sides) -> tuple[list[Broken], int]:
    """Those that others break more often than the real rows do; and how many they were held against."""
    breaches, looked_at = dict[str, Broken](), 0
    for law in _kept(sides["real"]):
        counted: dict[SetName, Found] = {n: law.real if n == "real" else law.broken(side) for n, side in sides.items()}
        looked_at += 1
        rows, of = ({name: counts[i] for name, counts in counted.items()} for i in (0, 1))
        breach = Broken("law", law.where, law.what, rows, of)
        if breach.share("synthetic") > 1 - KEPT + 2 * max(breach.share("real"), breach.share("holdout")):
            about = law.about or f"{law.where} {law.what}"
            breaches[about] = max(breaches.get(about, breach), breach, key=lambda breach: breach.share("synthetic"))
    return list(breaches.values()), looked_at


def _kept(real: Side) -> Iterator[Law]:
    seen = set[frozenset[tuple[str, str]]]()
    for table in real.tables:
        seen |= _declared(real, table)
    for table in real.tables:
        for home in _homes(real, table):
            yield from _orders(real, table, home, seen)
            if home == table or home in real.ancestors(table):
                yield from _same(real, table, home)
                yield from ties(real, table, home)
        yield from _number_orders(real, table, seen)
        yield from _same_as_referred(real, table)
        yield from null_together(real, table)
        for child in below(real, table):
            yield from _totals(real, table, child)
    yield from shared_ids(real)


def _declared(real: Side, table: str) -> set[frozenset[tuple[str, str]]]:
    """Orders that the schema knows: `broken` tells of them."""
    orders = set[frozenset[tuple[str, str]]]()
    for name, column in real.schema.tables[table].columns.items():
        if isinstance(column, Ordinal):
            for anchor in column.anchors.values():
                home = {SAME_ROW: table, PARENT_ROW: real.above(table) or ""}.get(anchor.scope, anchor.scope)
                orders.add(frozenset({(table, name), (home, anchor.column)}))
    return orders


def _homes(real: Side, table: str) -> list[str]:
    """The tables of which each row here finds one row: its own, those above, those with one row an entity."""
    above = list(real.ancestors(table))
    single = [
        other
        for other in real.tables
        if other not in (table, *above) and other != real.dag.entity.name and table not in real.ancestors(other)
        if _moments(real, other) and len(real.entity[other]) and _most_of_one(real, other) <= 1
    ]  # fmt: skip
    return [table, *above, *single]


def _most_of_one(side: Side, table: str) -> int:
    owned = side.entity[table][side.entity[table] >= 0]
    return int(np.bincount(owned).max(initial=0))


# ------------------------------------------------------------------ times


def _orders(real: Side, table: str, home: str, seen: set[frozenset[tuple[str, str]]]) -> Iterator[Law]:
    place, step = real.place_of(table, home), max(1, len(real.entity[table]) // SAMPLE)
    for pair in product([(table, name) for name in _moments(real, table)], [(home, name) for name in _moments(real, home)]):
        if len(set(pair)) < 2 or frozenset(pair) in seen:
            continue
        seen.add(frozenset(pair))
        if _broken_by(parted(real, *pair, place, step), fewest=1) is None:
            continue
        whole = parted(real, *pair, place)
        if what := _broken_by(whole):
            words = {"smaller": "is before", "larger": "is after", "either": "differs from"}[what]
            mine, theirs = (name for _, name in pair)
            whose = theirs if home == table else f"{home}.{theirs}"
            yield Law(f"{table}.{mine}", f"{words} {whose}", _breaches(whole, what), partial(_times_broken, *pair, what))


def _moments(side: Side, table: str) -> list[str]:
    return points_in_time(side.schema.tables[table], kept=True)


def _broken_by(parted: Parted, fewest: int = FEWEST) -> str | None:
    """What hardly any row does."""
    less, more, of = parted
    allowed = (1 - KEPT) * of if fewest > 1 else (1 - KEPT) * of + 5
    if of < fewest:
        return None
    if less + more <= allowed:
        return "either"
    return "larger" if more <= allowed else "smaller" if less <= allowed else None


def parted(
    side: Side, mine: tuple[str, str], theirs: tuple[str, str], place: NDArray[np.integer] | None, step: int = 1
) -> Parted:
    """By table and column. A date is neither before nor after what happens on its day."""
    (held, there), (others, known) = _measured(side, *mine), _measured(side, *theirs)
    held, there = held[::step], there[::step]
    if place is None:
        others, both = others[::step], there & known[::step]
    elif len(others):
        at = place[::step]
        others, both = others[at], there & known[at] & (at >= 0)
    else:
        return 0, 0, 0
    described = [side.schema.tables[table].columns[name] for table, name in (mine, theirs)]
    days = [column.has_day and not column.has_clock for column in described]
    smaller, larger = held < others, held > others
    if days == [True, False]:  # a date is midnight, and what is after it begins a day later
        smaller = held + DAY_US <= others
    elif days == [False, True]:
        larger = held >= others + DAY_US
    less, more = (int(np.count_nonzero(which & both)) for which in (smaller, larger))
    return less, more, int(np.count_nonzero(both))


def _measured(side: Side, table: str, name: str) -> tuple[NDArray[np.int64] | Numbers, NDArray[np.bool_]]:
    kind = side.tables[table].column(name).type
    if pa.types.is_temporal(kind) or pa.types.is_null(kind):
        return side.moments(table, name)
    numbers = values(side, Feature(table, name, "number", "column", name)).numbers
    assert numbers is not None
    return numbers, ~np.isnan(numbers)


def _times_broken(mine: tuple[str, str], theirs: tuple[str, str], what: str, side: Side) -> Found:
    return _breaches(parted(side, mine, theirs, side.place_of(mine[0], theirs[0])), what)


def _breaches(parted: Parted, what: str) -> Found:
    less, more, of = parted
    return {"smaller": less, "larger": more}.get(what, less + more), of


# ------------------------------------------------------------------ numbers


def _number_orders(real: Side, table: str, seen: set[frozenset[tuple[str, str]]]) -> Iterator[Law]:
    """Of two numbers of a row, that one is never the larger, though it often would be if they stood in other rows."""
    described, some = real.schema.tables[table].columns, _some(real, table)
    listed = [feature for feature in own_columns(real, table) if isinstance(described.get(feature.name), Quantity)]
    held = {feature.name: some_values(real, feature, some).numbers for feature in listed}
    for mine, theirs in combinations(held, 2):
        pair, numbers, other = ((table, mine), (table, theirs)), held[mine], held[theirs]
        units = {unit_of(described[name]) for name in (mine, theirs)} - {""}
        if numbers is None or other is None or frozenset(pair) in seen or len(units) > 1:
            continue
        both = ~np.isnan(numbers) & ~np.isnan(other)
        less, more = (int(np.count_nonzero(which)) for which in (numbers[both] < other[both], numbers[both] > other[both]))
        what = _broken_by((less, more, int(both.sum())), fewest=1)
        if what not in ("smaller", "larger") or _elsewhere(numbers[both], other[both], what) < FEWEST:
            continue
        whole = parted(real, *pair, None)
        if _broken_by(whole) == what:
            words = {"smaller": "is less than", "larger": "is more than"}[what]
            yield Law(f"{table}.{mine}", f"{words} {theirs}", _breaches(whole, what), partial(_times_broken, *pair, what))


def _elsewhere(numbers: Numbers, other: Numbers, what: str) -> float:
    """How many rows would do it, if the two columns had nothing to do with each other."""
    if what == "larger":
        numbers, other = -numbers, -other
    return float((len(other) - np.searchsorted(np.sort(other), numbers, side="right")).sum()) / max(1, len(numbers))


# ------------------------------------------------------------------ equal columns, sums


def _same(real: Side, table: str, home: str) -> Iterator[Law]:
    """Columns that are equal in every row, and not one value throughout."""
    place, some = real.place_of(table, home), _some(real, table)
    here = {feature: some_values(real, feature, some) for feature in own_columns(real, table)}
    there = here if place is None else {f: some_values(real, f, place[some]) for f in own_columns(real, home)}
    pairs = [(mine, theirs) for mine, theirs in product(here, there) if home != table or mine.name < theirs.name]
    yield from _equal(real, pairs, here, there)


def _same_as_referred(real: Side, table: str) -> Iterator[Law]:
    """The same of columns of the row that a row refers to: the price of an item is that of its product."""
    some = _some(real, table)
    here = {feature: some_values(real, feature, some) for feature in own_columns(real, table)}
    for (owner, name), leads in real.refers.items():
        if owner == table:
            far = [
                Feature(table, f"{leads.table}.{column} by {name}", kind, "referred", column, name)
                for column, kind in far_columns(real, leads.table)
            ]
            there = {feature: taken(far_values(real, leads.table, feature), leads.rows[some]) for feature in far}
            yield from _equal(real, list(product(here, there)), here, there)


def _some(side: Side, table: str) -> NDArray[np.int64]:
    rows = len(side.entity[table])
    return np.arange(0, rows, max(1, rows // SAMPLE))


def _equal(
    real: Side, pairs: list[tuple[Feature, Feature]], here: Mapping[Feature, Values], there: Mapping[Feature, Values]
) -> Iterator[Law]:
    """Of these pairs, those that are: among some rows first, then among all."""
    for mine, theirs in pairs:
        if mine.kind != theirs.kind:
            continue
        both, unlike = _held_together(here[mine], there[theirs])
        if np.count_nonzero(unlike) > 5 or not _varies(here[mine], both):
            continue
        wrong, of = _unequal(mine, theirs, real)
        if of >= FEWEST and wrong <= (1 - KEPT) * of:
            whose = theirs.name if mine.table == theirs.table else f"{theirs.table}.{theirs.name}"
            yield Law(f"{mine.table}.{mine.name}", f"differs from {whose}", (wrong, of), partial(_unequal, mine, theirs))


def _unequal(mine: Feature, theirs: Feature, side: Side) -> Found:
    here, there, place = values(side, mine), values(side, theirs), side.place_of(mine.table, theirs.table)
    both, unlike = _held_together(here, there if place is None else taken(there, place))
    return int(np.count_nonzero(unlike)), int(np.count_nonzero(both))


def _held_together(here: Values, there: Values) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which rows have both values, and of which of these they differ."""
    known = {word: place for place, word in enumerate(here.dictionary)}
    alike = np.array([*(known.get(word, -2) for word in there.dictionary), -1])  # the last stands for -1, which is NULL
    nothing = np.full(len(here), np.nan)
    numbers = [nothing if held.numbers is None else held.numbers for held in (here, there)]
    words = [np.full(len(here), -1) if held.words is None else held.words for held in (here, there)]
    words[1] = alike[words[1]]
    both = np.logical_and(*(~np.isnan(n) | (w != -1) for n, w in zip(numbers, words, strict=True)))
    return both, both & (numbers[0] != numbers[1]) & ((words[0] != words[1]) | (words[0] < 0))


def _varies(held: Values, rows: NDArray[np.bool_]) -> bool:
    numbers = np.zeros(0) if held.numbers is None else held.numbers[rows]
    words = np.zeros(0) if held.words is None else held.words[rows]
    return len(np.unique(numbers[~np.isnan(numbers)])) + len(np.unique(words[words >= 0])) > 1


def _totals(real: Side, table: str, child: str) -> Iterator[Law]:
    """Numbers that are the sum of a column below, or the number of rows there."""
    totals = [feature for feature in own_columns(real, table) if feature.kind == "number"]
    parts = [feature for feature in own_columns(real, child) if feature.kind == "number"]
    for total, part in product(totals, (None, *parts)):
        numbers = values(real, total).numbers
        broken = partial(_off, total, child, part)
        if numbers is None or np.nanmin(numbers, initial=np.inf) >= np.nanmax(numbers, initial=-np.inf):
            continue  # one number throughout says nothing
        wrong, of = broken(real)
        if of >= FEWEST and wrong <= (1 - KEPT) * of:
            what = f"the number of {child}" if part is None else f"the sum of {child}.{part.name}"
            yield Law(f"{table}.{total.name}", f"differs from {what}", (wrong, of), broken)


def _off(total: Feature, child: str, part: Feature | None, side: Side) -> Found:
    numbers, counts = values(side, total).numbers, children_of(side, child)
    assert numbers is not None
    sums: Numbers = counts.astype(np.float64)
    if part is not None:
        held, parent = values(side, part).numbers, side.parent[child]
        assert held is not None
        owned = parent >= 0  # NaN comes out where a part is not known
        sums = np.bincount(parent[owned], weights=held[owned], minlength=len(counts)).astype(np.float64)
    there = (counts > 0) & ~np.isnan(numbers) & ~np.isnan(sums)
    far = np.abs(sums - numbers)[there] > 1e-6 * (1 + np.abs(numbers[there]))
    return int(far.sum()), int(there.sum())
