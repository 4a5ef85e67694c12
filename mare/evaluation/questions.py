"""Questions of one's own: SQL that is answered on both sides in DuckDB, and the answers held against each other.

Tables have the names, and columns the types, of the schema; keys that it does not describe are numbers where all of them are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from mare.errors import SourceError
from mare.stage.intake import staging_database

from .key_places import as_text
from .measured import Answer, SetName
from .sides import Side

SHOWN_ROWS = 200
Row = tuple[object, ...]


@dataclass(frozen=True)
class Question:
    name: str
    sql: str


def read_questions(file: Path) -> tuple[Question, ...]:
    """The queries of a file. A comment before one names it."""
    try:
        text = file.read_text(encoding="utf-8")
        statements = duckdb.extract_statements(text)
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"the questions in {file} cannot be read ({error}).") from None
    except duckdb.Error as error:
        raise SourceError(f"the questions in {file} are no SQL that DuckDB understands: {error}") from None
    questions, comment = [], _comment(text[: text.find(statements[0].query)] if statements else "")
    for statement in statements:
        written = statement.query.strip()
        sql, tail = _parted(written)
        if not statement.type.name.startswith("SELECT"):
            raise SourceError(f"{file}: a question is a SELECT; this is not one: {sql.splitlines()[0]}")
        questions.append(Question(comment or " ".join(sql.split())[:60], sql))
        comment = _comment(tail)  # what stands before the next one
    if not questions:
        raise SourceError(f"{file} holds no question. Write one or more SELECT statements, each with a ; at its end.")
    return tuple(questions)


def _parted(written: str) -> tuple[str, str]:
    """A statement, and the comments that follow it."""
    match = re.search(r";((?:\s*--[^\n]*)*\s*)$", written)
    return (written, "") if match is None else (written[: match.start()], match[1])


def _comment(text: str) -> str:
    lines = [line.strip().lstrip("-").strip() for line in text.splitlines() if line.strip().startswith("--")]
    return " ".join(line for line in lines if line)


def answer_all(questions: tuple[Question, ...], sides: Mapping[SetName, Side]) -> tuple[Answer, ...]:
    """Each question on every side. One that fails says why, and the others go on."""
    numeric = _numeric_keys(sides)
    with ExitStack() as opened:
        connections = {name: opened.enter_context(staging_database()) for name in sides}
        for side, connection in zip(sides.values(), connections.values(), strict=True):
            for name, table in _tables(side, numeric):
                connection.register(name, table)
        beside = sides["real"].entities / max(1, sides["holdout"].entities) if "holdout" in sides else 1.0
        return tuple(_answer(question, connections, beside) for question in questions)


def _answer(question: Question, connections: Mapping[SetName, duckdb.DuckDBPyConnection], beside: float) -> Answer:
    """``beside`` is how many real entities there are for each of the hold-out."""
    held: dict[SetName, list[Row]] = {}
    columns: tuple[str, ...] = ()
    for name, connection in connections.items():
        try:
            asked = connection.execute(question.sql)
            columns = tuple(str(column[0]) for column in asked.description or ())
            held[name] = [tuple(row) for row in asked.fetchall()]
        except duckdb.Error as error:
            if name == "holdout":
                continue  # what stands beside may be missing
            # A value may be quoted in it, and be written to move a terminal's cursor.
            first = "".join(sign if sign.isprintable() else "�" for sign in str(error).splitlines()[0])
            return Answer(question.name, question.sql, (), (), (), {}, None, f"on the {name} side: {first}")
    real, synthetic, holdout = held["real"], held["synthetic"], held.get("holdout")
    here, there = (_groups(rows, *_columns(real, synthetic)) for rows in (real, synthetic))
    # A count grows with the people, a mean does not: nobody says which it is, so the hold-out gets the better of both.
    errors = [] if holdout is None else [relative_error(real, holdout, times) for times in (1.0, beside)]
    return Answer(
        name=question.name,
        sql=question.sql,
        columns=columns,
        real=tuple(real[:SHOWN_ROWS]),
        synthetic=tuple(synthetic[:SHOWN_ROWS]),
        rows={name: len(rows) for name, rows in held.items()},
        error=relative_error(real, synthetic),
        holdout=tuple((holdout or [])[:SHOWN_ROWS]),
        holdout_error=min((error for error in errors if error is not None), default=None),
        lacking=_named(here.keys() - there.keys()),
        invented=_named(there.keys() - here.keys()),
    )


def _columns(real: list[Row], other: list[Row]) -> tuple[list[int], list[int]]:
    """By which columns rows are matched, and which hold the numbers."""
    width = len((real or other or [()])[0])
    numbers = [i for i in range(width) if all(row[i] is None or _is_number(row[i]) for row in (*real, *other))]
    keys = [i for i in range(width) if i not in numbers]
    if not keys and width > 1 and max(len(real), len(other)) > 1:
        keys, numbers = numbers[:1], numbers[1:]
    return keys, numbers


def _named(groups: Iterable[Row]) -> tuple[str, ...]:
    return tuple(sorted(" / ".join("NULL" if value is None else str(value)[:40] for value in group) for group in groups if group))


def relative_error(real: list[Row], other: list[Row], times: float = 1.0) -> float | None:
    """Σ|real - other| / Σ|real| over all numbers, those of the other ``times`` so much. Rows are matched by what is no number;
    where all are numbers and rows are several, by the first column. A row that one side lacks counts as zeros there."""
    keys, numbers = _columns(real, other)
    if not numbers:
        return None
    sums = [_groups(rows, keys, numbers) for rows in (real, other)]
    zeros = [0.0] * len(numbers)
    off = total = 0.0
    for key in dict.fromkeys((*sums[0], *sums[1])):
        mine, theirs = sums[0].get(key, zeros), sums[1].get(key, zeros)
        off += sum(abs(a - times * b) for a, b in zip(mine, theirs, strict=True))
        total += sum(map(abs, mine))
    return off / total if total else (0.0 if not off else None)


def _groups(rows: list[Row], keys: list[int], numbers: list[int]) -> Mapping[Row, list[float]]:
    sums: dict[Row, list[float]] = {}
    for row in rows:
        held = sums.setdefault(tuple(row[i] for i in keys), [0.0] * len(numbers))
        for place, i in enumerate(numbers):
            value = row[i]
            held[place] += float(value) if isinstance(value, int | float | Decimal) and isfinite(value) else 0.0
    return sums


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _tables(side: Side, numeric: set[tuple[str, str]]) -> Iterator[tuple[str, pa.Table]]:
    for name, table in side.tables.items():
        for i, column in enumerate(table.column_names):
            if (name, column) in numeric:
                table = table.set_column(i, column, table.column(i).cast(pa.int64()))
            elif column not in side.schema.tables[name].columns:
                table = table.set_column(i, column, as_text(table.column(i)))
        yield name, table
    yield from side.public.items()


def _numeric_keys(sides: Mapping[SetName, Side]) -> set[tuple[str, str]]:
    """Key columns that the schema does not describe, and that are whole numbers wherever they stand."""
    keys: set[tuple[str, str]] = set()
    real = sides["real"]
    for name, table in real.tables.items():
        for column in set(table.column_names) - set(real.schema.tables[name].columns):
            texts = (as_text(side.tables[name].column(column)) for side in sides.values())
            if all(pc.all(pc.match_substring_regex(text, "^-?[0-9]{1,18}$")).as_py() is not False for text in texts):
                keys.add((name, column))
    return keys
