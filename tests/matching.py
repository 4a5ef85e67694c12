"""A small schema and the faults that it has against a source, for the tests of matching."""

from __future__ import annotations

from mare.schema.faults import Fault
from mare.schema.loading import load_schema
from mare.schema.matching import match
from mare.schema.reflection import LeftOut, ReflectedTable
from tests.reflections import reflect

SCHEMA = """
mare: 1
entity: patients
tables:
  patients:
    key: subject_id
    columns:
      gender: {type: category, values: [F, M]}
      dod: {type: date, learn: true, nullable: true}
  admissions:
    key: hadm_id
    parent: {table: patients, column: subject_id, type: sequential, order_by: admittime, max_rows: 10}
    columns:
      admittime: {type: datetime, learn: true}
      dischtime: {type: datetime, after: admittime, within: 365d}
"""


def faults(*tables: ReflectedTable, schema: str = SCHEMA, left_out: tuple[LeftOut, ...] = ()) -> tuple[Fault, ...]:
    return match(load_schema(schema), reflect(*tables, left_out=left_out))
