"""`tape_audit`: a whole fit on D, and again on D′ with the recorded answers. Does one entity show beyond what was paid for?

Recorded once on D; replayed for every removed entity. The second fit must ask the same questions with the same noise
scales, draw the same keys, tell the same progress and end in the same release file, and every exact answer must move by
no more than the sensitivity that its charge paid for. The recorded fit is also checked by itself: every answer on the
tape has a charge in the ledger, every charge buys its noise by an account made anew here, the sum fits the budget, and
no secret key stands in the release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import sqrt
from pathlib import Path

from mare.errors import MareError
from mare.finding import Location, open_source
from mare.fitting import FitOptions, run_fit
from mare.planning import Plan
from mare.ports import Source
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.privacy.conversion import epsilon_from_rho
from mare.privacy.ledger import Charge
from mare.privacy.tape import Counts, Entry, Query, Record, Recorder, Replayer, TapeMismatch
from mare.release import Release
from mare.stage import needs

from .artefacts import Artefacts, artefacts, differing, published
from .entities import Chosen, Ownership, ownership
from .neighbour import HeldSource, WithoutEntity
from .report import AuditReport, EntityAudit, QueryAudit


def tape_audit(
    plan: Plan,
    source: Location | Source,
    *,
    entities: Sequence[object] | None = None,
    random: int = 3,
    seed: int = 0,
    options: FitOptions | None = None,
) -> AuditReport:
    """Fit the plan to the source and, once per removed entity, to the source without it. Internal, not private.

    ``entities`` names them by key (a value, or a tuple where the key has several columns); otherwise the heaviest, one with
    rare and one with extreme values and ``random`` others are chosen. The releases are thrown away.
    """
    options = options or FitOptions()
    with opened(plan, source) as (reader, owners):
        chosen = named(entities) if entities is not None else owners.worth_removing(random, seed)
        first = _Run.recorded(plan, HeldSource(reader), options, seed)
        farthest = [0] * len(first.record.entries)
        audited = []
        for removed in chosen:
            neighbour = WithoutEntity(reader, owners, owners.keys_of(removed.key))
            watch = _Watch(Replayer(first.record))
            differences = _replayed(plan, neighbour, options, seed, first, watch)
            for place, (entry, exact) in enumerate(zip(first.record.entries, watch.exact, strict=False)):
                farthest[place] = max(farthest[place], distance_squared(entry, exact))
            audited.append(EntityAudit(removed.why, tuple(differences)))
    queries = tuple(_query(entry, squared) for entry, squared in zip(first.record.entries, farthest, strict=True))
    return AuditReport(queries, tuple(audited), tuple(first.faults(plan.budget)))


@contextmanager
def opened(plan: Plan, source: Location | Source) -> Iterator[tuple[Source, Ownership]]:
    """One snapshot for all fits of an audit, and who owns what in it."""
    found = open_source(source) if isinstance(source, str | Path | dict) else source
    tables = needs(plan.schema, [planned.group for planned in plan.groups])
    with found as reader, ownership(reader, plan.schema, tables) as owners:  # type: ignore[union-attr]
        yield reader, owners


def named(entities: Sequence[object]) -> list[Chosen]:
    return [Chosen(tuple(str(part) for part in (key if isinstance(key, tuple) else (key,))), "as asked") for key in entities]


@dataclass(eq=False)
class _Run:
    """The recorded fit: its tape, what it told, what it released."""

    record: Record
    told: list[str]
    release: Release
    released: Artefacts

    @classmethod
    def recorded(cls, plan: Plan, source: Source, options: FitOptions, seed: int) -> _Run:
        recorder, told = Recorder(), list[str]()
        release = run_fit(plan, source, replace(options, bits=SeededBits(seed), tape=recorder, tell=told.append))
        return cls(recorder.record, told, release, artefacts(release))

    def faults(self, budget: Budget) -> list[str]:
        queries = [entry.query for entry in self.record.entries]
        charges = self.release.ledger.charges
        return [
            *_unpaid(queries, charges),
            *(fault for query in queries for fault in underpaid(query, pure=budget.pure)),
            *overspent(queries, budget),
            *published(self.record.secrets, self.released),
            *(["the fit drew seeded noise and calls its release PRIVATE"] if self.release.status == "PRIVATE" else []),
        ]


@dataclass(eq=False)
class _Watch:
    """Lets the replayer answer, and keeps the exact answers of D′ for the distances."""

    replayer: Replayer
    exact: list[Sequence[Counts]] = field(default_factory=list)

    @property
    def reason(self) -> str:
        return self.replayer.reason

    def answer(self, query: Query, exact: Sequence[Counts], release: Callable[[], list[Counts]]) -> list[Counts]:
        answered = self.replayer.answer(query, exact, release)
        self.exact.append(exact)
        return answered

    def secret(self, name: str, draw: Callable[[], bytes]) -> bytes:
        return self.replayer.secret(name, draw)


def _replayed(plan: Plan, source: Source, options: FitOptions, seed: int, first: _Run, watch: _Watch) -> list[str]:
    told: list[str] = []
    # Other bits than the first time: whatever is drawn beside the tape shows as a difference.
    again = replace(options, bits=SeededBits(seed + 1), tape=watch, tell=told.append)
    try:
        release = run_fit(plan, source, again)
        watch.replayer.finish()
    except TapeMismatch as mismatch:
        return list(mismatch.differences)
    except MareError as error:
        return [f"the fit without the entity ended with {type(error).__name__}, the recorded one did not: {error}"]
    differences = differing(first.released, artefacts(release))
    if told != first.told:
        differences.append("the progress that was told is not the same")
    return differences


def distance_squared(entry: Entry, exact: Sequence[Counts]) -> int:
    """How far the exact answers of one charge are apart, in its norm, squared. 0 where the shapes differ: the tape says so."""
    if [a.shape for a in entry.exact] != [b.shape for b in exact]:
        return 0
    steps = [int(step) for a, b in zip(entry.exact, exact, strict=True) for step in (a - b).ravel() if step]
    return sum(step * step for step in steps) if entry.query.norm == "L2" else sum(map(abs, steps)) ** 2


def _query(entry: Entry, squared: int) -> QueryAudit:
    query = entry.query
    return QueryAudit(query.what, query.view, query.norm, sqrt(query.sensitivity_squared), sqrt(squared))


def _unpaid(queries: Sequence[Query], charges: Sequence[Charge]) -> list[str]:
    """Every answer has its own charge, in the same order and of the same size."""
    paid = [(c.what, c.view, c.mechanism, c.sensitivity, c.scale, c.cost) for c in charges]
    # The tape counts in units of the answer, the ledger in rows.
    unit = [(q.sensitivity / q.denominator, q.scale / q.denominator) for q in queries]
    answered = [(q.what, q.view, q.mechanism, *in_rows, q.cost) for q, in_rows in zip(queries, unit, strict=True)]
    if paid == answered:
        return []
    return [f"{len(answered)} answers left and {len(paid)} charges stand in the ledger, and they are not the same ones"]


def underpaid(query: Query, *, pure: bool) -> list[str]:
    """What this noise costs by the definition of its mechanism, in fractions, against what was charged."""
    squared = Fraction(query.sensitivity_squared) / Fraction(query.scale) ** 2
    # Under (ε, δ) ρ = (Δ/scale)²/2 for the Gaussian and for a choice; under pure ε Δ/b for the Laplace, 2Δ/b for a choice.
    due = squared * (4 if query.mechanism == "exponential choice" else 1)
    if due <= Fraction(query.cost) ** 2 if pure else squared / 2 <= Fraction(query.cost):
        return []
    return [f"{query.what} of {query.view}: noise of scale {query.scale:.6g} costs more than the {query.cost:.6g} charged"]


def overspent(queries: Sequence[Query], budget: Budget) -> list[str]:
    """The sum of the charges against the budget of the plan."""
    total = float(sum(Fraction(query.cost) for query in queries))
    spent = total if budget.pure or not queries else epsilon_from_rho(total, budget.delta)
    if spent <= budget.epsilon * (1 + 1e-9):
        return []
    return [f"the charges add up to epsilon {spent:.6g}, the budget is {budget.epsilon:.6g}"]
