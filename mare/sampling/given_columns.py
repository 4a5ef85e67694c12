"""The columns of given rows: found by name, in the types that come out, and refused where they cannot come out. References are
found among the other given rows and the public tables, or refused; none is changed.

No message carries a value: rows that somebody gives may be of real people.

They come from a CSV or Parquet file, or from a frame: the one place where sampling reads, and what is read is the user's own. An
unquoted empty field of a CSV file is NULL, a quoted one is empty.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv as arrow_csv

from mare.codec.elapsed import pace_name
from mare.codec.parsing import by_distinct, clocks, is_text, moments, numbers
from mare.codec.ticks import null_mask
from mare.domain import CodeArray, smallest_dtype
from mare.errors import SourceError
from mare.finding import refuse_files_in
from mare.graph.modelled import presence
from mare.ports import Sink
from mare.relational.coding import Links
from mare.relational.filling import VIA, Constant, Faked, Filling, Fresh, FromAbove, Linked, Numbered, WorkedOut
from mare.relational.placing import NOWHERE, Index
from mare.relational.public import PublicTables, Vocabulary
from mare.relational.relations import Ranked, Stepped, TableRelations, Words, back_codes, paces_along, rank_codes, run_codes
from mare.schema import Schema, Table
from mare.schema.columns import AnyColumn, TimeColumn
from mare.schema.reflection import ReflectedColumn, ReflectedTable
from mare.secrecy import require_path

from .storing import as_stored, as_text, numbered

if TYPE_CHECKING:
    import pandas as pd


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


@dataclass(frozen=True, eq=False)
class GivenLinks(Links):
    """Where the references of given rows lead: to public rows, or to given ones."""

    leads: Mapping[str, str] = field(default_factory=dict)
    """Of those that lead to given rows: to which table."""


@dataclass(frozen=True, eq=False)
class Surroundings:
    """What references may lead to."""

    schema: Schema
    public: PublicTables
    pools: Mapping[str, Mapping[str, pa.Array]]
    columns: Mapping[str, Columns]
    """Of the given tables, this one among them: in the order of their places."""
    entities: Mapping[str, Index]
    """Of each row of them, the number of its entity."""


def given_links(
    around: Surroundings, table: str, filled: Mapping[str, Filling], related: TableRelations, parent: Index
) -> GivenLinks:
    """The references of a table's rows, or an error that says which lead nowhere."""
    columns, schema = around.columns[table], around.schema
    codes: dict[str, CodeArray] = {}
    free: dict[str, CodeArray] = {}
    targets: dict[str, Index] = {}
    leads: dict[str, str] = {}
    key: Index | None = None
    for reference, pairs in _links(filled).items():
        link, names, there = pairs[0][1], [name for name, _ in pairs], [linked.column for _, linked in pairs]
        if not set(names) <= set(columns):
            described = related.reference(reference)
            if link.way == "interval" and isinstance(described, Ranked):
                # It is found by the row's time; what looks at it meets none.
                codes[reference] = np.full(len(parent), described.size - 1, dtype=smallest_dtype(described.size))
                free |= {pace_name(reference): np.zeros(len(parent), dtype=np.uint8)} if described.onward else {}
            continue
        wanted = key_texts(columns, names)
        if link.way == "via":
            words = around.public[link.table].vocabulary()
            key = _public_codes(table, names, wanted, words)
            targets[VIA] = words.places[key] if len(words) else key
        elif link.way == "public":
            described = related.reference(reference)
            if isinstance(described, Words):
                codes[reference] = described.encode(_public_codes(table, names, wanted, described.vocabulary))
        elif link.way == "pool":
            held = {name: around.pools[link.table][name] for name in there}
            _require(
                table, names, wanted, places_of(wanted, key_texts(held, there)), f"a row of {link.table}, which is made anew"
            )
        elif link.way != "owned":
            places = _given_places(around, table, link.table, names, there, wanted)
            if link.way in ("position", "interval"):
                _same_entity(around, table, link.table, names, places)
            described = related.reference(reference)
            if isinstance(described, Ranked):
                targets[reference], leads[reference] = places, link.table
                mine, theirs, onward = around.entities[table], around.entities[link.table], parent if described.onward else None
                codes[reference] = rank_codes(places, mine, theirs, described.size, described.nullable, onward)
                if onward is not None:
                    free[pace_name(reference)] = paces_along(places, mine, theirs, onward)
            elif isinstance(described, Stepped):
                targets[reference], leads[reference] = places, table
                codes[reference] = back_codes(_within(places, parent), described.back, described.itself)
    for whole in related.wholes:
        if set(whole.columns) <= set(columns):
            _public_codes(table, list(whole.columns), key_texts(columns, whole.columns), whole.keys)
    codes |= {presence(name): _given_presence(columns, schema.tables[table], name, len(parent)) for name in related.exists}
    for name in related.runs & set(columns):
        shared, nullable = numbered(key_texts(columns, [name])), schema.tables[table].columns[name].nullable
        codes[presence(name)] = run_codes(shared, codes[presence(name)] > 0, parent, nullable=nullable)
    _check_unfilled(around, table, filled, schema)
    return GivenLinks(codes, targets, key, free, leads=leads)


