"""`Fault`: one thing that is wrong with a schema, said so that a person can mend it; and how faults speak."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Literal

Path = tuple[str | int, ...]
"""Where in the schema: ``("tables", "admissions", "parent", "order_by")``."""


@dataclass(frozen=True)
class Fault:
    """What is wrong, where, and what to write instead."""

    path: Path
    what: str
    """What is wrong."""
    remedy: str
    """What is allowed and what to write."""
    severity: Literal["error", "unsettled", "info"] = "error"
    """``error``: the schema contradicts itself and does not load. ``unsettled``: a draft, it loads but cannot be planned.
    ``info``: worth knowing, it loads and can be planned (what a source says, what was peeked)."""
    line: int | None = None
    """Line of the YAML file, from 1."""

    def at(self, line: int | None) -> Fault:
        return replace(self, line=line)

    @property
    def where(self) -> str:
        dotted = ".".join(str(p) for p in self.path) or "schema"
        return dotted if self.line is None else f"line {self.line}, {dotted}"

    def __str__(self) -> str:
        return f"{self.where}: {self.what}. {self.remedy}"

    def to_json(self) -> dict[str, object]:
        return {"line": self.line, "path": list(self.path), "what": self.what, "remedy": self.remedy}


def describe(faults: Sequence[Fault], of: str) -> str:
    """All faults as one message, in the order of the file. What to do about several is said with the first of them."""
    ordered = sorted(faults, key=lambda f: (f.line is None, f.line or 0))
    noun = "fault" if len(faults) == 1 else "faults"
    first = {fault.remedy: fault for fault in reversed(ordered)}
    lines = [str(fault) if first[fault.remedy] is fault else f"{fault.where}: {fault.what}" for fault in ordered]
    return "\n".join([f"{of}: {len(faults)} {noun}", *(f"  - {line}" for line in lines)])


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
