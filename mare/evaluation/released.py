"""What the release says about itself, told beside the figures: where the budget went, and which columns it trusts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mare.verdicts import Card, card
from mare.verdicts.card import VERDICTS

if TYPE_CHECKING:
    from mare.release import Release


@dataclass(frozen=True)
class Released:
    """The card as a part of an evaluation: public, also among figures that are not."""

    card: Card

    def words(self) -> Iterator[str]:
        columns = ", ".join(f"{len(self.card.of(verdict))} {verdict}" for verdict in VERDICTS)
        yield f"The release (ε = {self.card.epsilon:g}, δ = {self.card.delta:g}) says of its columns: {columns}."

    def to_json(self) -> Mapping[str, object]:
        return self.card.to_dict()


def released(release: Release | str | Path) -> Released:
    """Of a release or its file, which is refused, where it is none, before any row is read."""
    from mare.release import load_release

    return Released(card(load_release(release) if isinstance(release, str | Path) else release))
