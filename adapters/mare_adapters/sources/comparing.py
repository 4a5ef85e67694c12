"""What a peek tells of several columns: which go together in all rows of a table (one that is the same for a person, one that
repeats another, one that is never before another).

Only ever on the user's explicit request: everything here looks at data. What it tells is a sentence about all rows, and a person
who knows the data can say whether it follows from what they mean (nobody relapses after their death).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mare.codec.parsing import is_text_type
from mare.schema.reflection import Compared
from mare_adapters.engine import open_duckdb, quoted

from .peeking import present

_FEWEST, _PEOPLE = 100, 5
"""Rows, and people with several of them, below which nothing is said: few show anything by chance."""
_OFTEN = 0.1
"""An order says something where one would be the larger at least so often if the two stood in different rows."""
_EQUAL = 0.02
"""Of two numbers, so many rows at least hold both alike: columns that have nothing to do with each other hardly do."""
_FILLED = 0.9
"""Where a column has a value, what it follows has one too in so many rows."""
_DISTINCT, _LISTED = 3, 1000
_CELLS = 20_000_000
"""No more is read than this of a table."""

_NUMBER = "TRY_CAST({0} AS DOUBLE)"
_MOMENT = (
    "epoch(coalesce(TRY_CAST({0} AS TIMESTAMP), "
    "try_strptime(CAST({0} AS VARCHAR), ['%d.%m.%Y', '%d.%m.%Y %H:%M', '%d.%m.%Y %H:%M:%S'])))"
)
"""Forms that can be no other."""

_Numbers = npt.NDArray[np.float64]


Above = tuple[Iterable[pa.RecordBatch], str]
"""The rows of the table above, and the column there that ``by`` refers to."""


def compare_columns(batches: Iterable[pa.RecordBatch], by: str | None, above: Above | None = None) -> Mapping[str, Compared]:
    """What is seen of each column; nothing of ``by``, which tells apart whom rows belong to."""
    with open_duckdb() as memory:
        first = _load(memory, "met", batches)
        names = _names(memory, "met", by)
        same = set() if by is None else _the_same(memory, names, by)
        own = set() if by is None else _their_own(memory, names, by)
        repeated = _repeated(memory, names)
        counted = ", ".join(f"count({quoted(name)}) < {_FILLED} * count(*)" for name in names) or "NULL"
        told_by = _told_by(memory, names, repeated)
        missing = dict(zip(names, memory.execute(f"SELECT {counted} FROM met").fetchall()[0], strict=False))
        written = {quoted(name): name for name in names}
        numbers = _read(memory, list(written), _NUMBER, "FROM met")
        times = _read(memory, [c for c in written if c not in numbers], _MOMENT, "FROM met")
        follows = {
            name: before
            for read, alike in ((numbers, _EQUAL), (times, 0.0))
            for name, before in _follows({written[column]: v for column, v in read.items()}, repeated, alike).items()
        }
        apart, counts = dict[str, str](), None
        if by is not None:
            apart, counts = _along(memory, by, {written[column]: held for column, held in (numbers | times).items()})
        seen = {
            name: Compared(
                name in same,
                missing[name],
                repeated.get(name),
                follows.get(name),
                apart.get(name),
                None if counts is None else name in counts,
                told_by=told_by.get(name, ()),
                own=name in own,
                rows=first,
            )
            for name in names
        }
        if above is None or by is None:
            return seen
        above_first = _load(memory, "above", above[0])
        copies, begins, ends = _compared_above(memory, names, by, above[1])
        # Where not all rows above were read, nobody knows who is missing there.
        strangers = _strangers(memory, by, above[1]) if first is None and above_first is None else 0.0
    return {
        name: replace(
            told,
            copies=copies.get(name),
            begins=begins.get(name),
            ends=ends.get(name),
            strangers=strangers,
            rows=above_first if first is None else first,
        )
        for name, told in seen.items()
    }


def _load(memory: duckdb.DuckDBPyConnection, table: str, batches: Iterable[pa.RecordBatch]) -> int | None:
    """The number of rows that were read, where there are more."""
    left, rows = _CELLS, 0
    for number, batch in enumerate(batches):
        if left <= 0:
            return rows
        memory.register("stored", pa.Table.from_batches([batch]))
        rows_read = f"SELECT {', '.join(_with_nulls(field) for field in batch.schema)} FROM stored"
        memory.execute(f"INSERT INTO {table} {rows_read}" if number else f"CREATE TABLE {table} AS {rows_read}")
        memory.unregister("stored")
        left -= batch.num_rows * batch.num_columns
        rows += batch.num_rows
    return None


def _with_nulls(field: pa.Field) -> str:
    """A column, without what programs write where there is no value."""
    name = quoted(field.name)
    return f"{present(name)} AS {name}" if is_text_type(field.type) else name


def _names(memory: duckdb.DuckDBPyConnection, table: str, without: str | None) -> list[str]:
    return [str(row[0]) for row in memory.execute(f"DESCRIBE {table}").fetchall() if row[0] != without]


def _compared_above(
    memory: duckdb.DuckDBPyConnection, names: Sequence[str], by: str, key: str
) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """By column, the one of the row above that it is a copy of, the nearest that it is never before, and never after."""
    held = _names(memory, "above", key)
    joined = f"FROM met JOIN above ON met.{quoted(by)} = above.{quoted(key)}"
    columns = [*(f"met.{quoted(name)}" for name in names), *(f"above.{quoted(name)}" for name in held)]
    prints = ", ".join(f"count(DISTINCT {c}), count({c}), sum(hash(concat(met.rowid, ':', {c})))" for c in columns)
    flat = memory.execute(f"SELECT {prints} {joined}").fetchall()[0] if columns else ()
    told = list(zip(flat[::3], flat[1::3], flat[2::3], strict=True))
    copies = {}
    for name, here in zip(names, told, strict=False):
        alike = [other for other, there in zip(held, told[len(names) :], strict=True) if here == there and here[1] >= _FEWEST]
        # What is one value everywhere is the same as much else: then its name tells.
        alike = sorted((other for other in alike if here[0] > 1 or other == name), key=lambda other: other != name)
        if alike:
            copies[name] = alike[0]
    moments = [
        _read(memory, columns, _MOMENT, joined)
        for columns in ([f"met.{quoted(name)}" for name in names], [f"above.{quoted(name)}" for name in held])
    ]
    begins, ends = dict[str, str](), dict[str, str]()
    for name in names:
        own = moments[0].get(f"met.{quoted(name)}")
        if own is None or name in copies:
            continue
        times = {other: moments[1][column] for other in held if (column := f"above.{quoted(other)}") in moments[1]}
        earlier = {other: gap for other, there in times.items() if (gap := _gap(there, own, 0.0)) is not None}
        later = {other: gap for other, there in times.items() if (gap := _gap(own, there, 0.0)) is not None}
        begins |= {name: min(earlier, key=lambda other: earlier[other])} if earlier else {}
        ends |= {name: min(later, key=lambda other: later[other])} if later else {}
    return copies, begins, ends


def _strangers(memory: duckdb.DuckDBPyConnection, by: str, key: str) -> float:
    """The part of the rows whose key is nobody's above."""
    known = f"EXISTS (FROM above WHERE above.{quoted(key)} = met.{quoted(by)})"
    query = f"SELECT coalesce(avg((NOT {known})::INT), 0) FROM met WHERE {quoted(by)} IS NOT NULL"
    ((part,),) = memory.execute(query).fetchall()
    return float(part)


