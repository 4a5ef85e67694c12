"""Keys that references are part of: rows that come out alike are drawn again or go, and no reference leads astray for that."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mare.fitting import FitOptions, run_fit
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.relational.relations import Stepped
from mare.release import Release
from mare.sampling import sample
from mare.sampling.possible_codes import step_targets, steps_that_stay
from mare.schema import Schema
from mare.schema.loading import load_schema
from tests.datasets import dataset
from tests.integrity import faults
from tests.memory_source import MemorySource

_PEOPLE = """
mare: 1
entity: people
model: independent
tables:
  people: {key: pid, columns: {sex: {type: category, values: [F, M]}}}
"""
_STAYS = """
  stays:
    key: sid
    parent: {table: people, column: pid, type: sequential, order_by: n, max_rows: 3}
    columns: {n: {type: integer, min: 0, max: 9}}
"""
SCHEMAS = {
    "a row of the same entity, by position": _PEOPLE
    + _STAYS
    + """
  labs:
    key: [pid, sid]
    parent: {table: people, column: pid, max_rows: 4}
    references: {stay: {kind: same_entity, table: stays, columns: sid}}
    columns: {value: {type: integer, min: 0, max: 5}}
""",
    "the same, which may be NULL": _PEOPLE
    + _STAYS
    + """
  labs:
    key: lid
    unique: [[pid, sid]]
    parent: {table: people, column: pid, max_rows: 4}
    references: {stay: {kind: same_entity, table: stays, columns: sid, nullable: true}}
    columns: {value: {type: integer, min: 0, max: 5}}
""",
    "an earlier row": _PEOPLE
    + """
  stays:
    key: sid
    unique: [[pid, after_sid]]
    parent: {table: people, column: pid, type: sequential, order_by: n, max_rows: 8}
    references: {after_sid: {kind: earlier, table: stays, back: 5, itself: true}}
    columns: {n: {type: integer, min: 0, max: 9}}
""",
    "a public key, with earlier rows beside it": _PEOPLE
    + """
  drugs: {public: true, key: drug_id, rows: 6}
  takes:
    key: tid
    unique: [[pid, drug_id]]
    parent: {table: people, column: pid, type: sequential, order_by: n, max_rows: 6}
    references:
      drug_id: {kind: public, table: drugs}
      after_id: {kind: earlier, table: takes, back: 5, nullable: true}
      episode: {kind: earlier, table: takes, back: 5, itself: true}
    columns: {n: {type: integer, min: 0, max: 9}}
""",
}


@cache
def fitted(name: str, epsilon: float) -> Release:
    schema = load_schema(SCHEMAS[name])
    return run_fit(plan(schema, Budget(epsilon, 1e-6)), dataset(schema, 1, 60), FitOptions(bits=SeededBits(1)))


@pytest.mark.parametrize("epsilon", [1.0, pytest.param(500.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", SCHEMAS)
def test_keys_hold_and_references_stay_at_home(name: str, epsilon: float) -> None:
    release = fitted(name, epsilon)
    made = sample(release, entities=300, seed=1)
    assert made is not None
    assert faults(release.schema, made) == []
    assert min(len(frame) for table, frame in made.items() if table != "drugs") > 50


def chained(text: str, drugs: int = 6) -> tuple[Schema, MemorySource]:
    """People with five rows each, every one of which follows the one before it; the first, itself."""
    rng, rows = np.random.default_rng(1), list[dict[str, object]]()
    for number in range(1000):
        first, before = number - number % 5, max(number - 1, number - number % 5)
        rows.append({"sid": number, "pid": number // 5, "after_sid": before, "first_sid": first, "n": number % 5})
        rows[-1]["drug_id"] = int(rng.integers(drugs)) if rng.random() < 0.2 else 0
    schema = load_schema(_PEOPLE + text)
    tables = {
        "people": pa.table({"pid": range(200), "sex": ["F"] * 200}),
        "stays": pa.Table.from_pylist(rows),
        "drugs": pa.table({"drug_id": range(drugs)}),
    }
    return schema, MemorySource(tables)


def drawn(text: str, drugs: int = 6) -> dict[str, pd.DataFrame]:
    schema, source = chained(text, drugs)
    release = run_fit(plan(schema, Budget(2000.0, 1e-6)), source, FitOptions(bits=SeededBits(1)))
    made = sample(release, entities=200, seed=1)
    assert made is not None
    assert faults(schema, made) == []
    return made


def test_a_chain_whose_links_are_unique_is_no_reason_to_drop_rows() -> None:
    """Every row refers to the one before it: each to another one, although each is one step back."""
    made = drawn(
        """
  stays:
    key: sid
    unique: [[pid, after_sid]]
    parent: {table: people, column: pid, type: sequential, order_by: n, max_rows: 5}
    references: {after_sid: {kind: earlier, table: stays, back: 1, nullable: true}}
    columns: {n: {type: integer, min: 0, max: 9}}
