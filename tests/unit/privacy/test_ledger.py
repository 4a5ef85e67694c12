"""The ledger: append-only, survives a file, and reads like a page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from mare.errors import BudgetError, PrivacyError, ReleaseError
from mare.privacy.budget import Budget, Pledge
from mare.privacy.conversion import choice_scale, sigma_from_rho
from mare.privacy.ledger import LEARNING, MODELS, SIZES, Charge, Ledger
from mare.privacy.occasion import Occasion

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
CHOICE = Charge(
    what="parents of ward",
    view="visits.rows",
    mechanism="exponential choice",
    norm="max",
    sensitivity=2.0,
    scale=choice_scale(1e-4, 2.0, pure=False),
    cost=3.1e-4,
    histograms=0,
    cells=14,
    repeats=3,
)
KEYS = Charge(
    what="values of reason",
    view="visits.rows",
    mechanism="stable keys",
    norm="L2",
    sensitivity=2.0,
    scale=sigma_from_rho(5e-4, 2.0),
    cost=5e-4,
    histograms=0,
    cells=4,
    delta=1e-12,
)
CHEAP = replace(GAUSSIAN, scale=425.0, cost=0.0001)
CLIPPED = replace(GAUSSIAN, clip=1.5, cost=0.006)
OCCASION = Occasion("2026-03-14T09:26:53Z", "a course for students", "A. Nurse", "0.1.0", "ab" * 32)
PLEDGE = Pledge("oncology 2026", "2-d240681f", Budget(3.0, 1e-8))


def opened(delta: float = 1e-9, pledge: Pledge | None = None, occasion: Occasion | None = None) -> Ledger:
    return Ledger(Budget(1.0, delta), UNIT, ["the list of wards"], pledge, occasion)


def full() -> Ledger:
    """One charge of every kind that a budget with a delta can pay."""
    ledger = opened(pledge=PLEDGE, occasion=OCCASION)
    for charge in (GAUSSIAN, KEYS, CHOICE, CLIPPED, replace(LAPLACE, scale=120.0, cost=0.00125)):
        ledger.charge(charge)
    return ledger


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


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mechanism": "staircase"}, "no mechanism 'staircase'"),
        ({"norm": "L1"}, "must be in L2"),
        ({"sensitivity": 0.0}, "sensitivity is 0.0"),
        ({"sensitivity": float("nan")}, "sensitivity is nan"),
        ({"sensitivity": True}, "sensitivity is True"),
        ({"scale": -1.0}, "scale is -1.0"),
        ({"scale": float("inf")}, "scale is inf"),
        ({"scale": "42"}, "scale is '42'"),
        ({"delta": 1e-12}, "no delta of its own"),
        ({"clip": 0.0}, "clip is 0.0"),
        ({"clip": float("nan")}, "clip is nan"),
        ({"repeats": 0}, "0 answers"),
        ({"repeats": True}, "True answers"),
        ({"repeats": 2}, "was to be charged for what costs"),
        ({"scale": 42.0}, "was to be charged for what costs"),
        ({"cost": 0.0}, "not one"),
        ({"cost": float("nan")}, "not one"),
    ],
)
def test_a_charge_that_no_mechanism_makes_is_refused_and_nothing_is_charged(change: dict[str, object], words: str) -> None:
    ledger = opened()
    with pytest.raises(PrivacyError, match=words):
        ledger.charge(replace(GAUSSIAN, **change))  # type: ignore[arg-type]
    assert ledger.charges == ()
    assert ledger.left == ledger.total


def test_stable_keys_need_a_delta_of_their_own() -> None:
    with pytest.raises(PrivacyError, match="a delta of its own, above 0"):
        opened().charge(replace(KEYS, delta=0.0))


@pytest.mark.parametrize("charge", [GAUSSIAN, KEYS], ids=["gaussian", "keys"])
def test_pure_epsilon_pays_neither_for_gaussian_noise_nor_for_learned_keys(charge: Charge) -> None:
    ledger = opened(delta=0.0)
    with pytest.raises(PrivacyError, match="cannot be paid with pure epsilon"):
        ledger.charge(charge)
    assert ledger.left == 1
    assert ledger.learning_left == 0


def test_pure_epsilon_pays_for_choices() -> None:
    ledger = opened(delta=0.0)
    ledger.charge(replace(CHOICE, scale=choice_scale(0.25, 2.0, pure=True), cost=0.75))
    assert ledger.totals.epsilon == 0.75
    with pytest.raises(PrivacyError, match="was to be charged for what costs"):
        ledger.charge(replace(CHOICE, scale=15.9, cost=0.25, repeats=1))


def test_delta_is_told_apart() -> None:
    ledger = full()
    totals = ledger.totals
    assert totals.delta_learning == 1e-12
    assert 0 < totals.delta_numeric < 1e-30
    assert 9e-10 < totals.delta_conversion < totals.delta <= 1e-9
    assert float(ledger.learning_left) == pytest.approx(1e-9 / 64 - 1e-12, rel=1e-9, abs=0)


@pytest.mark.parametrize("make", [full, lambda: opened(0.0)], ids=["every kind", "pure"])
def test_a_ledger_survives_a_file(make: Callable[[], Ledger]) -> None:
    ledger = make()
    ledger.mark_not_private("a seed was used")
    back = Ledger.from_json(ledger.to_json())
    assert back.to_json() == ledger.to_json()
    assert back.render(full=True) == ledger.render(full=True)
    assert back.occasion == ledger.occasion
    assert (back.charges, back.totals, back.left, back.status) == (ledger.charges, ledger.totals, ledger.left, ledger.status)
    assert back.pledge == ledger.pledge


def test_the_file_says_what_is_promised() -> None:
    data = json.loads(full().to_json())
    assert data["status"] == "PRIVATE"
    assert data["adjacency"] == "add or remove one entity"
    assert data["unit"] == UNIT
    assert data["public"] == ["the list of wards"]
    assert data["budget"] == {"epsilon": 1.0, "delta": 1e-9}
    assert data["budget_file"] == {"label": "oncology 2026", "id": "2-d240681f", "cap": {"epsilon": 3.0, "delta": 1e-8}}
    assert data["totals"]["epsilon"] == full().totals.epsilon
    assert data["totals"]["delta"] == full().totals.delta
    assert data["charges"][0]["scale"] == 42.5
    assert data["charges"][3]["clip"] == 1.5


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", '{"mare_ledger": 1}', '{"mare_ledger": 1, "budget": 3}', "[" * 100_000])
def test_what_is_no_ledger_is_refused(text: str) -> None:
    with pytest.raises(ReleaseError, match="not a ledger"):
        Ledger.from_json(text)


def test_a_ledger_of_another_format_is_refused() -> None:
    with pytest.raises(ReleaseError, match="format 99"):
        Ledger.from_json('{"mare_ledger": 99}')


def changed(path: tuple[str | int, ...], value: object) -> str:
    ledger = full()
    ledger.mark_not_private("a seed was used")
    data = json.loads(ledger.to_json())
    place = data
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return json.dumps(data)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("reasons",), [], "status and its reasons disagree"),
        (("status",), "PRIVATE", "status and its reasons disagree"),
        (("adjacency",), "replace one entity", "adjacency is 'replace one entity'"),
        (("totals", "epsilon"), 0.1, "totals are not what its charges come to"),
        (("totals", "delta_learning"), 0.0, "totals are not"),
        (("totals", "rho"), None, "totals are not"),
        (("totals",), {"epsilon": 0.1}, "totals are not"),
        (("totals",), 7, "totals are not"),
        (("charges",), [], "totals are not"),
        (("charges", 0, "cost"), 0.9, "does not add up: the budget cannot pay"),
        (("charges", 0, "scale"), 1.0, "does not add up: .* was to be charged"),
        (("charges", 0, "mechanism"), "magic", "does not add up: there is no mechanism"),
        (("charges", 0, "cost"), "0.005", "does not add up"),
        (("charges", 1, "delta"), 1e-10, "left for learning"),
        (("charges", 0, "total_variation"), 1e-12, "numerical error"),
        (("charges", 0, "weight"), 3, "damaged"),
        (("budget", "epsilon"), -1, "does not add up"),
        (("budget_file",), {"label": "x"}, "damaged"),
        (("occasion",), {"by": 7}, "damaged"),
        (("occasion",), {"signed": "x"}, "damaged"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(path: tuple[str | int, ...], value: object, words: str) -> None:
    with pytest.raises(ReleaseError, match=words):
        Ledger.from_json(changed(path, value))


def test_another_machines_last_digit_is_no_contradiction() -> None:
    ledger = full()
    data = json.loads(ledger.to_json())
    data["totals"]["epsilon"] *= 1 + 1e-15
    assert Ledger.from_json(json.dumps(data)).totals == ledger.totals


@pytest.mark.parametrize("width", [80, 100, 140])
def test_the_page_says_it_in_words_and_fits_its_width(width: int) -> None:
    page = full().render(width, full=True)
    plain = " ".join(page.split())
    for words in (
        "Privacy ledger: PRIVATE",
        UNIT,
        "with and without any one of them (add or remove one)",
        "at most 2.72 times higher or lower had that one been left out, but for an event of probability 1e-09",
        "oncology 2026, reservation 2-d240681f. All releases under it together promise epsilon = 3, delta = 1e-08",
        "1e-12 for learned domains",
        "gaussian 42.5",
        "L2 4.243",
        "scaled down to 1.5",
        "discrete Laplace noise was added",
        "a candidate was chosen",
        "values that many entities have were listed",
        "Taken as public, not protected and not paid for: - the list of wards",
    ):
        assert words in plain, words
    assert max(map(len, page.splitlines())) <= width


def test_long_lists_are_wrapped_and_nothing_is_cut_off() -> None:
    ledger = opened()
    names = [f"column{number} × other{number}" for number in range(40)]
    ledger.charge(replace(GAUSSIAN, what="counts of " + "; ".join(names)))
    page = ledger.render(80, full=True)
    assert all(f"column{number}" in page and f"other{number}" in page for number in range(40))
    assert max(map(len, page.splitlines())) <= 80


def test_only_what_occurs_is_explained() -> None:
    ledger = opened()
    ledger.charge(GAUSSIAN)
    page = ledger.render(full=True)
    assert "Gaussian" in page
    for words in ("Laplace", "candidate", "listed", "L1", "max:"):
        assert words not in page


def test_the_promise_is_the_budget_not_what_happened_to_be_spent() -> None:
    """What is spent may depend on noisy answers; the filter's promise is its fixed total."""
    ledger = opened(delta=0.0)
    ledger.charge(LAPLACE)
    page = ledger.render()
    assert "2.72 times" in page
    assert "epsilon = 0.5 of 1 (pure: delta = 0)" in page
    assert "event of probability" not in page


