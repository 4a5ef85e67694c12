"""Every planted bug turns its part of the suite red, for its own reason; without it that part is green."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mare.errors import PrivacyError
from tests.privacy import (
    checks,
    checks_of_fits,
    checks_of_learning,
    checks_of_noise,
    checks_of_prices,
    checks_of_questions,
    checks_of_rows,
)
from tests.privacy.mutants import MUTANTS
from tests.privacy.planting import Mutant

ROOMS = (checks, checks_of_fits, checks_of_noise, checks_of_learning, checks_of_prices, checks_of_questions, checks_of_rows)
CHECKS = tuple(check for room in ROOMS for check in room.CHECKS)


SHOWN_ELSEWHERE = (
    checks_of_fits.benchmark_passes_the_tape,  # test_tape_of_the_benchmark
    checks_of_fits.another_order_passes_the_tape,  # test_physical_neighbours
    checks_of_rows.orphans_pass_the_tape,  # test_tape_relations
    checks_of_rows.rows_of_the_rest_pass_the_tape,  # test_tape_relations
    checks.hospital_passes_the_tape,  # test_tape_audit
    checks.sessions_pass_the_canary,  # test_canary
    checks.choices_follow_their_law,  # unit/privacy/test_choosing
)
"""What `make test` shows in another way too, in the files that are named: `make test-all` is enough for these."""


@pytest.mark.parametrize(
    "check",
    [pytest.param(check, marks=[pytest.mark.slow] if check in SHOWN_ELSEWHERE else [], id=check.__name__) for check in CHECKS],
)
def test_the_code_as_it_is_passes(check: Callable[[], None]) -> None:
    check()


@pytest.mark.slow  # the checks themselves run in `make test`, above; here it is the checks that are tested
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_planted_bug_is_caught(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant.plant(monkeypatch)
    # `pytest.raises` inside a check fails with an outcome that is no Exception
    with pytest.raises((Exception, pytest.fail.Exception), match=mutant.says):
        mutant.check()


def test_there_are_enough_of_them_and_each_says_what_it_is() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 14
    assert all(mutant.leak.endswith(".") and mutant.says for mutant in MUTANTS)
    assert {mutant.check for mutant in MUTANTS} <= set(CHECKS)


ALSO_ON_THE_BENCHMARK = (
    "no truncation",
    "unstable truncation",
    "per-row sensitivity",
    "fan-out",
    "cells in the order of appearance",
    "wrong adjacency: half the sensitivity",
    "wrong adjacency: the number of entities is public",
    "true n in the shares",
    "a true count in a released file",
    "the truncation key is published",
    "double use of one charge",
    "the clip is read off the data",
    "the clip is not applied",
    "the clip is applied after the noise",
    "exponential mechanism with half the sensitivity",
    "scores of rows at the price of entities",
    "levels by true frequency",
    "a row is compared with the one above, whoever's it is",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALSO_ON_THE_BENCHMARK)
def test_it_shows_on_the_benchmarks_own_configuration_too(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit of exactly what is measured would see it, not only one of a world that was made for the bug."""
    (mutant,) = (mutant for mutant in MUTANTS if mutant.name == name)
    mutant.plant(monkeypatch)
    with pytest.raises((AssertionError, PrivacyError), match=r"GUARANTEE DOES NOT HOLD|the cap does not hold|not answered"):
        checks_of_fits.benchmark_passes_the_tape(seeds=range(1, 7))  # ends at the first that shows it
