"""What is special about PostgreSQL's catalogue: schemas, partitions, inheritance, extensions, domains, rights and scripts.

The schemas of the search path are looked at, or those that the URL asks for (``?schema=hosp,icu``). A table is called by its
plain name; where two of the schemas hold the same name, ``schema.table``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple, cast
from urllib.parse import quote

from sqlalchemy import Connection, Inspector, text
from sqlalchemy.dialects.postgresql import DOMAIN
from sqlalchemy.dialects.postgresql.base import PGInspector, ReflectedDomain

from mare.schema.reflection import Check, Counting, LeftOut, ReflectedColumn, ReflectedIndex, ReflectedTable, StoredDomain
from mare_adapters.sources.catalogue import (
    Catalogue,
    KindOf,
    StoredTable,
    labelled,
    left_out_references,
    reflect_tables,
    without_columns,
)
from mare_adapters.sources.check_grammar import Unreadable, tokens
from mare_adapters.sources.checks import apply_checks, apply_domain
from mare_adapters.sources.sql import bare_name
from mare_adapters.sources.table_source import EXACT

from .unmade import unmade

CITEXT = "citext"


class _Relation(NamedTuple):
    schema: str
    name: str
    kind: str
    parent: str | None
    partition: bool
    extension: str | None
    readable: bool
    columns: int
    filtered: bool


class _Attribute(NamedTuple):
    words: str
    filled: bool
    readable: bool


_RELATIONS = """
SELECT n.nspname, c.relname, c.relkind::text,
       (SELECT p.relname FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class p ON p.oid = i.inhparent
         WHERE i.inhrelid = c.oid ORDER BY i.inhseqno LIMIT 1),
       c.relispartition,
       (SELECT e.extname FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid
         WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid = c.oid AND d.deptype = 'e' LIMIT 1),
       pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND pg_catalog.has_any_column_privilege(c.oid, 'SELECT'),
       (SELECT count(*) FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
       pg_catalog.row_security_active(c.oid)
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relpersistence <> 't'
   AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
 ORDER BY n.nspname, c.relname
"""

_COLUMNS = """
WITH RECURSIVE under (domain, base, typmod, filled) AS (
    SELECT oid, typbasetype, typtypmod, typnotnull FROM pg_catalog.pg_type WHERE typtype = 'd'
    UNION ALL
    SELECT u.domain, t.typbasetype, CASE WHEN u.typmod = -1 THEN t.typtypmod ELSE u.typmod END, u.filled OR t.typnotnull
      FROM under u JOIN pg_catalog.pg_type t ON t.oid = u.base AND t.typtype = 'd'
)
SELECT n.nspname, c.relname, a.attname,
       pg_catalog.format_type(coalesce(b.oid, a.atttypid), CASE WHEN b.oid IS NULL THEN a.atttypmod ELSE u.typmod END),
       coalesce(u.filled, false),
       pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT')
  FROM pg_catalog.pg_attribute a
  JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN (under u JOIN pg_catalog.pg_type b ON b.oid = u.base AND b.typtype <> 'd') ON u.domain = a.atttypid
 WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p')
   AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
"""
"""A column's own type, or the one under its domain (and the domains below that), and whether a domain demands a value."""

_EXCLUSIONS = """
SELECT n.nspname, c.relname, pg_catalog.pg_get_constraintdef(k.oid)
  FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_class c ON c.oid = k.conrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE k.contype = 'x' ORDER BY k.conname
"""

_INDEXES = """
SELECT n.nspname, t.relname, i.relname,
       substr(pg_catalog.pg_get_indexdef(x.indexrelid), length(pg_catalog.format('CREATE INDEX %%I ON %%s%%I.%%I ',
              i.relname, CASE i.relkind WHEN 'I' THEN 'ONLY ' ELSE '' END, n.nspname, t.relname)) + 1),
       ARRAY(SELECT a.attname::text FROM pg_catalog.pg_attribute a WHERE a.attrelid = t.oid AND a.attnum = ANY (x.indkey))
  FROM pg_catalog.pg_index x JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid
  JOIN pg_catalog.pg_class t ON t.oid = x.indrelid JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
 WHERE NOT x.indisunique AND x.indisvalid AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
   AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint k WHERE k.conindid = x.indexrelid AND k.contype = 'x')
 ORDER BY 1, 2, 3
"""
_USUAL_INDEX = re.compile(r'USING btree \((?:\w+|"(?:[^"]|"")*")(?:, (?:\w+|"(?:[^"]|"")*"))*\)')
_COUNTS = """
SELECT n.nspname, c.relname, s.seqincrement,
       CASE WHEN s.seqtypid <> 20 THEN pg_catalog.format_type(s.seqtypid, NULL) ELSE '' END
  FROM pg_catalog.pg_sequence s JOIN pg_catalog.pg_class c ON c.oid = s.seqrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
"""
"""How far each sequence goes at a time; where it stands is never asked."""
_NEXT = re.compile(r"nextval\('((?:[^']|'')*)'(?:::text)?(?:::regclass)?\)")
_PARTS = re.compile(r'"((?:[^"]|"")*)"|([^".]+)')
_NAME = r'(?:[\w ]+|"(?:[^"]|"")*")'
_CONSTANT = re.compile(rf"('(?:[^'\\]|'')*')::{_NAME}(?:\.{_NAME})?(?:\(\d+(?:,\d+)?\))?[\w ]*(?:\[\])*")

_SIZE = re.compile(r"(numeric|character varying|character)\((\d+)(?:,(\d+))?\)")

_WORDS = {
    "v": "a view: it follows from the tables that it reads",
    "m": "a materialised view: it follows from the tables that it reads",
    "f": "a foreign table: its rows are in another database, which the snapshot does not cover",
}


def reflect_postgres(connection: Connection, inspector: Inspector, schemas: Sequence[str], own_kind: KindOf) -> Catalogue:
    """The tables of these schemas that can be read."""
    relations = [_Relation(*row) for row in connection.exec_driver_sql(_RELATIONS)]
    stored, left_out = _sorted_out(relations, schemas)
    facts: dict[tuple[str, str], dict[str, _Attribute]] = defaultdict(dict)
    for schema, name, column, *attribute in connection.exec_driver_sql(_COLUMNS):
        facts[schema, name][column] = _Attribute(*attribute)
    listed = cast("PGInspector", inspector).get_domains(schema="*")
    domains: dict[tuple[str | None, str], ReflectedDomain] = {(told["schema"], told["name"]): told for told in listed}
    exclusions: dict[tuple[str, str], list[str]] = defaultdict(list)
    for schema, name, constraint in connection.exec_driver_sql(_EXCLUSIONS):
        exclusions[schema, name].append(constraint)
    special: dict[tuple[str | None, str], list[ReflectedIndex]] = defaultdict(list)
    for schema, name, index, definition, parts in connection.exec_driver_sql(_INDEXES):
        if not _USUAL_INDEX.fullmatch(definition):
            special[schema, name].append(ReflectedIndex(index, _unqualified(definition, schema), columns=tuple(parts)))
    counts = {
        (schema, name): Counting("sequence", name, int(step), narrow)
        for schema, name, step, narrow in connection.exec_driver_sql(_COUNTS)
    }
    lost = unmade(connection)
    tables = []
    for at, table in zip(stored, reflect_tables(inspector, stored, own_kind, special=special), strict=True):
        columns = facts[str(at.schema), at.name]
        table = replace(
            table,
            columns=tuple(_own_words(column, str(at.schema), columns[column.name]) for column in table.columns),
            unread_checks=(*table.unread_checks, *exclusions[str(at.schema), at.name]),
            unmade=(*table.unmade, *lost.get((str(at.schema), at.name), ())),
        )
        table = _with_domains(table, inspector, at, domains)
        table = replace(
            table,
            columns=tuple(_own_default(column, str(at.schema), counts) for column in table.columns),
            # Of a single schema the name is where the data came from, which nobody needs to know.
            namespace=str(at.schema) if len(schemas) > 1 else "",
        )
        checks = inspector.get_check_constraints(at.name, at.schema)
        table = apply_checks(table, [Check(str(check["sqltext"]), str(check["name"] or "")) for check in checks])
        hidden = [column for column, attribute in columns.items() if not attribute.readable]
        left_out += [LeftOut(f"{at.label}.{column}", "no right to read this column") for column in hidden]
        tables.append(without_columns(table, hidden))
    left_out += left_out_references(inspector, stored)
    return Catalogue(tables, stored, left_out)


def _sorted_out(relations: Sequence[_Relation], schemas: Sequence[str]) -> tuple[list[StoredTable], list[LeftOut]]:
    kept: list[tuple[str, str]] = []
    left_out: list[LeftOut] = []
    elsewhere: dict[str, int] = defaultdict(int)
    for relation in relations:
        if relation.schema not in schemas:
            elsewhere[relation.schema] += relation.kind in "rp"
        elif (reason := _reason(relation)) is not None:
            left_out.append(LeftOut(relation.name, reason))
        else:
            kept.append((relation.schema, relation.name))
            if relation.filtered:
                left_out.append(LeftOut(f"rows of {relation.name}", "row level security hides those that this user may not see"))
    for schema, tables in elsewhere.items():
        if tables:
            word = "1 table" if tables == 1 else f"{tables} tables"
            asked = ",".join(quote(name, safe="") for name in (*schemas, schema))
            advice = f"to read them too, add ?schema={asked} to the URL (&schema=… after other options)"
            left_out.append(LeftOut(f"schema {schema}", f"{word} outside the search path: {advice}"))
    return labelled(kept), left_out


def _reason(relation: _Relation) -> str | None:
    if relation.extension is not None:
        return f"belongs to the extension {relation.extension}"
    if relation.partition:
        return f"a partition: its rows are read with {relation.parent}"
    if relation.parent is not None:
        return f"inherits from {relation.parent}: its rows are read with it, without columns of their own"
    if relation.columns == 0:
        return "it has no columns"
    if relation.kind in _WORDS:
        return _WORDS[relation.kind]
    return None if relation.readable else "no right to read"


def _own_words(column: ReflectedColumn, schema: str, attribute: _Attribute) -> ReflectedColumn:
    """The type as the server calls it, and what SQLAlchemy loses of a domain: its size, and that it demands a value."""
    size, digits, precision = _SIZE.fullmatch(attribute.words), column.digits, column.precision
    length = column.max_length
    if size and size[1] == "numeric":
        digits, precision = int(size[2]), int(size[3] or 0)
    elif size:
        length = int(size[2])
    kind = column.kind
    if kind == "unknown":
        kind = "other"  # a type that SQLAlchemy does not know is not unknown, only of no kind that mare models
    return replace(
        column,
        kind="integer" if kind == "number" and precision == 0 and digits else kind,
        sql_type=attribute.words.removeprefix(f"{schema}."),
        nullable=column.nullable and not attribute.filled,
        digits=digits,
        precision=precision,
        max_length=length,
        collation=_collation(attribute.words, digits),
    )


def _own_default(column: ReflectedColumn, schema: str, counts: Mapping[tuple[str, str], Counting]) -> ReflectedColumn:
    """What is filled in, without the casts that the server adds to a constant; a sequence by its name."""
    default = column.default
    if column.expression:
        return replace(column, expression=_unqualified(column.expression, schema))
    if default is None:
        return column
    if match := _NEXT.fullmatch(default):
        parts = [quoted.replace('""', '"') or plain for quoted, plain in _PARTS.findall(match[1].replace("''", "'"))]
        at = (parts[0] if len(parts) > 1 else schema, parts[-1])
        counter = counts.get(at, Counting("sequence", at[1]))
        return replace(column, default=None, counter=counter, autoincrement=True)
    if match := _CONSTANT.fullmatch(default):
        default = match[1]
    return replace(column, default=None if default.upper().startswith("NULL") else _unqualified(default, schema))


def _unqualified(text: str, schema: str) -> str:
    """Without the name of the schema before what it holds: a target has another."""
    try:
        parts = tokens(text)
    except Unreadable:
        return text
    for token, point in reversed(list(pairwise(parts))):
        if point.text == "." and bare_name(token) == schema:
            text = text[: token.start] + text[point.end :]
    return text


def _collation(words: str, digits: int | None) -> str:
    """A `numeric` without a size holds more digits than it is read with: as a key it is asked for exactly."""
    if words.rpartition(".")[2] == "citext":
        return CITEXT
    return EXACT if words.startswith("numeric") and (digits is None or digits > 38) else ""


def _with_domains(
    table: ReflectedTable, inspector: Inspector, at: StoredTable, domains: dict[tuple[str | None, str], ReflectedDomain]
) -> ReflectedTable:
    stored = {column["name"]: column["type"] for column in inspector.get_columns(at.name, at.schema)}
    columns, unread = [], list(table.unread_checks)
    for column in table.columns:
        domain, described = stored[column.name], column
        named, depth = list[StoredDomain](), 0
        while isinstance(domain, DOMAIN):
            told = domains.get((domain.schema, str(domain.name)))
            listed = [] if told is None else told["constraints"]
            checks = tuple(Check(str(check["check"]), str(check["name"] or "")) for check in listed)
            described, texts = apply_domain(described, checks)
            unread += [f"{column.name} of domain {domain.name}: {text}" for text in texts]
            if told is not None:
                if not texts:
                    named.append(StoredDomain(str(domain.name), column.sql_type, checks, not told["nullable"]))
                if described.default is None and told["default"] is not None:
                    described = replace(described, default=str(told["default"]))
            depth += 1
            domain = domain.data_type
        # A domain over another would have to come with it.
        columns.append(replace(described, domain=named[0]) if len(named) == depth == 1 else described)
    return replace(table, columns=tuple(columns), unread_checks=tuple(unread))


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
    listed = [
        str(statement).rstrip().rstrip(";")
        for query in (_FUNCTIONS, _AGGREGATES, _VIEWS, _TRIGGERS)
        for (statement,) in connection.execute(text(query), {"schemas": list(schemas)})
    ]
    return ("SET check_function_bodies = off;", *(f"{statement};" for statement in listed)) if listed else ()
