"""`tape_audit`: a whole fit on D, and again on D′ with the recorded answers. Does one entity show beyond what was paid for?

Recorded once on D; replayed for every removed entity. The second fit must ask the same questions with the same noise
scales, draw the same keys, tell the same progress and end in the same release file, and every exact answer must move by
no more than the sensitivity that its charge paid for. The recorded fit is also checked by itself: its account adds up
(`account_faults`), and no secret key stands in the release. Two more replays tell the same data otherwise (`variants`).

The account is made anew: what left the gate, by the tape, against what the ledger says was paid. Every answer on the tape has
its own charge in the ledger, every charge buys the noise that it got, and the sum fits the budget. The formulas are written down
here a second time on purpose: a slip in the accountant should not excuse itself.
"""

from __future__ import annotations

import json
import tempfile
import zipfile
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import sqrt
from pathlib import Path

from mare.errors import MareError
from mare.finding import HeldSource, Location, open_source
from mare.fitting import FitOptions, run_fit
from mare.fitting.fit import Listener
from mare.planning import Plan
from mare.ports import Source
from mare.privacy.bits import BitSource, SeededBits
from mare.privacy.budget import Budget
from mare.privacy.conversion import epsilon_from_rho
from mare.privacy.ledger import Charge, Ledger
from mare.privacy.tape import Counts, Entry, Moved, Query, Record, Recorder, Replayer, Tape, TapeMismatch, distance_squared
from mare.release import Release
from mare.stage import needs

from .entities import Ownership, named, ownership, worth_removing
from .report import AuditReport, QueryAudit, ReplayAudit
from .variants import WithoutEntity, reordered, repeated

MANY_TIMES, OTHER_ORDER = "every entity many times over", "rows, batches and columns in another order"


def tape_audit(
    plan: Plan,
    source: Location | Source,
    *,
    entities: Sequence[object] | None = None,
    random: int = 3,
    seed: int = 0,
    options: FitOptions | None = None,
    recorder: Recorder | None = None,
    retold: bool = False,
) -> AuditReport:
    """Fit the plan to the source and, once per removed entity, to the source without it. Internal, not private.

    ``entities`` names them by key (a value, or a tuple where the key has several columns); otherwise the heaviest, one with
    rare and one with extreme values and ``random`` others are chosen. The releases are thrown away. A ``recorder`` of one's
    own may let other answers out than the noise made: the guarantee is for whatever leaves, so small data can be
    taken where only the answers of large data lead. ``retold`` adds the two replays of the same data told otherwise.
    """
    options = options or FitOptions()
    with opened(plan, source) as (reader, owners):
        chosen = [named(key) for key in entities] if entities is not None else worth_removing(owners, random, seed)
        first = Recording.of(plan, reader, options, seed, recorder)
        audited = []
        for removed in chosen:
            neighbour = WithoutEntity(reader, owners, owners.removal(removed.entity))
            audited.append(ReplayAudit(removed.why, first.replayed(neighbour)))
        replays = first.retold(reader, owners) if retold else ()
    return first.report(audited, replays)


@contextmanager
def opened(plan: Plan, source: Location | Source) -> Iterator[tuple[HeldSource, Ownership]]:
    """One snapshot for all fits of an audit, and who owns what in it."""
    tables = needs(plan.schema, [planned.group for planned in plan.groups])
    with held(source) as reader, ownership(reader, plan.schema, tables) as owners:
        yield reader, owners


@contextmanager
def held(source: Location | Source) -> Iterator[HeldSource]:
    """The source, open for as long as the block lasts."""
    with open_source(source) as reader:
        yield HeldSource(reader)


def audited(options: FitOptions, bits: BitSource, tape: Tape, tell: Listener | None = None) -> FitOptions:
    """Options of a fit that is thrown away: nothing of it leaves, so no budget file pays for it and nobody is told."""
    return replace(options, bits=bits, tape=tape, tell=tell, notes=None, reserve=None)


@dataclass(eq=False)
class Recording:
    """The recorded fit: its tape, what it told, what it released. Replays of it add to how far its answers were moved."""

    plan: Plan
    options: FitOptions
    seed: int
    record: Record
    progress: list[str]
    """What the fit told of its progress."""
    release: Release
    released: Artefacts
    farthest: list[int] = field(init=False)
    """Of each query, the largest distance so far, squared."""

    def __post_init__(self) -> None:
        self.farthest = [0] * len(self.record.entries)

    @classmethod
    def of(cls, plan: Plan, source: Source, options: FitOptions, seed: int, recorder: Recorder | None = None) -> Recording:
        progress = list[str]()
        recorder = recorder or Recorder()
        release = run_fit(plan, source, audited(options, SeededBits(seed), recorder, progress.append))
        return cls(plan, options, seed, recorder.record, progress, release, artefacts(release))

    def replayed(self, source: Source, *, moved: Moved = "paid for") -> tuple[str, ...]:
        """Everything that the fit does otherwise on this source, beyond what may move."""
        progress: list[str] = []
        watch = Watch(Replayer(self.record, moved=moved))
        # Other bits than the first time: whatever is drawn beside the tape shows as a difference.
        again = audited(self.options, SeededBits(self.seed + 1), watch, progress.append)
        try:
            release = run_fit(self.plan, source, again)
            watch.replayer.finish()
        except TapeMismatch as mismatch:
            return mismatch.differences
        except MareError as error:
            return (f"the fit ended with {type(error).__name__}, the recorded one did not: {error}",)
        finally:
            if moved != "anywhere":
                for place, (entry, exact) in enumerate(zip(self.record.entries, watch.exact, strict=False)):
                    self.farthest[place] = max(self.farthest[place], _distance(entry, exact))
        before, now = self.released, artefacts(release)
        if moved == "not at all":
            before, now = in_any_column_order(before), in_any_column_order(now)
        differences = differing(before, now)
        if progress != self.progress:
            differences.append("the progress that was shown is not the same")
        return tuple(differences)

    def retold(self, reader: HeldSource, owners: Ownership) -> tuple[ReplayAudit, ...]:
        """The same data, every entity many times over and in another order: the fit may not notice."""
        many = self.replayed(repeated(reader, owners), moved="anywhere")
        order = self.replayed(reordered(reader, owners, self.seed), moved="not at all")
        return (ReplayAudit(MANY_TIMES, many), ReplayAudit(OTHER_ORDER, order))

    def report(self, entities: Sequence[ReplayAudit], retold: Sequence[ReplayAudit] = ()) -> AuditReport:
        queries = tuple(_query(entry, squared) for entry, squared in zip(self.record.entries, self.farthest, strict=True))
        faults = [
            *account_faults(self.record, self.release.ledger, self.plan.budget),
            *published(self.record.secrets, self.released),
            *(["the fit drew seeded noise and calls its release PRIVATE"] if self.release.status == "PRIVATE" else []),
        ]
        return AuditReport(queries, tuple(entities), tuple(faults), tuple(retold))


