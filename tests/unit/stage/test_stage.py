"""The stage: who owns what, what is cut, in which order; and that nothing of it stays behind."""

from __future__ import annotations

import stat
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from mare.domain import Marginal
from mare.errors import SourceError
from mare.graph.pdag import column_groups
from mare.schema.loading import load_schema
from mare.stage import Cuts, Staged, needs, stage
from mare.stage.staged import ROWS
from tests.memory_source import MemorySource, Rows

SCHEMA = """
mare: 1
entity: p
tables:
  p: {{key: id, columns: {{sex: {{type: category, values: [F, M]}}}}}}
  "or""der's":
    key: k
    parent: {{table: p, column: p_id, type: {kind}, {order}max_rows: 3, keep: {keep}}}
    columns:
      n: {{type: integer, min: 0, max: 99}}
"""
CHILD = "or\"der's"
TYPES = {
    "p": {"id": pa.int64(), "sex": pa.string()},
    CHILD: {"k": pa.int64(), "p_id": pa.int64(), "n": pa.int64()},
}
KEY = b"k" * 32


def schema(keep: str = "last", kind: str = "sequential"):
    text = SCHEMA.format(keep=keep, kind=kind, order="order_by: n, " if kind == "sequential" else "")
    return load_schema(text.replace('"or""der\'s"', "'or\"der''s'"))


def source(children: list[tuple[int | None, int | None]], patients: int = 4) -> MemorySource:
    """Children as (parent, n)."""
    people = [{"id": i, "sex": "F"} for i in range(1, patients + 1)]
    rows = [{"k": k, "p_id": parent, "n": n} for k, (parent, n) in enumerate(children)]
    return MemorySource.of({"p": people, CHILD: rows}, TYPES)


def staged_values(staged: Staged) -> dict[int, list[object]]:
    """Per place of the parent, the kept values of ``n`` in order."""
    table = staged.tables[CHILD]
    values = staged.values(CHILD)["n"].to_pylist()
    kept: dict[int, list[object]] = {}
    for parent, value in zip(table.parent.tolist(), values, strict=True):
        kept.setdefault(parent, []).append(value)
    return kept


def run(described, reader: MemorySource, folder: Path, key: bytes = KEY):
    return stage(reader, needs(described, column_groups(described)), key, folder=folder)


def test_last_rows_by_order_stay(tmp_path: Path) -> None:
    with run(schema("last"), source([(1, n) for n in (5, 3, 9, 1, 7)]), tmp_path) as staged:
        assert list(staged_values(staged).values()) == [[5, 7, 9]]


def test_first_rows_by_order_stay(tmp_path: Path) -> None:
    with run(schema("first"), source([(1, n) for n in (5, 3, 9, 1, 7)]), tmp_path) as staged:
        assert list(staged_values(staged).values()) == [[1, 3, 5]]


def test_random_rows_hang_on_the_key_and_not_on_other_entities(tmp_path: Path) -> None:
    mine = [(1, n) for n in range(20)]
    kept = {}
    for name, others, key in (
        ("alone", [], KEY),
        ("in company", [(2, n) for n in range(20)], KEY),
        ("other key", [], b"x" * 32),
    ):
        with run(schema("random", "independent"), source(mine + others), tmp_path, key) as staged:
            table = staged.tables[CHILD]
            place = int(table.parent[0]) if name != "in company" else None
            values = staged_values(staged)
            kept[name] = Counter(values[place]) if place is not None else [Counter(v) for v in values.values()]
    assert kept["alone"] in kept["in company"]
    assert kept["alone"] != kept["other key"]


def test_random_rows_lean_to_no_value(tmp_path: Path) -> None:
    """Four rows of each parent, three stay: each value goes as often as any other. (Where a hash ends in an exclusive or with
    the last column, one value goes four times as often as another, whatever the key.)"""
    parents, values = 2000, (1, 2, 3, 4)
    children = [(parent, n) for parent in range(1, parents + 1) for n in values]
    with run(schema("random", "independent"), source(children, parents), tmp_path) as staged:
        kept = Counter(n for rows in staged_values(staged).values() for n in rows)
    expected, deviation = parents * 3 / 4, (parents * 3 / 16) ** 0.5
    assert all(abs(kept[n] - expected) < 4 * deviation for n in values), kept


