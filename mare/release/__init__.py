"""The release: what leaves the house. Settled plan, models, ledger, status; no rows, no code.

Between the fit, which makes it, and the sampler, which needs nothing else: the file, its loading and its documents. What both
must agree on stands in `mare.relational`.
"""

from .archive import load_release
from .release import Release, SettledGroup, SettledPlan

__all__ = ["Release", "SettledGroup", "SettledPlan", "load_release"]
