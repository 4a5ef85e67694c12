"""`Occasion`: when a release was made, for what, by whom, with which mare and from which schema.

For the one who signs. It is handed in with a fit: nothing here looks at a clock or at who is logged in, so the same
fit on the same occasion gives the same bytes. It says when a fit began, never when it was over: how long it took may depend on
the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime

from mare.errors import BudgetError


@dataclass(frozen=True)
class Occasion:
    """Public: it travels with the release. What is empty was not said."""

    at: str = ""
    """When the fit began, in UTC."""
    purpose: str = ""
    """What the release is for, in the words of whoever made it."""
    by: str = ""
    """Who made it, where they said so. A login name is somebody's personal data: it is never written here unasked."""
    mare: str = ""
    """The version of mare."""
    schema: str = ""
    """SHA-256 of `schema.yaml` as it stands in the release: `mare plan` shows it before the fit."""

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, one_line(getattr(self, field.name)))

    @classmethod
    def read(cls, data: Mapping[str, object] | None) -> Occasion:
        """From a ledger's JSON; one from before this was written down says nothing."""
        texts = {} if data is None else dict(data)
        if not all(isinstance(value, str) for value in texts.values()):
            raise TypeError("an occasion is made of texts")
        return cls(**texts)  # type: ignore[arg-type]


def utc(at: datetime) -> str:
    """A moment as files have it."""
    if at.tzinfo is None:
        raise BudgetError("a time without a zone was given. Give one with a zone, such as datetime.now(UTC).")
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def one_line(text: str) -> str:
    """One line that any terminal and any file can hold: nothing in it moves the cursor."""
    plain = text.encode("utf-8", "replace").decode()
    return " ".join("".join(c if c.isprintable() else " " for c in plain).split())
