"""`Listed`: a column that has one of some values. And the plainest of them: `Category`, and `Boolean`, however it is stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, model_validator

from mare.schema.faults import Fault, Path, listed, unsettled
from mare.schema.reflection import ReflectedColumn, StorageKind
from mare.schema.strict import Strict, Value

from .column import WORDS, AnyColumn, Clash, LearnedDomain, repeated
from .written import WrittenWord
from .written import canonical as canonical

if TYPE_CHECKING:
    from mare.schema.layout import Layout

DEFAULT_MAX_VALUES = 100
"""How many values a learned domain may have when the schema does not say."""
MOST_PLACES = 1000
"""Of a learned category whose values nobody has limited: more than those above have a code of their own as far as the noise
leaves room, but never more than these."""
REDRAW = "redraw"
"""What becomes of the rest unless the schema says otherwise."""


class Rest(Strict):
    """What becomes of values that the list does not hold."""

    rest: Value | None = REDRAW
    """What a value comes out as that the list does not hold. `redraw`: one of the listed values, in proportion; `null`: NULL; any
    other word or number: that value."""

    @model_validator(mode="before")
    @classmethod
    def _called_other(cls, fields: object) -> object:
        """`other: X` is the earlier name of `rest: X`."""
        if isinstance(fields, dict) and "other" in fields and "rest" not in fields:
            return {("rest" if name == "other" else name): value for name, value in fields.items()}
        return fields

    @property
    def outside(self) -> Value | None:
        """The value that all outside the list are, where it is one."""
        return None if self.rest == REDRAW else self.rest

    @property
    def redraws(self) -> bool:
        return self.rest is not None

    def rest_faults(self, nullable: bool, path: Path) -> Iterator[Fault]:
        if self.rest is None and not nullable:
            remedy = "Write `nullable: true` too, or leave `rest` out: such values are drawn again among the listed ones"
            yield Fault((*path, "rest"), "`rest: null` in a column that is never NULL", remedy)


class Listed(WrittenWord, AnyColumn):
    """One of some values: the schema lists them, or they are learned."""

    def spelling_faults(self, path: Path) -> Iterator[Fault]:
        """What is wrong with how its values are written."""
        yield from self.word_faults(path, self.listed or (), self.possible)
        if self.case == "ignore" and self.possible is None:
            remedy = "Write `case: lower` or `case: upper`: then all values are written so"
            yield Fault((*path, "case"), "no list says how its values are written", remedy)

    def plain_sql(self, text: str, *, stored_text: bool) -> str | None:
        listed = {canonical(value): value for value in self.possible or ()}
        return self.rewritten_sql(text, {**self.spellings, **listed})

    @property
    def listed(self) -> tuple[Value, ...] | None:
        """The values that the schema lists."""
        return None

    @property
    def outside(self) -> Value | None:
        """The value that stands for everything outside the domain."""
        return None

    @property
    def redraws(self) -> bool:
        """Whether what a learned list does not hold is drawn again among what it holds; else it is NULL."""
        return True

    @property
    def spellings(self) -> Mapping[str, Value]:
        """Other texts that a source may write for a value."""
        return {}

    @property
    def most_values(self) -> int:
        """How many values are kept at most, where they are learned."""
        return DEFAULT_MAX_VALUES

    def meant(self, value: Value) -> Value | None:
        """The value that a word of a condition stands for; None where it can be none."""
        return value

    def never(self, value: Value) -> str | None:
        meant = self.meant(value)
        if meant is None:
            return f"is true or false; {value!r} is neither"
        known = None if self.possible is None else [canonical(v) for v in self.possible]
        unknown = known is not None and canonical(meant) not in known
        return f"is never {value!r}. Its values are: {listed(known or ())}" if unknown else None

    @property
    def possible(self) -> tuple[Value, ...] | None:
        extra = () if self.outside is None or self.outside in (self.listed or ()) else (self.outside,)
        return None if self.listed is None else (*self.listed, *extra)

    def own_clash(self, stored: ReflectedColumn) -> Clash | None:
        """Texts where the source stores numbers, or numbers where it stores texts."""
        texts = [value for value in self.listed or () if isinstance(value, str)]
        if texts and stored.kind in ("integer", "number"):
            return f"values are texts, but the source stores {WORDS[stored.kind]}", "Write them without quotes"
        if self.listed is not None and len(texts) < len(self.listed) and stored.kind == "string":
            return "some values are no texts, but the source stores text", 'Put quotes around them, as in ["1", "2"]'
        return None

    @property
    def texts(self) -> Sequence[str]:
        return [value for value in (*(self.listed or ()), self.outside) if isinstance(value, str)]

    @property
    def stored_kind(self) -> StorageKind:
        return kind_of_values(self.listed or ())

    @property
    def instead_of_null(self) -> object:
        return self.listed[0] if self.listed else ""


class Category(LearnedDomain, Rest, Listed):
    """One of a few values."""

    type: Literal["category"]
    values: tuple[Value, ...] | None = None
    """All allowed values."""
    max_values: int | None = Field(None, ge=1)
    """With `learn`: keep at most this many values. Left out, values beyond 100 are kept as the noise leaves room."""

    fits: ClassVar[tuple[StorageKind, ...]] = ("boolean", "integer", "number", "string", "uuid")

    def faults(self, layout: Layout, table: str, path: Path) -> Iterator[Fault]:
        yield from values_faults(self.values, path)
        yield from self.rest_faults(self.nullable, path)
        yield from self.spelling_faults(path)
        if self.values is not None and self.learn:
            yield Fault((*path, "learn"), "the values are listed, so there is nothing to learn", "Keep `values` or `learn`")
        if self.max_values is not None and not self.learn:
            yield Fault((*path, "max_values"), "`max_values` is about a learned domain", "Write `learn: true`, or remove it")
        if self.values is None and not self.learn and self.determined is None:
            remedy = "Write `values: […]`, or `learn: true` and `max_values: 40` to learn them with budget"
            yield unsettled((*path, "values"), "nothing says which values it may have", remedy)

    @property
    def is_learned(self) -> bool:
        return self.learn and self.values is None

    @property
    def is_unlimited(self) -> bool:
        """Whether its list is learned, and nobody has said how long it may be."""
        return (self.is_learned or self.goes_with is not None) and self.max_values is None

    @property
    def most_codes(self) -> int | None:
        if self.values is None and not self.learn:
            return None
        # Of a learned list, what it does not hold is a code of its own.
        extra = self.learn if self.values is None else self.outside is not None and self.outside not in self.values
        return most_listed(self.values, self.max_values) + extra + self.nullable

    @property
    def has_order(self) -> bool:
        return bool(self.values) and all(isinstance(v, int | float) and not isinstance(v, bool) for v in self.values or ())

    @property
    def listed(self) -> tuple[Value, ...] | None:
        return self.values

    @property
    def most_values(self) -> int:
        return self.max_values or DEFAULT_MAX_VALUES


def values_faults(values: Sequence[Value] | None, path: Path) -> Iterator[Fault]:
    """What is wrong with a list of values."""
    if values is not None and not values:
        yield Fault((*path, "values"), "the domain is empty", "List the values, or write `learn: true`")
    yield from repeated(values, path, "values")


def most_listed(values: Sequence[Value] | None, most: int | None) -> int:
    """How many values are kept at most: of those that are listed, or of those to be learned."""
    if values is None:
        return most or DEFAULT_MAX_VALUES
    return min(len(values), most or len(values))


def kind_of_values(values: Sequence[Value]) -> StorageKind:
    """As the schema writes them: 1 and 0 are numbers, `Y` and `N` texts."""
    kinds = {type(value) for value in values}
    return "boolean" if kinds == {bool} else "integer" if kinds == {int} else "number" if kinds == {float} else "string"


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
