"""At a huge ε what a row depends on shows in the synthetic data, through every kind of relation: the views look where they say.

Each case plants one dependence in otherwise random data and asks how often it holds in what comes out. The default model
is told nothing. Seeded noise and draws: the same every time. By chance alone each would hold about as often as noted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import mare
from mare.fitting import FitOptions, run_fit
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.sampling import sample
from mare.schema.loading import load_schema
from tests.memory_source import MemorySource

Frames = dict[str, pd.DataFrame]
PEOPLE = 1500
PLENTY = Budget(500.0, 1e-6)

HEAD = """
mare: 1
entity: people
model: {name: privbayes}
tables:
  people: {key: pid, columns: {sex: {type: category, values: [F, M]}}}
"""
DRUGS = """
  drugs: {public: true, key: drug_id, rows: 4}
"""
GIVES = """
  gives:
    key: [pid, drug_id]
    parent: {table: people, column: pid, type: associative, via: drugs, column_via: drug_id, max_rows: 4}
    columns: {route: {type: category, values: [r0, r1, r2, r3]}}
"""


def people(rng: np.random.Generator) -> pd.DataFrame:
    return pd.DataFrame({"pid": np.arange(PEOPLE), "sex": rng.choice(["F", "M"], PEOPLE)})


def drugs() -> pd.DataFrame:
    return pd.DataFrame({"drug_id": np.arange(4)})


def _given(rng: np.random.Generator) -> pd.DataFrame:
    """Drugs 0 and 1 always together, 2 only without them, 3 whenever."""
    rows = []
    for pid in range(PEOPLE):
        first = rng.random() < 0.5
        keys = [0, 1] if first else [2]
        rows += [(pid, key, f"r{key}") for key in [*keys, *([3] if rng.random() < 0.5 else [])]]
    return pd.DataFrame(rows, columns=["pid", "drug_id", "route"])


def _lists(gives: pd.DataFrame) -> pd.Series:
    return gives.groupby("pid")["drug_id"].agg(frozenset)


@dataclass(frozen=True)
class Case:
    schema: str
    data: Callable[[np.random.Generator], Frames]
    holds: Callable[[Frames], pd.Series]
    chance: float


def _association(rng: np.random.Generator) -> Frames:
    return {"people": people(rng), "drugs": drugs(), "gives": _given(rng)}


def _together(made: Frames) -> pd.Series:
    return _lists(made["gives"]).map(lambda keys: (0 in keys) == (1 in keys) and (2 in keys) != (0 in keys))


def _by_key(made: Frames) -> pd.Series:
    return made["gives"]["route"] == "r" + made["gives"]["drug_id"].astype(str)


def _seen(rng: np.random.Generator) -> Frames:
    gives = _given(rng)
    has = _lists(gives).map(lambda keys: "yes" if 0 in keys else "no")
    labs = pd.DataFrame({"pid": np.repeat(np.arange(PEOPLE), 2)})
    return {"people": people(rng), "drugs": drugs(), "gives": gives, "labs": labs.assign(value=labs["pid"].map(has))}


def _follows_sibling(made: Frames) -> pd.Series:
    has = _lists(made["gives"]).map(lambda keys: "yes" if 0 in keys else "no")
    return made["labs"]["value"] == made["labs"]["pid"].map(has).fillna("no")


def _items(rng: np.random.Generator) -> Frames:
    """A value stays what it was for its item, whatever came in between."""
    rows = []
    for pid in range(PEOPLE):
        held = {item: rng.choice(["a", "b", "c"]) for item in ("k", "na")}
        for n in range(5):
            item = rng.choice(["k", "na"])
            rows.append((pid, n, item, held[item]))
    return {"people": people(rng), "labs": pd.DataFrame(rows, columns=["pid", "n", "item", "value"])}


def _same_item(made: Frames) -> pd.Series:
    before = made["labs"].groupby(["pid", "item"])["value"].shift(1)
    return (made["labs"]["value"] == before)[before.notna()]


def _referred(rng: np.random.Generator) -> Frames:
    stays = pd.DataFrame({"pid": np.repeat(np.arange(PEOPLE), 3)})
    stays = stays.assign(sid=np.arange(len(stays)), ward=rng.choice(["a", "b", "c"], len(stays)))
    labs = pd.DataFrame({"pid": np.repeat(np.arange(PEOPLE), 2)})
    labs = labs.assign(sid=labs["pid"] * 3 + rng.integers(0, 3, len(labs)))
    return {"people": people(rng), "stays": stays, "labs": labs.assign(where=stays["ward"].to_numpy()[labs["sid"]])}


def _through_reference(made: Frames) -> pd.Series:
    ward = made["stays"].set_index("sid")["ward"]
    return made["labs"]["where"] == made["labs"]["sid"].map(ward)


def _owned(rng: np.random.Generator) -> Frames:
    """Homes lie by the person's sex, places of work in the city."""
    folk = people(rng).assign(home_id=np.arange(PEOPLE), work_id=np.arange(PEOPLE) + PEOPLE)
    home = folk["sex"].map({"F": "north", "M": "south"})
    work = ["city"] * PEOPLE
    homes = pd.DataFrame({"home_id": np.arange(2 * PEOPLE), "region": [*home, *work]})
    return {"people": folk, "homes": homes}


def _own_place(made: Frames) -> pd.Series:
    region, folk = made["homes"].set_index("home_id")["region"], made["people"]
    home = folk["home_id"].map(region) == folk["sex"].map({"F": "north", "M": "south"})
    return home & (folk["work_id"].map(region) == "city")


