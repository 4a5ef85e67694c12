"""Singling out, linkability and inference, the three risks of the Article 29 Working Party, as `anonymeter` attacks them.

Singling out: a statement that is true of exactly one synthetic entity is true of exactly one real one.
Linkability: two halves of what is known of a real entity have a nearest synthetic entity in common.
Inference: the synthetic entity nearest in the known columns has the true value of the secret one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mare.evaluation.rates import independent_number
from mare.evaluation.vectors import Features, Ints, nearest

from .attacks import Attack, Game

TOLERANCE = 0.05
"""A number is inferred where the guess is within this share of it."""
STATEMENTS, TRIES = 500, 5_000
NEIGHBOURS = 1


@dataclass(frozen=True)
class Condition:
    """Something that a column may say of an entity."""

    column: int
    sign: Literal["=", "<=", ">="]
    value: float
    """A code, a number, or NaN for NULL."""

    def holds(self, features: Features) -> NDArray[np.bool_]:
        values = np.asarray(features.values[self.column], np.float64)
        if np.isnan(self.value):
            return np.isnan(values)
        if self.sign == "=":
            return np.asarray(values == self.value)
        return values <= self.value if self.sign == "<=" else values >= self.value


Statement = tuple[Condition, ...]


def singling_out(game: Game, *, columns: int = 1, statements: int = STATEMENTS) -> Attack:
    """With statements on one column (extremes and values that one synthetic entity has) or on several.

    Here both sides are made the same size: how many entities a statement fits depends on how many there are."""
    rng, synthetic, people = np.random.default_rng(game.seed), game.synthetic, game.people
    size = min(side.rows for side in people)
    people = [side.sample(size, rng) for side in people]
    drawn = _univariate(synthetic, rng) if columns == 1 else _multivariate(synthetic, columns, rng)
    chosen, whom = _that_single_out(drawn, synthetic, statements)
    blind = list(_blind(synthetic, columns, len(chosen), rng))
    return game.counted(
        "singling out",
        f"{'one column' if columns == 1 else f'{columns} columns'}, {len(chosen)} statements",
        [_singles(chosen, side) for side in people],
        _singles(blind, people[0]),
        worth=independent_number(whom),  # statements about one synthetic entity fit or fail together
    )


def linkability(game: Game, halves: tuple[Sequence[int], Sequence[int]], *, neighbours: int = NEIGHBOURS) -> Attack:
    """Whether what two parties know of the same person can be brought together."""
    rng, rows = np.random.default_rng(game.seed), game.synthetic.rows
    k = min(neighbours, rows)
    blind = [
        bool(k) and not set(rng.choice(rows, k, replace=False)).isdisjoint(rng.choice(rows, k, replace=False))
        for _ in range(game.real.rows)
    ]
    about = f"{len(halves[0])} and {len(halves[1])} columns, {k} neighbours"
    linked = [_linked(game, side, halves, k) for side in game.people]
    return game.counted("linkability", about, linked, np.array(blind, np.bool_))


def inference(game: Game, secret: int, known: Sequence[int]) -> Attack:
    """Whether a secret column follows from the others by looking up the nearest synthetic entity."""
    blind = np.random.default_rng(game.seed).integers(0, max(game.synthetic.rows, 1), game.real.rows)
    guessed = [_guessed(game, side, secret, known) for side in game.people]
    return game.counted("inference", game.real.columns[secret].name, guessed, _same(game.real, game.synthetic, secret, blind))


def _univariate(synthetic: Features, rng: np.random.Generator) -> Iterator[Statement]:
    conditions: list[Condition] = []
    for column in range(len(synthetic.columns)):
        values = np.asarray(synthetic.values[column], np.float64)
        known = values[np.isfinite(values)]
        if len(values) - len(known) == 1:
            conditions.append(Condition(column, "=", float("nan")))
        if synthetic.is_number(column) and len(known):
            conditions += [Condition(column, "<=", float(known.min())), Condition(column, ">=", float(known.max()))]
        met, counts = np.unique(known, return_counts=True)
        conditions += [Condition(column, "=", float(value)) for value in met[counts == 1]]
    for place in rng.permutation(len(conditions)):
        yield (conditions[place],)


def _multivariate(synthetic: Features, columns: int, rng: np.random.Generator) -> Iterator[Statement]:
    """All that some columns of a synthetic entity say; of a number, that it is at least or at most so large, away from the
    median."""
    width = min(columns, len(synthetic.columns))
    medians = {c: float(np.median(known)) for c in synthetic.numbers if len(known := synthetic.finite(c))}
    for _ in range(TRIES if synthetic.rows and width else 0):
        row = int(rng.integers(synthetic.rows))
        statement = []
        for column in np.sort(rng.choice(len(synthetic.columns), width, replace=False)).tolist():
            value = float(synthetic.values[column][row])
            sign: Literal["=", "<=", ">="] = "="
            if synthetic.is_number(column) and not np.isnan(value):
                sign = ">=" if value > medians[column] else "<="
            statement.append(Condition(column, sign, value))
        yield tuple(statement)


def _blind(synthetic: Features, columns: int, statements: int, rng: np.random.Generator) -> Iterator[Statement]:
    """Statements about values that occur, put together at random: what one can say who does not look at any row."""
    signs: tuple[Literal["=", "<=", ">="], ...] = ("=", "<=", ">=")
    values = [np.unique(np.asarray(column, np.float64)) for column in synthetic.values]
    width = min(columns, len(values))
    for _ in range(statements):
        chosen = rng.choice(len(values), width, replace=False).tolist()
        yield tuple(
            Condition(c, signs[int(rng.integers(3))] if synthetic.is_number(c) else "=", float(rng.choice(values[c])))
            for c in chosen
        )


def _that_single_out(statements: Iterator[Statement], features: Features, most: int) -> tuple[list[Statement], Ints]:
    """Different statements that are true of one entity alone, and of which."""
    entity_of: dict[Statement, int] = {}
    for statement in statements:
        if statement not in entity_of and np.count_nonzero(met := _met(statement, features)) == 1:
            entity_of[statement] = int(met.argmax())
            if len(entity_of) == most:
                break
    return list(entity_of), np.array(list(entity_of.values()), np.int64)


def _singles(statements: Sequence[Statement], features: Features) -> NDArray[np.bool_]:
    return np.array([np.count_nonzero(_met(statement, features)) == 1 for statement in statements], np.bool_)


def _met(statement: Statement, features: Features) -> NDArray[np.bool_]:
    met = np.ones(features.rows, np.bool_)
    for condition in statement:
        met &= condition.holds(features)
    return met


def _linked(game: Game, people: Features, halves: tuple[Sequence[int], Sequence[int]], k: int) -> NDArray[np.bool_]:
    if not k:
        return np.zeros(people.rows, np.bool_)
    first, second = (_nearest(game, people, half, k) for half in halves)
    return np.asarray((first[:, :, None] == second[:, None, :]).any(axis=(1, 2)))


def _guessed(game: Game, people: Features, secret: int, known: Sequence[int]) -> NDArray[np.bool_]:
    if not game.synthetic.rows:
        return np.zeros(people.rows, np.bool_)
    return _same(people, game.synthetic, secret, _nearest(game, people, known, 1)[:, 0])


def _nearest(game: Game, people: Features, columns: Sequence[int], neighbours: int) -> Ints:
    """The nearest synthetic entities by these columns, on one scale for all who are attacked."""
    scale = [part.select(columns) for part in (game.real, game.synthetic, *game.people[1:])]
    return nearest(people.select(columns), game.synthetic.select(columns), neighbours, scale=scale)[0]


def _same(people: Features, synthetic: Features, secret: int, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    if not synthetic.rows:
        return np.zeros(people.rows, np.bool_)
    if not people.is_number(secret):
        return np.asarray(people.code(secret) == synthetic.code(secret)[rows])
    truth, guess = people.number(secret), synthetic.number(secret)[rows]
    near = np.abs(guess - truth) <= TOLERANCE * np.abs(guess) + 1e-12
    return np.asarray(near | (np.isnan(truth) & np.isnan(guess)))
