"""`Account`: what a budget file says. Who took how much out of the cap, when and for what, and what is left.

A value, as everything that can be checked without a file: `reserve` gives a new account or refuses, `write_account` and
`read_account` are two sides of one text. How it gets onto the disk is `budget_file`.
`Account.render` says it in words: what the cap promises, who took how much of it and when, and what is left.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace

from mare.errors import BudgetError

from .budget import Budget
from .cap import Cap, Composed, require
from .occasion import one_line
from .pages import labelled, paragraph, table

_FORMAT = 1
_BEGINNING = b'{\n  "mare_budget"'


@dataclass(frozen=True)
class Reservation:
    """One release's budget, taken out of the cap for good."""

    id: str
    budget: Budget
    rho: float
    """What it cost under the cap's rule when it was granted; 0 under a pure cap."""
    purpose: str
    """What it was taken for, in the words of whoever took it."""
    at: str
    """When, in UTC."""
    by: str = ""
    """Who took it. This file stays in the house: their login name, where they said nothing else."""


@dataclass(frozen=True)
class Account:
    """A cap and what was taken out of it."""

    label: str
    cap: Cap
    created: str
    unit: str | None = None
    """Who is protected: set by the first reservation, the same for all. Promises about different units do not add up."""
    reservations: tuple[Reservation, ...] = ()

    @classmethod
    def opened(cls, label: str, cap: Cap, created: str) -> Account:
        """An account from which nothing was taken."""
        plain = one_line(label)
        if not plain:
            raise BudgetError("a budget file needs a label: the ledgers of its releases name it.")
        return cls(plain, cap, created)

    @property
    def spent(self) -> Composed:
        spent = Composed(self.cap)
        for reservation in self.reservations:
            spent = spent.plus(reservation.budget, reservation.rho)
        return spent

    def reserve(self, budget: Budget, purpose: str, unit: str, at: str, by: str = "") -> Account:
        """The account with one reservation more; or a `BudgetError`."""
        if self.unit not in (None, unit):
            raise BudgetError(
                f"the budget {self.label!r} protects {self.unit}; this release would protect {unit}. Promises about different "
                "units do not add up: use another budget file. Nothing was reserved."
            )
        require(self.spent, budget, self.label)
        made = Reservation("", budget, self.cap.rho_of(budget), one_line(purpose), at, one_line(by))
        named = replace(made, id=self._id(made))
        return replace(self, unit=unit, reservations=(*self.reservations, named))

    def _id(self, reservation: Reservation) -> str:
        """Made of what came before, so that two files never give the same one to different releases."""
        before = self.reservations[-1].id if self.reservations else f"{self.label} {self.created}"
        made_of = [before, reservation.budget.epsilon, reservation.budget.delta, reservation.purpose, reservation.at]
        return f"{len(self.reservations) + 1}-{_digest(made_of)[:8]}"

    def render(self, width: int = 100) -> str:
        """The account as text for people: the page that `mare budget show` prints."""
        cap, spent = self.cap.budget, self.spent
        promise = spent.promise

        def say(label: str, text: str) -> list[str]:
            return labelled(label, text, width, _INDENT)

        lines = [f"Privacy budget: {self.label}", ""]
        lines += say("Hard cap:", f"epsilon = {cap.epsilon:g}, delta = {cap.delta:g}, for all releases under this file together")
        lines += say("Who is protected:", self.unit or "whoever the first release protects; nothing was taken yet")
        lines += say("Made:", self.created)
        lines += say("Taken:", f"{_part(spent.share)} of the cap, by {_counted(len(self.reservations))}, never given back")
        if promise is not None:
            lines += say("That comes to:", f"epsilon = {promise.epsilon:.4g}, delta = {promise.delta:.4g}, all taken together")
        lines += say("Left:", _left(self))
        lines += ["", *_taken(self, width), ""]
        lines += paragraph(_rule(self), width)
        return "\n".join(lines) + "\n"

    def to_json(self) -> str:
        """The account as the file has it, and what it adds up to."""
        spent, cap = self.spent, self.cap.budget
        promise = spent.promise
        delta = float(cap.delta_written - spent.delta)
        sums = {
            "promise": None if promise is None else {"epsilon": promise.epsilon, "delta": promise.delta},
            "share_of_cap": spent.share,
            "left": {"epsilon": spent.left(delta), "epsilon_pure": spent.left(0.0), "delta": delta},
        }
        return json.dumps({**_document(self), "sums": sums}, indent=2, ensure_ascii=False)


