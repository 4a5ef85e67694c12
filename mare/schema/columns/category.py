"""`Listed`: a column that has one of some values. The plainest of them, `Category`, and `Boolean`, however it is stored; and
`Code`, of a large vocabulary with a public hierarchy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, model_validator

from mare.schema.faults import Fault, Path, listed, no_column, no_table, unsettled
from mare.schema.reflection import ReflectedColumn, StorageKind
from mare.schema.strict import Strict, Value

from .column import WORDS, AnyColumn, Clash, LearnedDomain, repeated
from .written import WrittenWord
from .written import canonical as canonical

if TYPE_CHECKING:
    from mare.schema.layout import Layout
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
        """Other texts that a source may write for a value: 1.0 for a 1, as whoever kept them beside NULLs as floats."""
        return {f"{value}.0": value for value in self.possible or () if type(value) is int}

    @property
    def most_values(self) -> int:
        """How many values are kept at most, where they are learned."""
        return getattr(self, "max_values", None) or DEFAULT_MAX_VALUES

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


class LearnedList(LearnedDomain, Rest, Listed):
    """One of some values that the schema lists, or that are learned."""

    if TYPE_CHECKING:
        values: tuple[Value, ...] | None
        max_values: int | None

    @property
    def listed(self) -> tuple[Value, ...] | None:
        return self.values

    @property
    def _kept(self) -> int:
        """The same of those that are listed."""
        return self.most_values if self.values is None else min(len(self.values), self.max_values or len(self.values))

    def list_faults(self, path: Path, called: str) -> Iterator[Fault]:
        """What is wrong with the list, or with what becomes of values outside it."""
        if self.values is not None and not self.values:
            yield Fault((*path, "values"), "the domain is empty", "List the values, or write `learn: true`")
        yield from repeated(self.values, path, "values")
        if self.rest is None and not self.nullable:
            remedy = "Write `nullable: true` too, or leave `rest` out: such values are drawn again among the listed ones"
            yield Fault((*path, "rest"), "`rest: null` in a column that is never NULL", remedy)
        yield from self.spelling_faults(path)
        if self.values is not None and self.learn:
            yield Fault((*path, "learn"), f"the {called} are listed, so there is nothing to learn", "Keep `values` or `learn`")


class Category(LearnedList):
    """One of a few values."""

    type: Literal["category"]
    values: tuple[Value, ...] | None = None
    """All allowed values."""
    max_values: int | None = Field(None, ge=1)
    """With `learn`: keep at most this many values. Left out, values beyond 100 are kept as the noise leaves room."""

    fits: ClassVar[tuple[StorageKind, ...]] = ("boolean", "integer", "number", "string", "uuid")

    def faults(self, layout: Layout, table: str, path: Path) -> Iterator[Fault]:
        yield from self.list_faults(path, "values")
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
        return self._kept + extra + self.nullable

    @property
    def has_order(self) -> bool:
        return bool(self.values) and all(isinstance(v, int | float) and not isinstance(v, bool) for v in self.values or ())


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

    @property
    def most_values(self) -> int:
        """How many values are kept at most, where they are learned."""
        return getattr(self, "max_values", None) or DEFAULT_MAX_VALUES

    def meant(self, value: Value) -> Value | None:
        false, true = self.possible or (False, True)
        words = {"true": true, "false": false, canonical(true): true, canonical(false): false}
        return words.get(canonical(value))

    @property
    def spellings(self) -> Mapping[str, Value]:
        """Declared words are taken as they are; a source that stores real booleans is understood all the same."""
        false, true = self.possible or (False, True)
        spellings = dict(super().spellings)
        for value, declared, usual in ((false, self.false, _FALSE), (true, self.true, TRUE_WORDS)):
            words = [word for text in usual for word in (text, text.upper(), text.capitalize())]
            spellings |= dict.fromkeys(words if declared is None else [usual[0]], value)
        return spellings

    @property
    def instead_of_null(self) -> object:
        return False if self.false is None else self.false


class Hierarchy(Strict):
    """A public coarsening of codes: by prefixes of the code itself, or by columns of the vocabulary table."""

    prefix: tuple[int, ...] = ()
    """Lengths of the prefixes that are levels: `[1, 3]` for ICD-10 chapter letter and three-character category."""
    columns: tuple[str, ...] = ()
    """Columns of the vocabulary table, coarse to fine: `[chapter, block]`."""
    by: str | None = None
    """A column of the same row that tells vocabularies apart (`icd_version`): the coarsest level."""


ICD10CM, WITHOUT_DOTS = "icd10cm", "icd10cm-without-dots"
KNOWN = (ICD10CM, WITHOUT_DOTS)
"""Vocabularies that a package brings."""


class CodeFile(Strict):
    """A public list of codes in a CSV file of your own: LOINC, ATC, a subset of SNOMED."""

    file: str
    """The CSV file, with a header. It is read when a release is fitted; a path is taken from the folder where mare runs."""
    code: str
    """Its column of codes."""
    levels: tuple[str, ...] = ()
    """Its columns that group codes, coarse to fine: `[chapter, block]`."""


class Code(LearnedList):
    """A code of a large vocabulary with a public hierarchy: ICD, ATC, LOINC."""

    type: Literal["code"]
    vocabulary: str | CodeFile | None = None
    """The public table whose key lists the codes; or `icd10cm` (`icd10cm-without-dots` for A001); or a file of your own."""
    values: tuple[Value, ...] | None = None
    """All codes, where there is no such table."""
    max_values: int | None = Field(None, ge=1)
    """At most this many places: codes that are kept, and groups of codes that share one."""
    hierarchy: Hierarchy | None = None
    """How codes coarsen."""

    fits: ClassVar[tuple[StorageKind, ...]] = ("integer", "string", "number")

    def faults(self, layout: Layout, table: str, path: Path) -> Iterator[Fault]:
        yield from self.list_faults(path, "codes")
        publics = layout.of_role("public")
        if (table_of_codes := self.vocabulary_table) is not None:
            if table_of_codes not in layout.schema.tables:
                known = [*publics, *KNOWN]
                yield no_table((*path, "vocabulary"), table_of_codes, known, "public tables and known vocabularies")
            elif layout.roles[table_of_codes] != "public":
                yield layout.not_public((*path, "vocabulary"), table_of_codes)
        if self.vocabulary is not None and self.values is not None:
            yield Fault((*path, "values"), "the codes come from `vocabulary`", "Keep `vocabulary` or `values`")
        if self.vocabulary is None and self.values is None and not self.learn and self.determined is None:
            remedy = f"Write `vocabulary:` and a public table ({listed(publics)}), `values: […]`, or `learn: true`"
            yield unsettled((*path, "vocabulary"), "nothing says which codes there are", remedy)
        if self.hierarchy is not None:
            yield from self._levels(self.hierarchy, layout, table, (*path, "hierarchy"))

    def _levels(self, hierarchy: Hierarchy, layout: Layout, table: str, path: Path) -> Iterator[Fault]:
        prefix, by, known = hierarchy.prefix, hierarchy.by, layout.columns(table)
        if any(length < 1 for length in prefix) or any(a >= b for a, b in pairwise(prefix)):
            yield Fault((*path, "prefix"), "prefix lengths grow, from 1", "Write them coarse to fine: [1, 3]")
        if hierarchy.columns and self.vocabulary_table is None:
            remedy = "Write `vocabulary:` with the public table that has these columns, or use `prefix`"
            yield Fault((*path, "columns"), "columns of no vocabulary", remedy)
        if by is not None and by not in known:
            yield no_column((*path, "by"), by, table, known)
        if not prefix and not hierarchy.columns and by is None:
            yield Fault(path, "the hierarchy has no level", "Write `prefix: [1, 3]`, or `columns:` of the vocabulary table")

    @property
    def vocabulary_table(self) -> str | None:
        """The public table of the source that lists the codes, where it is one."""
        return self.vocabulary if isinstance(self.vocabulary, str) and self.vocabulary not in KNOWN else None

    @property
    def is_learned(self) -> bool:
        brought = self.vocabulary is not None and self.vocabulary_table is None
        return (self.learn or brought) and self.values is None

    @property
    def most_codes(self) -> int | None:
        if self.values is None and not self.is_learned and self.max_values is None:
            return None
        whole = self.values is not None and self._kept == len(self.values)
        extra = self.outside not in (None, *(self.values or ())) if whole else True
        return self._kept + extra + self.nullable
