"""A split goes between entities: every one of them is whole, on one side."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest

import mare
from mare.errors import MareError
from mare.evaluation.sides import read_side
from tests.clinic import changed, clinic, clinic_schema

WHOLE = clinic(100, 1)


def test_entities_stay_whole_and_every_row_is_somewhere(tmp_path: Path) -> None:
    done = mare.split(clinic_schema(), WHOLE, (tmp_path / "train", tmp_path / "holdout.sqlite"), fraction=0.3, seed=5)
    assert done.entities == (70, 30)
    train, holdout = (read_side(clinic_schema(), tmp_path / name) for name in ("train", "holdout.sqlite"))
    assert train.keys is not None
    assert holdout.keys is not None
    assert set(train.keys.to_pylist()).isdisjoint(holdout.keys.to_pylist())
    for table in ("patients", "stays", "takes"):
        sizes = train.tables[table].num_rows, holdout.tables[table].num_rows
        assert sum(sizes) == len(WHOLE[table])
        assert done.rows[table] == sizes
    assert train.lost["takes.parent"].rows == holdout.lost["takes.parent"].rows == 0
    assert done.rows["drugs"] == (4, 4)


def test_the_seed_decides_who_goes_where() -> None:
    def who(seed: int) -> list[int]:
        first: dict[str, pd.DataFrame] = {}
        second: dict[str, pd.DataFrame] = {}
        mare.split(clinic_schema(), WHOLE, (first, second), seed=seed)
        return sorted(second["patients"]["pid"])

    assert who(1) == who(1)
    assert who(1) != who(2)
    assert len(who(1)) == 20


def test_rows_of_nobody_are_in_neither_and_said() -> None:
    lost = changed(WHOLE, "stays", lambda f: f.assign(pid=[9999, *f["pid"][1:]]))
    first: dict[str, pd.DataFrame] = {}
    second: dict[str, pd.DataFrame] = {}
    done = mare.split(clinic_schema(), lost, (first, second))
    assert done.nobodys["stays"] == 1
    assert len(first["stays"]) + len(second["stays"]) == len(WHOLE["stays"]) - 1


def test_values_come_out_as_they_went_in() -> None:
    first: dict[str, pd.DataFrame] = {}
    second: dict[str, pd.DataFrame] = {}
    mare.split(clinic_schema(), WHOLE, (first, second), fraction=0.5)
    both = pd.concat([first["stays"], second["stays"]]).sort_values("sid").reset_index(drop=True)
    pd.testing.assert_frame_equal(both, WHOLE["stays"].sort_values("sid").reset_index(drop=True), check_dtype=False)


@pytest.mark.parametrize("fraction", [0, 1, -1, 0.001])
def test_a_part_without_an_entity_is_refused(fraction: float) -> None:
    with pytest.raises(MareError):
        mare.split(clinic_schema(), WHOLE, ({}, {}), fraction=fraction)


def test_the_source_is_never_a_target(tmp_path: Path) -> None:
    mare.split(clinic_schema(), WHOLE, (tmp_path / "a", tmp_path / "b"))
    with pytest.raises(MareError):
        mare.split(clinic_schema(), tmp_path / "a", (tmp_path / "a", tmp_path / "c"), replace=True)
    with pytest.raises(MareError, match="Give two targets"):
        mare.split(clinic_schema(), tmp_path / "a", (tmp_path / "c", tmp_path / "c"))
    assert not (tmp_path / "c").exists()


def test_true_rows_are_never_called_synthetic(tmp_path: Path) -> None:
    first, second = tmp_path / "train", tmp_path / "holdout.sqlite"
    mare.split(clinic_schema(), WHOLE, (first, second))
    mark = json.loads((first / ".mare.json").read_text())
    assert mark["synthetic"] is False
    assert "TRUE ROWS" in mark["rows"]
    with closing(sqlite3.connect(second)) as database:
        (made,) = database.execute("SELECT sql FROM sqlite_master WHERE name = 'patients'").fetchone()
    assert "TRUE ROWS [internal, not private]" in made
    assert "synthetic" not in made
    frames: dict[str, pd.DataFrame] = {}
    mare.split(clinic_schema(), WHOLE, (frames, {}))
    assert not any("synthetic" in str(frame.attrs) for frame in frames.values())
    for path in (first, first / "patients.parquet", second):
        assert not path.stat().st_mode & 0o077, path
    mare.split(clinic_schema(), WHOLE, (first, second), replace=True)  # mare's own: it may write over it


def test_what_leads_to_the_other_part_is_null_and_said(tmp_path: Path) -> None:
    """Somebody answers somebody else: a stranger's forum could not be split, for its foreign keys did not hold in a half."""
    schema = """
mare: 1
entity: users
tables:
  users: {key: id}
  posts:
    key: id
    parent: {table: users, column: owner, type: sequential, order_by: id, max_rows: 5}
    references: {answers: {kind: earlier, table: posts, nullable: true}}
"""
    (tmp_path / "forum.yaml").write_text(schema)
    whole = tmp_path / "forum.sqlite"
    with closing(sqlite3.connect(whole)) as database, database:
        database.execute("CREATE TABLE users (id INTEGER PRIMARY KEY)")
        posts = "id INTEGER PRIMARY KEY, owner INTEGER NOT NULL REFERENCES users, answers INTEGER REFERENCES posts"
        database.execute(f"CREATE TABLE posts ({posts})")
        database.executemany("INSERT INTO users VALUES (?)", [(n,) for n in range(20)])
        # Each answers their own first post with the second, and with the third that of the next.
        rows = [(3 * n, n, None) for n in range(20)] + [(3 * n + 1, n, 3 * n) for n in range(20)]
        rows += [(3 * n + 2, n, 3 * ((n + 1) % 20)) for n in range(20)]
        database.executemany("INSERT INTO posts VALUES (?, ?, ?)", rows)
    targets = tmp_path / "a.sqlite", tmp_path / "b.sqlite"
    done = mare.split(tmp_path / "forum.yaml", whole, targets, fraction=0.5)
    lost = 0
    for target in targets:
        with closing(sqlite3.connect(target)) as database:
            assert database.execute("PRAGMA foreign_key_check").fetchall() == []
            (own,) = database.execute("SELECT count(*) FROM posts WHERE answers = id - 1").fetchone()
            (cut,) = database.execute("SELECT count(*) FROM posts WHERE id % 3 = 2 AND answers IS NULL").fetchone()
        assert own == 10
        lost += cut
    assert done.severed == {"posts.answers": lost}
    assert lost > 0
    assert done.targets == tuple(map(str, targets))
