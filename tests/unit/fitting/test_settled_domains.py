"""How many codes the columns of a group have once all is settled: never more than the plan reckoned with."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pytest

from mare.codec import LearnedValues, OpenCodec, TableCodec, evenly, table_codec
from mare.domain import Domain
from mare.errors import InternalError, PlanError
from mare.fitting.settling import open_codecs, settled_domains
from mare.fitting.vocabularies import doubt_of_list
from mare.planning import Plan
from mare.planning.planning import plan
from mare.privacy.budget import Budget
from mare.relational.public import PublicTable
from mare.relational.relations import Relations, relations
from mare.schema import Schema
from mare.schema.loading import load_schema
from mare.stage import needs
from tests.memory_source import hospital_schema
from tests.relations import RELATIONS, related

SITES = PublicTable("sites", pa.table({"site": range(3)}), ("site",))
STATIONS = PublicTable("stations", pa.table({"site": [0, 0, 1, 1, 2, 2], "number": [1, 2, 1, 2, 1, 3]}), ("site", "number"))
DRUGS = PublicTable("drugs", pa.table({"drug_id": range(6), "kind": ["x", "y", None, "x", "y", "x"]}), ("drug_id",))


@dataclass(frozen=True)
class Settled:
    """What the fit hands over, with every bin even, as before any was learned."""

    plan: Plan
    coded: dict[str, TableCodec]
    caps: dict[str, int]
    related: Relations

    @classmethod
    def of(cls, schema: Schema, **chosen: tuple[int, ...]) -> Settled:
        made = plan(schema, Budget(1.0, 1e-9))
        tables = needs(schema, [planned.group for planned in made.groups])
        known = {
            name: evenly(codec)
            for name, codec in open_codecs(made, tables).items()
            if not isinstance(codec.columns.get("town"), OpenCodec)
        }
        public = {table.name: table for table in (DRUGS, SITES, STATIONS)}
        links = relations(schema, public, {name.replace("__", "."): keys for name, keys in chosen.items()})
        return cls(made, known, {table.name: table.max_rows for table in tables}, links)

    def domains(self) -> dict[str, tuple[Domain, Domain]]:
        return settled_domains(self.plan, self.coded, self.caps, self.related)


def sizes(domain: Domain) -> dict[str, int]:
    return dict(zip(domain.names, domain.sizes, strict=True))


def test_counts_reach_their_cap_and_firsts_have_a_code_for_no_row() -> None:
    given = Settled.of(hospital_schema())
    found = given.domains()
    assert list(found) == [planned.name for planned in given.plan.groups]
    columns, history = found["stays.context"]
    assert sizes(columns) == {"count": 4, "first(begins)": given.coded["stays"].firsts["begins"].size}
    assert sizes(history) == {"patients.sex": 2, "patients.age": 5}
    assert sizes(found["stays.rows"][0]) == {name: one.size for name, one in given.coded["stays"].columns.items()}


def test_what_looks_at_a_row_that_may_not_be_there_has_a_code_more() -> None:
    given = Settled.of(hospital_schema())
    history = sizes(given.domains()["stays.rows"][1])
    assert [history["stays.ward[-1]"], history["stays.ward[-2]"]] == [given.coded["stays"].columns["ward"].size + 1] * 2
    assert history["patients.age"] == given.coded["patients"].columns["age"].size
    assert history["stays.context.count"] == 4


def test_a_shorter_list_than_was_planned_for_is_shorter_for_whoever_looks_at_it() -> None:
    schema = load_schema(
        """
mare: 1
entity: people
tables:
  people: {key: pid, columns: {town: {type: category, learn: true, max_values: 50}}}
  visits: {parent: {table: people, column: pid, max_rows: 2}, columns: {kind: {type: category, values: [a, b]}}}
