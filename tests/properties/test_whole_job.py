"""The whole job on random schemas and random, dirty data: whatever comes out is a sound database."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from mare.errors import PlanError, SourceError
from mare.fitting import FitOptions, run_fit
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.release import Release
from mare.sampling import SampleOptions, sample, start
from mare.schema import Schema
from mare.schema.schema import ModelChoice
from tests.conftest import examples
from tests.datasets import dataset
from tests.integrity import Frames, faults
from tests.relations import givable
from tests.strategies import schemas

PLENTY = Budget(200.0, 1e-6)


def with_model(schema: Schema, model: str) -> Schema:
    return schema.model_copy(update={"model": ModelChoice(name=model)})


def fitted(schema: Schema, seed: int, entities: int) -> Release:
    try:
        made = plan(schema, PLENTY)
    except PlanError as refused:
        assume("nothing to model" not in str(refused))
        raise
    return run_fit(made, dataset(schema, seed, entities), FitOptions(bits=SeededBits(seed)))


def whole_job(schema: Schema, seed: int, entities: int) -> Frames:
    frames = sample(fitted(schema, seed, entities), entities=2 * entities, seed=seed)
    assert frames is not None
    return frames


def rows(release: Release, options: SampleOptions) -> dict[str, list[dict[str, object]]]:
    found: dict[str, list[dict[str, object]]] = {}
    for some in start(release, options).batches():
        for table, batch in some.items():
            found.setdefault(table, []).extend(batch.to_pylist())
    return found


@settings(
    max_examples=examples(45, quick=6), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(schema=schemas(), seed=st.integers(0, 1000), entities=st.integers(0, 25))
def test_every_reference_key_and_order_holds(schema: Schema, seed: int, entities: int) -> None:
    assert faults(schema, whole_job(with_model(schema, "independent"), seed, entities)) == []


@settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(schema=schemas(), seed=st.integers(0, 1000), entities=st.integers(0, 25))
def test_they_hold_with_a_model_that_looks_around(schema: Schema, seed: int, entities: int) -> None:
    assert faults(schema, whole_job(with_model(schema, "privbayes"), seed, entities)) == []


@settings(
    max_examples=examples(20, quick=4), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(schema=schemas(), seed=st.integers(0, 1000), entities=st.integers(0, 25), chunk=st.integers(1, 9))
def test_chunks_and_threads_change_nothing(schema: Schema, seed: int, entities: int, chunk: int) -> None:
    release = fitted(with_model(schema, "independent"), seed, entities)
    whole = rows(release, SampleOptions(2 * entities, seed, threads=1))
    assert rows(release, SampleOptions(2 * entities, seed, threads=2, chunk=chunk)) == whole


@settings(
    max_examples=examples(20, quick=4), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(schema=schemas(), seed=st.integers(0, 1000), entities=st.integers(0, 25), data=st.data())
def test_they_hold_below_rows_that_were_given(schema: Schema, seed: int, entities: int, data: st.DataObject) -> None:
    release = fitted(with_model(schema, "independent"), seed, entities)
    frames = sample(release, entities=entities, seed=seed)
    assert frames is not None
    possible = givable(schema)
    given_back = {table: frames[table] for table in possible[: data.draw(st.integers(1, len(possible)))]}
    try:
        after = sample(release, given=given_back, seed=seed + 1)
    except SourceError as refused:
        assume("which are not: their keys could clash" not in " ".join(str(refused).split()))
        assume("which is not given" not in str(refused))
        raise
    assert after is not None
    assert faults(schema, after) == []
    for table, frame in given_back.items():
        columns = list(frame.columns)
        one, two = (f[columns].astype(str).sort_values(columns).to_numpy().tolist() for f in (frame, after[table]))
        assert one == two


@pytest.mark.parametrize("seed", range(3))
def test_the_checker_sees_what_is_wrong(seed: int) -> None:
    """The test above can fail: each kind of damage is found."""
    schema = Schema.model_validate(
        {
            "mare": 1,
            "entity": "people",
            "model": "independent",
            "tables": {
                "people": {"key": "pid", "columns": {"born": {"type": "date", "min": "2000-01-01", "max": "2020-12-31"}}},
                "stays": {
                    "key": "sid",
                    "parent": {"table": "people", "column": "pid", "type": "sequential", "order_by": "at", "max_rows": 3},
                    "columns": {"at": {"type": "date", "after": "parent.born", "within": "30d"}},
                },
            },
        }
    )
    frames = whole_job(schema, seed, 20)
    assert faults(schema, frames) == []
    damages = {
        "repeats": frames["stays"].assign(sid=1),
        "no parent": frames["stays"].assign(pid=-1),
        "is before": frames["stays"].assign(at=frames["people"]["born"].min()),
        "is NULL": frames["stays"].assign(at=None),
        "at most": frames["stays"].assign(pid=frames["people"]["pid"][0]),
    }
    for says, stays in damages.items():
        assert any(says in fault for fault in faults(schema, {**frames, "stays": stays})), says