def test_the_page_of_a_release_that_is_not_private_starts_with_that() -> None:
    ledger = opened()
    ledger.mark_not_private("a seed was used")
    first, second, third = ledger.render().splitlines()[:3]
    assert first == "Privacy ledger: NOT PRIVATE"
    assert "does NOT hold" in second
    assert "a seed was used" in third


def test_an_empty_ledger_and_a_huge_epsilon_still_render() -> None:
    page = Ledger(Budget(5000.0, delta=0), UNIT).render()
    assert "Nothing was measured." in page
    assert "nothing but the schema and the plan" in page
    assert "e^5000 times" in page


def test_a_pledge_makes_numerical_error_count_under_the_wider_promise() -> None:
    """Errors are swollen by e to the cap's epsilon, not by e to this release's own."""
    alone, pledged = opened(), opened(pledge=Pledge("wide", "1-00000000", Budget(30.0, 1e-8)))
    assert alone.affords_error(1e-20)
    assert not pledged.affords_error(1e-20)
    assert pledged.affords_error(1e-27)


def in_steps() -> Ledger:
    """As a fit charges: first sizes, then what is learned, then the models."""
    ledger = opened(pledge=PLEDGE, occasion=OCCASION)
    steps = (
        (SIZES, replace(CHEAP, view="patients.sizes")),
        (LEARNING, replace(KEYS, view="visits.reason")),
        (LEARNING, replace(CHEAP, view="visits.rows")),  # a column that is called like a group
        (MODELS, replace(CHOICE, view="visits.rows")),
        (MODELS, replace(CHEAP, view="patients.rows")),
    )
    for step, charge in steps:
        ledger.begin(step)
        ledger.charge(charge)
    return ledger


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("make", [full, in_steps], ids=["of its own", "of a fit"])
def test_the_summary_adds_up_to_the_same_sum(make: Callable[[], Ledger], width: int) -> None:
    ledger = make()
    page = ledger.render(width)
    assert max(map(len, page.splitlines())) <= width
    (total,) = [line for line in page.splitlines() if line.strip().startswith("all of it")]
    choices = sum(charge.mechanism == "exponential choice" for charge in ledger.charges)
    assert total.split()[3:5] == [str(choices), str(len(ledger.charges) - choices)]
    assert f"{sum(charge.cost for charge in ledger.charges):.3g}" in total
    assert f"What was measured: {len(ledger.charges)} charges" in page
    # Status, promise and what is public are those of the whole page.
    assert page.split("What was measured")[0] == ledger.render(width, full=True).split("What was measured")[0]
    assert page.split("Taken as public")[1] == ledger.render(width, full=True).split("Taken as public")[1]


