"""`CodedSet`: every feature of every table as small integers, for each side that was read.

The values of a table are looked at once, side by side; afterwards codes of one byte are all that pairs and sequences need, and
one number a row is all that finds copies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from hashlib import blake2b

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mare.evaluation.measured import ColumnFidelity, SetName
from mare.evaluation.sides import Side
from mare.stage.kernel import THREADS

from .common_bins import MOST_WORDS, Bins, Codes, common_bins
from .distances import Counts, as_different, by_chance, correlations, ks_distance, tvd, word_counts
from .features import AT_ONCE, Feature, Values, features, linked_features, values
from .ranks import Numbers

Sides = Mapping[SetName, Side]
"""`real` and those that were read beside it."""
Hashes = NDArray[np.uint64]
"""Values as 64 bits that look random: rows with the same values get the same sum, and others hardly ever do."""
OF_ITS_OWN = 5
"""Rows from which on a value counts by itself, however many are more common."""
_FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


@dataclass(frozen=True, eq=False)
class CodedSet:
    """One set of rows: how they stand to each other is their side's, what they hold is in codes."""

    side: Side
    codes: dict[tuple[str, str], Codes] = field(default_factory=dict)
    """By table and feature."""
    hashes: dict[str, Hashes] = field(default_factory=dict)
    """By table: one number a row, of all its own columns."""


@dataclass(frozen=True, eq=False)
class Coded:
    """All sets, the real one first, and what their codes mean."""

    sets: dict[SetName, CodedSet]
    features: dict[str, tuple[Feature, ...]]
    bins: dict[tuple[str, str], Bins]
    columns: tuple[ColumnFidelity, ...]
    correlations: dict[str, tuple[tuple[str, ...], dict[SetName, NDArray[np.float64]]]]
    """By table: the features that are numbers, and Pearson's correlation of every two of them."""

    def paired(self, table: str) -> tuple[Feature, ...]:
        return tuple(feature for feature in self.features[table] if feature.paired)

    def size(self, feature: Feature) -> int:
        return self.bins[feature.table, feature.name].size

    @property
    def others(self) -> tuple[SetName, ...]:
        return tuple(name for name in self.sets if name != "real")

    def histogram(self, feature: Feature, name: SetName = "real") -> NDArray[np.int64]:
        return self._counts[feature.table, feature.name][name]

    @cached_property
    def _counts(self) -> dict[tuple[str, str], Mapping[SetName, NDArray[np.int64]]]:
        return {(column.table, column.name): column.counts for column in self.columns}


def code_sides(sides: Sides) -> Coded:
    """Code all sides in bins of the real one."""
    real = sides["real"]
    sets: dict[SetName, CodedSet] = {name: CodedSet(side) for name, side in sides.items()}
    known: dict[str, tuple[Feature, ...]] = {}
    bins: dict[tuple[str, str], Bins] = {}
    columns: list[ColumnFidelity] = []
    related: dict[str, tuple[tuple[str, ...], dict[SetName, NDArray[np.float64]]]] = {}
    with ThreadPoolExecutor(THREADS) as threads:  # sorting and looking up let go of the interpreter
        for table in real.tables:
            children = below(real, table)
            known[table] = (*features(real.schema, table, children), *linked_features(real, table, children))
            numbers: dict[SetName, list[NDArray[np.float64]]] = {name: [] for name in sides}
            for feature, coded in _few_at_a_time(threads, sides, known[table]):
                bins[table, feature.name] = coded.bins
                columns.append(coded.column)
                for name in sides:
                    sets[name].codes[table, feature.name] = coded.codes[name]
                    if coded.hashes:  # a row's number depends on all its columns
                        sets[name].hashes[table] = sets[name].hashes.get(table, np.uint64(0)) + coded.hashes[name]
                    if coded.numbers:
                        numbers[name].append(coded.numbers[name])
            listed = tuple(f.name for f in known[table] if f.paired and f.kind == "number")
            some = {name: every for name, every in numbers.items() if every}
            related[table] = listed, dict(zip(some, threads.map(correlations, some.values()), strict=True))
            pa.default_memory_pool().release_unused()
    return Coded(sets, known, bins, tuple(columns), related)


def below(side: Side, table: str) -> tuple[str, ...]:
    """The tables whose rows stand below those of this one."""
    return tuple(name for name in side.tables if side.above(name) == table)


def _few_at_a_time(threads: Executor, sides: Sides, listed: Sequence[Feature]) -> Iterator[tuple[Feature, _Coded]]:
    """As many as there are threads: the values of all columns of a long table would not fit beside each other."""
    for start in range(0, len(listed), THREADS):
        some = listed[start : start + THREADS]
        yield from zip(some, threads.map(partial(_coded, sides), some), strict=True)


