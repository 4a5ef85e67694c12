"""`Account`: what a budget file says. Who took how much out of the cap, when and for what, and what is left.

A value, as everything that can be checked without a file: `reserve` gives a new account or refuses, `write_account` and
`read_account` are two sides of one text. How it gets onto the disk is `budget_file`.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace

from mare.errors import BudgetError

from .account_text import render_account
from .budget import Budget
from .cap import Cap, Composed, require
from .occasion import one_line

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
        """The account as text for people."""
        return render_account(self, width)

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
