"""`mare split` and `mare evaluate`: from a whole source to a verdict, and what they say of what they cannot do."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

import mare as library
from mare.audit import CanaryReport, audit_document
from tests.clinic import CLINIC, clinic, clinic_schema
from tests.command_line import mare


@pytest.fixture
def world(tmp_path: Path) -> Path:
    (tmp_path / "s.yaml").write_text(CLINIC)
    library.split(clinic_schema(), clinic(200, 1), (tmp_path / "real", tmp_path / "made"), fraction=0.5)
    return tmp_path


def test_from_a_source_to_a_verdict(world: Path) -> None:
    done = mare("split", "s.yaml", "--from", "real", "--to", "train", "holdout", "--fraction", 0.2, "--seed", 3, folder=world)
    assert done.returncode == 0, done.stderr
    assert "80 entities to train, 20 to holdout" in done.stderr
    assert "internal, not private" in done.stderr
    (world / "q.sql").write_text("-- women\nSELECT count(*) FROM patients WHERE sex = 'F';")
    asked = ["--real", "train", "--synthetic", "made", "--holdout", "holdout", "--sql", "q.sql", "--json", "e.json"]
    done = mare("evaluate", "s.yaml", *asked, folder=world)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Evaluation (internal, not private")
    assert lines[-1].startswith("(internal, not private")
    for words in (
        "pairs within a row",
        "other real",
        "shuffled",
        "Pairs, worst first",
        "No rule of the schema",
        "Question: women: off by",
    ):
        assert words in done.stdout
    written = json.loads((world / "e.json").read_text())
    assert written["status"].startswith("internal, not private")
    assert stat.S_IMODE((world / "e.json").stat().st_mode) == 0o600
    # A file is written over its like alone, and not unasked.
    assert mare("evaluate", "s.yaml", *asked, folder=world).returncode == 2
    assert mare("evaluate", "s.yaml", *asked, "--replace", "-q", folder=world).returncode == 0
    (world / "e.json").write_text("mine")
    assert mare("evaluate", "s.yaml", *asked, "--replace", folder=world).returncode == 2
    assert (world / "e.json").read_text() == "mine"


def test_an_audit_joins_in_words_that_claim_no_more_than_it_found(world: Path) -> None:
    found = CanaryReport("epsilon", claimed=2.0, estimated=0.6, lower=0.4, reach=1.8, failure=1e-3, runs=500)
    (world / "audit.json").write_text(json.dumps(audit_document(canary=found)))
    asked = ["--real", "real", "--synthetic", "made", "--audit", "audit.json", "--json", "e.json"]
    done = mare("evaluate", "s.yaml", *asked, folder=world)
    assert done.returncode == 0, done.stderr
    assert "lower bound ε = 0.4, claimed ε = 2: no proof of a fault" in done.stdout
    audit = json.loads((world / "e.json").read_text())["parts"]["audit"]
    assert audit["canary"]["lower"] == 0.4
    assert "no proof of a fault" in audit["words"][0]


def test_the_report_is_a_page_for_its_owner(world: Path) -> None:
    asked = ["--real", "real", "--synthetic", "made", "-o", "report.html"]
    done = mare("evaluate", "s.yaml", *asked, folder=world)
    assert done.returncode == 0, done.stderr
    assert "The report is in report.html (internal, not private" in done.stderr
    page = (world / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "mare evaluate s.yaml --real real --synthetic made --seed 0 -o report.html" in page
    assert stat.S_IMODE((world / "report.html").stat().st_mode) == 0o600
    assert mare("evaluate", "s.yaml", *asked, folder=world).returncode == 2
    assert mare("evaluate", "s.yaml", *asked, "--replace", "-q", folder=world).returncode == 0


def test_split_as_json(world: Path) -> None:
    done = mare("split", "s.yaml", "--from", "real", "--to", "a", "b.sqlite", "--json", folder=world)
    told = json.loads(done.stdout)
    assert told["entities"] == [80, 20]
    assert sum(told["rows"]["patients"]) == 100
    assert told["status"].startswith("internal, not private")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (["--real", "nowhere", "--synthetic", "made"], "is not there"),
        (["--real", "real", "--synthetic", "made", "--sql", "none.sql"], "cannot be read"),
        (["--real", "real", "--synthetic", "made", "--audit", "s.yaml"], "is not the JSON of an audit"),
        (["--real", "real", "--synthetic", "made", "--json", "no/such/folder.json"], "is not there"),
        (["--real", "real", "--synthetic", "made", "-o", "no/such/folder.html"], "is not there"),
        (["--real", "real", "--synthetic", "made", "-o", "s.yaml", "--replace"], "is not an evaluation"),
        (["--real", "real", "--synthetic", "made", "--release", "s.yaml"], "is not a release"),
    ],
)
def test_what_it_cannot_do_it_says(world: Path, asked: list[str], words: str) -> None:
    done = mare("evaluate", "s.yaml", *asked, folder=world)
    assert done.returncode == 2
    assert words in done.stderr


def test_the_figures_are_never_written_onto_a_side(world: Path) -> None:
    table = next((world / "real").glob("patients.*"))
    before = table.read_bytes()
    done = mare("evaluate", "s.yaml", "--real", "real", "--synthetic", "made", "--json", table, "--replace", folder=world)
    assert done.returncode == 2
    assert table.read_bytes() == before


def test_a_split_that_leaves_a_part_empty_writes_nothing(world: Path) -> None:
    done = mare("split", "s.yaml", "--from", "real", "--to", "a", "b", "--fraction", 0.0001, folder=world)
    assert done.returncode == 2
    assert "too few entities" in done.stderr
    assert not (world / "a").exists()
    assert not (world / "b").exists()
