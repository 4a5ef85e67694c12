"""The three risks are those of the package `anonymeter` on the same people, as it told them (`tests/anonymeter_figures.py`)."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from mare.evaluation.rates import Rate, excess
from mare.evaluation.risk.attacks import Attack, Game
from mare.evaluation.risk.three_risks import inference, linkability, singling_out
from tests.anonymeter_figures import COPIED, DRAWS, HALVES, NEIGHBOURS, SECRETS, STATEMENTS, sides
from tests.people import vectors

KEPT = Path(__file__).resolve().parents[2] / "fixtures" / "anonymeter.json"
WORLDS = list(COPIED)
TIES = 0.02
"""Equally near neighbours are chosen otherwise: a share of the people that may come out either way."""


@cache
def theirs(world: str) -> dict[str, dict[str, float]]:
    kept: dict[str, dict[str, dict[str, float]]] = json.loads(KEPT.read_text())
    return kept[world]


def game(world: str, seed: int = 0) -> tuple[Game, list[str]]:
    columns = sides(COPIED[world])
    return Game(*(vectors(**held) for held in columns), seed=seed), list(columns[0])


def agrees(attack: Attack, figures: dict[str, float]) -> None:
    """The same rates, intervals as wide, and a risk within the package's own interval."""
    assert attack.control is not None
    for name, rate in (("success", attack.success), ("control", attack.control)):
        assert rate.value == pytest.approx(figures[name], abs=TIES)
        assert rate.error == pytest.approx(figures[f"{name}, error"], abs=TIES / 2)
    assert figures["risk, lower"] <= max(attack.excess.value, 0.0) <= figures["risk, upper"]


@pytest.mark.parametrize("world", WORLDS)
def test_halves_are_linked_as_often(world: str) -> None:
    played, names = game(world)
    first, second = ([names.index(name) for name in half] for half in HALVES)
    agrees(linkability(played, (first, second), neighbours=NEIGHBOURS), theirs(world)["linkability"])


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("world", WORLDS)
def test_secrets_are_inferred_as_often(world: str, secret: str) -> None:
    played, names = game(world)
    column = names.index(secret)
    known = [c for c in range(len(names)) if c != column]
    agrees(inference(played, column, known), theirs(world)[f"inference of {secret}"])


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("world", WORLDS)
def test_statements_single_out_as_often(world: str, columns: int) -> None:
    """Statements are drawn at random, so both are means of so many draws. A draw's half-width is two standard deviations, its
    third is three of the difference of two means of twenty: seeds are fixed, and others would fail once in 400 at most."""
    attacks = [singling_out(game(world, seed)[0], columns=columns, statements=STATEMENTS) for seed in range(DRAWS)]
    figures = theirs(world)[f"singling out by {columns}"]
    for name in ("success", "control"):
        rates: list[Rate] = [getattr(attack, name) for attack in attacks]
        assert np.mean([rate.value for rate in rates]) == pytest.approx(
            figures[name], abs=max(figures[f"{name}, error"] / 3, 0.01)
        )
    risks = [max(excess(attack.success, attack.control).value, 0.0) for attack in attacks if attack.control is not None]
    assert figures["risk, lower"] <= np.mean(risks) <= figures["risk, upper"]


def test_what_is_kept_tells_copies_from_none() -> None:
    """Else agreeing with it would say little. Of who is ill the copies tell next to nothing: it follows from age and weight."""
    leaking, sound = (theirs(world) for world in WORLDS)
    assert [about for about, figures in leaking.items() if figures["risk, lower"] == 0] == ["inference of ill"]
    assert all(figures["risk, lower"] == 0 for figures in sound.values())
