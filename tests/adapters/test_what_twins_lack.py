"""What a twin of a database lacks is told before a fit: foreign keys that nobody declared, how tables are stored, types and
indexes that no target has, columns that the schema leaves out."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import duckdb
import pytest

import mare
from mare.finding import open_sink, open_source
from mare.ports import Foresees
from mare.release.storage import output_tables
from mare.sampling.sample import sink_tables
from mare.schema.reflection import Counting
from tests.servers import MysqlServer, PostgresServer
from tests.twins import foreseen, made_twin

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
    assert made_twin(_kin(), source, target) == (_LEFT,)
    with open_source(target) as opened:
        assert [table.foreign_keys for table in opened.reflect()] == [(), (), ()]
    if kind in ("postgresql", "mysql"):
        server.run(target.rpartition("/")[2], _STRANGER)


_LEFT = "visits: the schema leaves out number, which come out as their default"


def test_a_column_that_takes_the_type_of_what_it_refers_to_is_told(postgres_server: PostgresServer) -> None:
    source = postgres_server.create_database(_KIN.replace("person INTEGER", "person BIGINT"))
    told = "visits.person is integer, as what it refers to; in the source, it is bigint"
    assert told in foreseen(_kin(), source, postgres_server.create_database())


def test_files_that_declare_nothing_get_the_foreign_keys_of_the_schema(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "wards.csv").write_text("code\na\nb\n")
    (folder / "people.csv").write_text("id,mail,grown\n1,m1,true\n2,m2,false\n")
    (folder / "visits.csv").write_text("id,person,ward,number\n1,1,a,2\n2,2,b,3\n")
    made_twin(_kin(), str(folder), str(tmp_path / "target.sqlite"))
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
    notes = foreseen(_kin("beds"), source, postgres_server.create_database())
    untold = [f"{table}: {word}" for table, words in _ODD.items() for word in words if not _says(notes, table, word)]
    assert untold == []


def _says(notes: tuple[str, ...], table: str, word: str) -> bool:
    return any(note.startswith(f"{table}: ") and word in note for note in notes)


def test_of_another_kind_of_database_nobody_wants_to_know_how_it_stores_a_table(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    source = postgres_server.create_database("CREATE TABLE people (id int PRIMARY KEY, grown boolean) WITH (fillfactor = 70)")
    schema = "mare: 1\nentity: people\ntables: {people: {key: id, columns: {grown: {type: boolean}}}}"
    assert foreseen(schema, source, str(tmp_path / "target.sqlite")) == ()


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
    notes = made_twin(schema, source, target)
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
    assert made_twin(schema, str(tmp_path / "source.sqlite"), target) == ()
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
    notes = made_twin(_kin("hid", "bits", "low"), source, target)
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
    notes = foreseen(_kin(), str(source), str(tmp_path / "target.sqlite"))
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
    notes = made_twin(PARTS, source, target)
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
