"""Views, triggers and functions of PostgreSQL, as its own `pg_get_…def` functions write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import Connection

_OURS = """
   AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.objid = {0}.oid AND d.deptype = 'e')
   AND n.nspname = ANY (:schemas) ORDER BY {0}.oid
"""
"""Not what an extension brings: the target has it where the extension is."""
_FUNCTIONS = f"""
SELECT pg_catalog.pg_get_functiondef(p.oid) FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
 WHERE p.prokind IN ('f', 'p') {_OURS.format("p")}
"""
_AGGREGATES = f"""
SELECT pg_catalog.format('CREATE AGGREGATE %I.%I(%s) (SFUNC = %s, STYPE = %s%s%s)', n.nspname, p.proname,
       pg_catalog.pg_get_function_arguments(p.oid), a.aggtransfn::pg_catalog.regproc,
       pg_catalog.format_type(a.aggtranstype, NULL),
       CASE WHEN a.aggfinalfn <> 0 THEN ', FINALFUNC = ' || a.aggfinalfn::pg_catalog.regproc::text ELSE '' END,
       CASE WHEN a.agginitval IS NULL THEN '' ELSE ', INITCOND = ' || pg_catalog.quote_literal(a.agginitval) END)
  FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_aggregate a ON a.aggfnoid = p.oid
  JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
 WHERE p.prokind = 'a' {_OURS.format("p")}
"""
_VIEWS = f"""
SELECT pg_catalog.format('CREATE %sVIEW %I.%I AS%s', CASE c.relkind WHEN 'm' THEN 'MATERIALIZED ' ELSE '' END,
       n.nspname, c.relname,
       E'\\n' || pg_catalog.rtrim(pg_catalog.pg_get_viewdef(c.oid, true), ';'))
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('v', 'm') {_OURS.format("c")}
"""
_TRIGGERS = f"""
SELECT pg_catalog.pg_get_triggerdef(t.oid) FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE NOT t.tgisinternal AND t.tgparentid = 0 {_OURS.format("t")}
"""


def postgres_scripts(connection: Connection, schemas: Sequence[str]) -> tuple[str, ...]:
    """In the order in which they were made, functions first: their bodies are not looked at until they are called."""
    from sqlalchemy import text

    listed = [
        str(statement).rstrip().rstrip(";")
        for query in (_FUNCTIONS, _AGGREGATES, _VIEWS, _TRIGGERS)
        for (statement,) in connection.execute(text(query), {"schemas": list(schemas)})
    ]
    return ("SET check_function_bodies = off;", *(f"{statement};" for statement in listed)) if listed else ()
