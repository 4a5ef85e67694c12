"""Pairs within a row, with rows above and with rows before: held against a recomputation in pandas that shares no line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from mare.evaluation.evaluate import evaluate
from mare.evaluation.evaluation import Evaluation
from mare.evaluation.fidelity import pairs
from mare.evaluation.fidelity.coded_sets import Sides, code_sides
from mare.evaluation.measured import PairFidelity
from mare.evaluation.sides import read_side
from tests.benchmarks import judge as own_judge
from tests.clinic import Frames, clinic, clinic_schema

REAL, MADE, OTHERS = clinic(250, 1), clinic(200, 2), clinic(150, 3)
SPEC = {
    "patients": {"key": ["pid"]},
    "stays": {"key": ["sid"], "parent": "patients", "fk": {"pid": "pid"}, "order": "begins", "lags": 2},
    "takes": {"key": ["tid"], "parent": "stays", "fk": {"sid": "sid"}},
}


@cache
def evaluation() -> Evaluation:
    return evaluate(clinic_schema(), REAL, MADE, holdout=OTHERS)


def pair(table: str, column: str, other_table: str, other: str, back: int = 0) -> PairFidelity:
    wanted = (table, column, other_table, other, back)
    return next(p for p in evaluation().pairs if (p.table, p.column, p.other_table, p.other, p.back) == wanted)


def binned(real: pd.Series, other: pd.Series) -> tuple[pd.Series, pd.Series]:
    """Twenty bins of equal weight in the real rows, each with its left edge; NULL apart. Plainly, value by value."""
    if not pd.api.types.is_numeric_dtype(real) or real.nunique() <= 20:
        return tuple(s.astype(object).where(s.notna(), "NULL") for s in (real, other))
    edges = sorted(set(np.quantile(real.dropna(), [i / 20 for i in range(1, 20)])))
    place = lambda v: "NULL" if pd.isna(v) else sum(edge <= v for edge in edges)  # noqa: E731
    return real.map(place), other.map(place)


def plain_tvd(real: pd.DataFrame, other: pd.DataFrame, a: str, b: str) -> float:
    columns = [binned(real[name], other[name]) for name in (a, b)]
    tables = [pd.crosstab(columns[0][i], columns[1][i], normalize="all") for i in (0, 1)]
    both = [
        t.reindex(index=tables[0].index.union(tables[1].index), columns=tables[0].columns.union(tables[1].columns))
        for t in tables
    ]
    return float((both[0].fillna(0) - both[1].fillna(0)).abs().to_numpy().sum() / 2)


def plain_v(frame: pd.DataFrame, a: str, b: str) -> float:
    table = pd.crosstab(frame[a].astype(object).where(frame[a].notna(), "NULL"), frame[b])
    n = table.to_numpy().sum()
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    return float(np.sqrt(((table - expected) ** 2 / expected).to_numpy().sum() / n / (min(table.shape) - 1)))


def test_two_columns_of_a_row() -> None:
    found = pair("patients", "age", "patients", "weight")
    assert found.kind == "row"
    assert found.closeness["synthetic"].tvd == pytest.approx(plain_tvd(REAL["patients"], MADE["patients"], "age", "weight"))
    assert found.closeness["holdout"].tvd == pytest.approx(plain_tvd(REAL["patients"], OTHERS["patients"], "age", "weight"))
    assert found.closeness["synthetic"].intersection == pytest.approx(1 - found.closeness["synthetic"].tvd)
    assert found.correlation is not None
    assert found.correlation["real"] == pytest.approx(REAL["patients"][["age", "weight"]].corr().iloc[0, 1])
    assert found.correlation["synthetic"] == pytest.approx(MADE["patients"][["age", "weight"]].corr().iloc[0, 1])


def test_three_columns_counted_in_one_pass_give_the_pairs_that_two_give(monkeypatch: pytest.MonkeyPatch) -> None:
    sides: Sides = {"real": read_side(clinic_schema(), clinic(900, 1)), "synthetic": read_side(clinic_schema(), clinic(800, 2))}
    coded, passes = code_sides(sides), list[int]()
    kept = pairs._in_threes

    def counted(wanted: list[tuple[str, str]], sizes: dict[str, int], cells: int) -> list[tuple[str, ...]]:
        axes = list(kept(wanted, sizes, 10**6))  # however few rows there are
        passes.append(len(axes))
        return axes

    monkeypatch.setattr(pairs, "_in_threes", counted)
    in_threes, *_ = pairs.compare_pairs(coded, 0)
    monkeypatch.setattr(pairs, "_in_threes", lambda wanted, sizes, cells: wanted)
    in_twos, *_ = pairs.compare_pairs(coded, 0)
    assert sum(passes) < 0.6 * 2 * len(in_twos)  # of two sides
    assert len(in_threes) == len(in_twos)
    for mine, plain in zip(in_threes, in_twos, strict=True):
        assert mine.counts is not None
        assert plain.counts is not None
        for name in ("real", "synthetic"):
            np.testing.assert_array_equal(mine.counts[name], plain.counts[name], f"{mine.name}, {name}")


def test_a_row_and_the_one_two_tables_above() -> None:
    def joined(frames: Frames) -> pd.DataFrame:
        return frames["takes"].merge(frames["stays"], on="sid").merge(frames["patients"], on="pid")

    found = pair("takes", "drug", "patients", "sex")
    assert found.kind == "ancestor"
    real, made = joined(REAL), joined(MADE)
    assert found.closeness["synthetic"].tvd == pytest.approx(
        plain_tvd(real.astype({"drug": str}), made.astype({"drug": str}), "drug", "sex")
    )
    assert found.v == pytest.approx(plain_v(real, "drug", "sex"))
    assert found.closeness["synthetic"].v == pytest.approx(plain_v(made, "drug", "sex"))


@pytest.mark.parametrize("back", [1, 2])
def test_a_row_and_the_one_before_it(back: int) -> None:
    def shifted(frames: Frames) -> pd.DataFrame:
        stays = frames["stays"].sort_values(["pid", "begins"])
        before = stays.groupby("pid")["ward"].shift(back)
        there = stays.groupby("pid").cumcount() >= back
        return pd.DataFrame({"ward": stays["ward"], "before": before})[there]

    found = pair("stays", "ward", "stays", "ward", back)
    assert found.kind == "previous"
    assert found.closeness["synthetic"].tvd == pytest.approx(plain_tvd(shifted(REAL), shifted(MADE), "ward", "before"))


def test_shuffled_columns_are_the_product_of_single_ones() -> None:
    found = pair("patients", "sex", "patients", "age")
    sex, age = (binned(REAL["patients"][name], REAL["patients"][name])[0] for name in ("sex", "age"))
    joint = pd.crosstab(sex, age, normalize="all")
    apart = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    assert found.closeness["shuffled"].tvd == pytest.approx(float(np.abs(joint.to_numpy() - apart).sum() / 2))
    assert found.closeness["shuffled"].v == pytest.approx(0, abs=1e-9)


def test_cross_tabs_come_along() -> None:
    found = pair("stays", "ward", "patients", "sex")
    assert found.counts is not None
    assert found.counts["real"].sum() == len(REAL["stays"])
    assert found.counts["synthetic"].sum() == len(MADE["stays"])


def judges() -> Iterator[ModuleType]:
    """The yardstick of the benchmarks, and the one beside the project where it is there."""
    yield own_judge
    beside = Path(__file__).resolve().parents[4] / "shared" / "bench" / "judge.py"
    if beside.is_file():
        spec = spec_from_file_location("judge_beside_the_project", beside)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module


@pytest.mark.parametrize("judge", list(judges()), ids=lambda module: module.__name__)
def test_the_means_are_those_of_the_yardstick(judge: ModuleType) -> None:
    tables = [
        {name: frames[name].astype({"drug": str} if name == "takes" else {}) for name in SPEC} for frames in (REAL, MADE, OTHERS)
    ]
    judged = judge.judge(SPEC, *tables)
    kinds = {"intra": "row", "inter": "ancestor", "seq": "previous"}
    found = evaluation()
    for theirs, ours in (("synth", "synthetic"), ("ref", "holdout")):
        for kind, mine in kinds.items():
            mean = found.means[ours][mine]  # type: ignore[index]
            figures = {"kl": mean.kl, "cramer": mean.v, "cramer_real": mean.v_real, "cramer_err": mean.v_error, "tvd": mean.tvd}
            assert judged[theirs][kind] == pytest.approx(figures, abs=6e-5)
        # The yardstick leaves points in time out.
        alone = [column.tvd[ours] for column in found.columns if column.paired]  # type: ignore[index]
        assert judged[theirs]["one_way_tvd"] == pytest.approx(np.mean(alone), abs=6e-5)
        same = [s for s in found.stickiness if s.table == "stays"]
        off = [abs(s.same["real"] - s.same[ours]) for s in same]  # type: ignore[index]
        assert judged[theirs]["stickiness_err"] == pytest.approx(np.mean(off), abs=6e-5)
        last = [s.last_tvd[ours] for s in same]  # type: ignore[index]
        assert judged[theirs]["last_row_tvd"] == pytest.approx(np.mean(last), abs=6e-5)
        assert judged[theirs]["rows_equal_to_a_real_one"]["patients"] == pytest.approx(
            next(c.share[ours] for c in found.copies if c.table == "patients"),
            abs=6e-5,  # type: ignore[index]
        )


def test_all_of_it_is_json_and_says_what_it_is() -> None:
    written = json.loads(json.dumps(evaluation().to_json(), allow_nan=False))
    assert written["status"].startswith("internal, not private")
    assert {"columns", "pairs", "means", "broken", "trajectories", "together", "copies"} <= set(written)
    assert len(written["pairs"]) == len(evaluation().pairs)
