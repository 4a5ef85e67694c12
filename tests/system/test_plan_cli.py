"""`mare plan` as a user runs it: a table to read, JSON for programs, and one clear message where it cannot plan."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from mare.schema.loading import ready_names
from tests.command_line import Done
from tests.command_line import mare as within

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "reading-the-plan.md"
BLOCK = re.compile(r"```(yaml|console)\n(.*?)```", re.DOTALL)

CLINIC = """\
mare: 1
entity: patients
tables:
  patients:
    key: id
    columns:
      sex: {type: category, values: [F, M]}
      race: {type: category, learn: true, max_values: 9}
  visits:
    key: id
    parent: {table: patients, column: patient_id, max_rows: 8}
    model: independent
    columns:
      ward: {type: category, values: [a, b, c], peeked: true}
"""


def mare(*arguments: str, folder: Path, columns: int = 100) -> Done:
    with mock.patch.dict(
        os.environ, COLUMNS=str(columns)
    ):  # readline, which pytest loads, sets it to the terminal's behind our back
        return within(*arguments, folder=folder)


def program(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """`mare …` as a process of its own."""
    command = [sys.executable, "-c", "from mare.cli import main; main()", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False)


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    (tmp_path / "clinic.yaml").write_text(CLINIC, encoding="utf-8")
    return tmp_path


def test_a_plan_is_a_table_of_at_most_100_columns_with_all_there_is_to_know(clinic: Path) -> None:
    done = mare("plan", "clinic.yaml", "--epsilon", "1", "--details", folder=clinic)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert max(len(line) for line in done.stdout.splitlines()) <= 100
    for text in ("patients.rows", "visits.context", "visits.rows", "8 visits", "race (10)", "No data was read", "verdict"):
        assert text in done.stdout
    assert "tables.visits.columns.ward" in done.stdout
    assert "delta was not given: 1e-09" in done.stdout


def test_json_is_all_that_is_printed_and_is_the_same_each_time(clinic: Path) -> None:
    first, second = (program("plan", "clinic.yaml", "--epsilon", "1", "--json", folder=clinic) for _ in range(2))
    assert first.stdout == second.stdout
    assert json.loads(first.stdout)["budget"] == {"epsilon": 1.0, "delta": 1e-9}
    assert [g["sensitivity"] for g in json.loads(first.stdout)["groups"] if (g["table"], g["part"]) == ("visits", "rows")] == [8]


def test_more_entities_can_be_reckoned_with(clinic: Path) -> None:
    done = mare("plan", "clinic.yaml", "--epsilon", "1", "--entities", "300000", folder=clinic)
    assert "300,000 entities, as asked for" in done.stdout


def test_a_verdict_says_that_nobody_said_how_many_there_are(clinic: Path) -> None:
    guessed = mare("plan", "clinic.yaml", "--epsilon", "1", folder=clinic)
    assert "if 10,000" in guessed.stdout
    assert "their number is not given" in guessed.stdout
    asked = mare("plan", "clinic.yaml", "--epsilon", "1", "--entities", "91", folder=clinic)
    assert "if 10,000" not in asked.stdout
    assert "nobody said" not in asked.stdout
    assert "drowns" in asked.stdout
    for options, entities in (([], {"count": 10_000, "guessed": True}), (["--entities", "91"], {"count": 91, "guessed": False})):
        done = mare("plan", "clinic.yaml", "--epsilon", "1", *options, "--json", folder=clinic)
        assert json.loads(done.stdout)["entities"] == entities


def test_budgets_and_sizes_stand_side_by_side(clinic: Path) -> None:
    done = mare("plan", "clinic.yaml", "--epsilon", "0.1,2,2,50", "--entities", "100,4000", folder=clinic)
    assert (done.returncode, done.stderr) == (0, "")
    heading = next(line for line in done.stdout.splitlines() if line.lstrip().startswith("epsilon"))
    assert heading.split() == ["epsilon", "0.1", "epsilon", "2", "epsilon", "50"] * 2
    sizes = next(line for line in done.stdout.splitlines() if line.startswith("group"))
    assert [word for word in sizes.split() if word[0].isdigit()] == ["100"] * 3 + ["4,000"] * 3
    verdicts = next(line for line in done.stdout.splitlines() if line.startswith("patients.rows")).split()
    assert verdicts[1] == "drowns"
    assert verdicts[-1] in ("fine", "%")
    each = json.loads(mare("plan", "clinic.yaml", "--epsilon", "0.1,2", "--json", folder=clinic).stdout)["plans"]
    assert [made["budget"]["epsilon"] for made in each] == [0.1, 2]


@pytest.mark.parametrize("options", [["--epsilon", "2"], ["--epsilon", "1,2,5", "--entities", "500,4000"]])
def test_a_narrow_page_drops_numbers_and_never_names(options: list[str], tmp_path: Path) -> None:
    done = mare("plan", "omop-cdm-5.4", *options, folder=tmp_path, columns=60)
    lines = done.stdout.splitlines()
    assert max(len(line) for line in lines if "SHA" not in line) <= 64  # a hash cannot be folded
    plan = json.loads(mare("plan", "omop-cdm-5.4", "--epsilon", "2", "--json", folder=tmp_path).stdout)
    for group in plan["preview"]:
        assert any(group["name"] in line and ("fine" in line or "noisy" in line or "drowns" in line) for line in lines)


@pytest.mark.parametrize("name", ready_names())
def test_every_ready_schema_can_be_planned(name: str, tmp_path: Path) -> None:
    done = mare("plan", name, "--epsilon", "2", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--epsilon", "-1"], r"epsilon is -1"),
        (["--epsilon", "nan"], r"epsilon is nan"),
        (["--epsilon", "1", "--delta", "1"], r"delta is 1"),
        (["--epsilon", "1", "--entities", "0"], r"entities is 0"),
        (["--epsilon", "1", "--delta", "0"], r"line 8, tables\.patients\.columns\.race: .*delta = 0.*values"),
        ([], r"--epsilon"),
        (["--epsilon", "much"], r"--epsilon"),
        (["--epsilon", "1,much"], r"(?s)--epsilon.*1,2,5"),
        (["--epsilon", "1", "--entities", "3.5"], r"--entities"),
    ],
)
def test_a_budget_that_is_none_is_refused(options: list[str], said: str, clinic: Path) -> None:
    done = mare("plan", "clinic.yaml", *options, folder=clinic)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.search(said, done.stderr)
    assert "Traceback" not in done.stderr


def test_faults_of_the_plan_name_their_lines_all_at_once(clinic: Path) -> None:
    text = CLINIC.replace("model: independent", "model: crystal-ball").replace("values: [F, M]", "learn: true")
    (clinic / "clinic.yaml").write_text(text, encoding="utf-8")
    done = program("plan", "clinic.yaml", "--epsilon", "1", "--delta", "0", "--json", folder=clinic)
    assert done.returncode == 2
    told = json.loads(done.stdout)
    assert (told["kind"], [fault["line"] for fault in told["faults"]]) == ("PlanError", [12, 7, 8])
    assert all(fault["what"] and fault["remedy"] for fault in told["faults"])
    for line in ("line 7, tables.patients.columns.sex", "line 8, ", "line 12, tables.visits.model"):
        assert line in done.stderr


def test_an_open_cap_is_asked_for_with_its_line(clinic: Path) -> None:
    (clinic / "clinic.yaml").write_text(CLINIC.replace(", max_rows: 8", ""), encoding="utf-8")
    done = mare("plan", "clinic.yaml", "--epsilon", "1", folder=clinic)
    assert done.returncode == 2
    assert re.search(r"line 11, tables\.visits\.parent.*max_rows", done.stderr)


def test_a_schema_that_is_not_there_is_one_message(tmp_path: Path) -> None:
    done = mare("plan", "nowhere.yaml", "--epsilon", "1", folder=tmp_path)
    assert done.returncode == 2
    assert "nowhere.yaml" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_guide_shows_what_its_commands_print(tmp_path: Path) -> None:
    clinic = tmp_path / "clinic.yaml"
    commands = 0
    for kind, body in BLOCK.findall(GUIDE.read_text(encoding="utf-8")):
        if kind == "yaml":
            # a later block replaces the last table
            clinic.write_text(body if body.startswith("mare:") else clinic.read_text().split("  labs:\n")[0] + body)
            continue
        command, *shown = body.rstrip("\n").split("\n")
        done = mare(*command.removeprefix("$ mare ").split(), folder=tmp_path)
        printed = iter((done.stdout + done.stderr).split("\n"))
        missing = [line for line in shown if line != "…" and not any(line == other for other in printed)]
        assert missing == [], command
        commands += 1
    assert commands == 4
