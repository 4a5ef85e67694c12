"""Views, triggers and functions of MySQL and MariaDB, as SHOW CREATE writes them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import Connection

_LISTED = """
SELECT ROUTINE_TYPE, ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = DATABASE()
 UNION ALL SELECT 'VIEW', TABLE_NAME FROM information_schema.VIEWS WHERE TABLE_SCHEMA = DATABASE()
 UNION ALL SELECT 'TRIGGER', TRIGGER_NAME FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE()
"""
_DEFINER = re.compile(r"(?<=CREATE ).*?DEFINER ?= ?`(?:[^`]|``)*`@`(?:[^`]|``)*` (?:SQL SECURITY \w+ )?")


def mysql_scripts(connection: Connection) -> tuple[str, ...]:
    """Without the user who made them: the target knows others. Views may read each other, so each is replaced where it is."""
    statements = []
    for kind, name in connection.exec_driver_sql(_LISTED).all():
        row = connection.exec_driver_sql(f"SHOW CREATE {kind} `{str(name).replace('`', '``')}`".replace("%", "%%")).one()
        written = next((str(part) for part in row if str(part).lstrip().startswith("CREATE ")), None)
        if written is None:
            statements.append(f"-- {str(kind).lower()} {name}: this user may not see how it was made")
        else:
            statements.append(f"DELIMITER ;;\n{_DEFINER.sub('', written, count=1)};;\nDELIMITER ;")
    return tuple(statements)
