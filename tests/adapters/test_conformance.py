"""What every source does, whatever it reads: one suite over all of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from mare.errors import InternalError, SourceError
from mare.finding import open_source
from mare.schema.reflection import ReflectedForeignKey
from tests.hospital import (
    KINDS,
    PATIENTS,
    TABLES,
    Row,
    csv_hospital,
    duckdb_hospital,
    mysql_hospital,
    parquet_hospital,
    postgres_hospital,
    sqlite_hospital,
)
from tests.targets import DATABASES

TYPED = [*DATABASES, "parquet"]
ALL = [*TYPED, "csv"]

Hospital = Callable[[str], str]


@pytest.fixture
def hospital(request: pytest.FixtureRequest, tmp_path: Path) -> Hospital:
    """Builds the hospital in a kind of store, and tells where it is."""

    def build(kind: str) -> str:
        if kind == "postgres":
            return postgres_hospital(request.getfixturevalue("postgres_server"))
        if kind in ("mariadb", "mysql"):
            return mysql_hospital(request.getfixturevalue(f"{kind}_server"))
        return {
            "sqlite": lambda: sqlite_hospital(tmp_path / "h.sqlite"),
            "duckdb": lambda: duckdb_hospital(tmp_path / "h.duckdb"),
            "parquet": lambda: parquet_hospital(tmp_path / "parquet"),
            "csv": lambda: csv_hospital(tmp_path / "csv"),
        }[kind]()

    return build


def read_all(location: str, table: str, columns: list[str]) -> list[Row]:
    with open_source(location) as source:
        return pa.Table.from_batches(source.read(table, columns)).to_pylist()


@pytest.mark.parametrize("kind", ALL)
def test_reflection_lists_the_tables_and_their_columns_in_order(hospital: Hospital, kind: str) -> None:
    with open_source(hospital(kind)) as source:
        reflection = source.reflect()
    assert sorted(table.name for table in reflection) == sorted(TABLES)
    patients = reflection.table("patients")
    assert patients is not None
    assert [column.name for column in patients.columns] == list(KINDS)
    assert reflection.label == source.label


@pytest.mark.parametrize("kind", TYPED)
def test_reflection_tells_the_neutral_kind_of_each_column(hospital: Hospital, kind: str) -> None:
    with open_source(hospital(kind)) as source:
        patients = source.reflect().table("patients")
    assert patients is not None
    assert {column.name: column.kind for column in patients.columns} == KINDS
    weight = patients.column("weight")
    assert weight is not None
    assert weight.precision == 2


@pytest.mark.parametrize("kind", DATABASES)
def test_reflection_tells_keys_references_and_what_checks_say(hospital: Hospital, kind: str) -> None:
    with open_source(hospital(kind)) as source:
        reflection = source.reflect()
    patients, orders = reflection.table("patients"), reflection.table("order")
    assert patients is not None
    assert orders is not None
    assert (patients.key, orders.key) == (("id",), ("patient", "line"))
    assert [(f.columns, f.table, f.references) for f in orders.foreign_keys] == [(("patient",), "patients", ("id",))]
    assert isinstance(orders.foreign_keys[0], ReflectedForeignKey)
    sex, weight, line = patients.column("sex"), patients.column("weight"), orders.column("line")
    assert sex is not None
    assert weight is not None
    assert line is not None
    assert sex.values == ("F", "M")
    assert (weight.min, weight.max) == (0, 999.99)
    assert (line.min, line.max) == (1, 99)
    assert (sex.nullable, line.nullable) == (True, False)
    assert patients.unread_checks == orders.unread_checks == ()


def test_csv_tells_no_kind(hospital: Hospital) -> None:
    with open_source(hospital("csv")) as source:
        reflection = source.reflect()
    assert {column.kind for table in reflection for column in table.columns} == {"unknown"}


@pytest.mark.parametrize("kind", TYPED)
def test_reading_gives_back_the_values(hospital: Hospital, kind: str) -> None:
    rows = read_all(hospital(kind), "patients", list(KINDS))
    assert sorted(rows, key=lambda row: row["id"]) == PATIENTS


def test_reading_csv_gives_back_the_text_and_tells_null_from_empty(hospital: Hospital) -> None:
    rows = read_all(hospital("csv"), "patients", list(KINDS))
    assert rows == [{name: None if value is None else str(value) for name, value in row.items()} for row in PATIENTS]
    assert [row["note"] for row in rows][1:3] == ["", None]


@pytest.mark.parametrize("kind", TYPED)
def test_a_column_has_the_type_of_its_kind(hospital: Hospital, kind: str) -> None:
    with open_source(hospital(kind)) as source:
        schema = next(source.read("patients", list(KINDS))).schema
    wanted = [pa.int64(), pa.string(), pa.date32(), pa.timestamp("us"), pa.float64(), pa.float64(), pa.bool_(), pa.string()]
    assert schema.types == wanted


@pytest.mark.parametrize("kind", ALL)
def test_only_the_columns_asked_for_are_read_in_the_order_and_under_the_names_asked(hospital: Hospital, kind: str) -> None:
    rows = read_all(hospital(kind), "Patients", ["note", "ID"])
    assert [list(row) for row in rows] == [["note", "ID"]] * len(PATIENTS)
    assert {str(row["ID"]): row["note"] for row in rows} == {str(row["id"]): row["note"] for row in PATIENTS}


@pytest.mark.parametrize("kind", ALL)
def test_a_table_without_rows_is_read_with_its_types(hospital: Hospital, kind: str) -> None:
    with open_source(hospital(kind)) as source:
        batches = list(source.read("wards", ["beds", "code"]))
    assert sum(batch.num_rows for batch in batches) == 0
    assert batches[0].schema.names == ["beds", "code"]
    assert batches[0].schema.field("code").type == pa.string()


@pytest.mark.parametrize("kind", ALL)
def test_tables_are_read_one_after_the_other(hospital: Hospital, kind: str) -> None:
    with open_source(hospital(kind)) as source:
        counts = {
            table: sum(b.num_rows for b in source.read(table, [column]))
            for table, column in [("order", "line"), ("patients", "id")]
        }
    assert counts == {"order": 3, "patients": 4}


@pytest.mark.parametrize("kind", ALL)
def test_a_reading_that_is_given_up_leaves_the_source_usable(hospital: Hospital, kind: str) -> None:
    with open_source(hospital(kind)) as source:
        batches = source.read("patients", ["id"])
        next(batches)
        batches.close()  # type: ignore[attr-defined]
        assert sum(batch.num_rows for batch in source.read("order", ["line"])) == 3


@pytest.mark.parametrize("kind", ALL)
def test_a_missing_table_or_column_is_refused_with_what_there_is(hospital: Hospital, kind: str) -> None:
    with open_source(hospital(kind)) as source:
        with pytest.raises(SourceError, match=r"no table 'patient'.*Did you mean 'patients'.*wards"):
            source.read("patient", ["id"])
        with pytest.raises(SourceError, match=r"table patients has no column 'wieght', 'hight'.*Did you mean 'weight'.*smoker"):
            source.read("patients", ["id", "wieght", "hight"])
        with pytest.raises(SourceError, match="no column 'x'"):
            source.peek("patients", "x", 5)


@pytest.mark.parametrize("kind", TYPED)
def test_peek_tells_few_values_bounds_and_whether_some_are_missing(hospital: Hospital, kind: str) -> None:
    with open_source(hospital(kind)) as source:
        sex, born, weight = (source.peek("patients", name, 3) for name in ("sex", "born", "weight"))
        line = source.peek("order", "line", 3)
        many, empty = source.peek("patients", "note", 2), source.peek("wards", "beds", 3)
    assert (sex.values, sex.kind) == (("F", "M"), "string")
    assert (born.min, born.max, born.values) == (PATIENTS[0]["born"], PATIENTS[3]["born"], None)
    assert (weight.min, weight.max) == (0.01, 999.99)
    assert (line.values, line.min, line.max) == ((1, 2), 1, 2)
    assert many.values is None
    assert (empty.values, empty.min, empty.max) == ((), None, None)


def test_peek_tells_the_kind_of_csv_columns_from_their_text(hospital: Hospital) -> None:
    with open_source(hospital("csv")) as source:
        peeks = {name: source.peek("patients", name, 10) for name in KINDS}
        empty = source.peek("wards", "beds", 10)
    assert {name: peek.kind for name, peek in peeks.items()} == KINDS
    assert (peeks["born"].min, peeks["id"].values, peeks["smoker"].values) == (PATIENTS[0]["born"], (1, 2, 3, 4), (False, True))
    assert empty.kind == "string"


@pytest.mark.parametrize("kind", ALL)
def test_a_source_that_was_not_entered_refuses(hospital: Hospital, kind: str) -> None:
    with pytest.raises(InternalError, match="before it was entered"):
        open_source(hospital(kind)).reflect()


@pytest.mark.parametrize("kind", ALL)
def test_a_source_can_be_entered_again(hospital: Hospital, kind: str) -> None:
    source = open_source(hospital(kind))
    for _ in range(2):
        with source:
            assert len(source.reflect().tables) == 3
