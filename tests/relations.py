"""One small schema for every kind of relation that the language knows: for tests that fit, sample and audit each of them."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from mare.graph.dag import DatasetDag
from mare.schema import Schema
from mare.schema.layout import shared_columns
from mare.schema.loading import load_schema

_PEOPLE = """
mare: 1
entity: people
model: independent
tables:
  people:
    key: pid
    columns:
      sex: {type: category, values: [F, M]}
"""
_STAYS = """
  stays:
    key: sid
    parent: {table: people, column: pid, type: sequential, order_by: begins, max_rows: 3}
    columns:
      begins: {type: datetime, after: previous.ends, first: {min: 2110-01-01, max: 2112-01-01}, within: 2y, bins: 5}
      ends: {type: datetime, after: begins, within: 90d, bins: 5}
      ward: {type: category, values: [a, b, c], nullable: true}
"""
_DRUGS = """
  drugs: {public: true, key: drug_id, rows: 6}
"""
_GROUPED = """
  drugs:
    public: true
    key: drug_id
    rows: 6
    columns: {kind: {type: category, values: [x, y], nullable: true, rest: outside}}
"""

RELATIONS: dict[str, str] = {
    "independent": _PEOPLE
    + """
  notes:
    parent: {table: people, column: pid, max_rows: 2}
    columns: {kind: {type: category, values: [a, b]}}
""",
    "context of a sequence": _PEOPLE
    + _STAYS
    + """
  notes:
    parent: {table: stays, column: sid, max_rows: 2, max_per_entity: 4}
    columns: {kind: {type: category, values: [a, b]}}
""",
    "the same in all rows": _PEOPLE
    + _STAYS
    + """
      blood: {type: category, values: [a, b, o], same_for: entity}
      age: {type: integer, min: 0, max: 99, nullable: true, same_for: people, drift: {by: begins}}
  notes:
    parent: {table: stays, column: sid, max_rows: 3, max_per_entity: 6}
    columns:
      kind: {type: category, values: [a, b], same_for: parent}
      score: {type: number, min: 0, max: 50, precision: 1}
""",
    "the same in all rows further down": _PEOPLE
    + _STAYS
    + """
  notes:
    parent: {table: stays, column: sid, max_rows: 3}
    columns:
      kind: {type: category, values: [a, b, c]}
      score: {type: number, min: 0, max: 50, precision: 1, nullable: true, same_for: entity}
""",
    "association": _PEOPLE
    + _STAYS
    + _DRUGS
    + """
  gives:
    key: [sid, drug_id]
    parent: {table: stays, column: sid, type: associative, via: drugs, column_via: drug_id, max_rows: 4}
    columns: {route: {type: category, values: [oral, iv]}}
""",
    "association with derived values": _PEOPLE
    + _DRUGS
    + """
  gives:
    parent:
      {table: people, column: pid, type: associative, via: drugs, column_via: drug_id, derived: [dose, unit], multiplicity: 2,
       max_rows: 4}
    columns:
      dose: {type: number, min: 0, max: 100, bins: 3}
      unit: {type: category, values: [mg, g], nullable: true}
      route: {type: category, values: [oral, iv]}
""",
    "association, the rest as rows": _PEOPLE
    + _DRUGS
    + """
  gives:
    key: [pid, drug_id]
    parent:
      {table: people, column: pid, type: associative, via: drugs, column_via: drug_id, derived: [dose], max_rows: 4,
       vocabulary: {select: 2, rest: rows}}
    columns: {dose: {type: number, min: 0, max: 100, bins: 3}, route: {type: category, values: [oral, iv]}}
""",
    "association, the rest dropped": _PEOPLE
    + _DRUGS
    + """
  gives:
    key: gid
    parent:
      {table: people, column: pid, type: associative, via: drugs, column_via: drug_id, max_rows: 4,
       vocabulary: {select: 2, rest: drop}}
    columns: {route: {type: category, values: [oral, iv]}}
  doses:
    parent: {table: gives, column: gid, max_rows: 2}
    columns: {amount: {type: integer, min: 0, max: 9}}