def _the_same(memory: duckdb.DuckDBPyConnection, names: Sequence[str], by: str) -> set[str]:
    """Columns that are the same in all rows of whoever has several, all of them NULL or none, and not in all rows there are."""
    told = ", ".join(
        f"count(DISTINCT {quoted(name)}) AS d{i}, count({quoted(name)}) AS f{i}, min({quoted(name)}) AS s{i}"
        for i, name in enumerate(names)
    )
    # A smallest and a largest of the people's own: whoever has none is another.
    varied = "(min(s{0}) IS DISTINCT FROM max(s{0}) OR count(s{0}) NOT IN (0, count(*)))"
    kept = ", ".join(f"bool_and(d{i} = 0 OR (d{i} = 1 AND f{i} = n)) AND {varied.format(i)}" for i in range(len(names)))
    people = f"SELECT count(*) AS n, {told} FROM met WHERE {quoted(by)} IS NOT NULL GROUP BY {quoted(by)} HAVING n > 1"
    if not names:
        return set()
    (count, rows, *holds) = memory.execute(f"SELECT count(*), sum(n), {kept} FROM ({people})").fetchall()[0]
    enough = count >= _PEOPLE and rows >= _FEWEST
    return {name for name, held in zip(names, holds, strict=True) if held} if enough else set()