def test_ties_in_the_order_are_broken_the_same_way_whatever_the_source_order(tmp_path: Path) -> None:
    rows = [(1, 4)] * 6 + [(1, 2)] * 3
    kept = []
    for order in (1, -1):
        people = [{"id": 1, "sex": "F"}]
        children = [{"k": k, "p_id": parent, "n": n} for k, (parent, n) in enumerate(rows)][::order]
        described = schema("last")
        with run(described, MemorySource.of({"p": people, CHILD: children}, TYPES), tmp_path) as staged:
            table = staged.tables[CHILD]
            hashes = staged.connection.sql(f"SELECT h FROM {table.raw}").fetchnumpy()["h"]
            kept.append(hashes[table.row].tolist())
    assert kept[0] == kept[1]


def test_numbers_that_a_file_holds_as_text_order_as_numbers(tmp_path: Path) -> None:
    described = load_schema(
        """
mare: 1
entity: p
tables:
  p: {key: id, columns: {sex: {type: category, values: [F, M]}}}
  visits:
    parent: {table: p, column: p_id, type: sequential, order_by: number, max_rows: 9}
    columns: {number: {type: identifier}, n: {type: integer, min: 0, max: 99}}
"""
    )
    types = {"p": TYPES["p"], "visits": {"p_id": pa.int64(), "number": pa.string(), "n": pa.int64()}}
    numbers = [("10", 10), ("9", 9), ("x", 99), (None, 0), ("007", 7), ("100", 100), ("1", 1)]
    visits = [{"p_id": 1, "number": number, "n": n} for number, n in numbers]
    with run(described, MemorySource.of({"p": [{"id": 1, "sex": "F"}], "visits": visits}, types), tmp_path) as staged:
        assert staged.values("visits")["n"].to_pylist() == [0, 1, 7, 9, 10, 100, 99]


@pytest.mark.parametrize(
    "event", ["type: identifier", "type: category, learn: true", "type: category, values: [month_3, month_12]"]
)
def test_numbers_within_texts_order_as_numbers(tmp_path: Path, event: str) -> None:
    """A REDCap export names its events: month_12 comes after month_3."""
    described = load_schema(
        f"""
mare: 1
entity: p
tables:
  p: {{key: id, columns: {{sex: {{type: category, values: [F, M]}}}}}}
  visits:
    parent: {{table: p, column: p_id, type: sequential, order_by: event, max_rows: 9}}
    columns: {{event: {{{event}}}, n: {{type: integer, min: 0, max: 99}}}}
"""
    )
    types = {"p": TYPES["p"], "visits": {"p_id": pa.int64(), "event": pa.string(), "n": pa.int64()}}
    events = [
        ("month_12", 12),
        ("month_3", 3),
        ("baseline", 0),
        ("month_100_arm_1", 98),
        ("month_0024", 24),
        ("month_12_day_2", 13),
    ]
    visits = [{"p_id": 1, "event": event, "n": n} for event, n in [*events, ("month_12_day_10", 14)]]
    with run(described, MemorySource.of({"p": [{"id": 1, "sex": "F"}], "visits": visits}, types), tmp_path) as staged:
        assert staged.values("visits")["n"].to_pylist() == [0, 3, 12, 13, 14, 24, 98]


def test_rows_without_a_parent_are_dropped_and_told(tmp_path: Path) -> None:
    with run(schema(), source([(1, 1), (None, 2), (99, 3), (2, 4)]), tmp_path) as staged:
        assert sorted(v for values in staged_values(staged).values() for v in values) == [1, 4]
        assert staged.notes.orphans == {CHILD: 2}


def test_entities_are_told_by_how_many_rows_they_have(tmp_path: Path) -> None:
    with run(schema(), source([(1, 1), (1, 2), (3, 4)]), tmp_path) as staged:
        view = staged.rows_view("sizes", CHILD, "p", (0, 1, 2))
        (counts,) = view.counts([Marginal.of(ROWS)])
        assert counts.tolist() == [2, 1, 1]
        assert view.rows_per_entity().tolist() == [1, 1, 1, 1]  # each in one cell, whatever the caps allow
        assert staged.entities == 4


def test_an_empty_table_is_staged(tmp_path: Path) -> None:
    with run(schema(), source([]), tmp_path) as staged:
        assert staged.tables[CHILD].counts.tolist() == [0, 0, 0, 0]


def test_a_key_that_is_not_unique_is_refused_without_telling_it(tmp_path: Path) -> None:
    people = [{"id": 4711, "sex": "F"}, {"id": 4711, "sex": "M"}]
    reader = MemorySource.of({"p": people, CHILD: []}, TYPES)
    with pytest.raises(SourceError, match="not unique") as caught, run(schema(), reader, tmp_path):
        pass
    assert "4711" not in str(caught.value)


