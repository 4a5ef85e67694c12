"""Where a database is, source or target, read from a URL or a file name; the one place that holds a password.

People paste passwords with `@`, `/` and `?` into URLs. What cannot be read in one way only is refused without
being shown, because a part of the password may stand where a host, a database or a file is expected.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode

from mare.errors import MareError, SourceError
from mare.secrecy import is_path, may_hold_password, raise_alone, refuse_file_url

from .dialects import Dialect, find_dialect, known_schemes

_PASSWORDS = ("password", "passwd", "pwd")
_SHOWN = ("unix_socket", "service", "sslmode")
"""Options without which the place is another, or is not to be had; none can be a secret."""
_HOST = re.compile(r"[A-Za-z0-9._-]*|\[[0-9A-Fa-f:.%]+\]")
_ENCODE = (
    "Percent-encode special characters in the user, password and database name "
    "(@ is %40, / is %2F, : is %3A, ? is %3F, # is %23, % is %25), or leave the password out "
    "and set PGPASSWORD or a password file."
)


@dataclass(frozen=True)
class SqlLocation:
    """A database's address, taken apart. Its ``repr`` is its ``label``, and neither holds a password."""

    dialect: Dialect
    driver: str
    """SQLAlchemy's name: ``postgresql+psycopg``."""
    database: str
    """A database's name, or the path of a file."""
    host: str = ""
    """A name, an address (an IPv6 one without its brackets), or the folder of a PostgreSQL server's socket."""
    port: int | None = None
    user: str = ""
    schemas: tuple[str, ...] = ()
    """PostgreSQL: the schemas to look at, in place of the search path's."""
    password: str | None = field(default=None, repr=False)
    options: dict[str, str] = field(default_factory=dict, repr=False)
    """Handed to the driver as they are. Most are not shown: a certificate's password may be among them."""

    def __repr__(self) -> str:
        return f"SqlLocation({self.label!r})"

    @property
    def family(self) -> str:
        return self.dialect.name

    @property
    def label(self) -> str:
        """The address for people, who can type it again: all but a password leads to the same place."""
        if self.dialect.is_file:
            return self.database
        name = self.user.partition(":")[0]  # who encodes the : as well has the password in the user's name
        user = f"{quote(name, safe='')}@" if name else ""
        folder = self.host if self.host.startswith("/") else ""
        address = self.server.removeprefix(folder)
        shown = {"host": folder} | {name: self.options.get(name, "") for name in _SHOWN} | {"schema": ",".join(self.schemas)}
        query = urlencode({name: value for name, value in shown.items() if value}, quote_via=quote, safe="/,")
        return f"{self.family}://{user}{address}/{quote(self.database, safe='')}{'?' * bool(query)}{query}"

    @property
    def server(self) -> str:
        """``host:port``, as far as they were given."""
        host = f"[{quote(self.host, safe=':')}]" if ":" in self.host else self.host
        return f"{host}:{self.port}" if self.port is not None else host


def sql_location(location: str | Path, fault: type[MareError] = SourceError, dialect: Dialect | None = None) -> SqlLocation:
    """Take a URL or the name of a database file apart. ``fault`` is raised where that cannot be done.

    Without a ``dialect`` the URL's scheme says whose it is, and a file is SQLite's.
    """
    try:
        return _taken_apart(location, dialect)
    except _Unreadable as error:
        raise_alone(fault(str(error)))


def duckdb_path(location: str | Path, fault: type[MareError] = SourceError) -> str:
    """The path of a DuckDB file, from ``duckdb:///path`` or from the path itself."""
    try:
        return _file(location, "duckdb")
    except _Unreadable as error:
        raise_alone(fault(str(error)))


class _Unreadable(Exception):
    """A location that cannot be read; the message shows no part of it."""


def _taken_apart(location: str | Path, dialect: Dialect | None) -> SqlLocation:
    is_url = isinstance(location, str) and re.match(r"[A-Za-z][A-Za-z0-9+_]*:(//|$)", location)
    scheme, _, rest = str(location).partition(":") if is_url else ("sqlite", "", "")
    name, _, driver = scheme.lower().partition("+")
    dialect = dialect or find_dialect(name)
    if dialect is None:
        raise _Unreadable(f"{name}:// is not a database that mare knows. Known: {', '.join(known_schemes())}, duckdb.")
    if dialect.is_file:
        return SqlLocation(dialect, dialect.driver, _file(location, scheme))
    chosen = f"{dialect.driver.partition('+')[0]}+{driver}" if driver else dialect.driver
    return _server_location(dialect, chosen, rest.removeprefix("//"))


def _file(location: str | Path, scheme: str) -> str:
    text = str(location)
    begins = f"{scheme}:"
    if isinstance(location, str) and text.lower().startswith(begins.lower()):
        body = text[len(begins) :].removeprefix("//").partition("?")[0]
        if re.search("[@:]", body.partition("/")[0]):
            raise _Unreadable(f"the URL of a file cannot be read: a file has no user, password or host. Write {begins}///path.")
        text = unquote(body.removeprefix("/"))
    refuse_file_url(text, _Unreadable)
    if not is_path(text):
        raise _Unreadable(f"the location is no path of a file that is there, and may hold a password: it is not shown. {_ENCODE}")
    return text


def _server_location(dialect: Dialect, driver: str, rest: str) -> SqlLocation:
    # The first /, ? or # ends user, password and server, and the last @ before that the password. An @ after that may belong
    # to a password with a / or ? in it, of which half would be taken for a host, or to an option: that cannot be told.
    server = re.split("[/?#]", rest, maxsplit=1)[0]
    path, _, query = rest[len(server) :].partition("?")
    if "@" in rest[len(server) :]:
        raise _Unreadable(f"the database URL cannot be read: an @ follows a /, ? or #. {_ENCODE}")
    if re.search("[=;&#]", path):
        raise _Unreadable(f"the database URL cannot be read: its database part is not a name. {_ENCODE}")
    userinfo, _, address = server.rpartition("@")
    user, colon, password = userinfo.partition(":")
    host, port = _split_port(address)
    database = path.removeprefix("/")
    options = _options(query)
    secret = next((value for name in _PASSWORDS if (value := options.pop(name, None))), None)
    schemas = tuple(part.strip() for part in options.pop("schema", "").split(",") if part.strip())
    for name in (*(options.get(name, "") for name in ("host", "dbname", *_SHOWN)), *schemas):
        if may_hold_password(name) or ";" in name:
            raise _Unreadable(f"the database URL cannot be read: host, dbname, schema and the socket are names. {_ENCODE}")
    return SqlLocation(
        dialect=dialect,
        driver=driver,
        database=unquote(database) or options.pop("dbname", ""),
        host=unquote(host).strip("[]") or options.pop("host", ""),
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
        raise _Unreadable(f"the database URL cannot be read: its host part is not a host name. {_ENCODE}")
    return host, _port(port)


def _port(text: str) -> int | None:
    if not text:
        return None
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise _Unreadable(f"the database URL cannot be read: its port part is not a number. {_ENCODE}")
    return int(text)


def _options(query: str) -> dict[str, str]:
    try:
        return dict(parse_qsl(query, keep_blank_values=True, strict_parsing=True)) if query else {}
    except ValueError:
        # The first error shows the part that it could not read.
        raise_alone(_Unreadable(f"the database URL cannot be read: what follows the ? is not name=value. {_ENCODE}"))
