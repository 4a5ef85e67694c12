"""Rows of one parent that stand in no sequence are compared with each other: what one pupil's enrolments share."""

from __future__ import annotations

import json
import re
from functools import cache

import numpy as np
import pandas as pd
import pytest

import mare
from mare.evaluation.evaluation import Evaluation
from mare.evaluation.measured import PairFidelity
from mare.evaluation.verdict import graded, verdict
from mare.schema import Schema
from mare.schema.loading import load_schema
from tests.clinic import Frames
from tests.plain import plainly

PUPILS = """
mare: 1
entity: pupils
tables:
  pupils: {key: pid, columns: {sex: {type: category, values: [f, m]}}}
  years:
    parent: {table: pupils, column: pid, type: independent, max_rows: 6}
    columns:
      school: {type: category, values: [a, b, c, d, e]}
      math: {type: integer, min: 0, max: 100}
  cards:
    parent: {table: pupils, column: pid, max_rows: 1}
    columns: {colour: {type: category, values: [gold, grey]}}
"""


@cache
def schema() -> Schema:
    return load_schema(PUPILS)


def world(seed: int, pupils: int = 800) -> Frames:
    """Each pupil keeps the school and is about as good every year."""
    rng = np.random.default_rng(seed)
    pid = np.repeat(np.arange(pupils), rng.integers(1, 5, pupils))
    school, good = rng.integers(0, 5, pupils), rng.normal(50, 15, pupils)
    years = pd.DataFrame({"pid": pid, "school": np.array(list("abcde"))[school[pid]]})
    years["math"] = np.clip(good[pid] + rng.normal(0, 5, len(pid)), 0, 100).astype(int)
    people = pd.DataFrame({"pid": np.arange(pupils), "sex": rng.choice(["f", "m"], pupils)})
    return {"pupils": people, "years": years, "cards": people[["pid"]].assign(colour=rng.choice(["gold", "grey"], pupils))}


def torn(frames: Frames) -> Frames:
    """The same rows, each with any pupil: what drawing rows one by one makes of them."""
    years = frames["years"]
    rows = years[["school", "math"]].sample(frac=1, random_state=1).reset_index(drop=True)
    return {**frames, "years": rows.assign(pid=years["pid"].to_numpy())}


@cache
def found(how: str) -> Evaluation:
    made = {"kept": world(2), "torn": torn(world(2)), "sorted": by_math(world(2))}[how]
    return mare.evaluate(schema(), world(1), made)


def by_math(frames: Frames) -> Frames:
    return {**frames, "years": frames["years"].sort_values("math")}


def sibling(evaluation: Evaluation, column: str) -> PairFidelity:
    return next(p for p in evaluation.pairs if p.kind == "sibling" and p.column == p.other == column)


def test_rows_of_one_parent_that_nothing_holds_together_are_seen() -> None:
    torn_apart, kept = found("torn"), found("kept")
    assert graded(torn_apart, "sibling")[0] in ("poor", "no better than shuffled columns")
    assert graded(kept, "sibling")[0] == "close"
    assert torn_apart.means["synthetic"]["row"].tvd < 0.1  # the rows themselves are as they should be
    assert sibling(torn_apart, "school").v == pytest.approx(1.0)
    assert sibling(torn_apart, "school").closeness["synthetic"].v < 0.1


def test_the_verdict_the_report_and_the_json_tell() -> None:
    told = plainly(verdict(found("torn")))
    assert "pairs with other rows" in told
    assert "years.school and school of another row of the same parent" in told
    assert re.search(r"years.school is the same in two rows of one parent in (19|20|21)\.\d%, 100.0% in the real rows", told)
    assert "is the same in two rows" not in verdict(found("kept"))
    page = found("torn").to_html()
    assert "What a row has to do with other rows of the same parent is mostly lost" in page
    assert "how often two rows of one parent have the same value" in page.lower()
    document = json.loads(json.dumps(found("torn").to_json()))
    assert document["means"]["synthetic"]["sibling"]["pairs"] == 3
    assert {pair["back"] for pair in document["pairs"] if pair["kind"] == "sibling"} == {-1}
    stuck = next(s for s in document["stickiness"] if s["column"] == "school")
    assert stuck["siblings"]
    assert stuck["same"]["real"] == 1.0


def test_it_does_not_depend_on_the_order_in_which_rows_are_stored() -> None:
    in_order, as_made = (sibling(found(how), "math").closeness["synthetic"] for how in ("sorted", "kept"))
    assert in_order.tvd == pytest.approx(as_made.tvd, abs=0.03)
    assert in_order.v == pytest.approx(as_made.v, abs=0.03)


def test_a_table_of_one_row_each_has_no_such_pairs() -> None:
    assert {pair.table for pair in found("kept").pairs if pair.kind == "sibling"} == {"years"}


def test_what_hardly_any_real_row_has_is_not_compared_and_told() -> None:
    """Three pupils have a second year: nothing can be held against that, and made-up pairs would be off by 1."""
    made = world(2)
    first = world(1)["years"].drop_duplicates("pid")
    real = {**world(1), "years": pd.concat([first, first.head(3)])}
    alone = mare.evaluate(schema(), real, made)
    assert "sibling" not in alone.means["synthetic"]
    assert not any(p.kind == "sibling" for p in alone.pairs)
    assert any(p.kind == "row" and p.table == "years" for p in alone.pairs)
    notes = [note.line() for note in alone.notes]
    assert "real rows: not compared with other rows of the same parent, which fewer than 50 of them have: years" in notes


def test_a_sequence_in_which_hardly_anybody_comes_twice_is_evaluated() -> None:
    sequential = load_schema(PUPILS.replace("type: independent, max_rows: 6", "type: sequential, order_by: math, max_rows: 6"))
    first = world(1)["years"].drop_duplicates("pid")
    alone = mare.evaluate(sequential, {**world(1), "years": pd.concat([first, first.head(3)])}, world(2))
    assert not any(p.kind == "previous" for p in alone.pairs)
    assert alone.transitions
    assert verdict(alone)