""",
    "association, the rest by its group": _PEOPLE
    + _GROUPED
    + """
  gives:
    key: [pid, drug_id]
    parent:
      {table: people, column: pid, type: associative, via: drugs, column_via: drug_id, max_rows: 4,
       vocabulary: {select: 2, rest: hierarchy, hierarchy: kind}}
    columns: {route: {type: category, values: [oral, iv]}}
""",
    "public references": _PEOPLE
    + _DRUGS
    + """
  takes:
    parent: {table: people, column: pid, max_rows: 3}
    references:
      drug_id: {kind: public, table: drugs}
      other:   {kind: public, table: drugs, columns: other_id, learn: true, max_values: 3, nullable: true}
""",
    "pools": _PEOPLE
    + """
  wards: {pool: {rows: 3}, key: ward_id, columns: {beds: {type: integer, min: 1, max: 40}}}
  staff:
    pool: {rows: 5}
    key: staff_id
    columns: {job: {type: category, values: [nurse, doctor]}}
    references: {ward_id: {kind: pool, table: wards}}
  notes:
    key: [pid, staff_id]
    parent: {table: people, column: pid, max_rows: 2}
    references: {staff_id: {kind: pool, table: staff}}
    columns: {kind: {type: category, values: [a, b]}}
""",
    "rows of one's own": _PEOPLE.replace("    columns:", "    references: {home_id: {kind: owned, table: homes}}\n    columns:")
    + """
  jobs:
    key: job_id
    parent: {table: people, column: pid, max_rows: 2}
    references: {place_id: {kind: owned, table: homes, nullable: true}}
    columns: {kind: {type: category, values: [a, b]}}
  homes:
    key: home_id
    columns: {region: {type: category, values: [north, south]}}
  rooms:
    parent: {table: homes, column: home_id, max_rows: 2}
    columns: {size: {type: integer, min: 0, max: 9}}
""",
    "rows of an association's own": _PEOPLE
    + _DRUGS
    + """
  jobs:
    key: job_id
    parent: {table: people, column: pid, max_rows: 2}
    references: {place_id: {kind: owned, table: homes, nullable: true}}
    columns: {kind: {type: category, values: [a, b]}}
  gives:
    key: gid
    parent:
      {table: people, column: pid, type: associative, via: drugs, column_via: drug_id, max_rows: 4,
       vocabulary: {select: 2, rest: drop}}
    references: {home_id: {kind: owned, table: homes, nullable: true}}
    columns: {route: {type: category, values: [oral, iv]}}
  homes:
    key: home_id
    columns: {region: {type: category, values: [north, south]}}
  rooms:
    parent: {table: homes, column: home_id, max_rows: 2}
    columns: {size: {type: integer, min: 0, max: 9}}
""",
    "same entity, by position": _PEOPLE
    + _STAYS
    + """
  labs:
    parent: {table: people, column: pid, max_rows: 4}
    references:
      stay: {kind: same_entity, table: stays, columns: sid}
      then: {kind: same_entity, table: stays, columns: then_sid, nullable: true}
    columns: {value: {type: integer, min: 0, max: 5}}
""",
    "same entity, by interval": _PEOPLE
    + _STAYS
    + """
  labs:
    parent: {table: people, column: pid, max_rows: 4}
    references: {sid: {kind: same_entity, table: stays, by: interval, time: at, interval: [begins, ends], nullable: true}}
    columns: {at: {type: datetime, min: 2110-01-01, max: 2113-01-01, bins: 9}}
""",
    "same entity, along its intervals": _PEOPLE
    + _STAYS
    + """
  labs:
    parent: {table: people, column: pid, type: sequential, order_by: at, max_rows: 4}
    references: {sid: {kind: same_entity, table: stays, by: interval, time: at, interval: [begins, ends], nullable: true}}
    columns:
      at:
        {type: datetime, after: previous.at, first: {min: 2110-01-01, max: 2113-01-01}, within: 2y, bins: 5, max: 2114-01-01}
""",
    "a sequence that ends": _PEOPLE
    + """
      born: {type: date, min: 2000-01-01, max: 2010-01-01}
      died: {type: date, nullable: true, after: born, within: 110y, bins: 5}
  visits:
    key: vid
    parent: {table: people, column: pid, type: sequential, order_by: at, max_rows: 4}
    ends: {when: "left = 'dead'"}
    columns:
      at:
        {type: date, after: previous.at, before: people.died, first: {after: people.born, within: 99y}, bins: 5, max: 2114-01-01}
      left: {type: category, values: [home, dead], nullable: true}