def test_rows_below_a_key_that_two_share_are_there_for_each_and_nobody_is_refused(tmp_path: Path) -> None:
    described = load_schema(
        """
mare: 1
entity: p
tables:
  p: {key: id, columns: {sex: {type: category, values: [F, M]}}}
  stays:
    key: stay
    parent: {table: p, column: p_id, type: independent, max_rows: 9}
    columns: {ward: {type: integer, min: 0, max: 9}}
  drugs:
    parent: {table: stays, column: stay, type: independent, max_rows: 9}
    columns: {n: {type: integer, min: 0, max: 99}}
"""
    )
    types = {
        "p": TYPES["p"],
        "stays": {"stay": pa.int64(), "p_id": pa.int64(), "ward": pa.int64()},
        "drugs": {"stay": pa.int64(), "n": pa.int64()},
    }
    rows: Rows = {
        "p": [{"id": 1, "sex": "F"}, {"id": 2, "sex": "M"}],
        "stays": [{"stay": 7, "p_id": 1, "ward": 1}, {"stay": 7, "p_id": 2, "ward": 2}, {"stay": 8, "p_id": 2, "ward": 3}],
        "drugs": [{"stay": 7, "n": 10}, {"stay": 8, "n": 20}],
    }

    def of_the_second(held: Rows) -> list[tuple[object, ...]]:
        with run(described, MemorySource.of(held, types), tmp_path) as staged:
            sexes = staged.values("p")["sex"].to_pylist()
            table, wards = staged.tables["drugs"], staged.values("stays")["ward"].to_pylist()
            found = zip(table.entity, table.parent, staged.values("drugs")["n"].to_pylist(), strict=True)
            assert staged.notes.copies == {"stays": 0, "drugs": 1 if len(held["p"]) == 2 else 0}
            return sorted((wards[parent], n) for entity, parent, n in found if sexes[entity] == "M")

    alone = {**rows, "p": rows["p"][1:], "stays": rows["stays"][1:]}
    assert of_the_second(rows) == of_the_second(alone) == [(2, 10), (3, 20)]


def test_a_key_that_nearly_everybody_shares_is_refused_before_it_is_joined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mare.stage.truncation.FREE_COPIES", 0)
    people = [{"id": n, "sex": "F"} for n in range(40)]
    described = load_schema(KEYLESS)
    types = {
        "p": TYPES["p"],
        "stays": {"number": pa.int64(), "p_id": pa.int64()},
        "drugs": {"number": pa.int64(), "n": pa.int64()},
    }
    stays = [{"number": 1, "p_id": n} for n in range(40)]
    reader = MemorySource.of({"p": people, "stays": stays, "drugs": [{"number": 1, "n": n} for n in range(40)]}, types)
    with pytest.raises(SourceError, match="what number refers to in 'stays' is no key there"), run(described, reader, tmp_path):
        pass


KEYLESS = """
mare: 1
entity: p
tables:
  p: {key: id, columns: {sex: {type: category, values: [F, M]}}}
  stays:
    key: number
    parent: {table: p, column: p_id, type: independent, max_rows: 9}
  drugs:
    parent: {table: stays, column: number, type: independent, max_rows: 9}
    columns: {n: {type: integer, min: 0, max: 99}}
"""


def test_only_needed_columns_are_read(tmp_path: Path) -> None:
    types = {**TYPES, "p": {**TYPES["p"], "name": pa.string()}}
    reader = MemorySource.of({"p": [{"id": 1, "sex": "F", "name": "secret"}], CHILD: []}, types)
    with run(schema(), reader, tmp_path):
        pass
    assert reader.read_columns["p"] == ("id", "sex")


def test_what_memory_cannot_hold_goes_into_a_private_folder_that_goes_away(tmp_path: Path) -> None:
    with run(schema(), source([(1, 1)]), tmp_path) as staged:
        (folder,) = tmp_path.iterdir()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        staged.connection.execute("SET memory_limit = '40MB'")
        staged.connection.execute("CREATE TABLE large AS SELECT uuid() AS a, uuid() AS b, uuid() AS c FROM range(1500000)")
        assert list(folder.rglob("*.tmp"))
    assert not list(tmp_path.iterdir())


def test_the_staging_file_goes_away_after_an_error_too(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), run(schema(), source([(1, 1)]), tmp_path):
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())


def test_no_extension_may_be_loaded_and_no_other_file_read(tmp_path: Path) -> None:
    import duckdb

    other = tmp_path / "other.csv"
    other.write_text("a\n1\n")
    with run(schema(), source([]), tmp_path) as staged:
        asked = "SELECT name, value FROM duckdb_settings() WHERE name LIKE 'auto%_known_extensions'"
        settings = dict(staged.connection.sql(asked).fetchall())
        assert len(settings) == 2
        assert set(settings.values()) == {"false"}
        with pytest.raises(duckdb.Error):
            staged.connection.sql(f"SELECT * FROM '{other}'").fetchall()