"""
    )
    stays = made["stays"]
    assert len(stays) > 900
    assert (stays["after_sid"] == stays["sid"] - 1).mean() > 0.5


@pytest.mark.parametrize("drugs", [3, 6])
def test_rows_that_go_take_nobody_elses_place(drugs: int) -> None:
    """Nearly everybody has the same drug, and may have it once: others get what is left. Of three drugs nobody has five: rows
    go, and what followed them follows what stays."""
    made = drawn(
        f"""
  drugs: {{public: true, key: drug_id, rows: {drugs}}}
  stays:
    key: sid
    unique: [[pid, drug_id]]
    parent: {{table: people, column: pid, type: sequential, order_by: n, max_rows: 5}}
    references:
      drug_id: {{kind: public, table: drugs}}
      after_sid: {{kind: earlier, table: stays, back: 4, nullable: true}}
      first_sid: {{kind: earlier, table: stays, back: 4, itself: true}}
    columns: {{n: {{type: integer, min: 0, max: 9}}}}
""",
        drugs,
    )
    stays = made["stays"]
    assert len(stays) == 200 * min(drugs, 5)
    assert stays["after_sid"].notna().mean() > 0.2


@pytest.mark.parametrize(("nullable", "itself"), [(True, False), (True, True), (False, True)])
def test_steps_lead_where_they_led_once_rows_are_gone(nullable: bool, itself: bool) -> None:
    says = Stepped(back=3, itself=itself, nullable=nullable)
    # One sequence of six rows. Each leads back by its code + 1; the last two, nowhere or to themselves.
    codes = np.array([3, 0, 1, 2, 3, says.size - 1], dtype=np.uint8)
    before = step_targets(codes, says, np.arange(6))
    kept = np.array([0, 2, 3, 5])
    after = step_targets(steps_that_stay(codes, says, kept), says, np.arange(4))
    for new, old in enumerate(kept.tolist()):
        wanted = before[old]
        if wanted < 0:
            assert after[new] < 0
        elif wanted in kept:
            assert kept[after[new]] == wanted
        else:
            assert after[new] == (-1 if nullable else new)


def test_a_value_that_is_missing_is_like_no_other() -> None:
    """As databases have it: rows without the value stay, however many they are."""
    schema = load_schema(
        _PEOPLE
        + """
  notes:
    key: nid
    unique: [[pid, kind], [pid, at]]
    parent: {table: people, column: pid, max_rows: 6}
    columns:
      kind: {type: category, values: [a, b, c, d, e, f], nullable: true}
      at: {type: date, min: 2100-01-01, max: 2100-02-01, bins: 3, nullable: true}
"""
    )
    notes = [{"nid": n, "pid": n // 6, "kind": "a" if n % 6 == 0 else None, "at": None} for n in range(600)]
    kinds = pa.schema({"nid": pa.int64(), "pid": pa.int64(), "kind": pa.string(), "at": pa.date32()})
    people = pa.table({"pid": range(100), "sex": ["F"] * 100})
    source = MemorySource({"people": people, "notes": pa.Table.from_pylist(notes, schema=kinds)})
    release = run_fit(plan(schema, Budget(2000.0, 1e-6)), source, FitOptions(bits=SeededBits(1)))
    made = sample(release, entities=100, seed=1)
    assert made is not None
    assert faults(schema, made) == []
    assert len(made["notes"]) > 580
    assert made["notes"]["kind"].isna().mean() > 0.7
