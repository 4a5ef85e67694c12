"""`Learner`: a domain from the data, paid for. What a curator is for a view, a learner is for a column that has no domain yet.

    raw column ─► **learner** ─► categories, fine histogram ─► codecs

Categories take a δ above 0 (`stable_keys`); what has an order is counted on a public grid by the same code as any cross-tab.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mare.domain import Marginal
from mare.errors import PrivacyError

from .answers.clipping import AnyClip, Clip
from .answers.counts import answer_counts
from .bits import BitSource
from .conversion import down, learning_delta
from .fine_histograms import FineHistogram
from .grids import Grid
from .ledger import Ledger
from .noise import LARGEST_COUNT, Noise, prepare_noise
from .stable_keys import UNIT, as_numbers, as_texts, canonical, identifiers, kept_keys, key_threshold, weighed
from .tape import Query, Tape
from .till import Till, described_charge, portion_of
from .view import PrivateColumn, PrivateView

Integers = NDArray[np.int64]

DEFAULT_VALUES = 100
MOST_VALUES = 1_000_000
MOST_PER_ENTITY = 1_000

_ROWS_ONLY = (0.0, 1.0)
"""Any grid will do where rows are counted, not values."""


@dataclass(frozen=True, eq=False)
class LearnedCategories:
    """Values that enough entities hold, in canonical order."""

    values: tuple[str, ...]
    counts: NDArray[np.float64]
    """How many entities speak for each, noisily: one that names t of its values gives each 1/√t. Above ``threshold``, all."""
    threshold: float
    per_entity: int
    """k₀: an entity named at most so many."""
    scale: float
    """σ of the noise."""
    sensitivity: float
    cost: float
    delta: float
    """The chance with which a value of a single entity may have got in."""


class Learner:
    """One column, one allowance of budget and, where values are to be listed, of δ. Shares are fractions of these."""

    def __init__(
        self,
        ledger: Ledger,
        bits: BitSource,
        tape: Tape | None,
        column: PrivateColumn,
        granted: Fraction,
        secret: Callable[[str], bytes],
        delta_share: float,
    ) -> None:
        self._ledger, self._bits, self._tape = ledger, bits, tape
        self._column, self._granted, self._secret, self._delta_share = column, granted, secret, delta_share
        self._spent = Fraction(0)
        if column.max_rows_per_entity < 1:
            raise PrivacyError(
                f"{self._where}: the cap on rows per entity is {column.max_rows_per_entity}; it must be at least 1."
            )

    @property
    def name(self) -> str:
        """Table and column: public."""
        return self._column.name

    @property
    def remaining(self) -> float:
        """The fraction of this learner's budget that is left, from 1 to 0."""
        return float((self._granted - self._spent) / self._granted)

    def categories(self, most: int = DEFAULT_VALUES, per_entity: int = 1, share: float = 1.0) -> LearnedCategories:
        """The values that enough entities hold, ``most`` of them at most. An entity names at most ``per_entity`` of its own, and
        speaks the softer for each the more it names."""
        _check_whole(self._where, "the number of values to keep", most, MOST_VALUES)
        _check_whole(self._where, "the number of values per entity", per_entity, MOST_PER_ENTITY)
        # who has S rows has at most S distinct values
        named = min(per_entity, self._column.max_rows_per_entity)
        delta = self._delta()
        with self._lent(self._column.binned(_ROWS_ONLY, "rows"), share) as till:
            quote = till.quote(UNIT * UNIT, 1.0)
            noise = prepare_noise("discrete gaussian", quote.scale, 1, exact=True)
            threshold = key_threshold(noise.scale, named, delta)
            voices = threshold / UNIT
            till.assert_cap()
            query = Query(
                what=f"values that more than {voices:.4f} entities speak for, at most {most}, at most {named} of an entity",
                view=self.name,
                marginals=(),
                mechanism="stable keys",
                norm="L2",
                sensitivity=quote.sensitivity,
                sensitivity_squared=quote.sensitivity_squared,
                scale=noise.scale,
                cost=quote.cost,
                denominator=UNIT,
                listed=True,
            )
            till.pay(query, replace(described_charge(query, named, 0.0), histograms=1, delta=delta), quote.portion)
            values, weights = canonical(weighed(self._column.keys(named, self._secret("stable keys")), named))
            texts, released = till.release(
                query, [identifiers(values), weights], lambda: self._drawn(values, weights, noise, threshold, most)
            )
        return LearnedCategories(
            values=as_texts(texts),
            counts=released / UNIT,
            threshold=voices,
            per_entity=named,
            scale=noise.scale / UNIT,
            sensitivity=quote.sensitivity / UNIT,
            cost=quote.cost,
            delta=delta,
        )

    def histogram(self, grid: Grid, share: float = 1.0, clip: AnyClip | None = None) -> FineHistogram:
        """The noisy histogram of the column's rows over a public grid. Without a clip one row per entity counts in full."""
        if not isinstance(grid, Grid):
            raise PrivacyError(f"{self._where}: {grid!r} is no grid.")
        if clip is None and self._column.max_rows_per_entity > 1:
            clip = Clip(1.0)
        label = f"{self.name} on {grid.words}"
        with self._lent(self._column.binned(grid.edges, label), share) as till:
            (answer,) = answer_counts(till, [Marginal.of(label)], 1.0, clip)
        rows = answer.rows
        return FineHistogram(grid, rows[:-1], float(rows[-1]), answer.rows_deviation, answer.mechanism, answer.cost)

    @property
    def _where(self) -> str:
        return f"column {self._column.name!r}"

    def _delta(self) -> float:
        """What this learner may add to δ."""
        if self._ledger.budget.pure:
            raise PrivacyError(
                f"{self._where}: with delta = 0 a list of values cannot be learned: any value that gets out would prove that "
                "somebody holds it. List its `values` in the schema, name a public vocabulary, or plan with a delta above 0."
            )
        if not self._delta_share:
            raise PrivacyError(
                f"{self._where}: no part of delta was set aside to learn its values. Ask the gate for a learner with a "
                "delta_share."
            )
        whole = Fraction(learning_delta(self._ledger.budget))
        return down(portion_of(self._delta_share, whole, self._ledger.learning_left, f"{self._where}, delta"))

    @contextmanager
    def _lent(self, view: PrivateView, share: float) -> Iterator[Till]:
        """A till for one answer. What was paid is gone, also if the answer then breaks down."""
        portion = portion_of(share, self._granted, self._granted - self._spent, self._where)
        till = Till(self._ledger, self._bits, self._tape, view, portion)
        try:
            yield till
        finally:
            self._spent += portion if till.remaining < 1 else 0

    def _drawn(self, values: list[str], counts: Integers, noise: Noise, threshold: int, most: int) -> list[Integers]:
        drawn = replace(noise, cells=len(counts)).draw(self._bits) if len(counts) else counts
        kept, noisy = kept_keys(values, np.clip(counts + drawn, -LARGEST_COUNT, LARGEST_COUNT), threshold, most)
        return [as_numbers(kept), noisy]


def _check_whole(where: str, what: str, value: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise PrivacyError(f"{where}: {what} is {value!r}; it must be a whole number from 1 to {most:,}.")
