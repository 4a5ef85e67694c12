"""From a file, a name or a text to a `Schema`: the first step of the flow. Every fault at once, each with its line.

What contradicts itself does not load. What is only left open (a draft) loads; planning asks for the rest. Of a schema with
structural faults the rest is checked too (`salvage`): a faulty part is taken out (a column becomes one of unknown type, a field
goes) and remembered, so that the hole it leaves is not told as a second fault.

A name (`mimic-iv-core`) stands for a ready schema, a YAML file that comes with mare: a clone reads `schemas/` at the root of the
repository, a wheel `mare/_schemas`. So a name works wherever a path does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import cast, get_args

from pydantic import BaseModel, ValidationError

from mare.errors import SchemaError
from mare.secrecy import NOT_SHOWN, is_path, is_there

from .checks import find_faults
from .faults import Fault, closest, describe
from .faults import Path as Location
from .links import Parent, Relationship
from .schema import EntityByColumn, Schema, Table
from .strict import written_fields
from .structure import build_schema, faults_of
from .yaml_nodes import Plain, read_nodes
from .yaml_writing import dump_schema

__all__ = ["Examination", "SchemaDocument", "dump_schema", "examine", "load_document", "load_schema"]

_TEXT = "the schema text"


@dataclass(frozen=True)
class Examination:
    """A file as it was found, good or not. ``schema`` is None where nothing could be built from it."""

    schema: Schema | None
    label: str
    """The file, for messages."""
    text: str
    """As it was read."""
    faults: tuple[Fault, ...]
    """Everything that is wrong or open, with lines."""
    lines: Mapping[Location, int]

    @property
    def reviews(self) -> list[int]:
        """The lines where a draft still asks a person to look."""
        return [n for n, line in enumerate(self.text.splitlines(), 1) if "REVIEW:" in line.partition("#")[2]]

    def line_of(self, path: Location) -> int | None:
        """The line of this place, or of the nearest thing around it that is written."""
        return nearest_line(self.lines, path)


@dataclass(frozen=True)
class SchemaDocument(Examination):
    """What `load_document` returns. The schema is free of errors; it may still be a draft, with faults that are unsettled."""

    schema: Schema


def load_schema(source: str | Path) -> Schema:
    """Load a schema from a path, from the name of a ready schema (`mimic-iv-core`), or from YAML text (it has line breaks)."""
    return load_document(source).schema


def load_document(source: str | Path) -> SchemaDocument:
    """As `load_schema`, and keep the lines and what is still unsettled: for `mare check` and `mare plan`."""
    examined = examine(source)
    errors = tuple(f for f in examined.faults if f.severity == "error")
    if errors or examined.schema is None:
        raise SchemaError(describe(errors, examined.label), errors)
    return SchemaDocument(examined.schema, examined.label, examined.text, examined.faults, examined.lines)


def examine(source: str | Path) -> Examination:
    """As `load_document`, but what is wrong is told instead of raised: for `mare check`, which says everything at once."""
    label, text = read_source(source)
    nodes = read_nodes(text)
    schema, faults = (None, []) if nodes.root is None else build_schema(nodes.data)
    known = {fault.path for fault in nodes.faults}
    faults = [*nodes.faults, *(f for f in faults if f.path not in known)]
    if schema is not None and not nodes.faults:
        faults += find_faults(schema)
    elif (rest := salvage(nodes.data, faults)).schema is not None:
        faults += [fault for fault in find_faults(rest.schema) if rest.is_told(fault)]
    placed = tuple(f if f.line is not None else f.at(nearest_line(nodes.lines, f.path)) for f in faults)
    return Examination(schema, label, text, placed, nodes.lines)


def read_source(source: str | Path) -> tuple[str, str]:
    """The label and the text of what was given: a path, a ready schema's name, or the text itself."""
    if isinstance(source, str) and "\n" in source:
        return _TEXT, source
    path = Path(source)
    if not is_there(path) or not path.is_file():
        path = ready_file(str(source)) or _refuse(path)
    try:
        return str(source), path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        remedy = "Save it as UTF-8 text; a schema is a YAML file"
        fault = Fault((), "the file is not UTF-8 text", remedy, line=path.read_bytes()[: error.start].count(b"\n") + 1)
        raise SchemaError(describe([fault], str(source)), (fault,)) from None
    except OSError as error:
        fault = Fault((), f"the file cannot be read ({error.strerror})", "Give yourself the right to read it")
        raise SchemaError(describe([fault], str(source)), (fault,)) from None


