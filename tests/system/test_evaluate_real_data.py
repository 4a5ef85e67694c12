"""On NAFLD and Berka the figures are those of the yardstick: two halves of the real data, held against each other."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mare
from mare.evaluation.evaluation import Evaluation
from mare.evaluation.measured import PairKind
from tests.benchmarks.judge import judge

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
Frames = dict[str, pd.DataFrame]
KINDS: dict[str, PairKind] = {"intra": "row", "inter": "ancestor"}

pytestmark = [pytest.mark.slow, pytest.mark.shared]


def parts(data: Path, schema: mare.Schema, by: dict[str, list[str]]) -> tuple[Frames, Frames]:
    """Half of the entities each. Rows that nothing orders are sorted alike, so that no file's order passes for a fact."""
    first: Frames = {}
    second: Frames = {}
    mare.split(schema, data, (first, second), fraction=0.5, seed=1)
    for part in (first, second):
        for name, columns in by.items():
            part[name] = part[name].sort_values(columns, kind="stable").reset_index(drop=True)
    return first, second


def agrees(found: Evaluation, judged: dict[str, dict[str, float]], theirs: str, ours: PairKind) -> None:
    mean = found.means["synthetic"][ours]
    figures = {"kl": mean.kl, "cramer": mean.v, "cramer_real": mean.v_real, "cramer_err": mean.v_error, "tvd": mean.tvd}
    assert judged[theirs] == pytest.approx(figures, abs=6e-5)


def one_way(found: Evaluation) -> float:
    """Of what stands in pairs: the yardstick has no points in time, ``found.one_way`` has them too."""
    return float(np.mean([column.tvd["synthetic"] for column in found.columns if column.paired]))


def test_nafld(shared_data: Path) -> None:
    schema = mare.load_schema(BENCHMARKS / "nafld.yaml")
    by = {"nafld1": ["id"], "nafld2": ["id", "days", "test", "value"], "nafld3": ["id", "days", "event"]}
    first, second = parts(shared_data / "nafld", schema, by)
    found = mare.evaluate(schema, first, second)
    spec = json.loads((BENCHMARKS / "specs" / "nafld.json").read_text())["tables"]
    judged = judge(spec, {n: first[n] for n in spec}, {n: second[n] for n in spec})["synth"]
    for theirs, ours in (*KINDS.items(), ("seq", "previous")):
        agrees(found, judged, theirs, ours)  # type: ignore[arg-type]
    assert judged["one_way_tvd"] == pytest.approx(one_way(found), abs=6e-5)
    assert judged["child_count_tvd"] == pytest.approx(np.mean([held.tvd["synthetic"] for held in found.lengths]), abs=6e-5)


def test_berka(shared_data: Path) -> None:
    """The schema calls districts categories, and has a second sequence (the disponents of an account), which has no part here."""
    schema = mare.load_schema(BENCHMARKS / "worlds" / "berka.yaml")
    first, second = parts(shared_data / "berka", schema, {"trans": ["account_id", "date", "trans_id"]})
    found = mare.evaluate(schema, first, second)
    spec = json.loads((BENCHMARKS / "specs" / "berka.json").read_text())["tables"]

    def as_categories(part: Frames) -> Frames:
        return {
            n: part[n].assign(district_id=part[n]["district_id"].astype(str)) if "district_id" in part[n] else part[n]
            for n in spec
        }

    judged = judge(spec, as_categories(first), as_categories(second))["synth"]
    for theirs, ours in KINDS.items():
        agrees(found, judged, theirs, ours)
    trans = [p for p in found.pairs if (p.table, p.kind) == ("trans", "previous")]
    assert judged["seq"]["tvd"] == pytest.approx(np.mean([p.closeness["synthetic"].tvd for p in trans]), abs=6e-5)
    assert judged["one_way_tvd"] == pytest.approx(one_way(found), abs=6e-5)
