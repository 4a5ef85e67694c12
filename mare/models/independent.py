"""The independent baseline: one noisy histogram per column, every column drawn on its own.

It keeps each column's distribution and nothing else: the floor that every other model has to beat. Where it stands:
between the curator, which answers and charges, and the sampler.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from mare.domain import Codes, Marginal, OptionValue, Task, norm_subtract, smallest_dtype, without_unclear
from mare.errors import PlanError, ReleaseError

from .clarity import Clarity, Margin, read_clarity
from .protocol import FittedModel, Workload

if TYPE_CHECKING:
    from mare.privacy.curator import Curator, NoisyCounts

NEGATIVES = ("norm-sub", "clip")
_PREFIX = "column."


def nonnegative(counts: NDArray[np.float64], rule: str) -> NDArray[np.float64]:
    """Noisy counts without negative ones.

    "clip" cuts them at zero, which adds mass. "norm-sub" takes the same amount off every cell until the positive part has
    the total that was measured: far closer to the truth where many cells are empty (privacy.md).
    """
    if rule == "clip":
        return np.maximum(counts, 0.0)
    total = float(counts[np.isfinite(counts)].sum())
    if total <= 0:
        return np.zeros_like(counts)
    return norm_subtract(counts, total)


def _probabilities(counts: NDArray[np.float64], rule: str) -> NDArray[np.float64]:
    mass = nonnegative(counts, rule)
    total = float(mass.sum())
    # Nothing but noise was left: the domain is all we know.
    return mass / total if total > 0 else np.full(len(counts), 1.0 / len(counts))


@dataclass(frozen=True, eq=False)
class FittedIndependent:
    """One distribution per column."""

    probabilities: Mapping[str, NDArray[np.float64]]
    clarity: Clarity | None = None
    looks_at: ClassVar[frozenset[str]] = frozenset()
    row_by_row: ClassVar[bool] = True

    def sample(self, history: Codes, rng: np.random.Generator) -> Codes:
        """Inversion: one uniform number per row and column, in the order of the columns."""
        drawn = {}
        for name, weights in self.probabilities.items():
            cumulated = np.cumsum(weights)
            # The last cell that can occur ends at 1 exactly, so that rounding never selects an impossible one.
            cumulated[np.flatnonzero(weights)[-1] :] = 1.0
            codes = np.searchsorted(cumulated, rng.random(history.rows), side="right")
            drawn[name] = codes.astype(smallest_dtype(len(weights)))
        return Codes(history.rows, drawn)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        clear = {} if self.clarity is None else self.clarity.arrays()
        return {**{_PREFIX + name: weights for name, weights in self.probabilities.items()}, **clear}


class IndependentModel:
    """Every column on its own."""

    name: ClassVar[str] = "independent"
    summary: ClassVar[str] = "Each column on its own, from one noisy histogram: the baseline that keeps no correlation."
    options: ClassVar[Mapping[str, OptionValue]] = MappingProxyType({"negatives": "norm-sub"})

    def workload(self, task: Task) -> Workload:
        _negatives(task)  # an option that makes no sense is told while nothing is paid
        sizes = task.columns.sizes
        return Workload(histograms=len(sizes), largest=max(sizes, default=0), cells=sum(sizes))

    def fit(self, curator: Curator, task: Task) -> FittedModel:
        rule = _negatives(task)
        if not len(task.columns):
            return FittedIndependent({})
        answers = curator.counts([Marginal.of(name) for name in task.columns], share=1.0)
        named = dict(zip(task.columns, answers, strict=True))
        drawn = {}
        for name, answer in named.items():
            known = without_unclear(answer.values.astype(np.float64), task.doubtful.get(name, ()), answer.standard_deviation)
            drawn[name] = _probabilities(known, rule)
        return FittedIndependent(drawn, Clarity({name: _margin(drawn[name], answer) for name, answer in named.items()}))

    def load(self, task: Task, arrays: Mapping[str, NDArray[np.generic]]) -> FittedModel:
        probabilities: dict[str, NDArray[np.float64]] = {}
        for name, size in zip(task.columns.names, task.columns.sizes, strict=True):
            weights = arrays.get(_PREFIX + name)
            if weights is None or weights.shape != (size,) or weights.dtype != np.float64:
                raise ReleaseError(f"group {task.group!r}: the distribution of {name!r} is missing or has another shape.")
            probabilities[name] = weights.astype(np.float64)
            if not (np.isfinite(weights).all() and (weights >= 0).all() and abs(float(weights.sum()) - 1) < 1e-6):  # type: ignore[operator]
                raise ReleaseError(f"group {task.group!r}: the distribution of {name!r} is not one.")
        return FittedIndependent(probabilities, read_clarity(task, arrays))


def _margin(drawn: NDArray[np.float64], answer: NoisyCounts) -> Margin:
    total = max(float(answer.rows.sum()), answer.rows_deviation * len(drawn) ** 0.5, 1e-9)
    return Margin(drawn, answer.rows_deviation / total, total)


def _negatives(task: Task) -> str:
    rule = task.options.get("negatives", "norm-sub")
    if rule not in NEGATIVES:
        raise PlanError(f"group {task.group!r}: negatives is {rule!r}; it may be {' or '.join(NEGATIVES)}.")
    return str(rule)
