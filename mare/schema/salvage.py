"""What can still be checked of a schema with structural faults: the rest of it, so that every fault is told at once.

Between building and checking. A faulty part is taken out (a column becomes one of unknown type, a field goes) and
remembered, so that the hole it leaves is not told as a second fault: `check` says a slip once, where it was made.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import cast, get_args

from pydantic import BaseModel, ValidationError

from .faults import Fault, Path, closest
from .links import Parent, Relationship
from .schema import EntityByColumn, Schema, Table
from .strict import written_fields
from .structure import faults_of
from .yaml_nodes import Plain

_ROUNDS = 8
"""A part that is put right shows what is inside it, which may be faulty too; no schema nests deeper than this."""
_WHOLE = ("key", "columns", "references", "parent", "public", "pool", "ignore")
"""Fields of a table that others rely on: without one, what others say about the table cannot be judged."""


@dataclass
class Salvage:
    """The rest of a schema, and what was taken out of it."""

    schema: Schema | None = None
    """None where too little is left to say anything."""
    removed: set[Path] = field(default_factory=set)
    shadowed: set[str] = field(default_factory=set)
    """Tables of which something is missing that others refer to."""
    unowned: set[str] = field(default_factory=set)
    """Tables whose owner may have stood in what was taken out."""
    any_owner: bool = False
    """The same for all of them: nothing says which table it was about."""

    def is_told(self, fault: Fault) -> bool:
        """Whether the fault is one of the rest, and not of a hole."""
        if any(fault.path[: len(path)] == path for path in self.removed):
            return False
        if len(fault.path) > 2 and any(path[: len(fault.path)] == fault.path for path in self.removed):
            return False
        about_owner = fault.path[:1] == ("tables",) and (len(fault.path) == 2 or fault.path[2:] == ("parent", "table"))
        if about_owner and (self.any_owner or fault.path[1] in self.unowned):
            return False
        return not any(re.search(rf"(?<![\w]){re.escape(table)}(?![\w])", fault.what) for table in self.shadowed)


def salvage(data: Plain, faults: Sequence[Fault]) -> Salvage:
    """The schema without what these structural faults are about."""
    salvaged = Salvage()
    if not isinstance(data, dict) or not isinstance(data.get("tables"), dict) or data.get("mare", 1) != 1:
        return salvaged
    rest = deepcopy(data)
    rest["mare"] = 1
    for _ in range(_ROUNDS):
        for fault in faults:
            _take_out(rest, fault.path, salvaged)
        try:
            salvaged.schema = Schema.model_validate(rest)
        except ValidationError as error:
            faults = faults_of(error)
        else:
            break
    return salvaged


def _take_out(data: dict[Plain, Plain], path: Path, salvaged: Salvage) -> None:
    match path:
        case ("tables", str(table), *inside) if isinstance(tables := data["tables"], dict):
            described = tables.get(table)
            if not isinstance(described, dict):
                salvaged.removed.add(("tables", table))
                salvaged.shadowed.add(table)
                salvaged.any_owner = True
                tables[table] = {}
            elif inside:
                _from_table(described, table, tuple(inside), salvaged)
        case ("entity", str(name)) if isinstance(entity := data.get("entity"), dict) and _may_go(EntityByColumn, name):
            salvaged.removed.add(path)
            entity.pop(name, None)
        case ("entity", *_):
            salvaged.removed.add(("entity",))
            salvaged.any_owner = True
            data.pop("entity", None)
        case (str(name), *_) if name != "mare":
            salvaged.removed.add((name,))
            _drop(data, name, Schema)


def _from_table(table: dict[Plain, Plain], name: str, inside: Path, salvaged: Salvage) -> None:
    here: Path = ("tables", name)
    match inside:
        case ("columns", str(column), *_) if isinstance(columns := table["columns"], dict):
            salvaged.removed.add((*here, "columns", column))
            columns[column] = {"type": "unknown"}
        case ("references", str(reference), *_) if isinstance(references := table["references"], dict):
            salvaged.removed.add((*here, "references", reference))
            _unlink(table, here, reference, references.pop(reference, None), salvaged)
        case ("parent", str(part), *_) if isinstance(parent := table["parent"], dict):
            salvaged.removed.add((*here, "parent", part))
            if part == "table":
                salvaged.shadowed.add(name)  # what is above it is not known
            if part == "type":
                parent["type"] = _meant_type(parent)
            else:
                _drop(parent, part, Parent)
        case (str(part), *_):
            salvaged.removed.add((*here, part))
            if part in Parent.model_fields and part not in Table.model_fields and isinstance(table.get("parent"), dict):
                cast("dict[Plain, Plain]", table["parent"]).setdefault(part, table.pop(part))
                return
            if part in _WHOLE:
                salvaged.shadowed.add(name)
                salvaged.unowned.add(name)
                salvaged.any_owner = salvaged.any_owner or part == "references"
            _drop(table, part, Table)


def _unlink(table: dict[Plain, Plain], here: Path, reference: str, written: Plain, salvaged: Salvage) -> None:
    """A reference goes, its columns stay, as columns that nobody has described."""
    fields = written if isinstance(written, dict) else {}
    named = fields.get("columns") or [reference]
    columns = table.setdefault("columns", {})
    for column in named if isinstance(named, list) else [named]:
        if isinstance(columns, dict) and isinstance(column, str) and column not in columns:
            columns[column] = {"type": "unknown"}
            salvaged.removed.add((*here, "columns", column))
    # It may have been what owned the rows of the other table.
    if isinstance(other := fields.get("table"), str):
        salvaged.unowned.add(other)
    else:
        salvaged.any_owner = True


def _meant_type(parent: dict[Plain, Plain]) -> str:
    """The relationship that was probably meant: it decides what else may be said about the table."""
    guess = closest(str(parent.get("type")), get_args(Relationship))
    if guess is not None:
        return guess
    if any(name in parent for name in ("order_by", "memory", "history_by")):
        return "sequential"
    return "associative" if "via" in parent else "independent"


def _drop(holder: dict[Plain, Plain], name: str, noun: type[BaseModel]) -> None:
    """Take a field out; what is misspelt is put where it was meant to be, so that what is inside is checked too."""
    value = holder.pop(name, None)
    meant = None if name in written_fields(noun) else closest(name, written_fields(noun))
    if meant is not None:
        there = holder.setdefault(meant, value)
        if isinstance(there, dict) and isinstance(value, dict):
            holder[meant] = {**value, **there}


def _may_go(noun: type[BaseModel], name: str) -> bool:
    return name not in written_fields(noun) or not written_fields(noun)[name].is_required()
