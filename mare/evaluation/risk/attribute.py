"""Bayesian attribute disclosure risk: how probable the true value of an attribute becomes to someone who knows nearly everything.

The adversary (Hornby and Hu; Trudslev and Bachmann, 4.1) knows all real rows but the target's, A, the target's other attributes,
which attributes follow from which, S, and the synthetic rows, z. Each guess y* of the missing attributes is weighed by

    p(y* | z, A, S)  ∝  p(z | y*, A, S) · p(y* | A, S)

Parameters are integrated out. As p(z | y*, A) = p(y* | A, z) · p(z | A) / p(y* | A), the likelihood of all synthetic rows is the
ratio of two predictive chances of the guess: with and without the synthetic rows. Both are closed forms (`predictive`), so the
posterior is exact where the papers draw parameters by importance sampling.

The prior is uniform, as theirs, or informed: what A alone says of the target, p(y* | A). The prior's chance of the true value is
the baseline; people outside the data are the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from mare.evaluation.rates import CONFIDENCE, Rate, mean
from mare.evaluation.vectors import Features, Floats, Ints, binned

from .predictive import Cells, Coding, Network, Regression, Table, combination, design

GUESSES = 41
RADIUS = 0.1
"""Numbers are guessed within this share of the true value, in equal steps; the true value is the middle guess."""
PARENTS = 2
_AT_ONCE = 200_000
"""So many guesses are weighed at once."""

Prior = Literal["uniform", "informed"]


@dataclass(frozen=True)
class Disclosure:
    """The six outputs for each target row, in the words of the paper's Table 1, and the prior's chance of the truth."""

    columns: tuple[int, ...]
    """Which columns were guessed, together."""
    targets: Ints
    """Which rows: those where no guessed number is NULL."""
    guesses: tuple[Floats, ...]
    """For each guessed column (targets, guesses of that column)."""
    full_prob: Floats
    """FullProb: posterior of each guess (targets, guesses of the first column, of the second, …)."""
    true_marginals: Floats
    """TrueMarginals: posterior of the true value, column by column (targets, columns)."""
    true_values: Floats
    """TrueValProb, the values (targets, columns) …"""
    true_val_prob: Floats
    """… and the posterior of all of them together (targets,)."""
    rank_highest: Floats
    """RankHighest: the guess of the highest posterior, column by column (targets, columns)."""
    rank_true: Ints
    """RankTrue: the rank of the true guess, 1 being the highest; ties count against the adversary (targets,)."""
    marginal_abs_diffs: Floats
    """MarginalAbsDiffs: how far the highest marginal guess is from the truth; of categories 0 or 1 (targets, columns)."""
    prior_true: Floats
    """The prior's chance of the true guess (targets,)."""

    def average(self, confidence: float = CONFIDENCE) -> Rate:
        """avgADR of one run."""
        return mean(self.true_val_prob, confidence)

    def baseline(self, confidence: float = CONFIDENCE) -> Rate:
        return mean(self.prior_true, confidence)


