"""The one gate: exact answers go in, noisy and paid answers come out.

`Gate` owns the budget of a fit; `Curator` is what a model gets: one view, one share of the budget, and answers.
The curator works out every sensitivity itself, from the view's enforced cap, charges before it counts, and refuses
whatever it does not understand. Add or remove one entity is what everything here is measured against (docs/privacy.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

import numpy as np
from numpy.typing import NDArray

from mare.domain import Domain, Marginal
from mare.errors import BudgetError, InternalError, PrivacyError

from .bits import BitSource, OsBits
from .budget import Budget
from .conversion import scale_from_epsilon, sigma_from_rho, sqrt_up
from .ledger import Charge, Ledger
from .noise import Mechanism, Noise, prepare_noise, standard_deviation
from .rounding import down
from .tape import Query, Tape
from .view import PrivateView

MOST_CELLS = 2**26
"""Cells of all dense cross-tabs of one call. Public, so refusing tells nothing."""

_SLACK = Fraction(1, 10**9)
"""Shares are floats: ten tenths may be a hair more than one. Such a hair is cut off, never spent."""

_LARGEST_COUNT = 2**61


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """A cross-tab that was paid for. Cells may be negative: what to do about it is post-processing."""

    marginal: Marginal
    values: NDArray[np.int64]
    """Shaped by the marginal's axes."""
    mechanism: Mechanism
    scale: float
    """σ of the Gaussian, b of the Laplace, per cell."""
    sensitivity: float
    """Of the whole charge, in the mechanism's norm (L2 for the Gaussian, L1 for the Laplace)."""
    cost: float
    """Of the whole charge: ρ under (ε, δ), ε under pure ε."""

    @property
    def standard_deviation(self) -> float:
        """Of the noise in one cell."""
        return standard_deviation(self.mechanism, self.scale)


@dataclass(frozen=True)
class NoisySize:
    """A single number that was paid for."""

    value: int
    mechanism: Mechanism
    scale: float
    sensitivity: float
    cost: float

    @property
    def standard_deviation(self) -> float:
        return standard_deviation(self.mechanism, self.scale)


class Gate:
    """The budget of one fit. Nothing sensitive is answered but through the curators that it hands out."""

    def __init__(self, budget: Budget, ledger: Ledger, bits: BitSource | None = None, tape: Tape | None = None) -> None:
        if ledger.budget != budget:
            raise BudgetError("the ledger was opened for another budget than the gate.")
        self._ledger = ledger
        self._bits = OsBits() if bits is None else bits
        self._tape = tape
        self._ungranted = ledger.left
        self._secrets: dict[str, bytes] = {}
        if not self._bits.private:
            ledger.mark_not_private("the noise came from a seeded source: whoever knows the seed can take it off")
        if tape is not None:
            ledger.mark_not_private(tape.reason)

    @property
    def ledger(self) -> Ledger:
        return self._ledger

    @property
    def remaining(self) -> float:
        """The fraction of the whole budget that no curator holds yet."""
        return float(self._ungranted / self._ledger.total)

    def curator(self, view: PrivateView, share: float) -> Curator:
        """A curator over this view, with this fraction of the whole budget set aside for it."""
        granted = _portion(share, self._ledger.total, self._ungranted, f"view {view.name!r}")
        curator = Curator(self, view, granted)
        self._ungranted -= granted
        return curator

    def secret(self, name: str) -> bytes:
        """The fit's 32-byte key of that name, never released (which rows a cap keeps hangs on one). A tape replays it."""

        def draw() -> bytes:
            return self._bits.words(4).tobytes()

        if name not in self._secrets:
            self._secrets[name] = draw() if self._tape is None else self._tape.secret(name, draw)
        return self._secrets[name]


