"""The white-box statistic: how much likelier a release is with the canary than without, under the noise that was claimed.

An auditor who knows both exact answers a (with) and b (without) and the claimed noise can do no better than the
log-likelihood ratio of what was released, o. The normalisers are the same on both sides and cancel:

    discrete Gaussian   Σ ((o - b)² - (o - a)²) / 2σ²        discrete Laplace   Σ (|o - b| - |o - a|) / b

of a choice it is the difference of the two log-chances of what was chosen. Lists (sparse cells, learned values) are left
out: a test that looks at less is a weaker test, never a wrong one.

Questions may depend on earlier answers. The ratio of a whole release is then the sum over its answers, each given those
before it: the exact answers of the other side are taken by replaying the release there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mare.errors import InternalError
from mare.privacy.tape import Counts, Entry, Query

Floats = NDArray[np.float64]


def log_ratios(query: Query, released: Sequence[Counts], there: Sequence[Counts], gone: Sequence[Counts]) -> Floats:
    """Cell by cell: log P(released | the canary is there) - log P(released | it is gone)."""
    if query.listed:
        return np.zeros(0)
    if query.mechanism == "exponential choice":
        (chosen,), (with_it,), (without,) = released, there, gone
        return np.asarray(_log_chances(query, with_it) - _log_chances(query, without))[chosen]
    return np.concatenate([_cells(query, o, a, b) for o, a, b in zip(released, there, gone, strict=True)])


def log_ratio(entry: Entry, other: Sequence[Counts], *, recorded_there: bool) -> float:
    """Of one recorded answer. ``other`` are the exact answers of the side that was not recorded."""
    there, gone = (entry.exact, other) if recorded_there else (other, entry.exact)
    return float(log_ratios(entry.query, entry.released, there, gone).sum())


def reach_squared(entry: Entry, other: Sequence[Counts]) -> float:
    """μ² that correct noise would show: ‖a - b‖²/σ² of the Gaussian, the variance of the ratio of a choice."""
    if entry.query.listed:
        return 0.0
    if entry.query.mechanism == "exponential choice":
        before, now = _log_chances(entry.query, entry.exact[0]), _log_chances(entry.query, other[0])
        chances, ratios = np.exp(before), before - now
        return float(chances @ ratios**2 - (chances @ ratios) ** 2)
    squares = (((a - b).astype(np.float64) ** 2).sum() for a, b in zip(entry.exact, other, strict=True))
    return float(sum(squares)) / entry.query.scale**2


def _log_chances(query: Query, scores: Counts) -> Floats:
    """Of the exponential mechanism: P(i) ∝ e^(u_i/b)."""
    behind = (scores - scores.max()).astype(np.float64) / query.scale
    return np.asarray(behind - np.log(np.exp(behind).sum()))


def _cells(query: Query, released: Counts, there: Counts, gone: Counts) -> Floats:
    # Only the cells that the canary moves say anything; differences are small integers, exact in a float.
    o, a, b = (values.ravel() for values in (released, there, gone))
    moved = np.flatnonzero(a != b)
    with_it, without = (o[moved] - a[moved]).astype(np.float64), (o[moved] - b[moved]).astype(np.float64)
    if query.mechanism == "discrete gaussian":
        return np.asarray((without**2 - with_it**2) / (2 * query.scale**2))
    if query.mechanism == "discrete laplace":
        return np.asarray((np.abs(without) - np.abs(with_it)) / query.scale)
    raise InternalError(f"the audit knows no likelihood of the mechanism {query.mechanism!r}")
