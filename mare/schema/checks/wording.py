"""How the checks speak: what is not there, and what is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from mare.schema.faults import Fault, Path
from mare.schema.layout import Layout
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


def not_unique(layout: Layout, table: str, columns: Sequence[str], path: Path) -> Iterator[Fault]:
    """What is referred to has to name one row: a key, or a set of columns that the schema says is unique."""
    role, here = layout.roles[table], layout.schema.tables[table]
    known = layout.columns(table)
    if role == "ignored" or layout.is_unique(table, columns):
        return
    if role == "public" and here.key is None and not here.unique:
        return  # a public table need not describe its keys
    if role != "public" and not set(columns) <= known.keys():
        return  # told already
    sets = [f"[{', '.join(names)}]" for names in (here.key or (), *here.unique) if names]
    what = f"{', '.join(columns)} does not tell rows of {table} apart, so one row here would refer to several there"
    declare = f"declare it under tables.{table} if it is: `unique: [[{', '.join(columns)}]]`"
    yield Fault(path, what, f"Refer to what is unique there ({listed(sets)}), or {declare}")


def unsettled(path: Path, what: str, remedy: str) -> Fault:
    """An open question: a draft may leave it, a plan may not."""
    return Fault(path, what, remedy, "unsettled")
