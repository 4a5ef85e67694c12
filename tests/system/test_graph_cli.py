"""`mare graph` as a person runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock
from xml.etree import ElementTree

import pytest

from tests.command_line import Done
from tests.command_line import mare as within

TWENTY = Path(__file__).parents[1] / "fixtures" / "schemas" / "twenty-tables.yaml"
SMALL = """\
mare: 1
entity: patients
tables:
  patients:
    key: id
    columns:
      gender: {type: category, values: [F, M]}
  visits:
    key: visit_id
    parent: {table: patients, column: id, type: sequential, order_by: day, memory: 1, max_rows: 4}
    columns:
      day: {type: date, min: 2020-01-01, max: 2021-01-01}
"""


def mare(*arguments: object) -> Done:
    with mock.patch.dict(os.environ, COLUMNS="100"):
        return within(*arguments)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


def test_the_graphs_are_printed_in_the_terminal(small: Path) -> None:
    done = mare("graph", small)
    assert done.returncode == 0, done.stderr
    assert "└─ visits  sequential by day, memory 1, at most 4 rows" in done.stdout
    assert " 3 visits.rows: day\n" in done.stdout
    assert done.stderr == ""


def test_a_terminal_that_cannot_draw_lines_still_gets_an_answer(small: Path) -> None:
    command = [sys.executable, "-c", "from mare.cli import main; main()", "graph", str(small)]
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "100"}
    done = subprocess.run(command, capture_output=True, text=True, encoding="ascii", env=env, check=False)
    assert done.returncode == 0, done.stderr
    assert "visits.rows: day" in done.stdout


def test_a_picture_is_drawn_into_a_file_and_replaces_the_one_before(tmp_path: Path) -> None:
    target = tmp_path / "graph.svg"
    target.write_text("<svg >an earlier picture</svg>")
    done = mare("graph", TWENTY, "-o", target)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    drawn = ElementTree.parse(target).getroot()
    assert drawn.tag == "{http://www.w3.org/2000/svg}svg"
    assert "chartevents" in [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert [p.name for p in tmp_path.iterdir()] == ["graph.svg"]  # nothing half-written beside it


def test_what_is_no_drawing_is_not_drawn_over(tmp_path: Path) -> None:
    target = tmp_path / "patients.txt"
    target.write_bytes(b"SQLite format 3\0 and somebody's data")
    refused = mare("graph", TWENTY, "-o", target)
    assert refused.returncode == 2
    assert "is not a drawing of a schema" in refused.stderr
    assert target.read_bytes() == b"SQLite format 3\0 and somebody's data"


def test_text_goes_into_a_txt_file(small: Path, tmp_path: Path) -> None:
    done = mare("graph", small, "-o", tmp_path / "graph.TXT")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "graph.TXT").read_text(encoding="utf-8") == mare("graph", small).stdout


def test_the_name_of_a_ready_schema_works_as_a_path() -> None:
    done = mare("graph", "medonc")
    assert done.returncode == 0, done.stderr
    assert "prescriptions.context" in done.stdout


@pytest.mark.parametrize(
    ("target", "message"),
    [("graph.pdf", "ends in .pdf. Draw into a .svg file"), ("graph", "has no ending"), (".", "is a folder")],
)
def test_a_file_that_is_neither_is_refused(small: Path, tmp_path: Path, target: str, message: str) -> None:
    done = mare("graph", small, "-o", tmp_path / target)
    assert done.returncode == 2
    assert message in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["small.yaml"]


def test_a_folder_that_is_not_there_is_refused(small: Path, tmp_path: Path) -> None:
    done = mare("graph", small, "-o", tmp_path / "nowhere" / "graph.svg")
    assert done.returncode == 2
    assert "is not there. Make it first" in done.stderr


def test_a_cycle_is_named_with_its_line_and_nothing_is_written(tmp_path: Path) -> None:
    cyclic = SMALL + "    references:\n      next_id: {kind: same_entity, table: calls}\n"
    cyclic += "  calls:\n    key: call_id\n    parent: {table: visits, column: visit_id, max_rows: 2}\n"
    schema = tmp_path / "cyclic.yaml"
    schema.write_text(cyclic)
    done = mare("graph", schema, "-o", tmp_path / "graph.svg")
    assert done.returncode == 2
    assert "next_id" in done.stderr
    assert "kind: broken" in done.stderr
    assert "line " in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "graph.svg").exists()


def test_a_schema_that_is_not_there_is_a_message_and_exit_code_two(tmp_path: Path) -> None:
    done = mare("graph", tmp_path / "nothing.yaml")
    assert done.returncode == 2
    assert "there is no schema" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_draft_is_drawn_and_said_to_be_one(tmp_path: Path) -> None:
    draft = tmp_path / "draft.yaml"
    draft.write_text(SMALL.replace(", max_rows: 4", ""))
    done = mare("graph", draft)
    assert done.returncode == 0, done.stderr
    assert "no cap yet" in done.stdout
    assert "still open: mare check" in done.stderr


def test_the_graph_as_json(small: Path) -> None:
    done = mare("graph", small, "--json")
    page = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert [(table["name"], table["role"]) for table in page["tables"]] == [("patients", "entity"), ("visits", "private")]
    assert [group["name"] for group in page["groups"]] == ["patients.rows", "visits.context", "visits.rows"]
    assert page["open"] == 0
    drawn = small.parent / "graph.txt"
    assert json.loads(mare("graph", small, "--json", "-o", drawn).stdout)["output"] == str(drawn)
    assert "visits.rows: day" in drawn.read_text()
