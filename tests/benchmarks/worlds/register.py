"""A municipal register: people over 80 years with their moves, jobs and benefits.

Planted: the first move is the birth or the arrival, the last of those who died is the death; nothing happens after it.
Citizenship is repeated in every move and constant for nearly everybody. Age at a move and year of a job repeat facts. Wages
grow with age, sector and the year; sectors follow each other; a benefit depends on age and wage (child benefit, unemployment
after a job, pension from 65); districts have neighbours, and people move to them.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from .tools import Frames, days

DISTRICTS = [f"D{k:02d}" for k in range(1, 13)]
SECTORS = ["farming", "industry", "building", "trade", "transport", "health", "teaching", "office", "public"]
COUNTRIES = ["NL", "TR", "MA", "PL", "SR", "DE", "SY", "ID", "other"]
PENSIONS, END = 65, np.datetime64("2024-12-31")


def generate(entities: int, seed: int) -> Frames:
    rng = np.random.default_rng([seed, 4])
    born = np.datetime64("1944-01-01") + rng.integers(0, 365 * 80, entities)
    sex = rng.choice(["F", "M"], entities)
    country = rng.choice(COUNTRIES, entities, p=[0.74, 0.06, 0.05, 0.04, 0.03, 0.03, 0.02, 0.01, 0.02])
    follow = np.random.default_rng(99).dirichlet(np.full(9, 0.7), 9) * 0.35 + np.eye(9) * 0.65
    people, moves, jobs, benefits = [], [], [], []
    for i in range(entities):
        lifetime = int(365.25 * min(max(rng.normal(83 if sex[i] == "F" else 79, 12), 1), 104))
        died = born[i] + lifetime
        alive = died > END
        last = END if alive else died
        arrived = born[i] if country[i] == "NL" else born[i] + int(365.25 * rng.gamma(4, 6))
        if arrived >= last:
            arrived = born[i]
        citizen = "NL" if country[i] == "NL" else str(country[i])
        natural = None if country[i] == "NL" or rng.random() < 0.5 else arrived + int(365.25 * rng.gamma(5, 2))
        level = rng.choice(["basic", "middle", "higher"], p=[0.3, 0.4, 0.3])
        people.append((i + 1, sex[i], born[i], int(str(born[i])[:4]), country[i], level, None if alive else died))
        _moves(rng, moves, i + 1, born[i], arrived, last, alive, citizen, natural)
        ended = _jobs(rng, jobs, i + 1, born[i], arrived, last, level, follow)
        _benefits(rng, benefits, i + 1, born[i], arrived, last, sex[i], ended)
    frames = {
        "people": pd.DataFrame(people, columns=["person_id", "sex", "born", "birth_year", "country", "education", "died"]),
        "moves": pd.DataFrame(moves, columns=["person_id", "moved", "kind", "district", "tenure", "citizenship", "age"]),
        "jobs": pd.DataFrame(jobs, columns=["job_id", "person_id", "started", "ended", "sector", "hours", "wage", "start_year"]),
        "benefits": pd.DataFrame(benefits, columns=["person_id", "since", "until", "kind", "monthly"]),
    }
    for table, column in (("people", "born"), ("people", "died"), ("moves", "moved"), ("jobs", "started"), ("jobs", "ended")):
        frames[table][column] = days(frames[table][column])
    for column in ("since", "until"):
        frames["benefits"][column] = days(frames["benefits"][column])
    frames["districts"] = pd.DataFrame({"district": DISTRICTS, "urban": ["centre"] * 4 + ["suburb"] * 5 + ["village"] * 3})
    return frames


def _years(later: np.datetime64, earlier: np.datetime64) -> int:
    return int((later - earlier).astype(int) // 365.25)


def _moves(rng, rows, person, born, arrived, last, alive, citizen, natural) -> None:  # type: ignore[no-untyped-def]
    place, day = int(rng.integers(0, 12)), arrived
    tenure = rng.choice(["rent", "own"], p=[0.6, 0.4])
    kind = "birth" if arrived == born else "arrival"
    while True:
        held = "NL" if natural is not None and day >= natural else citizen
        rows.append((person, day, kind, DISTRICTS[place], tenure, held, _years(day, born)))
        age = _years(day, born)
        day = day + int(365.25 * rng.gamma(1.5, 3.0 if 17 < age < 32 else 9.0)) + 30
        if day >= last:
            break
        kind = "move"
        place = (place + int(rng.choice([-1, 1, 2]))) % 12 if rng.random() < 0.7 else int(rng.integers(0, 12))
        tenure = "own" if rng.random() < (0.7 if tenure == "own" else 0.25) else "rent"
    if not alive:
        rows.append(
            (
                person,
                last,
                "death",
                DISTRICTS[place],
                tenure,
                "NL" if natural is not None and last >= natural else citizen,
                _years(last, born),
            )
        )


def _jobs(rng, rows, person, born, arrived, last, level, follow) -> list[np.datetime64]:  # type: ignore[no-untyped-def]
    start = {"basic": 17, "middle": 20, "higher": 24}[level]
    day = max(born + int(365.25 * (start + rng.gamma(2, 0.7))), arrived + 60)
    stop = min(last, born + int(365.25 * (PENSIONS + rng.normal(0, 1.5))))
    sector = int(
        rng.choice(
            9, p=np.array([1, 4, 3, 5, 3, 3, 1, 2, 2]) / 24 if level != "higher" else np.array([0, 1, 1, 2, 1, 5, 5, 6, 4]) / 25
        )
    )
    ended = []
    while day < stop:
        until = day + int(365.25 * rng.gamma(1.3, 5)) + 20
        running = until >= stop and stop == END
        until = min(until, stop)
        hours = int(rng.choice([16, 24, 32, 36, 40], p=[0.1, 0.15, 0.2, 0.15, 0.4]))
        year = int(str(day)[:4])
        pay = 900 * 1.035 ** max(year - 1965, 0) * {"basic": 0.85, "middle": 1.0, "higher": 1.45}[level]
        wage = round(pay * hours / 40 * (1 + 0.01 * (_years(day, born) - 20)) * float(np.exp(rng.normal(0, 0.18))), 2)
        rows.append((len(rows) + 1, person, day, None if running else until, SECTORS[sector], hours, wage, year))
        if not running:
            ended.append(until)
        day = until + int(rng.choice([1, rng.gamma(1.0, 200)], p=[0.6, 0.4]))
        sector = int(rng.choice(9, p=follow[sector]))
    return ended


def _benefits(rng, rows, person, born, arrived, last, sex, ended) -> None:  # type: ignore[no-untyped-def]
    found = []
    first = born + int(365.25 * rng.normal(30, 4))
    if rng.random() < 0.55 and arrived < first < last:
        found.append((first, min(first + int(365.25 * 18), last), "child", float(rng.choice([210.5, 421.0, 631.5]))))
    for day in ended:
        if rng.random() < 0.2 and day < last and _years(day, born) < PENSIONS - 1:
            found.append((day, min(day + int(rng.gamma(2, 90)), last), "unemployment", round(float(rng.normal(1150, 180)), 2)))
    retired = born + int(365.25 * PENSIONS)
    if retired < last:
        found.append((retired, last, "pension", 1316.77 if rng.random() < 0.5 else round(float(rng.normal(900, 120)), 2)))
    for since, until, kind, monthly in sorted(found, key=lambda row: row[0]):
        rows.append((person, since, None if until == END else until, kind, monthly))
