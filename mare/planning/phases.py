"""How the whole budget is split between the phases of a fit, before the models share the rest.

    sizes ─► learn domains ─► models

The numbers are those of the measured recipe (steps 1 and 2): 0.5 % for the number of entities; for learned domains a
quarter where there are 10,000 entities, falling to a tenth at 100,000. The preview uses the assumed number of
entities, the fit its noisy one.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log10

SIZES = 0.005
LEARN_FEW, LEARN_MANY = 0.25, 0.10


@dataclass(frozen=True)
class Phases:
    """Fractions of the budget (of ρ under zCDP, of ε under pure ε); they add up to 1."""

    sizes: float
    """The number of entities."""
    learn: float
    """Domains that the schema leaves to be learned, and bins that it leaves to be placed, all together."""
    models: float
    """The column groups, all together."""


def phase_shares(entities: float, *, learns: bool) -> Phases:
    """The split. ``entities`` is declared, assumed or noisy; ``learns``: whether any domain or any bins have to be learned."""
    if not learns:
        return Phases(SIZES, 0.0, 1.0 - SIZES)
    # linear in the logarithm between the two sizes that were measured
    step = min(1.0, max(0.0, log10(max(entities, 1.0)) - 4.0))
    learn = LEARN_FEW + step * (LEARN_MANY - LEARN_FEW)
    return Phases(SIZES, learn, 1.0 - SIZES - learn)
