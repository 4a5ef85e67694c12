"""From YAML text to plain values, with the line of every one of them.

Loading starts here. The text is composed into nodes instead of loaded: so a column may be called `true` or
`2020` (keys keep their spelling), a code keeps its leading zeros, and every fault knows its line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import lru_cache

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from .faults import Fault, Path

Plain = bool | int | float | str | date | datetime | None | list["Plain"] | dict["Plain", "Plain"]

MAX_VALUES = 1_000_000
"""A schema of more values than this was not written by a person or a tool: a few lines of aliases can stand for billions."""
_TAG = "tag:yaml.org,2002:"
_MERGE = _TAG + "merge"


@dataclass
class PlainDocument:
    """A parsed text: its values, where they stand, and what is wrong with the YAML itself."""

    data: Plain = None
    root: Node | None = None
    lines: dict[Path, int] = field(default_factory=dict)
    """Line (from 1) of every key and list item. Keys are as written, except under `ranges`, where they are values."""
    faults: list[Fault] = field(default_factory=list)


def read_nodes(text: str) -> PlainDocument:
    """Never raises for bad YAML: the faults are in the result."""
    document = PlainDocument()
    try:
        document.root = _composed(text)
    except (YAMLError, ValueError, RecursionError) as error:
        document.faults.append(_not_yaml(error, text))
        return document
    if document.root is None:
        document.faults.append(
            Fault((), "the file is empty", "Write at least `mare: 1`, `entity:` and `tables:`; `mare init SOURCE` drafts one")
        )
        return document
    if (values := _expanded(document.root, {})) > MAX_VALUES:
        what = f"its aliases stand for some {values:.0e} values, more than {MAX_VALUES:,}"
        document.faults.append(Fault((), what, "Write out what is meant; an alias of an alias of an alias multiplies", line=1))
        return document
    document.data = _Reader(document).value(document.root, ())
    return document


@lru_cache(maxsize=32)
def _composed(text: str) -> Node | None:
    """Nearly all the time of loading goes here, and one text is read again and again: by each verb of a session, and by
    whatever compares a source with the ready schemas. Nobody changes nodes."""
    root: Node | None = YAML(typ="safe", pure=True).compose(text)
    return root


def _expanded(node: Node, known: dict[int, int]) -> int:
    """How many values a node stands for with its aliases written out, each node counted once."""
    if isinstance(node, ScalarNode):
        return 1
    if id(node) not in known:
        known[id(node)] = 1  # an alias to what holds it: the reader tells
        children = [child for pair in node.value for child in pair] if isinstance(node, MappingNode) else node.value
        known[id(node)] = 1 + sum(_expanded(child, known) for child in children)
    return known[id(node)]


def _not_yaml(error: Exception, text: str) -> Fault:
    if isinstance(error, ReaderError):
        line = text.count("\n", 0, error.position) + 1
        what = f"not YAML: the character {error.character!r} is not allowed"
        return Fault((), what, "Save the file as plain UTF-8 text without control characters", line=line)
    if not isinstance(error, MarkedYAMLError):
        return Fault((), f"not YAML: {error}", "Mend the file; any YAML 1.2 reader must be able to read it")
    problem, context = str(error.problem or ""), str(error.context or "")
    mark = error.problem_mark or error.context_mark
    what = f"not YAML: {problem}" + (f" ({context})" if context else "")
    return Fault((), what, _yaml_remedy(problem, context), line=None if mark is None else mark.line + 1)


def _yaml_remedy(problem: str, context: str) -> str:
    if "'\\t'" in problem:
        return "YAML is indented with spaces: replace the tab"
    if "mapping values are not allowed" in problem:
        return "Put quotes around a text that holds `: `, and check the indentation of this line and the one above"
    if "another document" in problem:
        return "Keep one schema per file: remove the second `---`"
    if "quoted scalar" in context:
        return "Close the quote"
    if "flow" in context:
        return "Close the bracket or brace that was opened, and put a comma between its items"
    if "cannot start any token" in problem:
        return "Put quotes around a text that begins with this character"
    return "Check the indentation, quotes and brackets of this line and the one above"


class _Reader:
    """One walk over the nodes. It keeps what it finds in the document it was given."""

    def __init__(self, document: PlainDocument) -> None:
        self.document = document
        self.open: set[int] = set()
        """Nodes being read: an alias to one of them is a loop."""

    def fault(self, path: Path, node: Node, what: str, remedy: str) -> None:
        self.document.faults.append(Fault(path, what, remedy, line=_line(node)))

    def value(self, node: Node, path: Path) -> Plain:
        self.document.lines.setdefault(path, _line(node))
        if isinstance(node, ScalarNode):
            return self.scalar(node, path)
        if id(node) in self.open:
            self.fault(path, node, "an alias refers to the value that holds it", "Write the value out")
            return None
        self.open.add(id(node))
        try:
            if isinstance(node, SequenceNode):
                return [self.value(child, (*path, i)) for i, child in enumerate(node.value)]
            assert isinstance(node, MappingNode)
            return self.mapping(node, path)
        finally:
            self.open.discard(id(node))

    def mapping(self, node: MappingNode, path: Path) -> Plain:
        entries: dict[Plain, Plain] = {}
        first_line: dict[Plain, int] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE:
                continue
            key = self.key(key_node, path)
            if key in first_line:
                self.fault(
                    (*path, _step(key)),
                    key_node,
                    f"{key} is written twice (first on line {first_line[key]})",
                    "Keep one of the two, or give one of them another name",
                )
                continue
            first_line[key] = _line(key_node)
            self.document.lines[(*path, _step(key))] = _line(key_node)
            entries[key] = self.value(value_node, (*path, _step(key)))
        for merged in self.merged(node, path):
            for key, value in merged.items():
                entries.setdefault(key, value)
        return entries

    def merged(self, node: MappingNode, path: Path) -> Iterator[dict[Plain, Plain]]:
        """What `<<: *anchor` brings in; what is written here goes before."""
        for key_node, value_node in node.value:
            if key_node.tag != _MERGE:
                continue
            parts = value_node.value if isinstance(value_node, SequenceNode) else [value_node]
            for part in parts:
                value = self.value(part, path)
                if isinstance(value, dict):
                    yield value
                else:
                    self.fault(path, key_node, "`<<` does not name a mapping", "Write `<<: *anchor` of a mapping")

    def key(self, node: Node, path: Path) -> Plain:
        if not isinstance(node, ScalarNode):
            self.fault(path, node, "a list or mapping stands where a name is expected", "Write a name, in quotes if need be")
            return "?"
        # `ranges` is keyed by values of another column, where 1 and "1" differ; every other key is a name.
        return self.scalar(node, path) if path[-1:] == ("ranges",) and len(path) == 5 else str(node.value)

    def scalar(self, node: ScalarNode, path: Path) -> Plain:
        tag, text = str(node.tag).removeprefix(_TAG), str(node.value)
        try:
            return _scalar(tag, text)
        except KeyError:
            self.fault(path, node, f"{tag} is a tag that mare does not know", "Remove the tag")
        except (ValueError, OverflowError) as error:
            self.fault(path, node, f"{text} is not a value ({error})", "Mend it, or put quotes around it")
        return None


def _scalar(tag: str, text: str) -> Plain:
    match tag:
        case "str":
            return text
        case "null":
            return None
        case "bool":
            return text.lower() in ("true", "yes", "on")
        case "int":
            # 012 is a code, whatever YAML says: as a number it would lose its zero.
            digits = text.lstrip("+-")
            return text if len(digits) > 1 and digits[0] == "0" and digits.isdecimal() else _integer(text)
        case "float":
            return float(text.replace("_", "").lower().replace(".inf", "inf").replace(".nan", "nan"))
        case "timestamp":
            return _moment(text)
    raise KeyError(tag)


def _integer(text: str) -> int:
    digits = text.replace("_", "")
    return int(digits, 0 if digits.lstrip("+-")[:2].lower() in ("0x", "0o", "0b") else 10)


def _moment(text: str) -> date | datetime:
    moment = datetime.fromisoformat(text.strip())
    return moment.date() if len(text.strip()) == len("2100-01-01") else moment


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1


def _step(key: Plain) -> str | int:
    return key if isinstance(key, int) else str(key)