""",
    "earlier rows": _PEOPLE
    + _STAYS
    + """
    references:
      after_sid: {kind: earlier, table: stays, back: 2, nullable: true}
      episode:   {kind: earlier, table: stays, itself: true}
""",
    "other entities": _PEOPLE
    + """
    references:
      mother_id:  {kind: other_entity, table: people, nullable: true}
      partner_id: {kind: other_entity, table: people, fill: random}
  visits:
    key: vid
    parent: {table: people, column: pid, max_rows: 2}
    references: {host_id: {kind: other_entity, table: people, fill: random}, seen: {kind: broken, table: people, nullable: true}}
    columns: {kind: {type: category, values: [a, b]}}
""",
    "entity by column": """
mare: 1
entity: {table: stays, by: person_no, name: person}
model: independent
tables:
  stays:
    key: sid
    parent: {type: sequential, order_by: number, max_rows: 3, orphans: entity}
    columns: {number: {type: integer, min: 0, max: 9}, person_no: {type: identifier, generate: pattern, pattern: "P{n:04d}"}}
  labs:
    parent: {table: stays, column: sid, max_rows: 2}
    references: {person_no: {kind: ancestor, table: person}}
    columns: {value: {type: integer, min: 0, max: 5}}
""",
    "the same for an entity by column, and for orphans": """
mare: 1
entity: {table: stays, by: person_no, name: person}
model: independent
tables:
  stays:
    key: sid
    parent: {type: sequential, order_by: number, max_rows: 3, orphans: entity}
    columns:
      number: {type: integer, min: 0, max: 9}
      person_no: {type: identifier, generate: pattern, pattern: "P{n:04d}"}
      blood: {type: category, values: [a, b, o], nullable: true, same_for: entity}
  labs:
    parent: {table: stays, column: sid, max_rows: 2, orphans: entity}
    columns:
      value: {type: integer, min: 0, max: 5}
      kind: {type: category, values: [x, y], same_for: parent}
""",
    "public keys of several columns": _PEOPLE
    + """
    references: {home: {kind: public, table: sites}}
  sites: {public: true, key: site, rows: 3}
  stations: {public: true, key: [site, number], rows: 6}
  visits:
    key: vid
    parent: {table: people, column: [pid, home], references: [pid, home], type: sequential, order_by: n, max_rows: 3}
    references:
      at: {kind: public, table: stations, columns: [at_site, at_number], learn: true, nullable: true}
      own: {kind: public, table: stations, columns: [home, own_number]}
    columns: {n: {type: integer, min: 0, max: 9}}
""",
    "codes and their names": _PEOPLE
    + """
      home: {type: category, learn: true}
      home_name: {type: category, nullable: true, determined: {goes_with: home}}
  stays:
    key: sid
    parent: {table: people, column: pid, type: sequential, order_by: n, max_rows: 3}
    columns:
      n: {type: integer, min: 0, max: 9}
      ward: {type: category, values: [a, b, c], nullable: true}
      ward_name: {type: category, determined: {goes_with: ward}}
""",
    "running values, cases and totals": _PEOPLE
    + """
      moves: {type: integer, determined: {count: moves}}
      turnover: {type: number, precision: 1, determined: {sum: moves.amount}}
      last: {type: number, precision: 1, nullable: true, determined: {last_of: moves.balance}}
      busy: {type: boolean, determined: {when: [{if: moves > 2 and sex = 'F', then: true}], else: false}}
  moves:
    key: [pid, number]
    parent: {table: people, column: pid, type: sequential, order_by: day, max_rows: 4}
    columns:
      number: {type: position}
      day: {type: date, min: 2110-01-01, max: 2112-01-01, bins: 4}
      type: {type: category, values: [in, out]}
      amount: {type: number, min: 0, max: 50, precision: 1, nullable: true}
      balance:
        type: number
        precision: 1
        determined:
          expression: coalesce(previous.balance, 0) + if(type = 'in', coalesce(amount, 0), -coalesce(amount, 0))
      before: {type: date, nullable: true, determined: {copy_of: previous.day}}
      share: {type: number, nullable: true, precision: 3, determined: {expression: amount / parent.turnover}}
