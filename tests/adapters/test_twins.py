"""A synthetic database is its source's twin: all that the catalogue tells is there, or was told; and an application can go on."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import mare
from mare.errors import SinkError
from mare.finding import open_sink, open_source
from mare.ports import Foresees, SinkTable
from mare.release.storage import output_tables
from mare.sampling.sample import sink_tables
from mare.schema.reflection import Counting, ReflectedColumn, ReflectedTable
from tests.servers import MysqlServer, PostgresServer
from tests.targets import batch
from tests.twins import untold

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


def _fit(schema: str, source: str) -> mare.Release:
    plan = mare.plan(mare.load_schema(schema), mare.Budget(epsilon=100, delta=1e-9))
    return mare.fit(plan, source, unsafe_seed=1)


def _pour(release: mare.Release, target: str, *, replace: bool = False) -> tuple[str, ...]:
    """Sample, and give what the target says was left out."""
    from mare.sampling import pour, start

    with open_sink(target, replace=replace) as sink:
        pour(start(release), sink)
    return sink.notes


def _synth(schema: str, source: str, target: str) -> tuple[str, ...]:
    return _pour(_fit(schema, source), target)


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
    notes = _synth(_without("decade", "initial", "token", "words"), source, target)
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


KIN = """
mare: 1
entity: people
tables:
  wards: {public: true, key: code, rows: 2}
  people:
    key: id
    unique: [mail]
    columns: {mail: {type: identifier, generate: pattern, pattern: "m{n}"}, grown: {type: boolean}}
    ignore_columns: [IGNORED]
  visits:
    key: id
    parent: {table: people, column: person, type: independent, max_rows: 3}
    references: {ward: {table: wards, kind: public}}
    columns: {}
    ignore_columns: [number]
