"""Keys that only fail at the very end, when the target looks at them: found out before the budget is spent, or made to hold."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import psycopg

from mare.privacy.budget import Budget
from mare.privacy.budget_file import BudgetFile
from tests.command_line import mare
from tests.servers import PostgresServer

COARSE = """
mare: 1
entity: people
tables:
  people: {key: pid, columns: {sex: {type: category, values: [F, M]}}}
  labs:
    key: [pid, val]
    parent: {table: people, column: pid, max_rows: 6}
    columns: {val: {type: number, min: 0, max: 3}}
  noted:
    key: [pid, at]
    parent: {table: people, column: pid, max_rows: 6}
    columns: {at: {type: datetime, min: 2100-01-01, max: 2100-01-20}}
"""
TABLES = """
CREATE TABLE people (pid int PRIMARY KEY, sex char(1));
CREATE TABLE labs (pid int NOT NULL REFERENCES people (pid), val numeric(5, 1) NOT NULL, PRIMARY KEY (pid, val));
CREATE TABLE noted (pid int NOT NULL REFERENCES people (pid), at date NOT NULL, PRIMARY KEY (pid, at));
INSERT INTO people SELECT n, 'F' FROM generate_series(1, 200) n;
INSERT INTO labs SELECT n, m / 10.0 FROM generate_series(1, 200) n, generate_series(1, 6) m;
INSERT INTO noted SELECT n, date '2100-01-01' + m FROM generate_series(1, 200) n, generate_series(1, 6) m;
"""


def test_values_that_are_stored_more_coarsely_than_they_are_drawn_are_kept_apart_as_stored(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    """The schema says numbers and moments, the table keeps one decimal and days."""
    (tmp_path / "s.yaml").write_text(COARSE)
    source, target = postgres_server.create_database(TABLES), postgres_server.create_database()
    done = mare("synth", tmp_path / "s.yaml", "--from", source, "--to", target, "--epsilon", 500, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    with psycopg.connect(target) as made:
        for table in ("labs", "noted"):
            rows = made.execute(f"SELECT count(*) FROM {table}").fetchone()
            assert rows is not None
            assert rows[0] > 800  # few have to go: there is room for six


PUBLIC = """
mare: 1
entity: people
tables:
  people: {key: pid, columns: {sex: {type: category, values: [F, M]}}}
  drugs: {public: true, key: drug_id, rows: 6}
  takes:
    parent: {table: people, column: pid, max_rows: 3}
    references: {drug_id: {kind: public, table: drugs}}
"""


def test_a_public_table_whose_keys_no_target_would_take_costs_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (tmp_path / "s.yaml").write_text(PUBLIC)
    (folder / "people.csv").write_text("pid,sex\n1,F\n2,M\n")
    (folder / "takes.csv").write_text("pid,drug_id\n1,7\n")
    budget = BudgetFile.create(tmp_path / "b", Budget(100.0, 1e-6), "b", datetime(2026, 1, 1, tzinfo=UTC))
    for drugs, words in (("7,a\n,b\n,c\n", "is missing in 2 rows"), ("7,a\n7,b\n", "is not unique")):
        (folder / "drugs.csv").write_text(f"drug_id,name\n{drugs}")
        options = ("--epsilon", 5, "--budget-file", tmp_path / "b")
        done = mare("synth", tmp_path / "s.yaml", "--from", folder, "--to", tmp_path / "out.sqlite", *options, folder=tmp_path)
        assert done.returncode == 2
        assert f"the public table 'drugs': its key (drug_id) {words}" in done.stderr
        assert sorted(entry.name for entry in tmp_path.iterdir()) == ["b", "data", "s.yaml"]
        assert budget.read().reservations == ()


def test_an_entity_that_is_there_twice_is_refused_also_where_nobody_refers_to_it(tmp_path: Path) -> None:
    """They would count for two: the guarantee is about all rows of one person."""
    folder = tmp_path / "data"
    folder.mkdir()
    alone = "mare: 1\nentity: people\ntables:\n  people: {key: [pid, site], columns: {sex: {type: category, values: [F, M]}}}\n"
    (tmp_path / "s.yaml").write_text(alone)
    arguments = ("synth", tmp_path / "s.yaml", "--from", folder, "--to", tmp_path / "out.sqlite", "--epsilon", 5)
    (folder / "people.csv").write_text("pid,site,sex\n4711,a,F\n4711,b,F\n4712,a,M\n4711,b,M\n")
    done = mare(*arguments, folder=tmp_path)
    assert done.returncode == 2
    assert "table 'people': its key (pid, site) is not unique, so nobody could be told apart as one entity." in done.stderr
    assert "4711" not in done.stderr
    assert not (tmp_path / "out.sqlite").exists()
    (folder / "people.csv").write_text("pid,site,sex\n4711,a,F\n4711,b,F\n4712,a,M\n")
    assert mare(*arguments, folder=tmp_path).returncode == 0
