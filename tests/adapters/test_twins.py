"""A synthetic database is its source's twin: all that the catalogue tells is there, or was told; and an application can go on."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from mare.errors import SinkError
from mare.finding import open_sink, open_source
from mare.ports import SinkTable
from mare.schema.reflection import Counting, ReflectedColumn, ReflectedTable
from tests.servers import MysqlServer, PostgresServer
from tests.targets import batch
from tests.twins import fitted, made_twin, poured, untold

SCHEMA = """
mare: 1
entity: customers
tables:
  countries: {public: true, key: code, rows: 3}
  customers:
    key: id
    references:
      country: {table: countries, kind: public}
    unique: [email]
    columns:
      mood: {type: category, values: [sad, ok]}
      born: {type: integer, min: 1950, max: 2005}
      email: {type: identifier, generate: pattern, pattern: "mail{n}"}
      active: {type: boolean}
      height: {type: number, min: 1, max: 2, precision: 2}
      created: {type: date, min: 2020-01-01, max: 2024-12-31}
    ignore_columns: [IGNORED]
  orders:
    key: number
    parent: {table: customers, column: customer, type: independent, max_rows: 3}
    columns:
      amount: {type: integer, min: 1, max: 9}
      place: {type: integer, min: 1, max: 3}
    ignore_columns: [seen]
"""

POSTGRES = """
CREATE DOMAIN year AS integer NOT NULL DEFAULT 2000 CONSTRAINT sane CHECK (VALUE >= 1901 AND VALUE <= 2155);
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE SEQUENCE customers_seq START 100 INCREMENT 5;
CREATE FUNCTION own(text) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT lower($1)';
CREATE TABLE countries (code char(2) PRIMARY KEY, name text NOT NULL DEFAULT '', flag bytea,
    short text GENERATED ALWAYS AS (own(name)) STORED);