""",
    "orphans are entities": _PEOPLE
    + _STAYS.replace("max_rows: 3}", "max_rows: 3, orphans: entity}")
    + """
  notes:
    parent: {table: stays, column: sid, max_rows: 2, orphans: entity}
    columns: {kind: {type: category, values: [a, b]}}
  calls:
    parent: {table: people, column: pid, max_rows: 2, orphans: entity}
    columns: {kind: {type: category, values: [a, b]}}
""",
    "key is the foreign key": _PEOPLE
    + """
  deaths:
    key: pid
    parent: {table: people, column: pid}
    columns: {cause: {type: category, values: [a, b]}}
""",
    "keys with modelled parts": _PEOPLE
    + """
  yearly:
    key: [pid, year]
    parent: {table: people, column: pid, max_rows: 4}
    columns: {year: {type: integer, min: 2100, max: 2104}, visits: {type: integer, min: 0, max: 9}}
  weighed:
    key: [pid, day]
    unique: [[pid, place]]
    parent: {table: people, column: pid, max_rows: 3}
    columns: {day: {type: date, min: 2110-01-01, max: 2110-12-31, bins: 2}, place: {type: category, values: [a, b, c, d]}}
""",
    "composite keys": _PEOPLE.replace("key: pid", "key: [pid, site]").replace(
        "    columns:", "    columns:\n      site: {type: identifier}"
    )
    + """
  stays:
    key: [pid, site, n]
    parent: {table: people, column: [pid, site], type: sequential, max_rows: 3}
    columns: {n: {type: position}, ward: {type: category, values: [a, b]}}
  notes:
    parent: {table: stays, column: [p, s, n], max_rows: 2}
    references: {person: {kind: ancestor, table: people, columns: [p2, s2]}}
    columns: {kind: {type: category, values: [a, b]}}
""",
    "the same item": _PEOPLE
    + _DRUGS
    + """
  labs:
    parent: {table: people, column: pid, type: sequential, order_by: at, memory: 1, max_rows: 4, history_by: [item, drug_id]}
    references: {drug_id: {kind: public, table: drugs}}
    columns:
      at: {type: date, min: 2110-01-01, max: 2112-01-01, bins: 4}
      item: {type: category, values: [k, na]}
      value: {type: integer, min: 0, max: 5}
""",
    "siblings that see each other": _PEOPLE
    + _DRUGS
    + """
  gives:
    parent: {table: people, column: pid, type: associative, via: drugs, column_via: drug_id, max_rows: 4}
  labs:
    sees: [gives]
    parent: {table: people, column: pid, max_rows: 2}
    columns: {value: {type: integer, min: 0, max: 5}}
""",
}


VARIANTS = (
    "independent",
    "association with derived values",
    "association, the rest dropped",
    "association, the rest by its group",
    "pools",
    "same entity, by interval",
    "key is the foreign key",
    "keys with modelled parts",
    "composite keys",
    "the same item",
    "the same in all rows",
    "association",
    "rows of one's own",
    "same entity, by position",
    "earlier rows",
    "entity by column",
    "orphans are entities",
)
EVERY_KIND = [pytest.param(kind, marks=[pytest.mark.slow] if kind in VARIANTS else []) for kind in RELATIONS]
"""For whole fits of every kind: of kinds that are much alike `make test` fits one, `make test-all` each."""


def related(kind: str, **changes: Any) -> Schema:
    """The schema of one kind, with fields of the whole schema changed."""
    return _loaded(kind).model_copy(update=changes) if changes else _loaded(kind)


@cache
def _loaded(kind: str) -> Schema:
    return load_schema(RELATIONS[kind])


def givable(schema: Schema) -> list[str]:
    """Tables of the entity that do not stand below rows of one's own, owners before what they own."""
    dag = DatasetDag.of(schema)
    possible = [t for t in dag.generation_order() if t in schema.tables and dag.node(t).role in ("entity", "private")]
    holders = {shared.holder for shared in shared_columns(schema) if shared.holder != shared.table}
    return [
        t
        for t in possible
        if not {t, *dag.ancestors(t)} & holders
        and not any(dag.node(above).role == "owned" for above in dag.ancestors(t) if above in schema.tables)
    ]
