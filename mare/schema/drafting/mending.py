"""The net under the guesses: whatever would keep the draft from loading is taken out of it, with a word.

Guesses are made one by one; together they may contradict each other (a key that nothing makes unique, a second
owner). The checks of `mare.schema` know; what they refuse is left open here, so that a draft always loads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mare.errors import InternalError
from mare.schema.checks import find_faults
from mare.schema.faults import Fault
from mare.schema.structure import build_schema

from .drafted import Draft, DraftedTable, Entry, review
from .plain import plain_draft

_MOST_ROUNDS = 50
"""Every round takes something out, so this many mean that nothing was."""
_LONG = 200
"""A remedy that lists every column of a table is not worth its lines in the draft; `mare check` gives it again."""
_ESSENTIAL = ("table", "column", "references", "type", "order_by")
"""Fields without which a parent is none."""


def mend(draft: Draft) -> Draft:
    """The same draft, without what the checks refuse."""
    for _ in range(_MOST_ROUNDS):
        schema, faults = build_schema(plain_draft(draft))
        errors = faults if schema is None else [fault for fault in find_faults(schema) if fault.severity == "error"]
        if not errors:
            return draft
        draft = _without(draft, errors)
    # Where, not what: a peeked draft holds values, and an error may not carry one.
    raise InternalError(f"the draft cannot be mended ({', '.join(fault.where for fault in errors)})")


def _without(draft: Draft, errors: Iterable[Fault]) -> Draft:
    tables = {table.name: table for table in draft.tables}
    header, entity = list(draft.header), draft.entity
    for fault in errors:
        where = str(fault.path[0]) if fault.path else ""
        name = str(fault.path[1]) if len(fault.path) > 1 else ""
        if where == "entity":
            entity = replace(entity, table=None, by=None, why=fault.what, rivals=entity.rivals)
        elif name not in tables:
            continue
        elif len(fault.path) == 2:
            del tables[name]
            header.append(review(f"{name} is not drafted: {fault.what}"))
        else:
            tables[name] = _mended(tables[name], fault)
    if not tables:
        raise InternalError("the draft has no table left")
    return replace(draft, tables=tuple(tables.values()), header=tuple(header), entity=entity)


def _mended(table: DraftedTable, fault: Fault) -> DraftedTable:
    remedy = f". {fault.remedy}" if len(fault.remedy) <= _LONG else ""
    note = review(f"left open: {fault.what}{remedy}")
    match fault.path[2:]:
        case ("key", *_):
            return replace(
                table, key=(), notes=(*table.notes, review(f"key: [{', '.join(table.key)}] {note.text}")), key_notes=()
            )
        case ("unique", *_):
            return replace(table, unique=(), notes=(*table.notes, note))
        case ("ignore_columns", int(place), *_):
            return replace(table, ignored=tuple(c for i, c in enumerate(table.ignored) if i != place), notes=(*table.notes, note))
        case ("parent", str(field), *_) if table.parent is not None and field not in _ESSENTIAL and field in table.parent.fields:
            return replace(table, parent=table.parent.without(field).with_notes(note))
        case ("parent", *_):
            return replace(table, parent=None, role="unsettled", notes=(*table.notes, note))
        case ("columns", str(column), *fields):
            return replace(table, columns=_plainer(table.columns, column, fields, note.text))
        case ("references", str(reference), *_):
            kept = tuple(entry for entry in table.references if entry.name != reference)
            return replace(table, references=kept, notes=(*table.notes, review(f"{reference}: {note.text}")))
    return replace(table, columns=(), references=(), notes=(*table.notes, note))


def _plainer(entries: tuple[Entry, ...], column: str, fields: Sequence[str | int], text: str) -> tuple[Entry, ...]:
    """Without the field that is refused; without a type where the column itself is; without the column where that is no help."""
    found: list[Entry] = []
    for entry in entries:
        if entry.name != column:
            found.append(entry)
        elif fields and fields[0] in entry.fields and fields[0] != "type":
            found.append(entry.without(str(fields[0])).with_notes(review(text)))
        elif entry.fields != {"type": "unknown"}:
            found.append(Entry(entry.name, {"type": "unknown"}, (*entry.notes, review(text))))
    return tuple(found)
