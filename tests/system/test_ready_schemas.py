"""`mare schemas`, and a ready schema's name wherever a path works: check, check against a source, plan, the wheel."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from mare.schema.loading import ready_file, ready_folder, ready_names
from tests.command_line import mare
from tests.published_tables import as_csv_folder, as_sqlite

ROOT = Path(__file__).resolve().parent.parent.parent
MARE = Path(sys.executable).with_name("mare")
SQL_MODELS = {
    "mimic-iii": "mimic-iii",
    "mimic-iv-core": "mimic-iv",
    "mimic-iv-icu": "mimic-iv",
    "omop-cdm-5.4": "omop-cdm-5.4",
    "eicu-core": "eicu",
}


def test_the_list_names_every_ready_schema_and_whom_it_protects() -> None:
    done = mare("schemas")
    assert done.returncode == 0, done.stderr
    for name in ready_names():
        assert name in done.stdout
    assert "uniquepid" in done.stdout


def test_the_list_as_json() -> None:
    listed = json.loads(mare("schemas", "--json").stdout)
    assert [one["name"] for one in listed] == list(ready_names())
    assert {"name", "summary", "entity", "tables"} == set(listed[0])


def test_a_printed_schema_is_the_file_with_its_comments(tmp_path: Path) -> None:
    path = ready_file("synthea-csv")
    assert path is not None
    copy = tmp_path / "mine.yaml"
    with copy.open("wb") as out:
        subprocess.run([MARE, "schemas", "synthea-csv"], stdout=out, check=True)
    assert copy.read_bytes() == path.read_bytes()
    assert mare("check", str(copy)).returncode == 0


def test_an_unknown_name_is_one_message_that_lists_the_names() -> None:
    done = mare("schemas", "mimic-v")
    assert done.returncode == 2
    assert "mimic-iv-core" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ready_names())
def test_check_takes_the_name(name: str) -> None:
    done = mare("check", name)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["medonc", *(pytest.param(n, marks=pytest.mark.slow) for n in ready_names() if n != "medonc")])
def test_plan_takes_the_name(name: str) -> None:
    done = mare("plan", name, "--epsilon", "2", "--delta", "1e-9", "--json")
    assert done.returncode == 0, done.stderr
    json.loads(done.stdout)


@pytest.mark.parametrize(("name", "model"), SQL_MODELS.items())
def test_it_fits_an_empty_database_of_the_published_shape(name: str, model: str, tmp_path: Path) -> None:
    source = as_sqlite(model, tmp_path / "published.sqlite")
    done = mare("check", name, "--from", str(source))
    assert done.returncode == 0, done.stdout + done.stderr


def test_synthea_fits_files_with_the_exporters_headers(tmp_path: Path) -> None:
    folder = as_csv_folder("synthea-csv", tmp_path / "csv")
    done = mare("check", "synthea-csv", "--from", str(folder))
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_missing_published_column_is_named(tmp_path: Path) -> None:
    """The checks above can fail: a folder of an older export lacks what the schema names."""
    folder = as_csv_folder("synthea-csv", tmp_path / "csv")
    (folder / "conditions.csv").write_text("START,STOP,PATIENT,ENCOUNTER,CODE,DESCRIPTION\n")
    done = mare("check", "synthea-csv", "--from", str(folder))
    assert done.returncode != 0
    assert "SYSTEM" in done.stdout + done.stderr


@pytest.mark.shared
def test_mimic_core_fits_the_demo(shared_data: Path) -> None:
    done = mare("check", "mimic-iv-core", "--from", str(shared_data / "mimic4_demo_partial"))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.shared
def test_mimic_icu_misses_only_what_the_partial_demo_lacks(shared_data: Path) -> None:
    done = mare("check", "mimic-iv-icu", "--from", str(shared_data / "mimic4_demo_partial"))
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert "chartevents" in said
    assert "d_items" in said
    assert "icustays" not in said.replace("table: icustays", "")


@pytest.mark.slow
def test_a_built_wheel_holds_them(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "wheel", str(ROOT), "--no-deps", "--no-build-isolation", "-q", "-w", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = {Path(name).stem for name in archive.namelist() if name.startswith("mare/_schemas/") and name.endswith(".yaml")}
        archive.extractall(tmp_path / "installed")
    assert held == set(ready_names())
    script = "from mare.schema.loading import ready_folder, ready_names; print(ready_folder().parent.parent.name, *ready_names())"
    listed = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(tmp_path / 'installed')!r}); {script}"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert listed == ["installed", *ready_names()]


def test_the_language_is_printed_for_editors() -> None:
    printed = mare("schemas", "--json-schema").stdout
    assert json.loads(printed) == json.loads((ready_folder() / "mare.schema.json").read_text(encoding="utf-8"))
    refused = mare("schemas", "medonc", "--json-schema")
    assert refused.returncode == 2
    assert "of the language, not of one schema" in " ".join(refused.stderr.replace("│", "").split())
