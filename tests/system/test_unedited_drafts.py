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


STAFF = """
CREATE TABLE departments (dept_no CHAR(4) PRIMARY KEY, dept_name TEXT NOT NULL);
CREATE TABLE employees (emp_no INTEGER PRIMARY KEY, birth_date DATE NOT NULL, hire_date DATE NOT NULL);
CREATE TABLE dept_emp (emp_no INTEGER NOT NULL REFERENCES employees, dept_no CHAR(4) NOT NULL REFERENCES departments,
    from_date DATE NOT NULL, to_date DATE NOT NULL, PRIMARY KEY (emp_no, dept_no));
CREATE TABLE titles (emp_no INTEGER NOT NULL REFERENCES employees, title VARCHAR(40) NOT NULL, from_date DATE NOT NULL,
    to_date DATE NOT NULL, PRIMARY KEY (emp_no, title, from_date));
"""
NEVER = "9999-01-01"


def staff(people: int = 1000) -> dict[str, pd.DataFrame]:
    """Each has one department, or two one after the other; seven in ten are still there. Engineers are in d1, d3 and d5 alone."""
    rng = np.random.default_rng(4)
    hired = days(rng, people, "2000-01-01", "2015-12-31")
    left = (hired + pd.to_timedelta(rng.integers(400, 2900, people), unit="D")).dt.strftime("%Y-%m-%d")
    ends = pd.Series(np.where(rng.random(people) < 0.7, NEVER, left))
    began, dept = hired.dt.strftime("%Y-%m-%d"), rng.integers(1, 7, people)
    moved = np.flatnonzero(rng.random(people) < 0.2)
    change = (hired + pd.to_timedelta(rng.integers(100, 399, people), unit="D")).dt.strftime("%Y-%m-%d")
    until = ends.where(~np.isin(np.arange(people), moved), change)
    names = [f"d{n}" for n in dept]
    first = pd.DataFrame({"emp_no": range(people), "dept_no": names, "from_date": began, "to_date": until})
    second = pd.DataFrame(
        {
            "emp_no": moved,
            "dept_no": [f"d{(n + 1) % 6 + 1}" for n in dept[moved]],
            "from_date": change[moved],
            "to_date": ends[moved],
        }
    )
    title = np.where(dept % 2 == 1, "Engineer", "Clerk")
    return {
        "departments": pd.DataFrame({"dept_no": [f"d{n}" for n in range(1, 7)], "dept_name": list("uvwxyz")}),
        "employees": pd.DataFrame(
            {"emp_no": range(people), "birth_date": days(rng, people, "1950-01-01", "1979-12-31"), "hire_date": hired}
        ),
        "dept_emp": pd.concat([first, second]).sort_values(["emp_no", "from_date"]),
        "titles": pd.DataFrame({"emp_no": range(people), "title": title, "from_date": began, "to_date": ends}),
    }  # fmt: skip


@pytest.mark.slow
def test_staff_is_still_there_in_one_department_and_titles_fit_it(tmp_path: Path) -> None:
    tables = staff()
    source, draft, target = written(tmp_path / "real.sqlite", STAFF, tables), tmp_path / "draft.yaml", tmp_path / "made.sqlite"
    assert mare("init", source, "--between", "2000-01-01", "2023-12-31", "--entities", 1000, "-o", draft).returncode == 0
    checked = mare("check", draft, "--from", source)
    assert checked.returncode == 0, checked.stdout
    done = mare("synth", draft, "--from", source, "--to", target, "--epsilon", 1000, "--quiet", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    with closing(sqlite3.connect(target)) as made:
        people, jobs, titles = (pd.read_sql(f"SELECT * FROM {name}", made) for name in ("employees", "dept_emp", "titles"))
    for real, rows in ((tables["dept_emp"], jobs), (tables["titles"], titles)):
        assert (rows["to_date"] == NEVER).mean() == pytest.approx((real["to_date"] == NEVER).mean(), abs=0.1)
        assert set(rows["to_date"].str[:4]) <= {NEVER[:4], *map(str, range(2000, 2024))}  # and no other day that never comes
        assert (rows["from_date"] < rows.merge(people)["hire_date"]).mean() == 0
    assert jobs["emp_no"].nunique() == pytest.approx(len(people), rel=0.02)
    assert jobs.groupby("emp_no").size().max() <= 3
    beside = jobs.drop_duplicates("emp_no").merge(titles.drop_duplicates("emp_no"), on="emp_no")
    odd = beside["dept_no"].str[1].astype(int) % 2 == 1
    assert ((beside["title"] == "Engineer") == odd).mean() > 0.9
