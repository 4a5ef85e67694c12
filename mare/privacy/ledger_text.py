"""The ledger in words that a data protection officer understands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .layout import bullets, labelled, paragraph, table
from .strength import NEXT_TO_NOTHING, factor, plainly

if TYPE_CHECKING:
    from .ledger import Charge, Ledger

_INDENT = 21
_NOISE = {
    "discrete gaussian": ("gaussian", "discrete Gaussian noise was added; the number is its standard deviation"),
    "discrete laplace": ("laplace", "discrete Laplace noise was added; its standard deviation is 1.4 times the number"),
    "exponential choice": ("choice", "a candidate was chosen, the better the likelier; the number is the noise on the scores"),
    "stable keys": ("keys", "values that many entities have were listed; the number is the standard deviation on how many"),
}
"""Of each mechanism: its word in the table, and what that means."""
_NORMS = {
    "L1": "L1: everything that one entity can change in the numbers of the line, added up",
    "L2": "L2: everything that one entity can change in the numbers of the line, as the root of the sum of squares",
    "max": "max: the most that one entity can change in any one score",
}


SIZES, LEARNING, MODELS = "sizes", "learning", "models"
"""The steps of a fit that are paid for, as its charges name them."""
_STEPS = {SIZES: "sizes: how many there are", LEARNING: "learning: values, bounds and bins"}
"""Summed up in one line each. The models have a line for each column group, by its name."""
_NOT_SAID = "not said"


def render_ledger(ledger: Ledger, width: int = 100, *, full: bool = False) -> str:
    """Status, promise, occasion, what was spent on what (by step and column group, or each answer), what was taken as public."""
    spent = _spent(ledger, width) if full else _summed(ledger, width)
    parts = (_status(ledger, width), _promise(ledger, width), _occasion(ledger, width), spent, _public(ledger, width))
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _status(ledger: Ledger, width: int) -> list[str]:
    empty = ledger.budget.epsilon > NEXT_TO_NOTHING
    lines = [f"Privacy ledger: {ledger.status}{', in name only: see the promise' if empty else ''}"]
    if ledger.reasons:
        lines.append("The promise below does NOT hold for this release, because:")
        lines += bullets(ledger.reasons, width)
    return lines


def _promise(ledger: Ledger, width: int) -> list[str]:
    budget, totals = ledger.budget, ledger.totals

    def say(label: str, text: str) -> list[str]:
        return labelled(label, text, width, _INDENT)

    but = "" if budget.pure else f", but for an event of probability {budget.delta:.3g}"
    lines = say("Who is protected:", ledger.unit)
    lines += say("Compared are:", "the data with and without any one of them (add or remove one)")
    lines += say(
        "The promise:",
        "whatever anyone sees in what is released, now or later, would have been seen with a chance at most "
        f"{factor(budget.epsilon)} times higher or lower had that one been left out{but}. "
        f"(epsilon = {budget.epsilon:g}, delta = {budget.delta:g})",
    )
    if (word := plainly(budget.epsilon, budget.delta)) is not None:
        lines += say("What that is worth:", f"{word}.")
    if ledger.pledge is None:
        lines += say("Budget file:", "none. Other releases of the same data add to this promise, and nothing counts them")
    else:
        cap = ledger.pledge.cap
        lines += say(
            "Budget file:",
            f"{ledger.pledge.label}, reservation {ledger.pledge.id}. All releases under it together promise "
            f"epsilon = {cap.epsilon:g}, delta = {cap.delta:g}",
        )
    if budget.pure:
        return lines + say("Spent:", f"epsilon = {totals.epsilon:.6g} of {budget.epsilon:.6g} (pure: delta = 0)")
    lines += say(
        "Spent:",
        f"epsilon = {totals.epsilon:.6g} of {budget.epsilon:.6g}, delta = {totals.delta:.6g} of {budget.delta:.6g} "
        f"(rho = {totals.rho:.6g} of {float(ledger.total):.6g})",
    )
    return lines + say(
        "Delta is made of:",
        f"{totals.delta_conversion:.3g} for turning rho into epsilon, {totals.delta_learning:.3g} for learned domains, "
        f"{totals.delta_numeric:.3g} for numerical error",
    )


def _occasion(ledger: Ledger, width: int) -> list[str]:
    told = ledger.occasion
    made = f"{told.at.removesuffix('Z').replace('T', ' ')} UTC" if told.at else f"when was {_NOT_SAID}"
    said = (
        ("Made:", f"{made}, with mare {told.mare}" if told.mare else made),
        ("For:", told.purpose or f"{_NOT_SAID} (--purpose)"),
        ("By:", told.by or f"{_NOT_SAID} (--by)"),
    )
    lines = [line for label, text in said for line in labelled(label, text, width, _INDENT)]
    # Not torn apart: somebody will compare it.
    label, schema = "Schema SHA-256:", told.schema or _NOT_SAID
    return [*lines, *([label, f"  {schema}"] if _INDENT + len(schema) > width else [f"{label:<{_INDENT}}{schema}"])]


def _spent(ledger: Ledger, width: int) -> list[str]:
    if not ledger.charges:
        return ["Nothing was measured."]
    unit = "epsilon" if ledger.budget.pure else "rho"
    head = ("", "what was measured", "numbers", "moved by", "noise", unit, "share")
    rows = [_row(number, charge, charge.cost / float(ledger.total)) for number, charge in enumerate(ledger.charges, 1)]
    spent = sum(charge.cost for charge in ledger.charges)
    rows.append(("", "all of it", "", "", "", f"{spent:.3g}", f"{spent / float(ledger.total):.1%}"))
    lines = paragraph("What was measured, in this order. Every number, the zeros too, got noise of its own:", width)
    lines += table(head, rows, width, long=1, right=frozenset((0, 2, 3, 4, 5, 6)))
    return [*lines, "", "How to read it:", *bullets(_legend(ledger, unit), width)]


def _summed(ledger: Ledger, width: int) -> list[str]:
    """One line for each step and column group: how many answers of which kind, how many numbers, what they cost together."""
    if not ledger.charges:
        return ["Nothing was measured."]
    unit = "epsilon" if ledger.budget.pure else "rho"
    parts: dict[str, list[Charge]] = {}
    for charge in ledger.charges:
        parts.setdefault(_STEPS.get(charge.phase, charge.view), []).append(charge)
    rows = [_sum_row(part, charges, float(ledger.total)) for part, charges in parts.items()]
    rows.append(_sum_row("all of it", ledger.charges, float(ledger.total)))
    head = ("what it was spent on", "choices", "other answers", "numbers", unit, "share")
    lines = paragraph(f"What was measured: {len(ledger.charges):,} charges, summed up (--full has a line for each):", width)
    return [*lines, *table(head, rows, width, long=0, right=frozenset((1, 2, 3, 4, 5)))]


def _sum_row(view: str, charges: Sequence[Charge], total: float) -> tuple[str, ...]:
    choices = sum(charge.mechanism == "exponential choice" for charge in charges)
    cost = sum(charge.cost for charge in charges)
    cells = sum(charge.cells for charge in charges)
    return (view, f"{choices:,}", f"{len(charges) - choices:,}", f"{cells:,}", f"{cost:.3g}", f"{cost / total:.1%}")


def _row(number: int, charge: Charge, share: float) -> tuple[str, ...]:
    clip = "" if charge.clip is None else f" (each entity scaled down to {charge.clip:.4g})"
    times = "" if charge.repeats == 1 else f", {charge.repeats} times"
    return (
        f"{number}",
        f"{charge.view}: {charge.what}{times}{clip}",
        f"{charge.cells:,}",
        f"{charge.norm} {charge.sensitivity:.4g}",
        f"{_NOISE[charge.mechanism][0]} {charge.scale:.4g}",
        f"{charge.cost:.3g}",
        f"{share:.1%}",
    )


def _legend(ledger: Ledger, unit: str) -> list[str]:
    """Only what occurs is explained."""
    norms = [text for norm, text in _NORMS.items() if any(charge.norm == norm for charge in ledger.charges)]
    noises = [f"{word}: {text}" for kind, (word, text) in _NOISE.items() if any(c.mechanism == kind for c in ledger.charges)]
    return [*norms, *noises, f"{unit}: what the line cost; share: of all that this release may spend"]


def _public(ledger: Ledger, width: int) -> list[str]:
    if not ledger.public:
        return ["Taken as public: nothing but the schema and the plan."]
    return ["Taken as public, not protected and not paid for:", *bullets(ledger.public, width)]
