"""What is never told: a location that may hold a password, and the foreign error behind one of ours.

People type passwords where none is expected: `host=h password=…` where a file is meant, `jdbc:…`, a URL with a slash too few,
a database's URL in the place of the schema. So a text is told as a path only where it can be nothing else; every message
with a location in it goes through here, or through the adapters' reader of URLs, which keeps the password to itself.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NoReturn

from mare.errors import MareError

NOT_SHOWN = "the location (not shown, it may hold a password)"

_TELLING = re.compile(r"[@=]|://|\w{2,}:/")
"""Signs of a URL or of a connection string; the last is a URL of which `Path`, or a slip, has taken a slash."""


def may_hold_password(text: str) -> bool:
    """Whether a text looks like a URL, or like name=value, rather than like a path."""
    return _TELLING.search(text) is not None


def is_path(location: str | Path) -> bool:
    """Whether this can be nothing but a path: nothing in it says otherwise, or what says so is there as a file or a folder."""
    path = Path(location)
    if not may_hold_password(str(location)) or is_there(path):
        return True
    return not may_hold_password(path.name) and is_there(path.parent)


def is_there(path: Path) -> bool:
    """Like `Path.exists`, but what no path can be (a name that is too long) is not there; no error shows the name."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def shown(location: str | Path) -> str:
    """A path as a message may hold it; of anything that may be more than a path, nothing."""
    return str(location) if is_path(location) else NOT_SHOWN


def require_path(location: str | Path, fault: type[MareError], what: str) -> None:
    """Refuse what may be a URL or a connection string where the name of a file or folder belongs."""
    if not is_path(location):
        raise fault(f"{NOT_SHOWN} is not taken for {what}. Give a name without @, = and ://.")


def refuse_file_url(location: str, fault: type[Exception]) -> None:
    """A `file:` URL has its own rules for slashes, hosts and options. Taken for a name, it would make a file of that name."""
    if location.lower().startswith("file:"):
        raise fault("a file: URL is not read. Give the path itself, as in dir/name.sqlite (./file:… where a file is called so).")


def raise_alone(fault: Exception) -> NoReturn:
    """Raise without the error that is being handled: not even as the ``__context__``, where a driver's text would live on."""
    try:
        raise fault from None
    finally:
        fault.__context__ = None
