"""What the one who signs gets to see: the summary by default, when, for what and by whom, and a word where a promise is none."""

from __future__ import annotations

import getpass
import json
import os
import re
import shutil
import zipfile
from hashlib import sha256
from importlib import import_module
from pathlib import Path

import pytest

import mare as library
from examples.hospital import simulate_hospital
from mare.privacy.budget import Budget
from mare.privacy.budget_file import BudgetFile
from mare.release import load_release
from tests.command_line import mare
from tests.conftest import ROOT

SCHEMA = ROOT / "examples" / "hospital.yaml"


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("real") / "hospital.sqlite"
    simulate_hospital(path, patients=60)
    return path


@pytest.fixture(autouse=True)
def page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture(scope="module")
def release(hospital: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fitted") / "r.mare"
    said = ("--purpose", "a course for students", "--by", "A. Nurse")
    assert mare("fit", SCHEMA, "--from", hospital, "--epsilon", 1, "-o", path, *said).returncode == 0
    return path


def test_the_summary_is_the_default_and_the_charges_are_asked_for(release: Path) -> None:
    short, long = mare("ledger", release).stdout, mare("ledger", release, "--full").stdout
    charges = load_release(release).ledger.charges
    assert f"What was measured: {len(charges)} charges" in short
    assert len(short.splitlines()) < 60
    assert re.search(rf"^ *{len(charges)}  admissions\.rows: ", long, flags=re.MULTILINE)
    assert not re.search(rf"^ *{len(charges)}  ", short, flags=re.MULTILINE)
    for page in (short, long):
        assert page.startswith("Privacy ledger: PRIVATE\n")
        assert re.search(r"^For: +a course for students$", page, flags=re.MULTILINE)
        assert re.search(r"^By: +A\. Nurse$", page, flags=re.MULTILINE)
        assert re.search(r"^Made: +20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC, with mare \d", page, flags=re.MULTILINE)
        assert re.search(r"^ +made up +admission_id, patient_id$", page, flags=re.MULTILINE)


def test_the_json_is_whole(release: Path) -> None:
    told = json.loads(mare("ledger", release, "--json").stdout)
    with zipfile.ZipFile(release) as archive:
        kept = json.loads(archive.read("ledger.json"))
    # Of ten people the noise of this fit tells much or little: what is in doubt differs from run to run.
    assert {**kept, "columns": told["columns"], "doubts": told["doubts"]} == told
    assert told["columns"]["patients"] == {
        "patient_id": "made up",
        "sex": "learned",
        "birth_year": "learned",
        "insurance": "learned",
        "died": "learned",
    }


def test_the_schemas_hash_is_the_same_in_the_plan_the_ledger_and_the_file(release: Path) -> None:
    with zipfile.ZipFile(release) as archive:
        digest = sha256(archive.read("schema.yaml")).hexdigest()
    assert f"Schema SHA-256 {digest}\n" in mare("plan", SCHEMA, "--epsilon", 1).stdout
    assert re.search(rf"^Schema SHA-256: +{digest}$", mare("ledger", release).stdout, flags=re.MULTILINE)


@pytest.mark.parametrize("by", [None, "A. Nurse"])
def test_a_login_name_stays_in_the_budget_file_and_a_name_that_was_said_goes_into_both(
    by: str | None, hospital: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "login-of-somebody")
    assert getpass.getuser() == "login-of-somebody"
    assert mare("budget", "create", tmp_path / "b", "--epsilon", 5).returncode == 0
    said = ("--budget-file", tmp_path / "b", "--purpose", "a course", *(() if by is None else ("--by", by)))
    synth = ("synth", SCHEMA, "--from", hospital, "--to", tmp_path / "s.sqlite", "-o", tmp_path / "r.mare", "--epsilon", 1)
    assert mare(*synth, *said).returncode == 0
    (taken,) = BudgetFile(tmp_path / "b").read().reservations
    occasion = load_release(tmp_path / "r.mare").ledger.occasion
    assert (taken.purpose, taken.by) == ("a course", by or "login-of-somebody")
    assert (occasion.purpose, occasion.by, occasion.at) == ("a course", by or "", taken.at)
    assert f"  a course, by {by or 'login-of-somebody'}  " in mare("budget", "show", tmp_path / "b").stdout
    with zipfile.ZipFile(tmp_path / "r.mare") as archive:
        assert not any(b"login-of-somebody" in archive.read(name) for name in archive.namelist())


def test_the_library_says_it_too(hospital: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "login-of-somebody")
    plan = library.plan(library.load_schema(SCHEMA), Budget(1.0, 1e-9))
    assert mare("budget", "create", tmp_path / "b", "--epsilon", 5).returncode == 0
    made = library.fit(plan, hospital, budget_file=tmp_path / "b", purpose="a course")
    assert (made.ledger.occasion.purpose, made.ledger.occasion.by) == ("a course", "")
    assert library.fit(plan, hospital, budget_file=tmp_path / "b", by="A. Nurse").ledger.occasion.by == "A. Nurse"
    taken = BudgetFile(tmp_path / "b").read().reservations
    assert [(one.purpose, one.by) for one in taken] == [("a course", "login-of-somebody"), ("mare.fit", "A. Nurse")]


def test_somebody_without_a_name_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module("mare.fitting.fit")

    def nobody() -> str:
        raise KeyError("getpwuid(): uid not found: 4711")

    monkeypatch.setattr(module, "getuser", nobody)
    assert module.login_name() == f"user {os.getuid()}"


@pytest.mark.parametrize("verb", ["fit", pytest.param("synth", marks=pytest.mark.slow)])
def test_a_budget_file_beside_the_schema_is_not_passed_over_in_silence(verb: str, hospital: Path, tmp_path: Path) -> None:
    schema = tmp_path / "schema.yaml"
    shutil.copy(SCHEMA, schema)
    os.mkfifo(tmp_path / "a pipe that nobody writes to")
    (tmp_path / "notes.json").write_text('{\n  "mare": 1}')
    budget = tmp_path / "whatever it is called"
    assert mare("budget", "create", budget, "--epsilon", 9).returncode == 0
    command = (verb, schema, "--from", hospital, "--epsilon", 1, *(("--to", tmp_path / "s.sqlite") if verb == "synth" else ()))
    alone = mare(*command, "-o", tmp_path / "1.mare")
    assert alone.returncode == 0, alone.stderr
    assert f"mare: {budget} is a budget file, and does not pay for this. If it should: --budget-file {budget}\n" in alone.stderr
    assert alone.stderr.count("is a budget file") == 1
    paid = mare(*command, "-o", tmp_path / "2.mare", "--budget-file", budget, "--replace")
    assert paid.returncode == 0, paid.stderr
    assert "is a budget file" not in paid.stderr
    assert "is a budget file" not in mare(*command, "-o", tmp_path / "3.mare", "--replace", "--quiet").stderr


@pytest.mark.parametrize(("epsilon", "word"), [(50, "promises next to nothing"), (15, "is weak"), (2, None)])
def test_an_epsilon_is_called_what_it_is_in_plan_fit_and_ledger(
    epsilon: int, word: str | None, hospital: Path, tmp_path: Path
) -> None:
    path = tmp_path / "r.mare"
    fitted = mare("fit", SCHEMA, "--from", hospital, "--epsilon", epsilon, "-o", path)
    assert fitted.returncode == 0
    planned, shown = mare("plan", SCHEMA, "--epsilon", epsilon).stdout, mare("ledger", path).stdout
    warned = json.loads(mare("plan", SCHEMA, "--epsilon", epsilon, "--json").stdout)["warnings"]
    for page in (fitted.stderr, planned, shown, " ".join(warning["what"] for warning in warned)):
        said = f"epsilon = {epsilon} {word}" in " ".join(page.split())
        assert said == (word is not None), page
