"""Where a group drowns, the plan says so and names numbers; doing what it says helps."""

from __future__ import annotations

import re
from typing import Any

from mare.planning import Plan, Warned
from mare.planning.planning import plan
from mare.privacy.budget import Budget

from .examples import BUDGET, hospital, planned, schema_of


def noisy_hospital(max_rows: int = 10) -> dict[str, Any]:
    tables = hospital()
    tables["patients"]["rows"] = 10_000
    tables["admissions"]["rows"] = 30_000
    tables["transfers"]["rows"] = 40_000
    tables["transfers"]["parent"]["max_rows"] = max_rows
    tables["transfers"]["columns"]["unit"] = {"type": "integer", "min": 1, "max": 30}
    return tables


def warning(made: Plan, group: str = "transfers.rows") -> Warned | None:
    return next((warned for warned in made.warnings if warned.where == group), None)


def relative(made: Plan, group: str = "transfers.rows") -> float:
    """The mean count of a cell in units of its noise."""
    seen = next(p for p in made.preview if p.name == group)
    return seen.per_cell / seen.noise


def number(pattern: str, warned: Warned) -> int:
    match = re.search(pattern, warned.remedy)
    assert match is not None, warned.remedy
    return int(match[1].replace(",", ""))


def test_a_group_that_stands_clear_of_the_noise_is_not_warned_of() -> None:
    tables = hospital()
    tables["patients"]["rows"] = 10**6
    assert planned(tables, budget=Budget(5, 1e-6)).warnings == ()


def test_a_noisy_group_is_told_to_lower_its_caps_its_values_or_to_raise_epsilon() -> None:
    warned = warning(planned(noisy_hospital()))
    assert warned is not None
    assert "will be noisy" in warned.what
    assert "(S = 100)" in warned.what
    for part in ("max_rows of transfers from 10 to", "max_per_entity", "give unit at most", "epsilon from 2 to"):
        assert part in warned.remedy


def test_a_group_below_its_noise_drowns_and_is_offered_a_change_of_two_things() -> None:
    tables = noisy_hospital(max_rows=60)
    tables["transfers"]["rows"] = 20_000
    warned = warning(planned(tables))
    assert warned is not None
    assert "drowns in noise" in warned.what
    assert re.search(r"lower max_rows of transfers from 60 to \d+ and give unit at most \d+ values", warned.remedy)


def test_setting_the_cap_per_entity_that_is_named_makes_the_group_fine() -> None:
    tables = noisy_hospital()
    warned = warning(planned(tables))
    assert warned is not None
    tables["transfers"]["parent"]["max_per_entity"] = number(r"max_per_entity: ([\d,]+) on transfers", warned)
    assert warning(planned(tables)) is None


def test_using_no_more_values_than_named_makes_the_group_fine() -> None:
    tables = noisy_hospital()
    warned = warning(planned(tables))
    assert warned is not None
    tables["transfers"]["columns"]["unit"]["bins"] = number(r"(?:^|; )give unit at most (\d+) values", warned)
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


def test_a_context_is_told_to_lower_the_count_that_it_holds() -> None:
    tables = hospital()
    tables["patients"]["rows"] = 3_000
    tables["admissions"]["parent"]["max_rows"] = 100
    warned = warning(planned(tables), "admissions.context")
    assert warned is not None
    tables["admissions"]["parent"]["max_rows"] = number(r"lower max_rows of admissions to (\d+)", warned)
    assert relative(planned(tables), "admissions.context") > 3.5


def test_where_no_single_change_is_enough_it_says_so() -> None:
    tables = noisy_hospital()
    tables["transfers"]["columns"]["unit"] = {"type": "category", "values": ["a", "b"]}
    tables["patients"]["rows"], tables["admissions"]["rows"], tables["transfers"]["rows"] = 40, 60, 70
    warned = warning(planned(tables))
    assert warned is not None
    assert "No single change is enough" in warned.remedy


def test_clipping_is_mentioned_where_entities_have_far_fewer_rows_than_the_cap() -> None:
    assert any("clips contributions" in note and "transfers.rows" in note for note in planned(noisy_hospital()).notes)
