"""The guide to a new column type is true: its class, in a file of its own and in the registry, is all that a type needs."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mare
from mare.errors import PlanError, SchemaError
from mare.planning.planning import plan
from mare.privacy.budget import Budget
from mare.schema.columns import AnyColumn
from mare.schema.loading import load_schema
from mare.schema.matching import match
from mare.schema.reflection import ReflectedColumn, ReflectedTable, Reflection
from tests.column_types import registered
from tests.system.test_documentation import blocks

GUIDE = "docs/guides/a-new-column-type.md"


@pytest.fixture
def month(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[AnyColumn]]:
    """The guide's class, from a file of its own."""
    (code,) = blocks(GUIDE, "python")
    (tmp_path / "month_column.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    kind: type[AnyColumn] = importlib.import_module("month_column").Month
    with registered(kind):
        yield kind
    sys.modules.pop("month_column")


def schema_text() -> str:
    (text,) = blocks(GUIDE, "yaml")
    return text


def people(count: int = 600) -> dict[str, pd.DataFrame]:
    """Most were seen in 2143 and 2144, some never; whoever died did so within weeks."""
    rng = np.random.default_rng(1)
    days = pd.Timestamp("2143-01-01") + pd.to_timedelta(rng.integers(0, 730, count), unit="D")
    seen = pd.Series(days.strftime("%Y-%m")).where(rng.random(count) > 0.1, None)
    died = pd.Series((days + pd.to_timedelta(rng.integers(1, 60, count), unit="D")).date).where(rng.random(count) < 0.3, None)
    frame = pd.DataFrame({"pid": range(count), "sex": rng.choice(["F", "M"], count), "seen": seen, "died": died})
    return {"people": frame}


def test_the_type_is_planned_fitted_sampled_evaluated_and_asked_for(month: type[AnyColumn]) -> None:
    schema = load_schema(schema_text())
    assert isinstance(schema.tables["people"].columns["seen"], month)
    release = mare.fit(plan(schema, Budget(50.0, 1e-6)), people(), unsafe_seed=7)
    synthetic = mare.sample(release, seed=3)["people"]
    seen = synthetic["seen"].dropna()
    assert seen.str.fullmatch(r"214[0-9]-(0[1-9]|1[0-2])").all()
    assert seen.str[:4].isin(["2143", "2144"]).mean() > 0.9
    assert 0.05 < synthetic["seen"].isna().mean() < 0.2
    both = synthetic.dropna(subset=["seen", "died"])
    assert len(both) > 50
    assert (pd.to_datetime(both["died"]).dt.strftime("%Y-%m") >= both["seen"]).all()
    later = mare.sample(release, seed=3, where="seen >= '2144-01'")["people"]["seen"]
    assert set(later.str[:4]) <= {str(year) for year in range(2144, 2150)}
    compared = {column.name for column in mare.evaluate(schema, people(), {"people": synthetic}).columns}
    assert {"seen", "year of seen", "month of seen", "died since seen"} <= compared
    assert "hour of seen" not in compared
    with pytest.raises(PlanError, match=r"people.seen is compared with a month as '2150-07'; 5 is not one"):
        mare.sample(release, seed=3, where="seen = 5")


def test_its_own_faults_and_clashes_are_told(month: type[AnyColumn]) -> None:
    with pytest.raises(SchemaError, match=r"seen.min: 2140-01-09 does not begin a month. Write 2140-01-01"):
        load_schema(schema_text().replace("min: 2140-01-01", "min: 2140-01-09"))
    schema = load_schema(schema_text())
    stored = (ReflectedColumn("pid", "integer"), ReflectedColumn("sex", "string"), ReflectedColumn("seen", "boolean"))
    table = ReflectedTable("people", (*stored, ReflectedColumn("died", "date")), key=("pid",))
    told = [str(fault) for fault in match(schema, Reflection("here", (table,))) if fault.severity == "error"]
    assert told == ["tables.people.columns.seen.type: the schema says month, but the source stores booleans. Write type: boolean"]


def test_without_the_registry_there_is_no_such_type() -> None:
    with pytest.raises(SchemaError, match="month is not a column type"):
        load_schema(schema_text())
