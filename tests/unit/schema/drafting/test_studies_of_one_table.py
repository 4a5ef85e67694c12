"""Drafts of a study that is one table: who its people are, and what only counts its rows."""

from __future__ import annotations

import pytest

from mare.schema import EntityByColumn
from mare.schema.reflection import Peek
from tests.reflections import drafted, table, written

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