class Curator:
    """What a model gets instead of rows. Shares are fractions of this curator's own budget."""

    def __init__(self, gate: Gate, view: PrivateView, allowance: Fraction) -> None:
        if view.max_rows_per_entity < 1:
            raise PrivacyError(
                f"view {view.name!r}: the cap on rows per entity is {view.max_rows_per_entity}; it must be at least 1."
            )
        self._gate = gate
        self._view = view
        self._allowance = allowance
        self._spent = Fraction(0)

    @property
    def name(self) -> str:
        """The view's name: public."""
        return self._view.name

    @property
    def domain(self) -> Domain:
        """The view's columns and history: public."""
        return self._view.domain

    @property
    def max_rows_per_entity(self) -> int:
        """S, the enforced cap: public."""
        return self._view.max_rows_per_entity

    @property
    def remaining(self) -> float:
        """The fraction of this curator's budget that is left, from 1 to 0."""
        return float((self._allowance - self._spent) / self._allowance)

    def counts(self, marginals: Sequence[Marginal], share: float = 1.0) -> list[NoisyCounts]:
        """Noisy cross-tabs of the view's rows, measured together and paid by one charge.

        An entity has at most S rows here, each in one cell of each of the k tables: L1 ≤ kS, and L2 ≤ √(k·S²) = S√k
        (all rows of the entity in one cell of each table).
        """
        if not marginals:
            return []
        shapes = [_shape(marginal, self._view) for marginal in marginals]
        cells = [prod(shape) for shape in shapes]
        if sum(cells) > MOST_CELLS:
            raise PrivacyError(
                f"view {self.name!r}: these {len(cells)} cross-tabs have {sum(cells):,} cells (the largest {max(cells):,}); "
                f"at most {MOST_CELLS:,} are answered at once. Coarsen columns, or measure fewer together. Nothing was charged."
            )
        self._assert_cap()
        k, s = len(marginals), self.max_rows_per_entity
        what = "counts of " + "; ".join(_described(marginal) for marginal in marginals)
        query, noise = self._pay(what, tuple(marginals), l1=k * s, l2_squared=k * s * s, cells=sum(cells), share=share)
        answers = self._view.counts(marginals)
        if len(answers) != k:
            raise InternalError(f"view {self.name!r} answered {len(answers)} cross-tabs where {k} were asked")
        exact = [_checked(counts, shape, self.name) for counts, shape in zip(answers, shapes, strict=True)]
        released = self._release(query, noise, exact)
        return [
            NoisyCounts(marginal, values, noise.mechanism, noise.scale, query.sensitivity, query.cost)
            for marginal, values in zip(marginals, released, strict=True)
        ]

    def entities(self, share: float = 1.0) -> NoisySize:
        """The noisy number of entities, those without rows in this view included. One entity moves it by 1."""
        query, noise = self._pay("number of entities", (), l1=1, l2_squared=1, cells=1, share=share)
        exact = _checked(np.array([self._view.entities()], dtype=np.int64), (1,), self.name)
        (released,) = self._release(query, noise, [exact])
        return NoisySize(int(released[0]), noise.mechanism, noise.scale, query.sensitivity, query.cost)

    def _pay(
        self, what: str, marginals: tuple[Marginal, ...], *, l1: int, l2_squared: int, cells: int, share: float
    ) -> tuple[Query, Noise]:
        """Charge first. What is handed back is all that the answer needs."""
        ledger = self._gate._ledger
        portion = _portion(share, self._allowance, self._allowance - self._spent, f"view {self.name!r}")
        cost = down(portion)
        if cost <= 0:
            raise BudgetError(f"view {self.name!r}: this share of the budget is too small to measure anything.")
        if ledger.budget.pure:
            sensitivity = sqrt_up(l1 * l1)
            noise = prepare_noise("discrete laplace", scale_from_epsilon(cost, sensitivity), cells)
        else:
            sensitivity = sqrt_up(l2_squared)
            sigma = sigma_from_rho(cost, sensitivity)
            noise = prepare_noise("discrete gaussian", sigma, cells)
            if not ledger.affords_error(noise.total_variation):
                noise = prepare_noise("discrete gaussian", sigma, cells, exact=True)
        query = Query(
            what=what,
            view=self.name,
            marginals=marginals,
            mechanism=noise.mechanism,
            norm="L1" if ledger.budget.pure else "L2",
            sensitivity=sensitivity,
            sensitivity_squared=l1 * l1 if ledger.budget.pure else l2_squared,
            scale=noise.scale,
            cost=cost,
        )
        ledger.charge(_charge(query, noise))
        self._spent += portion
        return query, noise

    def _release(self, query: Query, noise: Noise, exact: list[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
        """Every cell gets its own noise, those at zero too."""

        def release() -> list[NDArray[np.int64]]:
            drawn = noise.draw(self._gate._bits)
            parts = np.split(drawn, np.cumsum([values.size for values in exact])[:-1])
            # counts are below 2^61 and noise saturates at 2^62, so the clamp makes the saturation invisible
            return [
                np.clip(values + part.reshape(values.shape), -_LARGEST_COUNT, _LARGEST_COUNT)
                for values, part in zip(exact, parts, strict=True)
            ]

        tape = self._gate._tape
        return release() if tape is None else tape.answer(query, exact, release)

    def _assert_cap(self) -> None:
        """Truncation promised S. If it did not keep its word every sensitivity here is wrong: fail closed."""
        if not self._view.largest_entity() <= self._view.max_rows_per_entity:
            raise PrivacyError(
                f"view {self.name!r}: the cap does not hold. An entity has more rows than the {self.max_rows_per_entity} that "
                "truncation promised. Nothing was charged. This is a bug in mare or in a stage: please report it."
            )


def _portion(share: float, whole: Fraction, left: Fraction, where: str) -> Fraction:
    """That fraction of the whole, or what is left when the difference is a rounding error of floats."""
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1 + 1e-9:
        raise BudgetError(f"{where}: a share of {share!r} was asked; it must be above 0 and at most 1.")
    wanted = Fraction(share) * whole
    if wanted > left + whole * _SLACK or left <= 0:
        raise BudgetError(
            f"{where}: {float(share):.4%} of the budget was asked and {float(left / whole):.4%} is left. Nothing was charged. "
            "Ask for smaller shares: they must add up to at most 1."
        )
    return min(wanted, left)


def _shape(marginal: Marginal, view: PrivateView) -> tuple[int, ...]:
    for axis in marginal.axes:
        if axis.column not in view.domain:
            raise PrivacyError(
                f"view {view.name!r} has no column {axis.column!r}. Its columns: {', '.join(view.domain)}. Nothing was charged."
            )
        if axis.lag or axis.level or axis.same_as_lag:
            raise PrivacyError(
                f"view {view.name!r}, column {axis.column!r}: lags, levels and predicates of an axis are not answered yet. "
                "Nothing was charged."
            )
    return tuple(view.domain.size(axis.column) for axis in marginal.axes)


def _checked(counts: NDArray[np.int64], shape: tuple[int, ...], name: str) -> NDArray[np.int64]:
    """What the stage counted, if it is what the gate needs: integers, in shape, small enough to add noise to."""
    if counts.dtype != np.int64 or counts.shape != shape:
        raise InternalError(f"view {name!r} answered {counts.dtype} {counts.shape} where int64 {shape} was asked")
    if counts.size and not (counts.min() >= 0 and counts.max() < _LARGEST_COUNT):
        raise PrivacyError(f"view {name!r}: a count is negative or beyond 2^61: it overflowed, and is not answered.")
    return counts


def _described(marginal: Marginal) -> str:
    return " × ".join(axis.column for axis in marginal.axes) or "rows"


def _charge(query: Query, noise: Noise) -> Charge:
    return Charge(
        what=query.what,
        view=query.view,
        mechanism=query.mechanism,
        norm=query.norm,
        sensitivity=query.sensitivity,
        scale=query.scale,
        cost=query.cost,
        histograms=len(query.marginals),
        cells=noise.cells,
        total_variation=noise.total_variation,
    )
