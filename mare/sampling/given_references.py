"""References of given rows: found among the other given rows and the public tables, or refused. None is changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from mare.codec.elapsed import pace_name
from mare.codec.ticks import null_mask
from mare.domain import CodeArray, smallest_dtype
from mare.errors import SourceError
from mare.graph.modelled import presence
from mare.relational.coding import Links
from mare.relational.filling import VIA, Constant, Filling, FromAbove, Linked
from mare.relational.placing import Index
from mare.relational.public import PublicTables, Vocabulary
from mare.relational.relations import Ranked, Stepped, TableRelations, Words, back_codes, paces_along, rank_codes, run_codes
from mare.schema import Schema, Table

from .given_columns import Columns, key_texts, places_of
from .storing import numbered


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
