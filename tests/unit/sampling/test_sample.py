"""Sampling: keys hold, order holds, and the same seed gives the same rows."""

from __future__ import annotations

import sqlite3
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mare.domain import Codes
from mare.errors import PlanError, SinkError
from mare.release import Release
from mare.sampling import sample
from tests.fitted_hospital import fitted_hospital
from tests.memory_source import hospital_rows


def frames(entities: int | None = None, seed: int = 0) -> dict[str, pd.DataFrame]:
    found = sample(fitted_hospital(), entities=entities, seed=seed)
    assert found is not None
    return found


def test_as_many_entities_as_asked_for() -> None:
    assert len(frames(7)["patients"]) == 7
    assert len(frames()["patients"]) == fitted_hospital().plan.entities


def test_no_entity_at_all_gives_empty_tables_with_their_columns() -> None:
    empty = frames(0)
    assert [len(frame) for frame in empty.values()] == [0, 0]
    assert list(empty["stays"].columns) == ["sid", "pid", "begins", "ends", "ward"]


def test_a_negative_number_is_refused() -> None:
    with pytest.raises(PlanError, match="must be 0 or more"):
        frames(-1)


@pytest.mark.parametrize("wish", [{"seed": "7"}, {"entities": 1.5}, {"entities": True}, {"threads": "two"}])
def test_what_is_no_whole_number_is_refused_in_words(wish: dict[str, Any]) -> None:
    with pytest.raises(PlanError, match="it must be a whole number"):
        sample(fitted_hospital(), **wish)


def test_a_connection_is_no_target_and_that_is_said() -> None:
    with sqlite3.connect(":memory:") as connection, pytest.raises(SinkError, match="a Connection is no target"):
        sample(fitted_hospital(), connection)  # type: ignore[arg-type]


def test_keys_are_unique_and_references_hold() -> None:
    made = frames(5000)
    assert made["patients"]["pid"].is_unique
    assert made["stays"]["sid"].is_unique
    assert set(made["stays"]["pid"]) <= set(made["patients"]["pid"])


def test_times_are_in_order_along_every_sequence() -> None:
    stays = frames(3000)["stays"]
    assert (stays["ends"] >= stays["begins"]).all()
    per_patient = stays.groupby("pid")
    later = per_patient.cumcount() > 0
    assert later.any()
    assert (stays["begins"] >= per_patient["ends"].shift(1))[later].all()
    first = stays[~later]["begins"]
    assert first.min() >= pd.Timestamp("2000-01-01")
    assert first.max() < pd.Timestamp("2020-01-02")


def test_parents_without_children_stay_and_the_cap_holds() -> None:
    made = frames(3000)
    counts = made["stays"].groupby("pid").size().reindex(made["patients"]["pid"], fill_value=0)
    assert counts.max() == 3
    assert (counts == 0).any()


@pytest.mark.parametrize(("parents", "spread"), [(1, 0.003), (2, 0.004)])
def test_numbers_of_children_come_out_as_the_model_says_whatever_the_seed(parents: int, spread: float) -> None:
    """Drawn one by one, the share of the childless among 4,096 patients (a ninth) would differ by .005 from seed to seed. The
    more the number depends on, the less even are the draws for each of it; and a release of so few shares out blocks of 512."""
    release = fitted_hospital(private=False, parents=parents)
    shares = []
    for seed in range(12):
        made = sample(release, entities=4096, seed=seed)
        assert made is not None
        shares.append(1 - made["stays"]["pid"].nunique() / len(made["patients"]))
    assert 0.05 < np.mean(shares) < 0.3
    assert np.std(shares) < spread


def test_columns_of_entities_come_out_as_the_model_says_whatever_the_seed() -> None:
    """Drawn one by one, the share of women among 4,096 patients would differ by .008 from seed to seed."""
    release = fitted_hospital(private=False)
    made = [sample(release, entities=4096, seed=seed) for seed in range(8)]
    assert np.std([(frame["patients"]["sex"] == "F").mean() for frame in made if frame is not None]) < 0.004


def test_one_way_distributions_approach_the_real_ones_when_epsilon_is_large() -> None:
    real = hospital_rows(patients=300)
    made = frames(4000)
    women = np.mean([row["sex"] == "F" for row in real["patients"]])
    assert abs((made["patients"]["sex"] == "F").mean() - women) < 0.05
    counted = pd.Series([row["pid"] for row in real["stays"]]).value_counts()
    expected = np.minimum(counted.reindex(range(1, 301), fill_value=0), 3).mean()
    got = len(made["stays"]) / 4000
    assert abs(got - expected) < 0.1


def test_same_seed_same_rows_other_seed_other_rows() -> None:
    one, two, three = frames(500, 1), frames(500, 1), frames(500, 2)
    for table in one:
        pd.testing.assert_frame_equal(one[table], two[table])
    assert not one["patients"].equals(three["patients"])


class _CopiesThePreviousWard:
    """A model that looks back: the ward of the row before, or ``a`` (code 0) on the first row."""

    def __init__(self, release: Release) -> None:
        self.inner = release.model("stays.rows")

    def sample(self, history: Codes, rng: np.random.Generator) -> Codes:
        drawn = self.inner.sample(history, rng)
        before = history["stays.ward[-1]"]
        absent = history["stays.free.position"] == 0
        assert (before[absent] == 4).all(), "a row before the first is the last code"
        fresh = history["patients.sex"].astype(np.uint8)
        return Codes(drawn.rows, {**drawn.columns, "ward": np.where(absent, fresh, before).astype(np.uint8)})

    def arrays(self) -> dict[str, np.ndarray]:
        return {}


def test_a_model_sees_the_rows_it_has_just_generated(monkeypatch: pytest.MonkeyPatch) -> None:
    release, load = fitted_hospital(), Release.model
    copier = _CopiesThePreviousWard(release)
    monkeypatch.setattr(Release, "model", lambda self, group: copier if group == "stays.rows" else load(self, group))
    made = frames(400)
    joined = made["stays"].merge(made["patients"], on="pid")
    assert (joined["ward"] == joined["sex"].map({"F": "a", "M": "b"})).all()
