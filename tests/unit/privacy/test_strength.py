"""What an epsilon is called: the words, their thresholds, and the one page that explains them."""

from __future__ import annotations

import re
from math import exp

import pytest

from mare.privacy.budget import NEXT_TO_NOTHING, WEAK, plainly
from tests.conftest import ROOT


@pytest.mark.parametrize(
    ("epsilon", "word"),
    [
        (0.1, None),
        (WEAK, None),
        (WEAK + 0.1, "epsilon = 10.1 is weak"),
        (NEXT_TO_NOTHING, "epsilon = 20 is weak"),
        (NEXT_TO_NOTHING + 0.1, "epsilon = 20.1 promises next to nothing"),
        (50.0, "factor of 5.18e+21"),
        (5000.0, "factor of e^5000"),
    ],
)
def test_an_epsilon_is_called_what_it_is(epsilon: float, word: str | None) -> None:
    said = plainly(epsilon)
    assert said is None if word is None else word in (said or "")


def test_the_page_for_officers_has_the_right_numbers() -> None:
    """Every row of its table is worked out again: the factor, and how sure an attacker can become who was 1 % or half sure."""
    text = (ROOT / "docs" / "guides" / "for-the-one-who-signs.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+(?:\.\d+)?) \| ([\d,.]+)(?: million)? \| ([\d.]+) % \| ([\d.]+) % \|", text, flags=re.MULTILINE)
    assert [float(row[0]) for row in rows] == [0.1, 1, 2, 5, 10, 20]
    for epsilon, times, rare, even in rows:
        e = exp(float(epsilon))
        wanted = e / 1e6 if float(epsilon) == 20 else e
        assert float(times.replace(",", "")) == pytest.approx(wanted, rel=0.02)
        for shown, prior in ((rare, 0.01), (even, 0.5)):
            posterior = 100 * prior * e / (prior * e + 1 - prior)
            decimals = len(shown.partition(".")[2])
            assert float(shown) == pytest.approx(posterior, abs=0.5 * 10**-decimals + 1e-12), (epsilon, shown, posterior)
    assert f"above {NEXT_TO_NOTHING:g}" in text
    assert f"above {WEAK:g}" in text


def test_a_large_delta_is_called_what_it_is() -> None:
    assert plainly(1, 1e-5) is None
    assert "delta = 0.5 is large" in str(plainly(1, 0.5))
    both = str(plainly(50, 0.5))
    assert "promises next to nothing" in both
    assert "delta = 0.5 is large" in both
