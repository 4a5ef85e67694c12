"""Whole sequences of the main event column: runs of events, the most common paths, and the time until an event first happens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mare.evaluation.measured import SetName, Survival, Trajectories
from mare.evaluation.sides import Side, starts_of

from .coded_sets import Coded, CodedSet
from .distances import Counts, tvd
from .features import Feature, unit_of, values
from .ranks import Numbers
from .sequences import main_event, sequences

RUNS = (1, 2, 3)
MOST_PATHS, SHOWN_EVENTS = 10, 12
MOST_EVENTS = 6
POINTS, STEPS = 60, 512
"""Of a curve, and between two of them."""
FOLLOWED = 0.95
"""Curves end where all but this share of the real sequences have ended: further out they are chance."""


@dataclass(frozen=True, eq=False)
class Paths:
    """The events of one set, sequence after sequence."""

    events: NDArray[np.integer]
    starts: NDArray[np.int64]
    """Where each sequence begins."""
    empty: int
    """Parents without a row."""

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.starts, append=len(self.events))

    @cached_property
    def places(self) -> NDArray[np.int32]:
        """Of each event, the sequence that it is in."""
        return np.repeat(np.arange(len(self.starts), dtype=np.int32), self.lengths)


def paths_of(held: CodedSet, feature: Feature) -> tuple[Paths, NDArray[np.int64]]:
    """The sequences, and the rows that they are made of."""
    table = feature.table
    order, parent = held.side.order[table], held.side.parent[table]
    rows = order[parent[order] >= 0]
    starts = starts_of(parent[rows])
    return Paths(held.codes[table, feature.name][rows], starts, held.side.parents(table) - len(starts)), rows


def trajectories(coded: Coded, seed: int) -> Iterator[Trajectories]:
    for table in sequences(coded):
        feature = main_event(coded, table)
        if feature is None or not len(coded.sets["real"].side.entity[table]):
            continue
        paths = {name: paths_of(held, feature) for name, held in coded.sets.items()}
        size, labels = coded.size(feature), coded.bins[table, feature.name].labels
        events = {name: held for name, (held, _) in paths.items()}
        events["shuffled"] = replace(events["real"], events=np.random.default_rng(seed).permutation(events["real"].events))
        counts = {name: list(runs(held, size)) for name, held in events.items()}
        whole = {name: whole_paths(held, size) for name, held in events.items()}
        others = [name for name in events if name != "real"]
        yield Trajectories(
            table=table,
            column=feature.name,
            ngrams={
                str(n): {name: sparse_tvd(counts["real"][i], counts[name][i]) for name in others} for i, n in enumerate(RUNS)
            },
            paths=tuple(_common(events["real"], whole, labels)),
            whole={name: sparse_tvd(whole["real"], whole[name]) for name in others},
            survival=tuple(_survival(coded, feature, paths, labels)),
        )


SparseCounts = tuple[NDArray[np.uint64], Counts]


def sparse_tvd(real: SparseCounts, other: SparseCounts) -> float:
    keys = np.union1d(real[0], other[0])
    dense = []
    for held, counts in (real, other):
        row = np.zeros(len(keys), dtype=np.int64)
        row[np.searchsorted(keys, held)] = counts
        dense.append(row)
    return tvd(dense[0], dense[1])


def runs(paths: Paths, size: int) -> Iterator[SparseCounts]:
    """Runs of 1, 2 and 3 events; begin and end of a sequence are events too, unless they would stand alone."""
    begin, end, base = size, size + 1, size + 2
    yield _counted(paths.events, base)
    before = np.arange(len(paths.starts))
    firsts = paths.starts + 2 * before
    tokens = np.empty(len(paths.events) + 2 * len(paths.starts), dtype=np.int32)
    edge = np.zeros(len(tokens), dtype=np.bool_)
    lasts = firsts + paths.lengths + 1
    tokens[firsts], tokens[lasts], edge[firsts], edge[lasts] = begin, end, True, True
    tokens[~edge] = paths.events
    grams = tokens
    for length in RUNS[1:]:
        grams = grams[:-1] * base + tokens[length - 1 :]
        inside = np.ones(len(grams), dtype=np.bool_)
        for step in range(1, length):  # a run that goes on after an end is none
            inside[firsts[1:] - step] = False
        yield _counted(grams[inside], base**length)


def _counted(keys: NDArray[np.integer], most: int) -> SparseCounts:
    if most > max(1 << 16, len(keys)):
        distinct, counts = np.unique(keys, return_counts=True)
        return distinct.astype(np.uint64), counts.astype(np.int64)
    dense = np.bincount(keys, minlength=most)
    occupied = np.flatnonzero(dense)
    return occupied.astype(np.uint64), dense[occupied].astype(np.int64)


def whole_paths(paths: Paths, size: int) -> SparseCounts:
    """Sequences by a hash of all their events; the empty one is 0."""
    hashed = hashes(paths, size)
    keys, counts = np.unique(hashed, return_counts=True)
    if paths.empty > 0:
        keys, counts = np.r_[np.uint64(0), keys], np.r_[paths.empty, counts]
    return keys, counts.astype(np.int64)


def hashes(paths: Paths, size: int) -> NDArray[np.uint64]:
    """One number a sequence: a sum over its events, each a random number of what it is times one of where it stands."""
    if not len(paths.starts):
        return np.zeros(0, dtype=np.uint64)
    rng = np.random.default_rng(0)
    what = rng.integers(1, 2**63, size, dtype=np.uint64) | np.uint64(1)
    where = rng.integers(1, 2**63, int(paths.lengths.max()), dtype=np.uint64) | np.uint64(1)
    position = np.arange(len(paths.events)) - paths.starts[paths.places]
    mixed = (what ^ (what >> np.uint64(31)))[paths.events] * where[position]
    return np.add.reduceat(mixed, paths.starts)


def _common(
    real: Paths, whole: dict[SetName, SparseCounts], labels: tuple[str, ...]
) -> Iterator[tuple[str, dict[SetName, float]]]:
    keys, counts = whole["real"]
    hashed = hashes(real, len(labels))
    for place in np.argsort(-counts, kind="stable")[:MOST_PATHS]:
        key = keys[place]
        at = np.flatnonzero(hashed == key)
        words = "(no rows)"
        if len(at):
            start, length = real.starts[at[0]], real.lengths[at[0]]
            listed = [labels[code] for code in real.events[start : start + min(length, SHOWN_EVENTS)]]
            words = " → ".join([*listed, *(["…"] if length > SHOWN_EVENTS else [])])
        yield words, {name: _share(held, key) for name, held in whole.items()}


def _share(held: SparseCounts, key: np.uint64) -> float:
    keys, counts = held
    place = int(np.searchsorted(keys, key))
    return float(counts[place] / counts.sum()) if place < len(keys) and keys[place] == key else 0.0


# ------------------------------------------------------------------ time to event


def _survival(
    coded: Coded, feature: Feature, paths: dict[SetName, tuple[Paths, NDArray[np.int64]]], labels: tuple[str, ...]
) -> Iterator[Survival]:
    real = coded.sets["real"]
    gap = next((f for f in coded.features[feature.table] if f.how == "gap"), None)
    if gap is None:
        return
    clocks = {name: _elapsed(held.side, gap, *paths[name]) for name, held in coded.sets.items()}
    followed = _last(paths["real"][0], clocks["real"])
    horizon = float(np.nanquantile(followed, FOLLOWED)) if np.isfinite(followed).any() else 0.0
    if not horizon > 0:
        return
    times = np.linspace(0, horizon, POINTS)
    listed = len(labels) - 2  # `other` and NULL are no events
    common = np.argsort(-np.bincount(paths["real"][0].events, minlength=len(labels))[:listed], kind="stable")[:MOST_EVENTS]
    for code in common:
        curves: dict[SetName, Numbers] = {}
        risk: dict[SetName, Counts] = {}
        for name, (held, _) in paths.items():
            duration, observed = time_to(held, clocks[name], int(code))
            curves[name] = kaplan_meier(duration, observed, times)
            risk[name] = np.array([len(duration), int(observed.sum())])
        if not risk["real"][1]:
            continue
        yield Survival(
            event=labels[code],
            unit=unit_of(real.side.schema.tables[feature.table].columns[gap.column]),
            times=times,
            curves=curves,
            at_risk=risk,
            distance={name: float(np.abs(curves["real"] - curves[name]).max()) for name in coded.others},
        )


def _elapsed(side: Side, gap: Feature, paths: Paths, rows: NDArray[np.int64]) -> Numbers:
    """Of each event, the time since its sequence began."""
    moment = values(side, Feature(gap.table, gap.column, "number", "column", gap.column)).numbers
    assert moment is not None
    held = moment[rows]
    return held - held[paths.starts][paths.places]


def _last(paths: Paths, elapsed: Numbers) -> Numbers:
    return elapsed[paths.starts + paths.lengths - 1] if len(paths.starts) else elapsed


def time_to(paths: Paths, elapsed: Numbers, code: int) -> tuple[Numbers, NDArray[np.bool_]]:
    """Of each sequence, the time of its first such event; where there is none, of its last row, and that it was not observed.
    Sequences whose times are not known are left out."""
    duration, observed = _last(paths, elapsed).copy(), np.zeros(len(paths.starts), dtype=np.bool_)
    hits = np.flatnonzero(paths.events == code)
    whose = paths.places[hits]
    first = np.diff(whose, prepend=-1) > 0  # sequences stand one after the other
    duration[whose[first]], observed[whose[first]] = elapsed[hits[first]], True
    known = np.isfinite(duration) & (duration >= 0)
    return (duration, observed) if known.all() else (duration[known], observed[known])


def kaplan_meier(duration: Numbers, observed: NDArray[np.bool_], times: Numbers) -> Numbers:
    """The product-limit estimate of the share without the event, just after each of these times, which are evenly spaced from 0
    on. Between two of them it is counted in steps so fine that who leaves within one does not matter."""
    steps = (len(times) - 1) * STEPS
    at = np.ceil(duration * (steps / times[-1]) - 1e-6)
    place = np.minimum(at, steps + 1).astype(np.int64)
    everybody, happened = (np.bincount(held, minlength=steps + 2) for held in (place, place[observed]))
    at_risk = np.cumsum(everybody[::-1])[::-1]
    return np.asarray(np.cumprod(1 - happened / np.maximum(1, at_risk))[: steps + 1 : STEPS], dtype=np.float64)
