"""Chinook, a real schema: the same store in SQLite and in PostgreSQL."""

from __future__ import annotations

import pytest

from mare.finding import open_source
from mare.schema.reflection import ReflectedTable, Reflection
from tests.servers import CHINOOK, PostgresServer, chinook_postgres

REFERENCES = {
    "album": {("artist_id",): "artist"},
    "artist": {},
    "customer": {("support_rep_id",): "employee"},
    "employee": {("reports_to",): "employee"},
    "genre": {},
    "invoice": {("customer_id",): "customer"},
    "invoice_line": {("invoice_id",): "invoice", ("track_id",): "track"},
    "media_type": {},
    "playlist": {},
    "playlist_track": {("playlist_id",): "playlist", ("track_id",): "track"},
    "track": {("album_id",): "album", ("genre_id",): "genre", ("media_type_id",): "media_type"},
}
ROWS = {"playlist_track": 8715, "track": 3503, "invoice_line": 2240, "employee": 8}


def snake(name: str) -> str:
    """SQLite's Chinook writes InvoiceLineId, PostgreSQL's invoice_line_id."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


def check(reflection: Reflection) -> dict[str, ReflectedTable]:
    tables = {snake(table.name): table for table in reflection}
    told = {
        name: {tuple(map(snake, foreign.columns)): snake(foreign.table) for foreign in table.foreign_keys}
        for name, table in tables.items()
    }
    assert told == REFERENCES
    assert tuple(map(snake, tables["playlist_track"].key)) == ("playlist_id", "track_id")
    assert all(len(table.key) == 1 for name, table in tables.items() if name != "playlist_track")
    kinds = {snake(column.name): (column.kind, column.nullable) for column in tables["invoice"].columns}
    assert kinds["invoice_date"] == ("datetime", False)
    assert kinds["total"] == ("number", False)
    assert kinds["billing_state"] == ("string", True)
    lengths = {snake(column.name): column.max_length for column in tables["customer"].columns}
    # SQLite holds nobody to a declared length.
    binding = (None, None, None) if reflection.label.endswith(".sqlite") else (40, 60, None)
    assert (lengths["first_name"], lengths["email"], lengths["customer_id"]) == binding
    prices = {snake(column.name): column.precision for column in tables["track"].columns}
    assert (prices["unit_price"], prices["milliseconds"]) == (2, None)
    assert {tuple(map(snake, index)) for index in tables["track"].indexes} == {("album_id",), ("genre_id",), ("media_type_id",)}
    assert reflection.left_out == ()
    return tables


def test_sqlite_chinook_is_reflected_and_read() -> None:
    with open_source(CHINOOK / "chinook.sqlite") as source:
        tables = check(source.reflect())
        for name, rows in ROWS.items():
            assert sum(batch.num_rows for batch in source.read(tables[name].name, list(tables[name].key))) == rows
        first = next(source.read("invoice", ["InvoiceDate", "Total"]))
    assert str(first["InvoiceDate"][0]) == "2021-01-01 00:00:00"
    assert first["Total"][0].as_py() == 1.98


def test_postgres_chinook_is_reflected_and_read(postgres_server: PostgresServer) -> None:
    with open_source(chinook_postgres(postgres_server)) as source:
        tables = check(source.reflect())
        for name, rows in ROWS.items():
            assert sum(batch.num_rows for batch in source.read(name, list(tables[name].key))) == rows
        first = next(source.read("invoice", ["invoice_date", "total"]))
    assert str(first["invoice_date"][0]) == "2021-01-01 00:00:00"
    assert first["total"][0].as_py() == 1.98


def test_both_hold_the_same_customers(postgres_server: PostgresServer) -> None:
    with open_source(CHINOOK / "chinook.sqlite") as lite, open_source(chinook_postgres(postgres_server)) as server:
        ours = next(lite.read("Customer", ["CustomerId", "FirstName", "Company"])).to_pylist()
        theirs = next(server.read("customer", ["customer_id", "first_name", "company"])).to_pylist()
    assert len(ours) == 59
    assert sorted(tuple(row.values()) for row in ours) == sorted(tuple(row.values()) for row in theirs)


@pytest.mark.shared
def test_the_parquet_copy_holds_the_same_rows(shared_data: object) -> None:
    with open_source(f"{shared_data}/chinook") as folder, open_source(CHINOOK / "chinook.sqlite") as lite:
        ours = next(folder.read("invoice", ["invoice_id", "total", "invoice_date"])).to_pylist()
        theirs = next(lite.read("Invoice", ["InvoiceId", "Total", "InvoiceDate"])).to_pylist()
    assert sorted(tuple(row.values()) for row in ours) == sorted(tuple(row.values()) for row in theirs)
