"""`study`: what a larger ε and what history buys, on one's own data: the paper's privacy study and its ablation (mare-2024, VI).

Every fit of it is thrown away: the noise is seeded, nothing is charged, and true rows are looked at. So what it finds is
internal, not private, and an ε that was chosen by it was chosen by looking: the choice itself is charged to nobody.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from mare.errors import PlanError, SourceError
from mare.files import hold_folder
from mare.finding import Location
from mare.fitting.fit import fit
from mare.graph.groups import HistoryColumn
from mare.graph.pdag import column_groups
from mare.planning.planning import plan_of_groups
from mare.privacy.budget import DEFAULT_DELTA, Budget
from mare.privacy.pages import table
from mare.sampling.sample import sample
from mare.schema import Schema
from mare.schema.checks import settled_or_raise
from mare.schema.loading import load_schema

from .evaluation import INTERNAL, plain
from .fidelity.coded_sets import code_sides
from .fidelity.pairs import compare_pairs, pair_means
from .measured import KINDS, PairKind, PairMeans, SetName
from .sides import Side, read_side
from .splitting import split

EPSILONS = (1.0, 2.0, 5.0, 10.0, 100.0)
_WIDTH = 100
ABLATED = 2.0
"""The ablation takes the ε nearest to the paper's."""
NOT_CHARGED = "an ε that you choose by this was chosen by looking at the data: the choice is not charged, and so not private"

Looks = Literal["no history", "inter-table", "sequential", "both"]
LOOKS: tuple[Looks, ...] = ("no history", "inter-table", "sequential", "both")

Figure = Literal["kl", "v"]
FIGURES: dict[Figure, str] = {"kl": "Normalised KL: 1 is the same", "v": "Cramér's V: as in the real rows is best"}


@dataclass(frozen=True)
class Tried:
    """The fits with one ε and one kind of history, and how close their samples come. Internal, not private."""

    epsilon: float
    looks: Looks
    fits: tuple[Mapping[PairKind, PairMeans], ...]

    def mean(self, kind: PairKind, figure: str) -> float:
        """Over the fits, of one of the figures of `PairMeans`."""
        return float(np.mean([getattr(means[kind], figure) for means in self.fits]))

    def spread(self, kind: PairKind, figure: str) -> tuple[float, float]:
        held = [getattr(means[kind], figure) for means in self.fits]
        return min(held), max(held)


@dataclass(frozen=True)
class Study:
    """Both studies. Internal, not private."""

    name: str
    entities: tuple[int, int]
    """That were fitted, and that were held out."""
    reference: Mapping[PairKind, PairMeans]
    """Of the hold-out: what an ideal synthesizer would reach ("Ref")."""
    privacy: tuple[Tried, ...]
    ablation: tuple[Tried, ...]

    @property
    def kinds(self) -> tuple[PairKind, ...]:
        return tuple(kind for kind in KINDS if kind in self.reference)

    def best(self, figure: Figure) -> dict[str, list[float]]:
        """What there is to reach, by kind."""
        goals = {"other real people": [float(getattr(self.reference[kind], figure)) for kind in self.kinds]}
        return goals | ({"the real rows": [self.reference[kind].v_real for kind in self.kinds]} if figure == "v" else {})

    def words(self) -> Iterator[str]:
        """The two tables of Figure 4, for a terminal."""
        yield f"Study of {self.name or 'a schema'} ({INTERNAL})"
        yield f"Note: {NOT_CHARGED}."
        for figure, title in FIGURES.items():
            yield from ("", f"{title}.")
            budgets = {f"ε = {tried.epsilon:g}": tried for tried in self.privacy}
            yield from self._table(figure, budgets, self.best(figure))
            yield from ("", f"With ε = {self.ablation[0].epsilon:g}, where a row looks at:")
            yield from self._table(figure, {tried.looks: tried for tried in self.ablation}, {})
        yield f"({INTERNAL})"

    def _table(self, figure: Figure, tried: Mapping[str, Tried], best: Mapping[str, Sequence[float]]) -> list[str]:
        rows = [
            [KINDS[kind], *(f"{t.mean(kind, figure):.3f}" for t in tried.values()), *(f"{held[i]:.3f}" for held in best.values())]
            for i, kind in enumerate(self.kinds)
        ]
        head = ["pairs", *tried, *best]
        return table(head, rows, _WIDTH, 0, frozenset(range(1, len(head))))

    def to_json(self) -> dict[str, object]:
        return {
            "status": INTERNAL,
            "not_charged": NOT_CHARGED,
            "name": self.name,
            "entities": {"fitted": self.entities[0], "held out": self.entities[1]},
            "reference": plain(self.reference),
            "privacy": plain(self.privacy),
            "ablation": plain(self.ablation),
        }

    def to_html(self) -> str:
        """Figure 4 as one HTML file that needs no network."""
        from .report.study_page import render_study

        return render_study(self)