"""
"""The source of it declares no foreign key."""
_KIN = """
CREATE TABLE wards (code VARCHAR(8) PRIMARY KEY); INSERT INTO wards VALUES ('a'), ('b');
CREATE TABLE people (id INTEGER PRIMARY KEY, mail VARCHAR(20), grown BOOLEAN);
CREATE TABLE visits (id INTEGER PRIMARY KEY, person INTEGER NOT NULL, ward VARCHAR(8) NOT NULL, number INTEGER DEFAULT 4);
INSERT INTO people VALUES (1, 'm1', true), (2, 'm2', false); INSERT INTO visits VALUES (1, 1, 'a', 2), (2, 2, 'b', 3);
"""
_STRANGER = "INSERT INTO visits (id, person, ward) VALUES (99, 99, 'nowhere')"


def _kin(*ignored: str) -> str:
    return KIN.replace("IGNORED", ", ".join(ignored))


def _foreseen(schema: str, source: str, target: str) -> tuple[str, ...]:
    """What the target will lack, told before any fit."""
    with open_source(source) as opened:
        tables = sink_tables(mare.load_schema(schema), output_tables(mare.load_schema(schema), opened.reflect()))
    with open_sink(target) as sink:
        assert isinstance(sink, Foresees)
        return sink.foresee(tables)


@pytest.mark.parametrize("kind", ["postgresql", "sqlite", "duckdb", pytest.param("mysql", marks=pytest.mark.slow)])
def test_a_database_without_foreign_keys_has_a_twin_without(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """An application inserts what it likes there: the references of the schema hold in the rows, and refuse it nothing."""
    if kind in ("postgresql", "mysql"):
        server = request.getfixturevalue("postgres_server" if kind == "postgresql" else "mariadb_server")
        source, target = server.create_database(_KIN), server.create_database()
    else:
        source, target = str(tmp_path / f"source.{kind}"), str(tmp_path / f"target.{kind}")
        with sqlite3.connect(source) if kind == "sqlite" else duckdb.connect(source) as connection:
            connection.executescript(_KIN) if isinstance(connection, sqlite3.Connection) else connection.execute(_KIN)
    assert _synth(_kin(), source, target) == (_LEFT,)
    with open_source(target) as opened:
        assert [table.foreign_keys for table in opened.reflect()] == [(), (), ()]
    if kind in ("postgresql", "mysql"):
        server.run(target.rpartition("/")[2], _STRANGER)


_LEFT = "visits: the schema leaves out number, which come out as their default"


def test_a_column_that_takes_the_type_of_what_it_refers_to_is_told(postgres_server: PostgresServer) -> None:
    source = postgres_server.create_database(_KIN.replace("person INTEGER", "person BIGINT"))
    told = "visits.person is integer, as what it refers to; in the source, it is bigint"
    assert told in _foreseen(_kin(), source, postgres_server.create_database())


def test_files_that_declare_nothing_get_the_foreign_keys_of_the_schema(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "wards.csv").write_text("code\na\nb\n")
    (folder / "people.csv").write_text("id,mail,grown\n1,m1,true\n2,m2,false\n")
    (folder / "visits.csv").write_text("id,person,ward,number\n1,1,a,2\n2,2,b,3\n")
    _synth(_kin(), str(folder), str(tmp_path / "target.sqlite"))
    with open_source(str(tmp_path / "target.sqlite")) as opened:
        (visits,) = [table for table in opened.reflect() if table.name == "visits"]
    assert {key.columns for key in visits.foreign_keys} == {("person",), ("ward",)}


ODD = """
CREATE ROLE READER;
CREATE DOMAIN small AS integer DEFAULT 1 CHECK (VALUE > 0);
CREATE SEQUENCE numbers INCREMENT 3 MAXVALUE 1000 CYCLE CACHE 5;
CREATE FUNCTION odd() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
CREATE TABLE wards (code varchar(8) PRIMARY KEY);
CREATE UNLOGGED TABLE people (
    id integer GENERATED ALWAYS AS IDENTITY (MINVALUE 50) PRIMARY KEY, mail varchar(20) COLLATE "C", grown boolean, beds small,
    low text GENERATED ALWAYS AS (lower(mail)) STORED
) WITH (fillfactor = 70);
ALTER TABLE people ADD CONSTRAINT is_grown CHECK (grown) NOT VALID;
COMMENT ON DOMAIN small IS 'x';
COMMENT ON CONSTRAINT is_grown ON people IS 'x';
CREATE UNIQUE INDEX by_mail ON people (mail) INCLUDE (grown);
CREATE INDEX key_again ON people (id); CREATE INDEX by_grown ON people (grown); CREATE INDEX grown_again ON people (grown);
CREATE INDEX by_low ON people (low); CREATE INDEX by_beds ON people (beds);
CREATE STATISTICS together ON mail, grown FROM people;
COMMENT ON INDEX by_grown IS 'x';
ALTER TABLE people ALTER mail SET STORAGE EXTERNAL, ALTER mail SET STATISTICS 500, ALTER mail SET (n_distinct = 5);
ALTER TABLE people ENABLE ROW LEVEL SECURITY;
ALTER TABLE people REPLICA IDENTITY FULL, CLUSTER ON by_grown;
GRANT SELECT (id) ON people TO READER;
CREATE TRIGGER stopped BEFORE INSERT ON people FOR EACH ROW EXECUTE FUNCTION odd();
CREATE RULE quiet AS ON DELETE TO people DO INSTEAD NOTHING;
CREATE TABLE visits (
    id serial PRIMARY KEY, person integer NOT NULL, ward varchar(8) NOT NULL, number integer DEFAULT nextval('numbers'),
    CONSTRAINT late UNIQUE (id, person) DEFERRABLE
) PARTITION BY RANGE (id);
"""
_ODD = {
    "people": (
        "UNLOGGED", "WITH (fillfactor=70)", "ROW LEVEL SECURITY", "REPLICA IDENTITY", "rights of others (GRANT)",
        'COLLATE "C" of mail',
        "SET STORAGE of mail", "SET STATISTICS of mail", "SET (…) of mail",
        "DEFAULT within the domain (the column has it) of beds",
        "the comment on the type of beds", "a UNIQUE constraint is made of the index by_mail", "INCLUDE of the index by_mail",
        "CLUSTER ON by_grown", "the comment on the index by_grown", "NOT VALID of the constraint is_grown",
        "the comment on the constraint is_grown", "MINVALUE, MAXVALUE of the sequence people_id_seq", "STATISTICS together",
        "TRIGGER stopped", "RULE quiet", "INDEX key_again (id)", "INDEX grown_again (grown)",
    ),
    "visits": (
        "PARTITION BY RANGE (id)", "DEFERRABLE of the constraint late", "CYCLE of the sequence numbers",
        "CACHE of the sequence numbers", "MINVALUE, MAXVALUE of the sequence numbers", "OWNED BY NONE of the sequence numbers",
    ),
}  # fmt: skip


def test_how_postgresql_stores_a_table_is_told_where_a_twin_lacks_it(postgres_server: PostgresServer) -> None:
    role = postgres_server.create_role("secret")
    source = postgres_server.create_database(ODD.replace("CREATE ROLE READER;", "").replace("READER", role))
    notes = _foreseen(_kin("beds"), source, postgres_server.create_database())
    untold = [f"{table}: {word}" for table, words in _ODD.items() for word in words if not _says(notes, table, word)]
    assert untold == []


def _says(notes: tuple[str, ...], table: str, word: str) -> bool:
    return any(note.startswith(f"{table}: ") and word in note for note in notes)


def test_of_another_kind_of_database_nobody_wants_to_know_how_it_stores_a_table(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    source = postgres_server.create_database("CREATE TABLE people (id int PRIMARY KEY, grown boolean) WITH (fillfactor = 70)")
    schema = "mare: 1\nentity: people\ntables: {people: {key: id, columns: {grown: {type: boolean}}}}"
    assert _foreseen(schema, source, str(tmp_path / "target.sqlite")) == ()


def test_indexes_on_what_nobody_writes_and_counters_that_may_be_null_are_made(postgres_server: PostgresServer) -> None:
    source = postgres_server.create_database("""
        CREATE SEQUENCE numbers;
        CREATE TABLE people (id integer PRIMARY KEY, grown boolean, tags text[] DEFAULT '{}', mail text UNIQUE,
            number serial, place integer DEFAULT nextval('numbers'), born integer,
            decade integer GENERATED ALWAYS AS (born / 10) STORED);
        CREATE INDEX by_tags ON people USING gin (tags); CREATE INDEX by_decade ON people (decade);
        INSERT INTO people SELECT n, true, '{}', n, n, n FROM generate_series(1, 20) n
    """)
    schema = """
