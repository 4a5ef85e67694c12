"""What the schema promises of the rows of a sequence, an entity and a text, where the models alone would not see to it."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from functools import cache
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mare.domain import RowDraws, numbered_keys, smallest_dtype
from mare.fitting import FitOptions, run_fit
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.relational.filling import Fresh
from mare.relational.placing import NOWHERE
from mare.relational.relations import previous_of_item
from mare.release import Release
from mare.sampling import SampleOptions, sample, start
from mare.sampling.generation import beyond_the_entity
from mare.sampling.possible_codes import LastOfItem
from mare.sampling.storing import fresh_values
from mare.schema.loading import load_schema
from mare.schema.reflection import ReflectedColumn
from tests.datasets import dataset
from tests.integrity import faults
from tests.memory_source import MemorySource

ORDERED = """
mare: 1
entity: people
model: independent
tables:
  people: {key: pid, columns: {born: {type: date, min: 2000-01-01, max: 2005-12-31}}}
  plain:
    key: id1
    parent: {table: people, column: pid, type: sequential, order_by: [day, clock, rank], max_rows: 9}
    columns:
      day: {type: integer, min: 0, max: 2}
      clock: {type: time, min: "08:00", max: "09:00", resolution: hour, nullable: true}
      rank: {type: integer, min: 0, max: 99}
      memo: {type: text}
  notes:
    parent: {table: plain, column: id1, max_rows: 3, max_per_entity: 4}
    columns: {kind: {type: category, values: [a, b]}}
  relative:
    key: id2
    parent: {table: people, column: pid, type: sequential, order_by: [at, rank], max_rows: 9}
    columns:
      at: {type: date, after: previous.at, within: 1d, first: {after: parent.born, within: 9d}}
      rank: {type: integer, min: 0, max: 99}
      weight: {type: integer, min: 0, max: 99}
"""


@cache
def fitted() -> Release:
    schema = load_schema(ORDERED)
    source = dataset(schema, 1, 60)
    tables = {t.name: pa.Table.from_batches(source.read(t.name, [c.name for c in t.columns])) for t in source.reflect()}
    rows = tables["relative"].to_pandas()
    # Half of the rows are on the day of the row before.
    rows["at"] = [date(2003, 1, 1) + timedelta(days=n // 2) for n in rows.groupby("pid", dropna=False).cumcount()]
    source = MemorySource({**tables, "relative": pa.Table.from_pandas(rows, schema=tables["relative"].schema)})
    return run_fit(plan(schema, Budget(200.0, 1e-6)), source, FitOptions(bits=SeededBits(1)))


@cache
def frames() -> dict[str, pd.DataFrame]:
    found = sample(fitted(), entities=400, seed=2)
    assert found is not None
    return found


def test_rows_come_in_the_order_of_all_columns_that_order_them() -> None:
    assert faults(fitted().schema, frames()) == []
    for table, columns in (("plain", ["day", "clock", "rank"]), ("relative", ["at", "rank"])):
        ties = 0
        for _, rows in frames()[table].groupby("pid", sort=False):
            whole = rows.dropna(subset=columns)
            assert whole[columns].to_numpy().tolist() == whole.sort_values(columns, kind="stable")[columns].to_numpy().tolist()
            ties += int(whole.duplicated(columns[0]).sum())
        assert ties > 20, "without ties nothing was tested"


def test_an_entity_has_no_more_rows_than_it_may() -> None:
    whose = dict(zip(frames()["plain"]["id1"], frames()["plain"]["pid"], strict=True))
    assert frames()["notes"]["id1"].map(whose).value_counts().max() == 4


def test_of_too_many_lists_whole_ones_go_and_the_others_stay() -> None:
    counts, entity = np.array([3, 3, 3, 5, 0, 9]), np.array([0, 0, 0, 1, 1, 2])
    draws = RowDraws(numbered_keys(1, np.arange(6)), 2)
    gone = beyond_the_entity(counts, entity, 6, draws)
    assert gone.tolist()[3:] == [False, False, True]
    assert gone[:3].sum() == 1
    picked = {tuple(beyond_the_entity(counts, entity, 6, RowDraws(numbered_keys(k, np.arange(6)), 2))[:3]) for k in range(40)}
    assert len(picked) == 3, "any of them may go"


@pytest.mark.parametrize(("kind", "instead"), [("json", "{}"), ("uuid", "00000000-0000-0000-0000-000000000000"), ("string", "")])
def test_a_text_that_may_not_be_null_is_one_that_its_type_takes(kind: str, instead: str) -> None:
    release = fitted()
    tables = tuple(
        replace(t, columns=tuple(replace(c, kind=kind) if c.name == "memo" else c for c in t.columns)) for t in release.tables
    )
    found = [batch["plain"] for batch in start(replace(release, tables=tables), SampleOptions(20)).batches()]
    assert set(found[0]["memo"].to_pylist()) == {instead}


def test_orphans_are_told_of() -> None:
    schema = load_schema(ORDERED.replace("max_per_entity: 4}", "max_per_entity: 4, orphans: entity}"))
    release = run_fit(plan(schema, Budget(200.0, 1e-6)), dataset(schema, 1, 60), FitOptions(bits=SeededBits(1)))
    (note,) = start(release).notes
    assert note.startswith("notes: every row that comes out has a parent. Rows without one took part in the fit")
    assert start(fitted()).notes == ()


@pytest.mark.parametrize("most", [1 << 24, 0])
def test_the_previous_row_of_the_same_item_is_found_either_way(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LastOfItem, "MOST", most)
    rng = np.random.default_rng(4)
    counts = rng.integers(0, 9, size=50)
    parent = np.repeat(np.arange(50), counts)
    position = np.arange(len(parent)) - (np.cumsum(counts) - counts)[parent]
    items = tuple(rng.integers(0, size, size=len(parent)).astype(smallest_dtype(size)) for size in (3, 2))
    last, found = LastOfItem(50, (3, 2)), np.full(len(parent), NOWHERE)
    for step in range(9):
        rows = np.flatnonzero(position == step)
        found[rows] = last.step(parent, position, items, rows)
    assert found.tolist() == previous_of_item(parent, list(items)).tolist()
    assert (found >= 0).any()


@pytest.mark.parametrize("pattern", ["P{n:08d}", "P{n}", "{n:5d}-x", "{n:,}", "a{{b}}{n:03d}", "{n:d}"])
def test_patterns_are_written_as_python_writes_them(pattern: str) -> None:
    numbers = np.array([0, 7, 123456])
    made = fresh_values(Fresh("pattern", 1, pattern), ReflectedColumn("x", "string"), numbers, 1)
    assert made.to_pylist() == [pattern.format(n=n + 1) for n in (0, 7, 123456)]


def test_uuids_are_of_version_four_and_hang_on_the_number_and_the_seed() -> None:
    column, numbers = ReflectedColumn("x", "uuid"), np.arange(1000)
    made = fresh_values(Fresh(), column, numbers, 1).to_pylist()
    assert all(UUID(text).version == 4 and str(UUID(text)) == text for text in made)
    assert len(set(made)) == 1000
    assert fresh_values(Fresh(), column, numbers[500:], 1).to_pylist() == made[500:]
    assert not set(fresh_values(Fresh(), column, numbers, 2).to_pylist()) & set(made)
