"""D and D′ on real servers: PostgreSQL, and in `make test-all` MariaDB and MySQL. As `test_physical_neighbours` for files."""

from __future__ import annotations

import pytest

from tests.privacy.physical_hospital import Rows, hospital, odd_patient, own, without
from tests.privacy.physical_servers import MYSQL, POSTGRES, MysqlWriter, PostgresWriter
from tests.privacy.test_physical_neighbours import an_odd_patient_changes_nothing_for_others, described, nobody_shows
from tests.servers import MysqlServer, PostgresServer

QUICK = (
    "infinity for a date",
    "a date after 9999",
    "24:00 with a zone",
    "a backward interval",
    "a number of a thousand digits",
    "no number among wide decimals",
    "sixty digits in a key",
    "money",
    "bytes",
    "an array",
)
"""Of what PostgreSQL alone can hold, one of each kind for `make test`."""


@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if n in QUICK else [pytest.mark.slow]) for n in POSTGRES])
def test_everybody_else_is_read_from_postgresql_as_without_the_odd_patient(name: str, postgres_server: PostgresServer) -> None:
    odd = POSTGRES[name]
    an_odd_patient_changes_nothing_for_others("postgresql", odd, PostgresWriter(postgres_server, odd.special))


@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if n == "no number" else [pytest.mark.slow]) for n in POSTGRES])
def test_an_odd_patient_does_not_show_in_a_fit_from_postgresql(name: str, postgres_server: PostgresServer) -> None:
    odd = POSTGRES[name]
    there, gone = map(PostgresWriter(postgres_server, odd.special), odd_patient(odd.changes, odd.everybody))
    nobody_shows(there, gone, described(odd))


def test_the_only_rows_of_a_partition(postgres_server: PostgresServer) -> None:
    """Partitions are made when they are needed: without the patient, theirs was never made."""
    rows = hospital()
    write = PostgresWriter(postgres_server, partitioned=True)
    nobody_shows(write(rows), write(without(rows, own(rows))))


def test_rows_and_columns_in_another_order_change_nothing_on_a_server(postgres_server: PostgresServer) -> None:
    rows = hospital()
    turned: Rows = {name: [dict(reversed(row.items())) for row in content[::-1]] for name, content in reversed(rows.items())}
    write = PostgresWriter(postgres_server)
    nobody_shows(write(rows), write(turned), moved="not at all")


@pytest.mark.slow
@pytest.mark.parametrize("name", MYSQL)
def test_an_odd_patient_does_not_show_in_mysql(name: str, either_server: MysqlServer) -> None:
    odd = MYSQL[name]
    write = MysqlWriter(either_server, odd.special)
    an_odd_patient_changes_nothing_for_others(either_server.scheme, odd, write)
    nobody_shows(*map(write, odd_patient(odd.changes, odd.everybody)), described(odd))