mare: 1
entity: people
tables:
  people:
    key: id
    ignore_columns: [tags, decade, mail]
    columns:
      grown: {type: boolean}
      number: {type: integer, min: 1, max: 99}
      place: {type: integer, min: 1, max: 99}
      born: {type: integer, min: 0, max: 99}
"""
    target = postgres_server.create_database()
    notes = _synth(schema, source, target)
    assert any("UNIQUE people_mail_key (mail): the schema leaves out" in note for note in notes)
    with open_source(target) as opened:
        (people,) = opened.reflect()
    assert {index.name for index in people.special_indexes} == {"by_tags"}
    assert people.indexes == (("decade",),)
    counters = [column.counter for column in people.columns if column.counter is not None]
    assert counters == [Counting("sequence", "people_number_seq", 1, "integer"), Counting("sequence", "numbers")]


@pytest.mark.parametrize("kind", ["postgres", pytest.param("mariadb", marks=pytest.mark.slow)])
def test_a_key_that_sqlite_counts_unasked_counts_elsewhere_too(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "source.sqlite") as connection:
        connection.executescript("CREATE TABLE people (id INTEGER PRIMARY KEY, grown BOOLEAN); INSERT INTO people VALUES (1, 1)")
    server: PostgresServer | MysqlServer = request.getfixturevalue(f"{kind}_server")
    target = server.create_database()
    schema = "mare: 1\nentity: people\ntables: {people: {key: id, columns: {grown: {type: boolean}}}}"
    assert _synth(schema, str(tmp_path / "source.sqlite"), target) == ()
    server.run(target.rpartition("/")[2], "INSERT INTO people (grown) VALUES (true)")


@pytest.mark.slow
def test_how_mariadb_or_mysql_stores_a_table_is_told_where_a_twin_lacks_it(either_server: MysqlServer) -> None:
    hidden = "hid INT INVISIBLE DEFAULT 3"
    if mysql := either_server.scheme == "mysql":
        hidden = "hid INT DEFAULT 3 INVISIBLE, CHECK (hid > 0) NOT ENFORCED, KEY unseen (hid) INVISIBLE, KEY twice ((2 * id))"
    source = either_server.create_database(f"""
        CREATE TABLE wards (code VARCHAR(8) PRIMARY KEY) ENGINE = MyISAM;
        CREATE TABLE people (
            id INT PRIMARY KEY, mail VARCHAR(20) CHARACTER SET latin1, grown BOOLEAN, {hidden}, bits BIT(3) DEFAULT b'101',
            low VARCHAR(20) AS (lower(mail)) STORED, UNIQUE KEY by_mail (mail), UNIQUE KEY short (mail(9), id),
            KEY again (id), KEY by_grown (grown) COMMENT 'x', KEY by_low (low)
        ) ROW_FORMAT = COMPRESSED;
        CREATE TABLE visits (id INT PRIMARY KEY, person INT NOT NULL, ward VARCHAR(8) NOT NULL, number INT DEFAULT 4)
            PARTITION BY HASH (id);
        CREATE TRIGGER stopped BEFORE INSERT ON visits FOR EACH ROW SET NEW.number = 5;
        INSERT INTO wards VALUES ('a'); INSERT INTO people (id, mail, grown) VALUES (1, 'm1', 1), (2, 'm2', 0);
        INSERT INTO visits VALUES (1, 1, 'a', 1), (2, 2, 'a', 1)
    """)
    target = either_server.create_database()
    notes = _synth(_kin("hid", "bits", "low"), source, target)
    told = [("wards", "ENGINE=MyISAM"), ("people", "COLLATE latin1"), ("people", "of mail"), ("people", "INVISIBLE of hid")]
    told += [("people", "COMPRESSED"), ("people", "the comment on the index by_grown"), ("people", "INDEX again (id)")]
    told += [("visits", "PARTITIONED"), ("visits", "TRIGGER stopped"), ("people", "the length of a part of UNIQUE short")]
    told += [("people", word) for word in ("NOT ENFORCED", "INVISIBLE of INDEX unseen", "INDEX twice") if mysql]
    assert [word for table, word in told if not _says(notes, table, word)] == []
    with open_source(target) as opened:
        (people,) = [table for table in opened.reflect() if table.name == "people"]
    assert {column.name: column.default for column in people.columns if column.name in ("hid", "bits")} == {
        "hid": "'3'" if mysql else "3",
        "bits": "b'101'",
    }
    assert ("low",) in people.indexes
    assert people.checks == ()


def test_how_sqlite_stores_a_table_is_told_where_a_twin_lacks_it(tmp_path: Path) -> None:
    source = tmp_path / "source.sqlite"
    with sqlite3.connect(source) as connection:
        connection.executescript("""
            CREATE TABLE people (id INTEGER PRIMARY KEY, mail TEXT COLLATE NOCASE DEFAULT 'STRICT', grown INTEGER) STRICT;
            CREATE TABLE wards (code TEXT PRIMARY KEY) WITHOUT ROWID;
            CREATE TABLE visits (id INTEGER PRIMARY KEY, person INTEGER NOT NULL, ward TEXT NOT NULL, number INT);
            CREATE TRIGGER stopped AFTER INSERT ON visits BEGIN SELECT 1; END;
        """)
    notes = _foreseen(_kin(), str(source), str(tmp_path / "target.sqlite"))
    told = ["people: not made: COLLATE NOCASE; STRICT", "visits: not made: TRIGGER stopped (--ddl FILE writes it)"]
    told += ["wards: not made: WITHOUT ROWID", "visits: the schema leaves out number, which come out empty"]
    assert sorted(notes) == sorted(told)


PARTS = """
mare: 1
entity: customers
tables:
  customers: {key: id, ignore_columns: [tags, code], columns: {grown: {type: boolean}}}
