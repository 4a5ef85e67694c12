"""Parts of the suite that see what no tape and no test of one table can: whether noise is drawn anew for every cell of every
answer, and whether what is picked by noisy numbers is picked by these.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from math import sqrt
from statistics import NormalDist

import numpy as np
import pytest
from numpy.typing import NDArray

import mare.privacy.bits as bits_module
from mare.domain import Axis, Domain, Marginal
from mare.fitting import FitOptions, run_fit
from mare.planning import Plan
from mare.planning.planning import plan
from mare.privacy.bits import OsBits, SeededBits, Words
from mare.privacy.budget import Budget
from mare.privacy.curator import Clip, Curator, Gate
from mare.privacy.ledger import Ledger
from mare.privacy.noise import prepare_noise, standard_deviation
from mare.privacy.qualities import Tvd
from mare.privacy.tape import Counts, Entry, Query, Recorder
from mare.schema.loading import load_schema
from tests.memory_source import MemorySource
from tests.privacy.benchmark import benchmark_plan, patients, source
from tests.privacy.checks_of_questions import everybody, questions
from tests.privacy.sessions import PURE, ZCDP, everything, wards
from tests.raw_columns import listed
from tests.unit.fitting.test_learning import SCHEMA, TYPES, rows
from tests.views import ArrayView, array_view

CODES, EACH = 120, 60
FARTHEST = 5.5
"""Deviations that chance may make: of some thousand pairs none is farther, and seeds are fixed."""
WINDOW = 6
"""So many numbers in a row do not come twice by chance, where the noise is wide."""

Noises = dict[str, NDArray[np.float64]]


def equal_columns() -> ArrayView:
    """Three columns that are the same column."""
    codes = np.repeat(np.arange(CODES), EACH)
    columns = dict.fromkeys("abc", codes)
    return array_view(np.arange(len(codes)), columns, Domain.of([(name, CODES) for name in "abc"]), cap=1)  # type: ignore[arg-type]


def _unrelated(noises: Noises) -> None:
    for (one, first), (other, second) in combinations(noises.items(), 2):
        shared = min(len(first), len(second))
        related = float(np.corrcoef(first[:shared], second[:shared])[0, 1])
        assert abs(related) * sqrt(shared) < FARTHEST, f"the noise of {one} and of {other} is related ({related:.2f})"


def equal_tables_get_unrelated_noise() -> None:
    """The same numbers, asked together and again: clipped or not, under both kinds of budget."""
    view, tables = equal_columns(), [Marginal.of(name) for name in "abc"]
    asked: dict[str, Callable[[Curator], Sequence[object]]] = {
        "counts": lambda curator: curator.counts(tables, 0.2),
        "counts again": lambda curator: curator.counts(tables, 0.2),
        "clipped counts": lambda curator: curator.counts(tables, 0.2, clip=Clip(1.0)),
    }
    for budget in (Budget(60, 1e-9), Budget(60, delta=0)):
        curator = Gate(budget, Ledger(budget, "one patient"), SeededBits(5)).curator(view, 1.0)
        noises: Noises = {}
        for what, ask in asked.items():
            for table, answer in zip("abc", ask(curator), strict=True):
                rows = answer.rows  # type: ignore[attr-defined]
                assert len(rows) == CODES, "a cell is missing, so nothing was compared"
                noises[f"{table} in {what}"] = rows - EACH
        _unrelated(noises)


def equal_scores_get_unrelated_noise() -> None:
    """Sixty-six candidates with one and the same score, asked together: what differs between them is noise."""
    codes, names = np.arange(400) % 2, [f"x{n}" for n in range(12)]
    view = array_view(np.arange(400), dict.fromkeys(names, codes), Domain.of([(n, 2) for n in names]), cap=1)  # type: ignore[arg-type]
    pairs = [Tvd(Axis(one), (Axis(other),)) for one, other in combinations(names, 2)]
    for budget in (ZCDP, PURE):
        found = Gate(budget, Ledger(budget, "one patient"), SeededBits(6)).curator(view, 1.0).scores(pairs)
        spread = float(found.entities.std()) / (standard_deviation(found.mechanism, found.scale) / found.denominator)
        assert 0.6 < spread < 1.5, f"scores that are equal differ by {spread:.2f} of their noise when asked together"


class _CountedBits(SeededBits):
    """Seeded bits that know how many words were drawn."""

    drawn = 0

    def words(self, count: int) -> Words:
        self.drawn += count
        return super().words(count)


class _Draws(Recorder):
    """Keeps, of each answer, how many words its noise took."""

    def __init__(self, bits: _CountedBits) -> None:
        super().__init__()
        self._bits, self.words = bits, list[int]()

    def answer(self, query: Query, exact: Sequence[Counts], release: Callable[[], list[Counts]]) -> list[Counts]:
        before = self._bits.drawn
        released = super().answer(query, exact, release)
        self.words.append(self._bits.drawn - before)
        return released


def _covered(recorder: _Draws) -> None:
    for entry, words in zip(recorder.record.entries, recorder.words, strict=True):
        # A choice throws a coin for every candidate; what is listed needs noise where it is not zero.
        cells = sum(table.size for table in (entry.exact[1::2] if entry.query.listed else entry.exact))
        what = f"{entry.query.what} of {entry.query.view}"
        assert words >= cells, f"{what}: {words} words were drawn for the noise of {cells} cells"


def _fits() -> Iterator[tuple[Plan, MemorySource]]:
    """One that learns domains of every kind, one that asks every question, and one with long sequences and many cross-tabs."""
    yield plan(load_schema(SCHEMA), Budget(20, 1e-6)), MemorySource.of(rows(), TYPES)
    yield questions(), everybody()
    yield benchmark_plan(), source(patients(60))


def bits_cover_every_cell() -> None:
    """Whatever is answered, no cell does without bits of its own: every kind of answer, and whole fits."""
    for budget in (ZCDP, PURE):
        recorder = _Draws(_CountedBits(1))
        everything(Gate(budget, Ledger(budget, "one patient"), recorder._bits, recorder).curator(wards(), 1.0))
        _covered(recorder)
    for made, data in _fits():
        recorder = _Draws(_CountedBits(2))
        run_fit(made, data, FitOptions(bits=recorder._bits, tape=recorder))
        _covered(recorder)


def noise_of_a_fit_is_unrelated() -> None:
    """Over a whole fit: no two tables have noise that goes together, and none has a piece of another's."""
    for made, data in _fits():
        recorder = Recorder()
        run_fit(made, data, FitOptions(bits=SeededBits(3), tape=recorder))
        noises = {name: noise for entry in recorder.record.entries for name, noise in _noise_of(entry)}
        assert len(noises) > 20, "too few tables: nothing was compared"
        _unrelated({name: noise for name, noise in noises.items() if len(noise) >= 24})
        _without_repeats(recorder.record.entries)


