"""`tape_audit`: a whole fit on D, and again on D′ with the recorded answers. Does one entity show beyond what was paid for?

Recorded once on D; replayed for every removed entity. The second fit must ask the same questions with the same noise
scales, draw the same keys, tell the same progress and end in the same release file, and every exact answer must move by
no more than the sensitivity that its charge paid for. The recorded fit is also checked by itself: its account adds up
(`account`), and no secret key stands in the release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import sqrt
from pathlib import Path

from mare.errors import MareError
from mare.finding import Location, open_source
from mare.fitting import FitOptions, run_fit
from mare.fitting.fit import Told
from mare.planning import Plan
from mare.ports import Source
from mare.privacy.bits import BitSource, SeededBits
from mare.privacy.budget import Budget
from mare.privacy.tape import Counts, Entry, Query, Record, Recorder, Replayer, Tape, TapeMismatch, distance_squared
from mare.release import Release
from mare.stage import needs

from .account import account_faults
from .artefacts import Artefacts, artefacts, differing, published
from .entities import named, worth_removing
from .neighbour import HeldSource, WithoutEntity
from .ownership import Ownership, ownership
from .report import AuditReport, EntityAudit, QueryAudit


def tape_audit(
    plan: Plan,
    source: Location | Source,
    *,
    entities: Sequence[object] | None = None,
    random: int = 3,
    seed: int = 0,
    options: FitOptions | None = None,
    recorder: Recorder | None = None,
) -> AuditReport:
    """Fit the plan to the source and, once per removed entity, to the source without it. Internal, not private.

    ``entities`` names them by key (a value, or a tuple where the key has several columns); otherwise the heaviest, one with
    rare and one with extreme values and ``random`` others are chosen. The releases are thrown away. A ``recorder`` of one's
    own may let other answers out than the noise made: the guarantee is for whatever leaves, so small data can be
    taken where only the answers of large data lead.
    """
    options = options or FitOptions()
    with opened(plan, source) as (reader, owners):
        chosen = [named(key) for key in entities] if entities is not None else worth_removing(owners, random, seed)
        first = _Run.recorded(plan, HeldSource(reader), options, seed, recorder or Recorder())
        farthest = [0] * len(first.record.entries)
        audited = []
        for removed in chosen:
            neighbour = WithoutEntity(reader, owners, owners.removal(removed.entity))
            watch = _Watch(Replayer(first.record))
            differences = _replayed(plan, neighbour, options, seed, first, watch)
            for place, (entry, exact) in enumerate(zip(first.record.entries, watch.exact, strict=False)):
                farthest[place] = max(farthest[place], _distance(entry, exact))
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


def audited(options: FitOptions, bits: BitSource, tape: Tape, tell: Told | None = None) -> FitOptions:
    """Options of a fit that is thrown away: nothing of it leaves, so no budget file pays for it and nobody is told."""
    return replace(options, bits=bits, tape=tape, tell=tell, notes=None, reserve=None)


@dataclass(eq=False)
class _Run:
    """The recorded fit: its tape, what it told, what it released."""

    record: Record
    told: list[str]
    release: Release
    released: Artefacts

    @classmethod
    def recorded(cls, plan: Plan, source: Source, options: FitOptions, seed: int, recorder: Recorder) -> _Run:
        told = list[str]()
        release = run_fit(plan, source, audited(options, SeededBits(seed), recorder, told.append))
        return cls(recorder.record, told, release, artefacts(release))

    def faults(self, budget: Budget) -> list[str]:
        return [
            *account_faults(self.record, self.release.ledger, budget),
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
    again = audited(options, SeededBits(seed + 1), watch, told.append)
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


def _distance(entry: Entry, exact: Sequence[Counts]) -> int:
    """How far the exact answers of one charge are apart, squared. 0 where the shapes differ: the tape says so."""
    if not entry.query.listed and [a.shape for a in entry.exact] != [b.shape for b in exact]:
        return 0
    return distance_squared(entry.query, entry.exact, exact)


def _query(entry: Entry, squared: int) -> QueryAudit:
    """In rows (or entities), whatever the units of the answer."""
    query = entry.query
    paid, moved = sqrt(query.sensitivity_squared) / query.denominator, sqrt(squared) / query.denominator
    return QueryAudit(query.what, query.view, query.norm, paid, moved)
