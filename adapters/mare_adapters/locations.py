"""Where a SQL database is, source or target, read from a URL or a file name; the one place that holds a password.

People paste passwords with `@`, `/` and `%` into URLs. What cannot be read in one way only is refused without
being shown, because a part of the password may stand where a host is expected.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qsl, quote, unquote

from mare.errors import MareError, SourceError

Family = Literal["sqlite", "postgresql", "mysql"]

_FAMILIES: dict[str, tuple[Family, str]] = {
    "sqlite": ("sqlite", "sqlite"),
    "postgresql": ("postgresql", "postgresql+psycopg"),
    "postgres": ("postgresql", "postgresql+psycopg"),
    "mysql": ("mysql", "mysql+pymysql"),
    "mariadb": ("mysql", "mysql+pymysql"),
}
_SECRETS = frozenset({"password", "passwd", "pwd", "sslpassword", "passfile", "ssl_key_password"})
_HOST = re.compile(r"[A-Za-z0-9._-]*|\[[0-9A-Fa-f:.%]+\]")
_ENCODE = (
    "Percent-encode special characters in the user, password and database name "
    "(@ is %40, / is %2F, : is %3A, ? is %3F, # is %23, % is %25), or leave the password out "
    "and set PGPASSWORD or a password file."
)


@dataclass(frozen=True)
class SqlLocation:
    """A database's address, taken apart. Its ``repr`` and ``label`` never hold a password."""

    family: Family
    driver: str
    """SQLAlchemy's name: ``postgresql+psycopg``."""
    database: str
    """A database's name, or the path of a file."""
    host: str = ""
    port: int | None = None
    user: str = ""
    schemas: tuple[str, ...] = ()
    """PostgreSQL: the schemas to look at, in place of the search path's."""
    password: str | None = field(default=None, repr=False)
    options: dict[str, str] = field(default_factory=dict, repr=False)
    """Handed to the driver as they are. Not shown: a certificate's password may be among them."""

    @property
    def label(self) -> str:
        """The address for people."""
        if self.family == "sqlite":
            return self.database
        user = f"{quote(self.user)}@" if self.user else ""
        schemas = f"?schema={','.join(self.schemas)}" if self.schemas else ""
        return f"{self.family}://{user}{self.server}/{quote(self.database)}{schemas}"

    @property
    def server(self) -> str:
        """``host:port``, as far as they were given."""
        return f"{self.host}:{self.port}" if self.port is not None else self.host


def sql_location(location: str | Path, fault: type[MareError] = SourceError) -> SqlLocation:
    """Take a URL or the name of a database file apart. ``fault`` is raised where that cannot be done."""
    try:
        return _taken_apart(location)
    except _Unreadable as error:
        raise fault(str(error)) from None


class _Unreadable(Exception):
    """A location that cannot be read; the message shows no part of it."""


def _taken_apart(location: str | Path) -> SqlLocation:
    if isinstance(location, Path) or not re.match(r"[A-Za-z][A-Za-z0-9+_]*:(//|$)", location):
        return SqlLocation("sqlite", "sqlite", str(location))
    scheme, _, rest = location.partition(":")
    rest = rest.removeprefix("//")
    name, _, driver = scheme.lower().partition("+")
    if name not in _FAMILIES:
        raise _Unreadable(f"{name}:// is not a database that mare knows. Known: {', '.join(_FAMILIES)}, duckdb.")
    family, usual = _FAMILIES[name]
    chosen = f"{family}+{driver}" if driver else usual
    if family == "sqlite":
        return SqlLocation(family, "sqlite", unquote(rest.partition("?")[0].removeprefix("/")))
    return _server_location(family, chosen, rest)


def _server_location(family: Family, driver: str, rest: str) -> SqlLocation:
    body, _, query = rest.partition("?")
    # The last @ ends the password: a raw @ or / within it is read as people meant it.
    userinfo, _, address = body.rpartition("@")
    user, colon, password = userinfo.partition(":")
    server, _, database = address.partition("/")
    host, port = _split_port(server)
    options = _options(query)
    secret = options.pop("password", None) or options.pop("passwd", None) or options.pop("pwd", None)
    schemas = tuple(part.strip() for part in options.pop("schema", "").split(",") if part.strip())
    return SqlLocation(
        family=family,
        driver=driver,
        database=unquote(database) or options.pop("dbname", ""),
        host=unquote(host) or options.pop("host", ""),
        port=port if port is not None else _port(options.pop("port", "")),
        user=unquote(user) or options.pop("user", ""),
        schemas=schemas,
        password=unquote(password) if colon else secret,
        options=options,
    )


def _split_port(server: str) -> tuple[str, int | None]:
    host, colon, port = server.rpartition(":")
    if not colon or server.endswith("]"):
        host, port = server, ""
    if not _HOST.fullmatch(unquote(host)) and not unquote(host).startswith("/"):
        raise _Unreadable(f"the database URL cannot be read: what stands for the host is not a host name. {_ENCODE}")
    return host, _port(port)


def _port(text: str) -> int | None:
    if not text:
        return None
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise _Unreadable(f"the database URL cannot be read: what stands for the port is not a number. {_ENCODE}")
    return int(text)


def _options(query: str) -> dict[str, str]:
    try:
        return dict(parse_qsl(query, keep_blank_values=True, strict_parsing=True)) if query else {}
    except ValueError:
        raise _Unreadable(f"the database URL cannot be read: what follows the ? is not name=value. {_ENCODE}") from None
