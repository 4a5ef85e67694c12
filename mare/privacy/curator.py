"""The one gate: exact answers go in, noisy and paid answers come out.

`Gate` owns the budget of a fit; `Curator` is what a model gets: one view, one share of the budget, and answers. The curator
works out every sensitivity itself, from the view's enforced cap or from a clip that it enforces, charges before it counts,
and refuses whatever it does not understand. Each kind of answer is a module of `mare.privacy.answers`; what they share is the
`Till`. Add or remove one entity is what everything here is measured against (docs/privacy.md).
"""

from __future__ import annotations

from collections.abc import Sequence

from mare.domain import Coarsenings, Domain, Marginal
from mare.errors import BudgetError, PrivacyError

from .answers.asking import MOST_CELLS
from .answers.clipping import AnyClip, ChosenClip, Clip
from .answers.counts import NoisyCounts, NoisySize, answer_counts, answer_entities
from .answers.scoring import NoisyScores, answer_scores
from .answers.selecting import Selected, answer_select, quote_choice
from .bits import BitSource, OsBits
from .budget import Budget
from .learner import Learner
from .ledger import Ledger
from .qualities import UNIT, Candidate, Weighting
from .tape import Tape
from .till import Till, portion_of
from .view import PrivateColumn, PrivateView

__all__ = [
    "MOST_CELLS",
    "ChosenClip",
    "Clip",
    "Curator",
    "Gate",
    "NoisyCounts",
    "NoisyScores",
    "NoisySize",
    "Selected",
]


class Gate:
    """The budget of one fit. Nothing sensitive is answered but through the curators that it hands out."""

    def __init__(self, budget: Budget, ledger: Ledger, bits: BitSource | None = None, tape: Tape | None = None) -> None:
        if ledger.budget != budget:
            raise BudgetError("the ledger was opened for another budget than the gate.")
        self._ledger = ledger
        self._bits = OsBits() if bits is None else bits
        self._tape = tape
        self._ungranted = ledger.left
        self._secrets: dict[str, bytes] = {}
        if not self._bits.private:
            ledger.mark_not_private("the noise came from a seeded source: anyone who knows the seed can remove it")
        if tape is not None:
            ledger.mark_not_private(tape.reason)

    @property
    def ledger(self) -> Ledger:
        return self._ledger

    @property
    def remaining(self) -> float:
        """The fraction of the whole budget that no curator holds yet."""
        return float(self._ungranted / self._ledger.total)

    def curator(self, view: PrivateView, share: float) -> Curator:
        """A curator over this view, with this fraction of the whole budget set aside for it."""
        granted = portion_of(share, self._ledger.total, self._ungranted, f"view {view.name!r}")
        curator = Curator(Till(self._ledger, self._bits, self._tape, view, granted))
        self._ungranted -= granted
        return curator

    def learner(self, column: PrivateColumn, share: float, delta_share: float = 0.0) -> Learner:
        """A learner over a column that has no domain yet, with this fraction of the whole budget set aside for it.

        ``delta_share`` is the fraction of the δ for learning that it may use: only a list of values needs some.
        """
        granted = portion_of(share, self._ledger.total, self._ungranted, f"column {column.name!r}")
        learner = Learner(self._ledger, self._bits, self._tape, column, granted, self.secret, delta_share)
        self._ungranted -= granted
        return learner

    def secret(self, name: str) -> bytes:
        """The fit's 32-byte key of that name, never released (which rows a cap keeps depends on one). A tape replays it."""

        def draw() -> bytes:
            return self._bits.words(4).tobytes()

        if name not in self._secrets:
            self._secrets[name] = draw() if self._tape is None else self._tape.secret(name, draw)
        return self._secrets[name]


class Curator:
    """What a model gets instead of rows. Shares are fractions of this curator's own budget."""

    def __init__(self, till: Till) -> None:
        self._till = till

    @property
    def name(self) -> str:
        """The view's name: public."""
        return self._till.view.name

    @property
    def domain(self) -> Domain:
        """The view's columns and history: public."""
        return self._till.view.domain

    @property
    def coarsenings(self) -> Coarsenings:
        """The levels of its columns: public."""
        return self._till.view.coarsenings

    @property
    def memory(self) -> int:
        """How many rows back an axis may look: public."""
        return self._till.view.memory

    @property
    def max_rows_per_entity(self) -> int:
        """S, the enforced cap: public."""
        return self._till.view.max_rows_per_entity

    @property
    def remaining(self) -> float:
        """The fraction of this curator's budget that is left, from 1 to 0."""
        return self._till.remaining

    @property
    def pure(self) -> bool:
        """Whether the budget is pure ε: public."""
        return self._till.pure

    def beginnings(self, share: float) -> Curator:
        """A curator over the first row of each sequence alone, with this part of the budget set aside for it. An entity has few
        such rows, so that little noise hides them."""
        if not self.memory:
            raise PrivacyError(f"{self._till.where}: its rows are no sequences, so none of them is a first one.")
        return Curator(self._till.lent(self._till.view.beginnings(), share))

    def blur(self, share: float) -> float:
        """How sharp a choice for this share would be, by scores that an entity moves by 1: so many entities behind is chosen e
        times less often. Public, and free: nothing is asked."""
        return quote_choice(self._till, UNIT, share).scale / UNIT

    def counts(self, marginals: Sequence[Marginal], share: float = 1.0, clip: AnyClip | None = None) -> list[NoisyCounts]:
        """Noisy cross-tabs of the view's rows, measured together and paid by one charge.

        With a ``clip`` every entity is scaled by one factor for all of them, and the noise follows the clip instead of the
        cap; the values then come in units of 1/denominator of a row. `Clip.chosen` picks the bound with a part of the share,
        by a charge of its own.
        """
        return answer_counts(self._till, marginals, share, clip)

    def entities(self, share: float = 1.0, *, with_rows: bool = False) -> NoisySize:
        """The noisy number of entities: all of them, or those that have a row in this view. One entity moves it by 1."""
        return answer_entities(self._till, share, with_rows)

    def scores(self, candidates: Sequence[Candidate | None], share: float = 1.0, weighting: Weighting = "entity") -> NoisyScores:
        """Noisy scores of all these candidates (`mare.privacy.qualities`), paid by one charge."""
        return answer_scores(self._till, candidates, share, weighting)

    def select(
        self,
        candidates: Sequence[Candidate | None],
        share: float = 1.0,
        penalties: Sequence[float] | None = None,
        weighting: Weighting = "entity",
    ) -> Selected:
        """One of these candidates, chosen privately by its quality (`mare.privacy.qualities`) less its public penalty."""
        return answer_select(self._till, candidates, share, penalties, weighting)
