"""Drafts of clinical trials as CDISC names them: whose rows they are, what a result is of, which day follows which."""

from __future__ import annotations

import pytest

from mare.schema import EntityByColumn
from mare.schema.reflection import Peek
from tests.reflections import drafted, table

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


def test_the_number_of_a_planned_visit_is_a_name_of_it() -> None:
    columns = drafted(DM, LB).tables["lb"].columns
    assert (columns["VISITNUM"].type, columns["VISIT"].type) == ("category", "category")


def test_whoever_is_measured_at_every_visit_keeps_all_visits() -> None:
    measured = table("results", "USUBJID string?, PARAMCD string?, AVAL number?, taken datetime?")
    for long in (LB, measured):
        parent = drafted(DM, long).tables[long.name].parent
        assert parent is not None
        assert parent.max_rows == 500


def test_what_is_measured_within_a_stay_needs_no_more_rows_than_before() -> None:
    stays = table("stays", "stay_id integer, USUBJID string, intime datetime", key="stay_id", refers={"USUBJID": "dm.USUBJID"})
    labs = table("labs", "stay_id integer, test string, value number, at datetime", refers={"stay_id": "stays.stay_id"})
    people = table("dm", "USUBJID string, SEX string", key="USUBJID")
    parent = drafted(people, stays, labs).tables["labs"].parent
    assert parent is not None
    assert parent.max_rows == 100
