"""`mare init`, then `mare synth`, with no edit between: what comes out is like the source in what anybody would see at once."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.command_line import mare

FIRST, LAST = pd.Timestamp("2019-01-01"), pd.Timestamp("2023-12-31")

SHOP = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, email VARCHAR(80) NOT NULL UNIQUE, birth_date DATE NOT NULL,
    segment TEXT NOT NULL);
CREATE TABLE categories (id INTEGER PRIMARY KEY, name TEXT NOT NULL, parent_id INTEGER REFERENCES categories);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers, category_id INTEGER NOT NULL
    REFERENCES categories, ordered_on DATE NOT NULL, shipped_on DATE, discount_pct INTEGER NOT NULL,
    customer_segment TEXT NOT NULL);
"""
BANK = """
CREATE TABLE client (client_id INTEGER PRIMARY KEY, sex TEXT NOT NULL, birth_date TEXT NOT NULL);
CREATE TABLE account (account_id INTEGER PRIMARY KEY, opened_date TEXT NOT NULL, kind TEXT NOT NULL);
CREATE TABLE disp (client_id INTEGER NOT NULL REFERENCES client, account_id INTEGER NOT NULL REFERENCES account,
    role TEXT NOT NULL, PRIMARY KEY (client_id, account_id));
CREATE TABLE trans (trans_id INTEGER PRIMARY KEY, account_id INTEGER NOT NULL REFERENCES account, booked_date TEXT NOT NULL,
    amount REAL NOT NULL);
"""


def days(rng: np.random.Generator, count: int, first: str, last: str) -> pd.Series:
    start, end = pd.Timestamp(first), pd.Timestamp(last)
    return pd.Series(start + pd.to_timedelta(rng.integers(0, (end - start).days, count), unit="D"))


def shop(people: int = 400) -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(1)
    segment = rng.choice(["a", "b", "c"], people)
    who = np.repeat(np.arange(people), rng.integers(0, 6, people))
    ordered = days(rng, len(who), "2019-01-01", "2023-11-30")
    shipped = (ordered + pd.to_timedelta(rng.integers(1, 9, len(who)), unit="D")).where(rng.random(len(who)) < 0.8)
    orders = {"id": range(len(who)), "customer_id": who, "category_id": rng.integers(1, 5, len(who)), "ordered_on": ordered}
    return {
        "customers": pd.DataFrame(
            {
                "id": range(people),
                "email": [f"{n}@shop.test" for n in range(people)],
                "birth_date": days(rng, people, "1940-01-01", "2003-12-31"),
                "segment": segment,
            }
        ),
        "categories": pd.DataFrame({"id": range(1, 5), "name": list("wxyz"), "parent_id": [None, 1, 1, 3]}),
        "orders": pd.DataFrame(
            {**orders, "shipped_on": shipped, "discount_pct": rng.choice([0, 5, 20], len(who)), "customer_segment": segment[who]}
        ),
    }


def bank(accounts: int = 400) -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(2)
    opened = days(rng, accounts, "2019-01-01", "2021-12-31")
    account = np.concatenate([np.arange(accounts), np.arange(0, accounts, 4)])
    which = np.repeat(np.arange(accounts), rng.integers(1, 9, accounts))
    later = pd.to_timedelta(rng.integers(0, 700, len(which)), unit="D")
    booked = opened.iloc[which].reset_index(drop=True) + later
    kind = rng.choice(["giro", "savings"], accounts)
    role = np.where(np.arange(len(account)) < accounts, "owner", "user")
    return {
        "client": pd.DataFrame(
            {
                "client_id": range(len(account)),
                "sex": rng.choice(["f", "m"], len(account)),
                "birth_date": days(rng, len(account), "1940-01-01", "2000-12-31"),
            }
        ),
        "account": pd.DataFrame({"account_id": range(accounts), "opened_date": opened, "kind": kind}),
        "disp": pd.DataFrame({"client_id": range(len(account)), "account_id": account, "role": role}),
        "trans": pd.DataFrame(
            {
                "trans_id": range(len(which)),
                "account_id": which,
                "booked_date": booked,
                "amount": np.round(rng.lognormal(4, 1, len(which)), 2),
            }
        ),
    }