def _given_presence(columns: Columns, described: Table, name: str, rows: int) -> CodeArray:
    """Whether an identifier or a reference is there in given rows; where it is not given, it is made for all of them."""
    names = list(described.reference_columns(name)) if name in described.references else [name]
    return (~null_mask(key_texts(columns, names))).astype(np.uint8) if set(names) <= set(columns) else np.ones(rows, np.uint8)


def _links(filled: Mapping[str, Filling]) -> dict[str, list[tuple[str, Linked]]]:
    links: dict[str, list[tuple[str, Linked]]] = {}
    for name, filling in filled.items():
        if isinstance(filling, Linked):
            links.setdefault(filling.reference, []).append((name, filling))
    return links


def _require(table: str, names: list[str], wanted: pa.Array, places: Index, what: str) -> None:
    lost = int(((places < 0) & ~null_mask(wanted)).sum())
    if lost:
        raise SourceError(
            f"given {table}: {', '.join(names)} of {lost:,} rows leads to no row: it must be {what}. Correct the rows, or leave "
            "the column out or empty where it may be."
        )


def _public_codes(table: str, names: list[str], wanted: pa.Array, words: Vocabulary) -> Index:
    keys = pa.array(["\x1f".join(key) for key in words.keys], type=pa.string())
    places = places_of(wanted, keys)
    _require(table, names, wanted, places, f"a key of the public table {words.table}")
    return places


def _given_places(around: Surroundings, table: str, other: str, names: list[str], there: list[str], wanted: pa.Array) -> Index:
    held = around.columns.get(other)
    if held is None:
        if wanted.null_count == len(wanted):
            return np.full(len(wanted), -1, dtype=np.int64)
        raise SourceError(
            f"given {table}: {', '.join(names)} leads to {other}, which is not given, so its rows will have other keys. Give "
            f"{other} too, or leave the column empty where it may be."
        )
    places = places_of(wanted, key_texts(held, there))
    _require(table, names, wanted, places, f"a row of {other} that is given too")
    return places


def _same_entity(around: Surroundings, table: str, other: str, names: list[str], places: Index) -> None:
    theirs = around.entities[other]
    foreign = int(((places >= 0) & (theirs[np.maximum(places, 0)] != around.entities[table])).sum()) if len(theirs) else 0
    if foreign:
        raise SourceError(f"given {table}: {', '.join(names)} of {foreign:,} rows leads to a row of {other} that is another's.")


def _within(places: Index, parent: Index) -> Index:
    """Earlier rows of the same sequence; anything else counts as none."""
    same = (places >= 0) & (parent[np.maximum(places, 0)] == parent) if len(parent) else np.zeros(0, dtype=np.bool_)
    return np.where(same, places, -1).astype(np.int64)


def _check_unfilled(around: Surroundings, table: str, filled: Mapping[str, Filling], schema: Schema) -> None:
    """References that mare itself leaves NULL may be given all the same, where they lead to a row."""
    described, columns = schema.tables[table], around.columns[table]
    for label, reference in described.references.items():
        names = list(described.reference_columns(label))
        left = all(filled.get(name) == Constant(None) for name in names) and set(names) <= set(columns)
        if left and not schema.tables[reference.table].public:
            there = list(reference.column or schema.tables[reference.table].key or ())
            _given_places(around, table, reference.table, names, there, key_texts(columns, names))


