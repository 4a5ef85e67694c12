"""Tables that are there already, under their own immediate foreign keys, and rows that refer to rows of a later batch.

Random references to other entities lead to anyone, also to those who are written later. A table that mare creates gets its
foreign keys when all rows are there; one that somebody else created has them from the start.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import pytest

from mare.errors import SinkError
from mare.finding import open_sink
from mare.fitting import FitOptions, run_fit
from mare.planning.planning import plan
from mare.ports import SinkTable
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.release import Release
from mare.sampling import SampleOptions, pour, start
from mare.schema.loading import load_schema
from mare.schema.reflection import ReflectedColumn, ReflectedForeignKey, ReflectedTable
from tests.datasets import dataset
from tests.servers import MysqlServer, PostgresServer
from tests.targets import batch

PARTNERS = """
mare: 1
entity: people
model: independent
tables:
  people:
    key: pid
    columns: {sex: {type: category, values: [F, M]}}
    references: {partner_id: {kind: other_entity, table: people, fill: random}}
  visits:
    key: vid
    parent: {table: people, column: pid, max_rows: 2}
    references:
      host_id: {kind: other_entity, table: people, fill: random}
      like: {kind: other_entity, table: visits, fill: random, nullable: true}
    columns: {kind: {type: category, values: [a, b]}}
"""
TABLES = """
CREATE TABLE people (pid bigint PRIMARY KEY, sex varchar(9), partner_id bigint NOT NULL,
    CONSTRAINT ours FOREIGN KEY (partner_id) REFERENCES people (pid));
CREATE TABLE visits (vid bigint PRIMARY KEY, pid bigint NOT NULL, host_id bigint NOT NULL, `like` bigint, kind varchar(9),
    CONSTRAINT of_whom FOREIGN KEY (pid) REFERENCES people (pid),
    CONSTRAINT at_whose FOREIGN KEY (host_id) REFERENCES people (pid),
    CONSTRAINT likes FOREIGN KEY (`like`) REFERENCES visits (vid));
"""


@dataclass(frozen=True)
class Engine:
    """A server, and how it is asked."""

    server: PostgresServer | MysqlServer

    def database(self) -> str:
        quote = '"' if isinstance(self.server, PostgresServer) else "`"
        return self.server.create_database(TABLES.replace("`", quote))

    def rows(self, url: str, query: str) -> list[tuple[object, ...]]:
        if isinstance(self.server, PostgresServer):
            import psycopg

            with psycopg.connect(url, autocommit=True) as connection:
                return connection.execute(query).fetchall()  # type: ignore[call-overload, no-any-return]
        return self.server.rows(url, query)


@pytest.fixture(
    params=["postgres_server", *(pytest.param(f"{kind}_server", marks=pytest.mark.slow) for kind in ("mariadb", "mysql"))]
)
def engine(request: pytest.FixtureRequest) -> Engine:
    return Engine(request.getfixturevalue(request.param))


@cache
def release() -> Release:
    schema = load_schema(PARTNERS)
    return run_fit(plan(schema, Budget(200.0, 1e-6)), dataset(schema, 1, 60), FitOptions(bits=SeededBits(1)))


_DANGLING = """
SELECT (SELECT count(*) FROM people a LEFT JOIN people b ON a.partner_id = b.pid WHERE b.pid IS NULL)
     + (SELECT count(*) FROM visits a LEFT JOIN people b ON a.host_id = b.pid WHERE b.pid IS NULL)
     + (SELECT count(*) FROM visits a LEFT JOIN people b ON a.pid = b.pid WHERE b.pid IS NULL)
"""


def test_random_partners_are_written_into_tables_that_were_there(engine: Engine) -> None:
    url = engine.database()
    with open_sink(url) as sink:
        poured = pour(start(release(), SampleOptions(entities=90, seed=3, chunk=7)), sink)
    assert engine.rows(url, "SELECT count(*) FROM people") == [(90,)]
    assert engine.rows(url, "SELECT count(*) FROM visits") == [(poured.rows["visits"],)]
    assert engine.rows(url, _DANGLING) == [(0,)]
    # Some partners came in a later batch, or nothing was tested.
    assert engine.rows(url, "SELECT count(*) > 9 FROM people WHERE partner_id > pid + 7") in ([(True,)], [(1,)])
    # The tables are under their own constraints again, as they were: at once, not at the end of a transaction.
    for statement in ("INSERT INTO people VALUES (99999, 'F', 88888)", "UPDATE visits SET host_id = 88888"):
        with pytest.raises(Exception, match="foreign key constraint"):
            engine.rows(url, statement)


PEOPLE = ReflectedTable(
    "people",
    (
        ReflectedColumn("pid", "integer", nullable=False),
        ReflectedColumn("sex", "string"),
        ReflectedColumn("partner_id", "integer", nullable=False),
    ),
    key=("pid",),
    foreign_keys=(ReflectedForeignKey(("partner_id",), "people", ("pid",)),),
)


def write_people(url: str, *pairs: list[tuple[int, int]]) -> None:
    with open_sink(url) as sink:
        sink.create([SinkTable(PEOPLE, (("partner_id",),))])
        for some in pairs:
            sink.write("people", batch(PEOPLE, [{"pid": a, "sex": "F", "partner_id": b} for a, b in some]))


def test_a_partner_that_never_comes_is_found_and_nothing_is_written(engine: Engine) -> None:
    url = engine.database()
    with pytest.raises(SinkError, match="a reference to a row that is not there"):
        write_people(url, [(1, 2)], [(2, 3)])
    assert engine.rows(url, "SELECT * FROM people") == []
    with pytest.raises(Exception, match="foreign key constraint"):
        engine.rows(url, "INSERT INTO people VALUES (99999, 'F', 88888)")
    write_people(url, [(1, 2)], [(2, 1)])
    assert engine.rows(url, "SELECT pid, partner_id FROM people ORDER BY pid") == [(1, 2), (2, 1)]


def test_who_does_not_own_the_tables_is_told_what_would_help(postgres_server: PostgresServer) -> None:
    """Only an owner may say when a foreign key is checked; one that is deferrable already can be made to wait by anyone."""
    engine = Engine(postgres_server)
    url, writer = engine.database(), postgres_server.create_role("word")
    name = url.rpartition("/")[2]
    postgres_server.run(name, f"GRANT SELECT, INSERT ON people TO {writer}")
    theirs = postgres_server.url(name, writer, "word")
    with pytest.raises(SinkError, match=r"a row that is not there.*have the table's owner make it DEFERRABLE"):
        write_people(theirs, [(1, 2)], [(2, 1)])
    assert engine.rows(url, "SELECT * FROM people") == []
    postgres_server.run(name, "ALTER TABLE people ALTER CONSTRAINT ours DEFERRABLE")
    write_people(theirs, [(1, 2)], [(2, 1)])
    assert engine.rows(url, "SELECT count(*) FROM people") == [(2,)]
