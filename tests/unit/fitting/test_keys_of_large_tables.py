"""A public table of many keys: those that were not chosen come out too, and a reference that is never NULL stays so."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from mare.fitting import FitOptions, run_fit
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.sampling import sample
from mare.schema.loading import load_schema
from tests.memory_source import MemorySource

SCHEMA = """
mare: 1
entity: people
tables:
  people:
    key: pid
    columns:
      sex: {type: category, values: [F, M]}
  sales:
KEY
    parent: {table: people, column: pid, type: independent, max_rows: 10}
    columns:
      paid: {type: number, min: 0, max: 100, precision: 0}
    references:
      product: {kind: public, table: products, learn: true, nullable: NULLABLE}
  products: {public: true, key: product, rows: 2000}
"""
PEOPLE, KEYS = 600, 2000


def written(nullable: bool) -> str:
    key = "" if nullable else "    key: [pid, product]"
    return SCHEMA.replace("KEY", key, 1).replace("NULLABLE", str(nullable).lower())


def rows() -> dict[str, pa.Table]:
    """A tenth of the products are a half of the sales; three in four of the others are sold as well."""
    rng = np.random.default_rng(1)
    often = rng.permutation(KEYS)
    sold = {(pid, int(often[rng.integers(0, 200 if rng.random() < 0.5 else 1550)])) for pid in range(PEOPLE) for _ in range(8)}
    people, products = zip(*sorted(sold), strict=True)
    paid = rng.integers(1, 90, len(people)).astype(float)
    return {
        "people": pa.table({"pid": np.arange(PEOPLE), "sex": rng.choice(["F", "M"], PEOPLE)}),
        "sales": pa.table({"pid": people, "product": products, "paid": paid}),
        "products": pa.table({"product": np.arange(KEYS)}),
    }


@pytest.mark.parametrize("nullable", [True, False])
@pytest.mark.parametrize(("epsilon", "most_off", "fewest"), [(3.0, 0.65, 1500), (1000.0, 0.35, 900)])
def test_keys_that_were_not_chosen_come_out_too(nullable: bool, epsilon: float, most_off: float, fewest: int) -> None:
    """By seed. All had been NULL at ε = 3, or twenty; at ε = 1,000 a hundred had been all that ever came out."""
    held = rows()
    release = run_fit(
        plan(load_schema(written(nullable)), Budget(epsilon, 1e-9)), MemorySource(held), FitOptions(bits=SeededBits(3))
    )
    made = sample(release, entities=PEOPLE, seed=4)["sales"]
    assert made["product"].notna().all()
    assert nullable or not made.duplicated(["pid", "product"]).any()
    real = np.bincount(held["sales"]["product"].to_numpy(), minlength=KEYS) / held["sales"].num_rows
    drawn = np.bincount(made["product"].astype(int), minlength=KEYS) / len(made)
    assert (drawn > 0).sum() > fewest
    # Two draws of so many rows are .30 apart, evenly drawn keys .60.
    assert np.abs(real - drawn).sum() / 2 < most_off


def test_of_a_table_that_several_columns_refer_to_each_has_the_keys_that_it_means() -> None:
    """Of all concepts most are no races: the few that were not chosen are drawn again among those that were."""
    held = rows()
    other = "references:\n      other: {kind: public, table: products, learn: true}"
    text = written(nullable=True).replace("references:", other)
    held["sales"] = held["sales"].append_column("other", pa.array(np.arange(held["sales"].num_rows) % 7))
    release = run_fit(plan(load_schema(text), Budget(50, 1e-9)), MemorySource(held), FitOptions(bits=SeededBits(3)))
    made = sample(release, entities=PEOPLE, seed=4)["sales"]
    assert set(made["other"]) == set(range(7))


DISTRICTS = """
mare: 1
entity: people
tables:
  people:
    key: pid
    references:
      home: {kind: public, table: districts, learn: true}
      work: {kind: public, table: districts, learn: true}
  districts: {public: true, key: district}
"""


@pytest.mark.parametrize("epsilon", [2.0, 10.0])
def test_a_table_of_which_most_keys_are_in_use_is_drawn_from_at_large(epsilon: float) -> None:
    """By seed; ten of ten seeds. The capital, one in eight, stood clear of the noise alone, and had one in
    three: what was not chosen was drawn again among what was. (Two draws of so many people are .08 apart.)"""
    rng, people = np.random.default_rng(2), 2000
    chances = np.r_[0.12, np.full(79, 0.88 / 79)]
    lived = {name: rng.choice(80, people, p=chances) for name in ("home", "work")}
    held = {"people": pa.table({"pid": np.arange(people), **lived}), "districts": pa.table({"district": np.arange(80)})}
    bits = SeededBits(3)
    release = run_fit(plan(load_schema(DISTRICTS), Budget(epsilon, 1e-9)), MemorySource(held), FitOptions(bits=bits))
    made = sample(release, entities=people, seed=4)["people"]
    for name, codes in lived.items():
        real, drawn = (np.bincount(np.asarray(each, dtype=int), minlength=80) / people for each in (codes, made[name]))
        assert np.abs(real - drawn).sum() / 2 < 0.2
        assert drawn[0] < 0.16


TEAMS = """
mare: 1
entity: people
tables:
  people: {key: pid, columns: {sex: {type: category, values: [F, M]}}}
  plays:
    parent: {table: people, column: pid, type: independent, max_rows: 3}
    references: {team: {kind: public, table: teams, learn: true}}
  pay:
    parent: {table: people, column: pid, type: independent, max_rows: 3}
    references: {OTHER: {kind: public, table: teams, learn: true}}
  teams: {public: true, key: team}
"""


@pytest.mark.parametrize(("other", "alike"), [("team", True), ("ward", False)])
def test_columns_that_are_called_alike_mean_all_keys_of_a_table(other: str, alike: bool) -> None:
    """One team in five stands clear of the noise, seventy do not: all the others had been given that one."""
    rng, people, chances = np.random.default_rng(2), 1500, np.r_[0.2, np.full(10, 0.05), np.full(60, 0.005)]
    teams = rng.permutation(np.repeat(np.arange(71), np.round(chances * people).astype(int))[:people])
    held = {
        "people": pa.table({"pid": np.arange(people), "sex": rng.choice(["F", "M"], people)}),
        "plays": pa.table({"pid": np.arange(len(teams)), "team": teams}),
        "pay": pa.table({"pid": np.arange(len(teams)), other: teams}),
        "teams": pa.table({"team": np.arange(71)}),
    }
    text = TEAMS.replace("OTHER", other)
    release = run_fit(plan(load_schema(text), Budget(0.3, 1e-9)), MemorySource(held), FitOptions(bits=SeededBits(3)))
    made = sample(release, entities=people, seed=4)["plays"]["team"].astype(int)
    assert (made.value_counts(normalize=True).iloc[0] < 0.5) == alike
