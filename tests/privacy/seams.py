"""Where bugs of the stage are planted: at its doors. What a careless stage would do to rows is done to the rows that it reads,
to the caps and the key that it is given, or to the views that it hands out; so the planted bugs stay the same bugs however
the stage works inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import pyarrow as pa
import pytest

from mare.audit.variants import HeldSource
from mare.ports import Source
from mare.privacy.curator import Gate
from mare.stage import Staged, TableNeeds

fit_module = import_module("mare.fitting.fit")  # the room offers the verb `fit` under the same name
door_module = import_module("mare.stage_door")

Tables = tuple[TableNeeds, ...]


def change_stage(
    patch: pytest.MonkeyPatch,
    *,
    source: Callable[[Source, Tables], Source] = lambda reader, tables: reader,
    needs: Callable[[TableNeeds], TableNeeds] = lambda table: table,
    key: Callable[[bytes], bytes] = lambda drawn: drawn,
) -> None:
    """The fit's stage reads another source, enforces other caps or hashes with another key than the fit told it."""
    original = door_module.stage

    @contextmanager
    def changed(reader: Source, tables: Tables, secret: bytes, **named: Any) -> Iterator[Staged]:
        with original(source(reader, tables), tuple(map(needs, tables)), key(secret), **named) as staged:
            for table in tables:  # what was asked for stands there still: only what was done is wrong
                staged.tables[table.name] = replace(staged.tables[table.name], needs=table)
            yield staged

    patch.setattr(door_module, "stage", changed)


def change_views(patch: pytest.MonkeyPatch, change: Callable[[Any], Any]) -> None:
    """Every curator gets another view than the stage handed out."""
    original = Gate.curator
    patch.setattr(Gate, "curator", lambda self, view, share: original(self, change(view), share))


@dataclass(frozen=True, eq=False)
class ChangedRows(HeldSource):
    """A source whose tables pass through ``change``: rows and what the table needs in, rows out."""

    tables: Tables
    change: Callable[[list[dict[str, Any]], TableNeeds], list[dict[str, Any]]]

    def read(self, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        batches = list(self.reader.read(table, columns))
        needs = next((needs for needs in self.tables if needs.name == table), None)
        if needs is None or not batches:
            yield from batches
            return
        rows = [row for batch in batches for row in batch.to_pylist()]
        yield from pa.Table.from_pylist(self.change(rows, needs), schema=batches[0].schema).to_batches()


def change_rows(patch: pytest.MonkeyPatch, change: Callable[[list[dict[str, Any]], TableNeeds], list[dict[str, Any]]]) -> None:
    """The stage reads these rows instead."""
    change_stage(patch, source=lambda reader, tables: ChangedRows(reader, tables, change))
