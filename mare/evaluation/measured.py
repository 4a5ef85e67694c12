"""What is measured of a synthetic database beside the real one, figure by figure, as frozen values.

Each figure is given for several sets of rows, all held against the same real rows:

- ``synthetic``: what is judged;
- ``holdout``: other real entities, where some were kept apart: what a perfect synthesizer would score;
- ``shuffled``: the real columns, each in an order of its own: every column right, no two of them together (for pairs what
  shuffling gives on average, worked out from the single columns);
- ``independent``: as many rows drawn from that: the same, with the chance of a draw. Of pairs alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

SetName = Literal["real", "synthetic", "holdout", "shuffled", "independent"]
BySet = Mapping[SetName, float]
CountsBySet = Mapping[SetName, NDArray[np.int64]]
PairKind = Literal["row", "ancestor", "previous", "sibling", "linked"]
"""Two columns of a row; one of a row and one of a row above it; one of a row and one of a sibling before it; one of a row and one
of any other row of its parent, where rows stand in no sequence; one of a row and one of the row that it refers to, or two of the
last rows that one parent has in two tables."""
FEWEST_ROWS = 50
"""Real rows that say something of how good synthetic ones are: with fewer of them, chance rules the distances."""
ANY_OTHER = -1
"""Rows back: not so many before, but any other row of the same parent."""
FeatureKind = Literal["number", "category"]
ColumnPart = Literal["row", "linked", "calendar"]
BrokenKind = Literal["reference", "key", "null", "domain", "order", "same", "cap", "ending", "unseen", "beyond", "law"]
AGAINST_REAL: tuple[BrokenKind, ...] = ("unseen", "beyond", "law")
"""What the schema does not forbid."""

KINDS: dict[PairKind, str] = {
    "row": "within a row",
    "ancestor": "with rows above",
    "previous": "with previous rows",
    "sibling": "with other rows of the same parent",
    "linked": "of siblings and references",
}


@dataclass(frozen=True)
class ColumnFidelity:
    """One column, or what follows from some (`ends since begins`, `number of stays`), in bins that the real rows decide."""

    table: str
    name: str
    kind: FeatureKind
    paired: bool
    """Whether it takes part in pairs. A point in time does not: what it is since does."""
    labels: tuple[str, ...]
    """Of the bins; the last are `other` (categories alone) and `NULL`."""
    counts: CountsBySet
    """Rows in each bin."""
    tvd: BySet
    """Total variation distance: what share of rows would have to move."""
    shape: BySet
    """1 - the Kolmogorov-Smirnov distance of numbers, 1 - TVD of categories over all their values; NULL left out, as SDMetrics
    does."""
    chance: float = 0.0
    """The `distance` to expect of as many rows, drawn one by one where the real ones come from."""
    part: ColumnPart = "row"
    """Of the row itself; of a row that it refers to, or the last of a parent's; the hour, weekday or month of a point in time."""
    card: str = ""
    """What the release's card says of it, without having seen a row: trust, coarse or do not use."""
    rare: BySet = field(default_factory=dict)
    """Of categories with more values than bins: the TVD with a bin for each that five real rows have."""
    different: BySet = field(default_factory=dict)
    """Of these, how many different values there are; `shuffled` is what to expect of as many rows as are synthetic."""

    @property
    def distance(self) -> BySet:
        """What it is judged by: values that are rare are no more alike than common ones."""
        return self.rare or self.tvd


@dataclass(frozen=True)
class Closeness:
    """How close the cross-tab of two columns comes to the real one."""

    tvd: float
    """Total variation distance of the two tables."""
    intersection: float
    """Of the two histograms: 1 - TVD."""
    kl: float
    """1 / (1 + Kullback-Leibler divergence from the real table): 1 is the same."""
    v: float
    """Cramér's V of this set's own table."""
    chance: float
    """The TVD to expect of rows as good as the real ones, so many and drawn one by one: small tables differ by chance."""


