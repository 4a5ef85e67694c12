"""Statements that create tables, in the words of one engine: names quoted always, constants written safely.

The type that a column gets is the source's own word for it where both are of one engine, else the nearest. A source's word
becomes part of a statement, and a release file may come from anywhere: only what reads as a type (words, sizes in brackets, a
list of quoted values) is taken over, anything else gets a word of ours.

So expressions (defaults, generated columns, indexes): one is taken over only where it is made of constants, columns of its own
table and functions that every server has and that do nothing but compute. What calls a function of the source's own would fail in
the target, where there is none: it is listed instead, and `--ddl` writes it down.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from mare.schema.reflection import Check, ReflectedColumn, ReflectedForeignKey, ReflectedTable, StorageKind
from mare_adapters.sources.check_grammar import Unreadable, tokens
from mare_adapters.sources.checks import apply_checks
from mare_adapters.sources.sql import bare_name

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
_BITS = re.compile(r"b'[01]+'")
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
    if any(sign in _without_texts(spans, expression) for sign in _COMMENTS):
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


def _without_texts(strings: Collection[str], expression: str) -> str:
    for text in strings:
        expression = expression.replace(text, " ", 1)
    return expression


def default_words(column: ReflectedColumn, table: ReflectedTable, dialect: str, booleans: tuple[str, str]) -> str | None:
    """A column's default as a target of this family says it; None where it cannot."""
    default = column.default
    if default is None:
        return None
    if table.dialect == dialect and (is_harmless(default, (), dialect) or _BITS.fullmatch(default)):
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
    return any(pattern.fullmatch(text) for pattern in (_TEXT, _NUMBER, _BITS)) or text.lower() in ("true", "false", "null")


_INT64_DIGITS = 18
_MOST_DIGITS = 38

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?: [A-Za-z0-9_]+)*(?:\s?\(\s*\d+(?:\s*,\s*-?\d+)?\s*\))?(?: [A-Za-z0-9_]+)*(?:\[\])*")
_LISTED = re.compile(r"(?:enum|set)\('(?:[^'\\]|'')*'(?:,\s?'(?:[^'\\]|'')*')*\)", re.IGNORECASE)