def _lists_along(rng: np.random.Generator) -> Frames:
    """The list of drugs stays the same from cycle to cycle."""
    cycles, gives = [], []
    for pid in range(PEOPLE):
        keys = [key for key in range(4) if rng.random() < 0.5]
        for n in range(3):
            cycles.append((len(cycles), pid, n, rng.choice(["a", "b"])))
            gives += [(len(cycles) - 1, key) for key in keys]
    columns = {"cycles": ["cid", "pid", "n", "kind"], "gives": ["cid", "drug_id"]}
    return {
        "people": people(rng),
        "drugs": drugs(),
        "cycles": pd.DataFrame(cycles, columns=columns["cycles"]),
        "gives": pd.DataFrame(gives, columns=columns["gives"]),
    }


def _same_list(made: Frames) -> pd.Series:
    lists = made["gives"].groupby("cid")["drug_id"].agg(frozenset)
    cycles = made["cycles"].assign(keys=[lists.get(cid, frozenset()) for cid in made["cycles"]["cid"]])
    before = cycles.groupby("pid")["keys"].shift(1)
    return (cycles["keys"] == before)[before.notna()]


CASES = {
    "keys that come together": Case(HEAD + DRUGS + GIVES, _association, _together, 0.25),
    "what depends on the public key": Case(HEAD + DRUGS + GIVES, _association, _by_key, 0.25),
    "a sibling that is seen": Case(
        HEAD
        + DRUGS
        + GIVES
        + """
  labs: {sees: [gives], parent: {table: people, column: pid, max_rows: 2}, columns: {value: {type: category, values: [yes, no]}}}
""".replace("[yes, no]", '["yes", "no"]'),
        _seen,
        _follows_sibling,
        0.5,
    ),
    "the previous row of the same item": Case(
        HEAD
        + """
  labs:
    parent: {table: people, column: pid, type: sequential, order_by: n, memory: 1, max_rows: 5, history_by: item}
    columns: {n: {type: position, start: 0}, item: {type: category, values: [k, na]}, value: {type: category, values: [a, b, c]}}
""",
        _items,
        _same_item,
        0.33,
    ),
    "the row that a reference leads to": Case(
        HEAD
        + """
  stays: {key: sid, parent: {table: people, column: pid, max_rows: 3}, columns: {ward: {type: category, values: [a, b, c]}}}
  labs:
    parent: {table: people, column: pid, max_rows: 2}
    references: {sid: {kind: same_entity, table: stays}}
    columns: {where: {type: category, values: [a, b, c]}}
""",
        _referred,
        _through_reference,
        0.33,
    ),
    "rows of one's own, by who owns them": Case(
        HEAD.replace(
            "people: {key: pid,",
            "people: {key: pid, references: {home_id: {kind: owned, table: homes}, work_id: {kind: owned, table: homes}},",
        )
        + """
  homes: {key: home_id, columns: {region: {type: category, values: [north, south, city]}}}
""",
        _owned,
        _own_place,
        0.1,
    ),
    "lists along the parent's sequence": Case(
        HEAD
        + DRUGS
        + """
  cycles:
    key: cid
    parent: {table: people, column: pid, type: sequential, order_by: n, memory: 1, max_rows: 3}
    columns: {n: {type: position, start: 0}, kind: {type: category, values: [a, b]}}
  gives:
    key: [cid, drug_id]
    parent: {table: cycles, column: cid, type: associative, via: drugs, column_via: drug_id, max_rows: 4}
""",
        _lists_along,
        _same_list,
        0.06,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_row_hangs_on_shows(name: str) -> None:
    case = CASES[name]
    schema = load_schema(case.schema)
    true = case.data(np.random.default_rng(1))
    assert case.holds(true).mean() > 0.99
    tables = {table: pa.Table.from_pandas(frame, preserve_index=False) for table, frame in true.items()}
    release = run_fit(plan(schema, PLENTY), MemorySource(tables), FitOptions(bits=SeededBits(2)))
    made = sample(release, entities=PEOPLE, seed=3)
    assert made is not None
    held = case.holds(made)
    assert len(held) > PEOPLE / 4
    assert held.mean() > (1 + case.chance) / 2 + 0.2 * (1 - case.chance), f"{name}: {held.mean():.2f}"


def test_a_town_lies_in_its_state_however_many_there_are_of_both() -> None:
    """Nine hundred towns in a hundred and twenty states: a large table that is nearly empty, and stands clear of the noise."""
    draws, entities = np.random.default_rng(3), 18_000
    weights = 1 / np.arange(5, 905)
    town, of = draws.choice(900, entities, p=weights / weights.sum()), draws.integers(0, 120, 900)
    people = pd.DataFrame({"id": np.arange(entities), "state": [f"s{of[t]}" for t in town], "town": [f"t{t}" for t in town]})
    columns = "state: {type: category, learn: true}, town: {type: category, learn: true}"
    schema = mare.load_schema(f"mare: 1\nentity: people\ntables: {{people: {{key: id, rows: 18000, columns: {{{columns}}}}}}}")
    settled = mare.plan(schema, mare.Budget(epsilon=1000, delta=1e-9))
    made = mare.sample(mare.fit(settled, {"people": people}, unsafe_seed=1), seed=1)["people"]
    lies_in = dict(zip(people.town, people.state, strict=True))
    assert (made.town.map(lies_in) == made.state).mean() > 0.95
