"""The ledger: append-only, survives a file, and reads like a page."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from mare.errors import BudgetError, ReleaseError
from mare.privacy.budget import Budget
from mare.privacy.ledger import Charge, Ledger

UNIT = "one row of patients, with every row that belongs to it in every table"

GAUSSIAN = Charge(
    what="counts of ward; ward × age",
    view="visits.rows",
    mechanism="discrete gaussian",
    norm="L2",
    sensitivity=4.242640687119286,
    scale=42.5,
    cost=0.005,
    histograms=2,
    cells=8,
    total_variation=1e-35,
)
LAPLACE = replace(GAUSSIAN, mechanism="discrete laplace", norm="L1", sensitivity=6.0, scale=12.0, cost=0.5, total_variation=0.0)


def opened(delta: float = 1e-9) -> Ledger:
    return Ledger(Budget(1.0, delta), UNIT, ["the list of wards"])


def test_a_charge_is_paid_and_written_down() -> None:
    ledger = opened()
    ledger.charge(GAUSSIAN)
    assert ledger.charges == (GAUSSIAN,)
    assert ledger.totals.rho == 0.005
    assert ledger.left < ledger.total


def test_what_is_not_paid_is_not_written_down() -> None:
    ledger = opened(delta=0.0)
    ledger.charge(LAPLACE)
    with pytest.raises(BudgetError):
        ledger.charge(replace(LAPLACE, cost=0.6))
    assert ledger.charges == (LAPLACE,)
    assert ledger.totals.epsilon == 0.5


def test_not_private_is_for_good_and_says_why_once() -> None:
    ledger = opened()
    assert (ledger.status, ledger.reasons) == ("PRIVATE", ())
    for _ in range(2):
        ledger.mark_not_private("a seed was used")
    ledger.mark_not_private("rows were read")
    assert (ledger.status, ledger.reasons) == ("NOT PRIVATE", ("a seed was used", "rows were read"))


def test_public_facts_are_kept_once_in_order() -> None:
    ledger = opened()
    ledger.declare("column types from the catalogue")
    ledger.declare("the list of wards")
    assert ledger.public == ("the list of wards", "column types from the catalogue")


@pytest.mark.parametrize(("delta", "charge"), [(1e-9, GAUSSIAN), (0.0, LAPLACE)])
def test_a_ledger_survives_a_file(delta: float, charge: Charge) -> None:
    ledger = opened(delta)
    ledger.charge(charge)
    ledger.mark_not_private("a seed was used")
    back = Ledger.from_json(ledger.to_json())
    assert back.to_json() == ledger.to_json()
    assert back.render() == ledger.render()
    assert (back.charges, back.totals, back.left, back.status) == (ledger.charges, ledger.totals, ledger.left, ledger.status)


def test_the_file_says_what_is_promised() -> None:
    ledger = opened()
    ledger.charge(GAUSSIAN)
    data = json.loads(ledger.to_json())
    assert data["status"] == "PRIVATE"
    assert data["adjacency"] == "add or remove one entity"
    assert data["unit"] == UNIT
    assert data["budget"] == {"epsilon": 1.0, "delta": 1e-9}
    assert data["totals"]["epsilon"] == ledger.totals.epsilon
    assert data["totals"]["delta"] == ledger.totals.delta
    assert data["charges"][0]["scale"] == 42.5


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", '{"mare_ledger": 1}', '{"mare_ledger": 1, "budget": 3}'])
def test_what_is_no_ledger_is_refused(text: str) -> None:
    with pytest.raises(ReleaseError, match="not a ledger"):
        Ledger.from_json(text)


def test_a_ledger_of_another_format_is_refused() -> None:
    with pytest.raises(ReleaseError, match="format 99"):
        Ledger.from_json('{"mare_ledger": 99}')


def test_a_ledger_that_overspends_is_refused() -> None:
    ledger = opened()
    ledger.charge(GAUSSIAN)
    data = json.loads(ledger.to_json())
    data["charges"] *= 4
    with pytest.raises(ReleaseError, match="does not add up"):
        Ledger.from_json(json.dumps(data))


def test_a_reason_that_was_cut_out_is_noticed() -> None:
    ledger = opened()
    ledger.mark_not_private("a seed was used")
    data = json.loads(ledger.to_json())
    data["reasons"] = []
    with pytest.raises(ReleaseError, match="disagree"):
        Ledger.from_json(json.dumps(data))


def test_the_page_says_it_in_words() -> None:
    ledger = opened()
    ledger.charge(GAUSSIAN)
    page = ledger.render()
    for words in (
        "Privacy ledger: PRIVATE",
        UNIT,
        "with and without any one of them",
        "epsilon = 0.5",
        "rho = 0.005",
        "visits.rows",
        "counts of ward; ward × age",
        "L2 4.24264",
        "discrete gaussian 42.5",
        "the list of wards",
    ):
        assert words in page
    assert max(map(len, page.splitlines())) < 160


def test_the_page_of_a_pure_budget_has_no_delta_to_explain() -> None:
    ledger = opened(delta=0.0)
    ledger.charge(LAPLACE)
    page = ledger.render()
    assert "epsilon = 0.5 of 1  (pure: delta = 0)" in page
    assert "1.65 times" in page
    assert "event of probability" not in page


def test_the_page_of_a_release_that_is_not_private_starts_with_that() -> None:
    ledger = opened()
    ledger.mark_not_private("a seed was used")
    first, second, third = ledger.render().splitlines()[:3]
    assert first == "Privacy ledger: NOT PRIVATE"
    assert "does NOT hold" in second
    assert "a seed was used" in third


def test_an_empty_ledger_and_a_huge_epsilon_still_render() -> None:
    page = Ledger(Budget(5000.0), UNIT).render()
    assert "Nothing was measured." in page
    assert "nothing but the schema and the plan" in page
    ledger = Ledger(Budget(5000.0), UNIT)
    ledger.charge(replace(LAPLACE, cost=5000.0, what="x" * 500))
    assert "e^5000 times" in ledger.render()
    assert "x" * 61 not in ledger.render()
