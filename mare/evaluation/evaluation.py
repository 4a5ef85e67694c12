"""`Evaluation`: everything that holding a synthetic database against a real one told. Internal, not private.

`to_json` gives the whole of it as plain values; the single figures are in `measured`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Protocol

import numpy as np

from mare.schema import Schema

from .measured import (
    AGAINST_REAL,
    FEWEST_ROWS,
    Answer,
    Broken,
    BrokenKind,
    BySet,
    ColumnFidelity,
    Copies,
    Lengths,
    Note,
    PairFidelity,
    PairKind,
    PairMeans,
    SetName,
    Stickiness,
    Timeline,
    Together,
    Trajectories,
    Transitions,
)

INTERNAL = "internal, not private: not to be handed over with a release"


class Part(Protocol):
    """What further rooms have to say (utility, risk, audit)."""

    def to_json(self) -> Mapping[str, object]: ...

    def words(self) -> Iterator[str]:
        """A few lines for a terminal."""
        ...


@dataclass(frozen=True)
class Evaluation:
    """All of it. Internal, not private."""

    name: str
    labels: Mapping[SetName, str]
    """Where the sides were read."""
    entities: Mapping[SetName, int]
    rows: Mapping[str, Mapping[SetName, int]]
    warnings: tuple[str, ...]
    """What makes the figures mean less, or something else: said first, and loudly."""
    notes: tuple[Note, ...]
    """What could not be read or compared, a line for each kind."""
    means: Mapping[SetName, Mapping[PairKind, PairMeans]]
    one_way: BySet
    """Mean TVD of single columns."""
    columns: tuple[ColumnFidelity, ...]
    pairs: tuple[PairFidelity, ...]
    lengths: tuple[Lengths, ...]
    stickiness: tuple[Stickiness, ...]
    transitions: tuple[Transitions, ...]
    trajectories: tuple[Trajectories, ...]
    together: tuple[Together, ...]
    broken: tuple[Broken, ...]
    copies: tuple[Copies, ...]
    copied_entities: Mapping[SetName, int]
    """Entities of which every row in every table equals those of a real one. Only of entities with at least three rows."""
    looked_at: Mapping[BrokenKind, int] = field(default_factory=dict)
    """How many rules of each kind the rows were held against."""
    answers: tuple[Answer, ...] = ()
    timelines: tuple[Timeline, ...] = ()
    schema: Schema | None = field(default=None, repr=False)
    """What the rows follow. Not in the JSON."""
    parts: Mapping[str, Part] = field(default_factory=dict)

    @property
    def sets(self) -> tuple[SetName, ...]:
        """The sets that are held against the real rows."""
        return tuple(self.means)

    @property
    def small(self) -> frozenset[str]:
        """Tables that have no part in means and lists of what is worst."""
        return small_tables({table: rows["real"] for table, rows in self.rows.items()})

    def worst_pairs(self, number: int = 10, kind: PairKind | None = None) -> tuple[PairFidelity, ...]:
        """Those furthest from the real rows, in excess of what other real rows are."""
        small = self.small
        listed = (pair for pair in self.pairs if kind in (None, pair.kind) and pair.table not in small)
        return tuple(sorted(listed, key=lambda pair: -pair.excess)[:number])

    def telling_pairs(self, number: int) -> tuple[PairFidelity, ...]:
        """The worst of them, no column in more than two: one that is off is off in all its pairs."""
        pairs, times = list[PairFidelity](), Counter[tuple[str, str]]()
        for pair in self.worst_pairs(len(self.pairs)):
            both = {(pair.table, pair.column), (pair.other_table, pair.other)}
            if len(pairs) < number and all(times[column] < 2 for column in both):
                pairs.append(pair)
                times.update(both)
        return tuple(pairs)

    def worst_columns(self, number: int = 10) -> tuple[ColumnFidelity, ...]:
        small = self.small
        listed = (column for column in self.columns if column.part == "row" and column.table not in small)
        return tuple(sorted(listed, key=lambda column: -excess(column.distance))[:number])

    def lacking_values(self) -> tuple[ColumnFidelity, ...]:
        """Columns of categories with less than half of the different values that as many real rows have, worst first."""
        listed = [
            c for c in self.columns if c.part == "row" and c.different and 2 * c.different["synthetic"] < c.different["shuffled"]
        ]
        return tuple(sorted(listed, key=lambda column: column.different["synthetic"] / column.different["shuffled"]))

    def off_calendar(self, most: float = 0.1) -> tuple[ColumnFidelity, ...]:
        """Hours, weekdays and months that are spread otherwise than in the real rows, beyond chance, worst first."""
        off = [(c.tvd["synthetic"] - c.tvd.get("holdout", c.chance), c) for c in self.columns if c.part == "calendar"]
        return tuple(column for far, column in sorted(off, key=lambda pair: -pair[0]) if far > most)

    def torn(self, most: float = 0.1) -> tuple[Stickiness, ...]:
        """Columns that two rows of one parent share more or less often than real ones do, worst first; of rows in no sequence."""
        off = [(abs(s.same["synthetic"] - s.same.get("holdout", s.same["real"])), s) for s in self.stickiness if s.siblings]
        return tuple(column for far, column in sorted(off, key=lambda pair: -pair[0]) if far > most)

    @property
    def wrong(self) -> tuple[Broken, ...]:
        """What the schema forbids and synthetic rows do, most often first."""
        wrong = [breach for breach in self.broken if breach.kind not in AGAINST_REAL and breach.rows.get("synthetic")]
        return tuple(sorted(wrong, key=lambda breach: -breach.rows["synthetic"]))

    @property
    def unlawful(self) -> tuple[Broken, ...]:
        """What (nearly) all real rows keep and synthetic ones do not, by the share of rows, worst first."""
        laws = [breach for breach in self.broken if breach.kind == "law"]
        return tuple(sorted(laws, key=lambda breach: -breach.share("synthetic")))

    def to_json(self) -> dict[str, object]:
        """Plain values, for `json.dumps`."""
        return {"status": INTERNAL, **{f.name: plain(getattr(self, f.name)) for f in fields(self) if f.name != "schema"}}

    def to_html(self, command: str = "") -> str:
        """The report: one file that needs no network. ``command`` is what made it, told at its end. Internal, not private."""
        from .report import render_report

        return render_report(self, command)


def small_tables(rows: Mapping[str, int]) -> frozenset[str]:
    """Those with so few real rows that chance rules their distances, unless all have."""
    small = frozenset(table for table, held in rows.items() if held < FEWEST_ROWS)
    return small if len(small) < len(rows) else frozenset()


def excess(distance: BySet) -> float:
    """How much further than the hold-out, whose distance is that of chance."""
    return distance["synthetic"] - distance.get("holdout", 0.0)


def plain(value: object) -> object:
    """As JSON has it: six digits are enough, and what is no number is null."""
    if hasattr(value, "to_json"):
        return value.to_json()
    if is_dataclass(value) and not isinstance(value, type):
        hidden = {"counts"} if isinstance(value, PairFidelity) else set()
        return {f.name: plain(getattr(value, f.name)) for f in fields(value) if f.name not in hidden}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)