def _their_own(memory: duckdb.DuckDBPyConnection, names: Sequence[str], by: str) -> set[str]:
    """Columns of which many values stand in several rows, and none in those of two people, who have several of them."""
    whose = quoted(by)
    both = f"concat(length({whose}::VARCHAR), ':', {whose}, {{0}})"
    each_of = f"count({{0}}), count(DISTINCT {{0}}), count(DISTINCT {both}) FILTER ({{0}} IS NOT NULL)"
    counts = [each_of.format(quoted(name)) for name in names]
    query = f"SELECT {', '.join([f'count(DISTINCT {whose})', *counts])} FROM met WHERE {whose} IS NOT NULL"
    people, *told = (int(count) for count in memory.execute(query).fetchall()[0])
    each = zip(names, told[::3], told[1::3], told[2::3], strict=True)
    return {
        name
        for name, filled, values, with_people in each
        if values == with_people and filled - values >= _FEWEST and values - people >= _FEWEST
    }


def _repeated(memory: duckdb.DuckDBPyConnection, names: Sequence[str]) -> dict[str, str]:
    """Columns that hold what an earlier one holds, in every row."""
    # Which row holds what, as one text: the sum of these is that of another column where all rows hold the same.
    row = "hash(concat(rowid, ':', {}))"
    prints = ", ".join(f"count(DISTINCT {q}), count({q}), sum({row.format(q)})" for q in map(quoted, names))
    flat = memory.execute(f"SELECT {prints} FROM met").fetchall()[0] if names else ()
    first: dict[object, str] = {}
    repeated = {}
    for name, distinct, filled, told in zip(names, flat[::3], flat[1::3], flat[2::3], strict=True):
        if distinct > 1 and filled >= _FEWEST and (earlier := first.setdefault((filled, told), name)) != name:
            repeated[name] = earlier
    return repeated


