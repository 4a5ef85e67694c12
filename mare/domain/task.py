"""`Task`: what one tabular model is asked to do, in terms of domains only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from .codes import Codes
from .domain import Domain
from .estimate import Estimate

OptionValue = bool | int | float | str | None


@dataclass(frozen=True)
class Task:
    """Model these columns given that history. A model never learns which table it works for beyond a label."""

    group: str
    """Label of the column group, for the ledger and for progress: ``admissions.rows``."""
    columns: Domain
    """What the model generates."""
    history: Domain
    """What it may look at: already generated when the model samples."""
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    """The model's own options from the schema, already validated against the registry."""
    lags: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """History that is an earlier row of this very group: its name → (which column, how many rows back)."""

    counts: frozenset[str] = frozenset()
    """Columns that say how many rows there will be: what is wrong in their tail is wrong many times over."""

    rows: Estimate | None = None
    """How many rows there are, where that is known already: as many as there are entities, whose number was paid for."""

    rehearsed: Codes | None = None
    """History as earlier models draw it, in any number of rows, where that is known already: some columns of it, or all."""

    @cached_property
    def domain(self) -> Domain:
        return self.history.merge(self.columns)
