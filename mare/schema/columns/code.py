"""A code of a large vocabulary with a public hierarchy."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from mare.schema.faults import Fault, Path, listed, no_column, no_table, unsettled
from mare.schema.reflection import StorageKind
from mare.schema.strict import Strict, Value

from .category import DEFAULT_MAX_VALUES, Listed, Rest, most_listed, values_faults
from .column import LearnedDomain

if TYPE_CHECKING:
    from mare.schema.layout import Layout


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


class Code(LearnedDomain, Rest, Listed):
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
        yield from values_faults(self.values, path)
        yield from self.rest_faults(self.nullable, path)
        yield from self.spelling_faults(path)
        publics = [t for t, role in layout.roles.items() if role == "public"]
        if (table_of_codes := self.vocabulary_table) is not None:
            if table_of_codes not in layout.schema.tables:
                known = [*publics, *KNOWN]
                yield no_table((*path, "vocabulary"), table_of_codes, known, "public tables and known vocabularies")
            elif layout.roles[table_of_codes] != "public":
                remedy = f"Mark it `public: true` if it holds nothing about anybody, or name one of {listed(publics)}"
                yield Fault((*path, "vocabulary"), f"{table_of_codes} is not public", remedy)
        if self.vocabulary is not None and self.values is not None:
            yield Fault((*path, "values"), "the codes come from `vocabulary`", "Keep `vocabulary` or `values`")
        if self.values is not None and self.learn:
            yield Fault((*path, "learn"), "the codes are listed, so there is nothing to learn", "Keep `values` or `learn`")
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
        whole = self.values is not None and most_listed(self.values, self.max_values) == len(self.values)
        extra = self.outside not in (None, *(self.values or ())) if whole else True
        return most_listed(self.values, self.max_values) + extra + self.nullable

    @property
    def listed(self) -> tuple[Value, ...] | None:
        return self.values

    @property
    def most_values(self) -> int:
        return self.max_values or DEFAULT_MAX_VALUES
