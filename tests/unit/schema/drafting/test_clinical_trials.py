"""Drafts of clinical trials as CDISC names them: whose rows they are, what a result is of, which day follows which."""

from __future__ import annotations

import pytest

from mare.schema import EntityByColumn
from mare.schema.reflection import Peek
from tests.reflections import SIX_YEARS, drafted, table

DM = table("dm", "STUDYID string?, USUBJID string?, SUBJID string?, SITEID string?, BRTHDTC date?, SEX string?")
AE = table("ae", "STUDYID string?, USUBJID string?, AESEQ integer?, AETERM string?, AESTDTC date?, AEENDTC date?")


@pytest.mark.parametrize("entity", [None, "dm", "dm.USUBJID"])
def test_patients_of_a_trial_are_told_apart_by_their_id_not_by_the_study(entity: str | None) -> None:
    schema = drafted(DM, AE, entity=entity)
    assert schema.entity == "dm"
    assert schema.tables["dm"].key == ("USUBJID",)
    assert schema.parent_columns("ae") == ("USUBJID",)
    assert "STUDYID" not in schema.tables["ae"].references


def test_a_study_a_site_or_a_source_is_no_key_of_people_whatever_they_are_called_by() -> None:
    people = table("animals", "study string?, site string?, tag string?, sex string?")
    weights = table("weights", "study string?, site string?, tag string?, weighed date?, kilos number?")
    schema = drafted(people, weights, entity="animals")
    assert schema.tables["animals"].key == ("tag",)


def test_a_column_that_was_seen_to_repeat_is_no_key_and_the_people_are_that_column() -> None:
    repeats = {("dm", "USUBJID"): Peek(kind="string", repeats=True)}
    schema = drafted(table("dm", "USUBJID unknown?, DMDTC date?, SEX string?"), AE, entity="dm.USUBJID", peeks=repeats)
    assert schema.entity == EntityByColumn(table="dm", by="USUBJID")


def test_of_two_shared_columns_the_one_that_was_seen_never_to_repeat_is_the_key() -> None:
    peeks = {(name, column): Peek(kind="string", repeats=column != "b" or name != "panel")
             for name in ("panel", "waves") for column in ("a", "b")}  # fmt: skip
    panel, waves = table("panel", "a unknown?, b unknown?, sex string?"), table("waves", "a unknown?, b unknown?, seen date?")
    assert drafted(panel, waves, entity="panel", peeks=peeks).tables["panel"].key == ("b",)


LB = table(
    "lb",
    "USUBJID string?, LBSEQ integer?, LBTESTCD string?, LBTEST string?, LBORRES number?, LBORRESU string?, LBSTRESN number?, "
    "LBSTNRLO number?, LBSTNRHI number?, VISITNUM number?, VISIT string?, VISITDY integer?, LBDTC datetime?, LBDY integer?",
)


def test_results_of_a_trial_have_the_scale_of_their_test_and_look_at_the_one_before() -> None:
    lb = drafted(DM, LB).tables["lb"]
    assert lb.parent is not None
    assert (lb.parent.order_by, lb.parent.history_by) == (("LBDTC", "LBTESTCD"), ("LBTESTCD",))
    assert {name for name, column in lb.columns.items() if getattr(column, "by", ())} == {
        "LBORRES", "LBSTRESN", "LBSTNRLO", "LBSTNRHI",
    }  # fmt: skip
    assert lb.columns["LBSEQ"].type == "position"
    assert lb.columns["LBDTC"].scale == "log"  # type: ignore[union-attr]


def test_the_number_of_a_planned_visit_is_a_name_of_it() -> None:
    columns = drafted(DM, LB).tables["lb"].columns
    assert (columns["VISITNUM"].type, columns["VISIT"].type) == ("category", "category")


