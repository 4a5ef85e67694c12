"""Whatever a source reflects, the draft is a schema that loads: names, keys, links and types at random."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mare.planning.planning import open_questions
from mare.schema.drafting import PublicFacts, draft, make_draft
from mare.schema.loading import load_document
from mare.schema.matching import match
from mare.schema.reflection import (
    ColumnOrder,
    Peek,
    ReflectedColumn,
    ReflectedForeignKey,
    ReflectedTable,
    Reflection,
)
from tests.reflections import NOTHING_KNOWN, SIX_YEARS

TABLES = (
    "patients", "admissions", "Person", "visit_occurrence", "lab events", "d_items", "provider", "address", "diagnoses_icd",
    "customer", "invoice", "a: b", "measurement", "drug_types", "1", "null", "notes\n",
)  # fmt: skip
COLUMNS = (
    "id", "subject_id", "hadm_id", "patient_id", "person_id", "itemid", "seq_num", "charttime", "start_date", "end_date",
    "admittime", "dischtime", "value", "icd_code", "icd_version", "name", "note", "gender", "birth_date", "is_dead", "position",
    "email", "code", "true", "no", "a # b", "visit_nr", "provider_id", "parent_id", "deathtime", "days", "amount", "uniquepid",
)  # fmt: skip
KINDS = (
    "boolean",
    "integer",
    "number",
    "string",
    "date",
    "datetime",
    "time",
    "duration",
    "uuid",
    "binary",
    "json",
    "other",
    "unknown",
)


@st.composite
def columns(draw: st.DrawFn) -> ReflectedColumn:
    kind = draw(st.sampled_from(KINDS))
    values = draw(st.sampled_from([None, None, ("F", "M"), ("y", "0", " x")])) if kind == "string" else None
    bounds = draw(st.sampled_from([(None, None), (0, 10), (None, 5)])) if kind in ("integer", "number") else (None, None)
    return ReflectedColumn(
        draw(st.sampled_from(COLUMNS)),
        kind,  # type: ignore[arg-type]
        nullable=draw(st.booleans()),
        values=values,
        min=bounds[0],
        max=bounds[1],
        precision=draw(st.sampled_from([None, 0, 2])) if kind == "number" else None,
        generated=draw(st.integers(0, 9)) == 0,
    )


@st.composite
def reflections(draw: st.DrawFn) -> Reflection:
    names = draw(st.lists(st.sampled_from(TABLES), min_size=1, max_size=6, unique_by=str.casefold))
    held = {name: draw(st.lists(columns(), min_size=1, max_size=9, unique_by=lambda c: c.name)) for name in names}
    declares = draw(st.booleans())
    tables = []
    for name in names:
        own = [column.name for column in held[name]]
        some = st.lists(st.sampled_from(own), min_size=1, max_size=3, unique=True).map(tuple)
        key = draw(some) if declares and draw(st.booleans()) else ()
        links = [draw(_link(own, names, held)) for _ in range(draw(st.integers(0, 3)))] if declares else []
        tables.append(
            ReflectedTable(
                name,
                tuple(held[name]),
                key=key,
                foreign_keys=tuple(links),
                uniques=tuple(draw(st.lists(some, max_size=1))) if declares else (),
                orders=(ColumnOrder(own[0], own[-1]),) if len(own) > 1 and draw(st.integers(0, 4)) == 0 else (),
            )
        )
    return Reflection("a source", tuple(tables))


@st.composite
def _link(draw: st.DrawFn, own: list[str], names: list[str], held: dict[str, list[ReflectedColumn]]) -> ReflectedForeignKey:
    target = draw(st.sampled_from(names))
    there = draw(st.sampled_from([column.name for column in held[target]]))
    return ReflectedForeignKey((draw(st.sampled_from(own)),), target, (there,))


@given(reflections())
def test_every_draft_loads_and_keeps_every_table(reflection: Reflection) -> None:
    schema = load_document(draft(reflection, NOTHING_KNOWN)).schema
    assert set(schema.tables) == {table.name for table in reflection}


@given(reflections())
def test_every_draft_fits_the_source_that_it_was_drafted_from(reflection: Reflection) -> None:
    found = match(load_document(draft(reflection, NOTHING_KNOWN)).schema, reflection)
    # A circle may be closed by references none of which may be NULL: the draft breaks one all the same, and says so.
    assert [f for f in found if f.severity == "error" and "kind: broken" not in f.what] == []


@given(reflections(), st.sampled_from([NOTHING_KNOWN, SIX_YEARS]))
def test_nothing_of_a_draft_is_open_but_types_parents_and_whose_privacy_it_is(reflection: Reflection, facts: PublicFacts) -> None:
    """A parent is open where what would tell its rows apart is modelled: nobody but a person knows what to do then."""
    document = load_document(draft(reflection, facts))
    left = [fault for fault in document.faults if fault.path[-1] != "type" and "parent" not in fault.path]
    assert document.schema.entity is None or left == []


@given(reflections())
def test_a_draft_that_is_settled_can_be_planned(reflection: Reflection) -> None:
    document = load_document(draft(reflection, SIX_YEARS))
    assert document.faults or document.schema.entity is None or not open_questions(document.schema)


@given(reflections(), st.data())
def test_a_draft_with_any_entity_loads(reflection: Reflection, data: st.DataObject) -> None:
    entity = data.draw(st.sampled_from([table.name for table in reflection]))
    assert load_document(draft(reflection, NOTHING_KNOWN, entity)).schema.entity == entity


@given(reflections())
def test_a_peeked_draft_loads(reflection: Reflection) -> None:
    peeks = {
        (table.name, column.name): Peek(
            kind="string" if column.kind == "unknown" else column.kind, values=("b", "a"), min=1, max=3
        )
        for table in reflection
        for column in table.columns
        if column.kind in ("string", "integer", "number", "unknown")
    }
    load_document(draft(reflection, NOTHING_KNOWN, None, peeks))


@given(reflections())
def test_the_header_counts_what_the_text_marks(reflection: Reflection) -> None:
    text = draft(reflection, NOTHING_KNOWN)
    marks = sum(line.count("REVIEW: ") for line in text.splitlines())
    assert marks == make_draft(reflection, NOTHING_KNOWN).to_review + (make_draft(reflection, NOTHING_KNOWN).entity.table is None)
