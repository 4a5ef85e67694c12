"""Determined columns that go along a sequence, take cases apart or add up what is below: true in every row that comes out."""

from __future__ import annotations

from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mare.errors import PlanError
from mare.fitting import fit
from mare.planning.planning import plan
from mare.privacy.budget import Budget
from mare.release import Release
from mare.sampling import sample
from mare.schema import Schema
from mare.schema.loading import load_schema
from tests.memory_source import MemorySource

BANK = """
mare: 1
entity: accounts
tables:
  accounts:
    key: account
    columns:
      opened:   {type: number, min: 0, max: 500, precision: 2}
      turnover: {type: number, precision: 2, determined: {sum: moves.amount}}
      moves:    {type: integer, determined: {count: moves}}
      lines:    {type: integer, determined: {count: lines}}
      usual:    {type: number, nullable: true, precision: 3, determined: {mean: moves.amount}}
      least:    {type: number, nullable: true, precision: 2, determined: {min: moves.amount}}
      latest:   {type: date, nullable: true, determined: {max: moves.day}}
      began:    {type: category, values: [credit, debit], nullable: true, determined: {first_of: moves.type}}
      ended:    {type: number, nullable: true, precision: 2, determined: {last_of: moves.balance}}
      twice:    {type: number, precision: 2, determined: {expression: turnover * 2}}
  moves:
    key: move
    parent: {table: accounts, column: account, type: sequential, order_by: day, max_rows: 12}
    columns:
      day:      {type: date, after: previous.day, within: 60d, first: {min: 2020-01-01, max: 2020-12-31}}
      type:     {type: category, values: [credit, debit]}
      amount:   {type: number, min: 0, max: 1000, precision: 2, nullable: true}
      balance:
        type: number
        precision: 2
        determined:
          expression: previous.balance + if(type = 'credit', coalesce(amount, 0), -coalesce(amount, 0))
          first: parent.opened + if(type = 'credit', coalesce(amount, 0), -coalesce(amount, 0))
      running:  {type: number, nullable: true, precision: 2, determined: {expression: previous.running + amount, first: amount}}
      number:   {type: integer, determined: {expression: previous.number + 1, first: 1}}
      gained:
        type: number
        precision: 2
        determined:
          when: [{if: type = 'credit', then: {expression: "previous.gained + coalesce(amount, 0)"}}]
          else: {copy_of: previous.gained}
          first: {expression: "parent.opened + if(type = 'credit', coalesce(amount, 0), 0)"}
      before:   {type: date, nullable: true, determined: {copy_of: previous.day}}
      was:      {type: category, values: [credit, debit, none], determined: {copy_of: previous.type, first: type}}
      state:
        type: category
        values: [calm, low, never]
        determined:
          when: [{if: previous.state = 'low', then: low}, {if: balance < 0, then: low}]
          else: calm
      share:
        type: number
        precision: 4
        determined:
          when: [{if: parent.turnover > 0, then: {expression: "coalesce(amount, 0) / parent.turnover"}}]
          else: 0
      size:
        type: category
        values: [big, small, unknown]
        determined: {when: [{if: amount >= 700, then: big}, {if: amount is null, then: unknown}], else: small}
  lines:
    parent: {table: moves, column: move, type: independent, max_rows: 3}
    columns: {kind: {type: category, values: [a, b]}}
"""


def bank() -> Schema:
    return load_schema(BANK)


def source(accounts: int = 300) -> MemorySource:
    rng = np.random.default_rng(3)
    counts = rng.integers(0, 13, accounts)
    owner = np.repeat(np.arange(accounts), counts)
    rows = len(owner)
    amounts = np.round(rng.gamma(2, 150, rows), 2).clip(0, 1000)
    unknown: dict[str, Any] = {
        "running": pa.nulls(rows, pa.float64()), "number": np.zeros(rows, dtype=np.int64), "share": np.zeros(rows),
        "before": pa.nulls(rows, pa.date32()), "was": pa.nulls(rows, pa.string()), "state": pa.nulls(rows, pa.string()),
        "size": pa.nulls(rows, pa.string()), "balance": np.zeros(rows), "gained": np.zeros(rows),
    }  # fmt: skip
    moves = pa.table(
        {
            "move": np.arange(rows),
            "account": owner,
            "day": pa.array((18262 + rng.integers(0, 700, rows)).astype(np.int32), pa.date32()),
            "type": rng.choice(["credit", "debit"], rows),
            "amount": pa.array(amounts, mask=rng.random(rows) < 0.1),
            **unknown,
        }
    )
    whose = rng.integers(0, rows, rows)
    totals = ["turnover", "usual", "least", "ended", "twice"]
    return MemorySource(
        {
            "accounts": pa.table(
                {
                    "account": np.arange(accounts),
                    "opened": np.round(rng.uniform(0, 500, accounts), 2),
                    **{name: np.zeros(accounts) for name in totals},
                    "moves": np.zeros(accounts, dtype=np.int64),
                    "lines": np.zeros(accounts, dtype=np.int64),
                    "latest": pa.nulls(accounts, pa.date32()),
                    "began": pa.nulls(accounts, pa.string()),
                }
            ),
            "moves": moves,
            "lines": pa.table({"move": whose, "kind": rng.choice(["a", "b"], rows)}),
        }
    )


@cache
def fitted() -> Release:
    return fit(plan(bank(), Budget(50, 1e-6)), source(), unsafe_seed=1)


@cache
def frames() -> dict[str, pd.DataFrame]:
    found = sample(fitted(), entities=400, seed=2)
    assert found is not None
    return found


def cents(values: pd.Series) -> list[Decimal | None]:
    return [None if pd.isna(value) else Decimal(repr(float(value))) for value in values]


