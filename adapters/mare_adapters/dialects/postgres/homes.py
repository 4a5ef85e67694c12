"""Several schemas into several: tables are made in the first, and moved to those of the source's names before the commit.

Keys, indexes and the sequences that columns own move along; types stay in the first schema.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mare.errors import SinkError
from mare.schema.reflection import ReflectedTable
from mare_adapters.sinks.wording import Wording

if TYPE_CHECKING:
    from .tables import Connection

_SCHEMAS = "SELECT nspname::text FROM pg_catalog.pg_namespace WHERE nspname = ANY(%s)"


@dataclass(frozen=True)
class Homes:
    """By the name under which a table is made in the first schema: the schema where it belongs, and its name there."""

    first: str = ""
    places: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def of(self, table: str) -> tuple[str, str]:
        return self.places.get(table, (self.first, table))

    def moves(self) -> Iterator[str]:
        """Statements for when all else is done."""
        wording = Wording()
        for made, (schema, name) in self.places.items():
            there = wording.name(schema)
            if schema != self.first:
                yield f"ALTER TABLE {wording.name(made)} SET SCHEMA {there}"
            if name != made:
                yield f"ALTER TABLE {there}.{wording.name(made)} RENAME TO {wording.name(name)}"


def settle_homes(connection: Connection, tables: Sequence[ReflectedTable], schemas: Sequence[str], label: str) -> Homes:
    """Where each table belongs. Refuses what has no place."""
    if len(schemas) < 2:
        return Homes(schemas[0] if schemas else "")
    held = {str(name) for (name,) in connection.execute(_SCHEMAS, (list(schemas),)).fetchall()}
    if missing := [schema for schema in schemas if schema not in held]:
        raise SinkError(f"{label} has no schema {', '.join(missing)}. Create it first, or name others: ?schema=name,name.")
    if strange := sorted({table.namespace or "unknown" for table in tables} - set(schemas)):
        raise SinkError(
            f"{label} names several schemas, but tables of the source's {', '.join(strange)} have none of that name there. "
            "Name the source's schemas in both URLs, or give the target one: ?schema=name."
        )
    places = {table.name: (table.namespace, table.name.removeprefix(f"{table.namespace}.")) for table in tables}
    return Homes(schemas[0], {made: at for made, at in places.items() if at != (schemas[0], made)})
