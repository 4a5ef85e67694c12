"""Columns that count by themselves, in tables of PostgreSQL that were there already: they go on after the last row written.

Rows are written with their numbers, which leaves an identity or a serial where it was: the first row that somebody adds would get
the number 1, which is taken. A counter that this user may not move is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .wording import Wording

if TYPE_CHECKING:
    from psycopg import Connection

_COUNTERS = """
SELECT t.relname::text, a.attname::text, s.oid::pg_catalog.regclass::text, q.seqmax::text
  FROM pg_catalog.pg_class t JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
  JOIN pg_catalog.pg_depend d ON d.refobjid = t.oid AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
   AND d.classid = d.refclassid AND d.deptype IN ('a', 'i')
  JOIN pg_catalog.pg_class s ON s.oid = d.objid AND s.relkind = 'S'
  JOIN pg_catalog.pg_sequence q ON q.seqrelid = s.oid AND q.seqincrement > 0
  JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid AND a.attnum = d.refobjsubid
   AND a.atttypid::pg_catalog.regtype::text IN ('smallint', 'integer', 'bigint')
 WHERE n.nspname = %s AND t.relname = ANY(%s)
   AND CASE WHEN s.relkind = 'S' THEN pg_catalog.has_sequence_privilege(s.oid, 'UPDATE')
       AND pg_catalog.has_sequence_privilege(s.oid, 'SELECT') END
   AND pg_catalog.has_column_privilege(t.oid, a.attnum, 'SELECT')
 ORDER BY 1, 2
"""


def counted_on(connection: Connection[tuple[object, ...]], schema: str, tables: Sequence[str]) -> Iterator[tuple[str, str]]:
    """A statement for each counter of these tables, after the table's name. One that is ahead already stays there."""
    wording = Wording()
    for table, column, sequence, end in connection.execute(_COUNTERS, (schema, list(tables))).fetchall():
        last = f"(SELECT max({wording.name(str(column))}) FROM {wording.name(str(table))})"
        ahead = f"(SELECT last_value FROM {sequence})"
        moved = f"SELECT pg_catalog.setval({wording.constant(str(sequence))}::pg_catalog.regclass, {last})"
        yield str(table), f"{moved} WHERE {last} BETWEEN {ahead} AND {end}"