def _told_by(memory: duckdb.DuckDBPyConnection, names: Sequence[str], repeated: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """By column of a few values, those others of which each value stands beside one value of it: one for one, or each in so many
    rows that it is no harder to learn than what it stands beside."""
    codes = dict[str, npt.NDArray[np.int64]]()
    different = dict[str, int]()
    for name in names:
        q = quoted(name)
        filled, values, most = memory.execute(
            f"SELECT sum(n), count(*), max(n) FROM (SELECT count({q}) AS n FROM met GROUP BY {q}) WHERE n > 0"
        ).fetchall()[0]
        # By chance alone nothing else tells a value that nearly all rows hold.
        if name not in repeated and values > 1 and filled - values >= _FEWEST and most <= _FILLED * filled and values <= _LISTED:
            query = f"SELECT CASE WHEN {q} IS NULL THEN -1 ELSE dense_rank() OVER (ORDER BY {q}) END AS c FROM met ORDER BY rowid"
            codes[name], different[name] = np.asarray(memory.execute(query).fetchnumpy()["c"], dtype=np.int64), int(values)
    told = dict[str, dict[str, int]]()
    for code, held in codes.items():
        order = np.argsort(held, kind="stable")
        starts = np.flatnonzero(np.diff(held[order], prepend=held[order[0]] - 1))
        if held[order[0]] < 0:
            continue
        often = len(held) >= _FEWEST * len(starts)
        for name, values in codes.items():
            beside = values[order]
            if name == code or not (often or different[name] == different[code]):
                continue
            if (np.maximum.reduceat(beside, starts) == np.minimum.reduceat(beside, starts)).all():
                told.setdefault(name, {})[code] = len(starts)
    return {name: tuple(sorted(by, key=lambda code: by[code])) for name, by in told.items()}


def _read(memory: duckdb.DuckDBPyConnection, columns: Sequence[str], cast: str, rows: str) -> dict[str, _Numbers]:
    """Columns of which (nearly) all values read so."""
    read = {}
    for column in columns:
        filled, fits = memory.execute(f"SELECT count({column}), count({cast.format(column)}) {rows}").fetchall()[0]
        if filled >= _FEWEST and fits >= _FILLED * filled:
            values = memory.execute(f"SELECT {cast.format(column)} AS v {rows}").fetchnumpy()["v"]
            plain = np.ma.filled(np.ma.asarray(values, dtype=np.float64), np.nan)
            read[column] = np.where(np.isfinite(plain), plain, np.nan)  # an infinite one is no distance from another
    return {column: values for column, values in read.items() if len(np.unique(values[~np.isnan(values)])) >= _DISTINCT}


def _follows(read: Mapping[str, _Numbers], repeated: Mapping[str, str], alike: float) -> dict[str, str]:
    """By column, the one that it is never before: of several, the nearest."""
    names = [name for name in read if name not in repeated]
    follows: dict[str, str] = {}
    for after in names:
        near = {before: gap for before in names if (gap := _gap(read[before], read[after], alike)) is not None}
        for before in sorted(near, key=lambda name: near[name]):
            if before != after and not _leads_to(follows, before, after):
                follows[after] = before
                break
    return follows


def _gap(before: _Numbers, after: _Numbers, alike: float) -> float | None:
    """How far the one comes after the other on average; None where it does not in every row, or where that says nothing."""
    both = ~np.isnan(before) & ~np.isnan(after)
    a, b = before[both], after[both]
    if len(a) < max(_FEWEST, _FILLED * np.count_nonzero(~np.isnan(after))) or (a > b).any() or (a == b).mean() < alike:
        return None
    elsewhere = float(np.searchsorted(np.sort(b), a, side="left").mean()) / len(b)
    return float((b - a).mean()) if elsewhere >= _OFTEN else None


def _along(memory: duckdb.DuckDBPyConnection, by: str, read: Mapping[str, _Numbers]) -> tuple[dict[str, str], set[str]]:
    """Columns that say when rows begin of which none begins before the last one has ended, and the column that says so; and
    those that count the rows of each person."""
    whose = memory.execute(f"SELECT dense_rank() OVER (ORDER BY {quoted(by)}) AS w FROM met ORDER BY rowid").fetchnumpy()["w"]
    apart, counts = dict[str, str](), set[str]()
    for start, begins in read.items():
        filled = np.flatnonzero(~np.isnan(begins))
        rows = filled[np.lexsort((begins[filled], whose[filled]))]
        before, after = rows[:-1][(same := whose[rows[:-1]] == whose[rows[1:]])], rows[1:][same]
        if len(rows) == len(whose) and len(before) >= _FEWEST // 2:
            first = np.setdiff1d(rows, after)
            if (begins[first] == 1).all() and (begins[after] == begins[before] + 1).all():
                counts.add(start)
        for end, ends in read.items():
            lasts = ends[before] >= begins[before]
            if start == end or len(before) < _FEWEST // 2 or np.isnan(ends[before]).mean() > 1 - _FILLED:
                continue
            known = ~np.isnan(ends[before])
            # What has no length keeps no distance: the last of a list of moments tells nothing.
            long = (ends[before] > begins[before])[known].mean() >= 1 - _FILLED
            if long and lasts[known].all() and (ends[before] <= begins[after])[known].all():
                apart.setdefault(start, end)
    return apart, counts


def _leads_to(follows: Mapping[str, str], start: str, column: str) -> bool:
    while start in follows and start != column:
        start = follows[start]
    return start == column
