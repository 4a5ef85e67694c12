"""Budgets that a fit would refuse: with them it would have to draw more noise than can be drawn, or list values by a smaller δ
than can be reckoned with. Found out while nothing is reserved; a fit finds it out in the middle, when the budget is gone.

The smallest share that any question of a fit gets follows from the schema, whatever the noisy sizes turn out to be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import ceil, log10

from mare.errors import BudgetError, PlanError
from mare.privacy.budget import Budget
from mare.privacy.conversion import learning_delta
from mare.privacy.noise import FEWEST_BITS, largest_scale
from mare.privacy.stable_keys import SMALLEST_DELTA, UNIT

from .learning import STRANGERS, VALUES, OpenDomains
from .plan import LEARN_MANY, LEARN_MOST, SIZES, GroupPreview
from .preview import noise_per_cell, total_cost

OF_A_GROUP, OF_A_COLUMN = 0.0048, 0.002
"""The smallest parts of their shares that a model spends at once, and that is spent at once to learn a range or bins."""
_FIRST, _STEPS = -7, (1, 2, 5)
"""Of the epsilons that are named instead: the smallest power of ten, and its multiples."""


def refuse_too_little(budget: Budget, groups: Sequence[GroupPreview], opened: OpenDomains) -> None:
    """A `PlanError` that says how much would do."""
    lists = len(opened.of("list")) + len(opened.of("keys"))
    if lists and not budget.pure and learning_delta(budget) / lists < SMALLEST_DELTA:
        raise PlanError(
            f"delta is {budget.delta:g}, which is too small to learn {lists} {'list' if lists == 1 else 'lists'} of values by. "
            "Plan with a larger delta, well below 1 / number of entities (--delta 1e-9), or declare the values (`values: […]`)."
        )
    if _is_drawable(budget, groups, opened):
        return
    steps = (digit * 10.0**power for power in range(max(_FIRST, ceil(log10(budget.epsilon)) - 1), 3) for digit in _STEPS)
    enough = next((e for e in steps if e > budget.epsilon and _is_drawable(replace(budget, epsilon=e), groups, opened)), None)
    more = "more of it" if enough is None else f"an epsilon of at least {enough:g}"
    raise PlanError(
        f"epsilon is {budget.epsilon:g}, which is too little for this schema: some answers would need more noise than can be "
        f"drawn. Plan with {more} (usual values: 0.1 to 10), or leave out tables and columns (`ignore`, `ignore_columns`)."
    )


def _is_drawable(budget: Budget, groups: Sequence[GroupPreview], opened: OpenDomains) -> bool:
    try:
        return all(scale <= largest_scale(budget.pure) for scale in _scales(budget, groups, opened))
    except BudgetError:  # the noise is beyond what a float holds
        return False


def _scales(budget: Budget, groups: Sequence[GroupPreview], opened: OpenDomains) -> Iterator[float]:
    """The largest noise that a fit may have to draw, in the units in which it is drawn."""
    total = total_cost(budget)
    models = total * (1 - SIZES - LEARN_MOST if opened.weight else 1 - SIZES)
    for group in groups:
        # Half of the budget is given in equal parts, whatever sizes turn out to be.
        share = min(group.share, 1 / (2 * len(groups)))
        yield noise_per_cell(budget, models * share * OF_A_GROUP, 1, max(1, group.histograms)) * 2**FEWEST_BITS
    if opened.weight:
        unit = total * LEARN_MANY / opened.weight
        yield noise_per_cell(budget, unit * OF_A_COLUMN, 1, 1) * 2**FEWEST_BITS
        if not budget.pure:
            # A list of codes beside one of their names gets half of what another one does.
            listed = [VALUES / 2] * bool(opened.of("list")) + [STRANGERS] * bool(opened.of("keys"))
            yield from (noise_per_cell(budget, unit * part, 1, 1) * UNIT for part in listed)
