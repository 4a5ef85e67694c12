"""How close a synthetic oncology hospital comes to the real one: the last page of `make demo`.

Two tables. The first holds distances between joint distributions of two columns (total variation: 0 is the same, 1 has
nothing in common), by how the two columns depend on each other. The second asks what a doctor would ask. Distances mean
nothing alone, so two others stand beside: the same hospital simulated anew, which is as close as chance allows, and the real one
with every column shuffled, which keeps each column and no relation between them.

It looks at the real data, so what it prints is internal, not private: it is not covered by the ledger.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd

Tables = dict[str, pd.DataFrame]
FEATURES = {
    "patients": ["sex", "age", "diagnosis", "stage", "died"],
    "lines": ["line_number", "wait", "intent", "regimen"],
    "cycles": ["cycle_number", "interval", "percent", "ecog", "toxicity"],
    "prescriptions": ["drug_id"],
}


def read(path: Path) -> Tables:
    """A hospital as features: dates become ages, waits and intervals."""
    with closing(sqlite3.connect(path)) as database:
        found = {name: pd.read_sql(f"SELECT * FROM {name}", database) for name in FEATURES}
    patients, lines, cycles = (found[name] for name in ("patients", "lines", "cycles"))
    diagnosed, started = pd.to_datetime(patients["diagnosed"]), pd.to_datetime(lines["started"])
    patients["age"] = (diagnosed.dt.year - patients["birth_year"]) // 10 * 10
    patients["died"] = patients["died"].notna()
    since = lines["patient_id"].map(diagnosed.set_axis(patients["patient_id"]))
    lines["wait"] = pd.cut((started - since).dt.days, [-np.inf, 30, 60, 120, 240, 480, np.inf], labels=False)
    given = pd.to_datetime(cycles["given"])
    cycles["interval"] = (given - given.groupby(cycles["line_id"]).shift()).dt.days.fillna(0)
    return found


def shuffled(tables: Tables, seed: int = 1) -> Tables:
    """Every feature permuted on its own, within its table: columns as they are, relations gone."""
    rng = np.random.default_rng(seed)
    mixed = {name: table.copy() for name, table in tables.items()}
    for name, columns in FEATURES.items():
        for column in columns:
            mixed[name][column] = rng.permutation(mixed[name][column].to_numpy())
    return mixed


Pairs = Iterator[tuple[pd.Series, pd.Series]]


def _within(tables: Tables) -> Pairs:
    for name, columns in FEATURES.items():
        yield from ((tables[name][a], tables[name][b]) for a, b in combinations(columns, 2))


def _with_parent(tables: Tables) -> Pairs:
    for child, parent, key in (("lines", "patients", "patient_id"), ("cycles", "lines", "line_id")):
        above = tables[parent].set_index(key).loc[tables[child][key]].reset_index(drop=True)
        yield from ((tables[child][a], above[b]) for a, b in product(FEATURES[child], FEATURES[parent]))


def _with_previous(tables: Tables) -> Pairs:
    for name, key in (("lines", "patient_id"), ("cycles", "line_id")):
        previous = tables[name].groupby(key)[FEATURES[name]].shift()
        later = tables[name][key].duplicated()
        yield from ((tables[name][a][later], previous[b][later]) for a, b in product(FEATURES[name][1:], repeat=2))


def _among_drugs(tables: Tables) -> Pairs:
    """Drugs with the others of their cycle, with those of the cycle before, and with the regimen of their line."""
    given, cycles = tables["prescriptions"], tables["cycles"].copy()
    cycles["previous_id"] = cycles.groupby("line_id")["cycle_id"].shift()
    cycles = cycles.merge(tables["lines"][["line_id", "regimen"]], on="line_id")
    rows = given.merge(cycles[["cycle_id", "previous_id", "regimen"]], on="cycle_id")
    together = given.merge(given, on="cycle_id", suffixes=("", "_other")).query("drug_id != drug_id_other")
    before = rows.merge(rows, left_on="previous_id", right_on="cycle_id", suffixes=("", "_before"))
    yield together["drug_id"], together["drug_id_other"]
    yield rows["drug_id"], rows["regimen"]
    yield before["drug_id"], before["drug_id_before"]


KINDS: dict[str, Callable[[Tables], Pairs]] = {
    "columns of one row": _within,
    "a row and its parent": _with_parent,
    "a row and the row before it": _with_previous,
    "drugs given together, and in turn": _among_drugs,
}


def joints(tables: Tables) -> dict[str, list[pd.Series]]:
    """By kind of relation: the joint distributions of its pairs of columns."""
    return {kind: [_joint(a, b) for a, b in pairs(tables)] for kind, pairs in KINDS.items()}


def _joint(a: pd.Series, b: pd.Series) -> pd.Series:
    return pd.DataFrame({"a": a.to_numpy(), "b": b.to_numpy()}).value_counts(normalize=True)


def distance(one: list[pd.Series], other: list[pd.Series]) -> float:
    """The mean total-variation distance of pairs, one by one."""
    return float(np.mean([a.sub(b, fill_value=0.0).abs().sum() / 2 for a, b in zip(one, other, strict=True)]))


def answers(tables: Tables) -> dict[str, str]:
    """What a doctor would ask."""
    patients, given = tables["patients"], tables["prescriptions"]
    lines = tables["lines"].merge(patients, on="patient_id")
    cycles = tables["cycles"].merge(tables["lines"][["line_id", "regimen"]], on="line_id")
    cycles["toxicity_before"] = cycles.groupby("line_id")["toxicity"].shift()
    chop = cycles[cycles["regimen"] == "R-CHOP"]["cycle_id"]
    rituximab = given[given["drug_id"] == "RIT"]["cycle_id"]
    later = cycles[cycles["toxicity_before"].notna()]
    first = lines[lines["line_number"] == 1]
    return {
        "breast cancer: women": _percent(patients[patients["diagnosis"] == "breast"]["sex"] == "F"),
        "colorectal, first line: FOLFOX": _percent(first[first["diagnosis"] == "colorectal"]["regimen"] == "FOLFOX"),
        "stage 1 to 3, first line: curative": _percent(first[first["stage"] <= 3]["intent"] == "curative"),
        "R-CHOP: cycles with rituximab": _percent(chop.isin(rituximab)),
        "FOLFOX: median days between cycles": f"{later[later['regimen'] == 'FOLFOX']['interval'].median():.0f}",
        "lower dose after toxicity 3 or 4": _percent(later[later["toxicity_before"] >= 3]["percent"] < 100),
        "lower dose after toxicity 0 or 1": _percent(later[later["toxicity_before"] <= 1]["percent"] < 100),
    }


def _percent(truths: pd.Series) -> str:
    return f"{100 * truths.mean():.0f} %"
