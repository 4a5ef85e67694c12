"""Comparisons of a lazily drawn uniform number: exact, and more bits are read only on a tie."""

from __future__ import annotations

import numpy as np
import pytest

from mare.privacy.bits import SeededBits
from mare.privacy.inversion import LazyUniform, thresholds_reached
from tests.unit.privacy.listed_view import ScriptedBits

THIRD_WORD = 2**64 // 3


def third(width: int) -> tuple[int, int]:
    """1/3 has no end in binary: two integers around it, at any width."""
    low = 2**width // 3
    return low, low + 1


def test_a_settled_comparison_reads_nothing_more() -> None:
    bits = ScriptedBits([])
    assert LazyUniform(THIRD_WORD - 1, bits).below(third)
    assert not LazyUniform(THIRD_WORD + 1, bits).below(third)


@pytest.mark.parametrize(("more", "below"), [([THIRD_WORD - 1], True), ([THIRD_WORD + 1], False), ([THIRD_WORD, 0], True)])
def test_a_tie_reads_on_until_it_is_settled(more: list[int], below: bool) -> None:
    bits = ScriptedBits(more)
    assert LazyUniform(THIRD_WORD, bits).below(third) is below
    assert bits.used == len(more)


EXACT = [5 << 64, (7 << 64) + 9, (7 << 64) + 20, (8 << 64) + 1, (30 << 64) + 4]
"""Thresholds in units of 2^-128; two share their first word, two are neighbours."""


def exact_enclosure(index: int, width: int) -> tuple[int, int]:
    if width >= 128:
        return EXACT[index] << (width - 128), EXACT[index] << (width - 128)
    return EXACT[index] >> 64, -(-EXACT[index] >> 64)


@pytest.mark.parametrize("lowered", [0, 1], ids=["whole parts", "one less, as is allowed"])
@pytest.mark.parametrize("first", [0, 4, 5, 6, 7, 8, 9, 29, 30, 31, 2**64 - 1])
@pytest.mark.parametrize("second", [0, 1, 4, 5, 9, 10, 20, 21, 2**64 - 1])
def test_thresholds_are_counted_exactly(first: int, second: int, lowered: int) -> None:
    tops = np.array([(value >> 64) - lowered for value in EXACT], dtype=np.uint64)
    expected = sum(value <= (first << 64) + second for value in EXACT)
    bits = ScriptedBits([first, second])
    assert thresholds_reached(tops, exact_enclosure, 1, bits).tolist() == [expected]
    if first not in (5, 6, 7, 8, 9, 30, 31):
        assert bits.used == 1


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    tops = np.array([2**62, 2**63], dtype=np.uint64)
    whole = thresholds_reached(tops, exact_enclosure, 100, SeededBits(3))
    monkeypatch.setattr("mare.privacy.inversion._CHUNK", 7)
    assert thresholds_reached(tops, exact_enclosure, 100, SeededBits(3)).tolist() == whole.tolist()
    assert set(whole.tolist()) == {0, 1, 2}
