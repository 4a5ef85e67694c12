"""Where SDMetrics measures the same, the figures are the same: by the package where it is installed, else by what it said."""

from __future__ import annotations

import json
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from mare.evaluation.evaluate import evaluate
from mare.evaluation.evaluation import Evaluation
from mare.evaluation.measured import BrokenKind
from tests.clinic import clinic_schema
from tests.sdmetrics_figures import clinics, figures

KEPT = Path(__file__).resolve().parents[2] / "fixtures" / "sdmetrics.json"


@cache
def theirs() -> dict[str, float]:
    if find_spec("sdmetrics") is not None:
        return figures(*clinics())
    kept: dict[str, float] = json.loads(KEPT.read_text())
    return kept


@cache
def ours() -> Evaluation:
    return evaluate(clinic_schema(), *clinics())


def kept(kind: BrokenKind, where: str) -> float:
    """The share of rows that keep a rule."""
    found = next(b for b in ours().broken if (b.kind, b.where) == (kind, where))
    return 1 - found.rows["synthetic"] / found.of["synthetic"]


@pytest.mark.parametrize(
    ("table", "column"),
    [("patients", "age"), ("patients", "weight"), ("patients", "sex"), ("stays", "ward"), ("stays", "begins")],
)
def test_column_shapes(table: str, column: str) -> None:
    mine = next(c for c in ours().columns if (c.table, c.name) == (table, column))
    assert mine.shape["synthetic"] == pytest.approx(theirs()[f"shape {column}"], abs=1e-6)


def test_correlation_similarity() -> None:
    pair = next(p for p in ours().pairs if (p.table, p.column, p.other, p.kind) == ("patients", "age", "weight", "row"))
    assert pair.correlation is not None
    similar = 1 - abs(pair.correlation["real"] - pair.correlation["synthetic"]) / 2
    assert similar == pytest.approx(theirs()["correlation"], abs=1e-9)


def test_boundaries_categories_keys_and_references() -> None:
    assert kept("beyond", "patients.age") == pytest.approx(theirs()["boundary age"])
    assert kept("unseen", "patients.sex") == pytest.approx(theirs()["category sex"])
    assert kept("key", "patients(pid)") == pytest.approx(theirs()["key pid"])
    assert kept("reference", "stays.parent") == pytest.approx(theirs()["references"])


def test_the_number_of_children() -> None:
    real, made = clinics()
    told_apart = {**made, "patients": made["patients"].drop_duplicates("pid")}
    lengths = evaluate(clinic_schema(), real, told_apart).lengths
    stays = next(held for held in lengths if (held.table, held.per) == ("stays", "patients"))
    assert stays.shape["synthetic"] == pytest.approx(theirs()["cardinality"])
