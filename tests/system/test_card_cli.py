"""`mare card`, and the few lines of it at the end of `mare synth`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from examples.hospital import simulate_hospital
from tests.command_line import Done, mare
from tests.conftest import ROOT

SCHEMA = ROOT / "examples" / "hospital.yaml"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """A folder with a release, and what `synth` said when it made it."""
    folder = tmp_path_factory.mktemp("card")
    simulate_hospital(folder / "hospital.sqlite", patients=60)
    asked = ("synth", SCHEMA, "--from", "hospital.sqlite", "--to", "made.sqlite", "--epsilon", 2, "-o", "r.mare")
    return folder, mare(*asked, folder=folder)


def test_synth_ends_with_it_in_short(made: tuple[Path, Done]) -> None:
    done = made[1]
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if not line.startswith("made.sqlite: ")]
    assert lines[0].startswith("Can it be used? By the noise alone, columns: trust ")
    assert 1 < len(lines) <= 16
    assert lines[1].startswith("  - Good for building and testing")
    assert "mare card r.mare" in done.stderr


def test_a_quiet_synth_says_none_of_it_and_json_all(made: tuple[Path, Done]) -> None:
    folder, _ = made
    asked = ("synth", SCHEMA, "--from", "hospital.sqlite", "--epsilon", 2)
    assert "Can it be used" not in mare(*asked, "--to", "quiet.sqlite", "--quiet", folder=folder).stdout
    told = json.loads(mare(*asked, "--to", "json.sqlite", "--json", folder=folder).stdout)
    assert {column["table"] for column in told["card"]["columns"]} >= {"patients", "admissions"}


def test_the_text_the_json_and_the_page_agree(made: tuple[Path, Done]) -> None:
    folder, _ = made
    text, told = mare("card", "r.mare", folder=folder).stdout, json.loads(mare("card", "r.mare", "--json", folder=folder).stdout)
    done = mare("card", "r.mare", "-o", "card.html", folder=folder)
    assert done.returncode == 0, done.stderr
    assert "The whole card is in card.html" in done.stdout
    page = (folder / "card.html").read_text()
    judged = [column for column in told["columns"] if column["verdict"] is not None]
    assert judged
    for column in judged:
        assert f"{column['table']}.{column['column']} " in text
        assert f"{column['table']}.<b>{column['column']}</b>" in page
    assert "Who is protected:  one row of patients" in text


def test_a_page_is_written_over_a_page_and_only_when_told(made: tuple[Path, Done]) -> None:
    folder, _ = made
    (folder / "old.html").write_text("<!doctype html><p>an older card")
    (folder / "mine.html").write_text("my notes")
    assert "exists already" in mare("card", "r.mare", "-o", "old.html", folder=folder).stderr
    assert mare("card", "r.mare", "-o", "old.html", "--replace", folder=folder).returncode == 0
    refused = mare("card", "r.mare", "-o", "mine.html", "--replace", folder=folder)
    assert refused.returncode != 0
    assert (folder / "mine.html").read_text() == "my notes"
    assert mare("card", "r.mare", "-o", "r.mare", "--replace", folder=folder).returncode != 0
    assert mare("card", "r.mare", folder=folder).returncode == 0


def test_what_is_no_release_is_refused_in_words(made: tuple[Path, Done]) -> None:
    done = mare("card", "hospital.sqlite", folder=made[0])
    assert done.returncode != 0
    assert "is not a release of mare" in done.stderr


def test_a_release_that_is_not_private_says_so_on_it(made: tuple[Path, Done]) -> None:
    folder, _ = made
    asked = ("fit", SCHEMA, "--from", "hospital.sqlite", "--epsilon", 2, "--unsafe-seed", 1, "-o", "seeded.mare")
    assert mare(*asked, folder=folder).returncode == 0
    done = mare("card", "seeded.mare", "-o", "seeded.html", folder=folder)
    assert "NOT PRIVATE" in done.stderr
    assert "NOT PRIVATE" in (folder / "seeded.html").read_text()