@dataclass(eq=False)
class Watch:
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


def account_faults(record: Record, ledger: Ledger, budget: Budget) -> list[str]:
    """Everything that does not add up; empty when all does."""
    queries = [entry.query for entry in record.entries]
    return [
        *_unpaid(queries, ledger.charges),
        *(fault for query in queries for fault in _underpaid(query, pure=budget.pure)),
        *_overspent(queries, budget),
    ]


def _unpaid(queries: Sequence[Query], charges: Sequence[Charge]) -> list[str]:
    """Every answer has its own charge, in the same order and of the same size."""
    paid = [(c.what, c.view, c.mechanism, c.sensitivity, c.scale, c.cost) for c in charges]
    # The tape counts in units of the answer, the ledger in rows.
    unit = [(q.sensitivity / q.denominator, q.scale / q.denominator) for q in queries]
    answered = [(q.what, q.view, q.mechanism, *in_rows, q.cost) for q, in_rows in zip(queries, unit, strict=True)]
    if paid == answered:
        return []
    return [f"{len(answered)} answers left and {len(paid)} charges are in the ledger, and they are not the same ones"]


def _underpaid(query: Query, *, pure: bool) -> list[str]:
    """What this noise costs by the definition of its mechanism, in fractions, against what was charged."""
    squared = Fraction(query.sensitivity_squared) / Fraction(query.scale) ** 2
    # Under (ε, δ) ρ = (Δ/scale)²/2 for the Gaussian and for a choice; under pure ε Δ/b for the Laplace, 2Δ/b for a choice.
    due = squared * (4 if query.mechanism == "exponential choice" else 1)
    if due <= Fraction(query.cost) ** 2 if pure else squared / 2 <= Fraction(query.cost):
        return []
    return [f"{query.what} of {query.view}: noise of scale {query.scale:.6g} costs more than the {query.cost:.6g} charged"]


def _overspent(queries: Sequence[Query], budget: Budget) -> list[str]:
    """The sum of the charges against the budget of the plan."""
    total = float(sum(Fraction(query.cost) for query in queries))
    spent = total if budget.pure or not queries else epsilon_from_rho(total, budget.delta)
    if spent <= budget.epsilon * (1 + 1e-9):
        return []
    return [f"the charges add up to epsilon {spent:.6g}, the budget is {budget.epsilon:.6g}"]


Artefacts = Mapping[str, bytes]


def artefacts(release: Release) -> Artefacts:
    """Every member of the release's file. Why it is NOT PRIVATE is left out of the ledger: it names the audit itself."""
    with tempfile.TemporaryDirectory(prefix="mare-audit-") as folder:
        path = Path(folder) / "audited.mare"
        release.save(path)
        with zipfile.ZipFile(path) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    ledger = json.loads(members["ledger.json"])
    del ledger["reasons"]
    return {**members, "ledger.json": json.dumps(ledger).encode()}


def in_any_column_order(released: Artefacts) -> Artefacts:
    """The same members with the columns of the tables that come out sorted: their order is the catalogue's."""
    document = json.loads(released["release.json"])
    for table in document["tables"]:
        table["columns"].sort(key=lambda column: column["name"])
    return {**released, "release.json": json.dumps(document).encode()}


def differing(before: Artefacts, now: Artefacts) -> list[str]:
    """Which members are not the same, and whether they come in another order."""
    changed = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    differences = [f"{name} of the release is not the same" for name in changed]
    if not changed and list(before) != list(now):
        differences.append("the members of the release come in another order")
    return differences


def published(secrets: Mapping[str, bytes], released: Artefacts) -> list[str]:
    """Secret keys of the fit that can be read in the release, as bytes or written out."""
    faults = []
    for name, secret in secrets.items():
        spelled: Sequence[bytes] = (secret, secret.hex().encode(), secret.hex().upper().encode(), b64encode(secret).rstrip(b"="))
        faults += [
            f"the secret key {name!r} of the fit is in {member} of the release"
            for member, content in released.items()
            if any(spelling in content for spelling in spelled)
        ]
    return faults
