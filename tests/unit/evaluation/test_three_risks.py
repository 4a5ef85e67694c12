"""Singling out, linkability and inference on cases that can be checked by eye, and on a leak."""

from __future__ import annotations

import numpy as np
import pytest

from mare.evaluation.risk.attacks import Game
from mare.evaluation.risk.three_risks import inference, linkability, singling_out
from mare.evaluation.vectors import Features, nearest
from tests.people import drawn_apart, people, vectors


def test_the_distance_is_gowers() -> None:
    here = vectors(age=np.array([0.0, 10.0, np.nan]), sex=[0, 1, 1])
    there = vectors(age=np.array([5.0, np.nan]), sex=[0, 1])
    found, distances = nearest(here, there, 2)
    assert found.tolist() == [[0, 1], [1, 0], [1, 0]]
    # Numbers by the range of both sides, 10; NULL is 1 away from a number; two columns.
    assert distances == pytest.approx(np.array([[0.25, 1.0], [0.5, 0.75], [0.0, 1.0]]))


def test_a_statement_singles_out_who_is_alone_with_it() -> None:
    synthetic = vectors(age=np.array([10.0, 20.0, 20.0, 99.0]), rare=[0, 0, 0, 1])
    alike = vectors(age=np.array([10.0, 20.0, 20.0, 99.0]), rare=[0, 0, 0, 1])
    found = singling_out(Game(alike, synthetic, None))
    assert found.success.n == 5  # age <= 10, age = 10, age >= 99, age = 99, rare = 1
    assert found.success.upper == pytest.approx(1.0)
    nobody = vectors(age=np.array([20.0, 20.0, 20.0, 20.0]), rare=[0, 0, 0, 0])
    assert singling_out(Game(nobody, synthetic, None)).success.lower == pytest.approx(0)


def test_halves_are_linked_when_they_have_a_neighbour_in_common() -> None:
    real = vectors(a=np.array([0.0, 1.0]), b=np.array([0.0, 1.0]))
    crossed = vectors(a=np.array([0.0, 1.0]), b=np.array([1.0, 0.0]))
    assert linkability(Game(real, real, None), ([0], [1])).success.value > 0.5
    assert linkability(Game(real, crossed, None), ([0], [1])).success.value < 0.5
    assert linkability(Game(real, crossed, None), ([0], [1]), neighbours=2).success.value > 0.5


def test_a_secret_is_inferred_from_the_nearest() -> None:
    synthetic = vectors(age=np.array([1.0, 9.0]), dose=np.array([100.0, 50.0]), drug=[3, 4])
    real = vectors(age=np.array([2.0, 8.0, 8.0]), dose=np.array([104.0, 60.0, np.nan]), drug=[3, 4, 3])
    assert inference(Game(real, synthetic, None), 2, [0]).success.n == 3
    hits = inference(Game(real, synthetic, None), 2, [0]).success, inference(Game(real, synthetic, None), 1, [0]).success
    assert [round((rate.value - 0.5) * (3 + 3.8415) / 3 + 0.5, 3) for rate in hits] == [0.667, 0.333]  # 2 of 3; 104 is near 100


def _attacks(real: Features, synthetic: Features, control: Features) -> list[object]:
    halves = ([0, 1, 2], [3, 4, 5])
    return [
        singling_out(Game(real, synthetic, control)),
        singling_out(Game(real, synthetic, control), columns=3),
        linkability(Game(real, synthetic, control), halves),
        inference(Game(real, synthetic, control), 3, [0, 1, 2, 4, 5]),
    ]


def test_copies_of_real_people_are_detected_by_all_three() -> None:
    real, control = people(600, 1), people(600, 2)
    assert [attack.verdict for attack in _attacks(real, real, control)] == ["above the baseline"] * 4


def test_other_people_are_not_called_a_leak() -> None:
    """Each of the four is wrong with a chance of at most 1 in 40: the seeds are fixed."""
    real, control = people(600, 1), people(600, 2)
    for made in (people(600, 3), drawn_apart(real, 4)):
        assert "above the baseline" not in [attack.verdict for attack in _attacks(real, made, control)]


@pytest.mark.parametrize("columns", [1, 2])
def test_odd_columns_are_no_obstacle(columns: int) -> None:
    odd = vectors(constant=np.full(30, 2.0), nothing=np.full(30, np.nan), many=np.arange(30) * 333)
    none = odd.take([])
    for real, synthetic in ((odd, odd), (odd, none), (none, odd)):
        for attack in (
            singling_out(Game(real, synthetic, real), columns=columns),
            linkability(Game(real, synthetic, real), ([0], [1, 2])),
            inference(Game(real, synthetic, real), 2, [0, 1]),
        ):
            assert attack.to_json()["kind"] == attack.kind
