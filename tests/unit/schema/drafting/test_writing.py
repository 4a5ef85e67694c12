"""The draft as a file: what it says about itself, and that odd names do not break it."""

from __future__ import annotations

from dataclasses import replace

from mare.schema.drafting import draft
from mare.schema.loading import load_document, load_schema
from mare.schema.reflection import LeftOut, Peek
from tests.reflections import ADMISSIONS, NOTHING_KNOWN, PATIENTS, comment_on, drafted, reflect, table, written


def test_the_header_says_what_it_was_drafted_from_and_that_nothing_was_read() -> None:
    text = draft(reflect(PATIENTS, ADMISSIONS, label="postgresql://me@host/ehr"), NOTHING_KNOWN)
    first, second, *_ = text.splitlines()
    assert first == "# yaml-language-server: $schema=mare.schema.json"
    assert second == "# A draft by `mare init`, from postgresql://me@host/ehr."
    assert "Drafted from names and types alone. No value was read." in text
    assert "# Next: mare check" in text


def test_types_that_somebody_found_in_the_values_are_told_to_be_such() -> None:
    """Whether a column of numbers has one that is not whole may be one person's doing: it would come out with the schema."""
    found = replace(PATIENTS, columns=tuple(replace(column, inferred=True) for column in PATIENTS.columns))
    told = "one person's value may have decided one"
    assert told in _read(draft(reflect(found), NOTHING_KNOWN))
    assert told not in _read(draft(reflect(PATIENTS), NOTHING_KNOWN))


def _read(text: str) -> str:
    """Its comments, as one line."""
    return " ".join(line.lstrip("# ") for line in text.splitlines())


def test_the_header_counts_the_reviews() -> None:
    text = written(PATIENTS, ADMISSIONS)
    marks = text.count("REVIEW: ")
    assert marks > 1
    assert f"# {marks} things to review" in text


def test_what_is_left_out_and_checks_that_were_not_understood_are_listed() -> None:
    patients = table("patients", "id integer", key="id", unread_checks=("upper(x)\n = x",))
    text = draft(reflect(patients, left_out=(LeftOut("v_patients", "a view"),)), NOTHING_KNOWN)
    assert "# - left out: v_patients: a view" in text
    assert "# - REVIEW: a constraint of patients was not understood and is not kept: upper(x) = x" in text


def test_names_that_yaml_would_misread_come_back_the_same() -> None:
    names = ["null", "true", "no", "1", "a: b", "# c", "d\ne", 'f"g', "- h", "größe", "i{j}", "*k"]
    patients = table("patients", "id integer, " + ", ".join(f"{name} string" for name in names), key="id")
    assert list(drafted(patients).tables["patients"].columns) == names
    odd = table("x: y", "id integer", key="id")
    assert set(drafted(PATIENTS, odd).tables) == {"patients", "x: y"}


def test_a_name_cannot_end_a_comment_and_write_yaml() -> None:
    evil = table("evil\nentity: evil", "x string")
    schema = load_schema(draft(reflect(PATIENTS, evil, label="a\nmare: 2"), NOTHING_KNOWN))
    assert schema.entity == "patients"


def test_enum_values_come_back_as_they_are() -> None:
    values = ("yes", "1", "", " x", "a,b", "2020-01-01", "~")
    patients = table("patients", "id integer, x string", key="id", x={"values": values})
    assert drafted(patients).tables["patients"].columns["x"].values == values  # type: ignore[union-attr]


def test_columns_are_aligned() -> None:
    lines = [line for line in written(PATIENTS).splitlines() if "{type:" in line]
    assert len(lines) == 2
    assert len({line.index("{") for line in lines}) == 1


def test_no_line_of_comment_is_longer_than_a_screen() -> None:
    text = written(PATIENTS, ADMISSIONS, table("settings", "name string, value string"))
    assert max(len(line) for line in text.splitlines() if line.strip().startswith("#")) <= 120


def test_a_key_that_nothing_makes_unique_is_left_open_with_the_reason() -> None:
    results = table(
        "results", "subject_id integer, name string, value string", key="name+value", refers={"subject_id": "patients.subject_id"}
    )
    text = written(PATIENTS, results)
    assert load_schema(text).tables["results"].key is None
    assert "# REVIEW: key: [name, value] left open: nothing makes the key" in text


def test_peeked_types_are_marked_and_the_header_shouts() -> None:
    patients = table("patients", "subject_id unknown?, x unknown?, gone unknown?")
    peeks = {("patients", "x"): Peek(kind="integer")}
    text = draft(reflect(patients), NOTHING_KNOWN, None, peeks)
    schema = load_document(text).schema
    columns = schema.tables["patients"].columns
    assert "# VALUES WERE READ to find out types" in text
    assert schema.peeked == ("types",)
    assert (columns["x"].type, columns["gone"].type) == ("integer", "unknown")


def test_one_line_stands_for_all_types_and_is_asked_about_once() -> None:
    """Whoever has made sure that the types are public removes one line, not eighty marks."""
    patients = table("patients", "subject_id unknown?, x unknown?, y unknown?")
    peeks = {("patients", "x"): Peek(kind="integer"), ("patients", "y"): Peek(kind="date")}
    text = draft(reflect(patients), NOTHING_KNOWN, None, peeks)
    assert "types, and what rows show together, of patients" in comment_on(text, "peeked: [types]")
    assert "REVIEW: found by looking at the data" in comment_on(text, "peeked: [types]")
    assert text.count("peeked:") == 1