def disclosures(
    real: Features,
    synthetic: Features,
    columns: Sequence[int],
    *,
    outsiders: Features | None = None,
    rows: Ints | None = None,
    network: Network | None = None,
    priors: Sequence[Prior] = ("uniform", "informed"),
    guesses: int = GUESSES,
    seed: int = 0,
) -> dict[Prior, Disclosure]:
    """Of rows of ``real``, each left out of what the adversary knows, or else of ``outsiders``, who were never in it; under each
    of these priors, for which the guesses are weighed once."""
    network = network if network is not None else learned_network(synthetic)
    people = real if outsiders is None else outsiders
    coding = Coding(real, synthetic, () if outsiders is None else (outsiders,))
    targets = np.arange(people.rows) if rows is None else np.asarray(rows, np.int64)
    for column in columns:
        if people.is_number(column):
            targets = targets[np.isfinite(people.number(column)[targets])]
    rng = np.random.default_rng(seed)
    per_column = [_guesses(people, column, targets, coding, guesses, rng) for column in columns]
    shape = tuple(held.shape[1] for held, _ in per_column)
    places = np.ravel_multi_index(tuple(place for _, place in per_column), shape) if len(targets) else np.zeros(0, np.int64)
    touched = {child: parents for child, parents in enumerate(network) if child in columns or set(columns) & set(parents)}
    used = {*touched, *(parent for parents in touched.values() for parent in parents)}
    sides = [(side.rows, coding.cells(side, used, {})) for side in (real, synthetic)]
    models = [(child, parents, _models(sides, coding, child, parents)) for child, parents in touched.items()]
    full = {prior: np.empty((len(targets), *shape)) for prior in priors}
    prior_true = {prior: np.empty(len(targets)) for prior in priors}
    step = max(1, _AT_ONCE // max(1, int(np.prod(shape))))
    for start in range(0, len(targets), step):
        block = slice(start, start + step)
        part = people.take(targets[block])
        combined = _combined([held[block] for held, _ in per_column])
        cells = coding.cells(part, used, dict(zip(columns, combined, strict=True)))
        left_out = coding.cells(part, used, {}) if outsiders is None else None
        with_z, without = _weigh(models, cells, left_out, part.rows, int(np.prod(shape)))
        for prior in priors:
            prior_log = without if prior == "informed" else np.zeros_like(without)
            posterior = _normalised(with_z - without + prior_log)
            full[prior][block] = posterior.reshape(-1, *shape)
            prior_true[prior][block] = _normalised(prior_log)[np.arange(part.rows), places[block]]
    return {
        prior: _outputs(people, tuple(columns), targets, per_column, full[prior], prior_true[prior], places) for prior in priors
    }


def learned_network(synthetic: Features, parents: int = PARENTS, bins: int = 8) -> Network:
    """Each column's closest earlier columns by mutual information in the synthetic rows: what anybody can learn from them."""
    codes = [binned([synthetic], column, bins)[0] for column in range(len(synthetic.columns))]
    return tuple(
        tuple(sorted(sorted(range(child), key=lambda parent: -_information(codes[parent], codes[child]))[:parents]))
        for child in range(len(codes))
    )


def average_disclosure(runs: Sequence[Disclosure], confidence: float = CONFIDENCE) -> Rate:
    """avgADR (eq. 19): the mean over runs of the mean over rows. With several runs its interval is that of the runs' means."""
    if len(runs) == 1:
        return runs[0].average(confidence)
    means = np.array([float(run.true_val_prob.mean()) for run in runs if len(run.true_val_prob)])
    if len(means) < 2:
        return Rate(0.5, 0.5, 0)
    within = mean(np.concatenate([run.true_val_prob for run in runs]), confidence)
    return Rate(float(means.mean()), max(within.error, 2 * float(means.std(ddof=1)) / len(means) ** 0.5), within.n)


def disclosure_by_epsilon(
    real: Features,
    synthetic: Mapping[float, Sequence[Features]],
    columns: Sequence[int],
    *,
    prior: Prior = "uniform",
    seed: int = 0,
) -> dict[float, Rate]:
    """avgADR over ε (.05 … ∞), each with the runs it was synthesised in; ε = 0 stands for the prior alone."""
    by_epsilon = {
        epsilon: [disclosures(real, run, columns, priors=(prior,), seed=seed)[prior] for run in runs]
        for epsilon, runs in sorted(synthetic.items())
        if runs
    }
    if not by_epsilon:
        return {}
    first = next(iter(by_epsilon.values()))[0]
    return {0.0: first.baseline()} | {epsilon: average_disclosure(runs) for epsilon, runs in by_epsilon.items()}


def outlier(features: Features, *, beyond: bool) -> Features:
    """The paper's IN, a row that holds the largest value of every column; or, ``beyond``, its OUT: numbers a tenth beyond the
    largest, and a category in every column that nobody else has."""
    values: list[Floats | Ints] = []
    for column in range(len(features.columns)):
        if features.is_number(column):
            largest = float(max(features.finite(column), default=0.0))
            values.append(np.array([largest + 0.1 * abs(largest) if beyond else largest]))
        else:
            values.append(np.array([int(features.code(column).max(initial=0)) + beyond]))
    return replace(features, values=tuple(values), rows=1)


Models = tuple[Regression | Table, Regression | Table]


def _models(sides: Sequence[tuple[int, Cells]], coding: Coding, child: int, parents: Sequence[int]) -> Models:
    """Of one column: with the synthetic rows, and without. The sides are the real and the synthetic rows."""
    if child in sides[0][1].numbers:
        x = [design(cells, parents, rows, 1)[:, 0] for rows, cells in sides]
        t = [cells.numbers[child][:, 0] for _, cells in sides]
        return Regression(np.concatenate(x), np.concatenate(t)), Regression(x[0], t[0])
    given = [combination(cells, parents, rows, 1)[:, 0] for rows, cells in sides]
    codes = [cells.codes[child][:, 0] for _, cells in sides]
    categories = coding.categories[child]
    return Table(np.concatenate(given), np.concatenate(codes), categories), Table(given[0], codes[0], categories)


def _weigh(
    models: Sequence[tuple[int, Sequence[int], Models]], cells: Cells, left_out: Cells | None, rows: int, guesses: int
) -> tuple[Floats, Floats]:
    """Log-chances of each guess with and without the synthetic rows (rows, guesses): of the columns that a guess touches."""
    logs = np.zeros((2, rows, guesses))
    for child, parents, pair in models:
        for side, model in enumerate(pair):
            if isinstance(model, Regression):
                x = design(cells, parents, rows, guesses)
                gone = None if left_out is None else (design(left_out, parents, rows, 1)[:, 0], left_out.numbers[child][:, 0])
                logs[side] += model.log_predictive(x, cells.numbers[child] * np.ones((1, guesses)), gone)
            else:
                given, codes = combination(cells, parents, rows, guesses), np.broadcast_to(cells.codes[child], (rows, guesses))
                out = None if left_out is None else (combination(left_out, parents, rows, 1)[:, 0], left_out.codes[child][:, 0])
                logs[side] += model.log_predictive(given, codes, out)
    return logs[0], logs[1]


def _guesses(
    people: Features, column: int, targets: Ints, coding: Coding, guesses: int, rng: np.random.Generator
) -> tuple[Floats | Ints, Ints]:
    """The guesses for each target (targets, guesses), and which of them is true."""
    if people.is_number(column):
        truth = people.number(column)[targets]
        reach = np.where(truth == 0, coding.spread(column), np.abs(truth)) * RADIUS
        half = max(1, guesses // 2)
        return truth[:, None] + reach[:, None] * (np.arange(-half, half + 1) / half), np.full(len(targets), half)
    codes, categories = people.code(column)[targets], coding.categories[column]
    if categories <= guesses:
        return np.broadcast_to(np.arange(categories), (len(codes), categories)), codes
    # Too many to weigh all: the truth and as many others, by steps around the circle of codes so that none comes twice.
    steps = np.sort(rng.choice(np.arange(1, categories), guesses - 1, replace=False))
    return (codes[:, None] + np.concatenate([[0], steps])) % categories, np.zeros(len(codes), np.int64)


def _combined(per_column: Sequence[Floats | Ints]) -> list[Floats | Ints]:
    """Every combination of the columns' guesses, column by column (targets, combinations)."""
    shape = tuple(held.shape[1] for held in per_column)
    places = np.unravel_index(np.arange(int(np.prod(shape))), shape)
    return [held[:, place] for held, place in zip(per_column, places, strict=True)]


def _normalised(logs: Floats) -> Floats:
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _outputs(
    people: Features,
    columns: tuple[int, ...],
    targets: Ints,
    per_column: Sequence[tuple[Floats | Ints, Ints]],
    full: Floats,
    priors: Floats,
    places: Ints,
) -> Disclosure:
    n, each = len(targets), np.arange(len(targets))
    marginals, highest, differences, truths = (np.empty((n, len(columns))) for _ in range(4))
    for position, (column, (held, place)) in enumerate(zip(columns, per_column, strict=True)):
        others = tuple(axis for axis in range(1, full.ndim) if axis != position + 1)
        marginal = full.sum(axis=others) if others else full
        truths[:, position] = held[each, place]
        marginals[:, position] = marginal[each, place]
        highest[:, position] = held[each, marginal.argmax(axis=1)]
        away = np.abs(highest[:, position] - truths[:, position])
        differences[:, position] = away if people.is_number(column) else away > 0
    flat = full.reshape(n, -1) if n else np.empty((0, 1))
    true_prob = flat[each, places]
    return Disclosure(
        columns=columns,
        targets=targets,
        guesses=tuple(np.asarray(held, np.float64) for held, _ in per_column),
        full_prob=full,
        true_marginals=marginals,
        true_values=truths,
        true_val_prob=true_prob,
        rank_highest=highest,
        rank_true=(flat >= true_prob[:, None] * (1 - 1e-12)).sum(axis=1).astype(np.int64),
        marginal_abs_diffs=differences,
        prior_true=priors,
    )


def _information(first: Ints, second: Ints) -> float:
    """Mutual information of two columns of few codes."""
    if not len(first):
        return 0.0
    width = int(second.max()) + 1
    joint = np.bincount(first * width + second, minlength=(int(first.max()) + 1) * width).reshape(-1, width) / len(first)
    expected = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    filled = joint > 0
    return float(np.sum(joint[filled] * np.log(joint[filled] / expected[filled])))
