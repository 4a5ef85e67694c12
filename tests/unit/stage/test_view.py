"""Views of a staged hospital: a lag is the previous row of the same sequence, a history column joined upwards is a column."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from mare.codec import evenly
from mare.domain import Axis, Coarsening, Marginal
from mare.errors import InternalError
from mare.fitting.noisy_sizes import Sizes
from mare.fitting.settling import open_codecs, settle
from mare.planning.planning import plan
from mare.privacy.budget import Budget
from mare.release import SettledGroup
from mare.schema.loading import load_schema
from mare.stage import Staged, StagedView, needs, stage
from tests.memory_source import HOSPITAL, MemorySource, hospital_rows

SCHEMA = (
    HOSPITAL
    + """
  notes:
    parent: {table: stays, column: sid, max_rows: 4}
    columns: {kind: {type: category, values: [x, y]}}
"""
)
TYPES = {
    "patients": {"pid": pa.int64(), "sex": pa.string(), "age": pa.int64()},
    "stays": {"sid": pa.int64(), "pid": pa.int64(), "ward": pa.string()} | dict.fromkeys(("begins", "ends"), pa.timestamp("us")),
    "notes": {"sid": pa.int64(), "kind": pa.string()},
}
CAP = 1000


@contextmanager
def encoded(folder: Path) -> Iterator[tuple[Staged, dict[str, SettledGroup]]]:
    made = plan(load_schema(SCHEMA), Budget(1.0, 1e-9))
    rows = hospital_rows()
    rng = np.random.default_rng(3)
    rows["notes"] = [
        {"sid": stay["sid"], "kind": "xy"[int(rng.integers(2))]} for stay in rows["stays"] for _ in range(rng.integers(0, 5))
    ]
    tables = needs(made.schema, [planned.group for planned in made.groups])
    coded = {name: evenly(codec) for name, codec in open_codecs(made, tables).items()}
    sizes = Sizes(40, {table.name: 40.0 for table in tables}, {table.name: table.parent for table in tables})
    settled = settle(made, tables, coded, sizes)
    with stage(MemorySource.of(rows, TYPES), tables, b"k" * 32, folder=folder) as staged:
        for table in tables:
            staged.encode(table.name, coded[table.name])
        yield staged, {group.name: group for group in settled.groups}


def view_of(staged: Staged, group: SettledGroup, **levels: tuple[Coarsening, ...]) -> StagedView:
    return staged.view(group.group, group.columns, group.history, CAP, levels)


def test_an_axis_that_looks_back_is_the_history_column_that_does(tmp_path: Path) -> None:
    with encoded(tmp_path) as (staged, groups):
        checked = 0
        for group in groups.values():
            view = view_of(staged, group)
            own = [h for h in group.group.history if (h.table, h.part) == (group.group.table, group.group.part) and h.lag]
            assert view.memory == max((h.lag for h in own), default=0)
            for h in own:
                by_axis, by_column = view.counts([Marginal((Axis(h.name, lag=h.lag),)), Marginal.of(str(h))])
                np.testing.assert_array_equal(by_axis, by_column)
                assert by_axis[:-1].any()
                assert by_axis[-1] > 0
                checked += 1
        assert view_of(staged, groups["stays.rows"]).memory == view_of(staged, groups["notes.context"]).memory == 2
        assert checked >= 8


def test_the_first_rows_of_a_view_are_those_without_a_row_before(tmp_path: Path) -> None:
    with encoded(tmp_path) as (staged, groups):
        group = groups["stays.rows"]
        view = replace(view_of(staged, group), most_sequences=1)
        first = view.beginnings()
        before = next(str(h) for h in group.group.history if h.name == "ward" and h.lag == 1)
        both, alone = view.counts([Marginal.of(before, "ward")])[0], first.counts([Marginal.of("ward")])[0]
        np.testing.assert_array_equal(both[-1], alone)
        assert both[:-1].any()
        assert (first.memory, first.max_rows_per_entity, first.largest_entity()) == (0, 1, 1)
        with pytest.raises(InternalError, match="no sequences"):
            view_of(staged, groups["patients.rows"]).beginnings()


def test_first_rows_cost_as_many_as_an_entity_may_have_sequences(tmp_path: Path) -> None:
    """S of first rows is what was promised, and never more than S of all rows: an entity has a first row in each of its lists."""
    with encoded(tmp_path) as (staged, groups):
        view = replace(view_of(staged, groups["stays.rows"]), position=staged.tables["stays"].position)
        for most, rows in ((3, 3), (CAP + 1, CAP)):
            assert replace(view, most_sequences=most).beginnings().max_rows_per_entity == rows
        with pytest.raises(InternalError, match="no sequences"):
            replace(view, most_sequences=None).beginnings()


def test_rows_of_a_staged_view_are_sorted_by_entity_and_add_up(tmp_path: Path) -> None:
    with encoded(tmp_path) as (staged, groups):
        for group in groups.values():
            view = view_of(staged, group)
            assert (np.diff(view.owner) >= 0).all()
            rows = view.rows_per_entity()
            assert (len(rows), rows.sum(), rows.max()) == (view.entities(), len(view.owner), view.largest_entity())
            name = next(iter(view.domain))
            norms, (table,) = view.squared_norms([Marginal.of(name)]), view.counts([Marginal.of(name)])
            assert ((rows <= norms) & (norms <= rows * rows)).all()
            assert table.sum() == rows.sum()


def test_a_view_counts_levels_and_weights(tmp_path: Path) -> None:
    with encoded(tmp_path) as (staged, groups):
        halves = Coarsening(np.array([0, 0, 1, 1]), 2)
        view = view_of(staged, groups["stays.rows"], ward=(halves,))
        fine, coarse = view.counts([Marginal.of("ward"), Marginal((Axis("ward", level=1),))])
        assert coarse.tolist() == [fine[:2].sum(), fine[2:].sum()]
        weights = np.arange(view.entities(), dtype=np.int64)
        (weighted,) = view.counts([Marginal.of("ward")], weights)
        assert weighted.sum() == weights @ view.rows_per_entity()


def test_a_column_is_gathered_once(tmp_path: Path) -> None:
    with encoded(tmp_path) as (staged, groups):
        view = view_of(staged, groups["stays.rows"])
        assert view._codes("patients.sex") is view._codes("patients.sex")


def test_a_column_that_a_view_does_not_have_is_a_bug(tmp_path: Path) -> None:
    with encoded(tmp_path) as (staged, _):
        view = staged.rows_view("sizes", "stays", "patients", (0, 1))
        with pytest.raises(InternalError, match="no column 'sex'"):
            view._codes("sex")