def test_a_word_among_the_values_keeps_a_mark_of_its_own() -> None:
    patients = table("patients", "subject_id unknown?, x unknown?")
    peeks = {("patients", "x"): Peek(kind="integer", reading={"nulls": ("missing",)})}
    schema = drafted(patients, peeks=peeks)
    assert schema.tables["patients"].columns["x"].peeked


def test_an_entity_that_peeking_has_changed_is_marked() -> None:
    visits = table("visits", "pid unknown?, seen unknown?")
    again = {("visits", "pid"): Peek(kind="integer", repeats=True)}
    blind, typed = drafted(visits), drafted(visits, peeks=again)
    assert blind.entity != typed.entity
    assert "entity" in typed.peeked


def test_structure_that_only_peeked_types_made_possible_is_marked() -> None:
    people = table("patients", "id unknown?, sex unknown?")
    visits = table("visits", "id unknown?, t unknown?")
    blind = drafted(people, visits)
    assert blind.tables["visits"].parent.type == "independent"  # type: ignore[union-attr]
    assert blind.peeked == ()
    text = draft(reflect(people, visits), NOTHING_KNOWN, None, {("visits", "t"): Peek(kind="date")})
    typed = load_document(text).schema
    assert typed.tables["visits"].parent.order_by == ("t",)  # type: ignore[union-attr]
    assert typed.peeked == ("types", "links")
    assert "show together, of visits; keys and links of visits" in comment_on(text, "peeked: [types, links]")


def test_structure_that_names_tell_alone_is_not_marked() -> None:
    people = table("patients", "subject_id unknown?, sex unknown?")
    admissions = table("admissions", "hadm_id unknown?, subject_id unknown?, admittime unknown?, age unknown?")
    schema = drafted(people, admissions, peeks={("admissions", "age"): Peek(kind="integer")})
    assert schema.tables["admissions"].parent.order_by == ("admittime",)  # type: ignore[union-attr]
    assert schema.peeked == ("types",)


def test_a_reference_that_peeked_types_changed_is_marked() -> None:
    people = table("patients", "subject_id unknown, sex unknown")
    stays = table("stays", "stay_id unknown, subject_id unknown, a_start unknown, a_end unknown")
    labs = table("labs", "lab_id unknown, subject_id unknown, t unknown, stay_id unknown?, provider_id unknown")
    providers = table("providers", "provider_id unknown, grade unknown")
    times = (("stays", "a_start"), ("stays", "a_end"), ("labs", "t"))
    found = drafted(people, stays, labs, providers, peeks={place: Peek(kind="datetime") for place in times})
    assert found.tables["labs"].references["stay_id"].by == "interval"  # type: ignore[union-attr]
    assert "links" in found.peeked


def test_peeked_domains_replace_learning_and_are_marked() -> None:
    patients = table("patients", "subject_id integer, sex string?, weight integer, note string", key="subject_id")
    peeks = {
        ("patients", "sex"): Peek(kind="string", values=("F", "M")),
        ("patients", "weight"): Peek(kind="integer", min=18, max=91),
        ("patients", "note"): Peek(kind="string", values=("secret",)),
    }
    text = draft(reflect(patients), NOTHING_KNOWN, None, peeks)
    columns = load_document(text).schema.tables["patients"].columns
    assert "# VALUES WERE READ to fill in domains" in text
    assert (columns["sex"].values, columns["sex"].peeked, columns["sex"].nullable) == (("F", "M"), True, True)  # type: ignore[union-attr]
    assert (columns["weight"].min, columns["weight"].max, columns["weight"].learn) == (18, 91, False)  # type: ignore[union-attr]
    assert "secret" not in text
    assert not columns["note"].peeked


def test_a_peeked_first_value_settles_the_sequence() -> None:
    from datetime import datetime

    peeks = {("admissions", "admittime"): Peek(kind="datetime", min=datetime(2100, 1, 1), max=datetime(2200, 1, 1, 12))}
    text = draft(reflect(PATIENTS, ADMISSIONS), NOTHING_KNOWN, None, peeks)
    document = load_document(text)
    assert "is missing" not in text
    column = document.schema.tables["admissions"].columns["admittime"]
    assert column.first.min == datetime(2100, 1, 1)  # type: ignore[union-attr]
    assert column.peeked
    assert not document.faults


def test_a_column_with_too_many_values_stays_learned() -> None:
    patients = table("patients", "subject_id integer, city string", key="subject_id")
    columns = (
        load_schema(draft(reflect(patients), NOTHING_KNOWN, None, {("patients", "city"): Peek(kind="string")}))
        .tables["patients"]
        .columns
    )
    assert columns["city"].learn  # type: ignore[union-attr]


def test_reasons_stand_next_to_what_they_are_about() -> None:
    text = written(PATIENTS, ADMISSIONS)
    assert comment_on(text, "parent: {table: patients").startswith("rows follow each other by admittime REVIEW: max_rows: 30")


def test_what_was_seen_never_to_be_missing_is_not_drafted_as_if_it_might_be() -> None:
    patients = table("patients", "subject_id unknown?, x unknown?, y unknown?, z unknown?")
    peeks = {
        ("patients", name): Peek(kind="integer", missing=missing) for name, missing in (("x", False), ("y", True), ("z", None))
    }
    schema = drafted(patients, peeks=peeks)
    columns = schema.tables["patients"].columns
    assert [columns[name].nullable for name in "xyz"] == [False, True, True]  # type: ignore[union-attr]
    assert schema.peeked == ("types",)
