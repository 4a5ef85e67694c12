"""Public tables: copied as they are, and the vocabularies whose keys other tables refer to.

They hold nothing about anybody, so they travel in the release and sampling needs no source. A key's code is its place in
the table, which `in_order` puts into one order whatever the source's was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mare.codec.category import canonical
from mare.errors import ReleaseError, SourceError
from mare.schema.strict import Value

from .placing import Index

Texts = tuple[str, ...]
"""A key as it is compared: each of its columns as text."""


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The different keys of a public table in some of its columns: code i is the i-th of them."""

    table: str
    columns: tuple[str, ...]
    keys: tuple[Texts, ...]
    places: Index
    """Of each key, the first row that has it."""
    strangers: tuple[str, ...] = ()
    """Keys that were learned, though the table does not have them: the last of ``keys``, their places beyond its rows."""

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def codes(self) -> dict[Texts, int]:
        return {key: code for code, key in enumerate(self.keys)}

    def with_strangers(self, strangers: Sequence[str], rows: int) -> Vocabulary:
        """The same and these, of a table with so many rows."""
        places = np.append(self.places, np.arange(rows, rows + len(strangers)))
        return replace(self, keys=(*self.keys, *((key,) for key in strangers)), places=places, strangers=tuple(strangers))


@dataclass(frozen=True, eq=False)
class PublicTable:
    """One public table, whole."""

    name: str
    rows: pa.Table
    key: tuple[str, ...] = ()
    _vocabularies: dict[str, Vocabulary] = field(default_factory=dict, init=False, repr=False)
    """Those that were asked for: each is asked for many times."""

    def column(self, name: str) -> pa.ChunkedArray:
        """By name; case does not matter where it is unambiguous."""
        names = [c for c in self.rows.column_names if c == name]
        names = names or [c for c in self.rows.column_names if c.casefold() == name.casefold()]
        if len(names) != 1:
            held = ", ".join(self.rows.column_names)
            raise SourceError(f"the public table {self.name!r} has no column {name!r}. It has: {held}.")
        return self.rows.column(names[0])

    def texts(self, columns: Sequence[str]) -> list[Texts | None]:
        """Of each row these columns as text; None where one of them is NULL."""
        listed = [self.column(name).to_pylist() for name in columns]
        return [None if None in values else tuple(map(text, values)) for values in zip(*listed, strict=True)]

    def vocabulary(self, columns: Sequence[str] | None = None, where: Mapping[str, Sequence[Value]] | None = None) -> Vocabulary:
        """The keys that others refer to: those of the table's key, unless other columns are named; of all rows, or of those that
        have one of these values in these columns."""
        wanted = tuple(columns or self.key)
        if not wanted:
            raise SourceError(f"the public table {self.name!r} is referred to, but has no key. Write `key:` under it.")
        asked = repr((wanted, where))
        if asked not in self._vocabularies:
            self._vocabularies[asked] = self._vocabulary(wanted, where or {})
        return self._vocabularies[asked]

    def _vocabulary(self, wanted: tuple[str, ...], where: Mapping[str, Sequence[Value]]) -> Vocabulary:
        first: dict[Texts, int] = {}
        wanted_rows = np.ones(self.rows.num_rows, dtype=np.bool_)
        for column, values in where.items():
            among = {text(value) for value in values}
            wanted_rows &= np.array([key is not None and key[0] in among for key in self.texts([column])], dtype=np.bool_)
        for place, key in enumerate(self.texts(wanted)):
            if key is not None and wanted_rows[place]:
                first.setdefault(key, place)
        return Vocabulary(self.name, wanted, tuple(first), np.fromiter(first.values(), dtype=np.int64, count=len(first)))

    def take(self, column: str, places: NDArray[np.integer]) -> pa.Array:
        """A column's values at these rows; NULL where there is no such row."""
        nowhere = (places < 0) | (places >= self.rows.num_rows)
        index = pa.array(np.where(nowhere, 0, places), mask=nowhere)
        taken = self.column(column).take(index)
        return taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken


PublicTables = Mapping[str, PublicTable]


def text(value: object) -> str:
    """The text by which keys are compared, as the stage makes it: a key stored as 12.0 is one stored as 12."""
    if isinstance(value, Decimal) and value == value.to_integral_value():
        return str(int(value))
    if isinstance(value, Decimal) and value.is_finite():
        return format(value.normalize(), "f")
    return canonical(value)


def in_order(table: PublicTable) -> PublicTable:
    """The same rows in the order of their keys, so that codes do not depend on how a source happens to answer."""
    if not table.key or not table.rows.num_rows:
        return table
    keys = table.texts(table.key)
    known = [key for key in keys if key is not None]
    if len(known) < len(keys):
        # It comes out as it is, and no target takes a key that is missing: said now, not when everything is paid for.
        raise SourceError(
            f"the public table {table.name!r}: its key ({', '.join(table.key)}) is missing in {len(keys) - len(known):,} rows. "
            "Correct the source, or name the right key in the schema."
        )
    if len(set(known)) != len(known):
        raise SourceError(
            f"the public table {table.name!r}: its key ({', '.join(table.key)}) is not unique. Correct the source, or name the "
            "right key in the schema."
        )
    order = sorted(range(len(keys)), key=lambda place: keys[place] or ())
    return PublicTable(table.name, table.rows.take(order).combine_chunks(), table.key)


def write_public(table: PublicTable) -> bytes:
    """As an Arrow file: exact types, and no code runs when it is read."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.rows.schema) as writer:
        writer.write_table(table.rows)
    return bytes(sink.getvalue())


def read_public(name: str, key: tuple[str, ...], content: bytes) -> PublicTable:
    """Back from `write_public`."""
    try:
        with pa.ipc.open_file(pa.BufferReader(content)) as reader:
            rows = reader.read_all()
        rows.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise ReleaseError(f"the public table {name!r} cannot be read ({type(error).__name__}).") from None
    return PublicTable(name, rows, key)
