"""What an audit found, for the people who run it: true distances and true differences, hence internal, not private. Also as a
JSON file, and such a file in words, so that an evaluation can tell of it.

An audit looks for a fault. That it finds none is no proof that there is none: the words say so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from mare.errors import ReleaseError
from mare.privacy.pages import table
from mare.secrecy import shown

INTERNAL = "internal, not private"
"""Stands on everything that an audit returns or prints."""
_WIDTH = 130


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
        rows = [(q.what, q.view, f"{q.moved:.4g}", f"{q.norm} {q.paid:.4g}", f"{q.ratio:.3f}") for q in self.queries]
        compared_queries = table(("query", "view", "moved", "paid", "ratio"), rows, _WIDTH, 0, frozenset()) if rows else []
        removed = ", ".join(entity.why for entity in self.entities) or "none"
        otherwise = f" Told otherwise: {', '.join(replay.why for replay in self.retold)}." if self.retold else ""
        compared = f"{len(self.queries)} queries compared. Entities removed: {removed}.{otherwise}"
        head = [f"Tape audit: {verdict}. ({INTERNAL})", compared]
        return "\n".join([*head, "", *compared_queries, *(f"- {difference}" for difference in self.differences)])


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
        unit = _UNITS[self.unit]
        verdict = "stays below the claim" if self.passed else "THE NOISE IS TOO SMALL FOR THE CLAIM"
        return (
            f"Canary audit: {verdict}. ({INTERNAL})\n"
            f"Claimed {unit} {self.claimed:.4g}; estimated {self.estimated:.4g}, at least {self.lower:.4g} "
            f"(wrong with a chance of {self.failure:.0e}) from {self.runs:,} releases with and without the canary.\n"
            f"Correct noise would show {self.reach:.4g} of this canary."
        )


# ------------------------------------------------------------------ as a file, and in words

KIND = "mare_audit"
_FORMAT = 1
_LIGHT = 0.5
"""A canary that correct noise would show less of than this part of the claim does not test it."""
_UNITS = {"mu": "μ", "epsilon": "ε"}


@dataclass(frozen=True)
class AuditPart:
    """An audit as a part of an evaluation."""

    document: Mapping[str, Any]

    def to_json(self) -> Mapping[str, object]:
        return {**self.document, "words": list(self.words())}

    def words(self) -> Iterator[str]:
        yield from audit_in_words(self.document)


def audit_document(tape: AuditReport | None = None, canary: CanaryReport | None = None, **facts: str | float) -> dict[str, Any]:
    """What an audit found, in lists and mappings: true distances are among it. ``facts`` say of which fit."""
    document: dict[str, Any] = {KIND: _FORMAT, "status": INTERNAL, **facts}
    if tape is not None:
        verdict = {"passed": tape.passed, "tightest": tape.tightest, "differences": tape.differences}
        document["tape"] = {**verdict, **asdict(tape)}
    if canary is not None:
        document["canary"] = {"passed": canary.passed, **asdict(canary)}
    return document


def read_audit(path: str | Path) -> dict[str, Any]:
    """The file of `mare audit -o audit.json`, or a `ReleaseError` that says why not."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ReleaseError(f"{shown(Path(path))} cannot be read ({error.strerror}).") from None
    except ValueError:
        document = None
    if not isinstance(document, dict) or document.get(KIND) != _FORMAT:
        raise ReleaseError(f"{shown(Path(path))} is not the JSON of an audit. Write one with: mare audit … -o audit.json")
    return document


def audit_in_words(document: Mapping[str, Any]) -> tuple[str, ...]:
    """A sentence or two for each kind of audit: what it compared, the bound that it found beside what is claimed, and what that
    proves. Refuses what is no such document."""
    try:
        tape, canary = document.get("tape"), document.get("canary")
        lines = [*([_tape_words(tape)] if tape else []), *([_canary_words(canary)] if canary else [])]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ReleaseError(f"the JSON of this audit is damaged ({type(error).__name__}). Run the audit again.") from None
    return tuple(lines) or ("No audit was made: nothing was looked for.",)


def _tape_words(tape: Mapping[str, Any]) -> str:
    removed = f"{len(tape['queries'])} charges compared with {len(tape['entities'])} entities taken out one by one"
    if not tape["passed"]:
        shown_first = "; ".join(str(difference) for difference in tape["differences"][:3])
        return f"Tape audit: THE GUARANTEE DOES NOT HOLD. {removed}: {shown_first}. ({INTERNAL})"
    return (
        f"Tape audit: no proof of a fault. {removed}: none moved an answer further than was paid for, at most "
        f"{float(tape['tightest']):.0%} of it. Others, or other data, might. ({INTERNAL})"
    )


def _canary_words(canary: Mapping[str, Any]) -> str:
    unit, lower, claimed, reach = _UNITS[canary["unit"]], *(float(canary[name]) for name in ("lower", "claimed", "reach"))
    bound = f"lower bound {unit} = {lower:.3g}, claimed {unit} = {claimed:.3g}"
    if not canary["passed"]:
        return f"Canary audit: {bound}: THE NOISE IS TOO SMALL FOR THE CLAIM. ({INTERNAL})"
    light = f" The canary is light: correct noise would show {reach:.3g} of it." if reach < _LIGHT * claimed else ""
    return f"Canary audit: {bound}: no proof of a fault.{light} ({INTERNAL})"
