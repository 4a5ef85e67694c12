"""Fresh identifiers: made from the number of the row alone, so that any chunk, and any row that refers to another, can make them.

Unique by construction: numbers go up, a uuid is a one-to-one function of the number and of the seed.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mare.domain import RowDraws, numbered_keys, purpose_of
from mare.relational.faking import fake_values
from mare.relational.filling import Fresh
from mare.relational.placing import Index
from mare.schema.reflection import ReflectedColumn

_PATTERN = re.compile(r"([^{}]*)\{n(?::0?(\d*)d?)?\}([^{}]*)")
"""Text, the number with leading zeros or without, text. Anything else is formatted row by row."""
_HEX = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
_DASHES = (8, 13, 18, 23)


def fresh_purpose(filling: Fresh, table: str, column: str, seed: int) -> int:
    """What identifiers of a column are drawn for. All that is made up in a row is about one person: it is drawn for the table."""
    return purpose_of(f"{table}.{column}", seed) if filling.fake is None else person_purpose(table, seed)


def person_purpose(table: str, seed: int) -> int:
    return purpose_of(f"{table} person", seed)


def fresh_values(filling: Fresh, stored: ReflectedColumn, numbers: Index, purpose: int) -> pa.Array:
    """The identifiers of the rows with these numbers, counted from 0."""
    if filling.fake is not None:
        return fake_values(filling.fake.kind, filling.fake.locale, numbers, purpose)
    generate = filling.generate or ("uuid" if stored.kind == "uuid" else "sequence")
    if generate == "uuid":
        return _uuids(numbers, purpose)
    counted = numbers + filling.start
    if generate == "pattern" and filling.pattern is not None:
        return _patterned(filling.pattern, counted)
    identifiers = pa.array(counted)
    return identifiers.cast(pa.string()) if stored.kind in ("string", "json", "other") else identifiers


def _patterned(pattern: str, numbers: Index) -> pa.Array:
    simple = _PATTERN.fullmatch(pattern)
    if simple is None or (len(numbers) and int(numbers.min()) < 0):
        return pa.array([pattern.format(n=int(n)) for n in numbers], type=pa.string())
    before, width, after = simple.groups()
    digits = pa.array(numbers).cast(pa.string())
    if width:
        padding = "0" if re.search(r"\{n:0", pattern) else " "
        digits = pc.utf8_lpad(digits, width=int(width), padding=padding)
    return pc.binary_join_element_wise(before, digits, after, "")


def _uuids(numbers: Index, purpose: int) -> pa.Array:
    """Version 4. Two of the words that a row's number is hashed to: the first alone is different for every number."""
    rows = len(numbers)
    draws = RowDraws(numbered_keys(purpose, numbers), purpose)
    words = np.stack([draws.bits(), draws.bits()], axis=1).astype(">u8")
    octets: NDArray[np.uint8] = words.view(np.uint8).reshape(rows, 16).copy()
    octets[:, 6] = (octets[:, 6] & 0x0F) | 0x40
    octets[:, 8] = (octets[:, 8] & 0x3F) | 0x80
    letters = np.empty((rows, 32), dtype=np.uint8)
    letters[:, 0::2], letters[:, 1::2] = _HEX[octets >> 4], _HEX[octets & 15]
    texts = np.full((rows, 36), ord("-"), dtype=np.uint8)
    texts[:, [place for place in range(36) if place not in _DASHES]] = letters
    offsets = np.arange(rows + 1, dtype=np.int32) * 36
    return pa.StringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(texts.tobytes()))
