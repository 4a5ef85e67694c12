"""True or false, however the source stores it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

from mare.schema.faults import Fault, Path
from mare.schema.reflection import StorageKind
from mare.schema.strict import Value

from .category import Listed, canonical, kind_of_values

if TYPE_CHECKING:
    from mare.schema.layout import Layout

TRUE_WORDS = ("true", "t", "1", "yes", "y")
"""Texts that say true, in small letters."""
_FALSE = ("false", "f", "0", "no", "n")


class Boolean(Listed):
    """True or false."""

    type: Literal["boolean"]
    true: Value | None = None
    """How true is stored, where it is not a boolean (`Y`, `1`)."""
    false: Value | None = None
    """How false is stored."""

    fits: ClassVar[tuple[StorageKind, ...]] = ("boolean",)

    def faults(self, layout: Layout, table: str, path: Path) -> Iterator[Fault]:
        if (self.true is None) != (self.false is None):
            yield Fault(path, "only one of `true` and `false` says how it is stored", "Write both, as in {true: Y, false: N}")
        elif self.true is not None and self.true == self.false:
            yield Fault((*path, "false"), f"true and false are both stored as {self.true}", "Write two different values")
        yield from self.spelling_faults(path)

    @property
    def most_codes(self) -> int | None:
        return 2 + self.nullable

    def tells(self, stored: StorageKind) -> bool:
        if stored == "string" and self.map:
            return True
        return stored in ("integer", "number", "string") and self.true is not None and self.false is not None

    def hint(self, stored: StorageKind) -> str:
        return ", or say how it is stored: true: … and false: …" + (", or map: {…: true, …: false}" if stored == "string" else "")

    @property
    def stored_kind(self) -> StorageKind:
        return "boolean" if self.true is None else kind_of_values([v for v in (self.true, self.false) if v is not None])

    @property
    def possible(self) -> tuple[Value, ...] | None:
        """False first."""
        if self.true is None and self.false is None:
            return False, True
        return "0" if self.false is None else self.false, "1" if self.true is None else self.true

    def meant(self, value: Value) -> Value | None:
        false, true = self.possible or (False, True)
        words = {"true": true, "false": false, canonical(true): true, canonical(false): false}
        return words.get(canonical(value))

    @property
    def spellings(self) -> Mapping[str, Value]:
        """Declared words are taken as they are; a source that stores real booleans is understood all the same."""
        false, true = self.possible or (False, True)
        spellings: dict[str, Value] = {}
        for value, declared, usual in ((false, self.false, _FALSE), (true, self.true, TRUE_WORDS)):
            words = [word for text in usual for word in (text, text.upper(), text.capitalize())]
            spellings |= dict.fromkeys(words if declared is None else [usual[0]], value)
        return spellings

    @property
    def instead_of_null(self) -> object:
        return False if self.false is None else self.false
