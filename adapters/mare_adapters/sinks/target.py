"""`Target`: what all sinks of databases and files do alike, and what happens after the last row, told step by step.

A step goes over the rows of a table: it builds an index, checks a foreign key. So the rows of all steps are what there is to do
(`mare.ports.Finishes`).

What mare created carries a mark: only that may be replaced. A mark is a table's comment, where a database has such, or a file in
a folder. It names the release, and holds a seal over the table's name and, on a server, its database: a table that was renamed,
or made after the likeness of a marked one (by LIKE, or from a dump that was restored elsewhere), is not mare's any more. It comes
with the table itself, in the same transaction or rename; no table that was there before ever gets one: who made a table keeps it.

On their way out (`fitted`), batches have every column in the Arrow type of its kind: each sink meets thirteen kinds, no others.
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Self, TypeVar, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from mare.errors import InternalError, SinkError
from mare.ports import TRUE_ROWS, Place, Watch, WorkStep
from mare.schema.reflection import ReflectedColumn, ReflectedForeignKey, ReflectedTable
from mare_adapters.boundary import connecting, writing
from mare_adapters.dialects import Dialect
from mare_adapters.locations import sql_location
from mare_adapters.sources.columnar import arrow_type

from .target_tables import TargetTables
from .wording import Wording

TypeOf = Callable[[ReflectedColumn], "pa.DataType"]


def fitted(batch: pa.RecordBatch, table: ReflectedTable, type_of: TypeOf = arrow_type) -> pa.RecordBatch:
    """The batch in the table's own order and types. A value that does not fit, or is missing, is refused by its column's name."""
    arrays, fields = [], []
    for column in table.columns:
        place = batch.schema.get_field_index(column.name)
        if place < 0:
            raise SinkError(f"{table.name}: no values came for the column {column.name}. The target was left as it was.")
        required = not column.nullable or column.name in table.key
        array = _cast(batch.column(place), column, type_of(column), table.name)
        if required and array.null_count:
            raise SinkError(
                f"{table.name}.{column.name}: a value is missing where none may be. The target was left as it was. "
                "Say nullable: true in the schema, or declare the column so in the source."
            )
        arrays.append(array)
        fields.append(pa.field(column.name, array.type, nullable=not required))
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def _cast(array: pa.Array, column: ReflectedColumn, wanted: pa.DataType, table: str) -> pa.Array:
    if array.type == wanted:
        return array
    if isinstance(array, pa.DictionaryArray):
        array = array.dictionary_decode()
    try:
        if pa.types.is_decimal(wanted) and pa.types.is_integer(array.type):
            # Arrow makes room for any int64 first, and looks at the values afterwards.
            array = pc.cast(array, pa.decimal128(min(38, 19 + wanted.scale), wanted.scale))
        # Moments are rounded where the target's are coarser. Everything else must fit.
        return pc.cast(array, options=pc.CastOptions(target_type=wanted, allow_time_truncate=True))
    except pa.ArrowException:
        raise SinkError(
            f"{table}.{column.name}: a synthetic value ({array.type}) does not fit the column's type "
            f"({column.sql_type or column.kind}). The target was left as it was. Describe the column in the schema as stored."
        ) from None


def seconds(array: pa.Array) -> pa.Array:
    """Durations as an exact number of seconds, for targets that have no type for them."""
    whole = pc.cast(pc.cast(pc.cast(array, pa.duration("us")), pa.int64()), pa.decimal128(19, 0))
    return pc.multiply(whole, pa.scalar(Decimal("0.000001"), pa.decimal128(6, 6)))


def csv_rows(batch: pa.RecordBatch) -> bytes:
    """Rows as CSV: NULL is nothing between the commas, a text always stands in quotes, bytes are ``\\x`` and hexadecimal."""
    columns = [_written(column) for column in batch.columns]
    sink = pa.BufferOutputStream()
    plain = pa.table(columns, names=[f"c{number}" for number in range(len(columns))])
    arrow_csv.write_csv(plain, sink, arrow_csv.WriteOptions(include_header=False))
    return cast(bytes, sink.getvalue().to_pybytes())


def _written(column: pa.Array) -> pa.Array:
    if pa.types.is_duration(column.type):
        return seconds(column)
    if pa.types.is_binary(column.type):
        return pa.array([None if value is None else f"\\x{value.hex()}" for value in column.to_pylist()], type=pa.string())
    return column


_MARK = re.compile(r"(?:synthetic, created by mare from release (\w+)|TRUE ROWS .internal, not private.) \(mark ([0-9a-f]{8})\)")
_UNKNOWN = "unknown"


def mark_of(table: str, release: str, where: str = "") -> str:
    """The comment of a table that mare creates. Letters, digits and brackets alone: no engine has to escape it. ``where`` tells
    its database from all others."""
    if release == TRUE_ROWS:
        return f"TRUE ROWS [internal, not private] (mark {_seal(table, TRUE_ROWS, where)})"
    name = release if re.fullmatch(r"\w+", release) else _UNKNOWN
    return f"synthetic, created by mare from release {name} (mark {_seal(table, name, where)})"


def marked(comment: str | None, mark: str) -> str:
    """The comment that the source has for the table, and the mark."""
    return f"{comment} ({mark})" if comment else mark


def is_mark(comment: object, table: str, where: str = "") -> bool:
    """Whether a comment is the mark of the table of this name there."""
    mark = _MARK.search(str(comment or ""))
    return mark is not None and mark[2] == _seal(table, mark[1] or TRUE_ROWS, where)


def has_mark(comment: object) -> bool:
    """Whether a table was once created by mare, whatever it is called now."""
    return _MARK.search(str(comment or "")) is not None


def refuse_unmarked(label: str, tables: Sequence[str], remedy: str = "Drop it yourself, or give another target.") -> None:
    """``tables`` are those that are in the way and were not created by mare."""
    if tables:
        raise SinkError(
            f"{label} already holds {', '.join(tables)}, without the mark of what mare created, and --replace overwrites nothing "
            f"else (what an earlier mare wrote has none either). It was left as it was. {remedy}"
        )


def refuse_others(target: Path, held: Sequence[str], written: Sequence[str], what: str) -> None:
    """A file is replaced as a whole. That must not take anything along that is not written anew."""
    names = {name.casefold() for name in written}
    others = sorted(name for name in held if name.casefold() not in names)
    if others:
        shown = ", ".join(others[:8]) + (f" and {len(others) - 8} more" if len(others) > 8 else "")
        raise SinkError(f"{target} also holds {what} {shown}, which would be lost. It was left as it was: give another path.")


def refuse_what_is_there(target: Path, held: Mapping[str, bool], *, replace: bool) -> None:
    """Nothing is overwritten that nobody said to replace, nor anything that mare did not create: ``held`` tells which it did."""
    foreign = [name for name, ours in held.items() if not ours]
    if held and not replace:
        what = (
            "and mare did not create it. Give another path."
            if foreign
            else "Give another path, or say --replace to overwrite it."
        )
        raise SinkError(f"{target} exists already{',' if foreign else '.'} {what}")
    refuse_unmarked(str(target), foreign, "Remove it yourself, or give another path.")


def _seal(table: str, release: str, where: str) -> str:
    # In one case: a server may fold the names of its tables.
    return hashlib.sha256(f"{release}\0{table.casefold()}\0{where}".encode()).hexdigest()[:8]


T = TypeVar("T")


@dataclass(frozen=True)
class Step:
    """One thing to do, and the tables whose rows it goes over."""

    what: str
    tables: tuple[str, ...]
    statement: str = ""
    optional: bool = False
    """Whether the target may refuse it: then it is left out, with a note."""


@dataclass(eq=False)
class Finishing:
    """Counts rows as they are written, and tells the steps that go over them."""

    rows: Counter[str] = field(default_factory=Counter)
    watch: Watch | None = None

    def over(self, steps: Sequence[Step]) -> Iterator[Step]:
        """The steps, each told as it begins."""
        sizes = [sum(self.rows[table] for table in step.tables) for step in steps]
        for number, step in enumerate(steps):
            if self.watch is not None:
                self.watch(WorkStep(step.what, sum(sizes[:number]), sum(sizes)))
            yield step


class Target:
    """The part of a `mare.ports.Sink` that no engine changes."""

    def __init__(self, label: str, *, replace: bool) -> None:
        self._label = label
        self._replace = replace
        self._targets = TargetTables(())
        self._finishing = Finishing()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.label!r})"

    @property
    def label(self) -> str:
        return self._label

    @property
    def notes(self) -> tuple[str, ...]:
        return self._targets.notes

    def tell_finishing(self, watch: Watch) -> None:
        self._finishing.watch = watch


class ServerTarget(Target, ABC):
    """A database on a server, over one connection of its driver, which the stack closes."""

    def __init__(self, location: str | Path, *, replace: bool, dialect: Dialect | None) -> None:
        self._location = sql_location(location, SinkError, dialect)
        super().__init__(self._location.label, replace=replace)
        self._stack = ExitStack()
        self._notes: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        return self._notes

    def __enter__(self) -> Self:
        with connecting(self._location, SinkError):
            self._connect()
        return self

    def place(self) -> Place:
        with writing(self._location, "the target"):
            return self._place()

    def write(self, table: str, batch: pa.RecordBatch) -> None:
        target = self._targets.table(table)
        if not target.columns or not batch.num_rows:
            return
        ready = fitted(batch, target)
        with writing(self._location, f"table {table}", after=f"It was left as it was.{self._remedy}"):
            self._write(target, ready)
        self._finishing.rows[table] += batch.num_rows

    @property
    def _remedy(self) -> str:
        """What else to say where a row is refused."""
        return ""

    @abstractmethod
    def _connect(self) -> None:
        """Open the connection; also another one, where a server has closed what was idle and nothing was begun yet."""

    @abstractmethod
    def _place(self) -> Place:
        """Where the tables are."""

    @abstractmethod
    def _write(self, table: ReflectedTable, batch: pa.RecordBatch) -> None:
        """Add rows, which are in the table's own types, to it."""

    def _refuse_what_is_no_table(self, others: Sequence[str]) -> None:
        """``others`` have the name of a table that is to be written: views, say."""
        if others:
            raise SinkError(f"{self.label} already holds {', '.join(others)}. It was left as it was: give another target.")

    def _refuse_unfit(self, faults: Iterable[str]) -> None:
        """``faults``: why tables that are there and empty could not be filled as they are."""
        if listed := list(faults):
            raise SinkError(
                f"{self.label} holds tables that cannot be filled: {'; '.join(listed)}. Nothing was written. "
                "Change them, or drop them and let mare create its own."
            )

    def _refuse_tables_in_the_way(self, tables: Sequence[str]) -> None:
        """``tables`` hold rows, and are not to be replaced: nobody said so, or mare did not create them."""
        if self._replace:
            refuse_unmarked(self.label, tables)
        elif tables:
            raise SinkError(
                f"{self.label} already holds rows in {', '.join(tables)}. It was left as it was: give another target, "
                "or say --replace to drop these tables and write them anew, where mare created them."
            )


def entered(opened: T | None) -> T:
    """What a sink has from the moment that it is entered."""
    if opened is None:
        raise InternalError("a sink was written to before it was entered")
    return opened


def dangling(wording: Wording, table: str, key: ReflectedForeignKey, schema: str = "") -> str:
    """Asks for a row of the table that refers to none."""
    pairs = [(wording.name(here), wording.name(there)) for here, there in zip(key.columns, key.references, strict=True)]
    filled = " AND ".join(f"c.{here} IS NOT NULL" for here, _ in pairs)
    equal = " AND ".join(f"p.{there} = c.{here}" for here, there in pairs)
    parents = f"{wording.name(schema)}.{wording.name(key.table)}" if schema else wording.name(key.table)
    missing = f"NOT EXISTS (SELECT 1 FROM {parents} AS p WHERE {equal})"
    return f"SELECT 1 FROM {wording.name(table)} AS c WHERE {filled} AND {missing} LIMIT 1"
