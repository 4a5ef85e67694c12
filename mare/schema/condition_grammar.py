"""The words of a condition, in a schema and in `--where`: a small grammar of comparisons, read by hand, never run.

condition   = all { "or" all }
all         = one { "and" one }
one         = "not" one | "(" condition ")" | column test
test        = ( "=" "!=" "<" "<=" ">" ">=" ) value | [ "not" ] "in" "(" value { "," value } ")" | "is" [ "not" ] "null"
value       = number | 'text' | true | false
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NoReturn

if TYPE_CHECKING:
    from .columns import AnyColumn

Value = str | int | float | bool
Operator = Literal["=", "!=", "<", "<=", ">", ">="]


@dataclass(frozen=True)
class Comparison:
    column: str
    operator: Operator
    value: Value


@dataclass(frozen=True)
class Among:
    """`column in (…)`."""

    column: str
    values: tuple[Value, ...]


@dataclass(frozen=True)
class IsNull:
    column: str


@dataclass(frozen=True)
class Not:
    part: Condition


@dataclass(frozen=True)
class Joined:
    """All of the parts, or any of them."""

    how: Literal["and", "or"]
    parts: tuple[Condition, ...]


Condition = Comparison | Among | IsNull | Not | Joined

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))
    | (?P<text>'(?:[^']|'')*')
    | (?P<quoted>"(?:[^"]|"")*")
    | (?P<sign><=|>=|<>|!=|==|=|<|>)
    | (?P<mark>[(),])
    | (?P<word>[^\W\d]\w*(?:\.[^\W\d]\w*)?)
    )""",
    re.VERBOSE,
)
_SIGNS: dict[str, Operator] = {"==": "=", "<>": "!=", "=": "=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_WORDS = ("and", "or", "not", "in", "is", "null", "true", "false")
DEEPEST = 50
"""Parentheses within each other: nobody writes more by hand."""


class NotACondition(ValueError):
    """Where a text stops being a condition, and what should stand there."""


def parse_condition(text: str) -> Condition:
    """The condition that a text says, or a `NotACondition` that shows where it stops being one."""
    parser = _Parser(text)
    condition = parser.condition(0)
    if parser.kind != "end":
        parser.refuse("`and` or `or`, or the end")
    return condition


class _Parser:
    def __init__(self, text: str) -> None:
        self.text, self.place, self.end = text, 0, 0
        self.kind, self.token = "", ""
        self.step()

    def step(self) -> None:
        """On to the next token."""
        self.place = self.end + len(self.text[self.end :]) - len(self.text[self.end :].lstrip())
        if self.place >= len(self.text):
            self.kind, self.token = "end", ""
            return
        match = _TOKEN.match(self.text, self.end)
        if match is None:
            self.refuse("a column, a value or a sign")
        self.kind, self.token, self.end = match.lastgroup or "", match[match.lastgroup or 0], match.end()
        if self.kind == "word" and self.token.lower() in _WORDS:
            self.kind, self.token = "keyword", self.token.lower()

    def refuse(self, wanted: str) -> NoReturn:
        raise NotACondition(
            f"cannot be read at character {self.place + 1}: {wanted} is expected here.\n  {self.text}\n"
            f"  {' ' * self.place}^\nWrite for example: age >= 65 and (sex = 'F' or ward in ('a', 'b')) and died is not null"
        )

    def take(self, kind: str, token: str) -> bool:
        if (self.kind, self.token) == (kind, token):
            self.step()
            return True
        return False

    def condition(self, depth: int) -> Condition:
        if depth > DEEPEST:
            self.refuse(f"no more than {DEEPEST} parentheses within each other")
        return self._joined("or", lambda: self._joined("and", lambda: self._part(depth)))

    def _joined(self, how: Literal["and", "or"], part: Callable[[], Condition]) -> Condition:
        parts = [part()]
        while self.take("keyword", how):
            parts.append(part())
        return parts[0] if len(parts) == 1 else Joined(how, tuple(parts))

    def _part(self, depth: int) -> Condition:
        if depth > DEEPEST:
            self.refuse(f"no more than {DEEPEST} parentheses within each other")
        if self.take("keyword", "not"):
            return Not(self._part(depth + 1))
        if self.take("mark", "("):
            condition = self.condition(depth + 1)
            if not self.take("mark", ")"):
                self.refuse("a closing parenthesis")
            return condition
        return self._test(self._column())

    def _column(self) -> str:
        name = self.token
        if self.kind == "quoted":
            name = name[1:-1].replace('""', '"')
        elif self.kind != "word":
            self.refuse("the name of a column (in double quotes where it is no plain word)")
        self.step()
        return name

    def _test(self, column: str) -> Condition:
        if self.kind == "sign":
            operator = _SIGNS[self.token]
            self.step()
            return Comparison(column, operator, self._value())
        if self.take("keyword", "is"):
            negated = self.take("keyword", "not")
            if not self.take("keyword", "null"):
                self.refuse("`null`")
            return Not(IsNull(column)) if negated else IsNull(column)
        negated = self.take("keyword", "not")
        if not self.take("keyword", "in"):
            self.refuse("one of = != < <= > >= in, `not in`, `is null`")
        if not self.take("mark", "("):
            self.refuse("an opening parenthesis")
        values = [self._value()]
        while self.take("mark", ","):
            values.append(self._value())
        if not self.take("mark", ")"):
            self.refuse("a comma or a closing parenthesis")
        return Not(Among(column, tuple(values))) if negated else Among(column, tuple(values))

    def _value(self) -> Value:
        kind, token = self.kind, self.token
        if kind == "keyword" and token == "null":
            self.refuse("a value (for NULL write `is null`)")
        if kind == "number":
            self.step()
            return int(token) if re.fullmatch(r"[-+]?\d{1,18}", token) else float(token)
        if kind == "text":
            self.step()
            return token[1:-1].replace("''", "'")
        if kind != "keyword" or token not in ("true", "false"):
            self.refuse("a number, a text in single quotes, true or false")
        self.step()
        return token == "true"


Test = Comparison | Among | IsNull


def comparisons_in(condition: Condition) -> Iterator[Test]:
    """The tests that a condition is made of, in the order in which they are written."""
    match condition:
        case Not(part):
            yield from comparisons_in(part)
        case Joined(_, parts):
            for part in parts:
                yield from comparisons_in(part)
        case _:
            yield condition


def values_of(test: Test) -> tuple[Value, ...]:
    """What a test compares with."""
    match test:
        case Comparison(value=value):
            return (value,)
        case Among(values=values):
            return values
    return ()


def cannot_be_asked(test: Test, described: AnyColumn) -> tuple[str, str] | None:
    """Why a test makes no sense for a column, and what to write instead; None where it does."""
    if isinstance(test, Comparison) and test.operator not in ("=", "!=") and not described.has_order:
        return f"{test.column} has no order, so {test.operator} cannot be asked", "Use = != or in"
    for value in values_of(test):
        if (why := described.never(value)) is not None:
            return f"{test.column} {why}", "Compare it with a value that it can have"
    return None
