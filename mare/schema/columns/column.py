"""`AnyColumn`: what every column may say, and what every room may ask of it.

A column type is one class: its fields are what the YAML may say, its methods what follows from that for the schema's checks, the
plan, the stage, the codecs, the release and the sampler. Here stands the answer of a type that has nothing to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from mare.schema.determined import Determined
from mare.schema.faults import Fault, Path
from mare.schema.reflection import Bound, ReflectedColumn, StorageKind
from mare.schema.strict import Strict, Value

from .ticks import Order

if TYPE_CHECKING:
    from mare.schema.layout import Layout

Raw = Literal["text", "integer", "floating", "timestamp", "other"]
"""What the rows of a source hold before they are read, as far as it matters how to read them."""
Clash = tuple[str, str]
"""What clashes, and what to write instead."""

WORDS: dict[StorageKind, str] = {
    "integer": "whole numbers", "number": "numbers", "string": "text", "date": "dates", "datetime": "dates with times",
    "time": "times of day", "duration": "lengths of time", "boolean": "booleans", "uuid": "UUIDs", "json": "JSON",
    "binary": "bytes", "other": "a type that mare does not know",
}  # fmt: skip

_INSTEAD: dict[StorageKind, str] = {
    "boolean": "boolean",
    "integer": "integer (or category)",
    "number": "number",
    "string": "category, code or text",
    "date": "date",
    "datetime": "datetime",
    "time": "time",
    "duration": "duration",
    "uuid": "identifier, generate: uuid",
    "json": "text, or list it in ignore_columns",
    "binary": "text, or list it in ignore_columns",
    "other": "text, or list it in ignore_columns",
}


class AnyColumn(Strict):
    """What every column may say."""

    description: str | None = None
    """For people; shown in the plan and kept in the release."""
    nullable: bool = False
    """NULL is a value of its own. A column that is not nullable never comes out NULL."""
    determined: Determined | None = None
    """Worked out from other values instead of modelled."""
    same_for: str | None = None
    """The same in all rows that belong to one row above: `entity`, `parent` or the name of a table. Drawn once, and copied."""
    peeked: bool = False
    """Something here was filled in by looking at the data. `fit` refuses until a person has reviewed it and removed the mark."""

    if TYPE_CHECKING:
        type: str

    modelled: ClassVar[bool] = True
    """Whether a model generates it, unless it is determined. Else it is made anew, counted or not kept."""
    settled: ClassVar[bool] = True
    """Whether somebody has said what it holds."""
    kept: ClassVar[bool] = True
    """Whether anything of its values is kept. Nothing is of free text."""
    order: ClassVar[Order | None] = None
    """What its values can be compared with; None where they have no order of their own."""
    has_day: ClassVar[bool] = False
    """Whether a value has a year, a month and a day."""
    has_clock: ClassVar[bool] = False
    """Whether a value has an hour and a minute."""

    fits: ClassVar[tuple[StorageKind, ...]] = ()
    """Stored kinds that it can be read from without a further word in the schema, its own first."""
    staged_type: ClassVar[str] = "VARCHAR"
    """DuckDB's type, where no row told it."""

    # ---- the schema: what the declaration contradicts or leaves open

    def faults(self, layout: Layout, table: str, path: Path) -> Iterator[Fault]:
        """What is wrong with its own declaration."""
        return iter(())

    @property
    def is_drawn(self) -> bool:
        """Whether a model draws its values."""
        return self.modelled and self.determined is None

    # ---- the plan: sizes that follow from the declaration, hence are public

    @property
    def goes_with(self) -> str | None:
        """The column that it is a name of."""
        return None if self.determined is None else self.determined.goes_with

    @property
    def is_learned(self) -> bool:
        """Whether its domain is learned from the data, and paid for."""
        return False

    @property
    def measures_bins(self) -> bool:
        """Whether its bins are placed by a noisy histogram, and paid for."""
        return False

    @property
    def most_codes(self) -> int | None:
        """The most codes it can have, NULL and special values included; None where the schema does not say."""
        return None

    @property
    def distinct_values(self) -> int | None:
        """How many different values it can have, where the schema says: more than its codes, where these are bins."""
        return self.most_codes

    # ---- conditions on it: what may be asked

    @property
    def has_order(self) -> bool:
        """Whether more and less mean anything in it."""
        return False

    def never(self, value: Value) -> str | None:
        """Why it never has a value, as far as the schema says."""
        return None

    # ---- the source and the target: what is stored

    def clash(self, stored: ReflectedColumn) -> Clash | None:
        """Why it cannot be read from what the source stores; None where it can."""
        if not self.settled or stored.kind == "unknown" or self.determined is not None:
            return None
        if stored.inferred and not self.modelled:
            # It is never read, and a tool that infers types takes a column without a value for numbers.
            return None
        if (own := self.own_clash(stored)) is not None:
            return own
        longest = max(map(len, self.texts), default=0)
        if stored.kind == "string" and stored.max_length is not None and longest > stored.max_length:
            what = f"the schema writes a text of {longest} letters, but the source takes {stored.max_length} ({stored.sql_type})"
            return what, "Write a shorter one"
        if stored.kind in self.fits or self.tells(stored.kind):
            return None
        shown = f" ({stored.sql_type})" if stored.sql_type else ""
        what = f"the schema says {self.type}, but the source stores {WORDS[stored.kind]}{shown}"
        return what, f"Write type: {_INSTEAD[stored.kind]}{self.hint(stored.kind)}"

    def own_clash(self, stored: ReflectedColumn) -> Clash | None:
        """Clashes that its other fields make."""
        return None

    def tells(self, stored: StorageKind) -> bool:
        """Whether the schema says how it is read from this kind, which it could not be read from otherwise."""
        return False

    def hint(self, stored: StorageKind) -> str:
        """What else may be written where it cannot be read from this kind."""
        return ""

    @property
    def texts(self) -> Sequence[str]:
        """What the schema itself puts into the column. (What a template makes of a row is cut off where it does not fit.)"""
        return ()

    @property
    def stored_kind(self) -> StorageKind:
        """In which kind it is stored where the source does not tell (CSV, frames)."""
        return "string"

    @property
    def possible(self) -> tuple[Value, ...] | None:
        """Every value that can come out, where the schema lists them."""
        return None

    def promised(self, side: Literal["min", "max"]) -> Bound | None:
        """A bound that all values keep."""
        return None

    # ---- the stage: how a source's value is read with SQL. What does not fit becomes NULL, never an error.

    def plain_sql(self, text: str, *, stored_text: bool) -> str | None:
        """A text of the source as `read_sql` reads it, NULL where it means that; None where it is read as it is. What is no
        ``stored_text`` was a number or a date in the source: nobody wrote it with a comma."""
        return None

    def kept_text_sql(self, plain: str) -> str:
        """Such a text where it stays one, because words stand among the values: as codecs read it."""
        return plain

    def read_sql(self, column: str, raw: Raw, *, spelled: bool) -> str | None:
        """An expression that reads it; None where it stays a text. A text that was ``spelled`` may be written otherwise than the
        schema says."""
        return None

    def says_its_text(self, raw: Raw) -> bool:
        """Whether a stored value and its text are read as the same, whatever it is: then the text need not be made."""
        return False

    # ---- the sampler: values that come out

    @property
    def decimals(self) -> int | None:
        """Decimals that come back, where the schema says."""
        return None

    @property
    def text_format(self) -> str | None:
        """The strftime format of its texts."""
        return None

    @property
    def number_text(self) -> str | None:
        """The format of a number where it is stored as text (`{:.2f}`), where the schema says."""
        return None

    @property
    def decimal_mark(self) -> str:
        """What stands before the decimals of a number where it is stored as text."""
        return "."

    @property
    def instead_of_null(self) -> object:
        """What a worked-out value becomes that would be NULL and may not be."""
        return ""


class LearnedDomain(Strict):
    """A domain is declared, or learned with budget; it is never silently taken from the data."""

    learn: bool = False
    """Learn the domain from the data, and pay for it."""


def repeated(values: Sequence[Value] | None, path: Path, field: str) -> Iterator[Fault]:
    """Values that a list holds twice."""
    seen: set[tuple[type, Value]] = set()
    for i, value in enumerate(values or ()):
        if (type(value), value) in seen:
            yield Fault((*path, field, i), f"{value} is listed twice", "Keep one of them")
        seen.add((type(value), value))
