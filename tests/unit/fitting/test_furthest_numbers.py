"""Bounds as wide as a type: "any 64 bits", "any double". The budget has been taken when rows are read: nothing may break then."""

from __future__ import annotations

import pyarrow as pa
import pytest

from mare.fitting import FitOptions, run_fit
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.sampling import sample
from mare.schema.loading import load_schema
from tests.memory_source import MemorySource

LAST = 2**63 - 1


@pytest.mark.parametrize(
    ("says", "low", "high"),
    [
        (f"integer, min: {-LAST - 1}, max: {LAST}", -(2**60), 2**60),
        (f"integer, min: {-LAST}, max: {LAST}, bins: 5", -(2**60), 2**60),
        (f"integer, min: 0, max: {LAST}, scale: log", 0, 2**60),
        (f"integer, min: 0, max: {LAST}, step: 1000", 0, 2**60),
        (f"integer, min: 7, max: {10**30}", 7, 2**60),
        ("number, min: -1.7e+308, max: 1.7e+308", -1.7e308, 1.7e308),
        ("number, min: -1.7e+308, max: 1.7e+308, precision: 2", -1.7e308, 1.7e308),
        ("number, min: 0, max: 1.7e+308, scale: log", 0, 1.7e308),
    ],
)
def test_bounds_as_wide_as_the_type_are_fitted_and_kept(says: str, low: float, high: float) -> None:
    columns = f"n: {{type: {says}, nullable: true}}"
    schema = load_schema(f"mare: 1\nentity: p\ntables:\n  p:\n    key: id\n    columns:\n      {columns}\n")
    kind = pa.int64() if schema.tables["p"].columns["n"].type == "integer" else pa.float64()
    values = [1, 2, 3, None, LAST, -LAST] if kind == pa.int64() else [1.0, None, 1e300, -1e300, float("inf"), float("nan")]
    source = MemorySource({"p": pa.table({"id": range(12), "n": pa.array(values * 2, type=kind)})})
    release = run_fit(plan(schema, Budget(2, 1e-9)), source, FitOptions(bits=SeededBits(1)))
    drawn = sample(release, entities=200, seed=1)["p"]["n"].dropna()
    assert len(drawn) > 0
    assert low <= drawn.min() <= drawn.max() <= high
