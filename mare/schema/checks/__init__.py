"""What a schema contradicts, and what it leaves open. Runs on every load; reads no data."""

from __future__ import annotations

from mare.schema.faults import Fault
from mare.schema.schema import Schema


def find_faults(schema: Schema) -> tuple[Fault, ...]:
    """Every fault of a schema, errors and open questions, in the order of the file."""
    return ()