"""


def test_what_may_not_be_null_is_there_at_its_default_though_the_schema_leaves_it_out(postgres_server: PostgresServer) -> None:
    source = postgres_server.create_database("""
        CREATE FUNCTION own() RETURNS text IMMUTABLE LANGUAGE sql AS $$ SELECT 'x' $$;
        CREATE TABLE customers (
            id integer PRIMARY KEY, grown boolean NOT NULL,
            tags text[] NOT NULL DEFAULT '{}'::text[], code text NOT NULL DEFAULT own()
        );
        INSERT INTO customers SELECT id, id > 9 FROM generate_series(1, 30) id
    """)
    target = postgres_server.create_database()
    notes = _synth(PARTS, source, target)
    assert sorted(notes) == [
        "customers: the schema leaves out code",
        "customers: the schema leaves out tags, which come out as their default",
    ]
    import psycopg

    with psycopg.connect(target) as connection:
        assert connection.execute("SELECT DISTINCT tags FROM customers").fetchall() == [([],)]


SPACES = """
mare: 1
entity: customers
tables:
  customers: {key: id, columns: {}}
  orders: {key: id, parent: {table: customers, column: customer, type: independent, max_rows: 3}, columns: {}}
"""


def test_schemas_that_come_into_one_are_told(postgres_server: PostgresServer) -> None:
    source = postgres_server.create_database("""
        CREATE SCHEMA people; CREATE SCHEMA shop;
        CREATE TABLE people.customers (id integer PRIMARY KEY);
        CREATE TABLE shop.orders (id integer PRIMARY KEY, customer integer NOT NULL REFERENCES people.customers);
    """)
    apart = postgres_server.create_database("CREATE SCHEMA people; CREATE SCHEMA shop")
    with open_source(f"{source}?schema=people,shop") as opened:
        tables = sink_tables(mare.load_schema(SPACES), output_tables(mare.load_schema(SPACES), opened.reflect()))
    told = "the schemas people, shop: all tables come into one; ?schema=people,shop keeps them apart"
    for target, notes in ((postgres_server.create_database(), (told,)), (f"{apart}?schema=people,shop", ())):
        with open_sink(target) as sink:
            assert isinstance(sink, Foresees)
            assert sink.foresee(tables) == notes


@pytest.mark.slow
def test_mariadb_or_mysql_into_its_own_kind(either_server: MysqlServer) -> None:
    source = either_server.create_database(MYSQL + ";".join(_rows()))
    target = either_server.create_database()
    release = _fit(_without("decade", "later", "token", "words"), source)
    notes = _pour(release, target)
    assert _compared(source, target, notes) == []
    assert not any("spoken" in note for note in notes)
    for statement in _APPLICATION:
        either_server.run(target.rpartition("/")[2], statement)
    again = _pour(release, target, replace=True)
    assert _compared(source, target, again) == []
    assert any("of_customer got another name" in note for note in again)


def test_sqlite_into_sqlite(tmp_path: Path) -> None:
    source, target = tmp_path / "source.sqlite", tmp_path / "target.sqlite"
    with sqlite3.connect(source) as connection:
        connection.executescript(SQLITE + ";".join(_rows()))
    notes = _synth(_without("decade", "later", "token", "words"), str(source), str(target))
    assert _compared(str(source), str(target), notes) == []
    with sqlite3.connect(target) as connection:
        connection.executescript("PRAGMA foreign_keys = ON;" + ";".join(_APPLICATION))
        assert connection.execute("SELECT count(*) > 1, count(words) FROM customers").fetchone() == (1, 0)


def test_duckdb_into_duckdb(tmp_path: Path) -> None:
    source, target = tmp_path / "source.duckdb", tmp_path / "target.duckdb"
    with duckdb.connect(source) as connection:
        connection.execute(DUCKDB + ";".join(_rows()))
    notes = _synth(_without("decade", "token", "words"), str(source), str(target))
    assert _compared(str(source), str(target), notes) == []
    with duckdb.connect(target) as connection:
        connection.execute(";".join(_APPLICATION))


@pytest.mark.parametrize("suffix", ["sqlite", "duckdb"])
def test_another_kind_of_database_gets_what_it_has_words_for(
    suffix: str, postgres_server: PostgresServer, tmp_path: Path
) -> None:
    source = postgres_server.create_database(POSTGRES + ";".join(_rows()))
    target = tmp_path / f"target.{suffix}"
    notes = _synth(_without("decade", "initial", "token", "words"), source, str(target))
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
    release = _fit(schema, source + both)
    for replace in (False, True):
        notes = _pour(release, target + both, replace=replace)
        assert [note.partition(" got ")[0] for note in notes] == ["hosp.notes: notes_pkey", "icu.notes: notes_pkey"]
        assert _compared(source + both, target + both, notes) == []
        stay = "INSERT INTO icu.stays (patient, ward, hours) SELECT max(id), 'B'::icu.ward, 2::icu.hours FROM hosp.patients"
        insert = f"INSERT INTO hosp.patients DEFAULT VALUES; {stay}"
        postgres_server.run(target.rpartition("/")[2], insert)
    taken = postgres_server.create_database("CREATE SCHEMA hosp; CREATE SCHEMA icu; CREATE TABLE icu.stays (a int)")
    with pytest.raises(SinkError, match=r"already holds rows in icu\.stays"):
        _pour(release, taken + both)
    with pytest.raises(SinkError, match="none of that name there"):
        _pour(release, postgres_server.create_database("CREATE SCHEMA hosp; CREATE SCHEMA a") + "?schema=hosp,a")


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
