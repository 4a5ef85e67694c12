"""Where a server's tables are, as the server itself tells it: host names, ports, sockets and proxies are ways to get there.

A false "it is the same" costs another name for the target; a false "it is another" would cost the source. So a copy of a server
that kept its identity (a restored backup) counts as the same, and a standby of PostgreSQL as its primary.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

from mare.ports import Place

Ask = Callable[[str], Sequence[Sequence[object]]]
"""Runs a query."""

_POSTGRES = """
SELECT d.oid::text, extract(epoch FROM pg_catalog.pg_postmaster_start_time())::text,
       pg_catalog.has_function_privilege(pg_catalog.to_regprocedure('pg_catalog.pg_control_system()'), 'EXECUTE')
  FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()
"""
_SYSTEM = "SELECT system_identifier::text FROM pg_catalog.pg_control_system()"
_MYSQL = """
SHOW GLOBAL VARIABLES WHERE Variable_name IN ('server_uuid', 'hostname', 'port', 'socket', 'datadir', 'lower_case_table_names')
"""


def postgres_place(ask: Ask, schemas: Iterable[str]) -> Place:
    """Schemas of a database of a cluster. Who may not ask for the cluster's identifier knows when the server started, to the
    microsecond: both are told where they are known, because the source's user and the target's may differ in that."""
    ((database, started, may_ask),) = ask(_POSTGRES)
    clusters: list[tuple[str, object]] = [("started", started)]
    if may_ask:
        clusters += [("system", identifier) for (identifier,) in ask(_SYSTEM)]
    own: set[Hashable] = {("postgresql", *cluster, database, schema) for cluster in clusters for schema in schemas}
    return Place(frozenset(own))


def mysql_place(ask: Ask) -> Place:
    """A database of a server. MySQL has an identifier of its own; MariaDB has none, but no two servers share a folder."""
    told = {str(name): str(value) for name, value in ask(_MYSQL)}
    ((database,),) = ask("SELECT DATABASE()")
    name = str(database) if told.get("lower_case_table_names", "0") == "0" else str(database).lower()
    server = (
        (told["server_uuid"],) if "server_uuid" in told else tuple(told.get(n) for n in ("hostname", "port", "socket", "datadir"))
    )
    return Place(frozenset({("mysql", *server, name)}))
