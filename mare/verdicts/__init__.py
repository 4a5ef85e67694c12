"""What a release says about itself: how far each column can be trusted. Public and free, from the release alone.

    release (ledger, settled plan, models) ─► expected errors ─► verdicts ─► **Card** ─► text, JSON, one page of HTML

It knows no source and no row: everything here follows from noisy answers and public facts.
"""

from .card import Card, card

__all__ = ["Card", "card"]
