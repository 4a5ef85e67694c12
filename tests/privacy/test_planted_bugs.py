"""Every planted bug turns its part of the suite red, for its own reason; without it that part is green."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.privacy.checks import CHECKS
from tests.privacy.mutants import MUTANTS
from tests.privacy.planting import Mutant


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_code_as_it_is_passes(check: Callable[[], None]) -> None:
    check()


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