def written(path: Path, script: str, tables: dict[str, pd.DataFrame]) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(script)
        for name, frame in tables.items():
            text = frame.apply(lambda c: c.dt.strftime("%Y-%m-%d") if pd.api.types.is_datetime64_any_dtype(c) else c)
            text.to_sql(name, connection, if_exists="append", index=False)
    return path


@pytest.mark.slow
@pytest.mark.parametrize(("script", "tables"), [(SHOP, shop()), (BANK, bank())], ids=["shop", "bank"])
def test_an_unedited_draft_gives_something_sensible(tmp_path: Path, script: str, tables: dict[str, pd.DataFrame]) -> None:
    source, draft, target = written(tmp_path / "real.sqlite", script, tables), tmp_path / "draft.yaml", tmp_path / "made.sqlite"
    drafted = mare("init", source, "--between", FIRST.date(), LAST.date(), "--entities", 400, "-o", draft)
    assert drafted.returncode == 0, drafted.stderr
    checked = mare("check", draft, "--from", source)
    assert checked.returncode == 0, checked.stdout
    synthesized = mare("synth", draft, "--from", source, "--to", target, "--epsilon", 1000, "--quiet", folder=tmp_path)
    assert synthesized.returncode == 0, synthesized.stderr
    with closing(sqlite3.connect(target)) as made:
        assert made.execute("PRAGMA foreign_key_check").fetchall() == []
        for name, real in tables.items():
            rows = pd.read_sql(f'SELECT * FROM "{name}"', made)
            assert len(rows) == pytest.approx(len(real), rel=0.1)
            for column in real:
                assert rows[column].nunique() > 1, f"{name}.{column} stands on one value"
                assert not (rows[column].isna().any() and real[column].notna().all()), f"{name}.{column} is NULL somewhere"
                if pd.api.types.is_datetime64_any_dtype(real[column]):
                    assert pd.to_datetime(rows[column]).max() <= LAST, f"{name}.{column} goes past the end of the data"


LABS = """
CREATE TABLE patients (id INTEGER PRIMARY KEY, sex TEXT NOT NULL);
CREATE TABLE labs (id INTEGER PRIMARY KEY, patient_id INTEGER NOT NULL REFERENCES patients, days INTEGER NOT NULL,
    test TEXT NOT NULL, value REAL NOT NULL);
"""


def panels(people: int = 400) -> dict[str, pd.DataFrame]:
    """Two lipids are always taken together, a pressure by itself; days count from a day of each patient's own."""
    rng = np.random.default_rng(3)
    rows = []
    for patient in range(people):
        days = -int(rng.integers(0, 400))
        for _ in range(rng.integers(1, 7)):
            days += int(rng.integers(20, 200))
            tests = ("chol", "hdl") if rng.random() < 0.7 else ("sbp",)
            rows += [(patient, days, test, round(rng.normal({"chol": 200, "hdl": 50, "sbp": 130}[test], 9))) for test in tests]
    labs = pd.DataFrame(rows, columns=["patient_id", "days", "test", "value"])
    labs.insert(0, "id", range(len(labs)))
    return {"patients": pd.DataFrame({"id": range(people), "sex": rng.choice(["f", "m"], people)}), "labs": labs}


def taken_together(labs: pd.DataFrame) -> pd.Series:
    """How often these tests, and no others, were taken on one day of one patient."""
    days = labs.sort_values("test").groupby(["patient_id", "days"])["test"].agg("+".join)
    return days.value_counts(normalize=True).reindex(["chol+hdl", "sbp", "chol", "hdl"], fill_value=0)


@pytest.mark.slow
def test_what_was_measured_together_comes_out_together(tmp_path: Path) -> None:
    tables = panels()
    source, draft, target = written(tmp_path / "real.sqlite", LABS, tables), tmp_path / "draft.yaml", tmp_path / "made.sqlite"
    assert mare("init", source, "--between", FIRST.date(), LAST.date(), "--entities", 400, "-o", draft).returncode == 0
    done = mare("synth", draft, "--from", source, "--to", target, "--epsilon", 1000, "--quiet", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    with closing(sqlite3.connect(target)) as made:
        shares = taken_together(pd.read_sql("SELECT * FROM labs", made))
    assert shares.to_numpy() == pytest.approx(taken_together(tables["labs"]).to_numpy(), abs=0.1)
