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

from mare.domain import Marginal
from mare.errors import PrivacyError
from mare.privacy.qualities import UNIT, WEIGHT_BITS, Candidate, Distance, FScore, NormRank, Summed, Tvd, TvdToReleased, Weighting
from mare.privacy.scores import LARGEST, Integers
from mare.privacy.till import Till

from .asking import checked_shapes, described

MOST_SCORED = 1 << 24
"""Cells of one candidate's cross-tab. Public, so refusing tells nothing."""

_LARGEST_WEIGHT = 2.0**16
_LARGEST_PUBLIC = 2.0**40
_NAMED = 6
"""Candidates that the ledger names; of more it tells the number."""

_KINDS = get_args(Candidate)


@dataclass(frozen=True, eq=False)
class Judged:
    """A candidate that was found sound, with what judging it takes. All of it public."""

    candidate: Candidate | None
    marginal: Marginal | None
    """None where no cross-tab is needed."""
    shape: tuple[int, ...]
    sensitivity: int
    """In units of the scores, hence whole."""
    parts: tuple[Judged, ...] = ()
    """Of a sum: each is scored on its own."""

    @property
    def scored(self) -> tuple[Judged, ...]:
        """What its score is made of."""
        return self.parts or (self,)

    @property
    def cells(self) -> int:
        return prod(self.shape)


def judge(till: Till, candidates: Sequence[Candidate | None], weighting: Weighting) -> list[Judged]:
    """Check every candidate against the public facts of the view, and work out its sensitivity."""
    if weighting not in get_args(Weighting):
        raise PrivacyError(f"{till.where}: there is no weighting {weighting!r}. Weightings: {', '.join(get_args(Weighting))}.")
    mass = UNIT if weighting == "entity" else UNIT * till.view.max_rows_per_entity
    judged = [_judged(till, candidate, mass, f"{till.where}, candidate {i}") for i, candidate in enumerate(candidates)]
    if not any(entry.sensitivity for entry in judged):
        raise PrivacyError(f"{till.where}: there is nothing to judge: no candidate, or none whose score could be anything but 0.")
    return judged


def cross_tabs(judged: Sequence[Judged]) -> tuple[Marginal, ...]:
    """All that are looked at, in their order."""
    return tuple(part.marginal for entry in judged for part in entry.scored if part.marginal is not None)


def named(judged: Sequence[Judged]) -> str:
    """The candidates in words made of public names, for the ledger."""
    kinds = " or ".join(sorted({type(entry.candidate).__name__ for entry in judged if entry.candidate is not None}))
    listed = [_words(entry) for entry in judged[:_NAMED]]
    more = f"; and {len(judged) - _NAMED} more" if len(judged) > _NAMED else ""
    return f"{len(judged)} by {kinds}: {'; '.join(listed)}{more}"


def fingerprint(judged: Sequence[Judged], penalties: Integers) -> str:
    """Of all public numbers that go into the scores, so that an audit sees when they are not the same."""
    digest = hashlib.sha256(penalties.tobytes())
    for entry in judged:
        if isinstance(entry.candidate, Distance):
            digest.update(repr((entry.candidate.marginal, weight_units(entry.candidate, ""))).encode())
            digest.update(in_units(entry.candidate.reference, "").tobytes())
        else:
            digest.update(repr(entry.candidate).encode())
    return digest.hexdigest()


def in_units(values: object, what: str) -> Integers:
    """Public numbers as whole units; refuses what is not a number, or too large to be one here."""
    try:
        numbers: NDArray[np.float64] = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise PrivacyError(f"{what}: these are not numbers.") from None
    if not (np.isfinite(numbers).all() and np.abs(numbers).max(initial=0.0) <= _LARGEST_PUBLIC):
        raise PrivacyError(f"{what}: a number is missing, infinite or beyond 2^40.")
    return np.rint(numbers * UNIT).astype(np.int64)


def weight_units(candidate: Distance, where: str) -> int:
    if not _is_number(candidate.weight) or not 0 <= candidate.weight <= _LARGEST_WEIGHT:
        raise PrivacyError(f"{where}: the weight is {candidate.weight!r}; it must be between 0 and {_LARGEST_WEIGHT:g}.")
    return int(candidate.weight * UNIT)


