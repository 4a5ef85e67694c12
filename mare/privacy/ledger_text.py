"""The ledger in words that a data protection officer understands."""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .ledger import Charge, Ledger

_WIDEST = 60


def render_ledger(ledger: Ledger) -> str:
    """Status, promise, what was spent on what, what was taken as public."""
    return "\n".join([*_status(ledger), "", *_promise(ledger), "", *_spent(ledger), "", *_public(ledger)]) + "\n"


def _status(ledger: Ledger) -> list[str]:
    lines = [f"Privacy ledger: {ledger.status}"]
    if ledger.reasons:
        lines.append("The promise below does NOT hold for this release, because:")
        lines += [f"  - {reason}" for reason in ledger.reasons]
    return lines


def _promise(ledger: Ledger) -> list[str]:
    budget, totals = ledger.budget, ledger.totals
    lines = [
        f"Who is protected:  {ledger.unit}",
        "Compared are:      the data with and without any one of them (add or remove one)",
    ]
    factor = f"{exp(totals.epsilon):.3g}" if totals.epsilon < 700 else f"e^{totals.epsilon:.4g}"
    lines.append(
        "The promise:       whatever anyone sees in what is released would have been seen with a chance at most "
        f"{factor} times higher or lower"
    )
    if not budget.pure:
        lines.append(f"                   had that one been left out, but for an event of probability {totals.delta:.3g}")
    else:
        lines.append("                   had that one been left out")
    if budget.pure:
        lines.append(f"Spent:             epsilon = {totals.epsilon:.6g} of {budget.epsilon:.6g}  (pure: delta = 0)")
        return lines
    lines.append(
        f"Spent:             epsilon = {totals.epsilon:.6g} of {budget.epsilon:.6g}, "
        f"delta = {totals.delta:.6g} of {budget.delta:.6g}  (rho = {totals.rho:.6g})"
    )
    lines.append(
        f"Delta is made of:  {totals.delta_conversion:.3g} for the conversion, {totals.delta_learning:.3g} for learned domains, "
        f"{totals.delta_numeric:.3g} for numerical error"
    )
    return lines


def _spent(ledger: Ledger) -> list[str]:
    if not ledger.charges:
        return ["Nothing was measured."]
    unit = "epsilon" if ledger.budget.pure else "rho"
    head = ("view", "what was measured", "tables", "cells", "one entity moves it by", "noise", unit, "share")
    rows = [head, *(_row(charge, float(charge.cost / ledger.total)) for charge in ledger.charges)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    lines = ["What was measured, in this order, every number with its own noise:"]
    for index, row in enumerate(rows):
        lines.append("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        if index == 0:
            lines.append("  " + "  ".join("-" * width for width in widths))
    return lines


def _row(charge: Charge, share: float) -> tuple[str, ...]:
    what = charge.what if len(charge.what) <= _WIDEST else charge.what[: _WIDEST - 1] + "…"
    return (
        charge.view,
        what,
        f"{charge.histograms:,}",
        f"{charge.cells:,}",
        f"{charge.norm} {charge.sensitivity:.6g}" + ("" if charge.clip is None else f", clipped at {charge.clip:g}"),
        f"{charge.mechanism} {charge.scale:.4g}",
        f"{charge.cost:.4g}",
        f"{share:.2%}",
    )


def _public(ledger: Ledger) -> list[str]:
    if not ledger.public:
        return ["Taken as public: nothing but the schema and the plan."]
    return ["Taken as public, not protected and not paid for:", *(f"  - {fact}" for fact in ledger.public)]
