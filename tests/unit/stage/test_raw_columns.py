"""A column without a domain, as SQL over the staged table: clamped, told apart from nothing, named inside the entity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from mare.domain import Marginal
from mare.errors import InternalError
from mare.fitting.settling import open_codecs
from mare.graph.pdag import column_groups
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.privacy.curator import Gate
from mare.privacy.ledger import Ledger
from mare.privacy.tape import Recorder, Replayer
from mare.schema.loading import load_schema
from mare.stage import StagedColumn, needs, stage
from mare.stage.raw_columns import differences
from tests.memory_source import MemorySource

SCHEMA = """
mare: 1
entity: p
tables:
  p: {key: id, columns: {sex: {type: category, values: [F, M]}}}
  visits:
    key: k
    parent: {table: p, column: p_id, type: independent, max_rows: 4}
    columns:
      ward: {type: category, learn: true, nullable: true}
      dose: {type: number, learn: true, nullable: true}
      n: {type: integer, min: 0, max: 9, nullable: true}
      day: {type: date, min: 1969-01-01, max: 1999-01-01, nullable: true}
      time: {type: datetime, min: 1969-01-01, max: 1999-01-01, nullable: true}
"""
TYPES = {
    "p": {"id": pa.int64(), "sex": pa.string()},
    "visits": {
        "k": pa.int64(),
        "p_id": pa.int64(),
        "ward": pa.string(),
        "dose": pa.float64(),
        "n": pa.int64(),
        "day": pa.date32(),
        "time": pa.timestamp("us"),
    },
}
Row = dict[str, object]


@contextmanager
def staged_column(column: str, rows: list[Row], folder: Path, people: Sequence[int] = range(1, 5)) -> Iterator[StagedColumn]:
    schema = load_schema(SCHEMA)
    empty: Row = dict.fromkeys(TYPES["visits"])
    source = MemorySource.of(
        {
            "p": [{"id": i, "sex": "F"} for i in people],
            "visits": [{**empty, "k": k, **row} for k, row in enumerate(rows)],
        },
        TYPES,
    )
    with stage(source, needs(schema, column_groups(schema)), b"k" * 32, folder=folder) as staged:
        yield StagedColumn(staged, "visits", column, 4)


def test_a_list_of_values_has_no_numbers_only_rows(tmp_path: Path) -> None:
    with staged_column("ward", [{"p_id": 1, "ward": text} for text in ("2", "x", None)], tmp_path) as column:
        view = column.binned((0.0, 1.0), "cell")
        assert (view.name, view.max_rows_per_entity, view.entities()) == ("visits.ward", 4, 4)
        (table,) = view.counts([Marginal.of("cell")])
        assert list(table) == [0, 3]


def test_a_column_that_is_not_staged_is_a_bug(tmp_path: Path) -> None:
    with staged_column("k", [], tmp_path) as column, pytest.raises(InternalError, match="not staged"):
        column.keys(1, b"")


def test_an_entity_names_each_of_its_values_once(tmp_path: Path) -> None:
    rows = [{"p_id": 1, "ward": ward} for ward in ("a", "a", "b", None)] + [{"p_id": 2, "ward": "a"}, {"p_id": 3, "ward": ""}]
    with staged_column("ward", rows, tmp_path) as column:
        assert column.keys(9, b"key") == {2: {"a": 1, "b": 1}, 1: {"a": 1, "": 1}}
        (named,) = column.keys(1, b"key").values()
        assert sum(named.values()) == 3
        assert named.get("b", 0) + named["a"] == 2


def test_which_values_it_names_hangs_on_the_key_and_not_on_others(tmp_path: Path) -> None:
    mine = [{"p_id": 1, "ward": ward} for ward in "abcd"]
    others = [{"p_id": p, "ward": "other"} for p in (2, 3, 4)]
    alone, company, other_keys = set(), set(), set()
    with staged_column("ward", mine, tmp_path) as column:
        alone = set(column.keys(1, b"key")[1])
        other_keys = {value for key in range(30) for value in column.keys(1, bytes([key]))[1]}
    with staged_column("ward", mine + others, tmp_path) as column:
        company = set(column.keys(1, b"key")[1]) - {"other"}
    assert alone == company
    assert other_keys == set("abcd")


def test_the_tape_audit_passes_over_a_staged_column(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    rows: list[Row] = [
        {"p_id": p, "ward": str(rng.choice(list("abc"))), "n": int(rng.integers(0, 10))}
        for p in range(1, 41)
        for _ in range(p % 5)
    ]
    rows += [{"p_id": 4, "ward": "mine", "n": -77}]
    budget = Budget(2.0, 1e-6)

    def learn(gate: Gate, ward: StagedColumn) -> object:
        categories = gate.learner(ward, 0.5, 1.0).categories(per_entity=2)
        return categories.values, categories.counts.tolist()

    recorder = Recorder()
    with staged_column("ward", rows, tmp_path, people=range(1, 41)) as column:
        first = learn(Gate(budget, Ledger(budget, "one patient"), SeededBits(1), recorder), column)
    for gone in (4, 9):
        replayer = Replayer(recorder.record)
        neighbours = [row for row in rows if row["p_id"] != gone][::-1]
        with staged_column("ward", neighbours, tmp_path, people=[p for p in range(1, 41) if p != gone]) as column:
            assert learn(Gate(budget, Ledger(budget, "one patient"), SeededBits(2), replayer), column) == first
        replayer.finish()


NEAR = """
mare: 1
entity: p
tables:
  p: {key: id, columns: {x: {type: category, values: [a, b]}}}
  weighed:
    parent: {table: p, column: up, type: sequential, order_by: n, max_rows: 9, orphans: entity}
    columns:
      n: {type: integer, min: 0, max: 9, bins: 2}
      before: {type: integer, min: 0, max: 999, nullable: true}
      after: {type: integer, min: 0, max: 999, nullable: true}
