"""What a look at values says against a name: a flag that counts, a place that numbers no rows, a time that is a text."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from mare.schema import EntityByColumn
from mare.schema.columns import Boolean, Date, Datetime, Identifier, Number
from mare.schema.drafting import draft
from mare.schema.reflection import Compared, Peek, StorageKind
from tests.reflections import NOTHING_KNOWN, drafted, reflect, table


def looked_at(name: str, kinds: Mapping[str, StorageKind], **more: Peek) -> dict[tuple[str, str], Peek]:
    return {(name, column): more.get(column, Peek(kind=kind, repeats=True)) for column, kind in kinds.items()}


TESTS = table("tests", "patient_id unknown?, is_smoker unknown?, ist unknown?, treated unknown?, note_flag unknown?")


def test_a_flag_is_what_holds_nought_and_one_whatever_it_is_called() -> None:
    kinds: dict[str, StorageKind] = {column.name: "integer" for column in TESTS.columns}
    told = {name: Peek(kind="integer", repeats=True, binary=True) for name in ("is_smoker", "treated")}
    columns = drafted(TESTS, peeks=looked_at("tests", kinds, **told)).tables["tests"].columns
    types = {name: columns[name].type for name in ("is_smoker", "treated", "ist", "note_flag")}
    assert types == {"is_smoker": "boolean", "treated": "boolean", "ist": "integer", "note_flag": "integer"}


def test_of_a_catalogue_the_name_of_a_flag_is_all_there_is() -> None:
    columns = drafted(table("tests", "patient_id integer, is_smoker integer, treated integer")).tables["tests"].columns
    assert (columns["is_smoker"].type, columns["treated"].type) == ("boolean", "integer")


LAPS = table("laps", "lap_id unknown?, patient_id unknown?, position unknown?, time unknown?, points unknown?")
TIMED: dict[str, StorageKind] = {
    "lap_id": "integer", "patient_id": "integer", "position": "integer", "time": "string", "points": "integer"
}  # fmt: skip


def test_a_time_that_is_a_text_orders_nothing_and_is_no_date() -> None:
    peeks = looked_at("laps", TIMED, lap_id=Peek(kind="integer", repeats=False))
    laps = drafted(LAPS, peeks=peeks).tables["laps"]
    assert laps.parent is not None
    assert "time" not in laps.parent.order_by
    runs = table("runs", "patient_id unknown?, start_date unknown?, length unknown?")
    dated = looked_at("runs", {"patient_id": "integer", "start_date": "string", "length": "integer"})
    assert drafted(runs, peeks=dated).tables["runs"].columns["start_date"].type == "category"


@pytest.mark.parametrize(("counts", "kind"), [(True, "position"), (None, "position"), (False, "integer")])
def test_a_place_numbers_the_rows_where_it_was_seen_to_count_them(counts: bool | None, kind: str) -> None:
    place = Peek(kind="integer", repeats=True, compared=Compared(counts=counts))
    peeks = looked_at("laps", TIMED, lap_id=Peek(kind="integer", repeats=False), position=place)
    laps = drafted(LAPS, peeks=peeks).tables["laps"]
    assert laps.columns["position"].type == kind
    assert laps.parent is not None
    assert laps.parent.order_by == (("position",) if kind == "position" else ("lap_id",))


INFO = table("enrolment", "person_id unknown?, course unknown?, gender unknown?, age_band unknown?")
ENROLLED: dict[str, StorageKind] = {"person_id": "integer", "course": "string", "gender": "string", "age_band": "string"}


@pytest.mark.parametrize(("repeats", "most"), [(True, 100), (False, 1)])
def test_whoever_was_seen_in_several_rows_may_have_several(repeats: bool, most: int) -> None:
    marks = table("marks", "person_id unknown?, week unknown?, mark unknown?")
    peeks = looked_at("enrolment", ENROLLED, person_id=Peek(kind="integer", repeats=repeats))
    peeks |= looked_at("marks", {"person_id": "integer", "week": "integer", "mark": "number"})
    schema = drafted(INFO, marks, peeks=peeks, entity="marks.person_id")
    parent = schema.tables["enrolment"].parent
    assert parent is not None
    assert parent.max_rows == most


def test_a_table_that_an_id_of_people_is_the_key_of_holds_them() -> None:
    info = table("PatientInfo", "patient_id integer?, sex string?, birth_year integer?, city string?")
    route = table("route", "patient_id integer?, date date?, city string?")
    schema = drafted(info, route)
    assert schema.entity == "PatientInfo"
    assert schema.tables["route"].parent.table == "PatientInfo"  # type: ignore[union-attr]


def test_the_key_of_a_table_is_no_trait_of_people() -> None:
    """A `race` describes somebody; the id of a race that is run does not."""
    players = table("players", "playerId integer?, surname string?, dob date?")
    races = table("races", "raceId integer?, year integer?, circuit string?")
    results = table("results", "resultId integer?, raceId integer?, playerId integer?, points number?")
    assert drafted(players, races, results).tables["races"].public
    traits = table("races", "raceId integer?, year integer?, nationality string?")
    assert drafted(players, traits, results).tables["races"].pool is not None


@pytest.mark.parametrize("column", ["Subject", "idcode", "subj", "individual"])
def test_whoever_stands_in_several_rows_of_the_only_table_is_protected(column: str) -> None:
    doses = table("doses", f"{column} unknown?, hour unknown?, dose unknown?")
    peeks = looked_at("doses", {column: "integer", "hour": "number", "dose": "integer"})
    assert drafted(doses, peeks=peeks).entity == EntityByColumn(table="doses", by=column)


def test_a_subject_that_is_taught_is_nobody() -> None:
    marks = table("marks", "subject unknown?, pupil_name unknown?, mark unknown?")
    peeks = looked_at("marks", {"subject": "string", "pupil_name": "string", "mark": "integer"})
    assert drafted(marks, peeks=peeks).entity == "marks"


SCORES = table("scores", "patient_id unknown?, site_id unknown?, low unknown?, high unknown?, flag unknown?, again unknown?")
WRITTEN: dict[str, StorageKind] = {
    "patient_id": "integer", "site_id": "integer", "low": "number", "high": "number", "flag": "integer", "again": "integer"
}  # fmt: skip


def test_words_that_programs_write_for_nothing_are_no_data_and_those_of_people_are() -> None:
    nothing = {"low": (".", "NA"), "high": (".", "k.A.")}
    more = {name: Peek(kind="number", repeats=True, missing=True, reading={"nulls": words}) for name, words in nothing.items()}
    columns = drafted(SCORES, peeks=looked_at("scores", WRITTEN, **more)).tables["scores"].columns
    low, high = columns["low"], columns["high"]
    assert isinstance(low, Number)
    assert isinstance(high, Number)
    assert (low.nulls, low.peeked) == ((".", "NA"), False)
    assert (high.nulls, high.peeked) == ((".", "k.A."), True)


def test_how_an_id_is_written_that_is_made_anew_does_not_matter() -> None:
    site = Peek(kind="integer", repeats=True, missing=True, reading={"nulls": ("#N/A",), "specials": ("Lyon",)})
    page = draft(reflect(SCORES), NOTHING_KNOWN, None, looked_at("scores", WRITTEN, site_id=site))
    assert "left open" not in page
    assert "Lyon" not in page


def test_a_copy_of_a_flag_is_stored_as_the_flag_is() -> None:
    flags = {
        "flag": Peek(kind="integer", repeats=True, binary=True),
        "again": Peek(kind="integer", repeats=True, binary=True, compared=Compared(repeats="flag")),
    }
    again = drafted(SCORES, peeks=looked_at("scores", WRITTEN, **flags)).tables["scores"].columns["again"]
    assert isinstance(again, Boolean)
    assert again.determined is not None
    assert (again.determined.copy_of, again.true, again.false) == ("flag", 1, 0)


FEED = table("feed", "Patientennummer unknown?, Fallnummer unknown?, Analyt unknown?, Wert unknown?, Abnahme unknown?")
FED: dict[str, StorageKind] = {
    "Patientennummer": "string", "Fallnummer": "string", "Analyt": "string", "Wert": "number", "Abnahme": "datetime"
}  # fmt: skip


def test_what_rows_of_one_person_share_and_nobody_else_has_is_an_id_that_follows_in_runs() -> None:
    case = Peek(kind="string", repeats=True, compared=Compared(own=True))
    schema = drafted(FEED, peeks=looked_at("feed", FED, Fallnummer=case))
    assert schema.entity == EntityByColumn(table="feed", by="Patientennummer")
    number = schema.tables["feed"].columns["Fallnummer"]
    assert isinstance(number, Identifier)
    assert number.runs


def test_a_header_that_was_pasted_in_once_more_is_no_value() -> None:
    value = Peek(kind="number", repeats=True, reading={"decimal": ",", "specials": ("<0,5", "Wert")})
    taken = Peek(kind="datetime", repeats=True, reading={"format": ("%d.%m.%Y %H:%M",), "specials": ("Abnahme",)})
    columns = drafted(FEED, peeks=looked_at("feed", FED, Wert=value, Abnahme=taken)).tables["feed"].columns
    assert isinstance(columns["Wert"], Number)
    assert isinstance(columns["Abnahme"], Datetime)
    assert (columns["Wert"].specials, columns["Abnahme"].specials) == (("<0,5",), ())


@pytest.mark.parametrize("unread", [False, True])
def test_that_some_words_are_read_as_null_is_asked_about(unread: bool) -> None:
    value = Peek(kind="number", repeats=True, reading={"decimal": ","}, unread=unread)
    page = draft(reflect(FEED), NOTHING_KNOWN, None, looked_at("feed", FED, Wert=value))
    assert ("what is not written so, in some rows, is read as NULL" in page) is unread


RECORDS = table(
    "export",
    "record_id unknown?, redcap_event_name unknown?, redcap_repeat_instrument unknown?, redcap_repeat_instance unknown?, "
    "sex unknown?, diagnosis_date unknown?, visit_date unknown?, ae_start unknown?",
)


def test_rows_of_redcap_follow_each_other_by_what_tells_them_apart() -> None:
    """One row for each event and instrument: what was asked once stands in one of them, and each date in some."""
    kinds: dict[str, StorageKind] = {column.name: "string" for column in RECORDS.columns}
    kinds |= {"redcap_repeat_instance": "integer", "sex": "integer"} | dict.fromkeys(
        ("diagnosis_date", "visit_date", "ae_start"), "date"
    )
    in_some = {
        name: Peek(kind=kinds[name], repeats=True, missing=True, compared=Compared(missing=True, counts=False))
        for name in ("sex", "diagnosis_date", "visit_date", "ae_start")
    }
    export = drafted(RECORDS, peeks=looked_at("export", kinds, **in_some)).tables["export"]
    assert export.parent is not None
    assert export.parent.order_by == ("redcap_event_name", "redcap_repeat_instrument", "redcap_repeat_instance")
    assert export.columns["sex"].same_for is None
    dates = [export.columns[name] for name in ("diagnosis_date", "visit_date", "ae_start")]
    assert [date.around for date in dates if isinstance(date, Date)] == [None] * 3


def test_what_was_seen_to_follow_from_a_code_of_the_row_goes_with_it() -> None:
    kinds: dict[str, StorageKind] = {"patient_id": "integer", "VISIT": "string", "PHASE": "string", "SEEN": "date"}
    phase = Peek(kind="string", repeats=True, compared=Compared(told_by=("VISIT",)))
    visit = Peek(kind="string", repeats=True, compared=Compared(told_by=("PHASE",)))
    visits = table("visits", "patient_id unknown?, VISIT unknown?, PHASE unknown?, SEEN unknown?")
    columns = drafted(visits, peeks=looked_at("visits", kinds, PHASE=phase, VISIT=visit)).tables["visits"].columns
    determined = {name: column.determined for name, column in columns.items() if column.determined is not None}
    assert {name: how.goes_with for name, how in determined.items()} == {"VISIT": "PHASE"}
