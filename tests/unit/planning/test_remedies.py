"""Where a group drowns, the plan says so and names numbers; doing what it says helps."""

from __future__ import annotations

import re
from typing import Any

from mare.planning import Plan, Warned
from mare.planning.planning import plan
from mare.privacy.budget import Budget

from .examples import BUDGET, hospital, planned, schema_of


def noisy_hospital(people: int = 400) -> dict[str, Any]:
    tables = hospital()
    tables["patients"]["rows"] = people
    tables["admissions"]["rows"] = 3 * people
    tables["transfers"]["rows"] = 4 * people
    tables["transfers"]["columns"]["unit"] = {"type": "integer", "min": 1, "max": 30}
    return tables


def warning(made: Plan, group: str = "transfers.rows") -> Warned | None:
    return next((warned for warned in made.warnings if warned.where == group), None)


def number(pattern: str, warned: Warned) -> int:
    match = re.search(pattern, warned.remedy)
    assert match is not None, warned.remedy
    return int(match[1].replace(",", ""))


def test_a_group_that_stands_clear_of_the_noise_is_not_warned_of() -> None:
    tables = hospital()
    tables["patients"]["rows"] = 10**6
    assert planned(tables, budget=Budget(5, 1e-6)).warnings == ()


def test_a_noisy_group_is_told_to_use_fewer_values_or_to_raise_epsilon() -> None:
    warned = warning(planned(noisy_hospital()))
    assert warned is not None
    assert "will be noisy" in warned.what
    for part in ("give unit at most", "epsilon from 2 to"):
        assert part in warned.remedy


def test_a_group_below_its_noise_drowns() -> None:
    warned = warning(planned(noisy_hospital(people=150)))
    assert warned is not None
    assert "drowns in noise" in warned.what


def test_caps_that_nobody_reaches_add_no_noise() -> None:
    """Models scale down whoever has more than most: a generous cap is no reason to warn, and a lower one no remedy."""
    tight, generous = noisy_hospital(), noisy_hospital()
    generous["transfers"]["parent"] |= {"max_rows": 500, "max_per_entity": 5000}
    before, after = warning(planned(tight)), warning(planned(generous))
    assert before == after
    assert before is not None
    assert "max_rows" not in before.remedy


def test_using_no_more_values_than_named_makes_the_group_fine() -> None:
    tables = noisy_hospital()
    warned = warning(planned(tables))
    assert warned is not None
    tables["transfers"]["columns"]["unit"]["bins"] = number(r"(?:^|[;:] )give unit at most (\d+) values", warned)
    assert warning(planned(tables)) is None


def test_the_epsilon_that_is_named_makes_the_group_fine() -> None:
    tables = noisy_hospital()
    for budget in (BUDGET, Budget(2, delta=0)):
        warned = warning(planned(tables, budget=budget))
        assert warned is not None
        match = re.search(r"epsilon from 2 to (\d+(?:\.\d+)?)", warned.remedy)
        assert match is not None, warned.remedy
        richer = plan(schema_of(tables), Budget(float(match[1]), budget.delta))
        assert warning(richer) is None


def test_where_no_single_change_is_enough_it_says_so() -> None:
    tables = noisy_hospital()
    tables["transfers"]["columns"]["unit"] = {"type": "category", "values": ["a", "b"]}
    tables["patients"]["rows"], tables["admissions"]["rows"], tables["transfers"]["rows"] = 4, 6, 7
    warned = warning(planned(tables))
    assert warned is not None
    assert "No single change is enough" in warned.remedy


def test_the_epsilon_that_is_named_is_no_larger_than_it_has_to_be() -> None:
    """Learning takes more of a small budget than of a large one: what it leaves is reckoned for the epsilon that is named."""
    word = {"type": "category", "learn": True, "max_values": 120}
    tables = {"patients": {"key": "subject_id", "rows": 1000, "columns": {"town": word, "trade": word}}}

    def warned(epsilon: float) -> Warned | None:
        return warning(planned(tables, budget=Budget(epsilon)), "patients.rows")

    noisy = warned(2)
    assert noisy is not None
    match = re.search(r"epsilon from 2 to (\d+(?:\.\d+)?)", noisy.remedy)
    assert match is not None, noisy.remedy
    assert warned(float(match[1])) is None
    assert warned(float(match[1]) - 0.02) is not None
