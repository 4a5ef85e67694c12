"""How faults speak: what is not there, what is, and what was probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from .faults import Fault, Path

CUT_DOWN = "`mare init SOURCE --like SCHEMA` writes a schema cut down to what the source has"


def closest(word: str, allowed: Iterable[str]) -> str | None:
    """The allowed word that was probably meant."""
    folded = {name.casefold(): name for name in allowed}
    close = get_close_matches(word.casefold(), folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else None


def did_you_mean(word: str, allowed: Iterable[str]) -> str:
    """` Did you mean `x`?`, or nothing."""
    guess = closest(word, allowed)
    return f"Did you mean `{guess}`? " if guess else ""


def listed(names: Iterable[str], most: int = 20) -> str:
    """`a, b, c`, or `none`."""
    known = list(names)
    more = f" and {len(known) - most} more" if len(known) > most else ""
    return (", ".join(known[:most]) + more) if known else "none"


def no_table(path: Path, name: str, allowed: Iterable[str], which: str = "tables") -> Fault:
    """A table that the schema does not describe."""
    known = list(allowed)
    return Fault(path, f"there is no table {name}", f"{did_you_mean(name, known)}The {which} here: {listed(known)}")


def no_column(path: Path, name: str, table: str, allowed: Iterable[str], also: str = "") -> Fault:
    """A column that the table does not have."""
    known = list(allowed)
    remedy = f"{did_you_mean(name, known)}Describe it under tables.{table}.columns, or name another: {listed(known)}{also}"
    return Fault(path, f"table {table} has no column {name}", remedy)


def unsettled(path: Path, what: str, remedy: str) -> Fault:
    """An open question: a draft may leave it, a plan may not."""
    return Fault(path, what, remedy, "unsettled")
