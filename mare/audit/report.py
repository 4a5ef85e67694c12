"""What an audit found, for the people who run it: true distances and true differences, hence internal, not private."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

INTERNAL = "internal, not private"
"""Stands on everything that an audit returns or prints."""


@dataclass(frozen=True)
class QueryAudit:
    """One charge of the fit, and how far the removed entities moved its exact answer."""

    what: str
    view: str
    norm: str
    paid: float
    """The sensitivity that was charged for, in that norm."""
    moved: float
    """The largest distance that any removed entity caused."""

    @property
    def ratio(self) -> float:
        """1 is a sensitivity that is met exactly; above 1 it is wrong."""
        return self.moved / self.paid


@dataclass(frozen=True)
class ReplayAudit:
    """One more fit with the recorded answers, on other data: an entity taken out, or the same data told otherwise."""

    why: str
    """Why this entity was chosen (the heaviest, rare values, at random), or how the data was told."""
    differences: tuple[str, ...]
    """Empty when nothing shows."""

    @property
    def passed(self) -> bool:
        return not self.differences


@dataclass(frozen=True)
class AuditReport:
    """The tape audit of one fit."""

    queries: tuple[QueryAudit, ...]
    """Every charge of the recorded fit, in order."""
    entities: tuple[ReplayAudit, ...]
    """One for each entity that was taken out."""
    faults: tuple[str, ...] = ()
    """What is wrong with the recorded fit by itself: a charge that does not pay, a key that got out."""
    retold: tuple[ReplayAudit, ...] = ()
    """One for each way in which the same data was told otherwise."""

    @property
    def passed(self) -> bool:
        return not self.differences

    @property
    def tightest(self) -> float:
        """The largest ratio of a distance to the sensitivity paid for it: how hard this data tested the caps."""
        return max((query.ratio for query in self.queries), default=0.0)

    @property
    def differences(self) -> tuple[str, ...]:
        """All that was found, in the order it was found."""
        replays = (*self.entities, *self.retold)
        return (*self.faults, *(f"{replay.why}: {difference}" for replay in replays for difference in replay.differences))

    def render(self) -> str:
        verdict = "nothing shows beyond what was paid for" if self.passed else "THE GUARANTEE DOES NOT HOLD"
        rows = [("query", "view", "moved", "paid", "ratio")]
        rows += [
            (
                q.what if len(q.what) <= 60 else q.what[:59] + "…",
                q.view,
                f"{q.moved:.4g}",
                f"{q.norm} {q.paid:.4g}",
                f"{q.ratio:.3f}",
            )
            for q in self.queries
        ]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        removed = ", ".join(entity.why for entity in self.entities) or "none"
        otherwise = f" Told otherwise: {', '.join(replay.why for replay in self.retold)}." if self.retold else ""
        compared = f"{len(self.queries)} queries compared. Entities removed: {removed}.{otherwise}"
        head = [f"Tape audit: {verdict}. ({INTERNAL})", compared]
        return "\n".join([*head, "", *table, *(f"- {difference}" for difference in self.differences)])


@dataclass(frozen=True)
class CanaryReport:
    """How well the releases themselves tell whether the canary was in the data."""

    unit: Literal["mu", "epsilon"]
    """μ of Gaussian differential privacy under (ε, δ); ε under pure ε."""
    claimed: float
    """What the ledger says was spent, in that unit."""
    estimated: float
    lower: float
    """The true value is below this with a chance of at most ``failure``."""
    reach: float
    """What correct noise would show of this canary. Far below the claim, the canary is too light to test it."""
    failure: float
    runs: int
    """Releases drawn with the canary, and as many without."""

    @property
    def passed(self) -> bool:
        return self.lower <= self.claimed

    def render(self) -> str:
        unit = {"mu": "μ", "epsilon": "ε"}[self.unit]
        verdict = "stays below the claim" if self.passed else "THE NOISE IS TOO SMALL FOR THE CLAIM"
        return (
            f"Canary audit: {verdict}. ({INTERNAL})\n"
            f"Claimed {unit} {self.claimed:.4g}; estimated {self.estimated:.4g}, at least {self.lower:.4g} "
            f"(wrong with a chance of {self.failure:.0e}) from {self.runs:,} releases with and without the canary.\n"
            f"Correct noise would show {self.reach:.4g} of this canary."
        )
