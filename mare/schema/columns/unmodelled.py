"""Columns that no model generates: counted, made anew or not kept. And those that nobody has settled yet."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from mare.schema.faults import Fault, Path, no_column
from mare.schema.reflection import ReflectedColumn, StorageKind
from mare.schema.strict import Names

from .column import WORDS, AnyColumn, Clash, Raw
from .number import whole_sql

if TYPE_CHECKING:
    from mare.schema.layout import Layout

_UUID = 36
"""Letters of a UUID."""

FakeKind = Literal[
    "name", "first_name", "last_name", "email", "phone", "address", "street", "postcode", "city", "company", "iban"
]
LONGEST: Mapping[str, int] = {"email": 47, "phone": 20, "iban": 34}
"""Of the made-up values that are different in every row, letters of the longest."""


class Position(AnyColumn):
    """The position of a row within its parent (`seq_num`): known from the order, costs nothing."""

    type: Literal["position"]
    start: int = 1
    """The number of the first row."""
    within: Names | None = None
    """Count anew for each value of these columns of the same parent."""

    modelled: ClassVar[bool] = False
    fits: ClassVar[tuple[StorageKind, ...]] = ("integer", "number")
    staged_type: ClassVar[str] = "BIGINT"
    stored_kind: ClassVar[StorageKind] = "integer"

    def faults(self, layout: Layout, table: str, path: Path) -> Iterator[Fault]:
        if layout.schema.parent(table) is None:
            remedy = "Describe it as an identifier (`generate: sequence`), or give the table a parent"
            yield Fault((*path, "type"), f"{table} has no parent to count its rows within", remedy)
        known = layout.columns(table)
        for column in self.within or ():
            if column not in known or column == path[-1]:
                yield no_column((*path, "within"), column, table, [c for c in known if c != path[-1]])

    def read_sql(self, column: str, raw: Raw, *, spelled: bool) -> str | None:
        return whole_sql(column, raw)

    def says_its_text(self, raw: Raw) -> bool:
        return raw == "integer"


class Identifier(AnyColumn):
    """A name without meaning: regenerated, never read into a model."""

    type: Literal["identifier"]
    generate: Literal["sequence", "uuid", "pattern"] = "sequence"
    """How fresh ones are made."""
    start: int = 1
    """First number of a sequence."""
    pattern: str | None = None
    """With `generate: pattern`: a format with `{n}`, as in `P{n:08d}`."""
    runs: bool = False
    """Rows that follow each other in a sequence may share one (the number of an order, a basket): whether a row has the same as
    the row before is modelled."""

    modelled: ClassVar[bool] = False
    fits: ClassVar[tuple[StorageKind, ...]] = ("integer", "number", "string")

    def faults(self, layout: Layout, table: str, path: Path) -> Iterator[Fault]:
        here = (*path, "pattern")
        link = layout.schema.parent(table)
        if self.runs and (link is None or link.type != "sequential"):
            what = "only rows of a sequence follow each other"
            yield Fault((*path, "runs"), what, "Write type: sequential and order_by under `parent:`, or no `runs:`")
        if (self.generate == "pattern") != (self.pattern is not None):
            yield Fault(here, "`generate: pattern` and `pattern:` go together", "Write both, as in P{n:08d}, or neither")
        if self.pattern is None:
            return
        try:
            works = self.pattern.format(n=1) != self.pattern.format(n=2)
        except (ValueError, LookupError, AttributeError):
            works = False
        if not works:
            remedy = "Write a text with {n} in it, as in P{n:08d}"
            yield Fault(here, f"{self.pattern} does not give every row a name of its own", remedy)

    def own_clash(self, stored: ReflectedColumn) -> Clash | None:
        if self.generate == "uuid" and stored.kind in ("integer", "number"):
            return f"UUIDs do not fit into {WORDS[stored.kind]}", "Write generate: sequence"
        if self.generate != "uuid" and stored.kind == "uuid":
            return f"a {self.generate} does not fit into UUIDs", "Write generate: uuid"
        if self.generate == "pattern" and stored.kind in ("integer", "number"):
            return f"a pattern does not fit into {WORDS[stored.kind]}", "Write generate: sequence"
        return None

    def tells(self, stored: StorageKind) -> bool:
        return self.generate == "uuid" and stored == "uuid"

    @property
    def texts(self) -> Sequence[str]:
        if self.generate == "uuid":
            return ["0" * _UUID]
        return [self.pattern.format(n=1)] if self.generate == "pattern" and self.pattern is not None else []


class Text(AnyColumn):
    """Free text: it cannot be made private, so it is not kept."""

    type: Literal["text"]
    fill: Literal["drop", "constant", "template", "fake"] = "drop"
    """`drop` (NULL, or the empty string), a `constant`, a `template`, or `fake`: made up, nothing of it from the data."""
    value: str | None = None
    """The constant."""
    template: str | None = None
    """Text with columns of the same row in braces: `{gender}, {age} years`."""
    fake: FakeKind | None = None
    """With `fill: fake`: what is made up. E-mails, phone and account numbers (`iban`) are different in every row."""
    locale: str = "en_US"
    """With `fill: fake`: the language and country of names and addresses."""

    modelled: ClassVar[bool] = False
    kept: ClassVar[bool] = False
    fits: ClassVar[tuple[StorageKind, ...]] = ("string", "json", "binary", "uuid", "other")

    def faults(self, layout: Layout, table: str, path: Path) -> Iterator[Fault]:
        for fill, field in (("constant", "value"), ("template", "template"), ("fake", "fake")):
            if (self.fill == fill) != (getattr(self, field) is not None):
                yield Fault((*path, field), f"`fill: {fill}` and `{field}:` go together", "Write both, or neither")
        if self.template is None:
            return
        known = [c for c in layout.columns(table) if c != path[-1]]
        try:
            names = [field for _, field, _, _ in string.Formatter().parse(self.template) if field is not None]
        except ValueError:
            yield Fault((*path, "template"), "its braces do not match", "Write columns in braces: {gender}, {age} years")
            return
        for name in names:
            if name not in known:
                yield no_column((*path, "template"), name or "{}", table, known)

    @property
    def texts(self) -> Sequence[str]:
        if self.is_unique and self.fake is not None:
            return ["0" * LONGEST[self.fake]]
        return [self.value] if self.fill == "constant" and self.value is not None else []

    @property
    def is_unique(self) -> bool:
        """Whether it is made anew for every row, and different in each."""
        return self.fill == "fake" and self.fake in LONGEST


class Unknown(AnyColumn):
    """A type that nobody has settled yet (a CSV header does not tell). `check` and `plan` ask for it."""

    type: Literal["unknown"]

    settled: ClassVar[bool] = False
