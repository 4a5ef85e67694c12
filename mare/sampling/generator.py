"""`Generator`: a release, ready to generate; and `Chunk`, what it makes: coded rows and the keys of their random numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mare.codec import DecodedTable, OrdinalCodec, RelativeCodec, ScaledCodec, TableCodec
from mare.codec.category import CodeCodec
from mare.domain import Keys
from mare.models import FittedModel
from mare.relational.placing import Index, PlacedTables
from mare.relational.relations import Relations, Stepped
from mare.relational.uniqueness import Distinct
from mare.release import SettledPlan

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
    """The values of tables, once somebody has asked for them (`decoding`)."""

    @property
    def rows(self) -> dict[str, int]:
        return {name: placed.rows for name, placed in self.placed.tables.items()}


@dataclass(frozen=True, eq=False)
class Generator:
    """A release, ready to generate: models loaded, codecs built."""

    plan: SettledPlan
    tables: tuple[str, ...]
    """Owners before what they own; the entity first."""
    owners: Mapping[str, tuple[str, ...]]
    owned_by: Mapping[str, tuple[tuple[str, str], ...]]
    """Of tables that references own: the (table, reference) pairs."""
    codecs: Mapping[str, TableCodec]
    models: Mapping[str, FittedModel]
    related: Relations
    caps: Mapping[str, int]
    """Rows that a parent row of a table may have."""
    entity_caps: Mapping[str, int]
    """Rows that an entity may have in a table in all."""
    distinct: Mapping[str, tuple[Distinct, ...]]
    ordered_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Of sequences, the columns that order them."""
    never_empty: frozenset[str] = frozenset()
    """Tables that every entity has a row in: it is by such a row that an entity by column is known."""
    given: GivenTables | None = None
    """Rows that are not drawn, because the user gives them."""

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
