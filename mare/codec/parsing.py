"""Text as numbers and times, value by value: what says neither becomes NULL, and no value ever gets into a message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mare.schema.columns.ticks import PLAIN, NumberForm

_NUMBER = r"^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,3})?$"
_WHOLE = r"^[-+]?[0-9]{1,18}$"
_ISO = r"^[1-9][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])([T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,9})?)?)?$"
"""Moments that Arrow reads as Python does, and never refuses: the last days of a month are left to Python."""
_MICROSECONDS = 26
"""Characters of such a moment, up to its microseconds."""
_VECTORISED = frozenset("YmdHMSjy")
"""Directives that Arrow formats as Python does."""


def is_text(values: pa.Array) -> bool:
    return is_text_type(values.type)


def is_text_type(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


UNDECODED = "[\uef80-\uefff]"
"""Of bytes that are to be a text, those that are no letters, as a regular expression: a source gives a sign for each of them
(`mare.ports.Source`), so that two keys that differ still do."""
NO_LETTER = "\ufffd"
"""Unicode's mark for any of them, in whatever is a value and not a key: a sign of one's own must not come out."""


def marked(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts with that mark, each by itself; all else as it is."""
    return pc.replace_substring_regex(_plain_texts(values), UNDECODED, NO_LETTER) if count_undecoded(values) else values


def count_undecoded(values: pa.ChunkedArray) -> int:
    """Texts that hold such a byte, or the mark of one that somebody else has put there."""
    if not is_text_type(values.type) or pc.all(pc.string_is_ascii(_plain_texts(values))).as_py() is not False:
        return 0  # nearly all texts: nothing in them can be wrong
    return int(pc.sum(pc.match_substring_regex(_plain_texts(values), f"{UNDECODED}|{NO_LETTER}")).as_py() or 0)


def _plain_texts(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Arrow looks into texts, and not into views of them."""
    return values.cast(pa.large_string()) if pa.types.is_string_view(values.type) else values


def as_texts(values: pa.Array) -> pa.Array:
    """As text, in offsets that reach as far as the column is long."""
    return values if pa.types.is_string(values.type) else values.cast(pa.large_string())


def numbers(values: pa.Array, form: NumberForm = PLAIN) -> pa.Array:
    """As doubles; NULL for what is no number. Texts are written in the ``form``, or plainly."""
    if pa.types.is_floating(values.type):
        return values.cast(pa.float64())
    if not is_text(values):
        return values.cast(pa.float64(), safe=False)
    return _matching(_plain(values, form), _NUMBER).cast(pa.float64())


def whole_numbers(values: pa.Array, form: NumberForm = PLAIN) -> pa.Array:
    """As 64-bit integers, rounded; NULL for what is no number."""
    if pa.types.is_integer(values.type) or pa.types.is_boolean(values.type):
        return values.cast(pa.int64(), safe=False)
    if is_text(values):
        values = _plain(values, form)
        exact = _matching(values, _WHOLE)
        return pc.coalesce(exact.cast(pa.int64()), _rounded(numbers(values)))
    return _rounded(numbers(values))


def _plain(values: pa.Array, form: NumberForm) -> pa.Array:
    """Texts of numbers as Arrow reads them; what is not in the form stays what it is."""
    if form == PLAIN:
        return values
    texts = pc.utf8_trim_whitespace(as_texts(values))
    bare = texts if form.thousands is None else pc.replace_substring_regex(texts, form.between, "")
    written = pc.match_substring_regex(texts, f"^({form.pattern})$")
    return pc.if_else(written, pc.replace_substring(bare, form.decimal, "."), texts)


def _rounded(doubles: pa.Array) -> pa.Array:
    known = pc.if_else(pc.is_nan(doubles), pa.scalar(None, pa.float64()), doubles)
    far = 2.0**60
    return pc.round(pc.max_element_wise(pc.min_element_wise(known, far, skip_nulls=False), -far, skip_nulls=False)).cast(
        pa.int64(), safe=False
    )


def _matching(values: pa.Array, pattern: str) -> pa.Array:
    trimmed = pc.utf8_trim_whitespace(as_texts(values))
    # Arrow reads no leading plus sign.
    plain = pc.replace_substring_regex(trimmed, r"^\+", "")
    return pc.if_else(pc.match_substring_regex(trimmed, pattern), plain, pa.scalar(None, trimmed.type))


def moments(values: pa.Array, forms: Sequence[str] = ()) -> pa.Array:
    """Text as moments, by the first strptime format that fits or as ISO 8601."""
    if forms:
        return _by_text(values, lambda text: _first_moment(text, forms), pa.timestamp("us"))
    texts = pc.utf8_trim_whitespace(as_texts(values))
    plain, none = pc.match_substring_regex(texts, _ISO), pa.scalar(None, texts.type)
    read = pc.utf8_slice_codeunits(pc.if_else(plain, texts, none), 0, _MICROSECONDS).cast(pa.timestamp("us"))
    return pc.coalesce(read, _by_text(pc.if_else(plain, none, texts), lambda text: _moment(text, None), pa.timestamp("us")))


def clocks(values: pa.Array, forms: Sequence[str] = ()) -> pa.Array:
    """Text as times of day."""

    def read(text: str) -> time | None:
        if not forms:
            return _clock(text)
        moment = _first_moment(text, forms)
        return None if moment is None else moment.time()

    return _by_text(values, read, pa.time64("us"))


def _by_text(values: pa.Array, read: Callable[[str], object], kind: pa.DataType) -> pa.Array:
    return by_distinct(as_texts(values), lambda text: read(text.strip()), kind)


def by_distinct(values: pa.Array, read: Callable[[Any], object], kind: pa.DataType) -> pa.Array:
    """What is made of values, each only once however often it occurs; NULL stays NULL."""
    coded = values.dictionary_encode()
    return pa.array([read(value) for value in coded.dictionary.to_pylist()], type=kind).take(coded.indices)


def _first_moment(text: str, forms: Sequence[str]) -> datetime | None:
    return next((moment for form in forms if (moment := _moment(text, form)) is not None), None)


def _moment(text: str, form: str | None) -> datetime | None:
    try:
        moment = datetime.strptime(text, form) if form is not None else datetime.fromisoformat(text)
        return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo is not None else moment
    except (ValueError, OverflowError):  # the first and the last day of all years have no such moment in every zone
        return None


def _clock(text: str) -> time | None:
    try:
        return time.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        return None


def formatted(values: pa.Array, form: str | None) -> pa.Array:
    """Dates, moments and times of day as text, by a strftime format or as ISO 8601."""
    if pa.types.is_date(values.type) or pa.types.is_timestamp(values.type):
        wanted = form or ("%Y-%m-%d" if pa.types.is_date(values.type) else None)
        directives = {after for before, after in pairwise(wanted or "") if before == "%"}
        if wanted is not None and directives <= _VECTORISED:
            return pc.strftime(values.cast(pa.timestamp("s"), safe=False), format=wanted)
    return by_distinct(values, lambda value: _text(value, form), pa.string())


def _text(value: date | time, form: str | None) -> str:
    if form is not None:
        return value.strftime(form)
    return value.isoformat(sep=" ") if isinstance(value, datetime) else value.isoformat()