def test_whoever_is_measured_at_every_visit_keeps_all_visits() -> None:
    measured = table("results", "USUBJID string?, PARAMCD string?, AVAL number?, taken datetime?")
    for long in (LB, measured):
        parent = drafted(DM, long).tables[long.name].parent
        assert parent is not None
        assert parent.max_rows == 1000


def test_what_is_measured_within_a_stay_needs_no_more_rows_than_before() -> None:
    stays = table("stays", "stay_id integer, USUBJID string, intime datetime", key="stay_id", refers={"USUBJID": "dm.USUBJID"})
    labs = table("labs", "stay_id integer, test string, value number, at datetime", refers={"stay_id": "stays.stay_id"})
    people = table("dm", "USUBJID string, SEX string", key="USUBJID")
    parent = drafted(people, stays, labs).tables["labs"].parent
    assert parent is not None
    assert parent.max_rows == 300


def test_births_deaths_starts_and_ends_of_a_trial_are_known_by_their_names() -> None:
    people = table("dm", "USUBJID string?, RFSTDTC date?, RFENDTC date?, DTHDTC date?, BRTHDTC date?, SEX string?")
    events = table(
        "ae", "USUBJID string?, AESEQ integer?, AESTDTC date?, AEENDTC date?, AESTDY integer?, AEENDY integer?, AETERM string?"
    )
    schema = drafted(people, events, facts=SIX_YEARS)
    dm, ae = schema.tables["dm"].columns, schema.tables["ae"].columns
    assert str(dm["BRTHDTC"].min) == "1900-01-01"  # type: ignore[union-attr]
    assert dm["RFENDTC"].after == "RFSTDTC"  # type: ignore[union-attr]
    assert dm["DTHDTC"].after is not None  # type: ignore[union-attr]
    assert ae["AEENDTC"].after == "AESTDTC"  # type: ignore[union-attr]
    assert ae["AEENDY"].after == "AESTDY"  # type: ignore[union-attr]
    assert ae["AESEQ"].type == "position"
    assert schema.tables["ae"].parent.order_by == ("AESTDTC",)  # type: ignore[union-attr]


@pytest.mark.parametrize(("start", "end"), [("start_day", "stop_day"), ("ivstart", "ivstop"), ("BeginOffset", "EndOffset")])
def test_an_end_that_is_a_number_follows_its_start_which_orders_the_rows(start: str, end: str) -> None:
    people = table("patients", "id integer, sex string", key="id")
    courses = table("courses", f"who integer, {start} integer, {end} integer, drug string", refers={"who": "patients.id"})
    drafted_courses = drafted(people, courses).tables["courses"]
    assert drafted_courses.columns[end].after == start  # type: ignore[union-attr]
    assert drafted_courses.parent is not None
    assert drafted_courses.parent.order_by == (start,)


def test_prices_and_streets_that_begin_somewhere_are_no_pair() -> None:
    shares = table("shares", "id integer, open number, close number, from_amount number, to_amount number, day date",
                   refers={"id": "patients.id"})  # fmt: skip
    columns = drafted(table("patients", "id integer, sex string", key="id"), shares).tables["shares"].columns
    assert columns["close"].after is None  # type: ignore[union-attr]
    assert columns["to_amount"].after is None  # type: ignore[union-attr]


def test_a_table_that_was_seen_to_have_one_row_for_each_person_refers_to_the_people() -> None:
    """Several tables of one row each look like the people themselves; they are those of the table that is called so."""
    once = Peek(kind="string", repeats=False)
    peeks = {**{(name, "USUBJID"): once for name in ("dm", "ds", "ex")}, ("ae", "USUBJID"): Peek(kind="string", repeats=True)}
    names = ("dm", "DSSEQ"), ("ds", "DSTERM"), ("ex", "EXDOSE"), ("ae", "AETERM")
    schema = drafted(*(table(name, f"USUBJID unknown?, {other} string?") for name, other in names), peeks=peeks)
    assert schema.entity == "dm"
    assert {schema.parent_name(name) for name in ("ds", "ex", "ae")} == {"dm"}