"""


def test_differences_are_of_two_numbers_of_one_row_or_of_rows_that_follow_under_one_parent(tmp_path: Path) -> None:
    """What is missing is no number, nobody's first row follows another's last, and no middle of all is taken off."""
    weights = {1: [(70, 69), (75, None), (None, 500), (72, 60)], 2: [(50, 51)], 3: [(900, None), (990, 980)]}
    rows = [{"up": p, "n": n, "before": b, "after": a} for p, own in weights.items() for n, (b, a) in enumerate(own)]
    rows.append({"up": 4711, "n": 0, "before": 7, "after": 5})
    whole = pa.int64()
    source = MemorySource.of(
        {"p": [{"id": p, "x": "a"} for p in weights], "weighed": rows},
        {"p": {"id": whole, "x": pa.string()}, "weighed": dict.fromkeys(("up", "n", "before", "after"), whole)},
    )
    made = plan(load_schema(NEAR), Budget(1.0, 1e-9))
    tables = needs(made.schema, [planned.group for planned in made.groups])
    coded = open_codecs(made, tables)
    with stage(source, tables, b"k" * 32, folder=tmp_path) as staged:
        for table in tables:
            staged.read(table.name, coded[table.name])
        changed = differences(staged, "weighed", "before", None, coded["weighed"], 9)
        beside = differences(staged, "weighed", "before", "after", coded["weighed"], 9)
        entity_of = {int(w): int(e) for w, e in zip(staged.tables["p"].row, staged.tables["p"].entity, strict=True) if w >= 0}
    told = {entity_of[0]: ([5], [1, 12]), entity_of[1]: ([], [-1]), entity_of[2]: ([90], [10])}
    told[staged.entities - 1] = ([], [2])
    for entity in range(staged.entities):
        held = [column.ticks[column.owner == entity].tolist() for column in (changed, beside)]
        assert held == list(told[entity]), entity
