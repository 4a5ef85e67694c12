"""From a file, a name or a text to a `Schema`: the first step of the flow. Every fault at once, each with its line.

What contradicts itself does not load. What is only left open (a draft) loads; planning asks for the rest. Of a schema with
structural faults the rest is checked too (`salvage`): a faulty part is taken out (a column becomes one of unknown type, a field
goes) and remembered, so that the hole it leaves is not told as a second fault.

A name (`mimic-iv-core`) stands for a ready schema, a YAML file that comes with mare: a clone reads `schemas/` at the root of the
repository, a wheel `mare/_schemas`. So a name works wherever a path does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from mare.errors import SchemaError
from mare.secrecy import NOT_SHOWN, is_path, is_there

from .checks import find_faults
from .faults import Fault, closest, describe
from .faults import Path as Location
from .schema import Schema, Table
from .strict import written_fields
from .structure import build_schema
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
    else:
        faults += list(_faults_of_the_rest(nodes.data, faults))
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


_RELIED_ON = ("key", "columns", "references", "parent", "public", "pool", "ignore")
"""Fields of a table without which what others say about it cannot be judged."""


def _faults_of_the_rest(data: Plain, faults: Sequence[Fault]) -> Iterator[Fault]:
    """What else is wrong with a schema that has these structural faults. A faulty column counts as one of unknown type, other
    faulty fields go. Whatever depends on what they may have said is not told: it is no second slip."""
    if not isinstance(data, dict) or not isinstance(tables := data.get("tables"), dict) or data.get("mare", 1) != 1:
        return
    rest: dict[Plain, Plain] = {**data, "mare": 1, "tables": (kept := dict(tables))}
    holes, unclear, astray = set[Location](), set[str](), set[str]()
    for path in (fault.path for fault in faults):
        match path:
            case ("tables", str(name), "columns", str(column), *_) if "columns" in _fields(kept[name]):
                table = _fields(kept[name])
                kept[name] = {**table, "columns": {**_fields(table["columns"]), column: {"type": "unknown"}}}
                holes.add(path[:4])
            case ("tables", str(name), *inside):
                field = str(inside[0]) if inside else "parent"
                meant = closest(field, written_fields(Table)) or field
                table = dict(_fields(kept[name]))
                if (written := table.pop(field, None)) is not None and meant != field:
                    table.setdefault(meant, written)  # a slip of the pen: what is inside is checked too
                elif field in _RELIED_ON:
                    unclear.add(name)
                    astray |= {name} if field == "parent" else set()
                kept[name] = table
                holes.add(("tables", name, field))
            case (str(field), *_) if field != "mare":
                rest.pop(field, None)
                holes.add((field,))
    schema, _ = build_schema(rest)
    if schema is None:
        return
    while below := {str(name) for name, table in tables.items() if astray & _leads_to(table)} - astray:
        astray |= below
    for fault in find_faults(schema):
        about_owner = fault.path[:1] == ("tables",) and (len(fault.path) == 2 or fault.path[2:] == ("parent", "table"))
        unowned = about_owner and (bool(unclear) or ("entity",) in holes)
        within = any(fault.path[: len(hole)] == hole for hole in holes)
        around = len(fault.path) > 2 and any(hole[: len(fault.path)] == fault.path for hole in holes)
        named = (unclear | astray).intersection(re.findall(r"\w+", fault.what))
        if not (unowned or within or around or named or astray.intersection(map(str, fault.path[1:2]))):
            yield fault


def _leads_to(table: Plain) -> set[str]:
    """The tables that one refers to, whatever is wrong with it."""
    links = [_fields(table).get("parent"), *_fields(_fields(table).get("references")).values()]
    return {str(_fields(link).get("table")) for link in links}


def _fields(value: Plain) -> dict[Plain, Plain]:
    return value if isinstance(value, dict) else {}
