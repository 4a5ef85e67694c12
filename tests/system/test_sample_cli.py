"""`mare sample` from the outside: conditions, given rows, threads, and what is said when they cannot be."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.command_line import mare
from tests.fitted_hospital import fitted_hospital


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("release") / "hospital.mare"
    fitted_hospital().save(path)
    return path


def sampled(release: Path, target: Path, *options: str) -> dict[str, pd.DataFrame]:
    done = mare("sample", release, "--to", target, "--quiet", *options)
    assert done.returncode == 0, done.stderr
    return {path.stem: pd.read_parquet(path) for path in target.glob("*.parquet")}


def test_so_many_entities_that_satisfy_a_condition(release: Path, tmp_path: Path) -> None:
    made = sampled(release, tmp_path / "out", "--entities", "50", "--where", "sex = 'F' and age < 40")
    assert len(made["patients"]) == 50
    assert set(made["patients"]["sex"]) == {"F"}
    assert made["patients"]["age"].max() < 40
    assert set(made["stays"]["pid"]) <= set(made["patients"]["pid"])


def test_threads_change_no_byte(release: Path, tmp_path: Path) -> None:
    for threads in ("1", "3"):
        sampled(release, tmp_path / threads, "--entities", "500", "--seed", "8", "--threads", threads)
    for path in (tmp_path / "1").iterdir():
        assert path.read_bytes() == (tmp_path / "3" / path.name).read_bytes()


def test_rows_of_ones_own(release: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("PID;sex;age\n901;F;33\n77;M;250\n")
    result = mare("sample", release, "--to", tmp_path / "out", "--given", f"patients={file}", "--json")
    told = json.loads(result.stdout)
    assert told["rows"]["patients"] == 2
    assert any("patients.age: 1 values outside its domain" in note for note in told["notes"])
    assert pd.read_parquet(tmp_path / "out" / "patients.parquet")["pid"].tolist() == [901, 77]
    assert set(pd.read_parquet(tmp_path / "out" / "stays.parquet")["pid"]) <= {901, 77}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--where", "sex = 'F' and"), "cannot be read"),
        (("--where", "height > 3"), "There are: sex, age"),
        (("--given", "patients"), "write TABLE=FILE"),
        (("--given", "patients=none.csv"), "there is no file"),
        (("--given", "patients=a.csv", "--given", "patients=b.csv"), "is there twice"),
        (("--given", "patients=a.csv", "--entities", "3"), "leave out one of the two"),
    ],
)
def test_a_slip_leaves_no_target(release: Path, tmp_path: Path, options: tuple[str, ...], says: str) -> None:
    result = mare("sample", release, "--to", tmp_path / "out", *options, folder=tmp_path)
    assert result.returncode == 2
    assert says in " ".join(result.stderr.split())
    assert not list(tmp_path.iterdir())
