"""The mark of what mare created: only that may be replaced. Anything else is somebody's, and theirs to drop.

A mark is a table's comment, where a database has such, or a file in a folder. It names the release, and holds a seal over the
table's name and, on a server, its database: a table that was renamed, or made after the likeness of a marked one (by LIKE, or
from a dump that was restored elsewhere), is not mare's any more. It comes with the table itself, in the same transaction or
rename, and no table that was there before ever gets one: who made a table keeps it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from mare.errors import SinkError
from mare.ports import TRUE_ROWS

_MARK = re.compile(r"(?:synthetic, created by mare from release (\w+)|TRUE ROWS .internal, not private.) \(mark ([0-9a-f]{8})\)")
_UNKNOWN = "unknown"


def mark_of(table: str, release: str, where: str = "") -> str:
    """The comment of a table that mare creates. Letters, digits and brackets alone: no engine has to escape it. ``where`` tells
    its database from all others."""
    if release == TRUE_ROWS:
        return f"TRUE ROWS [internal, not private] (mark {_seal(table, TRUE_ROWS, where)})"
    name = release if re.fullmatch(r"\w+", release) else _UNKNOWN
    return f"synthetic, created by mare from release {name} (mark {_seal(table, name, where)})"


def marked(comment: str | None, mark: str) -> str:
    """The comment that the source has for the table, and the mark."""
    return f"{comment} ({mark})" if comment else mark


def is_mark(comment: object, table: str, where: str = "") -> bool:
    """Whether a comment is the mark of the table of this name there."""
    mark = _MARK.search(str(comment or ""))
    return mark is not None and mark[2] == _seal(table, mark[1] or TRUE_ROWS, where)


def has_mark(comment: object) -> bool:
    """Whether a table was once created by mare, whatever it is called now."""
    return _MARK.search(str(comment or "")) is not None


def refuse_unmarked(label: str, tables: Sequence[str], remedy: str = "Drop it yourself, or give another target.") -> None:
    """``tables`` are those that are in the way and were not created by mare."""
    if tables:
        raise SinkError(
            f"{label} already holds {', '.join(tables)}, without the mark of what mare created, and --replace overwrites nothing "
            f"else (what an earlier mare wrote has none either). It was left as it was. {remedy}"
        )


def refuse_others(target: Path, held: Sequence[str], written: Sequence[str], what: str) -> None:
    """A file is replaced as a whole. That must not take anything along that is not written anew."""
    names = {name.casefold() for name in written}
    others = sorted(name for name in held if name.casefold() not in names)
    if others:
        shown = ", ".join(others[:8]) + (f" and {len(others) - 8} more" if len(others) > 8 else "")
        raise SinkError(f"{target} also holds {what} {shown}, which would be lost. It was left as it was: give another path.")


def refuse_what_is_there(target: Path, held: Mapping[str, bool], *, replace: bool) -> None:
    """Nothing is overwritten that nobody said to replace, nor anything that mare did not create: ``held`` tells which it did."""
    foreign = [name for name, ours in held.items() if not ours]
    if held and not replace:
        what = (
            "and mare did not create it. Give another path."
            if foreign
            else "Give another path, or say --replace to overwrite it."
        )
        raise SinkError(f"{target} exists already{',' if foreign else '.'} {what}")
    refuse_unmarked(str(target), foreign, "Remove it yourself, or give another path.")


def _seal(table: str, release: str, where: str) -> str:
    # In one case: a server may fold the names of its tables.
    return hashlib.sha256(f"{release}\0{table.casefold()}\0{where}".encode()).hexdigest()[:8]
