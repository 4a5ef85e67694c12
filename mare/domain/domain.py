"""`Domain`: named discrete columns and how many codes each has. `Codes`: rows of them as small integers. `Axis`, `Marginal` and
`Coarsening`: what may be counted, said without any data. `Task`: what one model is asked to do, in terms of these only.

A coarsening comes from the settled plan (a hierarchy of codes, neighbouring bins taken together), never from the data, so the
size of every axis is public. Level 0 is the column as it is coded; level k is the k-th coarsening of that column, each one told
on the codes of level 0.

`remaining_codes`: how many rows of a sequence are still to come, each of the last few rows on its own, then by doublings. A row
in the middle of fifty has to know that it is not the fourth from the end: what happens next takes a fiftieth of the time that is
left, not a fourth of it. In a short sequence codes that hardly any row has would only cost noise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from .noisy import ChildrenInCells, Estimate

CodeArray = NDArray[np.unsignedinteger]


def smallest_dtype(size: int) -> np.dtype[np.unsignedinteger]:
    """The narrowest unsigned type that holds the codes 0 … size-1."""
    for kind in (np.uint8, np.uint16, np.uint32, np.uint64):
        if size - 1 <= np.iinfo(kind).max:
            return np.dtype(kind)
    raise ValueError(f"a domain of {size} codes does not fit 64 bits")


@dataclass(frozen=True, eq=False)
class Codes:
    """A batch of coded rows. Columns share one length; the arrays are not to be written to."""

    rows: int
    columns: Mapping[str, CodeArray]

    def __post_init__(self) -> None:
        for name, values in self.columns.items():
            if len(values) != self.rows:
                raise ValueError(f"column {name!r} has {len(values)} rows, not {self.rows}")
        object.__setattr__(self, "columns", MappingProxyType(dict(self.columns)))

    def __getitem__(self, name: str) -> CodeArray:
        return self.columns[name]

    def with_columns(self, more: Mapping[str, CodeArray]) -> Codes:
        """The same rows with more columns: for models of one's own, which draw a column after those that it looks at
        (`examples/own_model`)."""
        return Codes(self.rows, {**self.columns, **more})

    def take(self, index: NDArray[np.integer]) -> Codes:
        """The rows at these positions: how a parent's columns reach its children (a gather)."""
        return Codes(len(index), {name: values[index] for name, values in self.columns.items()})


EACH = 4
"""The last row, the one before it, and so on: so many have a code of their own (recipe, step 9)."""
USUAL = 2.0
"""Up to so many times the usual length of a sequence rows to come are told apart."""


def remaining_size(most: float) -> int:
    """How many codes tell apart 0 … ``most`` rows to come."""
    return int(np.searchsorted(_BEGINS, most, side="right")) + 1


def usual_size(mean_length: float) -> int:
    """How many codes sequences of this length on average (noisy: post-processing) are worth."""
    return max(EACH + 1, remaining_size(USUAL * mean_length))


def remaining_codes(rows: NDArray[np.integer], size: int) -> NDArray[np.intp]:
    """The codes of so many rows to come; the last code holds all that is more."""
    return np.minimum(np.searchsorted(_BEGINS, rows, side="right"), size - 1)


_BEGINS = np.array([*range(1, EACH), *(EACH << doubling for doubling in range(40))], dtype=np.int64)
"""Where every code but the first begins: 1, 2, 3, 4, 8, 16, …"""


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

    children_in_cells: ChildrenInCells | None = None
    """Which part of all will have how many rows, where that was measured apart too."""

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

    adds_up: Mapping[str, str] = field(default_factory=dict)
    """History that says how far a sequence has come, where nearly all of it is what one column adds up to row by row, and which
    column. What a model gets a little wrong in each row is wrong forty times over there, so that what is drawn from it is drawn
    from other values than it was measured with."""

    @cached_property
    def domain(self) -> Domain:
        return self.history.merge(self.columns)


@dataclass(frozen=True, order=True)
class Axis:
    """One axis of a cross-tab over the rows of a view.

    ``column`` is a name of the view's domain. A history column is an axis like any other: the view joins it
    upwards (n:1), so no row is counted twice.
    """

    column: str
    lag: int = 0
    """0 is the row itself; k is the row k steps earlier in the same sequence. Where no such row is, the code is one more
    than the column has: the last."""
    level: int = 0
    """0 is the column as coded; k is its k-th public coarsening."""
    same_as_lag: int = 0
    """When positive the axis is the row-local predicate "equal to its own value that many rows earlier": 0 different,
    1 the same, 2 one of the two rows is not there."""
    new_since: int = 0
    """When positive the axis is the value where it is new: where the row that many earlier has another one, or is not there.
    Where that row has the same, the code is one more than the column has: the last."""

    def __post_init__(self) -> None:
        if min(self.lag, self.level, self.same_as_lag, self.new_since) < 0:
            raise ValueError(f"axis {self.column!r}: lag, level, same_as_lag and new_since are never negative")
        if self.new_since and (self.lag or self.same_as_lag):
            raise ValueError(f"axis {self.column!r}: what is new is told of the row itself, without lag and same_as_lag")


@dataclass(frozen=True)
class Marginal:
    """A cross-tab of one or more axes, in this order."""

    axes: tuple[Axis, ...]

    def __post_init__(self) -> None:
        if len(set(self.axes)) != len(self.axes):
            raise ValueError(f"an axis occurs twice in {self.axes}")

    @classmethod
    def of(cls, *columns: str) -> Marginal:
        """The plain case: columns of the row itself, uncoarsened."""
        return cls(tuple(Axis(c) for c in columns))


@dataclass(frozen=True, eq=False)
class Coarsening:
    """Code ``i`` of the column becomes ``codes[i]``, one of 0 … size-1."""

    codes: NDArray[np.int64]
    size: int

    def __post_init__(self) -> None:
        codes = np.array(self.codes, dtype=np.int64)
        if codes.ndim != 1 or not len(codes):
            raise ValueError("a coarsening lists one coarse code for each code of its column")
        if self.size < 1 or codes.min() < 0 or codes.max() >= self.size:
            raise ValueError(f"a coarse code is outside 0 … {self.size - 1}")
        codes.setflags(write=False)
        object.__setattr__(self, "codes", codes)


Coarsenings = Mapping[str, tuple[Coarsening, ...]]
"""Per column, its levels from 1 on. A column that is not there has level 0 only."""

SAME, DIFFERENT, NO_ROW = 1, 0, 2
"""The codes of a `same_as_lag` axis: equal, not equal, and "one of the two rows is not there"."""


def axis_size(axis: Axis, domain: Domain, coarsenings: Coarsenings) -> int:
    """How many codes an axis has: public, whatever the data.

    A lagged axis has one code more, the last: "there is no such row"; so has a `new_since` axis: "the same as before". A
    `same_as_lag` axis has three. Raises `ValueError`
    for a column or a level that is not there.
    """
    if axis.column not in domain:
        raise ValueError(f"no column {axis.column!r}. Its columns: {', '.join(domain)}")
    levels = coarsenings.get(axis.column, ())
    if axis.level > len(levels):
        raise ValueError(f"no level {axis.level} of column {axis.column!r}. Its levels: 0 to {len(levels)}")
    if axis.same_as_lag:
        return 3
    size = levels[axis.level - 1].size if axis.level else domain.size(axis.column)
    return size + (axis.lag > 0 or axis.new_since > 0)
