"""The order of texts that hold numbers: month_3 stands before month_12. Each text is filled up by itself, so that nobody else's
decides where it stands; a fit says it in SQL, a sampler that is given rows in Python."""

from __future__ import annotations

import re

import pyarrow as pa

from .parsing import is_text_type

_DIGITS = 12
"""Of a number within a text: one of more digits stands where its text does."""


def natural_sql(text: str) -> str:
    """Each number in a text filled up with zeros."""
    filled = f"regexp_replace({text}, '([0-9]+)', '{'0' * _DIGITS}\\1', 'g')"
    return f"regexp_replace({filled}, '0{{0,{_DIGITS}}}([0-9]{{{_DIGITS},}})', '\\1', 'g')"


def naturally(column: pa.Array) -> pa.Array:
    """The same of a column that may hold texts."""
    if not is_text_type(column.type):
        return column
    filled = (None if text is None else re.sub("[0-9]+", lambda m: m[0].zfill(_DIGITS), text) for text in column.to_pylist())
    return pa.array(filled, pa.string())
