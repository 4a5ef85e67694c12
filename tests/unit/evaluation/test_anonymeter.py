"""The three risks beside those of the package `anonymeter`, on the same people."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mare.evaluation.rates import excess, share
from mare.evaluation.risk.attacks import Attack, Game
from mare.evaluation.risk.three_risks import inference, linkability, singling_out
from mare.evaluation.vectors import Features, joined
from tests.people import people

pytestmark = pytest.mark.slow

KNOWN = ["age", "sex", "ill", "city", "visits"]


def package() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(
            "anonymeter.evaluators", reason="anonymeter asks for a numpy before 2: pip install --no-deps anonymeter joblib"
        )


def frame(features: Features) -> pd.DataFrame:
    return pd.DataFrame(
        {
            feature.name: column if feature.kind == "number" else np.array([f"v{code}" for code in column], object)
            for feature, column in zip(features.columns, features.values, strict=True)
        }
    )


def sides() -> tuple[Features, Features, Features]:
    """A fifth of the synthetic people are copies."""
    real, control = people(400, 1), people(400, 2)
    return real, joined([real.take(np.arange(80)), people(320, 3)]), control


def same(attack: Attack, theirs: Any, *, within: float) -> None:
    for mine, rate in ((attack.success, theirs.attack_rate), (attack.control, theirs.control_rate)):
        assert mine is not None
        assert mine.value == pytest.approx(rate.value, abs=within)


def test_rates_and_risks_are_those_of_the_package() -> None:
    package()
    from anonymeter.stats.confidence import EvaluationResults

    theirs = EvaluationResults(n_attacks=300, n_success=120, n_baseline=30, n_control=70)
    attack, control = share(120, 300), share(70, 300)
    assert attack.value == pytest.approx(theirs.attack_rate.value)
    assert attack.error == pytest.approx(theirs.attack_rate.error)
    mine = excess(attack, control)
    assert (mine.value, mine.lower, mine.upper) == pytest.approx((theirs.risk().value, *theirs.risk().ci))


@pytest.mark.filterwarnings("ignore")
def test_linkability_and_inference_succeed_as_often() -> None:
    evaluators = package()
    real, made, control = sides()
    ori, syn, con = map(frame, (real, made, control))
    linked = evaluators.LinkabilityEvaluator(
        ori, syn, (KNOWN[:3], ["weight", *KNOWN[3:]]), n_attacks=400, n_neighbors=3, control=con
    )
    same(
        linkability(Game(real, made, control), ([0, 1, 2], [3, 4, 5]), neighbours=3),
        linked.evaluate(n_jobs=1).results(),
        within=0.02,
    )
    for secret, column in (("city", 4), ("weight", 3)):
        known = [name for name in ori.columns if name != secret]
        inferred = evaluators.InferenceEvaluator(
            ori, syn, known, secret, regression=secret == "weight", n_attacks=400, control=con
        )
        others = [c for c in range(6) if c != column]
        same(inference(Game(real, made, control), column, others), inferred.evaluate(n_jobs=1).results(), within=0.02)


@pytest.mark.filterwarnings("ignore")
def test_singling_out_succeeds_about_as_often() -> None:
    """Statements are drawn at random on both sides, some 300: two standard deviations of a share are 0.08 at most for both."""
    evaluators = package()
    real, made, control = sides()
    ori, syn, con = map(frame, (real, made, control))
    for columns in (1, 3):
        theirs = evaluators.SinglingOutEvaluator(ori, syn, n_attacks=300, n_cols=columns, control=con)
        found = theirs.evaluate(mode="univariate" if columns == 1 else "multivariate").results()
        same(singling_out(Game(real, made, control), columns=columns, statements=300), found, within=0.1)
