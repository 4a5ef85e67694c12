"""`Ledger`: every charge in order, and what the release promises, for the person who has to sign for it.

It is append-only: charges are never taken back and NOT PRIVATE is never lifted. It holds no answer and nothing
else from the data, so it is released with the release. `Ledger.render` says it in
words that a data protection officer understands.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from html import escape
from math import inf, isclose
from typing import Literal, cast

from mare.errors import PrivacyError, ReleaseError

from .accountant import Accountant, Kind, Norm, Totals, least_cost
from .budget import NEXT_TO_NOTHING, Budget, Pledge, factor, plainly
from .conversion import up
from .occasion import Occasion
from .pages import bullets, labelled, paragraph, table

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
            raise PrivacyError(f"{self.what}: {self.repeats!r} answers; it must be a whole number of at least 1.")
        if self.clip is not None and not 0 < self.clip < inf:
            raise PrivacyError(f"{self.what}: the clip is {self.clip!r}; it must be a finite number above 0.")
        least = self.repeats * least_cost(self.mechanism, self.norm, self.sensitivity, self.scale, delta=self.delta, pure=pure)
        if not self.cost >= least:
            raise PrivacyError(f"{self.what}: {self.cost!r} was to be charged for what costs {up(least)!r}.")


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

    @property
    def parts(self) -> dict[str, list[Charge]]:
        """The charges by what they were spent on: the steps of a fit, and each column group by its name."""
        parts: dict[str, list[Charge]] = {}
        for charge in self._charges:
            parts.setdefault(_STEPS.get(charge.phase, charge.view), []).append(charge)
        return parts

    def _repr_html_(self) -> str:
        """For notebooks."""
        return f"<pre>{escape(self.render())}</pre>"

    def render(self, width: int = 100, *, full: bool = False) -> str:
        """The ledger as text for people: status, promise, occasion, what was spent on what, what was taken as public.

        What was spent is summed up by step and column group, or ``full``: a line for every answer.
        """
        spent = _spent(self, width) if full else _summed(self, width)
        parts = (_status(self, width), _promise(self, width), _occasion(self, width), spent, _public(self, width))
        return "\n\n".join("\n".join(part) for part in parts) + "\n"

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
    occasion = ledger.occasion
    made = f"{occasion.at.removesuffix('Z').replace('T', ' ')} UTC" if occasion.at else f"when was {_NOT_SAID}"
    entries = (
        ("Made:", f"{made}, with mare {occasion.mare}" if occasion.mare else made),
        ("For:", occasion.purpose or f"{_NOT_SAID} (--purpose)"),
        ("By:", occasion.by or f"{_NOT_SAID} (--by)"),
    )
    lines = [line for label, text in entries for line in labelled(label, text, width, _INDENT)]
    # Not torn apart: somebody will compare it.
    label, schema = "Schema SHA-256:", occasion.schema or _NOT_SAID
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
    rows = [_sum_row(part, charges, float(ledger.total)) for part, charges in ledger.parts.items()]
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
