"""All pairs of columns: within a row, with every row above, with the two rows before or, where rows stand in no sequence, with
another row of the same parent, and some with the row that a row refers to and between the last rows that one parent has in two
tables; counted by the kernel that a fit uses.

What a row above or before holds is gathered beside the row itself, with one code more for "there is none", which no table keeps.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, islice, permutations

import numpy as np
from numpy.typing import NDArray

from mare.domain import Domain, Marginal
from mare.evaluation.measured import (
    ANY_OTHER,
    FEWEST_ROWS,
    KINDS,
    Closeness,
    PairFidelity,
    PairKind,
    PairMeans,
    SetName,
)
from mare.evaluation.sides import Side
from mare.stage.kernel import CodedRows, count_dense

from .coded_sets import Coded
from .distances import Counts, Table, by_chance, cramers_v, normalised_kl, tvd
from .features import Feature

LOOK_BACK = 2
MOST_LINKED = 400
"""Pairs of siblings and references that are compared of one table."""
KEPT_CELLS = 1 << 22
"""Of cross-tabs that stay with the result."""
AT_ONCE = 64
"""Cross-tabs that are counted before they are added up."""
KEPT_SETS: tuple[SetName, ...] = ("real", "synthetic", "holdout")

_Axis = tuple[Feature, str, int]
"""A feature, of the row itself ("", 0), of its row in the table above (its name, 0), of a row before ("", how many), or of any
other row of the same parent ("", ANY_OTHER)."""


@dataclass(frozen=True)
class Pair:
    here: Feature
    there: _Axis

    @property
    def kind(self) -> PairKind:
        there, above, back = self.there
        if self.here.linked or there.linked:
            return "linked"
        return "ancestor" if above else "sibling" if back == ANY_OTHER else "previous" if back else "row"


def is_sequence(side: Side, table: str) -> bool:
    """Whether rows have siblings before them."""
    link = side.schema.parent(table)
    return link is not None and link.type == "sequential" and side.above(table) is not None


def has_siblings(side: Side, table: str) -> bool:
    """Whether some rows have others of the same parent beside them, in no order."""
    if side.schema.parent(table) is None or side.above(table) is None or is_sequence(side, table):
        return False
    owned = side.parent[table][side.parent[table] >= 0]
    return len(np.unique(owned)) < len(owned)


def pairs_of(coded: Coded, table: str) -> Iterator[Pair]:
    side, own = coded.sets["real"].side, coded.paired(table)
    for a, b in combinations(own, 2):
        yield Pair(a, (b, "", 0))
    for above in side.ancestors(table):
        for a in own:
            for b in coded.paired(above):
                yield Pair(a, (b, above, 0))
    if is_sequence(side, table):
        for back in range(1, LOOK_BACK + 1):
            for a in own:
                for b in own:
                    yield Pair(a, (b, "", back))
    elif has_siblings(side, table):  # neither of two comes first, so one way round is enough
        yield from (Pair(a, (b, "", ANY_OTHER)) for a, b in combinations_with_replacement(own, 2))
    yield from islice(_linked(coded, table), MOST_LINKED)


def _linked(coded: Coded, table: str) -> Iterator[Pair]:
    """A column and one of the row that its row refers to; columns of the last rows in two tables below."""
    linked, refers = [f for f in coded.features[table] if f.linked], coded.sets["real"].side.refers
    for far in linked:
        if far.how == "referred":  # what leads there decides it all
            leads = refers[table, far.other].columns
            yield from (Pair(near, (far, "", 0)) for near in coded.paired(table) if near.column not in leads)
    for a, b in combinations([f for f in linked if f.how == "last"], 2):
        if a.other != b.other:
            yield Pair(a, (b, "", 0))


Steps = Mapping[tuple[str, str], Mapping[SetName, Counts]]
"""By table and column: its codes, and those of the row before or beside."""


TooFew = Mapping[PairKind, Collection[str]]
"""By kind of pair, the tables of which hardly any real row has such another row: there is nothing to hold a pair against."""


def compare_pairs(coded: Coded, seed: int) -> tuple[tuple[PairFidelity, ...], Steps, TooFew]:
    """Every pair of every table, on all sides and beside columns that have nothing to do with each other."""
    compared: list[PairFidelity] = []
    too_few: dict[PairKind, set[str]] = {}
    steps: dict[tuple[str, str], Mapping[SetName, Counts]] = {}
    rng, cells = np.random.default_rng(seed), 0
    for table in coded.features:
        pairs = list(pairs_of(coded, table))
        if not pairs:
            continue
        counts = {name: count_pairs(coded, name, table, pairs, seed) for name in coded.sets}
        rows = len(coded.sets["real"].side.entity[table])
        for i, pair in enumerate(pairs):
            other, _, back = pair.there
            real = counts["real"][i]
            if pair.here == other and back in (1, ANY_OTHER):
                steps[table, other.name] = {name: held[i] for name, held in counts.items()}
            if real.sum() < FEWEST_ROWS <= rows:
                too_few.setdefault(pair.kind, set()).add(table)
                continue
            closeness = {name: _closeness(real, counts[name][i]) for name in coded.others}
            apart = _apart(coded.histogram(pair.here), coded.histogram(other))
            closeness["shuffled"] = _closeness(real, apart * int(real.sum()))
            drawn = rng.multinomial(int(real.sum()), apart.ravel()).reshape(apart.shape)
            closeness["independent"] = _closeness(real, drawn)
            cells += real.size
            kept = {name: counts[name][i] for name in counts if name in KEPT_SETS} if cells <= KEPT_CELLS else None
            compared.append(
                PairFidelity(
                    table=table,
                    column=pair.here.name,
                    other_table=other.table,
                    other=other.name,
                    kind=pair.kind,
                    back=back,
                    v=cramers_v(real),
                    closeness=closeness,
                    correlation=_correlation(coded, pair),
                    counts=kept,
                )
            )
    return tuple(compared), steps, too_few


def count_pairs(coded: Coded, name: SetName, table: str, pairs: Sequence[Pair], seed: int) -> list[Counts]:
    """The cross-tabs of these pairs of one table in one set."""
    held = coded.sets[name]
    rows, links = len(held.side.entity[table]), held.side.ancestors(table)
    before = {
        back: held.side.sibling(table, seed) if back == ANY_OTHER else held.side.previous(table, back)
        for back in {pair.there[2] for pair in pairs} - {0}
    }
    columns: dict[str, NDArray[np.uint8]] = {}
    sizes: dict[str, int] = {}

    def axis(feature: Feature, above: str, back: int) -> str:
        label = f"{above}/{back}/{feature.name}"
        if label not in columns:
            codes, size = held.codes[feature.table, feature.name], coded.size(feature)
            if above or back:
                at = links[above] if above else before[back]
                codes = np.append(codes, np.uint8(size))[at]  # the last stands for -1, which is no row
                size += 1
            columns[label], sizes[label] = codes, size
        return label

    wanted = [(axis(pair.here, "", 0), axis(*pair.there)) for pair in pairs]
    coded_rows = CodedRows(Domain.of(sizes.items()), {}, 1, np.zeros(rows, dtype=np.int64), None, columns.__getitem__)
    tables: dict[tuple[str, str], Counts] = {}
    listed = list(_in_threes(wanted, sizes, rows // 8))
    for start in range(0, len(listed), AT_ONCE):
        some = listed[start : start + AT_ONCE]
        for axes, counts in zip(some, count_dense(coded_rows, [Marginal.of(*axes) for axes in some]), strict=True):
            for i, j in combinations(range(len(axes)), 2):
                both = counts.sum(axis=3 - i - j) if len(axes) == 3 else counts
                tables[axes[i], axes[j]], tables[axes[j], axes[i]] = both, both.T
    return [
        tables[axes] if pair.kind in ("row", "linked") else tables[axes][:, :-1] for pair, axes in zip(pairs, wanted, strict=True)
    ]


def _in_threes(wanted: Sequence[tuple[str, str]], sizes: Mapping[str, int], cells: int) -> Iterator[tuple[str, ...]]:
    """Cross-tabs that hold all of these: of three columns where they have no more cells than this, for a pass over the rows costs
    as much for three as for two."""
    left, beside = set(wanted), dict[str, list[str]]()
    for here, there in wanted:
        beside.setdefault(there, []).append(here)
    own = {here for here, _ in wanted}
    for there in sorted(beside, key=own.__contains__):  # two columns of the row are counted beside one of another
        heres = [here for here in beside[there] if (here, there) in left]
        while heres:
            first = heres.pop(0)
            fitting = [here for here in heres if sizes[first] * sizes[here] * sizes[there] <= cells]
            second = next((here for here in fitting if (first, here) in left), fitting[0] if fitting else None)
            axes = (first, there) if second is None else (first, second, there)
            if second is not None:
                heres.remove(second)
            left.difference_update(permutations(axes, 2))
            yield axes


def _apart(counts: Counts, other: Counts) -> NDArray[np.float64]:
    """The shares that two columns have together on average, when each is shuffled on its own."""
    return np.outer(counts, other) / max(1, int(counts.sum()) * int(other.sum()))


def _closeness(real: Counts, other: Table) -> Closeness:
    distance = tvd(real, other)
    return Closeness(distance, 1 - distance, normalised_kl(real, other), cramers_v(other), by_chance(real, int(other.sum())))


def _correlation(coded: Coded, pair: Pair) -> dict[SetName, float] | None:
    names, matrices = coded.correlations[pair.here.table]
    if pair.kind != "row" or pair.here.name not in names or pair.there[0].name not in names:
        return None
    i, j = names.index(pair.here.name), names.index(pair.there[0].name)
    correlations = {name: float(matrix[i, j]) for name, matrix in matrices.items()}
    return correlations if np.isfinite(correlations.get("real", np.nan)) else None


def pair_means(pairs: Sequence[PairFidelity], names: Sequence[SetName]) -> dict[SetName, dict[PairKind, PairMeans]]:
    """Means over the pairs of each table, then over tables: a wide table does not outvote the others."""
    means: dict[SetName, dict[PairKind, PairMeans]] = {name: {} for name in names}
    for kind in KINDS:
        by_table: dict[str, list[PairFidelity]] = {}
        for pair in pairs:
            if pair.kind == kind:
                by_table.setdefault(pair.table, []).append(pair)
        for name in names if by_table else ():
            tables = [np.mean([_figures(pair, name) for pair in held], axis=0) for held in by_table.values()]
            distance, shared, kl, v, v_real, v_error, chance = map(float, np.mean(tables, axis=0))
            means[name][kind] = PairMeans(distance, shared, kl, v, v_real, v_error, chance, sum(map(len, by_table.values())))
    return means


def _figures(pair: PairFidelity, name: SetName) -> tuple[float, ...]:
    close = pair.closeness[name]
    return close.tvd, close.intersection, close.kl, close.v, pair.v, abs(close.v - pair.v), close.chance
