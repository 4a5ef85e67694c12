"""`Pledge`: what a release says about the budget file that its budget was taken from."""

from __future__ import annotations

from dataclasses import dataclass

from .budget import Budget


@dataclass(frozen=True)
class Pledge:
    """Public: a label that somebody chose, a number and the cap."""

    label: str
    """Of the budget file."""
    id: str
    """Of the reservation there."""
    cap: Budget
    """What all releases of that file promise together."""
