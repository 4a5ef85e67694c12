"""Are these candidates sound, and how far does one entity move their scores? Answered from public facts alone.

Whatever can be refused is refused here, before anything is charged or counted: an unknown quality, an axis that is not there,
a released distribution that is none, numbers that are none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, prod
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from mare.domain import Marginal, axis_size
from mare.errors import PrivacyError

from .qualities import UNIT, WEIGHT_BITS, Candidate, Distance, FScore, NormRank, Tvd, TvdToReleased, Weighting
from .scores import LARGEST, Integers
from .view import PrivateView

MOST_CELLS = 1 << 24
"""Cells of one candidate's cross-tab. Public, so refusing tells nothing."""

_LARGEST_WEIGHT = 2.0**16
_LARGEST_PUBLIC = 2.0**40

_KINDS = get_args(Candidate)


@dataclass(frozen=True, eq=False)
class Judged:
    """A candidate that was found sound, with what judging it takes. Made from public facts only."""

    candidate: Candidate | None
    marginal: Marginal | None
    shape: tuple[int, ...]
    sensitivity: int
    """In units of the scores, hence whole."""

    @property
    def cells(self) -> int:
        return prod(self.shape)


def judge(candidates: Sequence[Candidate | None], view: PrivateView, weighting: Weighting) -> list[Judged]:
    """Check every candidate against the public facts of the view; refuse before anything is charged or counted."""
    if weighting not in get_args(Weighting):
        raise PrivacyError(
            f"there is no weighting {weighting!r}. Weightings: {', '.join(get_args(Weighting))}. Nothing was charged."
        )
    where = f"view {view.name!r}"
    if not any(candidate is not None for candidate in candidates):
        raise PrivacyError(f"{where}: there is no candidate to judge. Give at least one. Nothing was charged.")
    mass = UNIT if weighting == "entity" else UNIT * view.max_rows_per_entity
    return [_judged(candidate, view, mass, f"{where}, candidate {i}") for i, candidate in enumerate(candidates)]


def public_digest(candidates: Sequence[Candidate | None], penalties: Integers | None = None) -> str:
    """A fingerprint of the public numbers that go into the scores, so that an audit sees when they are not the same."""
    digest = hashlib.sha256()
    for candidate in candidates:
        if isinstance(candidate, Distance):
            digest.update(repr((candidate.marginal, candidate.weight)).encode())
            digest.update(np.ascontiguousarray(candidate.reference, dtype=np.float64).tobytes())
        else:
            digest.update(repr(candidate).encode())
    digest.update(b"" if penalties is None else penalties.tobytes())
    return digest.hexdigest()


def in_units(values: NDArray[np.float64], what: str) -> Integers:
    """Public numbers as whole units; refuses what is not a number, or too large to be one here."""
    if not (np.isfinite(values).all() and np.abs(values).max(initial=0.0) <= _LARGEST_PUBLIC):
        raise PrivacyError(f"{what}: a number is missing, infinite or beyond 2^40. Nothing was charged.")
    return np.rint(values * UNIT).astype(np.int64)


def _judged(candidate: Candidate | None, view: PrivateView, mass: int, where: str) -> Judged:
    if candidate is None:
        return Judged(None, None, (), 0)
    if not isinstance(candidate, _KINDS):
        kinds = ", ".join(kind.__name__ for kind in _KINDS)
        raise PrivacyError(
            f"{where}: there is no quality {type(candidate).__name__!r}. Candidates are: {kinds}, or None. Nothing was charged."
        )
    if isinstance(candidate, NormRank):
        for marginal in candidate.marginals:
            _shape(marginal, view, where)
        for what, value in (("clip", candidate.clip), ("rank", candidate.rank)):
            if not _is_number(value) or not 0 <= value <= _LARGEST_PUBLIC:
                raise PrivacyError(f"{where}: the {what} is {value!r}; it must be a number of at least 0. Nothing was charged.")
        return Judged(candidate, None, (), UNIT)
    marginal = candidate.marginal if isinstance(candidate, Distance) else _together(candidate, where)
    shape = _shape(marginal, view, where)
    if prod(shape) > MOST_CELLS:
        raise PrivacyError(
            f"{where}: its cross-tab has {prod(shape):,} cells; at most {MOST_CELLS:,} are scored. Coarsen columns, or take "
            "fewer of them. Nothing was charged."
        )
    if isinstance(candidate, Tvd):
        sensitivity = 2 * mass
    elif isinstance(candidate, TvdToReleased):
        _check_released(candidate, shape[0], where)
        sensitivity = mass
    elif isinstance(candidate, FScore):
        if shape[0] != 2:
            raise PrivacyError(
                f"{where}: F is for a child with two values, {candidate.child.column!r} has {shape[0]}. Use Tvd. "
                "Nothing was charged."
            )
        sensitivity = mass
    else:
        sensitivity = weight_units(candidate, where) * mass >> WEIGHT_BITS
        if candidate.reference.shape != shape:
            raise PrivacyError(
                f"{where}: the reference is shaped {candidate.reference.shape}, the cross-tab {shape}. Nothing was charged."
            )
        in_units(candidate.reference, f"{where}, reference")
    return Judged(candidate, marginal, shape, sensitivity)


def _together(candidate: Tvd | TvdToReleased | FScore, where: str) -> Marginal:
    if not candidate.parents:
        raise PrivacyError(f"{where}: it has no parents. Give at least one axis. Nothing was charged.")
    given = candidate.given if isinstance(candidate, Tvd) else ()
    try:
        return Marginal((candidate.child, *candidate.parents, *given))
    except ValueError as error:
        raise PrivacyError(f"{where}: {error}. Nothing was charged.") from None


def _shape(marginal: Marginal, view: PrivateView, where: str) -> tuple[int, ...]:
    for axis in marginal.axes:
        if axis.lag + axis.same_as_lag > view.memory:
            raise PrivacyError(
                f"{where}: {axis.column!r} is looked up {axis.lag + axis.same_as_lag} rows back; this view looks back "
                f"{view.memory} at most. Nothing was charged."
            )
    try:
        return tuple(axis_size(axis, view.domain, view.coarsenings) for axis in marginal.axes)
    except ValueError as error:
        raise PrivacyError(f"{where}: {error}. Nothing was charged.") from None


def _check_released(candidate: TvdToReleased, size: int, where: str) -> None:
    """p̂ must be a distribution: with Σ p̂ ≠ 1 or a negative entry the sensitivity would not be 1."""
    released = candidate.released
    if len(released) != size or any(isinstance(value, bool) or not isinstance(value, int | np.integer) for value in released):
        raise PrivacyError(
            f"{where}: what was released must be {size} whole numbers, one per code of {candidate.child.column!r}. "
            "Nothing was charged."
        )
    if min(released) < 0 or not 0 < sum(released) < LARGEST:
        raise PrivacyError(
            f"{where}: what was released must not be negative and must add up to more than 0 (and less than 2^61): it is a "
            "distribution. Nothing was charged."
        )


def weight_units(candidate: Distance, where: str) -> int:
    if not _is_number(candidate.weight) or not 0 <= candidate.weight <= _LARGEST_WEIGHT:
        raise PrivacyError(
            f"{where}: the weight is {candidate.weight!r}; it must be between 0 and {_LARGEST_WEIGHT:g}. Nothing was charged."
        )
    return int(candidate.weight * UNIT)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
