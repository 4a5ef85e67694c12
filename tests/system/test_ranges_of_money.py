"""Small money in many rows of few people: no fit ends among numbers with ten digits, and what is only guessed is told."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mare
from mare.schema.loading import load_schema

SCHEMA = load_schema("""
mare: 1
entity: customers
tables:
  customers:
    key: id
    columns: {segment: {type: category, values: [a, b]}, since: {type: date, learn: true}, spent: {type: number, learn: true}}
  payments:
    key: payment_id
    parent: {table: customers, column: id, max_rows: 100}
    columns: {amount: {type: number, learn: true, precision: 2}}
""")
PEOPLE, PRICES = 800, (0.99, 1.99, 2.99, 4.99, 4.99, 5.99, 6.99, 8.99, 9.99, 11.99)


@pytest.fixture(scope="module")
def shop() -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(1)
    who = np.repeat(np.arange(PEOPLE), rng.integers(5, 31, PEOPLE))
    since = pd.Timestamp("2010-01-01") + pd.to_timedelta(rng.integers(0, 3650, PEOPLE), unit="D")
    people = {"id": range(PEOPLE), "segment": rng.choice(["a", "b"], PEOPLE), "since": since}
    payments = {"payment_id": range(len(who)), "id": who, "amount": rng.choice(PRICES, len(who))}
    return {"customers": pd.DataFrame({**people, "spent": rng.gamma(3, 40, PEOPLE)}), "payments": pd.DataFrame(payments)}


@pytest.mark.parametrize("seed", range(5))
def test_a_range_does_not_end_where_only_noise_is(shop: dict[str, pd.DataFrame], seed: int) -> None:
    release = mare.fit(mare.plan(SCHEMA, mare.Budget(2, 1e-9)), shop, unsafe_seed=seed)
    frames = mare.sample(release, seed=seed)
    amounts, spent = frames["payments"]["amount"], frames["customers"]["spent"]
    assert amounts.max() < 10 * max(PRICES)
    assert 3 < amounts.median() < 7
    assert spent.max() < 10_000
    guessed = {doubt.where for doubt in release.doubts}
    # The few that lie above ten stand clear as one piece from ten to millions; where they did, somebody is told.
    high = release.plan.learned["payments.amount"].high
    assert "payments.amount" in guessed or high <= 5000


def test_where_nothing_is_known_money_is_not_taken_to_be_nothing(shop: dict[str, pd.DataFrame]) -> None:
    few = {"customers": shop["customers"][:30], "payments": shop["payments"][lambda rows: rows["id"] < 30]}
    release = mare.fit(mare.plan(SCHEMA, mare.Budget(0.5, 1e-9)), few, unsafe_seed=1)
    assert {"payments.amount", "customers.spent"} <= {doubt.where for doubt in release.doubts}
    assert mare.sample(release, seed=1)["customers"]["spent"].max() > 10