def check_copies(table: str, columns: Columns, filled: Mapping[str, Filling], above: Mapping[str, pa.Array]) -> None:
    """Columns that copy what stands above (`subject_id` next to `hadm_id`) say the same. ``above`` holds what stands there."""
    for name, filling in filled.items():
        if isinstance(filling, FromAbove) and name in columns and name in above:
            mine, theirs = key_texts(columns, [name]), key_texts({name: above[name]}, [name])
            both = ~null_mask(mine)
            wrong = int((both & (np.asarray(mine, dtype=object) != np.asarray(theirs, dtype=object))).sum())
            if wrong:
                raise SourceError(
                    f"given {table}: {name} of {wrong:,} rows is not that of the row of {filling.table} they belong to."
                )


GivenRows: TypeAlias = "str | Path | pd.DataFrame | pa.Table"
Given: TypeAlias = "Mapping[str, GivenRows]"
"""Per table, its rows."""

_SEPARATORS = ",;\t|"


def read_given(table: str, rows: GivenRows) -> pa.Table:
    """The rows that are given for a table."""
    if isinstance(rows, pa.Table):
        given = rows
    elif isinstance(rows, str | Path):
        given = _read_file(table, rows)
    else:
        try:
            given = pa.Table.from_pandas(rows, preserve_index=False)
        except (pa.ArrowException, AttributeError, TypeError):
            raise SourceError(
                f"given {table}: it is neither a frame nor the path of a file, or its columns hold values of several types."
            ) from None
    twice = sorted({name for name in given.column_names if given.column_names.count(name) > 1})
    if twice:
        raise SourceError(f"given {table}: the columns {', '.join(twice)} are there more than once.")
    return given.combine_chunks()


def refuse_given_in(sink: Sink, given: Given) -> None:
    """A target that is replaced must not take along the files that somebody gives."""
    refuse_files_in(sink, ((f"given for {table}", Path(rows)) for table, rows in given.items() if isinstance(rows, str | Path)))


def parse_given(options: list[str]) -> dict[str, str]:
    """`TABLE=FILE`, as the command line has it."""
    files: dict[str, str] = {}
    for option in options:
        table, mark, path = option.partition("=")
        if not mark or not table.strip() or not path.strip():
            raise SourceError(f"--given is {option!r}; write TABLE=FILE, as in patients=new_patients.csv.")
        if table.strip() in files:
            raise SourceError(f"--given {table.strip()} is there twice. Put all of its rows into one file.")
        files[table.strip()] = path.strip()
    return files


def _read_file(table: str, location: str | Path) -> pa.Table:
    path, name = Path(location), Path(location).name.lower()
    require_path(path, SourceError, "the name of a file")
    try:
        if name.endswith((".parquet", ".pq")):
            return pq.read_table(path, partitioning=None)
        if name.endswith((".csv", ".csv.gz")):
            return _read_csv(path)
    except FileNotFoundError:
        raise SourceError(f"given {table}: there is no file {path}.") from None
    except (OSError, EOFError, UnicodeDecodeError, pa.ArrowException) as error:
        raise SourceError(
            f"given {table}: {path} cannot be read ({type(error).__name__}). It must be a CSV file in UTF-8 with a line of "
            "names, or a Parquet file, as its name says."
        ) from None
    raise SourceError(f"given {table}: {path} is neither .csv, .csv.gz nor .parquet.")


def _read_csv(path: Path) -> pa.Table:
    """Every value as text: the schema says what it means."""
    with pa.input_stream(str(path), compression="detect") as file:
        text = file.read(1 << 20).split(b"\n", 1)[0].decode("utf-8-sig").rstrip("\r")
    separator = max(_SEPARATORS, key=lambda sign: (text.count(sign), -_SEPARATORS.index(sign)))
    names = next(csv.reader([text], delimiter=separator), [])
    with pa.input_stream(str(path), compression="detect") as file:
        return arrow_csv.read_csv(
            file,
            parse_options=arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=True, ignore_empty_lines=len(names) > 1),
            convert_options=arrow_csv.ConvertOptions(
                column_types={name: pa.string() for name in names},
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