@dataclass(frozen=True)
class Wording:
    """How an engine writes names, constants and types."""

    quote: str = '"'
    """The sign around a name; within the name it is doubled."""
    type_of: Callable[[ReflectedColumn, ReflectedTable], str] = lambda column, table: column.sql_type
    enumerated: Callable[[ReflectedColumn, ReflectedTable], bool] = lambda column, table: False
    """Whether a column's type lists its values itself, so that no CHECK has to."""
    booleans: tuple[str, str] = ("FALSE", "TRUE")
    escapes_backslash: bool = False
    """Whether a backslash within a text constant means something (MySQL)."""
    null: str = ""
    """What a column that may be NULL says."""
    free: Callable[[str], bool] = lambda name: True
    """Whether the target can take a name of the source's for a constraint or an index."""
    counts: Callable[[ReflectedColumn, ReflectedTable], str] = lambda column, table: ""
    """How a column that counts by itself says so."""
    default: Callable[[ReflectedColumn, ReflectedTable], str] = lambda column, table: column.default or ""
    """What is filled in, as the engine wants it written."""

    remark: Callable[[ReflectedColumn], str] = lambda column: ""
    """What is said of a column, where that is part of its declaration."""

    def name(self, name: str) -> str:
        """A name as the engine reads it back: `order`, spaces, quotes and case included."""
        return self.quote + name.replace(self.quote, self.quote * 2) + self.quote

    def names(self, names: Iterable[str]) -> str:
        return ", ".join(map(self.name, names))

    def constant(self, value: object) -> str:
        """A value as part of a statement."""
        if isinstance(value, bool):
            return self.booleans[value]
        if isinstance(value, int | float):
            return repr(value)
        text = value.isoformat(sep=" ") if isinstance(value, datetime) else str(value)  # a date's own text is ISO
        if self.escapes_backslash:
            text = text.replace("\\", "\\\\")
        return "'" + text.replace("'", "''") + "'"

    def create_table(self, table: ReflectedTable, name: str | None = None, extra: Sequence[str] = (), remark: str = "") -> str:
        """The table with its columns, its checks and whatever clauses are given. Keys are clauses, or added later. A ``remark``
        stands within the statement itself, for an engine that keeps the statement and knows no comments."""
        parts = [self.column(column, table) for column in table.columns]
        for place, column in table.computed:
            parts.insert(place, self.computed(column, table))
        parts += self.checks(table)
        comment = f"/* {remark} */ " if remark else ""
        return f"CREATE TABLE {self.name(name or table.name)} ({comment}{', '.join([*parts, *extra])})"

    def column(self, column: ReflectedColumn, table: ReflectedTable) -> str:
        null = self.null if column.nullable and column.name not in table.key else " NOT NULL"
        default = self.default(column, table)
        filled = self.counts(column, table) or (f" DEFAULT {default}" if default else "")
        return f"{self.name(column.name)} {self.type_of(column, table)}{null}{filled}{self.remark(column)}"

    def computed(self, column: ReflectedColumn, table: ReflectedTable) -> str:
        """A generated column, whose expression was looked at (`expressions`); or one that stays empty."""
        if not column.expression:
            return self.column(column, table)
        stored = "VIRTUAL" if column.virtual else "STORED"
        return f"{self.name(column.name)} {self.type_of(column, table)} GENERATED ALWAYS AS ({column.expression}) {stored}"

    def checks(self, table: ReflectedTable) -> list[str]:
        """The checks that were understood, as clauses: values, bounds, order. What the source calls one by name is called so
        where it says the same."""
        own, table = _own_checks(table)
        named = [(check.name if check.name and self.free(check.name) else "", check.text) for check in own]
        texts = []
        for column in table.columns:
            name = self.name(column.name)
            if column.domain is None and column.values is not None and not self.enumerated(column, table):
                texts.append(f"{name} IN ({', '.join(map(self.constant, column.values))})")
            if column.domain is None:
                texts += [f"{name} >= {self.constant(column.min)}"] if column.min is not None else []
                texts += [f"{name} <= {self.constant(column.max)}"] if column.max is not None else []
        texts += [f"{self.name(o.before)} {'<' if o.strict else '<='} {self.name(o.after)}" for o in table.orders]
        clauses = [f"CONSTRAINT {self.name(name)} CHECK ({text})" if name else f"CHECK ({text})" for name, text in named]
        return [*clauses, *(f"CHECK ({text})" for text in texts)]

    def key(self, table: ReflectedTable) -> list[str]:
        """The primary key, as a clause; none where the table has none."""
        return [f"{self.called(table, table.key)}PRIMARY KEY ({self.names(table.key)})"] if table.key else []

    def unique(self, table: ReflectedTable, columns: tuple[str, ...]) -> str:
        return f"{self.called(table, columns)}UNIQUE ({self.names(columns)})"

    def foreign_key(self, foreign: ReflectedForeignKey, table: str | None = None) -> str:
        """A foreign key, as a clause. ``table`` is what the table referred to is called for now."""
        there = self.name(table or foreign.table)
        named = f"CONSTRAINT {self.name(foreign.name)} " if foreign.name and self.free(foreign.name) else ""
        doing = "".join(f" {word}" for word in foreign.actions)
        return f"{named}FOREIGN KEY ({self.names(foreign.columns)}) REFERENCES {there} ({self.names(foreign.references)}){doing}"

    def called(self, table: ReflectedTable, columns: tuple[str, ...]) -> str:
        """What the source calls the constraint over these columns, as the beginning of its clause."""
        name = table.name_of(columns)
        return f"CONSTRAINT {self.name(name)} " if name and self.free(name) else ""


def _own_checks(table: ReflectedTable) -> tuple[list[Check], ReflectedTable]:
    """The source's own CHECKs that what comes out keeps, and the table without what they say already: values, bounds, orders."""
    bare = replace(
        table,
        columns=tuple(replace(column, values=None, min=None, max=None, nullable=True) for column in table.columns),
        orders=(),
        checks=(),
        unread_checks=(),
    )
    columns, orders = {column.name: column for column in table.columns}, list(table.orders)
    held = []
    for check in table.checks:
        if not is_harmless(check.text, columns, table.dialect):
            continue
        applied = apply_checks(bare, [check])
        says = [column for column in applied.columns if (column.values, column.min, column.max) != (None, None, None)]
        kept = all(_implied(column, table.column(column.name)) for column in says)
        if applied.unread_checks or not kept or not set(applied.orders) <= set(table.orders) or not (says or applied.orders):
            continue
        held.append(check)
        columns |= {column.name: _without(columns[column.name], column) for column in says}
        orders = [order for order in orders if order not in applied.orders]
    return held, replace(table, columns=tuple(columns.values()), orders=tuple(orders))


