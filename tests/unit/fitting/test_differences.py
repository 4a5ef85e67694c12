"""How near numbers are, from noisy differences; and what it does to rows: weights from visit to visit, before and after."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mare
from mare.codec import Bins
from mare.fitting.differences import difference_grid, nearest_likeliest, partner

PEOPLE, VISITS = 400, 25
SCHEMA = """
mare: 1
entity: people
tables:
  people:
    key: pid
    columns: {sex: {type: category, values: [F, M]}}
  visits:
    parent: {table: people, column: pid, type: sequential, order_by: number, max_rows: 40}
    columns:
      number: {type: position}
      before: {type: number, precision: 1, min: 0, max: 250}
      after:  {type: number, precision: 1, min: 0, max: 250}
      pulse:  {type: integer, min: 0, max: 250}
"""


@pytest.fixture(scope="module")
def clinic() -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(8)
    people = pd.DataFrame({"pid": np.arange(PEOPLE), "sex": rng.choice(["F", "M"], PEOPLE)})
    pid = np.repeat(people.pid, VISITS).to_numpy()
    dry = rng.normal(72, 14, PEOPLE)[pid] + np.concatenate([np.cumsum(rng.normal(0, 0.3, VISITS)) for _ in range(PEOPLE)])
    gained = np.maximum(0.2, rng.normal(2.2, 0.6, len(pid)))
    pulse = rng.normal(75, 9, len(pid)).round()
    number = np.tile(np.arange(1, VISITS + 1), PEOPLE)
    columns = {"pid": pid, "number": number, "before": (dry + gained).round(1), "after": dry.round(1), "pulse": pulse.astype(int)}
    return {"people": people, "visits": pd.DataFrame(columns)}


@pytest.fixture(scope="module")
def release(clinic: dict[str, pd.DataFrame]) -> mare.Release:
    return mare.fit(mare.plan(mare.load_schema(SCHEMA), mare.Budget(100, 1e-9)), clinic, unsafe_seed=4)


def test_what_goes_together_stays_together_along_a_sequence(release: mare.Release) -> None:
    """Without it, one in twenty weights of one day was 27 kg apart, and one in ten jumped by 5 kg from visit to visit."""
    made = mare.sample(release, seed=6)["visits"]
    gained, step = made.before - made.after, made.groupby("pid").after.diff().abs().dropna()
    assert gained.abs().quantile(0.95) < 12
    assert step.quantile(0.9) < 2.5


def test_what_has_nothing_to_do_with_each_other_is_not_looked_at_so(release: mare.Release) -> None:
    near = {name: [each.beside for each in order.near] for name, order in release.plan.learned.items() if hasattr(order, "near")}
    assert near["visits.after"] == [None, "before"]
    assert near["visits.pulse"] == []


@pytest.mark.parametrize("seed", [5, 6])
def test_first_rows_have_nothing_before_them(clinic: dict[str, pd.DataFrame], seed: int) -> None:
    """Where first rows have a network of their own, what is close to the row before is drawn there without it."""
    release = mare.fit(mare.plan(mare.load_schema(SCHEMA), mare.Budget(1000, 1e-9)), clinic, unsafe_seed=seed)
    assert release.model("visits.rows").beginning is not None  # type: ignore[attr-defined]


def test_the_release_keeps_it(release: mare.Release, tmp_path) -> None:  # type: ignore[no-untyped-def]
    release.save(tmp_path / "near.mare")
    again = mare.load_release(tmp_path / "near.mare")
    assert again.plan.learned == release.plan.learned


def test_nearer_is_never_less_likely_than_further() -> None:
    chance = np.array([0.3, 0.15, 0.05, 0.05, 0.15, 0.3])
    usual = nearest_likeliest(np.array([30.0, -20.0, 400.0, 500.0, 60.0, 10.0]), chance)
    assert usual.sum() == pytest.approx(1)
    times = usual / chance
    assert (np.diff(times[:4]) >= -1e-9).all()
    assert (np.diff(times[3:]) <= 1e-9).all()


def test_noise_alone_is_chance_or_less() -> None:
    chance = np.full(20, 0.05)
    assert nearest_likeliest(np.full(20, -3.0), chance).tolist() == chance.tolist()


@pytest.mark.parametrize(("step", "reach"), [(1, 10), (1, 2500), (5, 2500), (1, 10**12), (100, 10**12)])
def test_cells_of_differences(step: int, reach: int) -> None:
    edges = difference_grid(step, reach).edges
    assert edges[0] < -reach
    assert edges[-1] > reach
    assert len(edges) < 60
    assert sorted(1 - edge for edge in edges) == list(edges)


def test_a_partner_lies_where_a_column_does() -> None:
    def of(low: int, high: int) -> Bins:
        return Bins((0, low, high, 1000), (0, low, high, 1000), (0.0, 1.0, 0.0))

    assert partner(of(400, 600), {"there": of(420, 640), "elsewhere": of(10, 90), "nearly": of(500, 700)}) == "there"
    assert partner(of(400, 600), {"elsewhere": of(10, 90)}) is None


def test_a_column_may_be_called_previous() -> None:
    """How far it is from that column is one line of the ledger, how far from the row before another one."""
    rows = pd.DataFrame({"pid": np.repeat(np.arange(20), 3), "number": np.tile([1, 2, 3], 20), "previous": 80.0, "weight": 80.0})
    visits = """
  visits:
    parent: {table: people, column: pid, type: sequential, order_by: number, max_rows: 3}
    columns:
      number: {type: position}
      previous: {type: number, precision: 1, min: 0, max: 250}
      weight: {type: number, precision: 1, min: 0, max: 250}
"""
    data = {"people": pd.DataFrame({"pid": np.arange(20), "sex": "F"}), "visits": rows}
    schema = mare.load_schema(SCHEMA.partition("  visits:")[0] + visits.lstrip("\n"))
    ledger = mare.fit(mare.plan(schema, mare.Budget(100, 1e-9)), data, unsafe_seed=4).ledger
    asked = {charge.view for charge in ledger.charges if charge.view.startswith("visits.")}
    assert {"visits.weight - previous", "visits.change(weight)", "visits.change(previous)"} <= asked