def _noise_of(entry: Entry) -> Iterator[tuple[str, NDArray[np.float64]]]:
    if entry.query.listed or entry.query.mechanism == "exponential choice":
        return
    for number, (exact, released) in enumerate(zip(entry.exact, entry.released, strict=True)):
        if exact.size > 1:
            yield f"{entry.query.what} ({number}) of {entry.query.view}", (released - exact).ravel() / entry.query.scale


def _without_repeats(entries: Sequence[Entry]) -> None:
    seen: dict[bytes, str] = {}
    for entry in entries:
        wide = entry.query.scale > 8 and not entry.query.listed and entry.query.mechanism != "exponential choice"
        for exact, released in zip(entry.exact, entry.released, strict=True) if wide else ():
            noise, what = (released - exact).ravel(), f"{entry.query.what} of {entry.query.view}"
            for start in range(noise.size - WINDOW + 1):
                piece = noise[start : start + WINDOW].tobytes()
                assert piece not in seen, f"{what} has a piece of the noise of {seen[piece]}"
                seen[piece] = what


def listed_values_follow_the_noise() -> None:
    """Two values, one of them held by about one deviation more: of a list of one, the noise decides how often it is the other."""
    few, more = 500, 540
    column = listed({patient: ["b" if patient < more else "a"] for patient in range(few + more)})
    runs = 300
    found = [
        Gate(ZCDP, Ledger(ZCDP, "one patient"), SeededBits(seed)).learner(column, 0.0005, delta_share=1.0).categories(most=1)
        for seed in range(runs)
    ]
    assert all(len(one.values) == 1 for one in found), "a list of one is empty, so nothing was compared"
    chance = NormalDist().cdf((more - few) / (sqrt(2) * found[0].scale))
    assert 0.6 < chance < 0.9, "the noise is too small or too large for this check"
    often = sum(one.values == ("b",) for one in found) / runs
    spread = sqrt(chance * (1 - chance) / runs)
    assert abs(often - chance) < 5 * spread, (
        f"the more frequent value is listed in {often:.3f} of all fits, by the noise {chance:.3f}"
    )


def listed_values_stand_in_canonical_order() -> None:
    """By themselves, whatever their counts: the order in which values come out tells nothing."""
    column = listed({patient: ["cab"[0 if patient < 300 else 1 if patient < 500 else 2]] for patient in range(600)})
    for seed in range(20):
        found = Gate(ZCDP, Ledger(ZCDP, "one patient"), SeededBits(seed)).learner(column, 1.0, delta_share=1.0).categories()
        assert found.values == ("a", "b", "c"), f"values come in the order {found.values}"


class _Extreme(SeededBits):
    """The first words are as large as words get: what comes once in 2^63 draws."""

    first = True

    def words(self, count: int) -> Words:
        found = super().words(count)
        if self.first:
            self.first = False
            return np.full(count, 2**64 - 2, dtype=np.uint64)
        return found


def extreme_bits_draw_extreme_noise() -> None:
    """Noise has tails far beyond any sample of it: where they are cut, an answer may rule a count out for good."""
    for mechanism, scale, least in (("discrete gaussian", 9.0, 8.0), ("discrete laplace", 3.0, 10.0)):
        noise = prepare_noise(mechanism, scale, 5000)  # type: ignore[arg-type]
        farthest = int(np.abs(noise.draw(_Extreme(1))).max()) / scale
        assert farthest > least, f"{mechanism} noise ends {farthest:.1f} scales out"


def system_bits_are_the_systems_own() -> None:
    """Every word of noise is eight bytes of the operating system's: nothing stretches them."""
    served: list[bytes] = []
    with pytest.MonkeyPatch.context() as patch:
        original = os.urandom
        patch.setattr(bits_module.os, "urandom", lambda count: served.append(original(count)) or served[-1])
        words = np.concatenate([OsBits().words(count) for count in (1, 7, 1000)])
    assert b"".join(served) == words.tobytes(), "words of noise are not the bytes that the operating system gave"


CHECKS = (
    equal_tables_get_unrelated_noise,
    equal_scores_get_unrelated_noise,
    bits_cover_every_cell,
    noise_of_a_fit_is_unrelated,
    listed_values_follow_the_noise,
    listed_values_stand_in_canonical_order,
    extreme_bits_draw_extreme_noise,
    system_bits_are_the_systems_own,
)
