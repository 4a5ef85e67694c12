"""Expected errors: closed forms on tables that are known, and what they are made of."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import mare
from mare.domain import norm_subtract
from mare.fitting import FitOptions, run_fit
from mare.models.clarity import Margin
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.privacy.ledger import LEARNING
from mare.schema.loading import load_schema
from mare.verdicts.expected import ALONG, BEYOND, DRAWN, ENDED, NOT_LISTED, ORDER, ROWS, STEP, WITHIN, ExpectedErrors, noise_error
from tests.fitted_hospital import fitted_hospital
from tests.memory_source import MemorySource, hospital_rows, hospital_schema


def test_noise_is_half_of_the_mean_noise_of_all_cells() -> None:
    even = Margin(np.full(10, 0.1), deviation=0.01, rows=1000.0)
    assert noise_error(even) == pytest.approx(10 * 0.01 * np.sqrt(2 / np.pi) / 2)


def test_it_is_what_simulated_noise_does_to_a_table() -> None:
    rng, truth, deviation = np.random.default_rng(1), np.full(8, 1 / 8), 0.01
    noisy = truth + rng.normal(0, deviation, (4000, 8))
    away = np.abs(noisy - truth).sum(axis=1).mean() / 2
    assert noise_error(Margin(truth, deviation, 1000.0)) == pytest.approx(away, rel=0.02)


SHAPES = {
    "even": np.full(8, 1 / 8),
    "most cells empty": np.append(np.full(4, 1 / 4), np.zeros(60)),
    "a long tail": 1 / np.arange(1, 31),
    "a short tail": 1 / np.arange(1, 31) ** 1.8,
    "a hill": np.exp(-((np.arange(16) - 5) ** 2) / 10),
}


@pytest.mark.parametrize("deviation", [0.003, 0.01, 0.02, 0.05])
@pytest.mark.parametrize("shape", SHAPES)
def test_of_a_settled_table_it_is_near_what_is_truly_off(shape: str, deviation: float) -> None:
    """Also where most of it went with the noise, or noise was taken for rows: seven of eight cells of numbers of orders had been
    cut away, and the card said that they were known to .04."""
    rng, truth = np.random.default_rng(5), SHAPES[shape] / SHAPES[shape].sum()
    settled = [norm_subtract(truth + rng.normal(0, deviation, len(truth))) for _ in range(200)]
    away = np.array([np.abs(table - truth).sum() / 2 for table in settled])
    expected = np.array([noise_error(Margin(table, deviation, 1000.0)) for table in settled])
    assert 0.85 * away.mean() < expected.mean() < 1.7 * away.mean()
    assert (away <= 1.6 * expected).mean() >= 0.95


def test_a_drowned_table_says_nothing_however_sharp_it_looks() -> None:
    """Noise that is subtracted away may leave one cell with everything in it."""
    rng, truth = np.random.default_rng(3), np.full(40, 1 / 40)
    settled = norm_subtract(truth + rng.normal(0, 0.15, 40))
    assert settled.max() > 0.15
    assert noise_error(Margin(settled, 0.15, 30.0)) == 1.0


def test_more_noise_is_more_error_for_every_column() -> None:
    quiet, loud = (ExpectedErrors(fitted_hospital(epsilon, private=False)) for epsilon in (50.0, 0.5))
    schema = fitted_hospital(50.0, private=False).schema
    places = [(table, column) for table in schema.tables for column in schema.tables[table].columns]
    pairs = [(quiet.of(*place), loud.of(*place)) for place in places]
    judged = [(a.error, b.error) for a, b in pairs if a is not None and b is not None]
    assert len(judged) >= 4
    assert all(a < b for a, b in judged)


def test_rows_below_the_entity_have_an_allowance_and_the_entity_has_none() -> None:
    errors = ExpectedErrors(fitted_hospital(private=False))
    below, own = errors.of("stays", "ward"), errors.of("patients", "sex")
    assert below is not None
    assert own is not None
    assert ROWS in dict(below.parts)
    assert ROWS not in dict(own.parts)
    assert DRAWN in dict(own.parts)
    assert NOT_LISTED not in dict(own.parts)


def test_a_model_that_says_nothing_is_judged_by_its_charges() -> None:
    release = fitted_hospital(private=False)
    arrays = {name: {k: v for k, v in held.items() if not k.startswith("clear.")} for name, held in release.arrays.items()}
    silent = type(release)(release.schema, release.plan, release.tables, arrays, release.ledger, release.public)
    told, untold = (ExpectedErrors(one).of("patients", "sex") for one in (release, silent))
    assert told is not None
    assert untold is not None
    assert untold.error >= told.error * 0.99
    assert release.ledger.budget == Budget(50.0, 1e-9)


def test_wide_bins_that_the_schema_declares_are_a_doubt_of_their_own() -> None:
    def age(bins: int) -> float:
        rows = MemorySource.of(hospital_rows(patients=200))
        schema = hospital_schema()
        patients = schema.tables["patients"]
        column = patients.columns["age"].model_copy(update={"bins": bins})
        columns = patients.model_copy(update={"columns": {**patients.columns, "age": column}})
        made = plan(schema.model_copy(update={"tables": {**schema.tables, "patients": columns}}), Budget(1e4, 1e-9))
        expected = ExpectedErrors(run_fit(made, rows, FitOptions(bits=SeededBits(1)))).of("patients", "age")
        assert expected is not None
        return dict(expected.parts)[WITHIN]

    assert age(2) > 0.3
    assert age(20) < 0.1


def test_nothing_is_lost_within_null() -> None:
    crp = "crp: {type: integer, min: 0, max: 399, bins: 20, nullable: true}"
    schema = f"mare: 1\nentity: people\ntables: {{people: {{key: id, columns: {{{crp}}}}}}}"
    values = pd.Series(np.random.default_rng(1).integers(0, 400, 2000), dtype="Int64")
    people = pd.DataFrame({"id": range(2000), "crp": values.mask(np.arange(2000) % 10 > 0)})
    release = mare.fit(mare.plan(mare.load_schema(schema), mare.Budget(20, 1e-9)), {"people": people}, unsafe_seed=1)
    expected = ExpectedErrors(release).of("people", "crp")
    assert expected is not None
    assert dict(expected.parts)[WITHIN] < 0.01


def test_a_flag_that_is_stored_as_a_number_has_nothing_within() -> None:
    """Each value has a code of its own: noise of the looks that found the range is no error of the column."""
    schema = "mare: 1\nentity: people\ntables: {people: {key: id, columns: {news: {type: integer, learn: true}}}}"
    rng = np.random.default_rng(1)
    people = pd.DataFrame({"id": range(2000), "news": (rng.random(2000) < 0.3).astype(int)})
    release = mare.fit(mare.plan(mare.load_schema(schema), mare.Budget(20, 1e-9)), {"people": people}, unsafe_seed=1)
    expected = ExpectedErrors(release).of("people", "news")
    assert expected is not None
    assert expected.error < 0.05


def test_prices_that_have_a_cell_each_have_nothing_within() -> None:
    """A cell that is as wide as a step holds one value, however many ticks that is."""
    schema = "mare: 1\nentity: people\ntables: {people: {key: id, columns: {price: {type: number, learn: true}}}}"
    prices = np.random.default_rng(1).choice([0.52, 1.28, 3.64, 5.27], 3000)
    release = mare.fit(
        mare.plan(mare.load_schema(schema), mare.Budget(20, 1e-9)),
        {"people": pd.DataFrame({"id": range(3000), "price": prices})},
        unsafe_seed=1,
    )
    made = mare.sample(release, seed=1)
    assert made is not None
    assert made["people"].price.isin([0.52, 1.28, 3.64, 5.27]).mean() > 0.9
    expected = ExpectedErrors(release).of("people", "price")
    assert expected is not None
    assert max(error for what, error in expected.parts if what == WITHIN) < 0.05


def test_what_lies_beyond_a_learned_range_was_seen_by_the_roughest_look_alone() -> None:
    schema = "mare: 1\nentity: people\ntables: {people: {key: id, columns: {weight: {type: number, learn: true}}}}"
    weights = np.random.default_rng(1).normal(70, 9, 3000).round(1)
    release = mare.fit(
        mare.plan(mare.load_schema(schema), mare.Budget(2, 1e-9)),
        {"people": pd.DataFrame({"id": range(3000), "weight": weights})},
        unsafe_seed=1,
    )
    looks = [charge.scale for charge in release.ledger.charges if charge.view == "people.weight" and charge.phase == LEARNING]
    assert max(looks) > 2 * looks[-1]  # the last, of where values lie, is the finest
    expected = ExpectedErrors(release).of("people", "weight")
    assert expected is not None
    assert dict(expected.parts)[BEYOND] >= 0.55 * max(looks) / release.plan.entities  # at both ends


ALONG_TIME = """
mare: 1
entity: people
tables:
  people: {key: pid, columns: {sex: {type: category, values: [f, m]}}}
  visits:
    key: vid
    parent: {table: people, column: pid, type: sequential, order_by: day, max_rows: 8}
    columns:
      day: {type: integer, %s, after: previous.day, within: %d, first: {min: 0, max: 40}}
