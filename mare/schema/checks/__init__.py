"""What a schema contradicts, and what it leaves open. Runs on every load; reads no data."""

from __future__ import annotations

from mare.errors import SchemaError
from mare.schema.faults import Fault, describe
from mare.schema.schema import Schema


def find_faults(schema: Schema) -> tuple[Fault, ...]:
    """Every fault of a schema, errors and open questions, in the order of the file."""
    return ()


def settled_or_raise(schema: Schema) -> None:
    """Nothing when the schema can be planned; otherwise one error with everything that is wrong or still open."""
    faults = find_faults(schema)
    if faults:
        raise SchemaError(describe(faults, schema.name or "schema"), faults)
