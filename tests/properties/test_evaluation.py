"""Evaluations of random schemas and random, dirty data: none ends in a traceback, nothing is far from itself, and what mare makes
breaks no rule."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from mare.errors import PlanError
from mare.evaluation.evaluate import evaluate
from mare.evaluation.verdict import verdict
from mare.fitting import FitOptions, run_fit
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.sampling import sample
from mare.schema import Schema
from mare.schema.schema import ModelChoice
from tests.conftest import examples
from tests.datasets import dataset
from tests.page_tags import Balanced
from tests.strategies import schemas

SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


@settings(max_examples=examples(12, quick=2), suppress_health_check=SLOW)
@given(schema=schemas(max_tables=5), seed=st.integers(0, 99))
def test_dirty_rows_are_evaluated_and_nothing_is_far_from_itself(schema: Schema, seed: int) -> None:
    real, made = dataset(schema, seed, 12), dataset(schema, seed + 1, 9)
    found = evaluate(schema, real, made, holdout=dataset(schema, seed + 2, 6))
    json.dumps(found.to_json(), allow_nan=False)
    assert verdict(found)
    parser = Balanced()
    parser.feed(found.to_html())
    assert not parser.open
    for pair in found.pairs:
        for close in pair.closeness.values():
            assert 0 <= close.tvd <= 1 + 1e-9
            assert 0 <= close.kl <= 1 + 1e-9
            assert 0 <= close.v <= 1 + 1e-9
    itself = evaluate(schema, real, dataset(schema, seed, 12))
    assert all(pair.closeness["synthetic"].tvd == 0 for pair in itself.pairs)
    assert all(column.tvd["synthetic"] == 0 for column in itself.columns)
    assert any("are the real rows" in warning for warning in itself.warnings)


@settings(max_examples=examples(9, quick=2), suppress_health_check=SLOW)
@given(schema=schemas(max_tables=4), seed=st.integers(0, 99))
def test_what_mare_makes_breaks_no_rule_of_its_schema(schema: Schema, seed: int) -> None:
    schema = schema.model_copy(update={"model": ModelChoice(name="independent")})
    try:
        made = plan(schema, Budget(200.0, 1e-6))
    except PlanError as refused:
        assume("nothing to model" not in str(refused))
        raise
    source = dataset(schema, seed, 12)
    frames = sample(run_fit(made, source, FitOptions(bits=SeededBits(seed))), entities=20, seed=seed)
    assert frames is not None
    found = evaluate(schema, source, frames)
    wrong = [(b.kind, b.where, b.what) for b in found.broken if b.rows["synthetic"] and b.kind not in ("unseen", "beyond")]
    assert wrong == []
