"""Questions of one's own: SQL that is answered on both sides in DuckDB, and the answers held against each other.

Tables have the names, and columns the types, of the schema; keys that it does not describe are numbers where all of them are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from mare.errors import SourceError
from mare.stage.database import staging_database

from .evaluation import Answer, SetName
from .sides import Side

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

SHOWN_ROWS = 200
Row = tuple[object, ...]


@dataclass(frozen=True)
class Question:
    name: str
    sql: str


def read_questions(file: Path) -> tuple[Question, ...]:
    """The queries of a file. A comment before one names it."""
    import duckdb

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
            raise SourceError(f"{file}: a question is a SELECT; this is none: {sql.splitlines()[0]}")
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


def answer_all(questions: tuple[Question, ...], real: Side, synthetic: Side) -> tuple[Answer, ...]:
    """Each question on both sides. One that fails says why, and the others go on."""
    numeric = _numeric_keys(real, synthetic)
    with staging_database() as here, staging_database() as there:
        for connection, side in ((here, real), (there, synthetic)):
            for name, table in _tables(side, numeric):
                connection.register(name, table)
        return tuple(_answer(question, here, there) for question in questions)


def _answer(question: Question, here: duckdb.DuckDBPyConnection, there: duckdb.DuckDBPyConnection) -> Answer:
    import duckdb

    held: dict[SetName, list[Row]] = {}
    columns: tuple[str, ...] = ()
    sides: tuple[tuple[SetName, duckdb.DuckDBPyConnection], ...] = (("real", here), ("synthetic", there))
    for name, connection in sides:
        try:
            asked = connection.execute(question.sql)
            columns = tuple(str(column[0]) for column in asked.description or ())
            held[name] = [tuple(row) for row in asked.fetchall()]
        except duckdb.Error as error:
            # A value may be quoted in it, and be written to move a terminal's cursor.
            first = "".join(sign if sign.isprintable() else "�" for sign in str(error).splitlines()[0])
            return Answer(question.name, question.sql, (), (), (), {}, None, f"on the {name} side: {first}")
    real, synthetic = held["real"], held["synthetic"]
    return Answer(
        name=question.name,
        sql=question.sql,
        columns=columns,
        real=tuple(real[:SHOWN_ROWS]),
        synthetic=tuple(synthetic[:SHOWN_ROWS]),
        rows={"real": len(real), "synthetic": len(synthetic)},
        error=relative_error(real, synthetic),
    )


def relative_error(real: list[Row], synthetic: list[Row]) -> float | None:
    """Σ|real - synthetic| / Σ|real| over all numbers. Rows are matched by what is no number; where all are numbers and rows are
    several, by the first column. A row that one side lacks counts as zeros there."""
    width = len((real or synthetic or [()])[0])
    numbers = [i for i in range(width) if all(row[i] is None or _is_number(row[i]) for row in (*real, *synthetic))]
    keys = [i for i in range(width) if i not in numbers]
    if not keys and width > 1 and max(len(real), len(synthetic)) > 1:
        keys, numbers = numbers[:1], numbers[1:]
    if not numbers:
        return None
    sums = [_summed(rows, keys, numbers) for rows in (real, synthetic)]
    zeros = [0.0] * len(numbers)
    off = total = 0.0
    for key in dict.fromkeys((*sums[0], *sums[1])):
        mine, theirs = sums[0].get(key, zeros), sums[1].get(key, zeros)
        off += sum(abs(a - b) for a, b in zip(mine, theirs, strict=True))
        total += sum(map(abs, mine))
    return off / total if total else (0.0 if not off else None)


def _summed(rows: list[Row], keys: list[int], numbers: list[int]) -> Mapping[Row, list[float]]:
    sums: dict[Row, list[float]] = {}
    for row in rows:
        held = sums.setdefault(tuple(row[i] for i in keys), [0.0] * len(numbers))
        for place, i in enumerate(numbers):
            value = row[i]
            held[place] += float(value) if isinstance(value, int | float | Decimal) and value == value else 0.0
    return sums


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _tables(side: Side, numeric: set[tuple[str, str]]) -> Iterator[tuple[str, pa.Table]]:
    import pyarrow as pa

    for name, table in side.tables.items():
        for i, column in enumerate(table.column_names):
            if (name, column) in numeric:
                table = table.set_column(i, column, table.column(i).cast(pa.int64()))
        yield name, table
    yield from side.public.items()


def _numeric_keys(real: Side, synthetic: Side) -> set[tuple[str, str]]:
    """Key columns that the schema does not describe, and that are whole numbers wherever they stand."""
    import pyarrow.compute as pc

    found: set[tuple[str, str]] = set()
    for name, table in real.tables.items():
        for column in set(table.column_names) - set(real.schema.tables[name].columns):
            texts = [side.tables[name].column(column) for side in (real, synthetic)]
            if all(pc.all(pc.match_substring_regex(text, "^-?[0-9]{1,18}$")).as_py() is not False for text in texts):
                found.add((name, column))
    return found
