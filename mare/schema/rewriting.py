"""The same file with another schema in it: only what changed is rewritten; comments, order and layout stay.

The changes are spliced into the text at the marks of its YAML nodes. A reader that loads and dumps the whole
document would lose alignment, quotes and the comments that stand between two keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

from ruamel.yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode

from mare.errors import SchemaError

from .schema import Schema
from .structure import build_schema
from .writing import dump_schema, entry_lines, inline, plain_schema, scalar, table_lines
from .yaml_nodes import PlainDocument, read_nodes


@dataclass(frozen=True)
class _Splice:
    """Characters ``start`` … ``end`` of the text give way to ``text``."""

    start: int
    end: int
    text: str


def rewrite_schema(source: str | Path, schema: Schema) -> str:
    """The text of `source` with its values changed to those of `schema`."""
    from .loading import read_source

    _, text = read_source(source)
    document = read_nodes(text)
    before, faults = build_schema(document.data)
    if before is None or document.faults or faults or not isinstance(document.root, MappingNode):
        raise SchemaError(f"{source} cannot be rewritten: it does not load. Mend it first: `mare check` lists its faults.")
    if before == schema:
        return text
    edits = _Edits(text)
    edits.mapping(document.root, plain_schema(before), plain_schema(schema), 0)
    rewritten = edits.applied()
    if _reads_as(read_nodes(rewritten), schema):
        return rewritten
    # Aliases and merge keys share one piece of text between several places, which cannot be changed for one of them.
    return _leading_comment(text) + dump_schema(schema)


def _reads_as(document: PlainDocument, schema: Schema) -> bool:
    return not document.faults and build_schema(document.data)[0] == schema


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
        self.splices: list[_Splice] = []

    def applied(self) -> str:
        text = self.text
        for _, splice in sorted(enumerate(self.splices), key=lambda s: (s[1].start, s[1].end, s[0]), reverse=True):
            text = text[: splice.start] + splice.text + text[splice.end :]
        return text

    def put(self, start: int, end: int, text: str) -> None:
        self.splices.append(_Splice(start, end, text))

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
            start = _start(key) - int(key.start_mark.column)
            self.put(start, len(self.text) if line_end < 0 else line_end + 1, "")

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
