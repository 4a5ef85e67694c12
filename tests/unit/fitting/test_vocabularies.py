"""Public tables and their keys: read whole, refused when they are not what the plan reckons with, chosen with budget."""

from __future__ import annotations

from typing import NoReturn

import numpy as np
import pyarrow as pa
import pytest

from mare.codec import LearnedValues
from mare.errors import PlanError, SourceError
from mare.fitting import FitOptions, run_fit
from mare.fitting.vocabularies import read_public
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.release import Release
from mare.schema.loading import load_schema
from tests.memory_source import MemorySource

PLENTY = Budget(1e6, 1e-6)
CODES = [f"{chapter}{number}" for chapter in "ABC" for number in range(6)]

SCHEMA = """
mare: 1
entity: people
model: independent
tables:
  people:
    key: pid
    columns:
      icd: {type: code, vocabulary: d_icd, max_values: 6, hierarchy: {columns: [chapter]}, nullable: true}
      few: {type: code, vocabulary: d_few, max_values: 6}
      own: {type: code, values: [X10, X11, X20, Y10, Y20, Y30, Z90], max_values: 4, hierarchy: {prefix: [1]}}
    references:
      unit: {kind: public, table: wards, learn: true, max_values: 5}
  gives:
    parent:
      {table: people, column: pid, type: associative, via: drugs, column_via: drug, max_rows: 3,
       vocabulary: {select: 2, rest: drop}}
  d_icd: {public: true, key: code, rows: 18, ignore_columns: [secret]}
  d_few: {public: true, key: code, rows: 3}
  wards: {public: true, key: unit, rows: 40}
  drugs: {public: true, key: drug, rows: 5}
"""


def tables() -> dict[str, pa.Table]:
    rng = np.random.default_rng(1)
    people, gives = [], []
    for pid in range(600):
        chapter = "A" if pid % 3 else "B"
        icd = None if pid % 10 == 0 else str(rng.choice([f"{chapter}0", f"{chapter}1", "C5", "?"], p=[0.6, 0.3, 0.05, 0.05]))
        own = str(rng.choice(["X10", "Y10", "Y20"], p=[0.5, 0.4, 0.1]))
        people.append({"pid": pid, "icd": icd, "few": "f1", "own": own, "unit": int(rng.choice([3, 7]))})
        gives += [{"pid": pid, "drug": key} for key in ({4, 1} if pid % 2 else {1, 0} if pid % 5 == 0 else {1})]
    return {
        "people": pa.Table.from_pylist(people),
        "gives": pa.Table.from_pylist(gives),
        "d_icd": pa.table({"code": CODES[::-1], "chapter": [code[0] for code in CODES[::-1]], "secret": ["s"] * 18}),
        "d_few": pa.table({"code": ["f1", "f2"]}),
        "wards": pa.table({"unit": list(range(40))}),
        "drugs": pa.table({"drug": list(range(5))}),
    }


@pytest.fixture(scope="module")
def release() -> Release:
    return run_fit(plan(load_schema(SCHEMA), PLENTY), MemorySource(tables()), FitOptions(bits=SeededBits(1)))


def learned(release: Release, name: str) -> LearnedValues:
    found = release.plan.learned[name]
    assert isinstance(found, LearnedValues)
    return found


def test_of_a_large_vocabulary_the_codes_that_occur_are_kept_and_the_others_share_a_place(release: Release) -> None:
    icd = learned(release, "people.icd")
    assert set(icd.values) == {"A0", "A1", "B0", "B1", "C5"}
    assert [set(group) for group in icd.shared] == [set(CODES) - set(icd.values)]
    # each value and each group is known by its chapter
    assert icd.levels == (tuple(place[0] for place in (*icd.values, *(group[0] for group in icd.shared))),)


def test_a_vocabulary_that_fits_is_taken_whole_and_costs_nothing(release: Release) -> None:
    assert learned(release, "people.few").values == ("f1", "f2")
    assert not any(charge.view == "people.few" for charge in release.ledger.charges)


