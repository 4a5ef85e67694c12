"""Foreign keys of PostgreSQL tables that were there before: checked at the end of the write, as those of new tables are.

Such a key is checked after each statement, but a row may refer to one that comes later (a partner drawn among all entities). So
it is made deferrable within the transaction of the write, and what it was before the commit: nobody else ever sees it otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .layout import WriteOrder
from .wording import Wording

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[tuple[object, ...]]

_KEYS = """
SELECT t.relname::text, c.conname::text, r.relname::text, c.condeferrable, pg_catalog.pg_has_role(t.relowner, 'USAGE'),
       ARRAY(SELECT a.attname::text FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.conrelid AND a.attnum = ANY(c.conkey))
  FROM pg_catalog.pg_constraint c
  JOIN pg_catalog.pg_class t ON t.oid = c.conrelid
  JOIN pg_catalog.pg_class r ON r.oid = c.confrelid AND r.relnamespace = t.relnamespace
  JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
 WHERE c.contype = 'f' AND c.conparentid = 0 AND n.nspname = %s AND t.relname = ANY(%s) ORDER BY 1, 2
"""


@dataclass(frozen=True)
class Deferring:
    """What to say before the rows come, and what after them."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    stubborn: tuple[str, ...] = ()
    """Tables with a key that stays as it is, because only their owner may change it."""

    @property
    def remedy(self) -> str:
        """What to do where such a key refuses a row."""
        if not self.stubborn:
            return ""
        tables = ", ".join(self.stubborn)
        return (
            f" (Rows may refer to others that are written later, and foreign keys of {tables} are checked at once: where one "
            "refuses a row, have the table's owner make it DEFERRABLE, or let mare create the tables.)"
        )


def deferring(connection: Connection, schema: str, kept: Sequence[str], order: WriteOrder) -> Deferring:
    """How the foreign keys of these tables wait for the end of the write, where rows lead ahead."""
    wording = Wording()
    before, after, stubborn = list[str](), list[str](), list[str]()
    for table, name, referred, waits, own, columns in connection.execute(_KEYS, (schema, list(kept))).fetchall():
        if not isinstance(columns, list) or not order.leads_ahead(str(table), columns, str(referred)):
            continue
        key = wording.name(str(name))
        if waits:
            before.append(f"SET CONSTRAINTS {wording.name(schema)}.{key} DEFERRED")
        elif own:
            change = f"ALTER TABLE {wording.name(str(table))} ALTER CONSTRAINT {key}"
            before.append(f"{change} DEFERRABLE INITIALLY DEFERRED")
            after.append(f"{change} NOT DEFERRABLE")
        else:
            stubborn.append(str(table))
    # All that waits is checked first: a table with checks still to come cannot be changed.
    return Deferring(tuple(before), ("SET CONSTRAINTS ALL IMMEDIATE", *after) if before else (), tuple(dict.fromkeys(stubborn)))