def test_the_summary_has_a_line_for_each_step_and_for_each_model() -> None:
    page = in_steps().render(100)
    rows = [line.strip() for line in page.split("-----\n")[1].split("\n\n")[0].splitlines()]
    parts = [re.split(r"\s{2,}", row) for row in rows]
    assert [(part[0], part[1], part[2]) for part in parts] == [
        ("sizes: how many there are", "0", "1"),
        ("learning: values, bounds and bins", "0", "2"),
        ("visits.rows", "1", "0"),
        ("patients.rows", "0", "1"),
        ("all of it", "1", "4"),
    ]
    assert [charge["phase"] for charge in json.loads(in_steps().to_json())["charges"]] == [
        "sizes", "learning", "learning", "models", "models",
    ]  # fmt: skip


@pytest.mark.parametrize("complete", [False, True], ids=["summary", "full"])
def test_the_page_says_when_for_what_by_whom_and_from_which_schema(complete: bool) -> None:
    page = full().render(100, full=complete)
    assert "2026-03-14 09:26:53 UTC, with mare 0.1.0" in page
    assert re.search(r"^For: +a course for students$", page, flags=re.MULTILINE)
    assert re.search(r"^By: +A\. Nurse$", page, flags=re.MULTILINE)
    assert "ab" * 32 in page
    assert json.loads(full().to_json())["occasion"]["purpose"] == "a course for students"


def test_what_was_not_said_is_shown_as_not_said() -> None:
    page = opened().render()
    assert "when was not said" in page
    assert "not said (--purpose)" in page
    assert "not said (--by)" in page
    assert "Other releases of the same data add to this promise" in " ".join(page.split())


def test_a_ledger_from_before_occasions_and_steps_still_reads() -> None:
    data = json.loads(full().to_json())
    del data["occasion"]
    for charge in data["charges"]:
        del charge["phase"]
    assert Ledger.from_json(json.dumps(data)).occasion == Occasion()


@pytest.mark.parametrize(("epsilon", "word"), [(50.0, "promises next to nothing"), (20.0, "is weak"), (10.0, None), (1.0, None)])
def test_the_page_calls_a_large_epsilon_what_it_is(epsilon: float, word: str | None) -> None:
    page = Ledger(Budget(epsilon, 1e-9), UNIT).render()
    assert ("What that is worth:" in page) == (word is not None)
    assert word is None or word in " ".join(page.split())


def test_a_notebook_shows_the_page_as_text() -> None:
    ledger = full()
    ledger.declare("tables <b>")
    shown = ledger._repr_html_()
    assert shown.startswith("<pre>")
    assert "tables &lt;b&gt;" in shown
