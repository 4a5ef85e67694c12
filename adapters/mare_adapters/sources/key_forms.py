"""Columns in the form by which a database compares them: how references hold that are spelled otherwise than their key.

MySQL, MariaDB, SQLite's NOCASE and PostgreSQL's citext take `p1` for `P1`, and often for `p1 `; a foreign key between such texts
holds there. mare compares letter by letter, so it asks for keys and references in a form in which equal ones are the same text
(`mare.ports.compared`). The database works the form out of the value itself, by the rule of its own collation. Looking the
spelling up in the row that is referred to would make what is read of one patient depend on another's row.

A key must also not be read as another one. Where a type is read less exactly than it is stored (2.5 among SQLite's INTs, twenty
digits of a numeric), its form is `EXACT`: a text in which only equal ones are the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mare.errors import SourceError
from mare.ports import COMPARED
from mare.schema.reflection import ReflectedColumn, ReflectedTable, Reflection
from mare_adapters.engine import quoted

from .lookup import find_columns

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement

CITEXT, EXACT = "citext", "EXACT"
_SQLITE_EXACT = (
    "CASE typeof({0}) WHEN 'real' THEN CASE WHEN {0} = CAST({0} AS INTEGER) THEN CAST(CAST({0} AS INTEGER) AS TEXT) "
    "ELSE printf('%!.17g', {0}) END WHEN 'blob' THEN 'x' || hex({0}) ELSE CAST({0} AS TEXT) END"
)
_SQLITE = {"NOCASE": f"lower({_SQLITE_EXACT})", "RTRIM": f"rtrim({_SQLITE_EXACT}, ' ')", EXACT: _SQLITE_EXACT}
_EXACT_DIGITS = 38
_NAME = re.compile(r"[A-Za-z0-9]+_[A-Za-z0-9_]+")


@dataclass(frozen=True)
class Asked:
    """A column as it was asked for."""

    stored: ReflectedColumn
    collation: str = ""
    """The rule of its form; empty: the value itself."""

    @property
    def delivered(self) -> ReflectedColumn:
        """What comes: a form is a text."""
        return ReflectedColumn(self.stored.name, "string") if self.collation else self.stored


def asked_columns(reflection: Reflection, table: ReflectedTable, names: Sequence[str]) -> list[Asked]:
    """The columns of these names, some of them in their form."""
    found = []
    for name in names:
        column, mark, collation = name.rpartition(COMPARED)
        as_key = bool(mark) and table.column(name) is None
        found.append((column, collation) if as_key else (name, ""))
    columns = find_columns(reflection, table, [column for column, _ in found])
    return [Asked(column, collation) for column, (_, collation) in zip(columns, found, strict=True)]


def known_collations(columns: Sequence[ReflectedColumn], family: str, words: dict[str, str]) -> tuple[ReflectedColumn, ...]:
    """The columns with their collations, where the database tells one that mare can ask for."""
    return tuple(replace(column, collation=_known(column, words.get(column.name, ""), family)) for column in columns)


def _known(column: ReflectedColumn, collation: str, family: str) -> str:
    if family == "sqlite":  # where any value may stand in any column
        return collation.upper() if collation.upper() in _SQLITE else EXACT
    if _NAME.fullmatch(collation):
        return collation
    return EXACT if (column.digits or 0) > _EXACT_DIGITS or column.kind == "time" else ""


def key_form(asked: Asked, family: str) -> ColumnElement[object]:
    """The expression whose texts are the same where the collation calls the values equal."""
    from sqlalchemy import literal_column

    collation, name = asked.collation, asked.stored.name
    if family == "sqlite" and collation in _SQLITE:
        return literal_column(_SQLITE[collation].format(quoted(name)))
    if family == "postgresql" and collation == CITEXT:
        return literal_column(f"lower(CAST({quoted(name)} AS text))")
    if collation == EXACT and family in ("mysql", "postgresql"):
        name = f"`{name}`" if family == "mysql" else quoted(name)
        text = f"CAST({name} AS {'CHAR' if family == 'mysql' else 'text'})"
        return literal_column(
            f"CASE WHEN {text} LIKE '%.%' THEN trim(TRAILING '.' FROM trim(TRAILING '0' FROM {text})) ELSE {text} END"
        )
    if family == "mysql" and _NAME.fullmatch(collation):
        text = f"CONVERT(`{name}` USING {collation.partition('_')[0]})"
        if not re.search("_0900_|_nopad_", collation):  # all others take no notice of blanks at the end
            text = f"TRIM(TRAILING ' ' FROM {text})"
        return literal_column(f"HEX(WEIGHT_STRING({text} COLLATE {collation}))")
    raise SourceError(f"{name}: a {family} database compares nothing by the collation {collation!r}.")
