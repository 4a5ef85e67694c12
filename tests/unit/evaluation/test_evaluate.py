"""Whole evaluations: what is broken is found, what is odd is said, and nothing that a user hands in ends in a traceback."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mare
from mare.errors import MareError
from mare.evaluation.evaluation import Evaluation
from mare.evaluation.measured import Broken, BrokenKind
from mare.evaluation.risk.assess import Risk
from mare.evaluation.verdict import verdict
from mare.schema.loading import load_schema
from tests.clinic import CLINIC, Frames, changed, clinic, clinic_schema

REAL, MADE = clinic(120, 1), clinic(100, 2, first=5000)


def held_against(made: Frames, real: Frames = REAL, **options: Any) -> Evaluation:
    found = mare.evaluate(clinic_schema(), real, made, **options)
    json.dumps(found.to_json(), allow_nan=False)
    assert verdict(found).startswith("Evaluation (internal, not private")
    return found


def broken(found: Evaluation, kind: BrokenKind, where: str) -> Broken | None:
    return next((b for b in found.broken if (b.kind, b.where) == (kind, where)), None)


def rows(found: Evaluation, kind: BrokenKind, where: str) -> int:
    held = broken(found, kind, where)
    return 0 if held is None else held.rows["synthetic"]


def test_a_sound_database_breaks_nothing() -> None:
    found = held_against(MADE)
    assert [b for b in found.broken if b.kind not in ("unseen", "beyond") and any(b.rows.values())] == []
    assert found.warnings == ()
    assert "No rule of the schema is broken" in verdict(found)
    assert found.copied_entities["synthetic"] == 0


def test_rules_of_the_schema_are_checked_one_by_one() -> None:
    def people(f: pd.DataFrame) -> pd.DataFrame:
        f.loc[0, "age"] = 120
        f.loc[1:2, "sex"] = "X"
        f.loc[3, "sex"] = None
        f.loc[5, "pid"] = f.loc[4, "pid"]
        return f

    def stays(f: pd.DataFrame) -> pd.DataFrame:
        f.loc[0, "ends"] = f.loc[0, "begins"] - pd.Timedelta(days=1)
        second = f.index[f.groupby("pid").cumcount() == 1][1]
        first = f.index[f["pid"] == f.loc[second, "pid"]][0]
        f.loc[second, "begins"] = f.loc[first, "begins"] + pd.Timedelta(seconds=1)  # before the first one ended
        f.loc[f.index[-1], "pid"] = 1
        return f

    made = changed(changed(MADE, "patients", people), "stays", stays)
    found = held_against(changed(made, "takes", lambda f: f.assign(drug=[9, 9, *f["drug"][2:]])))
    assert rows(found, "domain", "patients.age") == 1
    assert rows(found, "domain", "patients.sex") == 2
    assert rows(found, "null", "patients.sex") == 1
    assert rows(found, "key", "patients(pid)") == 1
    assert rows(found, "order", "stays.ends") == 1
    assert rows(found, "order", "stays.begins") == 1
    assert rows(found, "reference", "takes.via") == 2
    assert rows(found, "reference", "stays.parent") >= 1
    assert rows(found, "unseen", "patients.sex") == 2
    assert rows(found, "beyond", "patients.age") >= 1
    told = verdict(found)
    assert re.search(r"patients.sex is none of the declared values +2 of", told)


def test_caps_endings_and_shared_values() -> None:
    schema = load_schema(
        """
mare: 1
entity: p
tables:
  p: {key: id, columns: {x: {type: category, values: [a]}}}
  c:
    parent: {table: p, column: id, type: sequential, order_by: day, max_rows: 3}
    ends: {when: "event = 'death'"}
    columns:
      day: {type: integer, min: 0, max: 99}
      event: {type: category, values: [visit, death]}
      language: {type: category, values: [k, l], same_for: entity}