def looks_like_account(content: bytes) -> bool:
    """Does it begin like a budget file? It may still be damaged."""
    return content.startswith(_BEGINNING)


def write_account(account: Account) -> bytes:
    """The text of a budget file, which ends with a checksum of the rest."""
    document = _document(account)
    return _text(document, _digest(document))


def read_account(content: bytes, where: str) -> Account:
    """The account, if every byte of it can be trusted. What was taken is added up again, and has to keep the cap."""
    damaged = BudgetError(
        f"{where} is damaged, or not a budget file of mare. Nothing can be reserved from it. Find out what happened to it: a new "
        "file would not know what was spent."
    )
    try:
        document = json.loads(content)
        checksum = document.pop("checksum")
        if document["mare_budget"] != _FORMAT:
            raise BudgetError(f"{where} has format {document['mare_budget']}; this mare reads format {_FORMAT}. Upgrade mare.")
        if checksum != _digest(document) or content != _text(document, checksum):
            raise damaged
        cap = Cap(Budget(document["cap"]["epsilon"], document["cap"]["delta"]), document["cap"]["rho"], document["cap"]["order"])
        taken = tuple(
            Reservation(
                entry["id"],
                Budget(entry["epsilon"], entry["delta"]),
                entry["rho"],
                entry["purpose"],
                entry["at"],
                entry.get("by", ""),  # files from before this was written down
            )
            for entry in document["reservations"]
        )
        account = Account(document["label"], cap, document["created"], document["unit"], taken)
        sound = account.spent.fits
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise damaged from None
    if not sound:
        raise BudgetError(
            f"{where} does not add up: more was taken out of it than its cap allows. Nothing can be reserved from it."
        )
    return account


def _document(account: Account) -> dict[str, object]:
    cap = account.cap
    return {
        "mare_budget": _FORMAT,
        "label": account.label,
        "cap": {"epsilon": cap.budget.epsilon, "delta": cap.budget.delta, "rho": cap.rho, "order": cap.order},
        "created": account.created,
        "unit": account.unit,
        "reservations": [
            {
                "id": r.id,
                "epsilon": r.budget.epsilon,
                "delta": r.budget.delta,
                "rho": r.rho,
                "purpose": r.purpose,
                "at": r.at,
                "by": r.by,
            }
            for r in account.reservations
        ],
    }


def _text(document: dict[str, object], checksum: str) -> bytes:
    return (json.dumps({**document, "checksum": checksum}, indent=2, ensure_ascii=False) + "\n").encode()


def _digest(content: object) -> str:
    plain = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(plain.encode()).hexdigest()


_INDENT = 19


def _left(account: Account) -> str:
    cap, spent = account.cap.budget, account.spent
    pure = spent.left(0.0)
    if cap.pure:
        return f"one more release with epsilon up to {pure:g}" if pure else "nothing"
    delta = float(cap.delta_written - spent.delta)
    # a tenth of what is left of delta: the largest epsilon for somebody who wants to come back
    offers = [(spent.left(d), d) for d in (delta, delta / 10) if d > 0]
    ways = [f"epsilon up to {epsilon:g} at delta = {d:.4g}" for epsilon, d in offers if epsilon > 0]
    if pure:
        ways.append(f"epsilon up to {pure:g} at delta = 0")
    return "one more release with " + ", or ".join(ways) if ways else "nothing"


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
