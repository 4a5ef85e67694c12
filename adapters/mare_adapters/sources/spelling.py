"""References that a database follows although they are spelled otherwise than the key: read in the key's own spelling.

MySQL, MariaDB and SQLite's NOCASE take `p1` for `P1` and often for `p1 `; a foreign key between such texts holds there. mare
compares letter by letter, and would take such a row for one without a parent. So a referring text is asked for as the row
that it refers to has it. A reference that leads nowhere stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mare.schema.reflection import ReflectedColumn, ReflectedForeignKey, ReflectedTable, Reflection

from .catalogue import Found

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import ColumnElement, FromClause

_LETTER_BY_LETTER = re.compile(r".*(?: collate utf8mb4_bin)|(?:enum|set)\(.*", re.IGNORECASE | re.DOTALL)


def loose_references(
    table: ReflectedTable, columns: Sequence[ReflectedColumn], reflection: Reflection, family: str
) -> list[ReflectedForeignKey]:
    """The foreign keys through which one of these columns has to be read."""
    if family not in ("mysql", "sqlite"):
        return []
    wanted = {column.name for column in columns if _is_loose(column)}
    found: list[ReflectedForeignKey] = []
    for foreign in table.foreign_keys:
        referred = reflection.table(foreign.table)
        keys = [] if referred is None else [set(key) for key in (referred.key, *referred.uniques)]
        # Only of a key is there one row at most: of anything else, a row could become two.
        if set(foreign.columns) & wanted and set(foreign.references) in keys:
            found.append(foreign)
            wanted -= set(foreign.columns)
    return found


def _is_loose(column: ReflectedColumn) -> bool:
    return column.kind == "string" and not _LETTER_BY_LETTER.fullmatch(column.sql_type)


def joined(
    stored: FromClause, foreign_keys: Sequence[ReflectedForeignKey], found: Mapping[str, Found]
) -> tuple[FromClause, dict[str, ColumnElement[object]]]:
    """The table with the rows that it refers to beside, and what to ask for instead of the referring columns."""
    from sqlalchemy import and_, column, func, table
    from sqlalchemy.sql import quoted_name

    asked: dict[str, ColumnElement[object]] = {}
    whole: FromClause = stored
    for number, foreign in enumerate(foreign_keys):
        there = found[foreign.table]
        named = [column(quoted_name(name, True)) for name in foreign.references]  # type: ignore[var-annotated]
        other = table(quoted_name(there.name, True), *named).alias(f"mare_{number}")
        pairs = [(stored.c[here], other.c[name]) for here, name in zip(foreign.columns, foreign.references, strict=True)]
        # The referred column on the left: in SQLite, it is its collation that a foreign key goes by.
        whole = whole.outerjoin(other, and_(*(theirs == ours for ours, theirs in pairs)))
        asked |= {str(ours.name): func.coalesce(theirs, ours) for ours, theirs in pairs}
    return whole, asked
