"""What every sink does, whatever it writes: one suite over all of them."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from mare.errors import InternalError, SinkError
from mare.finding import open_sink, open_source
from mare.ports import SinkTable
from mare.schema.reflection import ReflectedColumn, ReflectedForeignKey, ReflectedTable
from tests.targets import (
    ALL,
    DATABASES,
    FILES,
    LINES,
    PATIENTS,
    ROWS,
    SERVERS,
    TABLES,
    WARDS,
    Row,
    Target,
    batch,
    fill,
    make_target,
    read,
    write,
)

OTHER: dict[str, list[Row]] = {**ROWS, "lines": [], "Patients": ROWS["Patients"][2:]}


@pytest.fixture
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Target:
    """A fresh place of the kind that the test names."""
    folder = tmp_path / "place"
    folder.mkdir()
    return make_target(request.param, request, folder)


every = pytest.mark.parametrize("target", ALL, indirect=True)
every_database = pytest.mark.parametrize("target", DATABASES, indirect=True)
every_typed = pytest.mark.parametrize("target", [*DATABASES, "parquet"], indirect=True)


def by_key(tables: dict[str, list[Row]]) -> dict[str, list[Row]]:
    return {name: sorted(rows, key=lambda row: str(list(row.values())[:2])) for name, rows in tables.items()}


def execute(target: Target, statement: str) -> list[Any]:
    assert target.execute is not None
    return target.execute(statement)


@every_typed
def test_what_was_written_reads_back_equal(target: Target) -> None:
    write(target.location)
    expected = by_key({**ROWS, "Patients": [row | {"weight": _float(row["weight"])} for row in ROWS["Patients"]]})
    held = by_key(read(target.location))
    for row in held["Patients"]:
        if row["doc"] is not None:  # a database may write a document in its own way
            row["doc"] = '{"a": [1, "ü"]}' if row["doc"].replace(" ", "") == '{"a":[1,"ü"]}' else row["doc"]
    assert held == expected


def _float(value: Decimal | None) -> float | None:
    return None if value is None else float(value)


WIDE = ReflectedTable(
    "wide",
    (
        ReflectedColumn("id", "integer", "numeric(50,0)", nullable=False, digits=50, precision=0),
        ReflectedColumn("long", "number", "numeric(60,10)", digits=60, precision=10),
        ReflectedColumn("small", "number", "numeric(3,5)", digits=3, precision=5),
        ReflectedColumn("round", "number", "numeric(20,-2)", digits=20, precision=-2),
    ),
    key=("id",),
    dialect="postgresql",
)


@every_typed
def test_numbers_of_more_digits_or_decimals_than_a_target_declares_are_written(target: Target) -> None:
    row = {"id": 7, "long": 2.5, "small": 0.00125, "round": 1200.0}
    with open_sink(target.location) as sink:
        sink.create([SinkTable(WIDE)])
        sink.write("wide", batch(WIDE, [row]))
    (held,) = read(target.location)["wide"]
    assert {name: float(value) for name, value in held.items()} == pytest.approx(row)


@pytest.mark.parametrize("target", ["csv", "csv.gz"], indirect=True)
def test_csv_reads_back_as_text_that_tells_null_from_empty(target: Target) -> None:
    write(target.location)
    first, second, third = sorted(read(target.location)["Patients"], key=lambda row: row["id"])
    assert (first["born"], first["seen"], first["left"]) == ("1844-02-29", "1844-03-01 00:00:00", "2200-12-31 23:59:58.123456")
    assert (first["weight"], first["height"], first["smoker"], first["clock"]) == ("61.25", str(1 / 3), "true", "23:59:58")
    assert (first["note"], first["raw"], first["big"]) == (ROWS["Patients"][0]["note"], "\\x00ff5c", str(2**63 - 1))
    assert (second["note"], second["ward"], second["raw"], third["note"], third["raw"]) == ("", "", "\\x", None, None)
    assert read(target.location)["empty"] == []


@every_typed
def test_kinds_and_nullability_are_those_that_were_asked_for(target: Target) -> None:
    write(target.location)
    with open_source(target.location.partition("?")[0] if target.kind in FILES else target.location) as source:
        patients = source.reflect().table("Patients")
    assert patients is not None
    kinds = {column.name: column.kind for column in PATIENTS.columns}
    if target.kind == "parquet":
        kinds |= {"uid": "string", "doc": "string"}
    if target.kind in ("mariadb", "mysql"):
        kinds |= {"uid": "string"}
    assert {column.name: column.kind for column in patients.columns} == kinds
    assert [column.name for column in patients.columns if not column.nullable] == ["id"]
    weight = patients.column("weight")
    assert weight is not None
    assert weight.precision == 2


@every_database
def test_keys_references_uniques_indexes_and_checks_are_declared(target: Target) -> None:
    notes = write(target.location)
    with open_source(target.location) as source:
        reflection = source.reflect()
    patients, lines, wards = (reflection.table(name) for name in ("Patients", "lines", "order"))
    assert patients is not None
    assert lines is not None
    assert wards is not None
    assert (patients.key, lines.key, wards.key) == (("id",), ("patient", "line"), WARDS.key)
    foreign = {(key.columns, key.table, key.references) for key in patients.foreign_keys}
    assert (("ward",), "order", WARDS.key) in foreign
    assert ((("mother",), "Patients", ("id",)) in foreign) == (target.kind != "duckdb")
    assert ("uid",) in patients.uniques
    assert {("Sex",), ("ward", "born")} <= set(patients.indexes)
    sex, beds = patients.column("Sex"), wards.column("beds")
    assert sex is not None
    assert beds is not None
    assert (sex.values, beds.min, beds.max) == (("F", "it's"), 0, 99)
    assert [(order.before, order.after) for order in patients.orders] == [("seen", "left")]
    assert "length(note) < 10" in " ".join(notes)


@every_database
@pytest.mark.parametrize(
    "statement",
    [
        'INSERT INTO "lines" (patient, line) VALUES (77, 1)',  # an orphan
        'INSERT INTO "lines" (patient, line) VALUES (1, 1)',  # a key twice
        'INSERT INTO "lines" (patient, line) VALUES (1, NULL)',
        """INSERT INTO "Patients" (id, "Sex") VALUES (8, 'x')""",
        'UPDATE "order" SET beds = 100',
        """UPDATE "Patients" SET "left" = '1800-01-01 00:00:00' WHERE id = 2""",
        """INSERT INTO "Patients" (id, uid) VALUES (9, '00000000-0000-4000-8000-00000000000a')""",
    ],
)
def test_the_constraints_bite(target: Target, statement: str) -> None:
    write(target.location)
    with pytest.raises(Exception, match=r"(?i)constraint|duplicate|null"):
        execute(target, statement)


@every
def test_rows_come_in_batches_and_a_table_without_a_batch_is_there_too(target: Target) -> None:
    with open_sink(target.location) as sink:
        sink.create([SinkTable(table) for table in TABLES])
        sink.write("order", batch(WARDS, ROWS["order"]))
        for row in ROWS["Patients"][::-1]:  # the mother before her child
            sink.write("Patients", batch(PATIENTS, [row]))
        for row in ROWS["lines"]:
            sink.write("lines", batch(LINES, [row]))
    assert {name: len(rows) for name, rows in read(target.location).items()} == {n: len(rows) for n, rows in ROWS.items()}


class _Stop(BaseException):
    """Not even an `Exception`: as Ctrl-C is."""


def _break_off(target: Target, *, replace: bool = False) -> None:
    with open_sink(target.location, replace=replace) as sink:
        fill(sink)
        raise _Stop


@every
def test_an_exception_in_the_middle_leaves_nothing(target: Target, tmp_path: Path) -> None:
    with pytest.raises(_Stop):
        _break_off(target)
    assert [*(tmp_path / "place").iterdir()] == []
    if target.kind in SERVERS:
        assert read(target.location) == {}


@every
def test_an_exception_in_the_middle_leaves_the_old_state_when_replacing(target: Target, tmp_path: Path) -> None:
    write(target.location, OTHER)
    before, places = read(target.location), sorted((tmp_path / "place").rglob("*"))
    with pytest.raises(_Stop):
        _break_off(target, replace=True)
    assert read(target.location) == before
    assert sorted((tmp_path / "place").rglob("*")) == places


@every
def test_what_is_there_is_refused_by_name_unless_it_may_be_replaced(target: Target) -> None:
    write(target.location, OTHER)
    before = read(target.location)
    word = "exists already" if target.kind in ("sqlite", "duckdb", *FILES) else "rows in .*Patients"
    with pytest.raises(SinkError, match=word):
        write(target.location)
    assert read(target.location) == before
    write(target.location, replace=True)
    assert {name: len(rows) for name, rows in read(target.location).items()} == {n: len(rows) for n, rows in ROWS.items()}


@every
def test_expecting_refuses_before_anything_is_made_and_changes_nothing(target: Target) -> None:
    with open_sink(target.location) as sink:
        sink.expect(["Patients", "lines"])
        fill(sink)
    before = read(target.location)
    with open_sink(target.location, replace=True) as sink:
        sink.expect([table.name for table in TABLES])
        assert read(target.location) == before
    assert read(target.location) == before


@pytest.mark.parametrize("target", ["sqlite", "duckdb", *FILES], indirect=True)
def test_a_file_that_holds_other_things_too_is_not_replaced(target: Target) -> None:
    write(target.location)
    with (
        pytest.raises(SinkError, match=r"also holds .*(order|Patients).*which would be lost"),
        open_sink(target.location, replace=True) as sink,
    ):
        fill(sink, ROWS, (TABLES[3],))
    assert len(read(target.location)) == len(TABLES)


@every_database
def test_a_broken_reference_or_a_key_twice_is_refused_and_nothing_is_left(target: Target, tmp_path: Path) -> None:
    for rows in (
        {**ROWS, "lines": [{"patient": 99, "line": 1}]},
        {**ROWS, "lines": [{"patient": 1, "line": 1}, {"patient": 1, "line": 1}]},
        {**ROWS, "Patients": [ROWS["Patients"][2] | {"mother": 4711}]},
    ):
        with pytest.raises(SinkError, match=r"left as it was|not there") as refused:
            write(target.location, rows)
        assert "4711" not in str(refused.value)
        assert [*(tmp_path / "place").iterdir()] == []
        if target.kind in SERVERS:
            assert read(target.location) == {}


@every
def test_a_value_that_is_missing_or_does_not_fit_is_refused_by_its_column(target: Target) -> None:
    with pytest.raises(SinkError, match=r"lines\.line: a value is missing"):
        write(target.location, {**ROWS, "lines": [{"patient": 1, "line": None}]})
    table = ReflectedTable("t", (ReflectedColumn("n", "integer"),))
    wrong = batch(ReflectedTable("t", (ReflectedColumn("n", "string"),)), [{"n": "many"}])
    with open_sink(target.location) as sink:
        sink.create([SinkTable(table)])
        with pytest.raises(SinkError, match=r"t\.n: a synthetic value .* does not fit"):
            sink.write("t", wrong)


@every
def test_references_that_no_target_can_declare_are_left_out_with_a_word(target: Target) -> None:
    keyless = ReflectedTable("p", (ReflectedColumn("id", "integer"),))
    keys = (ReflectedForeignKey(("a",), "p", ("id",)), ReflectedForeignKey(("a",), "nowhere", ("id",)))
    child = ReflectedTable("c", (ReflectedColumn("a", "integer"),), foreign_keys=keys)
    with open_sink(target.location) as sink:
        sink.create([SinkTable(keyless), SinkTable(child)])
        sink.write("c", batch(child, [{"a": 5}]))
    assert "p (id), which is no key" in " ".join(sink.notes)
    assert "nowhere, which is not written" in " ".join(sink.notes)


@every
def test_a_sink_that_was_not_entered_refuses(target: Target) -> None:
    sink = open_sink(target.location)
    with pytest.raises(InternalError, match="before it was entered"):
        sink.create([SinkTable(table) for table in TABLES])


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("postgres", "ä" * 32),
        pytest.param("mariadb", "x" * 65, marks=pytest.mark.slow),
        pytest.param("mysql", "x" * 65, marks=pytest.mark.slow),
        ("parquet", "x" * 241),
    ],
    indirect=["target"],
)
def test_a_name_that_is_too_long_is_refused_before_it_is_cut_off(target: Target, name: str) -> None:
    table = ReflectedTable("t", (ReflectedColumn(name, "integer"),))
    with pytest.raises(SinkError, match=r"name of column t\..* is longer than"), open_sink(target.location) as sink:
        sink.create([SinkTable(table)])


@pytest.mark.parametrize("target", ["sqlite", "duckdb", "parquet"], indirect=True)
def test_names_that_differ_only_by_case_are_refused_where_they_are_one(target: Target) -> None:
    twins = [SinkTable(ReflectedTable(name, (ReflectedColumn("a", "integer"),))) for name in ("t", "T")]
    with pytest.raises(SinkError, match="t and T are one name"), open_sink(target.location) as sink:
        sink.create(twins)
