"""Columns that go with another one (`determined: {goes_with: …}`): a code and its name, learned as one list of pairs.

    code, name, … ─► **one text** ─► list, codes, model ─► one text ─► code, name, …

The text begins with the column's own value, so what is true of that (the prefixes of a code) is true of the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from .parsing import by_distinct

_BETWEEN = "\x1f"
"""Stands before each further value; then a mark, where there is one."""
_THERE = "+"
_NONE = "\x1e"
"""In place of a first value that is NULL where others are not."""


def joined_sql(first: str, others: Sequence[str]) -> str:
    """The one text of these SQL expressions, NULL where all of them are."""
    texts = [f"CAST({value} AS VARCHAR)" for value in (first, *others)]
    told = " || ".join(f"'{_BETWEEN}' || coalesce('{_THERE}' || {text}, '')" for text in texts[1:])
    return f"CASE WHEN coalesce({', '.join(texts)}) IS NOT NULL THEN coalesce({texts[0]}, '{_NONE}') || {told} END"


def joined(first: pa.Array, others: Sequence[pa.Array]) -> pa.Array:
    """The same of texts."""
    told = [pc.fill_null(pc.binary_join_element_wise(_THERE, text, ""), "") for text in others]
    every = pc.binary_join_element_wise(pc.fill_null(first, _NONE), *told, _BETWEEN)
    return pc.if_else(pc.is_valid(pc.coalesce(first, *others)), every, pa.scalar(None, pa.string()))


def own_text(text: str | None) -> str | None:
    """The column's own value."""
    own = None if text is None else text.partition(_BETWEEN)[0]
    return None if own == _NONE else own


def parted(values: pa.Array, others: int) -> list[pa.Array]:
    """The column's own values, and those of the ``others``."""

    def other(place: int, text: object) -> str | None:
        parts = str(text).split(_BETWEEN)
        return parts[place].removeprefix(_THERE) if place < len(parts) and parts[place] else None

    own = by_distinct(values, lambda text: own_text(str(text)), pa.string())
    return [own, *(by_distinct(values, partial(other, place), pa.string()) for place in range(1, others + 1))]
