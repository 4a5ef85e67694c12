"""At a huge ε the synthetic joint distributions are the real ones, up to the luck of the draw: within a row, between a row and
its parent, its previous row, and the keys of an association.

The real data are whole populations: every kind of person so often as a rational distribution says, so what is independent given
something is exactly so in the data, and the network that the default model has to find is within its reach. The noise is a
tenth of a row or less (checked), which moves no table of thousands of rows by 0.001. All that is left is that ``n`` people
are drawn: for a table of ``k`` cells with every person adding at most 1/n of it, E TVD ≤ ½√((k-1)/n) (Jensen,
Cauchy–Schwarz), and TVD exceeds its mean by √(ln(1/β)/2n) with a chance of at most β (McDiarmid: one person moves it by at
most 1/n).

So a correct model fails one of these comparisons with a chance of at most β = 1e-9; a model without the dependence misses by
several times the bound, which is checked too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise, product
from math import log, sqrt

import pandas as pd
import pyarrow as pa
import pytest

from mare.fitting import FitOptions, run_fit
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.sampling import sample
from mare.schema.loading import load_schema
from tests.memory_source import MemorySource

Frames = dict[str, pd.DataFrame]
Pairs = Callable[[Frames], dict[str, pd.DataFrame]]
"""Tables whose rows are to be distributed as the real ones, each person with equally many rows in one of them."""

HUGE = Budget(1e6, 1e-9)
DRAWN = 60_000
BETA = 1e-9
NOISE = 0.001
"""What the noise of this ε may add to a TVD."""


def bound(cells: int, people: int) -> float:
    """What TVD a correct model may show for a table of so many cells. Wrong with a chance of at most β."""
    return 0.5 * sqrt((cells - 1) / people) + sqrt(log(1 / BETA) / (2 * people)) + NOISE


def tvd(one: pd.DataFrame, other: pd.DataFrame) -> tuple[float, int]:
    """Between the empirical distributions of their rows, and how many cells the two have together."""
    first, second = (frame.value_counts(normalize=True) for frame in (one, other))
    apart = first.subtract(second, fill_value=0.0).abs()
    return float(apart.sum()) / 2, len(apart)


def shuffled(table: pd.DataFrame) -> pd.DataFrame:
    """The product of the columns' own distributions, as a table: what a model without dependences would make at best."""
    whole = table.copy()
    for place, name in enumerate(table.columns[1:]):
        whole[name] = table[name].sample(frac=1, random_state=place).to_numpy()
    return whole


# ---------------------------------------------------------------------- populations


def population(kinds: Iterator[tuple[dict[str, list[dict[str, object]]], int]], times: int) -> Frames:
    """Every kind of person so often as its weight says: rows by table, `people` first; keys are numbered here."""
    rows: dict[str, list[dict[str, object]]] = {}
    pid = 0
    for kind, weight in kinds:
        for _ in range(weight * times):
            for table, content in kind.items():
                rows.setdefault(table, []).extend({"pid": pid, **row} for row in content)
            pid += 1
    return {table: pd.DataFrame(content) for table, content in rows.items()}


A, X = ("a0", "a1", "a2"), ("x0", "x1", "x2")
OF_A = (3, 2, 1)
B_BY_A = {"a0": (5, 1, 1, 1), "a1": (1, 5, 1, 1), "a2": (1, 1, 1, 5)}
X_BY_A = {"a0": (3, 1, 0), "a1": (0, 2, 2), "a2": (1, 0, 3)}
STICKY = {"x0": (3, 1, 0), "x1": (0, 3, 1), "x2": (1, 0, 3)}
FLUID = {"x0": (0, 3, 1), "x1": (1, 0, 3), "x2": (3, 1, 0)}


def _row() -> Frames:
    def kinds() -> Iterator[tuple[dict[str, list[dict[str, object]]], int]]:
        b_codes, c_codes = ("b0", "b1", "b2", "b3"), ("c0", "c1", "c2")
        for (i, a), (j, b), (k, c) in product(enumerate(A), enumerate(b_codes), enumerate(c_codes)):
            c_given = ((2, 1, 1), (0, 1, 3), (4, 0, 0))[(i + j) % 3]
            yield {"people": [{"a": a, "b": b, "c": c}]}, OF_A[i] * B_BY_A[a][j] * c_given[k]

    return population(kinds(), times=12)


