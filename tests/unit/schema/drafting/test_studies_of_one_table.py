"""Drafts of a study that is one table: who its people are, and what only counts its rows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mare.schema import EntityByColumn
from mare.schema.drafting import draft
from mare.schema.drafting.people import names_person
from mare.schema.reflection import Compared, Peek, ReflectedTable, StorageKind
from tests.reflections import SIX_YEARS, drafted, reflect, table, written

VISITS = table("panel", "rownames unknown?, id unknown?, sex unknown?, occasion unknown?, weight unknown?")


def seen(repeats: bool | None, column: str = "id") -> dict[tuple[str, str], Peek]:
    kinds = {"rownames": "integer", column: "integer", "sex": "string", "occasion": "integer", "weight": "number"}
    return {
        ("panel", name): Peek(kind=kind, repeats=repeats if name == column else name != "rownames")  # type: ignore[arg-type]
        for name, kind in kinds.items()
    }


def test_where_an_id_stands_in_several_rows_it_is_whom_to_protect() -> None:
    assert drafted(VISITS, peeks=seen(True)).entity == EntityByColumn(table="panel", by="id")


def test_where_no_two_rows_have_the_same_id_each_row_is_one_person_and_nobody_asks() -> None:
    schema = drafted(VISITS, peeks=seen(False))
    assert schema.entity == "panel"
    assert schema.tables["panel"].columns["id"].type == "identifier"


def test_an_id_that_a_few_rows_lack_names_one_person_a_row_and_is_no_key() -> None:
    kinds: dict[str, StorageKind] = {"id": "integer", "sex": "string", "onset": "date"}
    peeks = {("cases", name): Peek(kind=kind, repeats=name != "id", missing=True) for name, kind in kinds.items()}
    schema = drafted(table("cases", "id unknown?, sex unknown?, onset unknown?"), peeks=peeks)
    assert schema.entity == "cases"
    assert schema.tables["cases"].key is None
    assert schema.tables["cases"].columns["id"].type == "identifier"


@pytest.mark.parametrize(
    "column", ["subjectnameoridentifier", "StudySubjectID", "patient_num", "Patienten-Nr", "subject_number", "BENE_ID"]
)
def test_what_everybodys_software_calls_a_person_names_one(column: str) -> None:
    forms = table("forms", f"site string?, {column} string?, form string?")
    visits = table("visits", f"{column} string?, visit string?, seen date?")
    entity = drafted(forms, visits).entity
    assert isinstance(entity, EntityByColumn)
    assert entity.by == column
    assert not names_person("children_no")  # a number of them


@pytest.mark.parametrize("column", ["patient_id", "subject_id", "mrn"])
def test_an_id_of_people_is_whom_to_protect_as_long_as_nothing_says_that_it_is_there_once(column: str) -> None:
    tests = table("tests", f"test_no integer, {column} integer, result string", key="test_no")
    assert drafted(tests).entity == EntityByColumn(table="tests", by=column)
    once = table("tests", f"test_no integer, {column} integer, result string", key=column)
    assert drafted(once).entity == "tests"


def test_a_guessed_key_that_was_seen_in_several_rows_is_none() -> None:
    peeks = {("patient", "patient_id"): Peek(kind="integer", repeats=True), ("patient", "seen"): Peek(kind="date")}
    schema = drafted(table("patient", "patient_id unknown?, seen unknown?, sex string?"), peeks=peeks)
    assert schema.entity == EntityByColumn(table="patient", by="patient_id")


def test_where_nothing_names_people_it_is_asked_whether_each_row_is_one() -> None:
    wages = table("wages", "rownames integer?, experience integer?, sex string?, wage number?")
    assert "each row is protected by itself" in written(wages)
    assert "each row is protected by itself" not in written(table("wages", "id integer, sex string?", key="id"))


@pytest.mark.parametrize("name", ["rownames", "row.names", "Unnamed: 0"])
def test_what_counts_the_rows_of_a_file_is_made_anew_and_not_measured(name: str) -> None:
    schema = drafted(table("wages", f"{name} integer?, wage number?"))
    assert schema.tables["wages"].columns[name].type == "identifier"


def looked(columns: str, **compared: Compared) -> dict[tuple[str, str], Peek]:
    """Types that were looked up, with what was seen of some columns beside the others."""
    typed = [column.strip().rsplit(" ", 1) for column in columns.split(",")]
    return {
        ("study", name): Peek(kind=kind, repeats=True, compared=compared.get(name, Compared()))  # type: ignore[arg-type]
        for name, kind in typed
    }


def study(columns: str) -> ReflectedTable:
    return table("study", ", ".join(f"{column.strip().rsplit(' ', 1)[0]} unknown?" for column in columns.split(",")))


def test_a_time_that_was_seen_never_to_be_less_than_another_follows_it() -> None:
    columns = "rtime integer, recur integer, dtime integer, death integer"
    schema = drafted(study(columns), peeks=looked(columns, dtime=Compared(follows="rtime")))
    assert schema.tables["study"].columns["dtime"].after == "rtime"  # type: ignore[union-attr]
    assert "types" in schema.peeked


def test_a_table_of_which_only_the_beginning_was_compared_is_told() -> None:
    columns = "rtime integer, recur integer"
    peeks = looked(columns, rtime=Compared(rows=5000), recur=Compared(rows=5000))
    text = draft(reflect(study(columns)), SIX_YEARS, None, peeks)
    assert " ".join(text.replace("#", "").split()).count("was looked for in the first 5,000 rows alone") == 1


def test_what_is_the_same_for_a_person_is_drawn_once_and_orders_nothing() -> None:
    columns = "id integer, randomised date, treatment string, seen date, weight number"
    peeks = looked(columns, randomised=Compared(same=True), treatment=Compared(same=True))
    held = drafted(study(columns), peeks=peeks).tables["study"]
    assert held.parent is not None
    assert held.parent.order_by == ("seen",)
    assert {name for name, column in held.columns.items() if column.same_for == "entity"} == {"randomised", "treatment"}


def test_what_repeats_another_column_is_a_copy_of_it() -> None:
    columns = "id integer, seen date, term string, decoded string"
    held = drafted(study(columns), peeks=looked(columns, decoded=Compared(repeats="term"))).tables["study"].columns
    assert held["decoded"].determined is not None
    assert held["decoded"].determined.copy_of == "term"


def test_a_row_happens_when_its_order_says_and_what_comes_before_it_is_tied_to_that() -> None:
    columns = "id integer, reported date, begun date, term string"
    peeks = looked(columns, reported=Compared(follows="begun"))
    held = drafted(study(columns), peeks=peeks, facts=SIX_YEARS).tables["study"]
    assert held.parent is not None
    assert held.parent.order_by == ("reported",)
    assert held.columns["begun"].before == "reported"  # type: ignore[union-attr]


def test_a_date_that_most_rows_lack_orders_no_rows() -> None:
    columns = "id integer, begun date, visit_no integer"
    held = drafted(study(columns), peeks=looked(columns, begun=Compared(missing=True))).tables["study"]
    assert held.parent is not None
    assert held.parent.order_by == ("visit_no",)


def test_rows_begin_with_the_date_above_that_they_were_seen_never_to_precede() -> None:
    people = table("patients", "patient_id unknown?, born unknown?, screened unknown?")
    visits = table("visits", "patient_id unknown?, seen unknown?, site unknown?")
    kinds = {"patient_id": "string", "born": "date", "screened": "date", "seen": "date", "site": "string"}
    peeks = {
        (held.name, c.name): Peek(kind=kinds[c.name], repeats=(held.name, c.name) != ("patients", "patient_id"))  # type: ignore[arg-type]
        for held in (people, visits)
        for c in held.columns
    }
    peeks["visits", "seen"] = replace(peeks["visits", "seen"], compared=Compared(begins="screened"))
    peeks["visits", "site"] = replace(peeks["visits", "site"], compared=Compared(same=True))
    held = drafted(people, visits, peeks=peeks, facts=SIX_YEARS).tables["visits"].columns
    assert held["seen"].first.after == "parent.screened"  # type: ignore[union-attr]
    assert held["site"].same_for == "entity"


def test_rows_that_nothing_else_orders_are_taken_in_the_order_of_the_file() -> None:
    rows = table("labels", "rownames integer, patient_id integer, label string")
    parent = drafted(rows).tables["labels"].parent
    assert parent is not None
    assert (parent.type, parent.order_by) == ("sequential", ("rownames",))


@pytest.mark.parametrize("kind", ["integer", "date"])
def test_a_row_begins_when_the_last_one_has_ended_where_none_was_seen_to_overlap(kind: str) -> None:
    columns = f"id integer, tstart {kind}, tstop {kind}, status integer"
    held = drafted(study(columns), peeks=looked(columns, tstart=Compared(apart="tstop")), facts=SIX_YEARS).tables["study"]
    assert held.columns["tstart"].after == "previous.tstop"  # type: ignore[union-attr]


def test_days_of_a_frame_are_days_though_pandas_keeps_moments() -> None:
    """A birth is a day wherever it is kept; what is stored as a moment in a database was meant as one."""
    people = table(
        "patients", "patient_id integer, born datetime, visit_date datetime, admitted datetime, birth_datetime datetime"
    )
    columns = drafted(people).tables["patients"].columns
    kinds = {name: columns[name].type for name in ("born", "visit_date", "admitted", "birth_datetime")}
    assert kinds == {"born": "date", "visit_date": "datetime", "admitted": "datetime", "birth_datetime": "datetime"}
    frame = replace(people, columns=tuple(replace(column, inferred=True) for column in people.columns))
    of_pandas = drafted(frame).tables["patients"].columns
    assert (of_pandas["visit_date"].type, of_pandas["admitted"].type) == ("date", "datetime")
