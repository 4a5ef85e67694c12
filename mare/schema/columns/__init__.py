"""The column types, one class each, which says everything about its type. A field that a type does not have is refused by name.

`Column` is the registry: a type is added in a file of its own and here (`docs/guides/a-new-column-type.md`).
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .category import DEFAULT_MAX_VALUES, MOST_PLACES, Boolean, Category, Code, CodeFile, Hierarchy, Listed, Rest
from .column import AnyColumn, LearnedDomain, Raw
from .number import Drift, Integer, Number, NumericRange, Quantity
from .ordinal import DEFAULT_BINS, PACES, ROOMS, Ordinal, keeps_each
from .times import Date, Datetime, Duration, Resolution, Time, TimeColumn
from .unmodelled import Identifier, Position, Text, Unknown
from .written import MISSING, Written, WrittenNumber, WrittenWord

Column = Annotated[
    Category | Boolean | Integer | Number | Date | Datetime | Time | Duration | Code | Position | Identifier | Text | Unknown,
    Field(discriminator="type"),
]
"""A column of a table: `type` says which of these it is."""

__all__ = [
    "DEFAULT_BINS", "DEFAULT_MAX_VALUES", "MISSING", "MOST_PLACES", "PACES", "ROOMS", "AnyColumn", "Boolean", "Category",
    "Code", "CodeFile", "Column", "Date", "Datetime", "Drift", "Duration", "Hierarchy", "Identifier", "Integer",
    "LearnedDomain", "Listed", "Number", "NumericRange", "Ordinal", "Position", "Quantity", "Raw", "Resolution", "Rest", "Text",
    "Time", "TimeColumn", "Unknown", "Written", "WrittenNumber", "WrittenWord", "keeps_each",
]  # fmt: skip
