"""What an audit and a release say, told beside the figures: how far the promise was tried, and where the budget went."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mare.audit.words import audit_in_words, read_audit
from mare.verdicts import Card, card
from mare.verdicts.card import VERDICTS

from .evaluation import Part

if TYPE_CHECKING:
    from mare.release import Release


@dataclass(frozen=True)
class Audited:
    """The JSON of `mare audit`. Internal, not private."""

    document: Mapping[str, object]

    def words(self) -> Iterator[str]:
        yield from audit_in_words(self.document)

    def to_json(self) -> Mapping[str, object]:
        return self.document


@dataclass(frozen=True)
class Released:
    """What the release says about itself: public, also among figures that are not."""

    card: Card

    def words(self) -> Iterator[str]:
        columns = ", ".join(f"{len(self.card.of(verdict))} {verdict}" for verdict in VERDICTS)
        yield f"The release (ε = {self.card.epsilon:g}, δ = {self.card.delta:g}) says of its columns: {columns}."

    def to_json(self) -> Mapping[str, object]:
        return self.card.to_dict()


def told_beside(audit: str | Path | None, release: Release | str | Path | None) -> dict[str, Part]:
    """The parts that were asked for. A file that is none is refused before any row is read."""
    parts: dict[str, Part] = {}
    if release is not None:
        if isinstance(release, str | Path):
            from mare.release import load_release

            release = load_release(release)
        parts["release"] = Released(card(release))
    if audit is not None:
        document = read_audit(audit)
        audit_in_words(document)
        parts["audit"] = Audited(document)
    return parts
