"""Words from the operating system, from a seed, and the coins made of them."""

from __future__ import annotations

import os

import numpy as np
import pytest

from mare.privacy.bits import OsBits, SeededBits, coin_flips
from tests.unit.privacy.listed_view import ScriptedBits


def test_the_operating_system_is_asked_for_eight_bytes_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def urandom(size: int) -> bytes:
        asked.append(size)
        return bytes(range(size))

    monkeypatch.setattr(os, "urandom", urandom)
    words = OsBits().words(2)
    assert asked == [16]
    assert words.tobytes() == bytes(range(16))
    assert words.dtype == np.uint64


def test_only_the_operating_system_is_private() -> None:
    assert OsBits().private
    assert not SeededBits(1).private


def test_the_operating_system_does_not_repeat_itself() -> None:
    assert OsBits().words(4).tolist() != OsBits().words(4).tolist()


def test_a_seed_repeats_itself_whatever_the_batches() -> None:
    one, two = SeededBits(7), SeededBits(7)
    assert one.words(5).tolist() == [*two.words(2).tolist(), *two.words(3).tolist()]
    assert SeededBits(7).words(5).tolist() != SeededBits(8).words(5).tolist()


def test_coins_use_every_bit_of_a_word_once() -> None:
    bits = ScriptedBits([0xFFFF, 0x1])
    flips = coin_flips(65, bits)
    assert flips.dtype == np.bool_
    assert (len(flips), bits.used) == (65, 2)
    assert flips[:64].sum() == 16
    assert coin_flips(0, ScriptedBits([])).tolist() == []
