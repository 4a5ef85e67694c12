"""What PostgreSQL knows of a table and no target gets, in words: it is told before a fit (`ReflectedTable.unmade`).

How rows are stored and found, who may see them, and what is said of things that are no columns: nothing that a row has to pass,
but a twin without it is not the same. Asks the catalogue alone, and never for what rows have made of it.
"""

from __future__ import annotations

from collections import defaultdict

from sqlalchemy import Connection

_OF_TABLES = """
SELECT n.nspname, c.relname, unnest(ARRAY[
       'WITH (' || pg_catalog.array_to_string(c.reloptions, ', ') || ')',
       CASE WHEN c.relpersistence = 'u' THEN 'UNLOGGED' END,
       'PARTITION BY ' || pg_catalog.pg_get_partkeydef(c.oid),
       CASE WHEN c.relrowsecurity THEN 'ROW LEVEL SECURITY' END,
       CASE WHEN c.relreplident IN ('f', 'n', 'i') THEN 'REPLICA IDENTITY' END,
       'TABLESPACE ' || (SELECT s.spcname FROM pg_catalog.pg_tablespace s WHERE s.oid = c.reltablespace),
       CASE WHEN c.relacl IS NOT NULL OR EXISTS (SELECT FROM pg_catalog.pg_attribute a
             WHERE a.attrelid = c.oid AND a.attacl IS NOT NULL) THEN 'rights of others (GRANT)' END])
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p')
"""
_OF_COLUMNS = """
SELECT n.nspname, c.relname, w.word || ' of ' || pg_catalog.string_agg(a.attname, ', ' ORDER BY a.attnum)
  FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p')
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
 CROSS JOIN LATERAL (VALUES
       (CASE WHEN a.attcollation NOT IN (0, t.typcollation) THEN 'COLLATE '
             || (SELECT pg_catalog.quote_ident(l.collname) FROM pg_catalog.pg_collation l WHERE l.oid = a.attcollation) END),
       (CASE WHEN a.attstorage <> t.typstorage THEN 'SET STORAGE' END),
       (CASE WHEN pg_catalog.to_jsonb(a) ->> 'attcompression' <> '' THEN 'SET COMPRESSION' END),
       (CASE WHEN a.attstattarget > 0 THEN 'SET STATISTICS' END),
       (CASE WHEN a.attoptions IS NOT NULL THEN 'SET (…)' END),
       (CASE WHEN t.typtype = 'd' AND t.typdefault IS NOT NULL THEN 'DEFAULT within the domain (the column has it)' END),
       (CASE WHEN t.typtype IN ('d', 'e') AND pg_catalog.obj_description(t.oid, 'pg_type') IS NOT NULL
             THEN 'the comment on the type' END)
       ) w (word)
 WHERE a.attnum > 0 AND NOT a.attisdropped AND w.word IS NOT NULL GROUP BY 1, 2, w.word
"""
_OF_INDEXES = """
SELECT n.nspname, c.relname, w.word || ' ' || i.relname
  FROM pg_catalog.pg_index x JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid JOIN pg_catalog.pg_class c ON c.oid = x.indrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 CROSS JOIN LATERAL (VALUES
       (CASE WHEN x.indisunique AND x.indpred IS NULL AND x.indexprs IS NULL AND NOT EXISTS
                 (SELECT FROM pg_catalog.pg_constraint k WHERE k.conindid = i.oid AND k.contype IN ('p', 'u'))
             THEN 'a UNIQUE constraint is made of the index' END),
       (CASE WHEN x.indisunique AND i.reloptions IS NOT NULL THEN 'WITH (…) of the index' END),
       (CASE WHEN x.indisunique AND pg_catalog.pg_get_indexdef(i.oid) LIKE '%% INCLUDE (%%' THEN 'INCLUDE of the index' END),
       (CASE WHEN x.indisclustered THEN 'CLUSTER ON' END),
       (CASE WHEN pg_catalog.obj_description(i.oid, 'pg_class') IS NOT NULL THEN 'the comment on the index' END)) w (word)
 WHERE w.word IS NOT NULL
"""
_OF_CONSTRAINTS = """
SELECT n.nspname, c.relname, w.word || ' ' || k.conname
  FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_class c ON c.oid = k.conrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 CROSS JOIN LATERAL (VALUES
       (CASE WHEN NOT k.convalidated THEN 'NOT VALID of the constraint' END),
       (CASE WHEN k.condeferrable AND k.contype IN ('p', 'u') THEN 'DEFERRABLE of the constraint' END),
       (CASE WHEN k.connoinherit AND k.contype = 'c' THEN 'NO INHERIT of the constraint' END),
       (CASE WHEN k.confmatchtype = 'f' THEN 'MATCH FULL of the constraint' END),
       (CASE WHEN pg_catalog.obj_description(k.oid, 'pg_constraint') IS NOT NULL
             THEN 'the comment on the constraint' END)) w (word)
 WHERE w.word IS NOT NULL
"""
_OF_SEQUENCES = """
SELECT DISTINCT n.nspname, c.relname, w.word || ' of the sequence ' || q.relname
  FROM pg_catalog.pg_sequence s JOIN pg_catalog.pg_class q ON q.oid = s.seqrelid
  JOIN (SELECT d.objid AS sequence, d.refobjid AS owner, true AS owned FROM pg_catalog.pg_depend d
         WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.deptype IN ('a', 'i') AND d.refobjsubid > 0
         UNION ALL
        SELECT d.refobjid, a.adrelid, false FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_attrdef a ON a.oid = d.objid
         WHERE d.classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend o
               WHERE o.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND o.objid = d.refobjid AND o.deptype IN ('a', 'i'))
       ) u ON u.sequence = q.oid
  JOIN pg_catalog.pg_class c ON c.oid = u.owner JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 CROSS JOIN LATERAL (VALUES
       (CASE WHEN s.seqcycle THEN 'CYCLE' END),
       (CASE WHEN s.seqcache <> 1 THEN 'CACHE' END),
       (CASE WHEN s.seqincrement > 0 AND (s.seqmin <> 1 OR s.seqmax NOT IN (32767, 2147483647, 9223372036854775807))
             THEN 'MINVALUE, MAXVALUE' END),
       (CASE WHEN s.seqincrement < 0 THEN 'a step back' END),
       (CASE WHEN NOT u.owned THEN 'OWNED BY NONE' END)) w (word)
 WHERE w.word IS NOT NULL
"""
_OF_TABLES_BESIDE = """
SELECT n.nspname, c.relname, 'STATISTICS ' || e.stxname FROM pg_catalog.pg_statistic_ext e
  JOIN pg_catalog.pg_class c ON c.oid = e.stxrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 UNION ALL
SELECT n.nspname, c.relname, 'TRIGGER ' || t.tgname || ' (--ddl FILE writes it)' FROM pg_catalog.pg_trigger t
  JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE NOT t.tgisinternal AND t.tgparentid = 0
 UNION ALL
SELECT n.nspname, c.relname, 'RULE ' || r.rulename FROM pg_catalog.pg_rewrite r
  JOIN pg_catalog.pg_class c ON c.oid = r.ev_class AND c.relkind IN ('r', 'p')
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
"""
_QUERIES = (_OF_TABLES, _OF_COLUMNS, _OF_INDEXES, _OF_CONSTRAINTS, _OF_SEQUENCES, _OF_TABLES_BESIDE)


def unmade(connection: Connection) -> dict[tuple[str, str], list[str]]:
    """By schema and table."""
    told: dict[tuple[str, str], list[str]] = defaultdict(list)
    for query in _QUERIES:
        for schema, table, word in connection.exec_driver_sql(query):
            if word is not None:
                told[schema, table].append(word)
    return {at: [f"not made: {'; '.join(sorted(words))}"] for at, words in told.items()}