def _children() -> Frames:
    def kinds() -> Iterator[tuple[dict[str, list[dict[str, object]]], int]]:
        for (i, a), (j, first), (k, second), count in product(enumerate(A), enumerate(X), enumerate(X), range(3)):
            counted = {"a0": (3, 1, 0), "a1": (1, 2, 1), "a2": (0, 1, 3)}[a][count]
            weight = OF_A[i] * X_BY_A[a][j] * X_BY_A[a][k] * counted
            children = [{"x": x, "y": "yes" if x == "x1" else "no"} for x in (first, second)]
            yield {"people": [{"a": a}], "children": children, "visits": [{"kind": a[1]}] * count}, weight

    return population(kinds(), times=8)


def _sequence(steps: dict[str, tuple[int, ...]]) -> Callable[[], Frames]:
    def made() -> Frames:
        def kinds() -> Iterator[tuple[dict[str, list[dict[str, object]]], int]]:
            for path in product(range(3), repeat=4):
                weight = (2, 1, 1)[path[0]]
                for before, now in pairwise(path):
                    weight *= steps[X[before]][now]
                yield {"people": [{"a": "a0"}], "visits": [{"n": n, "x": X[code]} for n, code in enumerate(path)]}, weight

        return population(kinds(), times=10)

    return made


def _one_after_the_other() -> Frames:
    """What ``y`` is follows from ``x`` of the row before, and ``z`` from its own value two rows before, and from nothing else."""

    def kinds() -> Iterator[tuple[dict[str, list[dict[str, object]]], int]]:
        for x, last, z in product(product(range(3), repeat=2), range(3), product((0, 1), repeat=4)):
            y = [0, *(int(code == 0) for code in (*x, last))]
            weight = (2, 1, 1)[x[0]] * (1, 2, 1)[x[1]] * (2, 1, 1)[last]
            for before, now in zip(z, z[2:], strict=False):
                weight *= 3 if before == now else 1
            rows = zip((*x, last, 0), y, z, strict=True)
            yield (
                {"people": [{"a": "a0"}], "visits": [{"n": n, "x": X[i], "y": j, "z": k} for n, (i, j, k) in enumerate(rows)]},
                weight,
            )

    return population(kinds(), times=2)


def _association() -> Frames:
    def kinds() -> Iterator[tuple[dict[str, list[dict[str, object]]], int]]:
        for (i, a), *taken in product(enumerate(A), *[(0, 1)] * 4):
            # drug 0 by who it is, 1 by drug 0, 2 by who it is, 3 whenever
            weights = (_of(taken[0], (3, 1, 2)[i]), _of(taken[1], 3 if taken[0] else 1), _of(taken[2], (1, 3, 4)[i]), 1)
            given = [{"drug_id": key} for key, there in enumerate(taken) if there]
            yield {"people": [{"a": a}], "gives": given}, OF_A[i] * weights[0] * weights[1] * weights[2] * weights[3]

    return {**population(kinds(), times=4), "drugs": pd.DataFrame({"drug_id": range(4)})}


def _of(there: int, four: int) -> int:
    """Out of four: so many have it."""
    return four if there else 4 - four


# ---------------------------------------------------------------------- what is compared


def _joined(made: Frames, table: str) -> pd.DataFrame:
    return made[table].merge(made["people"], on="pid")


def _previous(made: Frames) -> pd.DataFrame:
    visits = made["visits"].sort_values(["pid", "n"])
    table = visits.assign(before=visits.groupby("pid")["x"].shift(1))[["before", "x"]]
    return table.dropna()


def _earlier(made: Frames, column: str, earlier: str, back: int) -> pd.DataFrame:
    visits = made["visits"].sort_values(["pid", "n"])
    table = visits.assign(before=visits.groupby("pid")[earlier].shift(back))[["before", column]]
    return table.dropna().astype(str)


def _lists(made: Frames) -> pd.DataFrame:
    has = pd.crosstab(made["gives"]["pid"], made["gives"]["drug_id"]).clip(upper=1)
    return made["people"].set_index("pid").join(has).fillna(0).rename(columns={key: f"drug {key}" for key in range(4)})


def _pairs_of_lists(made: Frames) -> dict[str, pd.DataFrame]:
    lists = _lists(made)
    return {", ".join(pair): lists[list(pair)] for pair in (("a", "drug 0"), ("a", "drug 2"), ("drug 0", "drug 1"))}


