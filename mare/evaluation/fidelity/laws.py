"""What (nearly) all real rows keep though no schema says it: that a visit is not after a death, that a date is the day of a
moment, that the lines of an order add up to its total. Whatever real rows keep is asked of the others.

Times are held against each other within a row, with every row above, and with the row of a table that has at most one an entity;
other columns within a row and with rows above; numbers with the sum, or the number, of the rows below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

from mare.codec.ticks import DAY_US
from mare.evaluation.evaluation import Broken, SetName
from mare.evaluation.sides import Side
from mare.schema.columns import Date, Ordinal
from mare.schema.relative import PARENT_ROW, SAME_ROW

from .calendar import time_columns
from .coding import Sides, below
from .features import Feature, Numbers, Values, children_of, features, taken, values

KEPT = 0.999
"""Of the real rows that a law is about, those that keep it."""
FEWEST = 50
"""Rows from which a rule is no chance."""
_SAMPLE = 1000
"""Rows that are looked at first: most of what could be a law is none."""

Place = NDArray[np.integer] | None
"""Of each row, the row beside which it is held; None for itself."""
Found = tuple[int, int]
"""Rows that break it, and rows that it is about."""
Parted = tuple[int, int, int]
"""Rows whose first value is smaller, rows whose first is larger, and rows that have both."""


@dataclass(frozen=True)
class Law:
    where: str
    what: str
    """What breaks it."""
    real: Found
    broken: Callable[[Side], Found]


def laws(sides: Sides) -> tuple[list[Broken], int]:
    """Those that others break more often than the real rows do; and how many they were held against."""
    told_of, looked_at = list[Broken](), 0
    for law in _kept(sides["real"]):
        counted: dict[SetName, Found] = {n: law.real if n == "real" else law.broken(side) for n, side in sides.items()}
        looked_at += 1
        rows, of = ({name: found[i] for name, found in counted.items()} for i in (0, 1))
        told = Broken("law", law.where, law.what, rows, of)
        if told.share("synthetic") > 1 - KEPT + 2 * max(told.share("real"), told.share("holdout")):
            told_of.append(told)
    return told_of, looked_at


def _kept(real: Side) -> Iterator[Law]:
    seen = set[frozenset[tuple[str, str]]]()
    for table in real.tables:
        seen |= _declared(real, table)
    for table in real.tables:
        for home in _homes(real, table):
            yield from _orders(real, table, home, seen)
            if home == table or home in real.ancestors(table):
                yield from _same(real, table, home)
        for child in below(real, table):
            yield from _totals(real, table, child)


def _declared(real: Side, table: str) -> set[frozenset[tuple[str, str]]]:
    """Orders that the schema knows: `broken` tells of them."""
    found = set[frozenset[tuple[str, str]]]()
    for name, column in real.schema.tables[table].columns.items():
        if isinstance(column, Ordinal):
            for anchor in column.anchors.values():
                home = {SAME_ROW: table, PARENT_ROW: real.above(table) or ""}.get(anchor.scope, anchor.scope)
                found.add(frozenset({(table, name), (home, anchor.column)}))
    return found


def _homes(real: Side, table: str) -> list[str]:
    """The tables of which each row here finds one row: its own, those above, those with one row an entity."""
    above = list(real.ancestors(table))
    single = [
        other
        for other in real.tables
        if other not in (table, *above) and other != real.dag.entity.name and table not in real.ancestors(other)
        if time_columns(real, other) and len(real.entity[other]) and _most_of_one(real, other) <= 1
    ]  # fmt: skip
    return [table, *above, *single]


def _most_of_one(side: Side, table: str) -> int:
    owned = side.entity[table][side.entity[table] >= 0]
    return int(np.bincount(owned).max(initial=0))


def _place(side: Side, table: str, home: str) -> Place:
    if home == table:
        return None
    if home in (above := side.ancestors(table)):
        return above[home]
    rows, owner = np.full(side.entities + 1, -1, dtype=np.int64), side.entity[home]  # the last stands for -1, which is nobody
    kept = np.flatnonzero(owner >= 0)[::-1]
    rows[owner[kept]] = kept
    return np.asarray(rows[side.entity[table]])


# ------------------------------------------------------------------ times


def _orders(real: Side, table: str, home: str, seen: set[frozenset[tuple[str, str]]]) -> Iterator[Law]:
    place, step = _place(real, table, home), max(1, len(real.entity[table]) // _SAMPLE)
    for pair in product(
        [(table, name) for name in time_columns(real, table)], [(home, name) for name in time_columns(real, home)]
    ):
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
            yield Law(f"{table}.{mine}", f"{words} {whose}", _found(whole, what), partial(_times_broken, *pair, what))


def _broken_by(parted: Parted, fewest: int = FEWEST) -> str | None:
    """What hardly any row does."""
    less, more, of = parted
    allowed = (1 - KEPT) * of if fewest > 1 else (1 - KEPT) * of + 5
    if of < fewest:
        return None
    if less + more <= allowed:
        return "either"
    return "larger" if more <= allowed else "smaller" if less <= allowed else None


def parted(side: Side, mine: tuple[str, str], theirs: tuple[str, str], place: Place, step: int = 1) -> Parted:
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
    if any(isinstance(side.schema.tables[table].columns[name], Date) for table, name in (mine, theirs)):
        held, others = held // DAY_US, others // DAY_US
    less, more = (int(np.count_nonzero(which & both)) for which in (held < others, held > others))
    return less, more, int(np.count_nonzero(both))


def _measured(side: Side, table: str, name: str) -> tuple[NDArray[np.int64] | Numbers, NDArray[np.bool_]]:
    import pyarrow as pa

    kind = side.tables[table].column(name).type
    if pa.types.is_temporal(kind) or pa.types.is_null(kind):
        return side.moments(table, name)
    numbers = values(side, Feature(table, name, "number", "column", name)).numbers
    assert numbers is not None
    return numbers, ~np.isnan(numbers)


def _times_broken(mine: tuple[str, str], theirs: tuple[str, str], what: str, side: Side) -> Found:
    return _found(parted(side, mine, theirs, _place(side, mine[0], theirs[0])), what)


def _found(parted: Parted, what: str) -> Found:
    less, more, of = parted
    return {"smaller": less, "larger": more}.get(what, less + more), of


# ------------------------------------------------------------------ equal columns, sums


def _own(side: Side, table: str) -> list[Feature]:
    return [feature for feature in features(side.schema, table, ()) if feature.how == "column"]


def _same(real: Side, table: str, home: str) -> Iterator[Law]:
    """Columns that are equal in every row, and not one value throughout."""
    place, rows = _place(real, table, home), len(real.entity[table])
    some = np.arange(0, rows, max(1, rows // _SAMPLE))
    here = {feature: taken(values(real, feature), some) for feature in _own(real, table)}
    there = here if place is None else {feature: taken(values(real, feature), place[some]) for feature in _own(real, home)}
    for mine, theirs in product(here, there):
        if mine.kind != theirs.kind or (home == table and mine.name >= theirs.name):
            continue
        both, unlike = _held_together(here[mine], there[theirs])
        if np.count_nonzero(unlike) > 5 or not _varies(here[mine], both):
            continue
        wrong, of = _unequal(mine, theirs, real)
        if of >= FEWEST and wrong <= (1 - KEPT) * of:
            whose = theirs.name if home == table else f"{home}.{theirs.name}"
            yield Law(f"{table}.{mine.name}", f"differs from {whose}", (wrong, of), partial(_unequal, mine, theirs))


def _unequal(mine: Feature, theirs: Feature, side: Side) -> Found:
    here, there, place = values(side, mine), values(side, theirs), _place(side, mine.table, theirs.table)
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
    totals = [feature for feature in _own(real, table) if feature.kind == "number"]
    parts = [feature for feature in _own(real, child) if feature.kind == "number"]
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