"""
    )
    people = pd.DataFrame({"id": [1, 2], "x": ["a", "a"]})
    sound = pd.DataFrame({"id": [1, 1, 2], "day": [1, 2, 1], "event": ["visit", "death", "visit"], "language": ["k", "k", "l"]})
    odd = pd.DataFrame(
        {
            "id": [1, 1, 1, 2, 2, 2, 2],
            "day": [1, 2, 3, 1, 2, 3, 4],
            "event": ["visit", "death", "visit", "visit", "visit", "visit", "visit"],
            "language": ["k", "l", "k", "l", "l", "l", "l"],
        }
    )
    found = mare.evaluate(schema, {"p": people, "c": sound}, {"p": people, "c": odd})
    assert rows(found, "ending", "c") == 1
    assert rows(found, "same", "c.language") == 1
    assert rows(found, "cap", "c.parent") == 1


def test_real_and_synthetic_the_same_is_said() -> None:
    found = held_against(REAL)
    assert "the synthetic rows are the real rows" in found.warnings[0]
    assert all(
        p.closeness["synthetic"].tvd == 0 and p.closeness["synthetic"].kl == pytest.approx(1, abs=0.1) for p in found.pairs
    )
    assert all(c.tvd["synthetic"] == 0 and c.shape["synthetic"] == 1 for c in found.columns)
    assert found.copied_entities["synthetic"] > 50
    assert {c.table: c.share["synthetic"] for c in found.copies}["patients"] == 1
    shuffled = {name: frame.sample(frac=1, random_state=0) for name, frame in REAL.items()}
    assert held_against(shuffled).warnings == found.warnings


def test_a_holdout_that_shares_entities_is_said_loudly() -> None:
    found = held_against(MADE, holdout=clinic(90, 4, first=100))  # 100 to 120 are real ones
    assert any("shares 21 of its 90 entities" in warning for warning in found.warnings)
    assert "WARNING: the hold-out shares 21" in verdict(found)
    apart = held_against(MADE, holdout=clinic(90, 4, first=9000))
    assert apart.warnings == ()


def test_nobody_who_is_among_the_real_people_is_taken_for_an_outsider() -> None:
    """Or copies would be as near to those outside as to those inside, and nothing would be called a leak."""
    found = held_against(REAL, holdout=dict(REAL), risk=True)
    assert "  ~ Risk: without a hold-out" in verdict(found)
    same = found.parts["risk"]
    assert isinstance(same, Risk)
    assert "without a hold-out" in next(same.words())
    assert "nobody in the hold-out is an outsider" in same.notes
    mixed = {name: pd.concat([REAL[name], frame]) for name, frame in clinic(90, 4, first=9000).items() if name != "drugs"}
    partly = held_against(REAL, holdout={**mixed, "drugs": REAL["drugs"]}, risk=True).parts["risk"]
    assert isinstance(partly, Risk)
    assert partly.leaks


def test_columns_that_a_side_lacks_or_cannot_be_read_are_said_first() -> None:
    found = held_against(changed(MADE, "patients", lambda f: f.drop(columns="age").assign(weight="heavy")))
    assert found.warnings == (
        "columns of the synthetic rows are not there, and count as NULL: patients.age",
        "columns of the synthetic rows hold nothing that can be read as the schema says, and count as NULL: patients.weight",
    )


def test_copied_entities_show_beside_a_holdout() -> None:
    leaked = {name: pd.concat([MADE[name], REAL[name].head(60)]) for name in ("patients", "stays", "takes")}
    found = held_against({**leaked, "drugs": REAL["drugs"]}, holdout=clinic(90, 4, first=9000))
    assert found.copied_entities["synthetic"] >= 5
    assert found.copied_entities["holdout"] == 0


def test_a_table_that_a_side_lacks_or_that_is_empty_is_named() -> None:
    without = {name: frame for name, frame in MADE.items() if name != "takes"}
    found = held_against(without)
    assert any("the table 'takes' of the synthetic rows is not there" in warning for warning in found.warnings)
    assert next(c for c in found.columns if c.name == "dose").tvd["synthetic"] == 1
    empty = held_against(changed(MADE, "takes", lambda f: f.head(0)))
    assert any("the table 'takes' of the synthetic rows is empty" in warning for warning in empty.warnings)
    lacking = held_against(MADE, changed(REAL, "takes", lambda f: f.head(0)))
    assert any("the table 'takes' of the real rows is empty" in warning for warning in lacking.warnings)


def test_types_that_differ_are_read_as_the_schema_says_or_named() -> None:
    texts = changed(MADE, "patients", lambda f: f.astype({"age": str}))
    assert held_against(texts).one_way == held_against(MADE).one_way
    words = changed(MADE, "patients", lambda f: f.assign(age="unknown"))
    found = held_against(words)
    assert any("patients.age" in note.line() for note in found.notes)
    assert next(c for c in found.columns if c.name == "age").tvd["synthetic"] == 1


def test_a_side_without_a_single_row_of_the_schema_is_refused_in_words() -> None:
    with pytest.raises(MareError, match="is not one row"):
        mare.evaluate(clinic_schema(), REAL, {"something": pd.DataFrame({"a": [1]})})


def test_columns_that_are_constant_or_all_null_and_ten_thousand_categories() -> None:
    schema = load_schema(CLINIC.replace("values: [a, b, c]", "learn: true, max_values: 10000"))
    rng = np.random.default_rng(0)

    def odd(frames: Frames) -> Frames:
        many = changed(frames, "stays", lambda f: f.assign(ward=[f"ward {n}" for n in rng.integers(0, 10_000, len(f))]))
        return changed(many, "patients", lambda f: f.assign(weight=np.nan, age=50))

    found = mare.evaluate(schema, odd(REAL), odd(MADE))
    ward = next(c for c in found.columns if c.name == "ward")
    assert len(ward.labels) == 42
    assert ward.counts["synthetic"].sum() == len(MADE["stays"])
    constant = next(p for p in found.pairs if (p.table, p.column, p.other) == ("patients", "age", "weight"))
    assert (constant.v, constant.closeness["synthetic"].tvd, constant.correlation) == (0, 0, None)
    json.dumps(found.to_json(), allow_nan=False)


def test_worse_data_looks_worse() -> None:
    real, good = clinic(800, 1), clinic(800, 2)
    apart = changed(good, "patients", lambda f: f.assign(age=np.random.default_rng(0).permutation(f["age"])))
    found = [mare.evaluate(clinic_schema(), real, made) for made in (good, apart)]
    pairs = [next(p for p in f.pairs if (p.column, p.other, p.kind) == ("age", "weight", "row")) for f in found]
    assert pairs[1].excess > pairs[0].excess + 0.1
    assert found[1].worst_pairs(1)[0].name == "patients.age and weight"


def test_the_same_seed_gives_the_same_figures() -> None:
    assert held_against(MADE, seed=3).to_json() == held_against(MADE, seed=3).to_json()


def test_a_seed_that_is_none_and_a_schema_that_is_none_are_refused() -> None:
    with pytest.raises(MareError, match="the seed is -1"):
        mare.evaluate(clinic_schema(), REAL, MADE, seed=-1)
    with pytest.raises(MareError, match="the seed is -1"):
        mare.split(clinic_schema(), REAL, ({}, {}), seed=-1)
    with pytest.raises(MareError, match="schema is a int"):
        mare.evaluate(3, REAL, MADE)  # type: ignore[arg-type]