@dataclass(frozen=True)
class Case:
    schema: str
    data: Callable[[], Frames]
    compared: Pairs


HEAD = "mare: 1\nentity: people\ntables:\n  people: {key: pid, columns: {a: {type: category, values: [a0, a1, a2]}%s}}\n"
_X = "{type: category, values: [x0, x1, x2]}"
_BIT = "{type: boolean, true: 1, false: 0}"
_VISITS = f"""
  visits:
    parent: {{table: people, column: pid, type: sequential, order_by: n, memory: 1, max_rows: 4}}
    columns: {{n: {{type: position, start: 0}}, x: {_X}}}
"""
CASES = {
    "within a row": Case(
        HEAD % ", b: {type: category, values: [b0, b1, b2, b3]}, c: {type: category, values: [c0, c1, c2]}",
        _row,
        lambda made: {
            "a, b": made["people"][["a", "b"]],
            "a, c": made["people"][["a", "c"]],
            "b, c": made["people"][["b", "c"]],
            "a, b, c": made["people"][["a", "b", "c"]],
        },
    ),
    "a row and its parent": Case(
        HEAD % ""
        + f"""
  children:
    parent: {{table: people, column: pid, max_rows: 2}}
    columns: {{x: {_X}, y: {{type: category, values: ["yes", "no"]}}}}
  visits: {{parent: {{table: people, column: pid, max_rows: 2}}, columns: {{kind: {{type: category, values: ["0", "1", "2"]}}}}}}
""",
        _children,
        lambda made: {
            "parent's a, x": _joined(made, "children")[["a", "x"]],
            "parent's a, y": _joined(made, "children")[["a", "y"]],
            "x, y": made["children"][["x", "y"]],
            "a, number of visits": made["people"].assign(
                count=made["people"]["pid"].map(made["visits"]["pid"].value_counts()).fillna(0).astype(int)
            )[["a", "count"]],
        },
    ),
    "a row and the previous one, mostly the same": Case(
        HEAD % "" + _VISITS, _sequence(STICKY), lambda made: {"previous x, x": _previous(made)}
    ),
    "a row and the previous one, never the same": Case(
        HEAD % "" + _VISITS, _sequence(FLUID), lambda made: {"previous x, x": _previous(made)}
    ),
    "another column of the previous row, and a row before that": Case(
        HEAD % ""
        + f"""
  visits:
    parent: {{table: people, column: pid, type: sequential, order_by: n, memory: 2, max_rows: 4}}
    columns: {{n: {{type: position, start: 0}}, x: {_X}, y: {_BIT}, z: {_BIT}}}
""",
        _one_after_the_other,
        lambda made: {"previous x, y": _earlier(made, "y", "x", 1), "z two rows before, z": _earlier(made, "z", "z", 2)},
    ),
    "keys of an association": Case(
        HEAD % ""
        + """
  drugs: {public: true, key: drug_id, rows: 4}
  gives:
    key: [pid, drug_id]
    parent: {table: people, column: pid, type: associative, via: drugs, column_via: drug_id, max_rows: 4}
""",
        _association,
        _pairs_of_lists,
    ),
}


ALIKE = ("a row and the previous one, never the same", "another column of the previous row, and a row before that")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] if name in ALIKE else []) for name in CASES])
def test_joint_distributions_are_the_real_ones(name: str) -> None:
    case = CASES[name]
    real = case.data()
    tables = {table: pa.Table.from_pandas(frame, preserve_index=False) for table, frame in real.items()}
    made_plan = plan(load_schema(case.schema), HUGE)
    release = run_fit(made_plan, MemorySource(tables, batch_rows=10_000), FitOptions(bits=SeededBits(1)))
    assert max(charge.scale for charge in release.ledger.charges if charge.mechanism == "discrete gaussian") < 0.1
    made = sample(release, entities=DRAWN, seed=2)
    assert made is not None
    true, synthetic = case.compared(real), case.compared(made)
    for pair, table in true.items():
        apart, cells = tvd(synthetic[pair], table)
        allowed = bound(cells, DRAWN)
        assert apart <= allowed, f"{pair}: TVD {apart:.4f}, at most {allowed:.4f} but with a chance of {BETA:g}"
        without, _ = tvd(shuffled(table), table)
        assert without > 3 * allowed, f"{pair}: a model that keeps no dependence would pass too ({without:.4f})"
