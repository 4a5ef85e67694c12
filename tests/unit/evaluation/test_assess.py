"""All attacks and all of utility on whole databases: a planted leak is seen, other people are none, odd data is no obstacle."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
import pandas as pd
import pytest

from mare.evaluation.learners import learners
from mare.evaluation.risk.assess import Risk, assess_risk
from mare.evaluation.sides import Side, read_side
from mare.evaluation.utility.assess import assess_utility
from mare.evaluation.utility.queries import asked_on_both
from mare.schema.loading import load_schema

pytest.importorskip("sklearn")

SCHEMA = load_schema("""
mare: 1
entity: patients
tables:
  patients:
    key: pid
    columns:
      sex: {type: category, values: [F, M], nullable: true}
      code: {type: category, learn: true}
      age: {type: number, min: 0, max: 120, nullable: true}
  visits:
    key: vid
    parent: {table: patients, column: pid, max_rows: 5}
    columns:
      ward: {type: category, values: [x, y, z], nullable: true}
      cost: {type: number, min: 0, max: 1000, nullable: true}
""")

Frames = dict[str, pd.DataFrame]


def hospital(patients: int, seed: int) -> Frames:
    rng = np.random.default_rng(seed)
    owner = rng.integers(0, max(patients, 1), 3 * patients)
    sex = rng.choice(["F", "M"], patients)
    return {
        "patients": pd.DataFrame(
            {
                "pid": np.arange(patients),
                "sex": sex,
                "code": rng.choice(list("abcdef"), patients),
                "age": rng.normal(60, 9, patients),
            }
        ),
        "visits": pd.DataFrame(
            {
                "vid": np.arange(3 * patients),
                "pid": owner,
                "ward": np.where(rng.random(3 * patients) < 0.7, np.where(sex[owner] == "F", "x", "y"), "z"),
                "cost": rng.gamma(2, 50, 3 * patients),
            }
        ),
    }


def side(frames: Mapping[str, pd.DataFrame]) -> Side:
    return read_side(SCHEMA, dict(frames))


@pytest.fixture(autouse=True, scope="module")
def few() -> Iterator[None]:
    """Classifiers are tried by tests of their own: one will do here, and fewer repeats."""
    quick = {"naive Bayes": learners(0)["naive Bayes"]}
    with pytest.MonkeyPatch.context() as monkeypatch:
        for room in ("mare.evaluation.risk.by_key", "mare.evaluation.utility.train_and_test"):
            monkeypatch.setattr(f"{room}.learners", lambda seed: quick)
        monkeypatch.setattr("mare.evaluation.risk.three_risks.TRIES", 600)
        for repeats in ("TABLES", "STATEMENTS", "RESAMPLED"):
            monkeypatch.setattr(f"mare.evaluation.utility.nist.{repeats}", 12)
        yield


@pytest.fixture(scope="module")
def risks(few: None) -> tuple[Risk, Risk]:
    """Of a copy, and of other people of the same hospital. One patient has a code of their own."""
    frames = hospital(250, 1)
    frames["patients"].loc[7, "code"] = "rare"
    real, holdout = side(frames), side(hospital(250, 2))
    copied, others = (assess_risk(SCHEMA, real, made, holdout, seed=0) for made in (real, side(hospital(250, 3))))
    return copied, others


def test_copies_are_a_leak_in_every_kind_of_attack_that_can_see_them(risks: tuple[Risk, Risk]) -> None:
    risk, _ = risks
    seen = {attack.kind for attack in risk.leaks}
    assert {"membership", "distance to the closest record", "singling out", "linkability", "inference", "gcap"} <= seen
    told = "\n".join(risk.words())
    assert "attacks show that somebody was in the data" in told
    assert "A LEAK" in told
    assert "internal, not private" in told


def test_other_people_of_the_same_hospital_are_none(risks: tuple[Risk, Risk]) -> None:
    """All of a kind together are wrong one time in 40; there are eight kinds; the seeds are fixed."""
    _, risk = risks
    assert risk.leaks == ()
    assert "no attack shows" in next(risk.words())
    assert json.loads(json.dumps(risk.to_json(), allow_nan=False))["status"].startswith("internal, not private")


def test_a_patient_with_a_code_of_their_own_is_disclosed_by_a_copy_and_not_otherwise(risks: tuple[Risk, Risk]) -> None:
    highest = []
    for risk in risks:
        (attack,) = (attack for attack in risk.attacks if attack.about == "patients.code, uniform prior")
        highest.append(float(str(attack.details["highest posterior of a true value"])))
    assert highest[0] > highest[1] + 0.1


def test_without_a_hold_out_it_is_said_what_cannot_be_said() -> None:
    real = side(hospital(120, 1))
    risk = assess_risk(SCHEMA, real, real, None, seed=0)
    assert risk.leaks == ()
    assert "membership" not in risk.kinds
    assert "without a hold-out" in next(risk.words())
    assert any("Give --holdout" in note for note in risk.notes)
    assert any("whom the generator has seen" in note for note in assess_utility(SCHEMA, real, real, None, seed=0).notes)


def test_utility_stands_between_the_real_rows_and_none() -> None:
    real, holdout = side(hospital(250, 1)), side(hospital(250, 2))
    good = assess_utility(SCHEMA, real, side(hospital(250, 3)), holdout, seed=0)
    assert good.kept_by_classifiers is not None
    assert good.kept_by_classifiers > 0.7  # wards tell sex
    assert {each.given for each in good.learned} == {"own columns", "own columns and rows below"}
    shuffled = hospital(250, 3)
    shuffled["visits"]["pid"] = np.random.default_rng(0).permutation(shuffled["visits"]["pid"])
    poor = assess_utility(SCHEMA, real, side(shuffled), holdout, seed=0)
    assert poor.kept_by_classifiers is not None
    assert poor.kept_by_classifiers < 0.5
    assert good.median_query_error is not None
    assert poor.median_query_error is not None
    assert good.median_query_error < poor.median_query_error
    assert json.loads(json.dumps(good.to_json(), allow_nan=False))["status"].startswith("internal, not private")
    assert "queries over joins" in "\n".join(good.words())


def _odd() -> dict[str, Frames]:
    plain = hospital(40, 1)
    codes = {"patients": plain["patients"].assign(code=[f"c{i * 251}" for i in range(40)]), "visits": plain["visits"]}
    nulls = {"patients": plain["patients"].assign(sex=None, age=np.nan), "visits": plain["visits"].assign(ward=None, cost=np.nan)}
    constant = {
        "patients": plain["patients"].assign(sex="F", code="a", age=1.0),
        "visits": plain["visits"].assign(ward="x", cost=0.0),
    }
    empty = {"patients": plain["patients"], "visits": plain["visits"].head(0)}
    infinite = {"patients": plain["patients"].assign(age=np.inf), "visits": plain["visits"].assign(cost=-np.inf)}
    return {
        "codes": codes,
        "nulls": nulls,
        "infinite": infinite,
        "constant": constant,
        "no visits": empty,
        "one": hospital(1, 2),
        "nobody": hospital(0, 2),
    }


QUICK = ("codes", "nulls", "infinite", "nobody")


@pytest.mark.parametrize("case", [pytest.param(case, marks=[] if case in QUICK else [pytest.mark.slow]) for case in _odd()])
def test_odd_data_on_any_side_is_no_obstacle(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mare.evaluation.utility.assess.asked_on_both", partial(asked_on_both, most=4))
    odd, plain = side(_odd()[case]), side(hospital(40, 5))
    for real, synthetic, holdout in ((odd, plain, plain), (plain, odd, odd), (odd, odd, None)):
        for part in (
            assess_risk(SCHEMA, real, synthetic, holdout, seed=0),
            assess_utility(SCHEMA, real, synthetic, holdout, seed=0),
        ):
            assert json.dumps(part.to_json(), allow_nan=False)
            assert list(part.words())


def test_a_missing_table_is_no_obstacle() -> None:
    plain = side(hospital(40, 1))
    lacking = side({"patients": hospital(40, 2)["patients"].drop(columns="age")})
    assert assess_risk(SCHEMA, plain, lacking, plain, seed=0).attacks
    assert assess_utility(SCHEMA, plain, lacking, plain, seed=0).scores


def test_without_scikit_learn_the_rest_is_measured_and_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from mare.errors import MissingExtra

    def missing(seed: int) -> dict[str, object]:
        raise MissingExtra("classifiers", "evaluate")

    for room in ("mare.evaluation.risk.by_key", "mare.evaluation.utility.train_and_test"):
        monkeypatch.setattr(f"{room}.learners", missing)
    plain = side(hospital(40, 1))
    risk = assess_risk(SCHEMA, plain, plain, plain, seed=0)
    assert "gcap" in risk.kinds
    assert "classifiers" not in risk.kinds
    assert sum("pip install 'mare-synth[evaluate]'" in note for note in risk.notes) == 1
    assert assess_utility(SCHEMA, plain, plain, plain, seed=0).scores