@dataclass(frozen=True)
class PairFidelity:
    """Two columns together."""

    table: str
    column: str
    other_table: str
    other: str
    kind: PairKind
    back: int
    """How many rows before; 0 unless ``kind`` is `previous`; -1 of a `sibling`: any other row of the same parent."""
    v: float
    """Cramér's V of the real table: how much the two have to do with each other."""
    closeness: Mapping[SetName, Closeness]
    correlation: BySet | None = None
    """Of two numbers of a row: Pearson's, of the real rows too. None where one does not vary."""
    counts: CountsBySet | None = field(default=None, repr=False)
    """The cross-tabs themselves (`column` down, `other` across, bins as in `ColumnFidelity`), real and synthetic; None of pairs
    beyond `evaluate`'s limit. Not in the JSON."""

    @property
    def excess(self) -> float:
        """How much further from the real rows than other real rows are: those of the hold-out, else by chance."""
        close = self.closeness["synthetic"]
        return close.tvd - (self.closeness["holdout"].tvd if "holdout" in self.closeness else close.chance)

    @property
    def name(self) -> str:
        words = {ANY_OTHER: " of another row of the same parent", 0: "", 1: " of the row before", 2: " of the row before that"}
        before = words.get(self.back, f" {self.back} rows before")
        other = self.other if self.other_table == self.table else f"{self.other_table}.{self.other}"
        return f"{self.table}.{self.column} and {other}{before}"


@dataclass(frozen=True)
class PairMeans:
    """Means over all pairs of a kind: over the pairs of each table, then over tables."""

    tvd: float
    intersection: float
    kl: float
    v: float
    v_real: float
    v_error: float
    """Mean absolute error of Cramér's V."""
    chance: float
    pairs: int


@dataclass(frozen=True)
class Lengths:
    """How many rows of a table belong to one row above, or to one entity."""

    table: str
    per: str
    """The table above; `entity` for all rows of an entity."""
    labels: tuple[str, ...]
    counts: CountsBySet
    """Parents by their number of children."""
    tvd: BySet
    shape: BySet
    """1 - the Kolmogorov-Smirnov distance of the numbers themselves."""
    mean: BySet
    none: BySet
    """The share that has none."""
    most: BySet


@dataclass(frozen=True)
class Stickiness:
    """One column along its sequences, or among the rows of one parent."""

    table: str
    column: str
    same: BySet
    """How often a row has the same bin as the row before it."""
    first_tvd: BySet
    """Of the first rows of sequences."""
    last_tvd: BySet
    siblings: bool = False
    """The rows stand in no sequence: any other row of the same parent is the one before, and none is the first or the last."""


@dataclass(frozen=True)
class Transitions:
    """From the value of one row to that of the next, in the main event column of a sequence."""

    table: str
    column: str
    labels: tuple[str, ...]
    counts: CountsBySet
    """From (down) to (across)."""
    tvd: BySet


@dataclass(frozen=True)
class Survival:
    """From the first row of a sequence to the first row with an event: Kaplan-Meier curves."""

    event: str
    unit: str
    """`days`, or the unit of the column that orders the sequence."""
    times: NDArray[np.float64]
    curves: Mapping[SetName, NDArray[np.float64]]
    """The share without the event so far, at these times."""
    at_risk: CountsBySet
    """Sequences that the curve starts with, and how many of them met the event."""
    distance: BySet
    """The largest vertical distance from the real curve."""


@dataclass(frozen=True)
class Trajectories:
    """Whole sequences of the main event column."""

    table: str
    column: str
    ngrams: Mapping[str, BySet]
    """TVD of runs of 1, 2, 3 and 4 events, begin and end of the sequence among them: by length."""
    paths: tuple[tuple[str, BySet], ...]
    """The most common whole sequences of the real rows, with their shares."""
    whole: BySet
    """TVD of whole sequences. Long ones hardly ever occur twice, so also a hold-out is far away."""
    survival: tuple[Survival, ...]


