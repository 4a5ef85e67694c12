"""A schema cut down to what a source has: for `mare init --like`. Between a `Reflection` and YAML text; reads no row.

A ready schema describes all of a published model, and hardly an export has all of it. What the source lacks goes out of the
schema, with everything that depends on it, and is told by name; what the source has beyond the schema is ignored by name. What is
left is a schema as any other: the file says all that is fitted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from textwrap import wrap

from mare.errors import SchemaError

from .checks import find_faults
from .faults import describe, listed
from .loading import JSON_SCHEMA, load_document, ready_folder, ready_names
from .matching import unmentioned_columns
from .reflection import LeftOut, ReflectedTable, Reflection
from .structure import build_schema
from .yaml_nodes import Plain, read_nodes
from .yaml_writing import rewrite_plain

Fields = dict[Plain, Plain]
_LEARNED = 100
"""Values that a reference keeps which named no number of them: without its public table, they have to be learned."""
_WIDTH = 120


@dataclass
class Cut:
    """What was left out of a schema, because the source lacks it, and what the source has beyond it."""

    data: Fields
    """The schema, as a YAML reader gives it."""
    left_out: list[LeftOut] = field(default_factory=list)
    changed: list[LeftOut] = field(default_factory=list)
    """What is described in another way than the schema does."""
    ignored: list[str] = field(default_factory=list)
    """Tables and columns of the source that the schema does not mention."""

    @property
    def summary(self) -> list[str]:
        """All of it, a line for each reason."""
        lines = [f"left out: {line}" for line in _by_reason(self.left_out)]
        lines += [f"described otherwise: {line}" for line in _by_reason(self.changed)]
        return [*lines, *([f"in the source alone, and ignored: {', '.join(self.ignored)}"] if self.ignored else [])]

    @property
    def tables(self) -> Fields:
        return _fields(self.data["tables"])


def cut_schema(
    source: str | Path, reflection: Reflection, between: tuple[date, date] | None, entities: int | None
) -> tuple[str, Cut]:
    """The text of this schema (a file or a ready schema's name), cut down to the source; and what that took away.

    ``between`` becomes its calendar, ``entities`` the number of its entities.
    """
    document = load_document(source)
    data = read_nodes(document.text).data
    assert isinstance(data, dict)
    cut = Cut(deepcopy(data))
    _Cutter(cut, reflection, document.label).run()
    _say_facts(cut.data, between, entities)
    return "\n".join([*_header(document.label, reflection, cut), rewrite_plain(document.text, cut.data)]), cut


def resembled(reflection: Reflection) -> str | None:
    """The ready schema that the source looks like an export of: it has half of its tables or more, of these most columns, and
    most of them are left when it is cut down to the source."""
    held = {table.name.casefold() for table in reflection}
    shares: dict[str, float] = {}
    shared: dict[str, set[str]] = {}
    for name in ready_names():
        text = (ready_folder() / f"{name}.yaml").read_text(encoding="utf-8")
        described = set(_TABLE.findall(text.partition("\ntables:")[2]))
        there = {table for table in described if table.casefold() in held}
        if len(there) >= max(2, len(described) / 2):
            shares[name], shared[name] = len(there) / len(described), there
    for name in sorted(shares, key=lambda name: -shares[name]):
        with suppress(SchemaError):
            _, cut = cut_schema(name, reflection, None, None)
            kept = {name: table for name, table in cut.tables.items() if not _fields(table).get("ignore")}
            columns = sum(len(_fields(_fields(table).get("columns"))) for table in kept.values())
            if len(kept) > len(shared[name]) / 2 and sum("." in left.name for left in cut.left_out) <= columns / 2:
                return name
    return None


_TABLE = re.compile(r"^  (\w+):(?! *\{ignore: true\})", re.MULTILINE)
"""A table that a ready schema describes; they are all laid out alike."""


def _header(label: str, reflection: Reflection, cut: Cut) -> Iterator[str]:
    yield f"# yaml-language-server: $schema={JSON_SCHEMA}"
    yield f"# {label}, cut down by `mare init --like` to what {reflection.label} has."
    yield f"# {reflection.what_was_read}"
    for line in cut.summary:
        yield from wrap(
            line, _WIDTH, initial_indent="# - ", subsequent_indent="#   ", break_long_words=False, break_on_hyphens=False
        )
    yield "#"


def _by_reason(left_out: Sequence[LeftOut]) -> list[str]:
    reasons = dict.fromkeys(left.reason for left in left_out)
    return [f"{', '.join(left.name for left in left_out if left.reason == reason)} ({reason})" for reason in reasons]


def _say_facts(data: Fields, between: tuple[date, date] | None, entities: int | None) -> None:
    if between is not None:
        data["calendar"] = {"min": between[0], "max": between[1]}
    if entities is None:
        return
    for table in map(_fields, _fields(data["tables"]).values()):
        if not table.get("public"):
            table.pop("rows", None)  # those of the published whole
    entity = data["entity"]
    (entity if isinstance(entity, dict) else _fields(_fields(data["tables"])[entity]))["rows"] = entities


class _Cutter:
    """One cut, step by step; each step only takes away."""

    def __init__(self, cut: Cut, reflection: Reflection, label: str) -> None:
        self.cut, self.reflection, self.label = cut, reflection, label
        self.tables = cut.tables
        entity = cut.data.get("entity")
        self.holder = str(entity["table"] if isinstance(entity, dict) else entity)
        self.named: dict[str, ReflectedTable] = {}

    def run(self) -> None:
        self.named = {
            str(name): held
            for name, table in self.tables.items()
            if not _fields(table).get("ignore") and (held := self.reflection.table(str(name))) is not None
        }
        self.drop_tables()
        for name in self.named:
            self.drop_columns(name, _fields(self.tables[name]))
        self.drop_what_depends()
        self.ignore_the_rest()

    # ------------------------------------------------------------------ tables

    def drop_tables(self) -> None:
        """Tables that are not there, or whose rows nobody could own or order any more; then those below them."""
        if self.holder not in self.named:
            held = listed(sorted(table.name for table in self.reflection), 8)
            raise SchemaError(
                f"{self.reflection.label} has no table {self.holder}, whose rows {self.label} is about: nothing is left of it. "
                f"The source holds: {held}. Rename the table, choose another schema (`mare schemas`), or draft one: `mare init` "
                "without --like."
            )
        for name in [str(name) for name, table in self.tables.items() if not _fields(table).get("ignore")]:
            reason = "the source has no such table" if name not in self.named else self.unowned(name)
            if reason is not None:
                self.forget(name, reason)
        while orphans := [name for name in self.named if self.parent_of(name) not in (None, *self.named, self.entity_name)]:
            for name in orphans:
                self.forget(name, f"its rows belong to {self.parent_of(name)}, which is left out")

    @property
    def entity_name(self) -> str:
        entity = self.cut.data.get("entity")
        return str(entity.get("name") or entity["by"]) if isinstance(entity, dict) else str(entity)

    def parent_of(self, name: str) -> str | None:
        table = _fields(_fields(self.tables[name]).get("parent")).get("table")
        return None if table is None else str(table)

    def unowned(self, name: str) -> str | None:
        """Why the table cannot be kept, though it is there."""
        table = _fields(self.tables[name])
        parent, entity = _fields(table.get("parent")), self.cut.data.get("entity")
        by = [str(entity["by"])] if isinstance(entity, dict) and name == self.holder else []
        needed = [*by, *_names(parent.get("column")), *_names(parent.get("column_via"))]
        if name == self.holder:
            needed += _names(table.get("key"))
        if missing := self.missing(name, needed):
            reason = f"it has no column {', '.join(missing)}, which says whose the rows are"
            if name == self.holder:
                raise SchemaError(f"{self.reflection.label}: {name}: {reason}. Rename the column, or draft a schema of your own.")
            return reason
        order = _names(parent.get("order_by"))
        if order and len(self.missing(name, order)) == len(order):
            return f"it has no column {', '.join(order)}, which orders the rows"
        via = parent.get("via")
        return None if via is None or via in self.named else f"its association {via} is left out"

    def forget(self, name: str, reason: str) -> None:
        del self.tables[name]
        self.named.pop(name, None)
        self.cut.left_out.append(LeftOut(name, reason))

    def missing(self, name: str, columns: Sequence[str]) -> list[str]:
        return [column for column in columns if self.named[name].column(column) is None]

    # ------------------------------------------------------------------ columns

    def drop_columns(self, name: str, table: Fields) -> None:
        columns, references = _fields(table.get("columns")), _fields(table.get("references"))
        for column in self.missing(name, [str(column) for column in columns]):
            del columns[column]
            self.cut.left_out.append(LeftOut(f"{name}.{column}", "the source has no such column"))
        for described, fields in columns.items():
            if (stored := self.named[name].column(str(described))) is not None and not stored.nullable:
                _fields(fields).pop("nullable", None)
        for reference in [str(reference) for reference in references]:
            self.drop_reference(name, table, reference)
        ignored = _names(table.get("ignore_columns"))
        table["ignore_columns"] = [column for column in ignored if column not in self.missing(name, ignored)]
        if self.missing(name, _names(table.get("key"))):
            self.cut.left_out.append(LeftOut(f"{name}.key", f"no column {', '.join(self.missing(name, _names(table['key'])))}"))
            del table["key"]
        parent = _fields(table.get("parent"))
        for option in ("order_by", "history_by"):
            if gone := self.missing(name, _names(parent.get(option))):
                parent[option] = [column for column in _names(parent[option]) if column not in gone]
        if "sees" in table:
            table["sees"] = [other for other in _names(table["sees"]) if other in self.named]
        for fields, option in ((table, "ignore_columns"), (table, "sees"), (table, "columns"), (table, "references"),
                               (parent, "order_by"), (parent, "history_by")):  # fmt: skip
            if option in fields and not fields[option]:
                del fields[option]

    def drop_reference(self, name: str, table: Fields, reference: str) -> None:
        """A reference whose columns are not there goes. Where what it refers to is not there, a public code is learned without
        its list, and everything else is ignored."""
        references = _fields(table["references"])
        written = _fields(references[reference])
        columns = _names(written.get("columns")) or [reference]
        if missing := self.missing(name, columns):
            del references[reference]
            self.cut.left_out.append(LeftOut(f"{name}.{', '.join(missing)}", "the source has no such column"))
            return
        other = str(written["table"])
        if other in self.named or other == self.entity_name:
            return
        del references[reference]
        if written.get("kind") == "public" and len(columns) == 1:
            most = written.get("max_values") or _fields(self.tables.get(other)).get("rows") or _LEARNED
            kept: Fields = {field: written[field] for field in ("nullable", "rest") if field in written}
            self.columns_of(table)[columns[0]] = {"type": "category", "learn": True, "max_values": most, **kept}
            self.cut.changed.append(LeftOut(f"{name}.{columns[0]}", f"values are learned, as {other} is left out"))
        else:
            self.ignore(name, columns, f"refers to {other}, which is left out")

    def columns_of(self, table: Fields) -> Fields:
        return _fields(table.setdefault("columns", {}))

    def ignore(self, name: str, columns: Sequence[str], reason: str) -> None:
        table = _fields(self.tables[name])
        table["ignore_columns"] = [*_names(table.get("ignore_columns")), *columns]
        self.cut.left_out += [LeftOut(f"{name}.{column}", reason) for column in columns]

    def drop_what_depends(self) -> None:
        """Columns that are said in terms of what is gone: found as the faults that their schema would have."""
        while True:
            schema, faults = build_schema(self.cut.data)
            faults = [*faults, *(find_faults(schema) if schema is not None else ())]
            if not faults:
                return
            if ended := {str(fault.path[1]) for fault in faults if fault.path[2:3] == ("ends",)}:
                for ending in ended:
                    del _fields(self.tables[ending])["ends"]
                    self.cut.left_out.append(LeftOut(f"{ending}.ends", "it depends on a column that is not there"))
                continue
            places = {(fault.path[1], fault.path[3]): fault for fault in faults if fault.path[2:3] == ("columns",)}
            if len(places) == 0 or schema is None:
                raise SchemaError(
                    describe(faults, f"{self.label}, without what {self.reflection.label} lacks")
                    + "\nThis has to be written by hand: print the schema (`mare schemas NAME > mine.yaml`) and edit it."
                )
            for (name, column), fault in places.items():
                table = _fields(self.tables[str(name)])
                del self.columns_of(table)[column]
                if not table["columns"]:
                    del table["columns"]
                self.ignore(str(name), [str(column)], f"depends on what is not there ({fault.what})")

    # ------------------------------------------------------------------ beyond the schema

    def ignore_the_rest(self) -> None:
        schema, _ = build_schema(self.cut.data)
        assert schema is not None
        for name, stored in self.named.items():
            if columns := unmentioned_columns(schema, name, stored):
                table = _fields(self.tables[name])
                table["ignore_columns"] = [*_names(table.get("ignore_columns")), *columns]
                self.cut.ignored += [f"{name}.{column}" for column in columns]
        met = {held.name for name in self.tables if (held := self.reflection.table(str(name))) is not None}
        for stored in self.reflection:
            if stored.name not in met:
                self.tables[stored.name] = {"ignore": True}
                self.cut.ignored.append(stored.name)


def _fields(value: Plain) -> Fields:
    return value if isinstance(value, dict) else {}


def _names(value: Plain) -> list[str]:
    return [str(name) for name in value] if isinstance(value, list) else [] if value is None else [str(value)]
