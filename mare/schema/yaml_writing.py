"""From a `Schema` back to YAML, laid out as a person would: one line a column, nothing that goes without saying.

A file that is there already keeps its comments, order and layout: only what changed is spliced into the text, at the marks of
its YAML nodes. A reader that loads and dumps the whole document would lose alignment, quotes and the comments that stand
between two keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time
from hashlib import sha256
from typing import TypeGuard

from ruamel.yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode

from mare.errors import InternalError

from .schema import Schema
from .yaml_nodes import Plain, read_nodes

WIDTH = 120

_PLAIN = re.compile(r"[^\W\d](?:[\w ./()%+-]*[\w./()%+])?|\d+(?:s|min|h|d|w|y)")
"""Texts that need no quotes: they begin with a letter and hold nothing that YAML could take for its own; and spans."""
_WORDS_OF_YAML = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
"""Not texts to every YAML reader. mare reads all but the first three as texts; quotes save the others too."""


def dump_schema(schema: Schema) -> str:
    """The schema as YAML. `load_schema` gives the same schema back."""
    return _page(plain_schema(schema))


def _page(written: Mapping[str, object]) -> str:
    lines: list[str] = []
    for name, value in written.items():
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


def rewrite_plain(text: str, after: Plain) -> str:
    """The text with the values changed to these, which a YAML reader would give of it: what goes without saying stays unsaid."""
    document = read_nodes(text)
    if document.faults or not isinstance(document.root, MappingNode) or not _named(document.data) or not _named(after):
        raise InternalError("a text was to be rewritten that is no schema")
    edits = _Edits(text)
    edits.mapping(document.root, document.data, after, 0)
    rewritten = edits.applied()
    if read_nodes(rewritten).data == after:
        return rewritten
    # Aliases and merge keys share one piece of text between several places, which cannot be changed for one of them.
    return _leading_comment(text) + _page(after)


def _leading_comment(text: str) -> str:
    lines = text.splitlines(keepends=True)
    kept = 0
    while kept < len(lines) and (lines[kept].startswith("#") or not lines[kept].strip()):
        kept += 1
    return "".join(lines[:kept])


_Entries = Mapping[str, tuple[Node, Node]]


class _Edits:
    """The splices that turn one mapping into another, collected over a walk of its nodes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.splices: list[tuple[int, int, int, str]] = []
        """Start, end and number of each, and what these characters give way to."""

    def applied(self) -> str:
        text = self.text
        for start, end, _, new in sorted(self.splices, reverse=True):
            text = text[:start] + new + text[end:]
        return text

    def put(self, start: int, end: int, text: str) -> None:
        self.splices.append((start, end, len(self.splices), text))

    def mapping(self, node: MappingNode, before: Mapping[str, object], after: Mapping[str, object], depth: int) -> None:
        entries = {str(key.value): (key, value) for key, value in node.value}
        gone = [name for name in entries if name in before and name not in after]
        if len(gone) == len(entries):
            self.put(_start(node), self.end(node), inline(after))
            return
        changed = {name: value for name, value in after.items() if name not in before or before[name] != value}
        for name in changed.keys() & entries.keys():
            self.change(*entries[name], before.get(name), changed[name], depth + 1)
        # After the changes: what a block inside the last entry gains at its end goes before what this one gains.
        last = [value for name, (_, value) in entries.items() if name not in gone][-1]
        for name in [name for name in changed if name not in entries]:
            self.add(node, last, name, changed[name], depth)
        if gone:
            (self.remove_from_braces if node.flow_style else self.remove_lines)(entries, gone)

    def change(self, key: Node, node: Node, before: object, after: object, depth: int) -> None:
        if isinstance(node, MappingNode) and _named(before) and _named(after) and node.value:
            self.mapping(node, before, after, depth)
            return
        key_end, start = self.end(key), _start(node)
        if self.end(node) == start:
            # Nothing is written: the node's mark lies at whatever comes next.
            colon = self.text.index(":", key_end) + 1
            self.put(colon, colon, f" {inline(after)}")
        elif self.text[key_end:start].strip() == ":":
            self.put(key_end, self.end(node), f": {inline(after)}")
        else:
            self.put(start, self.end(node), inline(after))

    def add(self, node: MappingNode, last: Node, name: str, value: object, depth: int) -> None:
        """Behind the last entry that stays; in a block, also behind the comment that ends its line."""
        end = self.end(last)
        if node.flow_style:
            self.put(end, end, f", {scalar(name)}: {inline(value)}")
            return
        indent = int(node.value[0][0].start_mark.column)
        lines = table_lines(name, value) if (depth, indent) == (1, 2) else entry_lines(name, value, indent)
        line_end = self.text.find("\n", end)
        at = len(self.text) if line_end < 0 else line_end
        self.put(at, at, "\n" + "\n".join(lines))

    def remove_lines(self, entries: _Entries, gone: list[str]) -> None:
        for name in gone:
            key, value = entries[name]
            line_end = self.text.find("\n", self.end(value))
            start = self.comments_before(_start(key) - int(key.start_mark.column), int(key.start_mark.column))
            self.put(start, len(self.text) if line_end < 0 else line_end + 1, "")

    def comments_before(self, line: int, indent: int) -> int:
        """Where the comments begin that stand right above this line, as far in as it: they are about it."""
        while (above := self.text.rfind("\n", 0, max(0, line - 1)) + 1) < line and self.text.startswith(
            " " * indent + "#", above
        ):
            line = above
        return line

    def remove_from_braces(self, entries: _Entries, gone: list[str]) -> None:
        names = list(entries)
        last_kept = max(i for i, name in enumerate(names) if name not in gone)
        for i, name in enumerate(names[:last_kept]):
            if name in gone:
                self.put(_start(entries[name][0]), _start(entries[names[i + 1]][0]), "")
        if last_kept + 1 < len(names):
            self.put(self.end(entries[names[last_kept]][1]), self.end(entries[names[-1]][1]), "")

    def end(self, node: Node) -> int:
        """Where the value really ends: a block's own mark lies at the next token, behind the comments in between."""
        if isinstance(node, ScalarNode):
            return _start(node) + len(self.text[_start(node) : int(node.end_mark.index)].rstrip())
        if not isinstance(node, CollectionNode) or node.flow_style or not node.value:
            return int(node.end_mark.index)
        last = node.value[-1]
        return self.end(last[1] if isinstance(last, tuple) else last)


def _start(node: Node) -> int:
    return int(node.start_mark.index)


def _named(value: object) -> TypeGuard[dict[str, object]]:
    """A mapping of names, not one of values (`ranges`)."""
    return isinstance(value, dict) and bool(value) and all(isinstance(key, str) for key in value)