def _implied(checked: ReflectedColumn, column: ReflectedColumn | None) -> bool:
    """Whether every value of the column passes."""
    if column is None:
        return False
    low = checked.min is None or (column.min is not None and column.min >= checked.min)  # type: ignore[operator]
    high = checked.max is None or (column.max is not None and column.max <= checked.max)  # type: ignore[operator]
    listed = checked.values is None or (column.values is not None and set(column.values) <= set(checked.values))
    return low and high and listed


def _without(column: ReflectedColumn, checked: ReflectedColumn) -> ReflectedColumn:
    return replace(
        column,
        values=None if column.values == checked.values else column.values,
        min=None if column.min == checked.min else column.min,
        max=None if column.max == checked.max else column.max,
    )


def create_indexes(tables: Sequence[ReflectedTable], wording: Wording) -> Iterator[tuple[str, str]]:
    """A statement for each index, after its table's name, where an engine wants a name for it: unlike any table's or other's."""
    taken = {table.name.casefold() for table in tables}
    for table in tables:
        for index in table.special_indexes:
            taken.add(index.name.casefold())
            yield table.name, f"CREATE INDEX {wording.name(index.name)} ON {wording.name(table.name)} {index.definition}"
        for columns in table.indexes:
            wanted = table.name_of(columns) or "_".join(("ix", table.name, *columns))
            number = 1
            while wanted.casefold() in taken:
                number += 1
                wanted = "_".join(("ix", table.name, *columns, str(number)))
            taken.add(wanted.casefold())
            yield table.name, f"CREATE INDEX {wording.name(wanted)} ON {wording.name(table.name)} ({wording.names(columns)})"


def is_plain(sql_type: str) -> bool:
    """A type that may be part of a statement."""
    return _PLAIN.fullmatch(sql_type) is not None


def is_listed(sql_type: str) -> bool:
    """An enum or a set that names its values within the type, as MySQL and DuckDB write it."""
    return _LISTED.fullmatch(sql_type) is not None


def own_type(column: ReflectedColumn, table: ReflectedTable, dialect: str) -> str | None:
    """The source's own word, where the target speaks the same language and the word can be trusted."""
    if table.dialect != dialect or not column.sql_type:
        return None
    if is_listed(column.sql_type):
        # Without a promise that all values are listed, the type would refuse some.
        return column.sql_type if column.values is not None or table.verbatim else None
    return column.sql_type if is_plain(column.sql_type) else None


def declared_digits(column: ReflectedColumn) -> tuple[int, int] | None:
    """(all digits, decimals) of an exact number, where every engine can declare it; None where the kind has to do.

    PostgreSQL alone knows more digits than 38, decimals before the point and more of them than digits.
    """
    digits, decimals = column.digits or 0, column.precision
    if column.kind == "integer" and digits > _INT64_DIGITS:
        return min(digits, _MOST_DIGITS), 0
    if column.kind == "number" and decimals is not None and 0 <= decimals <= digits <= _MOST_DIGITS and digits > 0:
        return digits, decimals
    return None


def sized(column: ReflectedColumn, words: Mapping[StorageKind, str], decimal: str, text: str, longest: int) -> str:
    """The engine's word for the kind, with the size that the source declares.

    ``decimal`` is the word for exact numbers, ``text`` for texts of a known length, ``longest`` the largest such length.
    """
    if size := declared_digits(column):
        return f"{decimal}({size[0]}, {size[1]})"
    if column.kind == "string" and column.max_length is not None and column.max_length <= longest:
        return f"{text}({column.max_length})"
    return words.get(column.kind) or words["string"]


def changed_types(
    tables: Iterable[ReflectedTable], dialect: str, type_of: Callable[[ReflectedColumn, ReflectedTable], str]
) -> tuple[str, ...]:
    """Where a target of the source's own language gives a column another type than the source did, in words."""
    notes = []
    for table in tables:
        for column in table.columns if table.dialect == dialect else ():
            word = type_of(column, table)
            # A document is one whatever a server calls it, and a collation is no other type.
            if column.sql_type and column.kind != "json" and _bare(word) != _bare(column.sql_type):
                reason = f"{column.sql_type} is unknown there, or may not hold every value that comes"
                notes.append(f"{table.name}.{column.name} is {word}: {reason}")
    return tuple(notes)


def _bare(word: str) -> str:
    return word.lower().partition(" collate ")[0].replace(", ", ",")
