"""What a fit left out, in words: by which line of the schema, and what to write where that is not what was meant.

The numbers are true, so every line says "internal, not private". `telling` decides who gets to see them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mare.schema.caps import Cap, link_cap, parent_link, parent_name
from mare.schema.columns import Category, Code

if TYPE_CHECKING:
    from mare.fitting import Cuts, LocalNotes
    from mare.schema import Schema
    from mare.schema.columns import AnyColumn
    from mare.schema.links import Parent

INTERNAL = "(internal, not private)"
_NOT_BY_THIS = "choose it by what is known about such data, not by this number"
"""A cap that follows the true count would be data in the schema, and nobody would have paid for it."""


def left_out_lines(notes: LocalNotes, schema: Schema) -> Iterator[str]:
    """A line for everything that was left out, in true numbers."""
    for table, rows in notes.orphans.items():
        if rows:
            yield _orphans(table, rows, schema)
    for table, cuts in notes.truncated.items():
        yield from _cuts(table, cuts, schema)
    columns = {f"{name}.{column}": says for name, table in schema.tables.items() for column, says in table.columns.items()}
    for column, values in notes.outside.items():
        if values:
            yield _outside(column, values, columns.get(column))


def _orphans(table: str, rows: int, schema: Schema) -> str:
    if parent_link(schema, table) is None:
        return f"{table}: {rows:,} rows that nobody refers to were left out {INTERNAL}."
    remedy = "`orphans: entity` in its `parent:` would make them entities of their own."
    return f"{table}: {rows:,} rows without a parent were left out {INTERNAL}. {remedy}"


def _cuts(table: str, cuts: Cuts, schema: Schema) -> Iterator[str]:
    link = parent_link(schema, table)
    cap = None if link is None else link_cap(schema, table)
    if link is None or cap is None:
        return
    said, parent = f"tables.{table}.parent", parent_name(schema, table)
    if cuts.unknown_key:
        yield (
            f"{table}: {cuts.unknown_key:,} rows were cut, whose key is not in {link.via} {INTERNAL}. "
            f"Add what is missing to {link.via}, if it may be known."
        )
    if cuts.multiplicity:
        yield (
            f"{table}: {cuts.multiplicity:,} rows were cut by `multiplicity: {link.multiplicity}`, how often one key of "
            f"{link.via} may occur under one row of {parent} {INTERNAL}. {_raise('multiplicity', said)}"
        )
    if cuts.max_rows:
        yield f"{table}: {cuts.max_rows:,} rows were cut by {_cap_per_row(table, link, cap, schema)}"
    if cuts.max_per_entity:
        yield (
            f"{table}: {cuts.max_per_entity:,} rows were cut by `max_per_entity: {link.max_per_entity}`, rows per row of "
            f"{schema.entity_name}, as whole lists of a row of {parent} {INTERNAL}. "
            f"{_raise('max_per_entity', said)}"
        )
    if cuts.above:
        yield f"{table}: {cuts.above:,} rows were cut together with the row of {parent} above them {INTERNAL}."


def _cap_per_row(table: str, link: Parent, cap: Cap, schema: Schema) -> str:
    """The lowest of the caps on rows under one parent row, as the stage enforces it, and where it is written."""
    said = f"tables.{table}.parent"
    if link.max_per_entity is not None and link.max_per_entity < cap.rows:
        cap = Cap(link.max_per_entity, "max_per_entity")
    if cap.why == "max_per_entity":
        return f"`max_per_entity: {cap.rows}`, rows per row of {schema.entity_name} {INTERNAL}. {_raise('max_per_entity', said)}"
    each = f"rows per row of {parent_name(schema, table)}"
    if cap.why == "max_rows":
        return f"`max_rows: {cap.rows}`, {each} {INTERNAL}. {_raise('max_rows', said)}"
    if cap.why == "key = foreign key":
        return f"a cap of 1, {each} {INTERNAL}: its key is the foreign key. Write another `key:` if there may be more."
    return f"a cap of {cap.rows}, {each} {INTERNAL}: {cap.why}. `rows:` of {link.via}, or `vocabulary:`, says so."


def _raise(option: str, where: str) -> str:
    return f"To keep more, raise `{option}` in {where}; the noise grows with it, so {_NOT_BY_THIS}."


def _outside(column: str, values: int, says: AnyColumn | None) -> str:
    """Values that came out otherwise than they were; ``says`` is None for a reference."""
    if getattr(says, "learn", False) and isinstance(says, Category | Code):
        return (
            f"{column}: {values:,} values were too rare to be learned at this budget {INTERNAL}. If its values are public, list "
            "them in the schema: `values: [...]` instead of `learn: true`."
        )
    if getattr(says, "learn", False):
        follows = any(getattr(says, field, None) is not None for field in ("after", "before"))
        fields = "`within:`" if follows else "`min:` and `max:`"
        return (
            f"{column}: {values:,} values outside the range that was learned at this budget were moved into it {INTERNAL}. If a "
            f"range is public, write it in the schema: {fields} instead of `learn: true`."
        )
    moved = f"{column}: {values:,} values outside its domain were moved into it {INTERNAL}"
    written = [
        field
        for field in ("values", "after", "before", "during", "within", "min", "max")
        if getattr(says, field, None) is not None
    ]
    return f"{moved}. If such values are possible, mend {' and '.join(f'`{name}`' for name in written)}." if written else moved