def test_codes_that_are_listed_are_counted_level_by_level(release: Release) -> None:
    own = learned(release, "people.own")
    assert own.values == ("X10", "Y10", "Y20")
    assert [set(group) for group in own.shared] == [{"X11", "X20", "Y30", "Z90"}]
    assert sum(charge.view == "people.own" for charge in release.ledger.charges) == 2


def test_keys_of_an_association_are_chosen_by_how_many_have_them(release: Release) -> None:
    drugs = [release.public["drugs"].rows["drug"][place].as_py() for place in release.plan.chosen["gives"]]
    assert drugs == [1, 4]


def test_of_a_learned_reference_only_keys_that_stand_clear_of_the_noise_stay(release: Release) -> None:
    wards = [release.public["wards"].rows["unit"][place].as_py() for place in release.plan.chosen["people.unit"]]
    assert wards == [3, 7]


def test_where_nobody_refers_to_anything_a_few_keys_stay() -> None:
    """Something has to be there to refer to, though it be noise; one key alone would look like knowledge."""
    empty = tables() | {"people": tables()["people"].slice(0, 0), "gives": tables()["gives"].slice(0, 0)}
    made = plan(load_schema(SCHEMA), PLENTY)
    release = run_fit(made, MemorySource(empty), FitOptions(bits=SeededBits(1)))
    assert len(release.plan.chosen["people.unit"]) == 5  # as many as the schema keeps at most
    assert len(release.plan.chosen["gives"]) == 2


def test_public_tables_are_read_whole_but_for_what_is_left_out() -> None:
    source = MemorySource(tables())
    found = read_public(load_schema(SCHEMA), source, source.reflect())
    assert found["d_icd"].rows.column_names == ["chapter", "code"]  # by name, too
    assert found["d_icd"].rows["code"].to_pylist() == CODES  # in one order, whatever the source's was
    assert set(found) == {"d_icd", "d_few", "wards", "drugs"}


def test_a_public_table_that_is_missing_is_named_with_those_that_are_there() -> None:
    source = MemorySource({name: table for name, table in tables().items() if name != "drugs"})
    with pytest.raises(SourceError, match=r"no table 'drugs'. It has: people, gives, d_icd"):
        read_public(load_schema(SCHEMA), source, source.reflect())


def test_public_tables_larger_than_the_plan_reckons_with_are_refused_all_at_once() -> None:
    large = tables() | {"drugs": pa.table({"drug": list(range(9))}), "wards": pa.table({"unit": list(range(41))})}
    source = MemorySource(large)
    with pytest.raises(PlanError, match="plan again") as refused:
        read_public(load_schema(SCHEMA), source, source.reflect())
    assert "tables.drugs.rows: the public table has 9 rows, the schema says 5" in str(refused.value)
    assert "tables.wards.rows: the public table has 41 rows, the schema says 40" in str(refused.value)


def test_an_empty_public_table_keeps_its_columns() -> None:
    source = MemorySource(tables() | {"drugs": pa.table({"drug": pa.array([], pa.int64())})})
    assert read_public(load_schema(SCHEMA), source, source.reflect())["drugs"].rows.column_names == ["drug"]


def test_an_association_without_a_key_to_be_made_of_is_refused_before_anything_is_paid() -> None:
    source, paid = MemorySource(tables() | {"drugs": pa.table({"drug": pa.array([], pa.int64())})}), list[Budget]()

    def reserve(budget: Budget, unit: str) -> NoReturn:
        paid.append(budget)
        raise AssertionError("the budget was taken")

    with pytest.raises(SourceError, match="'drugs' is empty, and 'gives' is made of its keys"):
        run_fit(plan(load_schema(SCHEMA), PLENTY), source, FitOptions(reserve=reserve))
    assert not paid
