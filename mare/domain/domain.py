"""`Domain`: named discrete columns and how many codes each has. `Task`: what one model is asked to do, in terms of these only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

from .codes import Codes
from .noisy import Estimate


@dataclass(frozen=True)
class Domain:
    """An ordered set of coded columns. Code ``i`` of a column means whatever its codec says; here it is 0 … size-1."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.names) != len(self.sizes):
            raise ValueError(f"{len(self.names)} names but {len(self.sizes)} sizes")
        if len(set(self.names)) != len(self.names):
            raise ValueError(f"a name occurs twice in {self.names}")
        for name, size in zip(self.names, self.sizes, strict=True):
            if size < 1:
                raise ValueError(f"column {name!r} has an empty domain (size {size})")

    @classmethod
    def of(cls, sizes: Iterable[tuple[str, int]]) -> Domain:
        pairs = tuple(sizes)
        return cls(tuple(n for n, _ in pairs), tuple(s for _, s in pairs))

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    @cached_property
    def _by_name(self) -> dict[str, int]:
        return dict(zip(self.names, self.sizes, strict=True))

    def size(self, name: str) -> int:
        return self._by_name[name]

    def cells(self, names: Iterable[str] | None = None) -> int:
        """How many cells a full cross-tab of these columns has. For models of one's own."""
        return prod(self.sizes if names is None else (self.size(n) for n in names))

    def merge(self, other: Domain) -> Domain:
        """The columns of both; a name that both have must have one size."""
        merged = dict(self._by_name)
        for name, size in zip(other.names, other.sizes, strict=True):
            if merged.setdefault(name, size) != size:
                raise ValueError(f"column {name!r} has size {merged[name]} on one side and {size} on the other")
        return Domain.of(merged.items())


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

    told_by: Mapping[str, float] = field(default_factory=dict)
    """By name, of a column or of history: how many rows there are of what it belongs to, noisy. A thousand transfers that share
    twelve admissions tell little of what an admission's type does to a transfer, and much of what a transfer's unit does."""

    length: float | None = None
    """How many rows a sequence has on average, noisy, where rows are sequences and that is known."""

    children: Estimate | None = None
    """How many rows there will be on average, where that was measured apart from the columns that say so."""

    doubtful: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """By column, codes that nobody has said to occur, as NULL: where one does not stand clear of the noise, it does not
    (`without_unclear`)."""

    alike: tuple[tuple[str, ...], ...] = ()
    """Columns that say the same of different keys (`exists(drug_id)#0`, `#1` …): what one depends on, the others do too."""

    begins: frozenset[str] = frozenset()
    """Columns whose code in the first row of a sequence is always the same, and in no other row: what tells the two apart tells
    nothing else."""

    near: Mapping[str, str] = field(default_factory=dict)
    """Numbers that are known to be close to another one of their row, or to their own in the row before (a name in the history):
    what is rare in a sequence would be drawn without it, and what goes together would drift apart."""

    @cached_property
    def domain(self) -> Domain:
        return self.history.merge(self.columns)
