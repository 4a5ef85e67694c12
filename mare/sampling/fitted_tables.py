"""`FittedTables`: a release, ready to generate; `Chunk`, what is made of it: coded rows and the keys of their random numbers; and
`Decoder`, which makes values of them.

Each table of a chunk is decoded once, when it is first asked for: generation asks for the tables above a sequence, which tell
how far it has come; writing asks for all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from mare.codec import Above, DecodedTable, OrdinalCodec, RelativeCodec, ScaledCodec, TableCodec, decode_table
from mare.codec.category import CodeCodec
from mare.codec.ordinal import ORDINARY
from mare.codec.ticks import DAY_US, microseconds, null_mask
from mare.domain import CodeArray, Keys, RowDraws, as_generator, purpose_of
from mare.errors import InternalError
from mare.models import FittedModel
from mare.relational.coding import points_above, points_linked, points_to_come, siblings_in
from mare.relational.filling import Distinct
from mare.relational.placing import Index, PlacedTables, first_rows, rows_above, written_codes
from mare.relational.relations import Relations, Stepped, TableRelations
from mare.release import SettledPlan
from mare.schema.columns import Drift
from mare.schema.layout import Shared

from .given import GivenTables


@dataclass(frozen=True, eq=False)
class Chunk:
    """The coded rows of some entities, and the keys by which random numbers are theirs."""

    placed: PlacedTables
    keys: dict[str, Keys]
    entities: Index
    """The entities' numbers."""
    given: Mapping[str, slice] = field(default_factory=dict)
    """Of tables that the user gives, which of their rows these are."""
    decoded: dict[str, DecodedTable] = field(default_factory=dict)
    """The values of tables, once somebody has asked for them (`Decoder`)."""
    lost: Counter[str] = field(default_factory=Counter)
    """By table, rows that are not there because no value was left that would tell them from their siblings."""

    @property
    def rows(self) -> dict[str, int]:
        return {name: placed.rows for name, placed in self.placed.tables.items()}


@dataclass(frozen=True, eq=False, kw_only=True)
class Decoder:
    """How the codes of a chunk become values: what generating and writing share."""

    order: tuple[str, ...]
    """The tables, owners before what they own; the entity first, though no table may hold it."""
    codecs: Mapping[str, TableCodec]
    related: Relations
    owned_by: Mapping[str, tuple[tuple[str, str], ...]]
    """Of tables that references own: the (table, reference) pairs."""
    ordered_by: Mapping[str, tuple[str, ...]]
    """Of sequences, the columns that order them."""
    given: GivenTables | None = None
    """Rows that are not drawn, because the user gives them."""

    def decoded(self, chunk: Chunk, table: str) -> DecodedTable:
        """What the models generated, or the user gave, as values."""
        if table not in chunk.decoded and self.given is not None and table in chunk.given:
            chunk.decoded[table] = self.given.decoded(table, chunk.given[table])
        elif table not in chunk.decoded:
            codec, context = self.codecs[table], chunk.placed.tables[table].codes["context"]
            firsts = {name: context[f"first({name})"] for name in codec.firsts}
            above, siblings = self.above(chunk, codec), siblings_in(chunk.placed, table)
            codes, draws = codes_of(chunk, table), decoding_draws(chunk, table)
            decoded = decode_table(codec, codes, firsts, siblings, draws, above, self.ordered_by.get(table, ()))
            chunk.decoded[table] = one_value_each(codec, codes, decoded, chunk.placed, chunk.keys)
        return chunk.decoded[table]

    def above(self, chunk: Chunk, codec: TableCodec) -> Above:
        """Where the columns of other tables stand that these are anchored at, gathered for each row: of tables above, and of the
        rows that references lead to."""
        placed, linked = chunk.placed.tables[codec.table], self.linked(chunk, codec)
        to_come = points_to_come(codec, self.related.get(codec.table, TableRelations()), linked, placed.parent)
        return {**points_above(codec, chunk.placed, lambda table: self.decoded(chunk, table).points), **linked, **to_come}

    def linked(self, chunk: Chunk, codec: TableCodec, rows: Index | None = None) -> Above:
        """Where the intervals are that these rows refer to, or all."""
        placed = chunk.placed.tables[codec.table]
        targets = placed.targets if rows is None else {name: places[rows] for name, places in placed.targets.items()}
        count = placed.rows if rows is None else len(rows)
        return points_linked(codec, targets, count, lambda table: self.decoded(chunk, table).points)