def study(
    schema: Schema | str | Path,
    source: Location,
    epsilons: Sequence[float] = EPSILONS,
    *,
    fits: int = 1,
    delta: float = DEFAULT_DELTA,
    seed: int = 0,
    watch: Callable[[str], None] | None = None,
) -> Study:
    """Fit, sample and compare for each ε, then with less history: internal, not private, and charged to nobody.

    A fifth of the entities is held out, as a reference. ``fits`` are made of each, since one may be lucky. The releases are
    thrown away.
    """
    if isinstance(schema, str | Path):
        schema = load_schema(schema)
    settled_or_raise(schema)
    if fits < 1 or not epsilons:
        raise PlanError("a study needs at least one ε and one fit, as in: --epsilon 1,2,5 --fits 1")
    budgets = [Budget(epsilon, delta) for epsilon in dict.fromkeys(sorted(epsilons))]
    tell = watch or (lambda step: None)
    held = hold_folder(Path(tempfile.gettempdir()), "mare-study-")
    try:
        train, rest = (held.path / f"{name}.duckdb" for name in ("fitted", "held-out"))
        tell("splitting")
        split(schema, source, (str(train), str(rest)), fraction=0.2, seed=seed)
        trial = _Trial(schema, str(train), {"real": read_side(schema, str(train)), "holdout": read_side(schema, str(rest))}, seed)
        if not all(side.entities for side in trial.sides.values()):
            raise SourceError("the source holds too few entities: a study needs some to fit and a fifth to hold out.")
        nearest = min(budgets, key=lambda budget: abs(budget.epsilon - ABLATED))
        asked = [(budget, looks) for budget in budgets for looks in LOOKS if looks == "both" or budget is nearest]
        runs: dict[tuple[float, Looks], Tried] = {}
        for budget, looks in asked:
            tell(f"fitting with ε = {budget.epsilon:g}, {looks}")
            runs[budget.epsilon, looks] = trial.tried(budget, looks, fits)
        return Study(
            name=schema.name or "",
            entities=(trial.sides["real"].entities, trial.sides["holdout"].entities),
            reference=trial.reference(),
            privacy=tuple(runs[budget.epsilon, "both"] for budget in budgets),
            ablation=tuple(runs[nearest.epsilon, looks] for looks in LOOKS),
        )
    finally:
        held.discard()


@dataclass(frozen=True, eq=False)
class _Trial:
    """What all fits of a study share."""

    schema: Schema
    source: str
    sides: dict[SetName, Side]
    seed: int

    def tried(self, budget: Budget, looks: Looks, fits: int) -> Tried:
        groups = tuple(
            replace(group, history=tuple(column for column in group.history if may_look(column, looks)))
            for group in column_groups(self.schema)
        )
        plan = plan_of_groups(self.schema, budget, groups)
        means = []
        for number in range(fits):
            release = fit(plan, self.source, unsafe_seed=self.seed + number, unsafe_peeked=True)
            drawn = sample(release, seed=self.seed + number)
            means.append(self._means({"real": self.sides["real"], "synthetic": read_side(self.schema, drawn)}, "synthetic"))
        return Tried(budget.epsilon, looks, tuple(means))

    def reference(self) -> Mapping[PairKind, PairMeans]:
        return self._means(self.sides, "holdout")

    def _means(self, sides: dict[SetName, Side], name: SetName) -> Mapping[PairKind, PairMeans]:
        return pair_means(compare_pairs(code_sides(sides), self.seed)[0], (name,))[name]


def may_look(column: HistoryColumn, looks: Looks) -> bool:
    """Whether an ablated model may look at this. What holds a table's own row together (context, head, position) stays."""
    past = column.kind in ("previous", "same_item") or column.lag > 0
    upwards = column.kind in ("ancestor", "sibling", "beside", "reference")
    if past:
        return looks in ("sequential", "both")
    return not upwards or looks in ("inter-table", "both")
