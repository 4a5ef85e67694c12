"""What an evaluation compares: whatever a model makes, also where it is part of a key."""

from __future__ import annotations

from mare.evaluation.fidelity.features import features
from mare.schema.loading import load_schema

_TEXT = """
mare: 1
entity: people
tables:
  people: {key: pid, columns: {born: {type: integer, min: 1960, max: 1990}}}
  seasons:
    key: [pid, team, at, place, n]
    parent: {table: people, column: pid, max_rows: 12}
    references: {coach: {kind: pool, table: coaches}}
    columns:
      team: {type: identifier}
      at: {type: date, min: 2000-01-01, max: 2020-12-31}
      place: {type: category, values: [a, b]}
      n: {type: position}
  coaches: {pool: {rows: 5}, key: cid}
"""


def test_a_part_of_a_key_that_is_modelled_is_compared() -> None:
    names = {feature.name for feature in features(load_schema(_TEXT), "seasons", ())}
    assert names == {"place", "at", "year of at"}