@dataclass(frozen=True, eq=False)
class FittedTables(Decoder):
    """A release, ready to generate: models loaded, codecs built."""

    plan: SettledPlan
    owners: Mapping[str, tuple[str, ...]]
    models: Mapping[str, FittedModel]
    caps: Mapping[str, int]
    """Rows that a parent row of a table may have."""
    entity_caps: Mapping[str, int]
    """Rows that an entity may have in a table in all."""
    distinct: Mapping[str, tuple[Distinct, ...]]
    never_empty: frozenset[str]
    """Tables that every entity has a row in: it is by such a row that an entity by column is known."""

    def keeps_apart(self, table: str, wanted: Distinct) -> bool:
        """Whether codes alone tell the rows of a parent apart. Otherwise the values are, once they are decoded."""
        return wanted.by_model and all(self._is_exact(table, name) for name in wanted.drawn)

    def _is_exact(self, table: str, name: str) -> bool:
        if table in self.related and isinstance(self.related[table].reference(name), Stepped):
            return False  # so many rows back from here is another row than so many back from there
        codec = self.codecs[table].columns.get(name)
        if isinstance(codec, OrdinalCodec):
            return codec.bins.count == codec.bins.high - codec.bins.low + 1
        return not isinstance(codec, RelativeCodec | ScaledCodec | CodeCodec)


def decoding_draws(chunk: Chunk, table: str) -> np.random.Generator:
    """The random numbers that a table is decoded with: the same ones, wherever and whenever they are asked for."""
    return as_generator(RowDraws(chunk.keys[table], purpose_of("decode")))


def codes_of(chunk: Chunk, table: str) -> dict[str, CodeArray]:
    """The codes that all columns and references of the rows come out by, wherever they were generated."""
    return written_codes(chunk.placed.tables[table])


# One value for all rows that share it (`same_for`): that of the first of them, moved on as time passes (`drift`).

_UNITS_US = {"days": float(DAY_US), "months": 365.25 / 12 * DAY_US, "years": 365.25 * DAY_US}


def one_value_each(
    codec: TableCodec, codes: Mapping[str, CodeArray], decoded: DecodedTable, placed: PlacedTables, keys: Mapping[str, Keys]
) -> DecodedTable:
    """The table with every shared column the same in all rows that share it."""
    for shared in codec.shared:
        above = rows_above(shared, placed)
        firsts = first_rows(above, placed.tables[shared.above].rows)[above]
        decoded = _copied(decoded, shared.column, firsts)
        if shared.drift is not None:
            # How far into its year a value is: drawn once for each row above, so that it never jumps.
            draws = RowDraws(keys[shared.above], purpose_of(f"drift {shared.table}.{shared.column}"))
            begun = draws.at("begun", np.arange(placed.tables[shared.above].rows, dtype=np.int64)).random()[above]
            column = codec.columns[shared.column]
            decoded = _drifted(decoded, shared, shared.drift, column, codes[shared.column], firsts, begun)
    return decoded


def _copied(decoded: DecodedTable, name: str, firsts: Index) -> DecodedTable:
    at, points = pa.array(firsts), dict(decoded.points)
    if name in points:
        points[name] = points[name].take(firsts)
    quantities = {name: decoded.quantities[name].take(at)} if name in decoded.quantities else {}
    values = {**decoded.values, name: decoded.values[name].take(at)}
    return replace(decoded, values=values, points=points, quantities={**decoded.quantities, **quantities})


def _drifted(
    decoded: DecodedTable, shared: Shared, drift: Drift, column: object, codes: CodeArray, firsts: Index, begun: np.ndarray
) -> DecodedTable:
    """floor(first value + fraction + units since the first row); nothing passes where a time is NULL. Never beyond its bounds."""
    if not isinstance(column, OrdinalCodec):
        raise InternalError(f"{shared.table}.{shared.column} drifts, and is no number that stands for itself")
    passed = _passed(decoded.quantities.get(drift.by, decoded.values[drift.by]), firsts) / _UNITS_US[drift.unit]
    points, name = decoded.points[shared.column], shared.column
    ticks = np.floor(points.lower + begun + passed).astype(np.int64)
    ticks = np.clip(ticks, column.bins.low, column.bins.high)
    kinds = column.slots.kinds_of(codes, column.bins.count)
    quantities = {name: column.scale.to_values(ticks, kinds != ORDINARY)} if name in decoded.quantities else {}
    return replace(
        decoded,
        values={**decoded.values, name: column.values.write(ticks, kinds)},
        quantities={**decoded.quantities, **quantities},
    )


def _passed(times: pa.Array, firsts: Index) -> np.ndarray:
    """Microseconds since the first row."""
    micros, nulls = microseconds(times), null_mask(times)
    return np.where(nulls | nulls[firsts], 0, micros - micros[firsts])
