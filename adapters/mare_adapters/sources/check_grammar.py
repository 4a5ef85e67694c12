"""The text of a CHECK constraint, taken apart into comparisons. `checks.py` says what they mean for a table.

One grammar for what PostgreSQL, MySQL, MariaDB, SQLite and DuckDB write: conditions joined by AND and OR over
columns and constants. Anything else (a function, arithmetic, a pattern) is `Unreadable`, and the check is kept as it was written.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass


class Unreadable(Exception):
    """Not a condition of this small grammar. Never leaves the reflection of checks."""


@dataclass(frozen=True)
class Name:
    """A column."""

    text: str


@dataclass(frozen=True)
class Constant:
    value: bool | int | float | str


Items = tuple[Constant, ...]
"""The list behind IN or = ANY."""


@dataclass(frozen=True)
class Compare:
    """``left op right`` with one of ``< <= > >=``, or two columns and ``=``."""

    op: str
    left: Name | Constant
    right: Name | Constant


@dataclass(frozen=True)
class Among:
    """A column and the values it may have; ``column = 'a'`` is a list of one."""

    column: Name
    items: Items


@dataclass(frozen=True)
class NullTest:
    column: Name
    null: bool


@dataclass(frozen=True)
class Joined:
    """Conditions joined by AND or by OR."""

    word: str
    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Opaque:
    """A condition that was skipped over: understood as far as where it ends."""


Condition = Compare | Among | NullTest | Joined | Opaque
Node = Condition | Name | Constant | Items


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    start: int
    end: int


_TOKEN = re.compile(
    r"""
      (?P<space>\s+|--[^\n]*|/\*.*?\*/)
    | (?P<string>(?:_\w+\s*|[eEnN])?'(?:[^'\\]|''|\\.)*')
    | (?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)
    | (?P<quoted>"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]'"]*[^\W\d][^\]'"]*\])
    | (?P<word>[^\W\d][\w$]*)
    | (?P<op>::|<=|>=|<>|!=|==|\|\||!?~\*?|[-+*/%=<>(),.\[\]:;?&|^@\#!])
    """,
    re.VERBOSE | re.DOTALL,
)


def tokens(text: str) -> list[Token]:
    """Words, names, constants and signs, without spaces and comments."""
    parts: list[Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise Unreadable
        kind, word = match.lastgroup, match[0]
        # ARRAY['a'] and text[] are PostgreSQL's; [a name] is SQLite's.
        if kind == "quoted" and word[0] == "[" and parts and parts[-1].text.upper() == "ARRAY":
            kind, word = "op", "["
        if kind != "space":
            parts.append(Token(kind, word, at, at + len(word)))
        at += len(word)
    return parts


def parse(text: str) -> Condition:
    """The condition of a CHECK, with or without the word and the brackets around it."""
    parts = tokens(text)
    if parts and parts[0].text.upper() == "CHECK":
        parts = parts[1:]
    parser = _Parser(parts)
    node = parser.either()
    if parser.at != len(parts):
        raise Unreadable
    return _condition(node)


def _condition(node: Node) -> Condition:
    return Opaque() if isinstance(node, (Name, Constant, tuple)) else node


_FLIP = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
_TEXT_TYPES = frozenset({"text", "varchar", "character", "char", "bpchar", "nvarchar", "citext", "string"})
_NUMBER_TYPES = frozenset(
    {"numeric", "decimal", "double", "real", "float", "bigint", "integer", "int", "smallint", "int4", "int8", "int2"}
)
_WIDENING = _TEXT_TYPES | frozenset({"numeric", "decimal", "double", "real", "bigint", "timestamp", "timestamptz"})
"""Casts of a column that leave the meaning of a comparison as it is. (``::date`` would not, nor would a size, which cuts off.)"""
_TYPE_WORDS = frozenset({"varying", "precision", "without", "with", "time", "zone", "local", "unsigned", "signed"})
_RESERVED = frozenset(
    {"AND", "OR", "NOT", "IN", "IS", "BETWEEN", "NULL", "ANY", "ALL", "ARRAY", "LIKE", "CASE", "CAST", "SELECT", "EXISTS"}
)


class _Parser:
    """Recursive descent over the tokens."""

    def __init__(self, parts: list[Token]) -> None:
        self.parts = parts
        self.at = 0

    def _word(self, offset: int = 0) -> str:
        """The token here as an upper-case word or sign; empty at the end, and for names and constants."""
        at = self.at + offset
        if at >= len(self.parts) or self.parts[at].kind not in ("word", "op"):
            return ""
        return self.parts[at].text.upper()

    def _take(self, *words: str) -> bool:
        if any(self._word(offset) != word for offset, word in enumerate(words)):
            return False
        self.at += len(words)
        return True

    def _need(self, word: str) -> None:
        if not self._take(word):
            raise Unreadable

    def either(self) -> Node:
        return self._joined("OR", self._both)

    def _both(self) -> Node:
        return self._joined("AND", self._guarded)

    def _joined(self, word: str, part: Callable[[], Node]) -> Node:
        nodes = [part()]
        while self._take(word):
            nodes.append(part())
        return nodes[0] if len(nodes) == 1 else Joined(word, tuple(_condition(node) for node in nodes))

    def _guarded(self) -> Node:
        """A predicate; one that cannot be read is skipped up to the AND, OR or bracket that ends it."""
        start = self.at
        try:
            node = self._predicate()
            if self._word() not in ("AND", "OR", ")", "", ",", "]", "AS"):
                raise Unreadable
        except Unreadable:
            self.at = start
            self._skip()
            return Opaque()
        return node

    def _skip(self) -> None:
        depth = 0
        while self.at < len(self.parts):
            word = self._word()
            if depth == 0 and word in ("AND", "OR", ")"):
                return
            if word in ("CASE", "BETWEEN", "SELECT"):  # they hold ANDs of their own
                raise Unreadable
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(word, 0)
            self.at += 1

    def _predicate(self) -> Node:
        if self._take("NOT"):
            inner = self._predicate()
            return NullTest(inner.column, not inner.null) if isinstance(inner, NullTest) else Opaque()
        left = self._operand()
        if self._take("IS"):
            wanted = not self._take("NOT")
            self._need("NULL")
            return NullTest(self._column(left), wanted)
        if self._take("IN"):
            return Among(self._column(left), self._list())
        if self._take("BETWEEN"):
            low = self._operand()
            self._need("AND")
            return Joined("AND", (_compare(">=", left, low), _compare("<=", left, self._operand())))
        op = {"==": "="}.get(self._word(), self._word())
        if op not in _FLIP:
            return left
        self.at += 1
        if op == "=" and self._take("ANY"):
            self._need("(")
            items = self._operand()
            self._need(")")
            if not isinstance(items, tuple):
                raise Unreadable
            return Among(self._column(left), items)
        return _compare(op, left, self._operand())

    def _column(self, node: Node) -> Name:
        if not isinstance(node, Name):
            raise Unreadable
        return node

    def _list(self) -> Items:
        self._need("(")
        return self._constants(")")

    def _constants(self, end: str) -> Items:
        constants: list[Constant] = []
        while True:
            constant = self._operand()
            if not isinstance(constant, Constant):
                raise Unreadable
            constants.append(constant)
            if self._take(end):
                return tuple(constants)
            self._need(",")

    def _operand(self) -> Node:
        node = self._primary()
        while self._take("::"):
            node = _cast(node, self._type())
        return node

    def _primary(self) -> Node:
        if self._take("("):
            inner = self.either()
            self._need(")")
            return inner
        if self._take("-"):
            number = self._operand()
            if isinstance(number, Constant) and isinstance(number.value, (int, float)):
                return Constant(-number.value)
            raise Unreadable
        if self._take("ARRAY", "["):
            return self._constants("]")
        if self._take("CAST", "("):
            inner = self.either()
            self._need("AS")
            cast = _cast(inner, self._type())
            self._need(")")
            return cast
        return self._atom()

    def _atom(self) -> Node:
        if self.at >= len(self.parts):
            raise Unreadable
        token = self.parts[self.at]
        self.at += 1
        if token.kind == "number":
            return _number(token.text)
        if token.kind == "string":
            return Constant(_unquote(token.text))
        if token.kind == "quoted":
            return self._dotted(Name(_unquote(token.text)))
        word = token.text.upper()
        if token.kind != "word" or word in _RESERVED:
            raise Unreadable
        if word in ("TRUE", "FALSE"):
            return Constant(word == "TRUE")
        if self.at < len(self.parts) and self.parts[self.at].kind == "string" and word in ("DATE", "TIMESTAMP", "DATETIME"):
            return self._atom()
        if self._word() == "(":
            raise Unreadable  # a function
        return self._dotted(Name(token.text))

    def _dotted(self, name: Name) -> Name:
        """``patients.age`` is ``age``: a check sees one table."""
        while self._take("."):
            token = self.parts[self.at] if self.at < len(self.parts) else None
            if token is None or token.kind not in ("word", "quoted"):
                raise Unreadable
            self.at += 1
            name = Name(_unquote(token.text) if token.kind == "quoted" else token.text)
        return name

    def _type(self) -> str:
        """The name of a type, with brackets behind it where it has a size."""
        if self.at >= len(self.parts) or self.parts[self.at].kind not in ("word", "quoted"):
            raise Unreadable
        name, sized = self.parts[self.at].text, ""
        self.at += 1
        while True:
            if self._word().lower() in _TYPE_WORDS:
                self.at += 1
            elif self._take("."):
                name = self.parts[self.at].text if self.at < len(self.parts) else ""
                self.at += 1
            elif self._take("("):
                while not self._take(")"):
                    if self.at >= len(self.parts):
                        raise Unreadable
                    self.at += 1
                sized = "()"
            elif not self._take("[", "]"):
                return name.lower() + sized


def _compare(op: str, left: Node, right: Node) -> Condition:
    if not isinstance(left, (Name, Constant)) or not isinstance(right, (Name, Constant)):
        raise Unreadable
    if isinstance(left, Constant):
        op, left, right = _FLIP[op], right, left
    if op == "=" and isinstance(left, Name) and isinstance(right, Constant):
        return Among(left, (right,))
    return Compare(op, left, right)


def _cast(node: Node, wanted: str) -> Node:
    if isinstance(node, Constant) and isinstance(node.value, str) and wanted.removesuffix("()") in _NUMBER_TYPES:
        return _number(node.value)
    if isinstance(node, Name) and wanted not in _WIDENING:
        raise Unreadable
    return node


def _number(text: str) -> Constant:
    try:
        number = int(text) if re.fullmatch(r"-?\d+", text) else float(text)
        if math.isfinite(number):
            return Constant(number)
    except (ValueError, OverflowError):  # no number, or one beyond what Python reads
        pass
    raise Unreadable


def _unquote(text: str) -> str:
    if text[-1] != "'":
        return text[1:-1] if text[0] == "[" else text[1:-1].replace(text[0] * 2, text[0])
    body = text[text.index("'") + 1 : -1].replace("''", "'")
    if text[0] in "eE_":
        return re.sub(r"\\(.)", lambda escape: _unescape(escape[1]), body, flags=re.DOTALL)
    if "\\" in body:  # a letter to some databases, an escape to others
        raise Unreadable
    return body


def _unescape(letter: str) -> str:
    """What a letter behind a backslash stands for, where PostgreSQL and MySQL agree."""
    if letter.isalnum() and letter not in _ESCAPES:
        raise Unreadable
    return _ESCAPES.get(letter, letter)


_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b"}