"""


@pytest.mark.parametrize(
    ("each", "steps", "span", "least", "most"),
    [
        ([0, 1, 1, 2], [1, 9, 17], "min: 0", STEP, 0.5 * ALONG),  # a third of those who have a row have one more
        ([4], [1, 9, 17], "min: 0", ALONG, ALONG),
        ([4], [1, 9, 17], "min: 0, max: 99", ENDED, ENDED),
        ([4], [1], "min: 0, max: 99", STEP, STEP),  # grade after grade
    ],
)
def test_errors_add_up_along_sequences_that_are_long_and_have_no_end_and_whose_steps_are_unsure(
    each: list[int], steps: list[int], span: str, least: float, most: float
) -> None:
    pid = np.repeat(np.arange(900), np.resize(each, 900))
    days = pd.Series(np.resize(steps, len(pid))).groupby(pid).cumsum()
    people = pd.DataFrame({"pid": np.arange(900), "sex": np.resize(["f", "m"], 900)})
    visits = pd.DataFrame({"vid": np.arange(len(pid)), "pid": pid, "day": days})
    plan = mare.plan(mare.load_schema(ALONG_TIME % (span, 20 if len(steps) > 1 else 5)), mare.Budget(20, 1e-9))
    day = ExpectedErrors(mare.fit(plan, {"people": people, "visits": visits}, unsafe_seed=1)).of("visits", "day")
    assert day is not None
    assert least <= dict(day.parts)[ORDER] <= most


def test_where_the_rows_in_all_are_noise_so_is_who_has_how_many() -> None:
    """Each loan has one payment: a count that stands clear, beside a number of payments that does not, and that it is made to
    agree with. The card said coarse, and there were none."""
    schema = load_schema("""
mare: 1
entity: people
tables:
  people: {key: pid, columns: {sex: {type: category, values: [f, m]}}}
  loans: {key: lid, parent: {table: people, column: pid, max_rows: 40}, columns: {shop: {type: category, values: [a, b]}}}
  payments: {parent: {table: loans, column: lid, max_rows: 2}, columns: {cash: {type: boolean}}}
""")
    pids, lids = np.arange(300), np.arange(300 * 26)
    rows = {
        "people": pa.table({"pid": pids, "sex": ["f", "m"] * 150}),
        "loans": pa.table({"lid": lids, "pid": lids // 26, "shop": ["a", "b"] * (len(lids) // 2)}),
        "payments": pa.table({"lid": lids, "cash": [True] * len(lids)}),
    }

    def verdict(epsilon: float) -> str | None:
        release = run_fit(plan(schema, Budget(epsilon, 1e-9)), MemorySource(rows), FitOptions(bits=SeededBits(1)))
        return next(table.verdict for table in mare.card(release).tables if table.table == "payments")

    assert verdict(0.5) == "do not use"
    assert verdict(100) == "trust"
