"""The columns of given rows: found by name, in the types that come out, and refused where they cannot come out.

No message carries a value: rows that somebody gives may be of real people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mare.codec.parsing import by_distinct, clocks, is_text, moments, numbers
from mare.codec.ticks import null_mask
from mare.errors import SourceError
from mare.relational.filling import Constant, Faked, Filling, Fresh, FromAbove, Linked, Numbered, WorkedOut
from mare.relational.placing import NOWHERE, Index
from mare.schema.columns import AnyColumn, TimeColumn
from mare.schema.reflection import ReflectedColumn, ReflectedTable

from .storing import as_stored, as_text

Columns = dict[str, pa.Array]


def given_columns(
    table: ReflectedTable,
    rows: pa.Table,
    filled: Mapping[str, Filling],
    described: Mapping[str, AnyColumn],
    needed: Sequence[str],
) -> Columns:
    """By the schema's names, the columns that are there, each in its stored kind. Every fault at once."""
    columns: Columns = {}
    faults: list[str] = []
    for name, filling in filled.items():
        stored = table.column(name)
        at = None if stored is None else _place(rows.column_names, stored.name)
        if stored is None or at is None:
            if name in needed or not _can_be_left_out(filling):
                faults.append(f"{name} is missing")
            continue
        values = rows.column(at).combine_chunks()
        kept = _in_kind(values, described.get(name), stored)
        unread = int((null_mask(kept) & ~null_mask(values)).sum())
        if unread:
            faults.append(f"{name}: {unread:,} values cannot be read as {stored.kind}")
        elif kept.null_count and (not stored.nullable or name in needed):
            faults.append(f"{name}: {kept.null_count:,} values are missing, and none may be")
        columns[name] = kept
    if faults:
        held = ", ".join(rows.column_names)
        raise SourceError(f"given {table.name}:\n" + "\n".join(f"  - {fault}" for fault in faults) + f"\nIt has: {held}.")
    return columns


def unknown_columns(table: ReflectedTable, rows: pa.Table) -> list[str]:
    """Columns that the table does not have: left out."""
    return [name for name in rows.column_names if table.column(name) is None]


def _place(names: Sequence[str], wanted: str) -> int | None:
    same = [i for i, name in enumerate(names) if name == wanted]
    same = same or [i for i, name in enumerate(names) if name.casefold() == wanted.casefold()]
    return same[0] if len(same) == 1 else None


def _can_be_left_out(filling: Filling) -> bool:
    """What mare can make without looking at the rest of the row."""
    if isinstance(filling, Linked):
        return filling.way in ("pool", "other_entity", "interval")
    return isinstance(filling, Fresh | Faked | FromAbove | Numbered | Constant | WorkedOut)


def _in_kind(values: pa.Array, described: AnyColumn | None, stored: ReflectedColumn) -> pa.Array:
    """Values as the source stores them, texts of a CSV file included. What cannot be read becomes NULL."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    forms = described.formats if isinstance(described, TimeColumn) else ()
    if is_text(values) and stored.kind in ("date", "datetime"):
        values = moments(values, forms)
    elif is_text(values) and stored.kind == "time":
        values = clocks(values, forms)
    elif is_text(values) and stored.kind == "duration":
        values = _seconds(values)
    elif stored.kind == "integer":
        values = _whole(values)
    if pa.types.is_timestamp(values.type):
        values = values.cast(pa.timestamp("us", tz=values.type.tz), safe=False).cast(pa.timestamp("us"))
    return as_stored(values, described, stored)


def _whole(values: pa.Array) -> pa.Array:
    """Numbers of an integer column as they are, NULL for those that it cannot hold: a key that is rounded is another key."""
    kind = values.type
    if is_text(values):
        short = pc.all(pc.match_substring_regex(values, r"^\s*[-+]?[0-9]{1,18}\s*$")).as_py()
        if short is not False:
            return values
    elif not (pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_uint64(kind)):
        return values
    return by_distinct(values, lambda value: _whole_number(str(value)), pa.int64())


def _whole_number(text: str) -> int | None:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    held = number.is_finite() and -(2**63) <= number < 2**63 and number == number.to_integral_value()
    return int(number) if held else None


def _seconds(values: pa.Array) -> pa.Array:
    """A number of seconds, as mare writes lengths of time into CSV files."""
    return pc.round(pc.multiply(numbers(values), 1e6)).cast(pa.int64(), safe=False).cast(pa.duration("us"))


def key_texts(columns: Columns, names: Sequence[str]) -> pa.Array:
    """Keys of one or several columns as texts to compare; NULL where a part is NULL."""
    texts = [as_text(columns[name]) for name in names]
    return texts[0] if len(texts) == 1 else pc.binary_join_element_wise(*texts, "\x1f", null_handling="emit_null")


def places_of(wanted: pa.Array, keys: pa.Array) -> Index:
    """Of each key that is wanted, its place among the keys; `NOWHERE` where there is none."""
    places = pc.index_in(wanted, value_set=keys.drop_null(), skip_nulls=True) if len(keys) else pa.nulls(len(wanted), pa.int32())
    # Keys that are referred to are never NULL, so places among those that are not are places among all.
    return np.asarray(places.cast(pa.int64()).fill_null(NOWHERE), dtype=np.int64)


def check_unique(table: str, columns: Columns, keys: Sequence[tuple[str, ...]]) -> None:
    """Every key that is wholly there is there once."""
    for names in keys:
        if not names or not set(names) <= set(columns):
            continue
        texts = key_texts(columns, names).drop_null()
        twice = len(texts) - len(pc.unique(texts))
        if twice:
            raise SourceError(f"given {table}: {', '.join(names)} is a key, but {twice:,} rows repeat that of another row.")
