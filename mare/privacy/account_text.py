"""A budget file in words: what the cap promises, who took how much of it and when, and what is left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .layout import labelled, paragraph, table

if TYPE_CHECKING:
    from .account import Account, Reservation

_INDENT = 19


def render_account(account: Account, width: int = 100) -> str:
    """The page that `mare budget show` prints."""
    cap, spent = account.cap.budget, account.spent
    promise = spent.promise

    def say(label: str, text: str) -> list[str]:
        return labelled(label, text, width, _INDENT)

    lines = [f"Privacy budget: {account.label}", ""]
    lines += say("Hard cap:", f"epsilon = {cap.epsilon:g}, delta = {cap.delta:g}, for all releases under this file together")
    lines += say("Who is protected:", account.unit or "whoever the first release protects; nothing was taken yet")
    lines += say("Made:", account.created)
    lines += say("Taken:", f"{_part(spent.share)} of the cap, by {_counted(len(account.reservations))}, never given back")
    if promise is not None:
        lines += say("That comes to:", f"epsilon = {promise.epsilon:.4g}, delta = {promise.delta:.4g}, all taken together")
    lines += say("Left:", _left(account))
    lines += ["", *_taken(account, width), ""]
    lines += paragraph(_rule(account), width)
    return "\n".join(lines) + "\n"


def _left(account: Account) -> str:
    cap, spent = account.cap.budget, account.spent
    pure = spent.left(0.0)
    if cap.pure:
        return f"one more release with epsilon up to {pure:g}" if pure else "nothing"
    delta = float(cap.delta_written - spent.delta)
    # a tenth of what is left of delta: the largest epsilon for somebody who wants to come back
    offers = [(spent.left(d), d) for d in (delta, delta / 10) if d > 0]
    said = [f"epsilon up to {epsilon:g} at delta = {d:.4g}" for epsilon, d in offers if epsilon > 0]
    if pure:
        said.append(f"epsilon up to {pure:g} at delta = 0")
    return "one more release with " + ", or ".join(said) if said else "nothing"


def _taken(account: Account, width: int) -> list[str]:
    if not account.reservations:
        return ["Nothing was taken yet."]
    head = ("id", "when (UTC)", "for", "epsilon", "delta", "of the cap")
    rows = [_row(account, reservation) for reservation in account.reservations]
    return ["What was taken, in this order:", *table(head, rows, width, long=2, right=frozenset((3, 4, 5)))]


def _row(account: Account, taken: Reservation) -> tuple[str, ...]:
    cap = account.cap.budget
    share = float(taken.budget.epsilon_written / cap.epsilon_written) if cap.pure else taken.rho / account.cap.rho
    at = taken.at.removesuffix("Z").replace("T", " ")
    purpose = f"{taken.purpose}, by {taken.by}" if taken.by else taken.purpose
    return (taken.id, at, purpose, f"{taken.budget.epsilon:g}", f"{taken.budget.delta:g}", _part(share))


def _part(share: float) -> str:
    """A little is not nothing."""
    return f"{share:.1%}" if share >= 0.0005 or not share else "under 0.1%"


def _rule(account: Account) -> str:
    if account.cap.budget.pure:
        return "How they add up: the epsilons are added."
    return (
        f"How they add up: each release costs its rho (zCDP; this cap has rho = {account.cap.rho:.4g}), the rhos are added and "
        "turned into epsilon once, at the delta of the cap: several cost less than their epsilons add up to, and at a larger "
        "delta one comes to less than its own. The deltas are added. Releases with delta = 0 cost the smaller of epsilon²/2 and "
        f"epsilon/{account.cap.order:.4g}; while all are such, their epsilons may add up to the cap instead."
    )


def _counted(releases: int) -> str:
    return "1 release" if releases == 1 else f"{releases} releases"
