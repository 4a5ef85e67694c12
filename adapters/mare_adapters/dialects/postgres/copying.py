"""The fast way to read PostgreSQL: COPY to CSV within the snapshot, parsed by Arrow. No Python value is ever made.

Rows are taken from libpq one by one and joined to blocks, each of which Arrow parses into the types of its columns' kinds.
Types that Arrow cannot parse from text (intervals, bytes) are left to the way that all databases are read in.
"""

from __future__ import annotations

import codecs
import re
import selectors
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import csv
from sqlalchemy import Connection

from mare.schema.reflection import ReflectedColumn
from mare_adapters.engine import quoted
from mare_adapters.letters import letters
from mare_adapters.sources.arrow_kinds import conformed
from mare_adapters.sources.columnar import BATCH_ROWS, Unread, arrow_type, record_batches, within_reach
from mare_adapters.sources.table_source import Question

if TYPE_CHECKING:
    import psycopg
    from psycopg.pq.abc import PGconn

_BLOCK = 1 << 23
"""Bytes at which a block is parsed although it has few rows: long notes."""
_LEFT = frozenset({"duration", "binary"})


def copying_connection(connection: Connection, columns: Sequence[ReflectedColumn]) -> psycopg.Connection[object] | None:
    """The driver's connection where these columns can be read in this way, else None."""
    import psycopg

    driver = connection.connection.driver_connection
    if not columns or not isinstance(driver, psycopg.Connection) or any(column.kind in _LEFT for column in columns):
        return None
    return driver


def copied_batches(
    connection: psycopg.Connection[object], asked: Question, forms: Sequence[str], unread: Unread
) -> Iterator[pa.RecordBatch]:
    """All rows, in the batches and the types in which every source gives them. ``forms`` are the columns in SQL."""
    columns, names, table = asked.delivered, asked.names, asked.table.name
    selected = ", ".join(f"{form} AS c{number}" for number, form in enumerate(forms))
    query = f"SELECT {selected} FROM {quoted(str(asked.stored.schema))}.{quoted(asked.stored.name)}"
    empty = True
    stored = connection.info.parameter_status("server_encoding") or "UTF8"
    with _copying(connection.pgconn, f"COPY ({query}) TO STDOUT (FORMAT csv, ENCODING '{stored}')") as blocks:
        for block in blocks:
            empty = False
            yield conformed(_parsed(_as_utf8(block, stored), columns), columns, names, table, unread)
    if empty:
        yield from record_batches([], columns, names, table)


def _as_utf8(block: memoryview, stored: str) -> memoryview:
    """The server would end the read at a letter that has no place in UTF-8: such ones are turned here, into a mark."""
    if stored == "UTF8":
        return block
    name = re.sub(r"^LATIN(?=\d)", "iso8859-", re.sub(r"^WIN(?=\d)", "cp", stored))
    try:
        codec = codecs.lookup(_CODECS.get(stored, name)).name
    except LookupError:
        codec = "ascii"
    return memoryview(letters(bytes(block), codec).encode())


_CODECS = {"LATIN5": "iso8859-9", "LATIN6": "iso8859-10", "LATIN7": "iso8859-13", "LATIN8": "iso8859-14", "LATIN9": "iso8859-15",
           "LATIN10": "iso8859-16", "EUC_CN": "gb2312", "EUC_JIS_2004": "euc_jis_2004", "WIN866": "cp866"}  # fmt: skip


def expression(column: ReflectedColumn) -> str:
    """What both ways ask for: what has no type of its own in Arrow as text, money as a number, CHAR(5) without its padding."""
    name = quoted(column.name)
    if column.kind in ("other", "json") or column.sql_type.startswith("character("):
        return f"CAST({name} AS text)"
    if column.sql_type == "money":
        return f"CAST({name} AS numeric)"
    if column.sql_type.startswith("numeric("):
        return f"NULLIF({name}, 'NaN')"  # which has no place among decimals
    if column.kind in ("datetime", "time") and column.sql_type.endswith("with time zone"):
        name = f"({name} AT TIME ZONE 'UTC')"
    return within_reach(f"CAST({name} AS time)" if column.kind == "time" else name, column.kind)