def sequences() -> list[pd.DataFrame]:
    return [rows for _, rows in frames()["moves"].groupby("account", sort=False)]


def test_nothing_of_it_is_modelled() -> None:
    asked = {name for group in fitted().plan.groups for name in group.columns.names}
    determined = {c for t in bank().tables.values() for c, column in t.columns.items() if column.determined is not None}
    assert len(determined) == 18
    assert not asked & determined


def test_a_balance_goes_on_from_row_to_row_to_the_last_digit() -> None:
    opened = dict(zip(frames()["accounts"]["account"], cents(frames()["accounts"]["opened"]), strict=True))
    assert sum(map(len, sequences())) > 1000
    for rows in sequences():
        at = opened[rows["account"].iloc[0]]
        for kind, amount, balance in zip(rows["type"], cents(rows["amount"]), cents(rows["balance"]), strict=True):
            assert at is not None
            at += (amount or Decimal(0)) * (1 if kind == "credit" else -1)
            assert balance == at


def test_a_null_makes_all_that_follows_null_unless_it_is_coalesced() -> None:
    for rows in sequences():
        sums: Decimal | None = Decimal(0)
        for amount, running in zip(cents(rows["amount"]), cents(rows["running"]), strict=True):
            sums = None if sums is None or amount is None else sums + amount
            assert running == sums


def test_copies_of_the_previous_row() -> None:
    for rows in sequences():
        assert list(rows["number"]) == list(range(1, len(rows) + 1))
        assert rows["before"].isna().iloc[0]
        assert list(rows["before"].iloc[1:]) == list(rows["day"].iloc[:-1])
        assert list(rows["was"]) == [rows["type"].iloc[0], *rows["type"].iloc[:-1]]


def test_the_first_case_that_holds_decides_and_may_look_at_its_own_past() -> None:
    assert set(frames()["moves"]["size"]) == {"big", "small", "unknown"}
    for rows in sequences():
        low = np.maximum.accumulate(rows["balance"].to_numpy() < 0)
        assert list(rows["state"]) == ["low" if at else "calm" for at in low]
        for amount, size in zip(rows["amount"], rows["size"], strict=True):
            assert size == ("unknown" if pd.isna(amount) else "big" if amount >= 700 else "small")


def test_what_is_below_adds_up() -> None:
    accounts, moves = frames()["accounts"].set_index("account"), frames()["moves"]
    by = moves.groupby("account")
    assert (accounts["moves"] == by.size().reindex(accounts.index, fill_value=0)).all()
    assert (accounts["moves"] == 0).any()
    lines = frames()["lines"].merge(moves[["move", "account"]], on="move").groupby("account").size()
    assert (accounts["lines"] == lines.reindex(accounts.index, fill_value=0)).all()
    assert np.allclose(accounts["turnover"], by["amount"].sum().reindex(accounts.index, fill_value=0), atol=1e-9)
    assert (accounts["twice"] == (accounts["turnover"] * 2).round(2)).all()
    for column, wanted in {
        "usual": by["amount"].mean().round(3),
        "least": by["amount"].min(),
        "latest": by["day"].max(),
        "began": by["type"].first(),
        "ended": by["balance"].last(),
    }.items():
        expected = wanted.reindex(accounts.index)
        assert (accounts[column].isna() == expected.isna()).all(), column
        there = expected.notna()
        if column == "usual":
            assert np.allclose(accounts[column][there], expected[there], atol=5.1e-4)
        else:
            assert (accounts[column][there] == expected[there]).all(), column


def test_a_row_may_look_at_what_its_parent_adds_up() -> None:
    turnover = frames()["accounts"].set_index("account")["turnover"]
    moves = frames()["moves"]
    above = turnover[moves["account"]].to_numpy()
    expected = np.where(above > 0, moves["amount"].fillna(0) / np.where(above > 0, above, 1), 0)
    assert np.allclose(moves["share"], expected, atol=5e-5)


def test_chunks_threads_and_the_way_through_a_file_change_nothing(tmp_path: Path) -> None:
    fitted().save(tmp_path / "bank.mare")
    again = sample(tmp_path / "bank.mare", entities=400, seed=2, threads=2)
    assert again is not None
    for name, frame in frames().items():
        pd.testing.assert_frame_equal(frame, again[name])


def test_entities_are_not_chosen_by_what_is_below_them() -> None:
    with pytest.raises(PlanError, match=r"accounts.twice is worked out from the rows of other tables"):
        sample(fitted(), entities=5, where="twice > 3")


def test_given_rows_keep_what_they_say_and_the_rest_is_worked_out() -> None:
    given = pd.DataFrame({"account": [7, 8], "opened": [100.0, 50.0]})
    found = sample(fitted(), given={"accounts": given}, seed=4)
    assert found is not None
    accounts = found["accounts"].set_index("account")
    assert list(accounts.index) == [7, 8]
    assert (accounts["moves"] == found["moves"].groupby("account").size().reindex([7, 8], fill_value=0)).all()
    said = sample(fitted(), given={"accounts": given.assign(moves=[90, 91])}, seed=4)
    assert said is not None
    assert list(said["accounts"]["moves"]) == [90, 91]


def test_the_first_row_of_cases_may_be_worked_out() -> None:
    made = frames()
    rows = made["moves"].merge(made["accounts"][["account", "opened"]], on="account")
    came = rows["amount"].fillna(0).astype(float).where(rows["type"] == "credit", 0.0)
    wanted = rows["opened"].astype(float) + came.groupby(rows["account"]).cumsum()
    assert len(rows) > 1000
    assert np.allclose(rows["gained"].astype(float), wanted, atol=0.006)
