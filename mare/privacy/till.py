"""`Till`: what one curator may spend, and the only place where it does. Quote, then pay, then release: in this order.

    quote (what would it cost, how much noise)  ─►  pay (the ledger is charged)  ─►  exact answer  ─►  release (noise is added)

A quote charges nothing, so whatever can be refused is refused before the payment, and nothing is counted before it. Every
kind of answer (`mare.privacy.answers`) is written with these three steps. The till holds the view: it never leaves the room.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mare.domain import Marginal
from mare.errors import BudgetError, InternalError, PrivacyError

from .bits import BitSource
from .conversion import down, scale_from_epsilon, sigma_from_rho, sqrt_up
from .ledger import Charge, Ledger
from .noise import LARGEST_COUNT, Mechanism, Noise, prepare_noise
from .tape import Query, Tape
from .view import PrivateView

Integers = NDArray[np.int64]

_SLACK = Fraction(1, 10**9)
"""Shares are floats: ten tenths may be a hair more than one. Such a hair is cut off, never spent."""


@dataclass(frozen=True)
class Quote:
    """What a share of the budget buys for numbers that one entity moves so far. Nothing was charged yet."""

    portion: Fraction
    cost: float
    """ρ under (ε, δ), ε under pure ε."""
    mechanism: Mechanism
    norm: Literal["L1", "L2"]
    sensitivity_squared: int
    """In units of the answer: integers, so that nothing is lost in a root."""
    sensitivity: float
    scale: float


class Till:
    """One view, one allowance."""

    def __init__(self, ledger: Ledger, bits: BitSource, tape: Tape | None, view: PrivateView, allowance: Fraction) -> None:
        if view.max_rows_per_entity < 1:
            raise PrivacyError(
                f"view {view.name!r}: the cap on rows per entity is {view.max_rows_per_entity}; it must be at least 1."
            )
        self.ledger = ledger
        self.bits = bits
        self.tape = tape
        self.view = view
        self._allowance = allowance
        self._spent = Fraction(0)
        self.known_scores: dict[tuple[object, str], int] = {}
        """True scores that were worked out for an earlier choice: secret, and the same whenever they are asked again."""
        self.known_norms: dict[tuple[Marginal, ...], Integers] = {}
        """The norms that a clip was chosen by, kept until the tables are clipped: secret, and long to work out."""

    @property
    def where(self) -> str:
        """The beginning of every error message."""
        return f"view {self.view.name!r}"

    @property
    def pure(self) -> bool:
        return self.ledger.budget.pure

    @property
    def remaining(self) -> float:
        """The fraction of the allowance that is left, from 1 to 0."""
        return float((self._allowance - self._spent) / self._allowance)

    def portion(self, share: float) -> Fraction:
        """That fraction of the allowance, if so much is left."""
        return portion_of(share, self._allowance, self._allowance - self._spent, self.where)

    def lent(self, view: PrivateView, share: float) -> Till:
        """A till over another view of the same rows, with that fraction of the allowance: it is gone from this one."""
        portion = self.portion(share)
        till = Till(self.ledger, self.bits, self.tape, view, portion)
        self._spent += portion
        return till

    def quote(self, sensitivity_squared: int, share: float) -> Quote:
        """The noise that a share buys. ``sensitivity_squared`` is L1² under pure ε, L2² under (ε, δ), in units of the answer."""
        portion = self.portion(share)
        cost = down(portion)
        if cost <= 0:
            raise BudgetError(f"{self.where}: this share of the budget is too small to measure anything.")
        sensitivity = sqrt_up(sensitivity_squared)
        if self.pure:
            scale = scale_from_epsilon(cost, sensitivity)
            return Quote(portion, cost, "discrete laplace", "L1", sensitivity_squared, sensitivity, scale)
        scale = sigma_from_rho(cost, sensitivity)
        return Quote(portion, cost, "discrete gaussian", "L2", sensitivity_squared, sensitivity, scale)

    def noise(self, quote: Quote, cells: int) -> Noise:
        """The noise for so many dense cells; exact where δ cannot pay for a numerical error."""
        noise = prepare_noise(quote.mechanism, quote.scale, cells)
        if not self.ledger.affords_error(noise.total_variation):
            noise = prepare_noise(quote.mechanism, quote.scale, cells, exact=True)
        return noise

    def pay(self, query: Query, charge: Charge, portion: Fraction) -> None:
        """Charge, or refuse. What follows has been paid for, also if it then breaks down."""
        if (query.what, query.cost) != (charge.what, charge.cost) or charge.cost > portion:
            raise InternalError(f"{self.where}: {query.what} was asked, and something else was to be charged")
        self.ledger.charge(charge)
        self._spent += portion

    def release(self, query: Query, exact: list[Integers], draw: Callable[[], list[Integers]]) -> list[Integers]:
        """The answer as it leaves: through the tape, where there is one."""
        return draw() if self.tape is None else self.tape.answer(query, exact, draw)

    def release_dense(self, query: Query, noise: Noise, exact: list[Integers]) -> list[Integers]:
        """Every cell gets its own noise, those at zero too."""

        def draw() -> list[Integers]:
            drawn = noise.draw(self.bits)
            parts = np.split(drawn, np.cumsum([values.size for values in exact])[:-1])
            # counts are below 2^61 and noise saturates at 2^62, so the clamp makes the saturation invisible
            return [
                np.asarray(np.clip(values + part.reshape(values.shape), -LARGEST_COUNT, LARGEST_COUNT))
                for values, part in zip(exact, parts, strict=True)
            ]

        return self.release(query, exact, draw)

    def assert_cap(self) -> None:
        """Truncation promised S. If it did not keep its word every sensitivity here is wrong: fail closed."""
        if not self.view.largest_entity() <= self.view.max_rows_per_entity:
            raise PrivacyError(
                f"{self.where}: the cap does not hold. An entity has more rows than the {self.view.max_rows_per_entity} that "
                "truncation promised. This is a bug in mare or in a stage: please report it."
            )


def described_query(
    till: Till,
    quote: Quote,
    scale: float,
    what: str,
    marginals: tuple[Marginal, ...],
    *,
    clip: float | None = None,
    unit: int = 1,
    listed: bool = False,
) -> Query:
    """The question as the tape keeps it, in units of the answer."""
    return Query(
        what=what,
        view=till.view.name,
        marginals=marginals,
        mechanism=quote.mechanism,
        norm=quote.norm,
        sensitivity=quote.sensitivity,
        sensitivity_squared=quote.sensitivity_squared,
        scale=scale,
        cost=quote.cost,
        clip=clip,
        denominator=unit,
        listed=listed,
    )


def described_charge(query: Query, cells: int, total_variation: float) -> Charge:
    """The payment as the ledger keeps it, in rows: dividing by a power of two loses nothing. ``total_variation`` is how far its
    noise may be off; 0 only where it is exact."""
    return Charge(
        what=query.what,
        view=query.view,
        mechanism=query.mechanism,
        norm=query.norm,
        sensitivity=query.sensitivity / query.denominator,
        scale=query.scale / query.denominator,
        cost=query.cost,
        histograms=len(query.marginals),
        cells=cells,
        total_variation=total_variation,
        clip=query.clip,
    )


def portion_of(share: float, whole: Fraction, left: Fraction, where: str) -> Fraction:
    """That fraction of the whole, or what is left when the difference is a rounding error of floats."""
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1 + 1e-9:
        raise BudgetError(f"{where}: a share of {share!r} was asked; it must be above 0 and at most 1.")
    wanted = Fraction(share) * whole
    if wanted > left + whole * _SLACK or left <= 0:
        raise BudgetError(
            f"{where}: {float(share):.4%} of the budget was asked and {float(left / whole):.4%} is left. "
            "Ask for smaller shares: they must add up to at most 1."
        )
    return min(wanted, left)