@contextmanager
def _copying(server: PGconn, statement: str) -> Iterator[Iterator[memoryview]]:
    """The rows of a COPY. A reader that gives up early leaves the transaction, and its snapshot, usable."""
    from psycopg.pq import ConnStatus

    _command(server, b"SAVEPOINT mare_copy")
    _command(server, statement.encode())
    state = {"done": False}
    try:
        yield _blocks(server, state)
    finally:
        if server.status == ConnStatus.OK:  # where the connection broke, there is nothing to put in order
            if not state["done"]:
                _give_up(server)
            _command(server, b"RELEASE SAVEPOINT mare_copy")


def _give_up(server: PGconn) -> None:
    from psycopg import OperationalError

    server.get_cancel().cancel()
    with suppress(OperationalError):  # nothing is under way any more
        while server.get_copy_data(0)[0] > 0:
            pass
    while server.get_result() is not None:
        pass
    _command(server, b"ROLLBACK TO SAVEPOINT mare_copy")


def _blocks(server: PGconn, state: dict[str, bool]) -> Iterator[memoryview]:
    """Whole rows, some thousands at a time; a block lasts until the next is asked for.

    One message is one row (PostgreSQL's protocol: «always one per row»). Each is copied into one buffer at once: to keep them
    apart until they are joined takes several times as long.
    """
    take, held, used, rows = server.get_copy_data, bytearray(_BLOCK), 0, 0
    with selectors.DefaultSelector() as waiting:
        waiting.register(server.socket, selectors.EVENT_READ)
        while True:
            size, row = take(1)
            if size > 0:
                end = used + size
                if end > len(held):
                    held.extend(bytes(end))
                held[used:end] = row
                used, rows = end, rows + 1
                if rows == BATCH_ROWS or used >= _BLOCK:
                    yield memoryview(held)[:used]
                    used = rows = 0
            elif size == 0:
                waiting.select()
                server.consume_input()
            else:
                break
    # The results after the last row tell whether it was the last, or whether something broke.
    failure = None
    while (result := server.get_result()) is not None:
        failure = failure or _failure(result)
    state["done"] = failure is None
    if failure is not None:
        raise failure
    if rows:
        yield memoryview(held)[:used]


def _parsed(block: memoryview, columns: Sequence[ReflectedColumn]) -> pa.RecordBatch:
    try:
        return _read_block(block, [arrow_type(column) for column in columns])
    except pa.ArrowException:
        # A value beyond its Arrow type is among them: as texts, each is looked at by itself.
        return _read_block(block, [pa.string()] * len(columns))


def _read_block(block: memoryview, types: Sequence[pa.DataType]) -> pa.RecordBatch:
    names = [f"c{number}" for number in range(len(types))]
    parsed = csv.read_csv(
        pa.BufferReader(pa.py_buffer(block)),
        read_options=csv.ReadOptions(column_names=names, block_size=len(block) + 1),
        parse_options=csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=len(types) > 1),
        convert_options=csv.ConvertOptions(
            column_types=dict(zip(names, types, strict=True)),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            true_values=["t"],
            false_values=["f"],
        ),
    )
    return parsed.combine_chunks().to_batches(max_chunksize=None)[0]


def _command(server: PGconn, statement: bytes) -> None:
    failure = _failure(server.exec_(statement))
    if failure is not None:
        raise failure


def _failure(result: object) -> Exception | None:
    """The driver's own error for what the server said, by its code alone."""
    from psycopg import OperationalError, errors, pq

    assert isinstance(result, pq.PGresult)
    if result.status != pq.ExecStatus.FATAL_ERROR:
        return None
    state = (result.error_field(pq.DiagnosticField.SQLSTATE) or b"").decode()
    try:
        return errors.lookup(state)()
    except KeyError:
        return OperationalError()