"""
    )
    given = Settled.of(schema)
    given.coded["people"] = table_codec(schema, "people", ["town"], {"people.town": LearnedValues(("a", "b", "c"))})
    found = given.domains()
    assert sizes(found["people.rows"][0]) == {"town": 4}  # and one for what the list does not hold
    assert sizes(found["visits.rows"][1])["people.town"] == 4
    # A list that is longer than anyone promised is a bug, and never a larger domain.
    many = tuple(f"town {n}" for n in range(51))
    given.coded["people"] = table_codec(schema, "people", ["town"], {"people.town": LearnedValues(many)})
    with pytest.raises(InternalError, match=r"people.rows: town has 52 codes, the plan promised at most 51"):
        given.domains()


def test_keys_that_were_chosen_have_a_column_each() -> None:
    found = Settled.of(related("association with derived values"), gives=tuple(range(6))).domains()
    context, _ = found["gives.context"]
    # Two times each of six keys; one code more than the column has, for a key that is not there.
    assert sizes(context) == {f"{name}(drug_id)#{slot}": 4 for name in ("dose", "unit") for slot in range(12)}
    history = sizes(found["gives.rows"][1])
    assert (history["gives.free.drug_id"], history["gives.free.dose"], history["gives.context.unit(drug_id)#11"]) == (6, 3, 4)


def test_the_rest_of_a_vocabulary_is_counted_or_grouped() -> None:
    rows = Settled.of(related("association, the rest as rows"), gives=(0, 2)).domains()
    assert sizes(rows["gives.context"][0]) == {"dose(drug_id)#0": 4, "dose(drug_id)#1": 4, "count": 5}
    assert sizes(rows["gives.head"][0]) == {"dose": 3, "drug_id": 6}
    grouped = Settled.of(related("association, the rest by its group"), gives=(0, 2)).domains()
    names = ["exists(drug_id)#0", "exists(drug_id)#1", *(f"exists(kind)#{group}" for group in range(3))]
    assert sizes(grouped["gives.context"][0]) == dict.fromkeys(names, 2)


def test_more_groups_than_the_plan_reckoned_with_are_refused_with_a_word() -> None:
    many = PublicTable("drugs", pa.table({"drug_id": range(6), "kind": [f"kind {n}" for n in range(6)]}), ("drug_id",))
    given = Settled.of(related("association, the rest by its group"), gives=(0, 2))
    links = relations(given.plan.schema, {"drugs": many}, {"gives": (0, 2)})
    with pytest.raises(PlanError, match=r"gives: exists\(kind\) has more than the 4 columns.*Declare how many groups"):
        settled_domains(given.plan, given.coded, given.caps, links)


def test_an_association_without_a_vocabulary_is_a_bug() -> None:
    given = Settled.of(related("association"), gives=tuple(range(6)))
    with pytest.raises(InternalError, match="its table is no association"):
        settled_domains(given.plan, given.coded, given.caps, {})


def test_a_column_that_nobody_codes_is_refused() -> None:
    given = Settled.of(hospital_schema())
    held = given.coded["patients"]
    given.coded["patients"] = TableCodec("patients", {"sex": held.columns["sex"]})
    with pytest.raises(PlanError, match="patients: age can be planned, but not yet fitted"):
        given.domains()


@pytest.mark.parametrize(
    "kind", [kind for kind in RELATIONS if not any(word in kind for word in ("association", "siblings", "names"))]
)
def test_every_domain_is_within_the_plans(kind: str) -> None:
    given = Settled.of(related(kind), takes__drug_id=tuple(range(6)), takes__other=(1, 2))
    found = given.domains()
    for planned in given.plan.groups:
        for settled, bound in zip(found[planned.name], (planned.columns, planned.history), strict=True):
            assert all(settled.size(name) <= bound.size(name) for name in settled.names)


def test_a_list_that_stopped_at_the_most_it_may_hold_is_told() -> None:
    """Which values were kept is known, so that there may be more is no fact about anybody."""
    many = LearnedValues(tuple(map(str, range(100))))
    (told,) = doubt_of_list("visits.code", many, 100)
    assert "stopped at 100 values" in told.what
    assert doubt_of_list("visits.code", many, 101) == []
