"""`Fault`: one thing that is wrong with a schema, said so that a person can mend it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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


def describe(faults: Sequence[Fault], of: str) -> str:
    """All faults as one message, in the order of the file. What to do about several is said with the first of them."""
    ordered = sorted(faults, key=lambda f: (f.line is None, f.line or 0))
    noun = "fault" if len(faults) == 1 else "faults"
    told = {fault.remedy: fault for fault in reversed(ordered)}
    lines = [str(fault) if told[fault.remedy] is fault else f"{fault.where}: {fault.what}" for fault in ordered]
    return "\n".join([f"{of}: {len(faults)} {noun}", *(f"  - {line}" for line in lines)])
