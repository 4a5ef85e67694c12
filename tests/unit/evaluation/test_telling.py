"""What an evaluation says first is what matters: rare values count, tiny tables and a single culprit do not drown the rest, and
what is alike is told once."""

from __future__ import annotations

import numpy as np
import pandas as pd

import mare
from mare.evaluation.verdict import verdict
from mare.schema.loading import load_schema
from tests.plain import plainly

TOWNS = """
mare: 1
entity: people
tables:
  people:
    key: pid
    columns:
      town: {type: category, learn: true}
      sex: {type: category, values: [f, m]}
"""
Frames = dict[str, pd.DataFrame]


def people(seed: int, towns: int = 400, size: int = 4000) -> Frames:
    """Every town has about as many people as the others."""
    rng = np.random.default_rng(seed)
    town = pd.Series(rng.integers(0, towns, size)).map("t{:03d}".format)
    return {"people": pd.DataFrame({"pid": np.arange(size), "town": town, "sex": rng.choice(["f", "m"], size)})}


def test_values_that_are_rare_are_not_all_alike() -> None:
    """A tenth of the towns, and forty bins: nine in ten rows are `other` on both sides."""
    schema = load_schema(TOWNS)
    towns = {name: mare.evaluate(schema, people(1), people(2, towns=n)) for name, n in (("all", 400), ("few", 100))}
    columns = {name: next(c for c in found.columns if c.name == "town") for name, found in towns.items()}
    assert columns["few"].tvd["synthetic"] < 0.5 < 0.7 < columns["few"].distance["synthetic"]
    assert columns["all"].distance["synthetic"] < columns["all"].chance + 0.05
    said = plainly(verdict(towns["few"]))
    assert "people.town has 100 different values; as many real rows have 399" in said
    assert "people.town has" not in verdict(towns["all"])
    assert "Rare values are missing: people.town has 100" in towns["few"].to_html()
    assert towns["few"].one_way["synthetic"] > towns["all"].one_way["synthetic"] + 0.2


SMALL = """
mare: 1
entity: regions
tables:
  regions:
    key: rid
    columns: {kind: {type: category, values: [a, b]}, size: {type: integer, min: 0, max: 99}}
  people:
    key: pid
    parent: {table: regions, column: rid, max_rows: 999}
    columns: {sex: {type: category, values: [f, m]}, age: {type: integer, min: 0, max: 99}}
"""


def regions(seed: int, few: int = 5) -> Frames:
    rng = np.random.default_rng(seed)
    rows = {"rid": np.arange(few), "kind": rng.choice(["a", "b"], few), "size": rng.integers(0, 99, few)}
    of = np.sort(rng.integers(0, few, 1000))
    folk = {"pid": np.arange(1000), "rid": of, "sex": rng.choice(["f", "m"], 1000), "age": rng.integers(0, 99, 1000)}
    return {"regions": pd.DataFrame(rows), "people": pd.DataFrame(folk)}


def test_a_table_of_five_rows_rules_no_mean_and_is_named() -> None:
    found = mare.evaluate(load_schema(SMALL), regions(1), regions(2))
    assert found.means["synthetic"]["row"].tvd < 0.15
    assert found.means["synthetic"]["row"].pairs == 1
    assert found.one_way["synthetic"] < 0.1
    assert all(pair.table == "people" for pair in found.worst_pairs(99))
    assert all(column.table == "people" for column in found.worst_columns(99))
    assert "Too few real rows (below 50) to be judged, and in no mean: regions" in plainly(verdict(found))
    assert any(pair.table == "regions" for pair in found.pairs)


def test_where_all_tables_are_small_they_are_judged() -> None:
    schema = load_schema(TOWNS)
    found = mare.evaluate(schema, people(1, 3, 30), people(2, 3, 30))
    assert found.small == frozenset()
    assert found.worst_columns(9)


def test_one_column_that_is_off_is_not_all_that_is_told() -> None:
    names = "abcdefgh"
    columns = "\n".join(f"      {name}: {{type: integer, min: 0, max: 9}}" for name in names)
    schema = load_schema(f"mare: 1\nentity: t\ntables:\n  t:\n    key: id\n    columns:\n{columns}\n")

    def rows(seed: int, low: int) -> Frames:
        rng = np.random.default_rng(seed)
        made = pd.DataFrame({name: rng.integers(0, 10, 2000) for name in names}).assign(id=np.arange(2000))
        return {"t": made.assign(a=made.a.clip(lower=low))}

    found = mare.evaluate(schema, rows(1, 0), rows(2, 8))
    assert all("a" in (pair.column, pair.other) for pair in found.worst_pairs(5))
    assert sum("a" in (pair.column, pair.other) for pair in found.telling_pairs(5)) == 2


WIDE = "mare: 1\nentity: t\ntables:\n  t:\n    key: id\n    columns:\n      x: {type: integer, min: 0, max: 9}\n" + "".join(
    f"      c{i}: {{type: integer, min: 0, max: 9}}\n" for i in range(60)
)


def test_what_many_columns_have_in_common_is_one_note() -> None:
    rng = np.random.default_rng(1)
    real = {"t": pd.DataFrame({"id": np.arange(90), "x": rng.integers(0, 9, 90)})}
    wide = {"t": real["t"].assign(**{f"c{i}": ["many"] * 90 for i in range(60)})}
    found = mare.evaluate(load_schema(WIDE), real, wide)
    assert len(found.notes) == 2
    told = [line for line in verdict(found).splitlines() if line.startswith("Note:")]
    assert told[0].startswith("Note: real rows: columns that are not there: t.c0, t.c1, ")
    assert told[0].endswith(" and 52 more")
    assert "t.c59 (90)" in found.notes[1].line()
    assert "t.c59" in found.to_html()
    both = mare.evaluate(load_schema(WIDE), real, {"t": real["t"].assign(x=3)})
    assert [note.whose for note in both.notes] == ["real rows and synthetic rows"]


PAIRED = """
mare: 1
entity: people
tables:
  people:
    key: pid
    columns: {sex: {type: category, values: [f, m]}, age: {type: integer, min: 0, max: 99}}
    references:
      twin: {kind: other_entity, table: people, nullable: true, fill: none}
"""


def test_references_that_are_never_learned_are_named_and_not_judged() -> None:
    """Who is matched with whom comes out NULL by design: pairs along it would be all that is worst, and say nothing."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"pid": np.arange(400), "sex": np.repeat(["f", "m"], 200), "age": rng.integers(0, 99, 400)})
    real = {"people": frame.assign(twin=np.arange(400) ^ 1)}
    found = mare.evaluate(load_schema(PAIRED), real, {"people": frame.assign(twin=None)})
    assert {pair.kind for pair in found.pairs} == {"row"}
    assert [note.names for note in found.notes] == [("people.twin",)]
    assert "never learned" in found.notes[0].what
