"""How the checks speak: what is not there, and what is."""

from __future__ import annotations

from collections.abc import Iterable

from mare.schema.faults import Fault, Path
from mare.schema.structure import did_you_mean


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
