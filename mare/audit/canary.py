"""The canary audit: does what leaves the gate tell more about one entity than the ledger claims?

The tape audit trusts the noise; this one does not. It draws many releases with and without one entity, the canary, and
asks how well the best test, the log-likelihood ratio Λ of the claimed noise (`log_ratios`), tells the two apart.

Gaussian budgets are judged on μ. Noise N(0, σ²) on answers that the canary moves by Δ makes Λ normal, with mean ±μ²/2
and variance μ², where μ = Δ/σ; over several charges μ² adds up, and as ρ = Δ²/2σ² the claim of a ledger that spent ρ is
μ = √(2ρ). The estimate is the difference of the two means of Λ in units of its standard deviation. Λ is computed with the
claimed σ: noise that is really half as large leaves the means where they are and halves the standard deviation, so
the estimate doubles. (ε at δ = 1e-9 could not be judged by counting events: halved noise would take 10⁷ releases.)
The lower bound is the estimate less z standard errors, √(2/n + μ̂²/4n), with z from the failure probability.

Pure ε is judged by an event. Under Laplace noise the worst one is {o ≥ a}, the released count is at least the exact
count with the canary: exactly e^ε times likelier with it than without, when the canary moves the count by all that
was paid for. The bound takes the lowest rate that is likely with it and the highest without (Chernoff), half
the failure probability each. It needs many draws: a million cells of one query each hold a canary of their own, and
each cell is, for its own canary, one independent release of one count.

Λ is the white-box statistic: how much likelier a release is with the canary than without, under the noise that was claimed.
An auditor who knows both exact answers a (with) and b (without) and the claimed noise can do no better than the log-
likelihood ratio of what was released, o. The normalisers are the same on both sides and cancel:

    discrete Gaussian   Σ ((o - b)² - (o - a)²) / 2σ²        discrete Laplace   Σ (|o - b| - |o - a|) / b

of a choice it is the difference of the two log-chances of what was chosen. Lists of learned values are left
out: a test that looks at less is a weaker test, never a wrong one.

Questions may depend on earlier answers. The ratio of a whole release is then the sum over its answers, each given those
before it: the exact answers of the other side are taken by replaying the release there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, log, sinh, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from mare.domain import Domain, Marginal
from mare.errors import BudgetError, InternalError, PrivacyError
from mare.finding import Location
from mare.fitting import FitOptions, run_fit
from mare.planning import Plan
from mare.ports import Source
from mare.privacy.bits import BitSource, SeededBits
from mare.privacy.budget import Budget
from mare.privacy.curator import Gate
from mare.privacy.ledger import Charge, Ledger
from mare.privacy.tape import Counts, Entry, Query, Record, Recorder, Replayer, Tape
from mare.stage import StagedView

from .entities import heaviest, named
from .report import CanaryReport
from .tape import Watch, audited, opened
from .variants import KeptSource, WithoutEntity

Session = Callable[[BitSource, Tape], Ledger]
"""Something that releases: a fit, or a few questions to a curator. It draws from these bits alone and tells the tape."""

FAILURE = 1e-9
"""How likely a correct mechanism may be called broken."""


def canary_audit(
    plan: Plan,
    source: Location | Source,
    *,
    canary: object = None,
    runs: int = 1000,
    seed: int = 0,
    failure: float = FAILURE,
    options: FitOptions | None = None,
) -> CanaryReport:
    """So many fits with and without the canary: the entity of that key, or else the heaviest. Internal, not private."""
    options = options or FitOptions()
    with opened(plan, source) as (reader, owners):
        chosen = named(canary) if canary is not None else heaviest(owners)
        if chosen is None:
            raise PrivacyError("the source holds no entity, so there is no canary to take out.")
        neighbour = WithoutEntity(reader, owners, owners.removal(chosen.entity))

        def fitting(data: Source) -> Session:
            return lambda bits, tape: run_fit(plan, data, audited(options, bits, tape)).ledger

        return session_audit(fitting(KeptSource(reader)), fitting(KeptSource(neighbour)), runs=runs, seed=seed, failure=failure)


def session_audit(there: Session, gone: Session, *, runs: int = 1000, seed: int = 0, failure: float = FAILURE) -> CanaryReport:
    """The same session with the canary there and gone, ``runs`` times each, judged on μ. Internal, not private."""
    _several(runs)
    with_it, without, reaches, claims = np.empty(runs), np.empty(runs), [0.0], [0.0]
    for run in range(runs):
        for statistics, first, second, recorded_there in ((with_it, there, gone, True), (without, gone, there, False)):
            bits = SeededBits((seed * runs + run) * 2 + recorded_there)
            recorder = Recorder()
            ledger = first(bits, recorder)
            other = _exact_answers(second, recorder.record)
            pairs = list(zip(recorder.record.entries, other, strict=True))
            statistics[run] = sum(log_ratio(entry, exact, recorded_there=recorded_there) for entry, exact in pairs)
            reaches.append(sum(reach_squared(entry, exact) for entry, exact in pairs))
            claims.append(_claimed_squared(ledger))
    return judged_on_mu(with_it, without, claimed=sqrt(max(claims)), reach=sqrt(max(reaches)), failure=failure)


def mechanism_audit(
    budget: Budget, *, cap: int = 1, draws: int = 1_000_000, seed: int = 0, failure: float = FAILURE
) -> CanaryReport:
    """One histogram through the gate, with a canary of ``cap`` rows in each of its cells. Needs no data.

    Every cell is one release of a count to which exactly one entity contributes. A Gaussian budget is judged on μ, a pure
    one on ε.
    """
    _several(draws)
    entries: list[Entry] = []
    charges: list[Charge] = []
    for there in (True, False):
        recorder = Recorder()
        ledger = Ledger(budget, "one canary")
        gate = Gate(budget, ledger, SeededBits(seed * 2 + there), recorder)
        gate.curator(_canaries(draws, cap, there), 1.0).counts([Marginal.of("cell")])
        entries += recorder.record.entries
        charges += ledger.charges
    with_it, without = entries
    query, exact_with, exact_without = with_it.query, with_it.exact, without.exact
    if not budget.pure:
        there_ratios = log_ratios(query, with_it.released, exact_with, exact_without)
        gone_ratios = log_ratios(query, without.released, exact_with, exact_without)
        claimed = sqrt(2 * charges[0].cost)
        return judged_on_mu(there_ratios, gone_ratios, claimed=claimed, reach=cap / query.scale, failure=failure)
    hits = int((with_it.released[0] >= exact_with[0]).sum())
    false_hits = int((without.released[0] >= exact_with[0]).sum())
    low, high = rate_at_least(hits, draws, failure / 2), rate_at_most(false_hits, draws, failure / 2)
    return CanaryReport(
        "epsilon",
        claimed=charges[0].cost,
        estimated=log(hits / false_hits) if hits and false_hits else 0.0 if not hits else inf,
        lower=max(0.0, log(low / high)) if low > 0 else 0.0,
        reach=cap / query.scale,
        failure=failure,
        runs=draws,
    )


def rate_at_least(hits: int, draws: int, failure: float) -> float:
    """The lowest rate under which so many hits are not too surprising: n·KL(k/n ‖ p) ≤ log 1/failure (Chernoff)."""
    return 1 - rate_at_most(draws - hits, draws, failure)


def rate_at_most(hits: int, draws: int, failure: float) -> float:
    """The highest such rate, by bisection; rounded up."""
    seen, limit = hits / draws, log(1 / failure) / draws
    low, high = seen, 1.0
    for _ in range(100):
        rate = (low + high) / 2
        if _kl(seen, rate) <= limit:
            low = rate
        else:
            high = rate
    return high


def _kl(p: float, q: float) -> float:
    if q >= 1:
        return 0.0 if p >= 1 else inf
    hits = p * log(p / q) if p > 0 else 0.0
    return hits + ((1 - p) * log((1 - p) / (1 - q)) if p < 1 else 0.0)


def judged_on_mu(with_it: Floats, without: Floats, *, claimed: float, reach: float, failure: float) -> CanaryReport:
    n = len(with_it)
    spread = sqrt((float(np.var(with_it, ddof=1)) + float(np.var(without, ddof=1))) / 2)
    apart = float(np.mean(with_it) - np.mean(without))
    # No spread: no noise at all. A canary that moves nothing tells nothing.
    estimated = apart / spread if spread > 0 else (inf if apart else 0.0)
    surprise = NormalDist().inv_cdf(1 - failure)
    lower = estimated - surprise * sqrt(2 / n + estimated**2 / (4 * n)) if estimated < inf else inf
    return CanaryReport("mu", claimed, estimated, max(0.0, lower), reach, failure, n)


def _exact_answers(session: Session, record: Record) -> list[Sequence[Counts]]:
    watch = Watch(Replayer(record))
    session(SeededBits(0), watch)
    return watch.exact


def _claimed_squared(ledger: Ledger) -> float:
    """μ² that the charges claim: 2ρ. The ratio of a choice is no normal variable: two candidates at ε₀ = √8ρ are
    2·sinh(ε₀/4) standard deviations apart, not ε₀/2 (1 % more at ε₀ = 1), and a correct choice must not be blamed for that."""
    if ledger.budget.pure:
        raise BudgetError(
            "a pure budget is not judged on mu: audit one Laplace query (mechanism_audit), or give a delta above 0."
        )
    return sum(4 * sinh(sqrt(c.cost / 2)) ** 2 if c.mechanism == "exponential choice" else 2 * c.cost for c in ledger.charges)


def _canaries(count: int, cap: int, there: bool) -> StagedView:
    """One canary per cell, each with all the rows that its cap allows; or the same cells without any of them."""
    owner = np.repeat(np.arange(count, dtype=np.int64), cap if there else 0)
    cells = owner.astype(np.uint32)
    return StagedView("canaries", Domain.of([("cell", count)]), cap, count if there else 0, owner, {"cell": cells})


def _several(runs: int) -> None:
    if runs < 2:
        raise PrivacyError(f"an audit of {runs} runs says nothing: ask for at least 2, better 1,000.")


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
