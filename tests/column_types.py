"""A column type that stands in the registry for as long as a test runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, get_args

from pydantic import Field

from mare.schema import Schema
from mare.schema.columns import AnyColumn, Column
from mare.schema.schema import Table


@contextmanager
def registered(kind: type[AnyColumn]) -> Iterator[None]:
    """As if `Column` in `mare.schema.columns` named it too."""
    field = Table.model_fields["columns"]
    before = field.annotation
    _validate_as(dict[str, Annotated[get_args(Column)[0] | kind, Field(discriminator="type")]])  # type: ignore[valid-type]
    try:
        yield
    finally:
        _validate_as(before)


def _validate_as(columns: object) -> None:
    Table.model_fields["columns"].annotation = columns  # type: ignore[assignment]
    Table.model_rebuild(force=True)
    Schema.model_rebuild(force=True)