def test_an_error_of_the_engine_tells_no_value(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught, run(schema(), source([]), tmp_path) as staged:
        staged.connection.execute("SELECT CAST('secret diagnosis' AS INTEGER)").fetchall()
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert not list(tmp_path.iterdir())


def test_an_interrupt_inside_the_engine_is_an_interrupt(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), run(schema(), source([]), tmp_path):
        raise RuntimeError("Query interrupted")
    assert not list(tmp_path.iterdir())


def test_text_in_a_number_column_is_missing_not_a_crash(tmp_path: Path) -> None:
    types = {**TYPES, CHILD: {**TYPES[CHILD], "n": pa.string()}}
    rows = [{"k": 1, "p_id": 1, "n": "7"}, {"k": 2, "p_id": 1, "n": "seven"}]
    reader = MemorySource.of({"p": [{"id": 1, "sex": "F"}], CHILD: rows}, types)
    with run(schema(), reader, tmp_path) as staged:
        assert list(staged_values(staged).values()) == [[None, 7]]


def test_keys_stored_as_floats_and_as_text_still_match(tmp_path: Path) -> None:
    types = {"p": {**TYPES["p"], "id": pa.string()}, CHILD: {**TYPES[CHILD], "p_id": pa.float64()}}
    reader = MemorySource.of({"p": [{"id": "12", "sex": "F"}], CHILD: [{"k": 1, "p_id": 12.0, "n": 3}]}, types)
    with run(schema(), reader, tmp_path) as staged:
        assert list(staged_values(staged).values()) == [[3]]


GRANDCHILDREN = """
mare: 1
entity: p
tables:
  p: {key: id, columns: {sex: {type: category, values: [F, M]}}}
  c: {key: k, parent: {table: p, column: p_id, max_rows: 4}, columns: {n: {type: integer, min: 0, max: 9}}}
  g: {parent: {table: c, column: c_id, max_rows: 3, max_per_entity: 5}, columns: {m: {type: integer, min: 0, max: 99}}}
"""


def test_truncation_cascades_and_a_cap_per_entity_drops_whole_lists(tmp_path: Path) -> None:
    described = load_schema(GRANDCHILDREN)
    types = {
        "p": TYPES["p"],
        "c": {"k": pa.int64(), "p_id": pa.int64(), "n": pa.int64()},
        "g": {"c_id": pa.int64(), "m": pa.int64()},
    }
    rows = {
        "p": [{"id": i, "sex": "F"} for i in (1, 2)],
        "c": [{"k": 10 * i + j, "p_id": i, "n": j} for i in (1, 2) for j in range(8)],
        "g": [{"c_id": 10 * i + j, "m": m} for i in (1, 2) for j in range(8) for m in range(5)],
    }
    with run(described, MemorySource.of(rows, types), tmp_path) as staged:
        children, grand = staged.tables["c"], staged.tables["g"]
        assert children.counts.tolist() == [4, 4]
        assert staged.notes.orphans == {"c": 0, "g": 0}
        assert staged.notes.truncated == {"c": Cuts(max_rows=8), "g": Cuts(max_rows=16, max_per_entity=18, above=40)}
        assert np.bincount(grand.entity).tolist() == [3, 3]
        # A list that stays is whole: three rows, or none at all.
        assert set(grand.counts.tolist()) == {0, 3}
        assert np.array_equal(children.entity[grand.parent], grand.entity)


def test_rows_of_a_sequence_that_its_order_leaves_equal_stand_by_their_key() -> None:
    """Entries of one day were made one after the other: from an order by chance a model would learn chance."""
    described = load_schema(
        """
        mare: 1
        entity: p
        tables:
          p: {key: id, columns: {sex: {type: category, values: [F, M]}}}
          c:
            key: k
            parent: {table: p, column: p_id, type: sequential, order_by: day, max_rows: 9, keep: last}
            columns: {day: {type: integer, min: 0, max: 9}, n: {type: integer, min: 0, max: 99}}
        """
    )
    keys = [30, 7, 100, 2, 55, 9, 81, 12, 64]
    rows = [{"k": key, "p_id": 1, "day": int(key > 60), "n": key % 97} for key in keys]
    types = {"p": TYPES["p"], "c": dict.fromkeys(("k", "p_id", "day", "n"), pa.int64())}
    reader = MemorySource.of({"p": [{"id": 1, "sex": "F"}], "c": rows}, types)
    with stage(reader, needs(described, column_groups(described)), KEY) as staged:
        assert staged.values("c")["n"].to_pylist() == [key % 97 for key in sorted(keys)]
