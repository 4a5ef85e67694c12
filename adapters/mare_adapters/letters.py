"""Values as texts: never an error, never one text for two values, and one text for one value in whatever type it comes.

Of bytes that are to be a text, what is no letter becomes a sign of Unicode's private area (U+EF80 to U+EFFF, one for each byte),
and so do such signs themselves: two keys that differ in the source still differ when they are read. A mark that stands for any
bad byte would make one of them, and give one patient's rows to another.

Whether pandas keeps a column as whole numbers, as floats or as objects depends on all of its values, so on other patients'. The
stage spells what comes in a type (`mare.stage.loading.as_text`); `spelled` spells objects, and both write the same value alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    import numpy as np

_PRIVATE = 0xEF00
_SIGNS = re.compile("[\uef80-\uefff]")
_BYTES = re.compile("[\udc80-\udcff]")
_BEYOND = 1 << 63
_FIRST, _LAST = "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"
LONGEST = (_BEYOND - 1) // 1_000_000 * 1_000_000
"""Microseconds of the longest time that is read: as many whole seconds as go into 64 bits, whatever unit a column has."""
_SECONDS = {
    "W": Fraction(604_800),
    "D": Fraction(86_400),
    "h": Fraction(3600),
    "m": Fraction(60),
    **{unit: Fraction(1, 1000**power) for power, unit in enumerate(("s", "ms", "us", "ns", "ps", "fs", "as"))},
}


def letters(raw: bytes, codec: str = "utf-8") -> str:
    """The text of these bytes."""
    try:
        text = raw.decode(codec)
    except UnicodeDecodeError:
        text = raw.decode(codec, "surrogateescape")
    if not text.isascii():
        text = _SIGNS.sub(lambda sign: "".join(chr(_PRIVATE + byte) for byte in sign[0].encode()), text)
        text = _BYTES.sub(lambda byte: chr(_PRIVATE + ord(byte[0]) - 0xDC00), text)
    return text


def lettered(text: str) -> str:
    """A text of Python's, half letters (surrogates) among it as their bytes."""
    return text if text.isascii() else letters(text.encode("utf-8", "surrogatepass"))


def spelled_values(values: Iterable[object]) -> pa.Array:
    """The texts of these values; what is None stays so."""
    return pa.array([None if value is None else spelled(value) for value in values], type=pa.string())


def spelled(value: object) -> str:
    """An object as a text."""
    import numpy as np
    import pandas as pd

    if isinstance(value, str):
        return lettered(value)
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float | np.floating):
        number = float(value)
        return str(int(number)) if number.is_integer() and -_BEYOND <= number < _BEYOND else repr(number)
    if isinstance(value, np.ndarray) and not value.ndim:
        return spelled(value.item())
    if isinstance(value, list | tuple | np.ndarray):  # a list only where a column holds nothing else; a None in it makes floats
        return f"[{', '.join(map(_element, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_element(name)}: {_element(held)}' for name, held in value.items())}}}"
    if isinstance(value, complex | np.complexfloating) and value.imag == 0:  # one of them makes all others complex
        return spelled(value.real)
    if isinstance(value, Decimal) and value.is_finite():
        return str(int(value)) if value == value.to_integral_value() else format(value.normalize(), "f")
    if isinstance(value, np.datetime64):
        try:
            value = pd.Timestamp(value)
        except (ValueError, OverflowError):  # further off than pandas knows
            return _FIRST if value < np.datetime64(0, "s") else _LAST
    if isinstance(value, pd.Timestamp) and value.tzinfo is not None:
        value = value.tz_convert("UTC").tz_localize(None)  # only there it is told whether its year is one of those
    if isinstance(value, datetime):
        if not 1 <= value.year <= 9999:  # pandas knows other years; no further off than they are read in a type
            return _FIRST if value.year < 1 else _LAST
        moment = value if value.tzinfo is None else in_utc(value)
        return _trimmed(moment.isoformat(" ", "microseconds"))
    if isinstance(value, time):
        return _trimmed(value.replace(tzinfo=None).isoformat("microseconds"))
    if isinstance(value, timedelta | np.timedelta64):
        return f"{min(max(microseconds(value), -LONGEST), LONGEST)} microseconds"
    return letters(value) if isinstance(value, bytes) else lettered(str(value))


def _element(value: object) -> str:
    """A value within a list: a text in quotes, and what is missing in one word, be it None or no number."""
    import pandas as pd

    if isinstance(value, str):
        return repr(value)
    if isinstance(value, date) and not isinstance(value, datetime):  # an array of pandas' knows moments alone
        return f"{value} 00:00:00"
    missing = pd.api.types.is_scalar(value) and pd.isna(value)  # type: ignore[call-overload]
    return "None" if missing else spelled(value)


def microseconds(value: timedelta | np.timedelta64) -> int:
    """How long something takes, rounded down; of any length, whatever unit it is kept in."""
    import numpy as np
    import pandas as pd

    if not isinstance(value, pd.Timedelta | np.timedelta64):
        return value // timedelta(microseconds=1)
    kept = value.asm8 if isinstance(value, pd.Timedelta) else value
    unit, times = np.datetime_data(kept.dtype)
    length = _SECONDS.get(unit, Fraction(0))  # years and months, which pandas does not know, have none
    return int(kept.astype(np.int64)) * times * length * 1_000_000 // 1


def in_utc(value: datetime) -> datetime:
    """Without its zone; the first or the last moment that there is where that would be another year (9999-12-31 23:59 in New
    York, which stands for "until further notice")."""
    try:
        return value.astimezone(UTC).replace(tzinfo=None)
    except OverflowError:
        return datetime.min if value.year == 1 else datetime.max


def _trimmed(clock: str) -> str:
    return clock.rstrip("0").rstrip(".") if "." in clock else clock