def _judged(till: Till, candidate: Candidate | None, mass: int, where: str) -> Judged:
    if candidate is None:
        return Judged(None, None, (), 0)
    if not isinstance(candidate, _KINDS):
        kinds = ", ".join(kind.__name__ for kind in _KINDS)
        raise PrivacyError(f"{where}: there is no quality {type(candidate).__name__!r}. Candidates are: {kinds}, or None.")
    if isinstance(candidate, NormRank):
        checked_shapes(till, candidate.marginals)
        for what, value in (("clip", candidate.clip), ("rank", candidate.rank)):
            if not _is_number(value) or not 0 <= value <= _LARGEST_PUBLIC:
                raise PrivacyError(f"{where}: the {what} is {value!r}; it must be a number of at least 0.")
        return Judged(candidate, None, (), UNIT)
    if isinstance(candidate, Summed):
        parts = tuple(_judged(till, part, mass, f"{where}, part {i}") for i, part in enumerate(candidate.parts))
        if not parts or not all(isinstance(part, Tvd | TvdToReleased) for part in candidate.parts):
            raise PrivacyError(f"{where}: a sum is one of at least one Tvd or TvdToReleased.")
        # A sum is no further from another one than its parts are together.
        return Judged(candidate, None, (), sum(part.sensitivity for part in parts), parts)
    marginal = candidate.marginal if isinstance(candidate, Distance) else _together(candidate, where)
    (shape,) = checked_shapes(till, [marginal])
    if prod(shape) > MOST_SCORED:
        raise PrivacyError(
            f"{where}: its cross-tab has {prod(shape):,} cells; at most {MOST_SCORED:,} are scored. Coarsen columns, or take "
            "fewer of them."
        )
    return Judged(candidate, marginal, shape, _sensitivity(candidate, shape, mass, where))


def _sensitivity(candidate: Tvd | TvdToReleased | FScore | Distance, shape: tuple[int, ...], mass: int, where: str) -> int:
    """By the proofs in `scores`, for entities of at most this mass; and what those proofs take for granted."""
    if isinstance(candidate, Tvd):
        return 2 * mass + (prod(shape) + 1 if candidate.merged else 0)
    if isinstance(candidate, TvdToReleased):
        _check_released(candidate, shape[0], where)
        return mass
    if isinstance(candidate, FScore):
        if shape[0] != 2:
            raise PrivacyError(f"{where}: F is for a child with two values, {candidate.child.column!r} has {shape[0]}. Use Tvd.")
        return mass
    reference = in_units(candidate.reference, f"{where}, reference").shape
    if reference != shape:
        raise PrivacyError(f"{where}: the reference is shaped {reference}, the cross-tab {shape}.")
    return weight_units(candidate, where) * mass >> WEIGHT_BITS


def _together(candidate: Tvd | TvdToReleased | FScore, where: str) -> Marginal:
    if not candidate.parents:
        raise PrivacyError(f"{where}: it has no parents. Give at least one axis.")
    given = candidate.given if isinstance(candidate, Tvd) else ()
    try:
        return Marginal((candidate.child, *candidate.parents, *given))
    except ValueError as error:
        raise PrivacyError(f"{where}: {error}.") from None


def _check_released(candidate: TvdToReleased, size: int, where: str) -> None:
    """p̂ must be a distribution: with Σ p̂ ≠ 1 or a negative entry the sensitivity would not be 1."""
    released = candidate.released
    if len(released) != size or any(isinstance(value, bool) or not isinstance(value, int | np.integer) for value in released):
        raise PrivacyError(
            f"{where}: what was released must be {size} whole numbers, one per code of {candidate.child.column!r}."
        )
    if min(released) < 0 or not 0 < sum(released) < LARGEST:
        raise PrivacyError(
            f"{where}: what was released must not be negative and must add up to more than 0 (and less than 2^61): it is a "
            "distribution."
        )


def _words(entry: Judged) -> str:
    if entry.candidate is None:
        return "none"
    if isinstance(entry.candidate, NormRank):
        return f"clip {entry.candidate.clip:g} for {entry.candidate.rank:g}"
    if entry.parts:
        return f"{_words(entry.parts[0])} and {len(entry.parts) - 1} more, summed"
    return "rows" if entry.marginal is None else described(entry.marginal)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