def _refuse(path: Path) -> Path:
    """Say what there is instead: files beside it, and the ready schemas."""
    if not is_path(path):
        fault = Fault((), f"there is no such schema: {NOT_SHOWN}", "The schema comes first; a source is given with --from")
        raise SchemaError(f"{fault.what}. {fault.remedy}.", (fault,))
    folder = path if path.is_dir() else path.parent
    beside = sorted(str(p) for p in folder.glob("*.y*ml") if p.is_file()) if folder.is_dir() else []
    choices = [*beside, *ready_names()]
    close = get_close_matches(str(path), choices, n=1, cutoff=0.75)
    hint = f"Did you mean {close[0]}? " if close else ""
    files = f"Schemas in {folder}: {', '.join(beside) or 'none'}. "
    ready = f"Ready schemas: {', '.join(ready_names()) or 'none'}. "
    what = f"{path} is a folder, not a schema" if path.is_dir() else f"there is no schema {path}"
    fault = Fault((), what, f"{hint}{files}{ready}`mare init SOURCE -o FILE` drafts one")
    raise SchemaError(f"{fault.what}. {fault.remedy}.", (fault,))


def nearest_line(lines: Mapping[Location, int], path: Location) -> int | None:
    """Line of the longest written beginning of the path."""
    for end in range(len(path), -1, -1):
        if path[:end] in lines:
            return lines[path[:end]]
    return None


JSON_SCHEMA = "mare.schema.json"
"""The file beside them that tells editors the language."""


@dataclass(frozen=True)
class ReadySchema:
    """One line of `mare schemas`."""

    name: str
    """What to write instead of a path."""
    summary: str
    """The first line of its description."""
    entity: str
    """Whom it protects."""
    tables: int
    """How many tables it fills or keeps; the ignored ones do not count."""


def ready_folder() -> Path:
    """Where the ready schemas lie: inside the package when installed from a wheel, beside it in a clone."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "_schemas"
    return installed if installed.is_dir() else package.parent / "schemas"


def ready_names() -> tuple[str, ...]:
    """The names of all ready schemas, sorted."""
    return tuple(sorted(path.stem for path in ready_folder().glob("*.yaml")))


def ready_file(name: str) -> Path | None:
    """The file of the ready schema with this name; None when there is none. A path is never mistaken for a name."""
    return ready_folder() / f"{name}.yaml" if name in ready_names() else None


def ready_schemas() -> tuple[ReadySchema, ...]:
    """What `mare schemas` lists, sorted by name."""
    described = {name: load_schema(ready_folder() / f"{name}.yaml") for name in ready_names()}
    return tuple(
        ReadySchema(
            name=name,
            summary=(schema.description or "").strip().partition("\n")[0],
            entity=schema.entity_name or "",
            tables=sum(not table.ignore for table in schema.tables.values()),
        )
        for name, schema in described.items()
    )


_ROUNDS = 8
"""A part that is put right shows what is inside it, which may be faulty too; no schema nests deeper than this."""
_WHOLE = ("key", "columns", "references", "parent", "public", "pool", "ignore")
"""Fields of a table that others rely on: without one, what others say about the table cannot be judged."""


@dataclass
class Salvage:
    """The rest of a schema, and what was taken out of it."""

    schema: Schema | None = None
    """None where too little is left to say anything."""
    removed: set[Location] = field(default_factory=set)
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


def _take_out(data: dict[Plain, Plain], path: Location, salvaged: Salvage) -> None:
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


def _from_table(table: dict[Plain, Plain], name: str, inside: Location, salvaged: Salvage) -> None:
    here: Location = ("tables", name)
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


def _unlink(table: dict[Plain, Plain], here: Location, reference: str, written: Plain, salvaged: Salvage) -> None:
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
