"""`Ledger`: every charge in order, and what the release promises, for the person who has to sign for it.

It is append-only: charges are never taken back and NOT PRIVATE is never lifted. It holds no answer and nothing
else from the data, so it is released with the release. The text that people read is in `ledger_text`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Literal

from mare.errors import PrivacyError, ReleaseError

from .accountant import Accountant
from .budget import Budget
from .ledger_text import render_ledger
from .noise import Mechanism
from .totals import Totals

Status = Literal["PRIVATE", "NOT PRIVATE"]

ADJACENCY = "add or remove one entity"

_FORMAT = 1


@dataclass(frozen=True)
class Charge:
    """One payment: a set of numbers that left together."""

    what: str
    """What was measured, in words made of public names."""
    view: str
    mechanism: Mechanism
    norm: Literal["L1", "L2"]
    sensitivity: float
    """How far one entity can move all the numbers of this charge together, in that norm."""
    scale: float
    """σ of the Gaussian, b of the Laplace."""
    cost: float
    """ρ under (ε, δ), ε under pure ε: exactly this was charged."""
    histograms: int
    cells: int
    total_variation: float = 0.0
    """How far the noise of all cells together may be from its distribution; 0 when it is exact."""


class Ledger:
    """The account of one fit."""

    def __init__(self, budget: Budget, unit: str, public: Iterable[str] = ()) -> None:
        self._accountant = Accountant(budget)
        self.unit = unit
        """Who is protected, in words: ``one row of patients, with every row that belongs to it in every table``."""
        self._public = list(dict.fromkeys(public))
        self._charges: list[Charge] = []
        self._reasons: list[str] = []

    @property
    def budget(self) -> Budget:
        return self._accountant.budget

    @property
    def charges(self) -> tuple[Charge, ...]:
        return tuple(self._charges)

    @property
    def public(self) -> tuple[str, ...]:
        """Facts that were declared public: they were not paid for because they do not come from the data."""
        return tuple(self._public)

    @property
    def status(self) -> Status:
        return "NOT PRIVATE" if self._reasons else "PRIVATE"

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is NOT PRIVATE; empty when it is private."""
        return tuple(self._reasons)

    @property
    def totals(self) -> Totals:
        return self._accountant.totals()

    @property
    def total(self) -> Fraction:
        """All there is to spend: of ρ under (ε, δ), of ε under pure ε."""
        return self._accountant.total

    @property
    def left(self) -> Fraction:
        return self._accountant.left

    def affords_error(self, total_variation: float) -> bool:
        """Can δ still pay for noise that is so far from its distribution?"""
        return self._accountant.affords_error(total_variation)

    def declare(self, fact: str) -> None:
        """Write down something that counts as public."""
        if fact not in self._public:
            self._public.append(fact)

    def mark_not_private(self, reason: str) -> None:
        """For good: there is no way back."""
        if reason not in self._reasons:
            self._reasons.append(reason)

    def charge(self, charge: Charge) -> None:
        """Pay, then write down; or refuse with `BudgetError`, and change nothing."""
        self._accountant.charge(charge.cost, charge.total_variation)
        self._charges.append(charge)

    def render(self) -> str:
        """The ledger as text for people."""
        return render_ledger(self)

    def to_json(self) -> str:
        totals = self.totals
        return json.dumps(
            {
                "mare_ledger": _FORMAT,
                "status": self.status,
                "reasons": list(self._reasons),
                "unit": self.unit,
                "adjacency": ADJACENCY,
                "budget": {"epsilon": self.budget.epsilon, "delta": self.budget.delta},
                "totals": {**asdict(totals), "delta": totals.delta},
                "public": list(self._public),
                "charges": [asdict(charge) for charge in self._charges],
            },
            indent=2,
            allow_nan=False,
        )

    @classmethod
    def from_json(cls, text: str) -> Ledger:
        """The ledger back, every charge paid again: one that does not add up is refused."""
        try:
            data = json.loads(text)
            if data["mare_ledger"] != _FORMAT:
                raise ReleaseError(
                    f"this ledger has format {data['mare_ledger']}; this mare reads format {_FORMAT}. Upgrade mare."
                )
            ledger = cls(Budget(**data["budget"]), data["unit"], data["public"])
            for charge in data["charges"]:
                ledger.charge(Charge(**charge))
            for reason in data["reasons"]:
                ledger.mark_not_private(reason)
            sound = data["status"] == ledger.status
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ReleaseError(f"this is not a ledger of mare, or it is damaged ({type(error).__name__}).") from error
        except PrivacyError as error:
            raise ReleaseError(f"this ledger does not add up: {error}") from error
        if not sound:
            raise ReleaseError("this ledger is damaged: its status and its reasons disagree.")
        return ledger
