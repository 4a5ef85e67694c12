"""What MySQL and MariaDB know of a table and no target gets, in words: it is told before a fit (`ReflectedTable.unmade`).

How rows are stored and found, who may see them, how texts are compared: nothing that a row has to pass, but a twin without it is
not the same. Asks the catalogue alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

_OF_TABLES = """
SELECT TABLE_NAME, CONCAT_WS('; ',
       CASE WHEN ENGINE <> 'InnoDB' THEN CONCAT('ENGINE=', ENGINE) END,
       CASE WHEN TABLE_TYPE = 'SYSTEM VERSIONED' THEN 'SYSTEM VERSIONING' END,
       NULLIF(UPPER(CREATE_OPTIONS), ''))
  FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()
"""
_LETTERS = """
SELECT c.TABLE_NAME,
       CONCAT('COLLATE ', c.COLLATION_NAME, ' of ', GROUP_CONCAT(c.COLUMN_NAME ORDER BY c.ORDINAL_POSITION SEPARATOR ', '))
  FROM information_schema.COLUMNS c JOIN information_schema.CHARACTER_SETS s ON s.CHARACTER_SET_NAME = 'utf8mb4'
 WHERE c.TABLE_SCHEMA = DATABASE() AND c.COLLATION_NAME NOT IN (s.DEFAULT_COLLATE_NAME, 'utf8mb4_bin')
 GROUP BY c.TABLE_NAME, c.COLLATION_NAME
"""
_HIDDEN = """
SELECT TABLE_NAME, CONCAT('INVISIBLE of ', COLUMN_NAME) FROM information_schema.COLUMNS
 WHERE TABLE_SCHEMA = DATABASE() AND EXTRA LIKE '%%INVISIBLE%%'
"""
_GRANTED = """
SELECT TABLE_NAME, 'rights of others (GRANT)' FROM information_schema.TABLE_PRIVILEGES WHERE TABLE_SCHEMA = DATABASE()
 UNION SELECT TABLE_NAME, 'rights of others (GRANT)' FROM information_schema.COLUMN_PRIVILEGES WHERE TABLE_SCHEMA = DATABASE()
"""
_SAID = """
SELECT DISTINCT TABLE_NAME, CONCAT('the comment on the index ', INDEX_NAME) FROM information_schema.STATISTICS
 WHERE TABLE_SCHEMA = DATABASE() AND INDEX_COMMENT <> ''
"""
_BEGINNINGS = """
SELECT DISTINCT TABLE_NAME, CONCAT('the length of a part of UNIQUE ', INDEX_NAME) FROM information_schema.STATISTICS
 WHERE TABLE_SCHEMA = DATABASE() AND NON_UNIQUE = 0 AND SUB_PART IS NOT NULL
"""
_OF_MYSQL = (
    """
SELECT TABLE_NAME, CONCAT('CHECK ', CONSTRAINT_NAME, ' NOT ENFORCED') FROM information_schema.TABLE_CONSTRAINTS
 WHERE TABLE_SCHEMA = DATABASE() AND ENFORCED = 'NO'
""",
    """
SELECT DISTINCT TABLE_NAME, CONCAT('INVISIBLE of INDEX ', INDEX_NAME) FROM information_schema.STATISTICS
 WHERE TABLE_SCHEMA = DATABASE() AND IS_VISIBLE = 'NO'
""",
    """
SELECT TABLE_NAME, CONCAT('SRID of ', COLUMN_NAME) FROM information_schema.COLUMNS
 WHERE TABLE_SCHEMA = DATABASE() AND SRS_ID IS NOT NULL
""",
)
"""Of what MySQL 8 has alone."""
_TRIGGERS = """
SELECT EVENT_OBJECT_TABLE, CONCAT('TRIGGER ', TRIGGER_NAME, ' (--ddl FILE writes it)') FROM information_schema.TRIGGERS
 WHERE TRIGGER_SCHEMA = DATABASE()
"""
_INDEXES = """
SELECT TABLE_NAME, INDEX_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND INDEX_NAME <> 'PRIMARY'
 GROUP BY TABLE_NAME, INDEX_NAME ORDER BY TABLE_NAME, INDEX_NAME
"""


def unmade(connection: Connection, read: Mapping[str, Collection[str]]) -> dict[str, str]:
    """By table. ``read`` names, by table, the indexes that were understood, or are told in other words."""
    told: dict[str, list[str]] = defaultdict(list)
    for query in (_OF_TABLES, _LETTERS, _HIDDEN, _GRANTED, _SAID, _BEGINNINGS, _TRIGGERS, *_OF_MYSQL):
        try:
            rows = connection.exec_driver_sql(query).all()
        except DBAPIError:
            if query not in _OF_MYSQL:
                raise
            continue  # a server that has no such thing
        for table, word in rows:
            if word:
                told[table].append(word)
    for table, index in connection.exec_driver_sql(_INDEXES):
        if index not in read.get(table, (index,)):
            told[table].append(f"INDEX {index}")
    return {table: f"not made: {'; '.join(words)}" for table, words in told.items()}
