"""Which of a source's expressions (defaults, generated columns, indexes) may become part of a statement, and in which words.

A release file may come from anywhere, so an expression is taken over only where it is made of constants, columns of its own
table and functions that every server has and that do nothing but compute. What calls a function of the source's own would fail in
the target, where there is none: it is listed instead, and `--ddl` writes it down.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from mare.schema.reflection import ReflectedColumn, ReflectedTable
from mare_adapters.sources.check_grammar import Unreadable, tokens
from mare_adapters.sources.statements import bare_name

_CALLED = """
abs array array_length btrim cast ceil ceiling char_length coalesce concat concat_ws curdate current_date current_timestamp
curtime date date_add date_format date_part date_sub date_trunc datediff datetime day dayofmonth dayofweek dayofyear decode encode
exp extract floor from_unixtime gen_random_uuid greatest hex hour if ifnull initcap instr isnull json_array_length json_extract
json_extract_path_text json_unquote json_value jsonb_array_length jsonb_extract_path_text julianday lcase least left length
localtime localtimestamp log lower lpad ltrim make_date md5 mod month now nullif octet_length position pow power printf quarter
quote random randomblob repeat replace reverse right round row rpad rtrim setweight sign split_part sqrt strftime strip_accents
strpos substr substring time timestampdiff to_char to_date to_days to_timestamp to_tsvector trim trunc truncate ucase unhex
unix_timestamp upper utc_timestamp uuid weekday year yearweek
and or not in as any all between like values case when then else interval using on include where
btree hash gin gist spgist brin
numeric decimal varchar char character varying nvarchar bit timestamp timestamptz
"""
"""Functions that only compute, and the words that may stand before a bracket."""
_UNCALLED = """
true false null is end div asc desc nulls first last without with zone at precision double real float integer int bigint smallint
boolean bool text json jsonb uuid bytea inet cidr bpchar regconfig tsvector tsquery collate binary nocase unsigned signed
similar ilike escape from for both leading trailing distinct update
epoch week minute second years months days hours minutes seconds
varchar_pattern_ops text_pattern_ops bpchar_pattern_ops jsonb_path_ops jsonb_ops array_ops inet_ops tsvector_ops
"""
_SIGNED = "( ) , + - * / % = < > <= >= <> != == || :: [ ] ~ ~* !~ !~* : & | @ ?"
_COMMENTS = ("/*", "*/", "--", "#", "\\")
"""What begins or ends a comment somewhere, or escapes a quote. An open one would swallow what mare writes after it."""
_QUOTES = {"mysql": "`"}
"""What names stand in, where it is not what the standard says."""
_QUOTED_CALLS = frozenset({"left", "right"})
"""Functions that are words of SQL too, so that PostgreSQL writes them in quotes."""
_FUNCTIONS = frozenset(_CALLED.split())
_WORDS = _FUNCTIONS | frozenset(_UNCALLED.split())
_SIGNS = frozenset(_SIGNED.split())
_TEXT = re.compile(r"'(?:[^'\\]|'')*'")
_NUMBER = re.compile(r"-?\d+(?:\.\d*)?")
_NOW = re.compile(r"(?:now|current_timestamp|localtimestamp|transaction_timestamp|getdate)(?:\(\d?\))?", re.IGNORECASE)
_TODAY = re.compile(r"(?:current_date|curdate|today)(?:\(\))?|\(?(?:now\(\)|'now'(?:::text)?)\)?::date", re.IGNORECASE)
_DAY = re.compile(r"'\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?)?'")


def is_harmless(expression: str, columns: Collection[str], dialect: str) -> bool:
    """Whether this may be part of a statement of that family, of a table with these columns."""
    try:
        parts = tokens(expression)
    except Unreadable:
        return False
    held, depth = {name.casefold() for name in columns}, 0
    ends = [0, *(token.end for token in parts)]
    begins = [*(token.start for token in parts), len(expression)]
    if not parts or any(expression[end:begin].strip() for end, begin in zip(ends, begins, strict=True)):
        return False  # a comment
    spans = [expression[token.start : token.end] for token in parts if token.kind == "string"]
    if any(sign in _without(spans, expression) for sign in _COMMENTS):
        return False
    for place, token in enumerate(parts):
        called = place + 1 < len(parts) and parts[place + 1].text == "("
        # A column may be called as a function is: before a bracket it is one only where a length follows (an index's prefix).
        prefix = called and place + 3 < len(parts) and parts[place + 2].text.isdigit() and parts[place + 3].text == ")"
        name = bare_name(token).casefold()
        if token.kind == "string":
            if not _TEXT.fullmatch(token.text):
                return False
        elif token.kind == "quoted":
            # What another family takes for quotes quotes nothing here.
            if token.text[0] != _QUOTES.get(dialect, '"'):
                return False
            if called and not prefix:
                if dialect != "postgresql" or bare_name(token) not in _QUOTED_CALLS:
                    return False
                continue
            if name not in held and (called or name not in ("c", "posix", "default")):
                return False
        elif token.kind == "word":
            if name not in (_FUNCTIONS | (held if prefix else set()) if called else _WORDS | held):
                return False
        elif token.kind == "op":
            if token.text not in _SIGNS:
                return False
            depth += {"(": 1, ")": -1}.get(token.text, 0)
            if depth < 0:
                return False
    return depth == 0


def _without(strings: Collection[str], expression: str) -> str:
    for text in strings:
        expression = expression.replace(text, " ", 1)
    return expression


def default_words(column: ReflectedColumn, table: ReflectedTable, dialect: str, booleans: tuple[str, str]) -> str | None:
    """A column's default as a target of this family says it; None where it cannot."""
    default = column.default
    if default is None:
        return None
    if table.dialect == dialect and is_harmless(default, (), dialect):
        return default
    if default.lower() in ("true", "false"):
        return booleans[default.lower() == "true"]
    if column.kind == "boolean" and default in ("0", "1", "'0'", "'1'", "b'0'", "b'1'"):
        return booleans["1" in default]
    if column.kind in ("integer", "number") and _NUMBER.fullmatch(default):
        return default
    if column.kind == "string" and _TEXT.fullmatch(default):
        return default
    if column.kind in ("date", "datetime") and _DAY.fullmatch(default):
        return default
    if column.kind == "datetime" and _NOW.fullmatch(default):
        return "CURRENT_TIMESTAMP"
    return "CURRENT_DATE" if column.kind == "date" and _TODAY.fullmatch(default) else None


def is_constant(text: str) -> bool:
    """A number or a text, which every engine takes as a default without brackets."""
    return bool(_TEXT.fullmatch(text) or _NUMBER.fullmatch(text)) or text.lower() in ("true", "false", "null")
