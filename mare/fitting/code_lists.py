"""Codes that everybody knows, with their hierarchy: from a public table of the source, from the schema itself, from a file of the
user's own, or from a package. Read before anything is paid: whatever is missing costs no budget.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from mare.codec import OpenCodec, TableCodec
from mare.errors import MissingExtra, SourceError
from mare.relational.public import PublicTable, PublicTables
from mare.schema import Schema
from mare.schema.columns import Code, CodeFile
from mare.schema.columns.category import WITHOUT_DOTS


@dataclass(frozen=True)
class CodeList:
    """A public list of codes."""

    codes: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...] = ()
    """Coarse to fine: of each code, what it is called there."""
    prefix: tuple[int, ...] = ()
    """Further levels: beginnings of the code, by their length."""

    @property
    def steps(self) -> list[tuple[str, ...]]:
        """From the coarsest level down to the codes themselves."""
        return [*self.levels, *(tuple(code[:length] for code in self.codes) for length in self.prefix), self.codes]


def code_lists(schema: Schema, public: PublicTables, tables: Iterable[TableCodec]) -> dict[str, CodeList]:
    """By `table.column`, of every column whose codes are to be found among public ones."""
    lists: dict[str, CodeList] = {}
    for table in tables:
        for name, codec in table.columns.items():
            described = schema.tables[table.table].columns.get(name)
            if isinstance(codec, OpenCodec) and isinstance(described, Code) and codec.among_public:
                lists[f"{table.table}.{name}"] = _code_list(described, name, codec, public, f"{table.table}.{name}")
    return lists


def _code_list(described: Code, name: str, wanted: OpenCodec, public: PublicTables, where: str) -> CodeList:
    prefix = described.hierarchy.prefix if described.hierarchy is not None else ()
    if wanted.listed:
        return CodeList(wanted.listed, (), prefix)
    if isinstance(described.vocabulary, CodeFile):
        rows = _of_file(described.vocabulary, where)
    elif described.vocabulary_table is None:
        rows = _icd10cm(dots=described.vocabulary != WITHOUT_DOTS)
    else:
        rows = _of_table(described, name, public[described.vocabulary_table])
    if not rows:
        raise SourceError(f"{where}: its vocabulary holds no code. Fill it, or name another.")
    return CodeList(tuple(rows), tuple(zip(*rows.values(), strict=True)), prefix)


Rows = Mapping[str, tuple[str, ...]]
"""Of each code, what it is called at each level."""


def _of_table(described: Code, name: str, table: PublicTable) -> Rows:
    hierarchy = described.hierarchy
    others = () if hierarchy is None or hierarchy.by is None else (hierarchy.by,)
    keys = [column for column in table.key if column not in others] or list(table.key)
    column = name if name in keys else keys[0]
    levels = [*(other for other in others if other in table.key), *(hierarchy.columns if hierarchy is not None else ())]
    named = [["" if value is None else str(value) for value in table.column(level).to_pylist()] for level in levels]
    rows: dict[str, tuple[str, ...]] = {}
    for key, *names in zip(table.texts([column]), *named, strict=True):
        if key is not None:
            rows.setdefault(key[0], tuple(names))
    return rows


def _of_file(described: CodeFile, where: str) -> Rows:
    path = Path(described.file)
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            missing = [name for name in (described.code, *described.levels) if name not in (reader.fieldnames or ())]
            if missing:
                held = ", ".join(reader.fieldnames or ()) or "nothing"
                raise SourceError(f"{where}: the vocabulary {path} has no column {', '.join(missing)}. It has: {held}.")
            rows: dict[str, tuple[str, ...]] = {}
            for row in reader:
                if row[described.code]:
                    rows.setdefault(row[described.code], tuple(row[level] or "" for level in described.levels))
            return rows
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SourceError(f"{where}: the vocabulary {path} cannot be read as CSV ({type(error).__name__}).") from None


def _icd10cm(dots: bool) -> Rows:
    """Chapter, block and three-character category of every code, those of the categories themselves too."""
    try:
        import simple_icd_10_cm as icd
    except ImportError:
        raise MissingExtra("the vocabulary icd10cm", "codes") from None
    rows = {}
    for code in icd.get_all_codes(True):
        above = icd.get_ancestors(code)[::-1]
        if len(above) >= 2:
            levels = (above[0], above[1], above[2] if len(above) > 2 else code)
            rows[code if dots else code.replace(".", "")] = levels
    return rows
