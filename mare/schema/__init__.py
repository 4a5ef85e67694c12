"""The schema: what the data is and what is public. The first room of the flow; it reads no data."""

from .columns import Column
from .faults import Fault
from .links import Parent, Reference
from .schema import EntityByColumn, Schema, Table

__all__ = ["Column", "EntityByColumn", "Fault", "Parent", "Reference", "Schema", "Table"]
