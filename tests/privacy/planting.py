"""How a bug is planted: a function that changes the product's own code while a test runs, and what must turn red then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

Plant = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True)
class Mutant:
    """One planted bug, held against one part of the suite."""

    name: str
    leak: str
    """Which leak of privacy.md it is."""
    plant: Plant
    check: Callable[[], None]
    """The part of the suite that must turn red."""
    says: str
    """What the failure says, as a regular expression: none is caught by accident."""


PLANTED: list[Mutant] = []


def planted(name: str, check: Callable[[], None], says: str) -> Callable[[Plant], Plant]:
    """Keep this function as a mutant; its docstring says which leak it is."""

    def keep(plant: Plant) -> Plant:
        PLANTED.append(Mutant(name, plant.__doc__ or "", plant, check, says))
        return plant

    return keep