@dataclass(frozen=True)
class Together:
    """Which keys of an associative table one parent has together."""

    table: str
    labels: tuple[str, ...]
    """The most common keys."""
    shares: Mapping[SetName, NDArray[np.float64]]
    """Of all parents, the share that has both keys; on the diagonal, the one."""
    error: BySet
    """Mean absolute error of these shares, off the diagonal."""
    relative: BySet
    """The same in parts of the real shares' sum: 0 is exact, 1 is as far as having nothing together."""


@dataclass(frozen=True)
class Broken:
    """Something that should hold of every row, and how often it does not."""

    kind: BrokenKind
    """It leads nowhere; it is there twice; NULL where none may be; none of the declared values; before what it comes after;
    different where one value is shared; more rows than may be; rows after the last. Against the real rows, not the schema: a
    value that no real row has; a number beyond all real ones; what (nearly) no real row does."""
    where: str
    what: str
    """In words."""
    rows: Mapping[SetName, int]
    of: Mapping[SetName, int]

    def share(self, name: SetName) -> float:
        return self.rows.get(name, 0) / max(1, self.of.get(name, 0))


@dataclass(frozen=True)
class Copies:
    """Rows that equal a real row in all columns that are no keys; for a table of at least three of them."""

    table: str
    columns: int
    share: BySet


@dataclass(frozen=True)
class Answer:
    """A question of one's own, asked on both sides."""

    name: str
    sql: str
    columns: tuple[str, ...]
    real: tuple[tuple[object, ...], ...]
    synthetic: tuple[tuple[object, ...], ...]
    """Rows; the first ones of long answers."""
    rows: Mapping[SetName, int]
    error: float | None
    """Of the numbers: Σ|real - synthetic| / Σ|real|, rows matched by their other columns. None where nothing can be compared."""
    fault: str = ""
    """Why it could not be answered."""
    holdout: tuple[tuple[object, ...], ...] = ()
    holdout_error: float | None = None
    """As ``error``, of the hold-out, as it is or as if it had as many entities, whichever is closer."""
    lacking: tuple[str, ...] = ()
    """Groups that the real answer has, and the synthetic one does not."""
    invented: tuple[str, ...] = ()
    """And the other way round."""

    @property
    def apart(self) -> str:
        """How far apart the answers are."""
        if self.fault:
            return self.fault
        odd = {"missing": self.lacking, "that the real rows do not have": self.invented}
        groups = "".join(
            f"; {len(named):,} {'groups' if len(named) > 1 else 'group'} {words} ({_some(named)})"
            for words, named in odd.items()
            if named
        )
        if self.error is not None:
            beside = "" if self.holdout_error is None else f" (other real rows: {self.holdout_error:.1%})"
            return f"off by {self.error:.1%}{beside}{groups}"
        if groups:
            return groups.removeprefix("; ")
        real, made = (any(isinstance(v, int | float) and v for row in rows for v in row) for rows in (self.real, self.synthetic))
        return "none in the real rows, some here" if made and not real else "nothing to compare"


def _some(names: tuple[str, ...]) -> str:
    return ", ".join((*names[:3], "…") if len(names) > 3 else names)


@dataclass(frozen=True)
class Happening:
    """One row of one synthetic entity."""

    table: str
    begins: float | None
    """Days since the entity's first row with a time; None where neither the row nor one above it has one."""
    ends: float | None
    values: Mapping[str, str]


@dataclass(frozen=True)
class Timeline:
    """One synthetic entity, who is nobody, with all its rows."""

    values: Mapping[str, str]
    """Of the entity itself."""
    happenings: tuple[Happening, ...]
    rows: int
    """How many there are; the first ones are in ``happenings``."""


@dataclass(frozen=True)
class Note:
    """Something that could not be read or compared, of all that it is true of."""

    whose: str
    """The sides, in words."""
    what: str
    names: tuple[str, ...]
    """Tables and columns."""

    def line(self, most: int | None = None) -> str:
        """In a line, with so many names."""
        shown = self.names if most is None or len(self.names) <= most + 1 else self.names[:most]
        more = f" and {len(self.names) - len(shown):,} more" if len(shown) < len(self.names) else ""
        return f"{self.whose}: {self.what}: {', '.join(shown)}{more}"
