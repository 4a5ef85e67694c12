"""The release: what leaves the house. Settled plan, models, ledger, status; no rows, no code.

Between the fit, which makes it, and the sampler, which needs nothing else. Both take from here what they must agree on:
how history is gathered (`placing`), how columns are filled (`filling`), which tables come out (`storage`).
"""

from .archive import load_release
from .release import Release
from .settled import SettledGroup, SettledPlan

__all__ = ["Release", "SettledGroup", "SettledPlan", "load_release"]
