"""An audit as a JSON file, and such a file in words, so that an evaluation can tell of it. Internal, not private.

An audit looks for a fault. That it finds none is no proof that there is none: the words say so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mare.errors import ReleaseError
from mare.secrecy import shown

from .report import INTERNAL, AuditReport, CanaryReport

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
        told = [*([_tape_words(tape)] if tape else []), *([_canary_words(canary)] if canary else [])]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ReleaseError(f"the JSON of this audit is damaged ({type(error).__name__}). Run the audit again.") from None
    return tuple(told) or ("No audit was made: nothing was looked for.",)


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
