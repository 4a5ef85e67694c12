"""Lengths, transitions, whole paths, the time to an event, and what is taken together: by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mare.evaluation.evaluate import evaluate
from mare.evaluation.fidelity.trajectories import Paths, kaplan_meier, runs, sparse_tvd, time_to, whole_paths
from tests.clinic import Frames, changed, clinic, clinic_schema


def paths(*sequences: str, empty: int = 0) -> Paths:
    events = np.array([ord(c) - ord("a") for s in sequences for c in s], dtype=np.int64)
    lengths = np.array([len(s) for s in sequences], dtype=np.int64)
    return Paths(events, np.cumsum(lengths) - lengths, empty)


def test_runs_stop_at_the_end_of_a_sequence() -> None:
    one, two, three = runs(paths("ab", "b"), 2)  # begin is 2, end is 3, so base 4
    assert dict(zip(one[0].tolist(), one[1].tolist(), strict=True)) == {0: 1, 1: 2}
    begin_a, a_b, b_end, begin_b = 2 * 4 + 0, 0 * 4 + 1, 1 * 4 + 3, 2 * 4 + 1
    assert dict(zip(two[0].tolist(), two[1].tolist(), strict=True)) == {begin_a: 1, a_b: 1, b_end: 2, begin_b: 1}
    triples = {(2 * 4 + 0) * 4 + 1: 1, (0 * 4 + 1) * 4 + 3: 1, (2 * 4 + 1) * 4 + 3: 1}
    assert dict(zip(three[0].tolist(), three[1].tolist(), strict=True)) == triples


def test_whole_paths_tell_order_and_count_the_empty_one() -> None:
    keys, counts = whole_paths(paths("ab", "ba", "ab", empty=2), 2)
    assert sorted(counts.tolist()) == [1, 2, 2]
    assert keys[0] == 0
    same, other = whole_paths(paths("ab", "ab"), 2), whole_paths(paths("ba", "ab"), 2)
    assert sparse_tvd(same, other) == pytest.approx(0.5)


def test_kaplan_meier_by_hand() -> None:
    # Of five: an event at 1, one leaves at 2, an event at 3, another at 3, one leaves at 4.
    duration, observed = np.array([1.0, 2, 3, 3, 4]), np.array([True, False, True, True, False])
    curve = kaplan_meier(duration, observed, np.array([0.0, 1, 2, 3, 4]))
    assert curve.tolist() == pytest.approx([1, 4 / 5, 4 / 5, 4 / 5 * 1 / 3, 4 / 5 * 1 / 3])


@pytest.mark.parametrize("unit", [1.0, 1 / 1440, 7.3])
def test_kaplan_meier_against_every_moment_of_many_who_leave_early(unit: float) -> None:
    rng = np.random.default_rng(2)
    duration, observed = unit * rng.integers(0, 500, 20_000), rng.random(20_000) < 0.6
    times = np.linspace(0, float(np.quantile(duration, 0.95)), 60)
    moments, happened = np.unique(duration[observed], return_counts=True)
    at_risk = (duration[:, None] >= moments).sum(axis=0)
    curve = np.r_[1.0, np.cumprod(1 - happened / at_risk)]
    assert kaplan_meier(duration, observed, times) == pytest.approx(
        curve[np.searchsorted(moments, times, side="right")], abs=1e-9
    )


def test_the_time_to_an_event_is_that_of_its_first_or_the_last_row_of_who_never_met_it() -> None:
    held = paths("aba", "aa", "b")
    elapsed = np.array([0.0, 3, 7, 0, 5, 0])
    duration, observed = time_to(held, elapsed, 1)
    assert duration.tolist() == [3, 5, 0]
    assert observed.tolist() == [True, False, True]


def small(wards: dict[int, str]) -> Frames:
    """One patient each, whose stays begin a day apart in these wards."""
    rows = [
        {"sid": 10 * pid + i, "pid": pid, "begins": pd.Timestamp("2001-01-01") + pd.Timedelta(days=i), "ward": ward}
        for pid, path in wards.items()
        for i, ward in enumerate(path)
    ]
    stays = pd.DataFrame(rows)
    stays["ends"] = stays["begins"] + pd.Timedelta(hours=1)
    people = pd.DataFrame({"pid": list(wards), "sex": "F", "age": 30, "weight": 60.0})
    takes = pd.DataFrame({"tid": [1], "sid": [stays["sid"][0]], "drug": [1], "dose": [1]})
    return {"patients": people, "stays": stays, "takes": takes, "drugs": pd.DataFrame({"drug": [1, 2], "name": ["x", "y"]})}


def test_lengths_stickiness_transitions_and_paths_of_a_few_patients() -> None:
    real, made = small({1: "aab", 2: "ab", 3: ""}), small({1: "abc", 2: "abc", 3: "ab", 4: "ab"})
    found = evaluate(clinic_schema(), real, made)
    lengths = next(held for held in found.lengths if (held.table, held.per) == ("stays", "patients"))
    assert (lengths.mean["real"], lengths.mean["synthetic"]) == (pytest.approx(5 / 3), 2.5)
    assert lengths.none["real"] == pytest.approx(1 / 3)
    assert lengths.tvd["synthetic"] == pytest.approx(1 / 3)  # 0, 2 and 3 stays: a third each, against none, a half, a half
    per_entity = next(held for held in found.lengths if (held.table, held.per) == ("takes", "entity"))
    assert per_entity.mean["real"] == pytest.approx(1 / 3)
    ward = next(held for held in found.stickiness if (held.table, held.column) == ("stays", "ward"))
    assert (ward.same["real"], ward.same["synthetic"]) == (pytest.approx(1 / 3), 0)
    assert ward.first_tvd["synthetic"] == 0
    assert ward.last_tvd["synthetic"] == pytest.approx(0.5)  # all end in b; of the others half in a ward that no real stay has
    moved = next(held for held in found.transitions if held.table == "stays")
    a, b = moved.labels.index("a"), moved.labels.index("b")
    assert (moved.counts["real"][a, a], moved.counts["real"][a, b], moved.counts["synthetic"][a, b]) == (1, 2, 4)
    trajectory = next(held for held in found.trajectories if held.table == "stays")
    shares = dict(trajectory.paths)
    assert shares["a → b"]["real"] == pytest.approx(1 / 3)
    assert shares["a → b"]["synthetic"] == 0.5
    assert shares["(no rows)"]["synthetic"] == 0
    survival = next(curve for curve in trajectory.survival if curve.event == "b")
    assert survival.unit == "days"
    assert survival.at_risk["real"].tolist() == [2, 2]
    assert survival.curves["real"][-1] == pytest.approx(0.5, abs=0.51)
    assert survival.curves["synthetic"][-1] == 0  # everybody came to b after a day


def test_keys_that_one_parent_has_together() -> None:
    real = clinic(200, 1)
    apart = changed(clinic(200, 1), "takes", lambda f: f.assign(drug=np.random.default_rng(0).permutation(f["drug"])))
    (found,) = evaluate(clinic_schema(), real, apart).together
    first, second = found.labels.index("1"), found.labels.index("2")
    lists = real["takes"].groupby("sid")["drug"].agg(set)
    both = sum({1, 2} <= held for held in lists) / len(real["stays"])
    assert found.shares["real"][first, second] == pytest.approx(both)
    assert found.shares["synthetic"][first, second] < both
    assert found.relative["synthetic"] > 0.3
    (same,) = evaluate(clinic_schema(), real, real).together
    assert same.relative["synthetic"] == 0
