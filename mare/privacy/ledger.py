"""`Ledger`: every charge in order, and what the release promises, for the person who has to sign for it.

It is append-only: charges are never taken back and NOT PRIVATE is never lifted. It holds no answer and nothing
else from the data, so it is released with the release. The text that people read is in `ledger_text`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from math import inf, isclose
from typing import Literal, cast

from mare.errors import PrivacyError, ReleaseError

from .accountant import Accountant
from .budget import Budget
from .costs import Kind, Norm, least_cost
from .ledger_text import render_ledger
from .occasion import Occasion
from .pledge import Pledge
from .rounding import up
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
    mechanism: Kind
    norm: Norm
    sensitivity: float
    """How far one entity can move all the numbers of this charge together, in that norm. Of a choice: any one quality."""
    scale: float
    """σ of the Gaussian (stable keys too), b of the Laplace, b of a choice's Gumbel noise (ε₀ = 2·sensitivity/b)."""
    cost: float
    """ρ under (ε, δ), ε under pure ε: exactly this was charged."""
    histograms: int
    cells: int
    """Noisy numbers; of a choice, the candidates; of stable keys, the values that one entity may add."""
    total_variation: float = 0.0
    """How far the noise of all cells together may be from its distribution; 0 when it is exact."""
    delta: float = 0.0
    """The chance that learning fails: stable keys only, and they must have one."""
    clip: float | None = None
    """C: what an entity adds was scaled down to this. None where nothing but the cap holds it."""
    repeats: int = 1
    """So many answers of this kind and scale, each as sensitive: k choices of one charge, for instance. The cost pays for all."""
    phase: str = ""
    """Which step of a fit it belongs to (`Ledger.begin`); empty outside of one."""

    def check(self, *, pure: bool) -> None:
        """Refuse what is not a charge of a known mechanism, or costs less than that mechanism does."""
        if isinstance(self.repeats, bool) or not isinstance(self.repeats, int) or self.repeats < 1:
            raise PrivacyError(
                f"{self.what}: {self.repeats!r} answers; it must be a whole number of at least 1. Nothing was charged."
            )
        if self.clip is not None and not 0 < self.clip < inf:
            raise PrivacyError(
                f"{self.what}: the clip is {self.clip!r}; it must be a finite number above 0. Nothing was charged."
            )
        least = self.repeats * least_cost(self.mechanism, self.norm, self.sensitivity, self.scale, delta=self.delta, pure=pure)
        if not self.cost >= least:
            raise PrivacyError(f"{self.what}: {self.cost!r} was to be charged for what costs {up(least)!r}. Nothing was charged.")


class Ledger:
    """The account of one fit."""

    def __init__(
        self,
        budget: Budget,
        unit: str,
        public: Iterable[str] = (),
        pledge: Pledge | None = None,
        occasion: Occasion | None = None,
    ) -> None:
        self._accountant = Accountant(budget, None if pledge is None else pledge.cap.epsilon)
        self.pledge = pledge
        """The reservation in a budget file that this budget was taken from; None where it stands alone."""
        self.occasion = occasion or Occasion()
        """When, for what and by whom it was made, as far as somebody said."""
        self.unit = unit
        """Who is protected, in words: ``one row of patients, with every row that belongs to it in every table``."""
        self._public = list(dict.fromkeys(public))
        self._charges: list[Charge] = []
        self._reasons: list[str] = []
        self._phase = ""

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

    @property
    def learning_left(self) -> Fraction:
        """The part of δ that is left for learning domains; 0 under pure ε."""
        return self._accountant.learning_left

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

    def begin(self, phase: str) -> None:
        """Charges from now on belong to this step."""
        self._phase = phase

    def charge(self, charge: Charge) -> None:
        """Pay, then write down; or refuse with a `PrivacyError`, and change nothing."""
        self._accountant.check_cost(charge.cost)
        charge.check(pure=self.budget.pure)
        self._accountant.charge(charge.cost, charge.total_variation, charge.delta)
        self._charges.append(replace(charge, phase=self._phase) if self._phase else charge)

    def render(self, width: int = 100, *, full: bool = False) -> str:
        """The ledger as text for people: summed up, or with a line for every answer."""
        return render_ledger(self, width, full=full)

    def to_json(self) -> str:
        totals = self.totals
        return json.dumps(
            {
                "mare_ledger": _FORMAT,
                "status": self.status,
                "reasons": list(self._reasons),
                "unit": self.unit,
                "adjacency": ADJACENCY,
                "occasion": asdict(self.occasion),
                "budget": asdict(self.budget),
                "budget_file": None if self.pledge is None else asdict(self.pledge),
                "totals": {**asdict(totals), "delta": totals.delta},
                "public": list(self._public),
                "charges": [asdict(charge) for charge in self._charges],
            },
            indent=2,
            allow_nan=False,
        )

    @classmethod
    def from_json(cls, text: str) -> Ledger:
        """The ledger back, every charge checked and paid again: one that does not add up is refused."""
        try:
            data = json.loads(text)
            if data["mare_ledger"] != _FORMAT:
                raise ReleaseError(
                    f"this ledger has format {data['mare_ledger']}; this mare reads format {_FORMAT}. Upgrade mare."
                )
            occasion = Occasion.read(data.get("occasion"))
            ledger = cls(Budget(**data["budget"]), data["unit"], data["public"], _pledge(data["budget_file"]), occasion)
            for charge in data["charges"]:
                ledger.charge(Charge(**charge))
            for reason in data["reasons"]:
                ledger.mark_not_private(reason)
            faults = ledger._contradictions(data)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ReleaseError(f"this is not a ledger of mare, or it is damaged ({type(error).__name__}).") from error
        except PrivacyError as error:
            raise ReleaseError(f"this ledger does not add up: {error}") from error
        if faults:
            raise ReleaseError(f"this ledger is damaged: {'; '.join(faults)}.")
        return ledger

    def _contradictions(self, data: Mapping[str, object]) -> list[str]:
        """Where what a file says differs from what its charges come to."""
        faults = []
        if data["adjacency"] != ADJACENCY:
            faults.append(f"its adjacency is {data['adjacency']!r}, which is not {ADJACENCY!r}")
        if data["status"] != self.status:
            faults.append("its status and its reasons disagree")
        if not _same_numbers(json.loads(self.to_json())["totals"], data["totals"]):
            faults.append("its totals are not what its charges come to")
        return faults


def _pledge(data: Mapping[str, object] | None) -> Pledge | None:
    if data is None:
        return None
    return Pledge(str(data["label"]), str(data["id"]), Budget(**cast(dict[str, float], data["cap"])))


def _same_numbers(ours: Mapping[str, float | None], theirs: object) -> bool:
    """Up to the last digits: another machine's logarithm may differ there."""
    if not isinstance(theirs, dict) or ours.keys() != theirs.keys():
        return False
    return all(
        a == b or (isinstance(a, float) and isinstance(b, float) and isclose(a, b, rel_tol=1e-9))
        for a, b in zip(ours.values(), (theirs[k] for k in ours), strict=True)
    )
