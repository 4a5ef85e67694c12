"""From a `Schema` back to YAML, laid out as a person would: one line a column, nothing that goes without saying."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time
from hashlib import sha256

from mare.errors import InternalError

from .schema import Schema

WIDTH = 120

_PLAIN = re.compile(r"[^\W\d](?:[\w ./()%+-]*[\w./()%+])?|\d+(?:s|min|h|d|w|y)")
"""Texts that need no quotes: they begin with a letter and hold nothing that YAML could take for its own; and spans."""
_WORDS_OF_YAML = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
"""Not texts to every YAML reader. mare reads all but the first three as texts; quotes save the others too."""


def dump_schema(schema: Schema) -> str:
    """The schema as YAML. `load_schema` gives the same schema back."""
    lines: list[str] = []
    for name, value in plain_schema(schema).items():
        if name == "tables" and isinstance(value, dict) and value:
            lines.append("tables:")
            for table, fields in value.items():
                lines += table_lines(str(table), fields)
        else:
            lines += entry_lines(name, value, 0)
    return "\n".join(lines) + "\n"


def schema_hash(schema: Schema) -> str:
    """SHA-256 of that YAML: what `sha256sum` says of the `schema.yaml` in a release. Comments and layout do not matter."""
    return sha256(dump_schema(schema).encode()).hexdigest()


def plain_schema(schema: Schema) -> dict[str, object]:
    """What has to be written down: dictionaries, lists and scalars, without what is the default anyway."""
    written = _arranged(schema.model_dump(mode="python", exclude_defaults=True))
    assert isinstance(written, dict)
    return written


def _arranged(value: object) -> object:
    """What a thing is comes first: `type` of a column, `kind` of a reference."""
    if isinstance(value, dict):
        first = [name for name in ("kind", "type") if name in value and (name == "kind" or "table" not in value)]
        return {name: _arranged(value[name]) for name in [*first, *(n for n in value if n not in first)]}
    if isinstance(value, (list, tuple)):
        return [_arranged(item) for item in value]
    return value


def table_lines(name: str, fields: object) -> list[str]:
    """One table: on one line when it is short, otherwise a line for each column."""
    if not isinstance(fields, dict) or not ({"columns", "references", "parent"} & fields.keys()):
        return entry_lines(name, fields, 2)
    lines = [f"  {scalar(name)}:"]
    for field, value in fields.items():
        if field in ("columns", "references") and isinstance(value, dict) and value:
            lines.append(f"    {field}:")
            for column, described in value.items():
                lines += entry_lines(str(column), described, 6)
        else:
            lines += entry_lines(field, value, 4)
    return lines


def entry_lines(name: str, value: object, indent: int) -> list[str]:
    """`name: value`, broken after commas where it would be too long."""
    start = " " * indent + f"{scalar(name)}: "
    if isinstance(value, str) and "\n" in value and _fits_a_block(value):
        return [start + "|-", *(f"{' ' * (indent + 2)}{line}".rstrip() for line in value.split("\n"))]
    lines, line = [], start
    for token in _tokens(value):
        if len(line) + len(token.rstrip()) >= WIDTH and line.endswith(", "):
            lines.append(line.rstrip())
            line = " " * (indent + 2)
        line += token
    return [*lines, line]


def _fits_a_block(text: str) -> bool:
    lines = text.split("\n")
    printable = all(line.isprintable() and line == line.rstrip() for line in lines)
    return printable and lines[0][:1] not in ("", " ") and lines[-1] != ""


def inline(value: object) -> str:
    """The value on one line."""
    return "".join(_tokens(value))


def _tokens(value: object) -> Iterator[str]:
    """The pieces between which a line may break: after a comma."""
    if isinstance(value, Mapping):
        yield "{"
        for i, (key, item) in enumerate(value.items()):
            head, *rest = _tokens(item)
            yield f"{scalar(key)}: {head}"
            yield from rest
            if i + 1 < len(value):
                yield ", "
        yield "}"
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield "["
        for i, item in enumerate(value):
            yield from _tokens(item)
            if i + 1 < len(value):
                yield ", "
        yield "]"
    else:
        yield scalar(value)


def scalar(value: object) -> str:
    """One value, in quotes where YAML would otherwise read something else."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _number(value)
        case datetime():
            return value.isoformat(sep=" ")
        case date():
            return value.isoformat()
        case time():
            return f'"{value.isoformat()}"'
        case str():
            plain = _PLAIN.fullmatch(value) is not None and value.casefold() not in _WORDS_OF_YAML
            return value if plain else quoted(value)
    raise InternalError(f"a schema holds a {type(value).__name__}, which YAML cannot write")


def quoted(text: str) -> str:
    """In double quotes, with everything escaped that could not be seen."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'


def _number(value: float) -> str:
    """A float that comes back as the same float, also from readers that want a point in it."""
    digits, exponent, power = repr(value).partition("e")
    return f"{digits}.0e{power}" if exponent and "." not in digits else f"{digits}{exponent}{power}"