@dataclass(frozen=True, eq=False)
class _Coded:
    """One feature, on all sides."""

    bins: Bins
    column: ColumnFidelity
    codes: dict[SetName, Codes]
    hashes: dict[SetName, Hashes]
    """Of a column of the table alone."""
    numbers: dict[SetName, Numbers]
    """Of a number that is paired."""


def _coded(sides: Sides, feature: Feature) -> _Coded:
    held = {name: values(side, feature) for name, side in sides.items()}
    described = sides["real"].schema.tables[feature.table].columns.get(feature.column)
    dated = feature.how in ("column", "moment") and described is not None and described.has_day
    bins = common_bins(held["real"], dated=dated)
    codes = {name: bins.codes(column) for name, column in held.items()}
    own, number = feature.how in ("column", "moment"), feature.paired and feature.kind == "number"
    return _Coded(
        bins=bins,
        column=_compared(feature, bins, codes, held),
        codes=codes,
        hashes={name: hashed_values(column, feature.name) for name, column in held.items()} if own else {},
        numbers={name: column.numbers for name, column in held.items() if number and column.numbers is not None},
    )


def _compared(feature: Feature, bins: Bins, codes: Mapping[SetName, Codes], held: Mapping[SetName, Values]) -> ColumnFidelity:
    counts = {name: np.bincount(coded, minlength=bins.size).astype(np.int64) for name, coded in codes.items()}
    others: list[SetName] = [name for name in held if name != "real"]
    column = ColumnFidelity(
        table=feature.table,
        name=feature.name,
        kind=feature.kind,
        paired=feature.paired,
        labels=bins.labels,
        counts=counts,
        tvd={name: tvd(counts["real"], counts[name]) for name in others},
        shape={},
        chance=_chance(counts),
        part="linked" if feature.linked else "row",
    )
    if all(values.numbers is not None for values in held.values()):
        return replace(column, shape={name: 1 - ks_distance(held["real"], held[name]) for name in others})
    words, counted = word_counts(list(held.values()))
    each: dict[SetName, Counts] = dict(zip(held, counted, strict=True))
    column = replace(column, shape={name: 1 - tvd(each["real"], each[name]) for name in others})
    return column if np.count_nonzero(each["real"]) <= MOST_WORDS else _finer(column, words, each)


def _finer(column: ColumnFidelity, words: Sequence[str], each: Mapping[SetName, Counts]) -> ColumnFidelity:
    """With a bin for each value that a few real rows have; what is rarer, or new, shares one, and NULL has one."""
    common = set(column.labels)
    alone = (each["real"] >= OF_ITS_OWN) | np.array([word in common for word in words])
    apart = {name: np.r_[held[alone], held[~alone].sum(), column.counts[name][-1]] for name, held in each.items()}
    different: dict[SetName, float] = {name: float(np.count_nonzero(held)) for name, held in each.items()}
    if "synthetic" in each:
        different["shuffled"] = as_different(each["real"], int(each["synthetic"].sum()))
    rare = {name: tvd(apart["real"], apart[name]) for name in column.tvd}
    return replace(column, rare=rare, chance=_chance(apart), different=different)


def _chance(counts: Mapping[SetName, Counts]) -> float:
    return by_chance(counts["real"], int(counts.get("synthetic", counts["real"]).sum()))


def hashed_values(held: Values, column: str) -> Hashes:
    """Of each row, a number of its value in this column: the same value in another has another."""
    hashed = np.zeros(len(held), dtype=np.uint64)
    if held.numbers is not None:
        salt = np.uint64(_hashed("", column))
        for start in range(0, len(held), AT_ONCE):
            numbers = held.numbers[start : start + AT_ONCE] + 0.0  # one zero, and below one NaN
            np.copyto(numbers, np.nan, where=np.isnan(numbers))
            hashed[start : start + AT_ONCE] = scrambled(numbers.view(np.uint64) ^ salt)
    if held.words is not None:
        words = np.array([_hashed(word, column) for word in (*held.dictionary, "")], dtype=np.uint64)
        hashed = hashed + words[held.words]  # the last stands for -1, which is NULL
    return hashed


def scrambled(bits: Hashes) -> Hashes:
    """Every bit decided by every other."""
    mixed: Hashes = bits >> np.uint64(31)
    mixed ^= bits
    mixed *= _SECOND
    mixed ^= mixed >> np.uint64(29)
    mixed *= _FIRST
    return mixed


def _hashed(word: str, column: str) -> int:
    return int.from_bytes(blake2b(f"{column}\0{word}".encode(), digest_size=8).digest(), "little")
