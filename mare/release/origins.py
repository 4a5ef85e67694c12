"""Where the values of every column come from: the list that the one who signs reads, column by column.

Known from the schema, as `filling` is; only the columns of public tables are those that the source turned out to have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from mare.planning.domains import is_learned
from mare.privacy.pages import bullets, paragraph, table
from mare.relational.filling import Constant, Faked, Filling, Fresh, FromAbove, Linked, Modelled, fillings
from mare.schema import Schema
from mare.schema.reflection import ReflectedTable

Origin = Literal["learned", "learned with its values", "made up", "worked out", "constant", "copied", "dropped"]

_MEANING: dict[Origin, str] = {
    "learned": "how often each value occurs, and with what, was learned with noise and paid for; which values there can be was "
    "declared in the schema, or is the key of a public table",
    "learned with its values": "which values there can be was learned and paid for too",
    "made up": "fresh keys and identifiers, and references to them; all rows of pools; never read from the source",
    "worked out": "from other columns of the synthetic rows, by a rule of the schema",
    "constant": "the same in every row, as the schema says, or NULL",
    "copied": "as the source has it: the schema declares the table public. Not protected",
    "dropped": "not read, and not in what comes out",
}
_UNNAMED = "what the schema does not name is not read and does not come out; of a public table, all columns do"
_ALL = "the whole table"
_LEARNED_WAYS = ("via", "public", "position", "interval")
"""References whose target a model draws. The others are found by a rule (a place before) or by lot."""
_RULED_WAYS = ("earlier",)


def column_origins(schema: Schema, tables: Sequence[ReflectedTable]) -> dict[str, dict[str, Origin]]:
    """Table → column → where its values come from, for everything that the schema names. ``tables``: those that come out."""
    held = {made.name: [column.name for column in made.columns] for made in tables}
    return {name: _of_table(schema, name, held.get(name, [])) for name in schema.tables}


def render_origins(origins: Mapping[str, Mapping[str, Origin]], width: int = 100) -> str:
    """The list as text for people: per table, the columns of each kind."""
    rows: list[tuple[str, str, str]] = []
    for name, columns in origins.items():
        kinds = [kind for kind in _MEANING if kind in columns.values()]
        for number, kind in enumerate(kinds):
            listed = ", ".join(column for column, origin in columns.items() if origin == kind)
            rows.append((name if number == 0 else "", kind, listed))
    used = {kind for _, kind, _ in rows}
    lines = paragraph("What comes out, column by column, and where it comes from:", width)
    lines += table(("table", "values are", "columns"), rows, width, long=2, right=frozenset())
    legend = [f"{kind}: {meaning}" for kind, meaning in _MEANING.items() if kind in used]
    return "\n".join([*lines, "", "How to read it:", *bullets([*legend, _UNNAMED], width)]) + "\n"


def _of_table(schema: Schema, name: str, held: list[str]) -> dict[str, Origin]:
    described = schema.tables[name]
    if described.ignore:
        return {_ALL: "dropped"}
    dropped: dict[str, Origin] = dict.fromkeys(described.ignore_columns, "dropped")
    if described.public:
        return {**dict.fromkeys(held, "copied"), **dropped}
    origins = {column: _origin(schema, name, column, filling) for column, filling in fillings(schema, name).items()}
    if described.pool is not None:  # nothing is learned there: what a model would draw is drawn by lot
        origins = {column: "made up" if origin.startswith("learned") else origin for column, origin in origins.items()}
    return {**origins, **dropped}


def _origin(schema: Schema, table: str, column: str, filling: Filling) -> Origin:
    match filling:
        case Modelled():
            return "learned with its values" if is_learned(schema, table, column) else "learned"
        case Fresh() | Faked():
            return "made up"
        case FromAbove(above, there):
            return _origin(schema, above, there, fillings(schema, above)[there])
        case Linked(way=way) if way in _LEARNED_WAYS:
            return "learned with its values" if is_learned(schema, table, filling.reference) else "learned"
        case Linked(way=way):
            return "worked out" if way in _RULED_WAYS else "made up"
        case Constant():
            return "constant"
        case _:
            return "worked out"
