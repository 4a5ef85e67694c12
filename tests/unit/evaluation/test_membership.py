"""Who was in the data: a leak is seen, people who are alike are not told apart, and that as often as the interval says."""

from __future__ import annotations

import numpy as np
import pytest

from mare.evaluation.risk.attacks import Game
from mare.evaluation.risk.membership import distance_to_closest_record, linkability_game, membership, summaries
from mare.evaluation.vectors import Features, joined
from tests.people import drawn_apart, people, vectors


def test_copies_tell_members_from_others() -> None:
    real, holdout = people(300, 1), people(300, 2)
    everybody, unusual = membership(Game(real, real, holdout))
    assert everybody.verdict == unusual.verdict == "above the baseline"
    closest = distance_to_closest_record(Game(real, real, holdout))
    assert closest.verdict == "above the baseline"
    assert closest.details["exactly a member"] == 1
    assert closest.details["exactly one of the hold-out"] == 0


def test_a_copy_of_one_in_five_is_enough() -> None:
    real, holdout = people(500, 1), people(500, 2)
    made = joined([real.take(np.arange(100)), people(400, 3)])
    assert next(membership(Game(real, made, holdout))).verdict == "above the baseline"
    assert distance_to_closest_record(Game(real, made, holdout)).verdict == "above the baseline"


def test_people_who_are_alike_are_called_a_leak_no_more_often_than_said() -> None:
    """At 95 %, one time in 40 by chance: 2.5 of 100 are expected, more than 8 have a chance of 0.1 %, and the seeds are fixed."""
    wrong = {"membership": 0, "distance to the closest record": 0}
    for seed in range(100):
        real, holdout, made = (people(120, 3 * seed + each) for each in range(3))
        for attack in (
            next(membership(Game(real, made, holdout, seed=seed))),
            distance_to_closest_record(Game(real, made, holdout, seed=seed)),
        ):
            wrong[attack.kind] += attack.verdict == "above the baseline"
    assert max(wrong.values()) <= 8


def test_a_hold_out_of_another_size_is_no_advantage() -> None:
    real, made = people(600, 1), people(300, 3)
    for size in (60, 900):
        attack = distance_to_closest_record(Game(real, made, people(size, 2)))
        assert attack.excess.lower < 0 < attack.excess.upper


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_next_to_nobody_is_no_obstacle(rows: int) -> None:
    some = people(5, 1)
    few = some.take(np.arange(rows))
    for real, made, holdout in ((few, some, some), (some, few, some), (some, some, few)):
        for attack in (*membership(Game(real, made, holdout)), distance_to_closest_record(Game(real, made, holdout))):
            assert attack.verdict in ("too wide to say", "not measured", "no sign", "above the baseline")
            assert attack.to_json()["against"]


def test_summaries_of_a_data_set_by_hand() -> None:
    made = [vectors(a=np.array([1.0, 2.0, 6.0]), c=[0, 0, 2]), vectors(a=np.array([2.0, np.nan, 4.0]), c=[1, 1, 1])]
    assert summaries(made, "naive")[0] == pytest.approx([3, 2, 14 / 3, 2, 0, 2])
    assert summaries(made, "naive")[1] == pytest.approx([3, 3, 1, 1, 1, 1])
    histogram = summaries(made, "histogram")
    assert histogram.sum(axis=1) == pytest.approx([2, 2])
    assert histogram[:, -3:] == pytest.approx(np.array([[2 / 3, 0, 1 / 3], [0, 1, 0]]))
    correlations = summaries([vectors(a=np.array([1.0, 2.0, 3.0]), b=np.array([2.0, 4.0, 7.0]))], "correlation")
    assert correlations[0] == pytest.approx([np.corrcoef([1, 2, 3], [2, 4, 7])[0, 1]])


def _runs(leaks: bool) -> tuple[list[Features], np.ndarray]:
    """60 synthetic data sets, every other with a target whom nobody else is like."""
    others = people(80, 1)
    target = Features(others.columns, tuple(np.array([column.max() * 3]) for column in others.values), 1)
    there = np.arange(60) % 2 == 0
    made = []
    for run, inside in enumerate(there):
        real = joined([others, target]) if inside else others
        rng = np.random.default_rng(run)
        made.append(real.take(rng.integers(0, real.rows, 160)) if leaks else drawn_apart(others, run))
    return made, there


def test_the_linkability_game_is_won_against_copies_and_not_against_what_never_saw_the_target() -> None:
    pytest.importorskip("sklearn")
    leaky = linkability_game(*_runs(leaks=True), 30)
    assert [attack.about.split()[0] for attack in leaky] == ["naive", "histogram", "correlation"]
    assert {attack.verdict for attack in leaky} == {"above the baseline"}
    assert all(float(str(attack.details["privacy gain"])) < 0.5 for attack in leaky)
    # Three games, each won by chance one time in 40; the seeds are fixed.
    sane = linkability_game(*_runs(leaks=False), 30)
    assert {attack.verdict for attack in sane} <= {"no sign", "too wide to say"}