CREATE TABLE places (id integer PRIMARY KEY);
CREATE TABLE customers (
    id integer NOT NULL DEFAULT nextval('customers_seq'::regclass),
    country char(2) NOT NULL DEFAULT 'DE' REFERENCES countries (code) ON DELETE SET DEFAULT ON UPDATE CASCADE,
    mood mood NOT NULL DEFAULT 'ok',
    born year,
    email text,
    active boolean NOT NULL DEFAULT true,
    height numeric(5, 2) DEFAULT 1.75 CONSTRAINT grown CHECK (height >= 1 AND height <= 2),
    decade integer GENERATED ALWAYS AS (born / 10) STORED,
    initial text GENERATED ALWAYS AS (left(email, 1) || "right"(email, 1)) STORED,
    created date NOT NULL DEFAULT CURRENT_DATE,
    token uuid DEFAULT gen_random_uuid(),
    words tsvector,
    CONSTRAINT customers_pk PRIMARY KEY (id),
    CONSTRAINT one_email UNIQUE (email)
);
COMMENT ON TABLE customers IS 'Who buys; "x" it''s';
COMMENT ON COLUMN customers.email IS 'As they wrote it';
CREATE INDEX by_hash ON customers USING hash (country);
CREATE INDEX by_low ON customers (lower(email) DESC) WHERE active;
CREATE INDEX by_own ON customers (own(email));
CREATE INDEX by_two ON customers (country, created DESC) INCLUDE (height);
CREATE INDEX by_words ON customers USING gin (words);
CREATE INDEX plain ON customers (created);
CREATE TABLE orders (
    number bigint GENERATED ALWAYS AS IDENTITY (START 1000 INCREMENT 10) PRIMARY KEY,
    customer integer NOT NULL,
    amount smallint NOT NULL DEFAULT 1,
    place integer REFERENCES places,
    seen timestamp DEFAULT now(),
    CONSTRAINT of_customer FOREIGN KEY (customer) REFERENCES customers (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
);
"""
MYSQL = """
CREATE TABLE countries (code CHAR(2) PRIMARY KEY, name VARCHAR(50) NOT NULL DEFAULT '',
    low VARCHAR(50) AS (lower(name)) STORED, spoken SET('de', 'fr') DEFAULT 'de') COMMENT = 'Wh''ere';
CREATE TABLE places (id INT PRIMARY KEY);
CREATE TABLE customers (
    id SMALLINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    country CHAR(2) NOT NULL DEFAULT 'DE',
    mood ENUM('sad', 'ok') NOT NULL DEFAULT 'ok',
    born YEAR,
    email VARCHAR(50) COMMENT 'As they wrote it',
    active TINYINT(1) NOT NULL DEFAULT 1,
    height DECIMAL(5, 2) DEFAULT 1.75,
    decade INT GENERATED ALWAYS AS (born DIV 10) STORED,
    later INT AS (born + 1) VIRTUAL,
    created DATE NOT NULL DEFAULT (CURRENT_DATE),
    token CHAR(36) DEFAULT (uuid()),
    words TEXT,
    UNIQUE KEY one_email (email),
    KEY plain (created), KEY down (created DESC, country), KEY start_of (email(5)), FULLTEXT KEY by_words (words),
    CONSTRAINT lives FOREIGN KEY (country) REFERENCES countries (code) ON UPDATE CASCADE,
    CONSTRAINT grown CHECK (height >= 1 AND height <= 2)
) COMMENT = 'Who buys; "x" it''s' AUTO_INCREMENT = 700;
CREATE TABLE orders (
    number BIGINT AUTO_INCREMENT PRIMARY KEY,
    customer SMALLINT UNSIGNED NOT NULL,
    amount SMALLINT NOT NULL DEFAULT 1,
    place INT,
    seen DATETIME DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
    CONSTRAINT of_customer FOREIGN KEY (customer) REFERENCES customers (id) ON DELETE CASCADE,
    CONSTRAINT at_place FOREIGN KEY (place) REFERENCES places (id)
);
"""
SQLITE = """
CREATE TABLE countries (code TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '');
CREATE TABLE places (id INTEGER PRIMARY KEY);
CREATE TABLE customers (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    country TEXT NOT NULL DEFAULT 'DE' REFERENCES countries (code) ON DELETE SET DEFAULT ON UPDATE CASCADE,
    mood TEXT NOT NULL DEFAULT 'ok' CHECK (mood IN ('sad', 'ok')),
    born INTEGER,
    email TEXT,
    active BOOLEAN NOT NULL DEFAULT TRUE,
    height REAL DEFAULT 1.75 CONSTRAINT grown CHECK (height >= 1 AND height <= 2),
    decade INTEGER GENERATED ALWAYS AS (born / 10) STORED,
    later INT AS (born + 1),
    created DATE NOT NULL DEFAULT CURRENT_DATE,
    token TEXT DEFAULT (hex(randomblob(4))),
    words TEXT,
    CONSTRAINT one_email UNIQUE (email)
);
CREATE INDEX by_low ON customers (lower(email) DESC) WHERE active;
CREATE INDEX down ON customers (created DESC);
CREATE INDEX plain ON customers (created, country);
CREATE TABLE orders (
    number INTEGER PRIMARY KEY,
    customer INTEGER NOT NULL,
    amount SMALLINT NOT NULL DEFAULT 1,
    place INTEGER REFERENCES places (id),
    seen TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT of_customer FOREIGN KEY (customer) REFERENCES customers (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
);
"""
DUCKDB = """
CREATE SEQUENCE customers_seq START 100 INCREMENT 5;
CREATE SEQUENCE orders_seq;
CREATE TABLE countries (code VARCHAR PRIMARY KEY, name VARCHAR NOT NULL DEFAULT '');
CREATE TABLE places (id INTEGER PRIMARY KEY);
CREATE TABLE customers (
    id INTEGER PRIMARY KEY DEFAULT nextval('customers_seq'),
    country VARCHAR NOT NULL DEFAULT 'DE' REFERENCES countries (code),
    mood ENUM ('sad', 'ok') NOT NULL DEFAULT 'ok',
    born INTEGER,
    email VARCHAR UNIQUE,
    active BOOLEAN NOT NULL DEFAULT true,
    height DECIMAL(5, 2) DEFAULT 1.75 CHECK (height >= 1 AND height <= 2),
    decade INTEGER AS (born // 10),
    created DATE NOT NULL DEFAULT current_date,
    token UUID DEFAULT uuid(),
    words VARCHAR
);
COMMENT ON TABLE customers IS 'Who buys; "x" it''s';
COMMENT ON COLUMN customers.email IS 'As they wrote it';
CREATE INDEX by_low ON customers (lower(email));
CREATE INDEX plain ON customers (created);
CREATE TABLE orders (
    number BIGINT PRIMARY KEY DEFAULT nextval('orders_seq'),
    customer INTEGER NOT NULL REFERENCES customers (id),
    amount SMALLINT NOT NULL DEFAULT 1,
    place INTEGER REFERENCES places (id),
    seen TIMESTAMP DEFAULT now()
);
"""
_MOODS = ("sad", "ok")


def _rows() -> list[str]:
    """What an application has written so far."""
    rows = [
        "INSERT INTO countries (code, name) VALUES ('DE', 'here'), ('FR', 'there')",
        "INSERT INTO places VALUES (1), (2), (3)",
    ]
    for n in range(1, 41):
        country, mood, day = "DE" if n % 3 else "FR", _MOODS[n % 2], f"2021-02-{n % 27 + 1:02}"
        rows.append(
            "INSERT INTO customers (id, country, mood, born, email, active, height, created) VALUES "
            f"({n}, '{country}', '{mood}', {1950 + n}, 'm{n}', true, 1.{10 + n}, '{day}')"
        )
        numbered = f"INSERT INTO orders (customer, amount, place) VALUES ({n}, {n % 9 + 1}, {n % 3 + 1})"
        rows.append(numbered)
    return rows


def _without(*columns: str) -> str:
    return SCHEMA.replace("IGNORED", ", ".join(columns))


def _compared(source: str, target: str, notes: tuple[str, ...]) -> list[str]:
    with open_source(source) as opened:
        told = opened.reflect()
    with open_source(target) as opened:
        made = opened.reflect()
    return untold(told, made, (*notes, "places: the schema does not mention it"))


_APPLICATION = (
    "INSERT INTO countries (code) VALUES ('XX')",
    "INSERT INTO customers (country, email) VALUES ('XX', 'new')",
    "INSERT INTO customers (email) VALUES ('newer')",
    "INSERT INTO orders (customer) SELECT min(id) FROM customers",
)
"""What an application does: it names no key, and nothing that has a default."""


def test_postgresql_into_postgresql(postgres_server: PostgresServer) -> None:
    source = postgres_server.create_database(POSTGRES + ";".join(_rows()))
    target = postgres_server.create_database()
    notes = made_twin(_without("decade", "initial", "token", "words"), source, target)
    assert _compared(source, target, notes) == []
    assert sorted(notes) == [
        "countries.short holds what the source computes as own(name): it is more than constants, columns and common functions",
        "customers: INDEX by_own USING btree (own(email)) was left out: it is more than constants, columns and common functions",
        "customers: not made: DEFAULT within the domain (the column has it) of born; OWNED BY NONE of the sequence customers_seq",
        "customers: the schema leaves out token, which come out as their default",
        "customers: the schema leaves out words, which come out empty",
        "orders: FOREIGN KEY (place) REFERENCES places (id): the schema does not model it, so its values may name rows that are "
        "not there",
        "orders: the schema leaves out seen, which come out as their default",
    ]
    import psycopg

    with psycopg.connect(target) as connection:
        untold_token = connection.execute("SELECT count(*) FROM customers WHERE token IS NULL OR words IS NOT NULL").fetchone()
    assert untold_token == (0,)
    postgres_server.run(target.rpartition("/")[2], ";".join(_APPLICATION))


@pytest.mark.slow
def test_mariadb_or_mysql_into_its_own_kind(either_server: MysqlServer) -> None:
    source = either_server.create_database(MYSQL + ";".join(_rows()))
    target = either_server.create_database()
    release = fitted(_without("decade", "later", "token", "words"), source)
    notes = poured(release, target)
    assert _compared(source, target, notes) == []
    assert not any("spoken" in note for note in notes)
    for statement in _APPLICATION:
        either_server.run(target.rpartition("/")[2], statement)
    again = poured(release, target, replace=True)
    assert _compared(source, target, again) == []
    assert any("of_customer got another name" in note for note in again)


def test_sqlite_into_sqlite(tmp_path: Path) -> None:
    source, target = tmp_path / "source.sqlite", tmp_path / "target.sqlite"
    with sqlite3.connect(source) as connection:
        connection.executescript(SQLITE + ";".join(_rows()))
    notes = made_twin(_without("decade", "later", "token", "words"), str(source), str(target))
    assert _compared(str(source), str(target), notes) == []
    with sqlite3.connect(target) as connection:
        connection.executescript("PRAGMA foreign_keys = ON;" + ";".join(_APPLICATION))
        assert connection.execute("SELECT count(*) > 1, count(words) FROM customers").fetchone() == (1, 0)


def test_duckdb_into_duckdb(tmp_path: Path) -> None:
    source, target = tmp_path / "source.duckdb", tmp_path / "target.duckdb"
    with duckdb.connect(source) as connection:
        connection.execute(DUCKDB + ";".join(_rows()))
    notes = made_twin(_without("decade", "token", "words"), str(source), str(target))
    assert _compared(str(source), str(target), notes) == []
    with duckdb.connect(target) as connection:
        connection.execute(";".join(_APPLICATION))


@pytest.mark.parametrize("suffix", ["sqlite", "duckdb"])
def test_another_kind_of_database_gets_what_it_has_words_for(
    suffix: str, postgres_server: PostgresServer, tmp_path: Path
) -> None:
    source = postgres_server.create_database(POSTGRES + ";".join(_rows()))
    target = tmp_path / f"target.{suffix}"
    notes = made_twin(_without("decade", "initial", "token", "words"), source, str(target))
    assert any("decade" in note for note in notes)
    assert any("by_low" in note for note in notes)
    if suffix == "sqlite":
        with sqlite3.connect(target) as connection:
            connection.executescript("PRAGMA foreign_keys = ON;" + ";".join(_APPLICATION))
    else:
        with duckdb.connect(target) as connection:
            connection.execute(";".join(_APPLICATION))


def test_several_schemas_go_into_several(postgres_server: PostgresServer) -> None:
    source = postgres_server.create_database("""
        CREATE SCHEMA hosp; CREATE SCHEMA icu;
        CREATE TABLE hosp.patients (id serial PRIMARY KEY, sex text NOT NULL DEFAULT 'F');
        CREATE TYPE icu.ward AS ENUM ('A', 'B'); CREATE DOMAIN icu.hours AS integer CHECK (VALUE > 0);
        CREATE TABLE icu.stays (id serial PRIMARY KEY, patient int NOT NULL REFERENCES hosp.patients ON DELETE CASCADE,
            ward icu.ward NOT NULL DEFAULT 'A', hours icu.hours NOT NULL DEFAULT 1);
        CREATE TABLE hosp.notes (code text PRIMARY KEY); CREATE TABLE icu.notes (code text PRIMARY KEY);
        INSERT INTO hosp.patients SELECT n, 'F' FROM generate_series(1, 20) n; INSERT INTO hosp.notes VALUES ('a');
        INSERT INTO icu.stays SELECT n, n FROM generate_series(1, 20) n; INSERT INTO icu.notes VALUES ('b');
    """)
    schema = """
mare: 1
entity: patients
tables:
  patients: {key: id, columns: {sex: {type: category, values: [F, M]}}}
  stays:
    key: id
    parent: {table: patients, column: patient, type: independent, max_rows: 2}
    columns: {ward: {type: category, values: [A, B]}, hours: {type: integer, min: 1, max: 9}}
  hosp.notes: {public: true, key: code}
  icu.notes: {public: true, key: code}
"""
    target = postgres_server.create_database("CREATE SCHEMA hosp; CREATE SCHEMA icu")
    both = "?schema=hosp,icu"
    release = fitted(schema, source + both)
    for replace in (False, True):
        notes = poured(release, target + both, replace=replace)
        assert [note.partition(" got ")[0] for note in notes] == ["hosp.notes: notes_pkey", "icu.notes: notes_pkey"]
        assert _compared(source + both, target + both, notes) == []
        stay = "INSERT INTO icu.stays (patient, ward, hours) SELECT max(id), 'B'::icu.ward, 2::icu.hours FROM hosp.patients"
        insert = f"INSERT INTO hosp.patients DEFAULT VALUES; {stay}"
        postgres_server.run(target.rpartition("/")[2], insert)
    taken = postgres_server.create_database("CREATE SCHEMA hosp; CREATE SCHEMA icu; CREATE TABLE icu.stays (a int)")
    with pytest.raises(SinkError, match=r"already holds rows in icu\.stays"):
        poured(release, taken + both)
    with pytest.raises(SinkError, match="none of that name there"):
        poured(release, postgres_server.create_database("CREATE SCHEMA hosp; CREATE SCHEMA a") + "?schema=hosp,a")


@pytest.mark.parametrize("family", ["postgres", "duckdb"])
def test_a_sequence_that_two_tables_share_goes_on_after_both(
    family: str, postgres_server: PostgresServer, tmp_path: Path
) -> None:
    count = Counting("sequence", "numbers", 2)
    tables = [
        ReflectedTable(name, (ReflectedColumn("id", "integer", nullable=False, counter=count),), key=("id",)) for name in "ab"
    ]
    target = postgres_server.create_database() if family == "postgres" else str(tmp_path / "target.duckdb")
    with open_sink(target) as sink:
        sink.create([SinkTable(table) for table in tables])
        for table, last in zip(tables, (9, 4), strict=True):
            sink.write(table.name, batch(table, [{"id": last}]))
    insert = "INSERT INTO a DEFAULT VALUES; INSERT INTO b DEFAULT VALUES; INSERT INTO a DEFAULT VALUES"
    if family == "postgres":
        postgres_server.run(target.rpartition("/")[2], insert)
    else:
        with duckdb.connect(target) as connection:
            connection.execute(insert)
    with open_source(target) as source:
        numbers = {table: pa.Table.from_batches(source.read(table, ["id"])).column(0).to_pylist() for table in "ab"}
    assert numbers == {"a": [9, 11, 15], "b": [4, 13]}


def test_a_generated_column_that_the_target_refuses_is_left_out_with_a_word(postgres_server: PostgresServer) -> None:
    mood = ReflectedColumn("mood", "string", "mood", nullable=True)  # no list is promised: it becomes a text
    computed = ReflectedColumn("well", "boolean", "boolean", generated=True, expression="mood = 'ok'::mood")
    table = ReflectedTable("t", (mood,), computed=((1, computed),), dialect="postgresql")
    target = postgres_server.create_database()
    with open_sink(target) as sink:
        foreseen = sink.foresee([SinkTable(table)])  # type: ignore[attr-defined]
        sink.create([SinkTable(table)])
    assert sink.notes == foreseen
    assert any("well, which the source computes, was not made" in note for note in foreseen)
    with open_source(target) as source:
        assert [column.name for made in source.reflect() for column in made.columns] == ["mood"]
