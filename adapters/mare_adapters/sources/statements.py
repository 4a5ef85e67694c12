"""What only a CREATE statement tells, where an engine keeps the statement and its catalogue says less."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mare.schema.reflection import Check

from .check_grammar import Token, Unreadable, tokens


def named_checks(create_table: str) -> list[Check]:
    """Every CHECK of a CREATE TABLE statement, as written, with its name."""
    parts = _tokens(create_table)
    checks = []
    for position, token in enumerate(parts[:-1]):
        if _is(token, "CHECK") and parts[position + 1].text == "(":
            named = position > 1 and _is(parts[position - 2], "CONSTRAINT")
            text = _bracketed(create_table, parts, position + 1)
            if text is not None:
                checks.append(Check(text, bare_name(parts[position - 1]) if named else ""))
    return checks


def generated_columns(create_table: str) -> dict[str, str]:
    """By column, what it is computed from."""
    parts = _tokens(create_table)
    expressions = {}
    for first, last in _definitions(parts):
        for position in range(first + 1, last):
            if _is(parts[position], "AS") and parts[position + 1].text == "(":
                text = _bracketed(create_table, parts, position + 1)
                if text is not None:
                    expressions[bare_name(parts[first])] = text
                break
    return expressions


def constraint_names(create_table: str) -> dict[tuple[str, ...], str]:
    """What keys and uniques are called, by their columns."""
    parts = _tokens(create_table)
    names = {}
    for first, last in _definitions(parts):
        for position in range(first, last - 1):
            if _is(parts[position], "CONSTRAINT") and parts[position + 2].text.upper() in ("UNIQUE", "PRIMARY"):
                opening = next((at for at in range(position + 3, last + 1) if parts[at].text == "("), None)
                listed = parts[first : first + 1] if position > first or opening is None else parts[opening + 1 : last + 1]
                columns = tuple(bare_name(token) for token in listed if token.kind in ("word", "quoted"))
                names[columns] = bare_name(parts[position + 1])
    return names


def index_definition(create_index: str) -> str:
    """What stands after the name of the table."""
    first = next((token for token in _tokens(create_index) if token.text in ("(", "USING")), None)
    return "" if first is None else create_index[first.start :].strip().rstrip(";").strip()


def bare_name(token: Token) -> str:
    """A name without its quotes."""
    if token.kind != "quoted":
        return token.text
    sign = token.text[-1]
    return token.text[1:-1].replace(sign * 2, sign)


def _tokens(statement: str) -> list[Token]:
    try:
        return tokens(statement)
    except Unreadable:
        return []


def _is(token: Token, word: str) -> bool:
    return token.kind == "word" and token.text.upper() == word


def _definitions(parts: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """The first and the last token of every part within the outermost brackets."""
    depth, first = 0, 0
    for position, token in enumerate(parts):
        if token.kind != "op":
            continue
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if token.text == "(" and depth == 1:
            first = position + 1
        elif (token.text == "," and depth == 1) or (token.text == ")" and depth == 0):
            yield first, position - 1
            first = position + 1


def _bracketed(text: str, parts: Sequence[Token], opening: int) -> str | None:
    """What stands within the brackets that open here."""
    depth = 0
    for later in parts[opening:]:
        depth += {"(": 1, ")": -1}.get(later.text, 0) if later.kind == "op" else 0
        if depth == 0:
            return text[parts[opening].end : later.start].strip()
    return None
