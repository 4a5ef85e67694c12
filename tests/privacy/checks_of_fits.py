"""More parts of the suite that planted bugs must turn red: the tape over the benchmark's configuration, over lists beyond
their caps, over shared rows, and over axes that look back or see less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import pyarrow as pa

from mare.audit import account_faults, tape_audit
from mare.audit.tape import MANY_TIMES, OTHER_ORDER
from mare.domain import Axis, Coarsening, Domain, Marginal
from mare.fitting import FitOptions, run_fit
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.privacy.curator import Clip, Curator
from mare.privacy.qualities import Tvd
from mare.privacy.tape import Counts, Query, Record, Recorder, Replayer
from mare.schema.loading import load_schema
from tests.memory_source import MemorySource, Rows, hospital_rows
from tests.privacy.benchmark import STUFFED, Copies, benchmark_plan, patients, source, with_stuffed
from tests.privacy.sessions import CANARY, CAP, PURE, ZCDP, asked, hospital, replay_against
from tests.views import ArrayView, array_view


@cache
def _benchmark() -> tuple[MemorySource, int]:
    """A dozen patients, and one with more admissions than the cap allows. Also, the key of one like any other."""
    frames = with_stuffed(patients(12), admissions=41, transfers=4)
    return source(frames), int(frames["admissions"]["subject_id"].iloc[0])


def benchmark_passes_the_tape(seeds: Sequence[int] = (1,)) -> None:
    """The whole fit as the benchmark runs it, on the way that 100,000 patients would take it. Two leave: the one beyond every
    cap, and one like any other. Which columns look back follows from the noise: several ``seeds`` may be tried."""
    data, anyone = _benchmark()
    for seed in seeds:
        report = tape_audit(benchmark_plan(), data, entities=[STUFFED, anyone], recorder=Copies(times=8000, seed=seed))
        assert report.passed, report.render()


LISTS = """
mare: 1
entity: p
model: independent
tables:
  p: {key: id, columns: {x: {type: category, values: [a, b]}}}
  c:
    key: id
    parent: {table: p, column: up, max_rows: 2, keep: random, max_per_entity: 2}
    columns: {x: {type: integer, min: 0, max: 9, bins: 10}}
  d:
    parent: {table: c, column: up, max_rows: 2, keep: random, max_per_entity: 3}
    columns: {x: {type: integer, min: 0, max: 9, bins: 10}}
"""


def _lists() -> MemorySource:
    """Everybody has lists beyond the caps, and all their rows differ: another row kept is another cell."""
    people = range(6)
    rows: Rows = {
        "p": [{"id": p, "x": "a"} for p in people],
        "c": [{"id": 10 * p + n, "up": p, "x": n} for p in people for n in range(6)],
        "d": [{"up": 10 * p + n, "x": m} for p in people for n in range(6) for m in range(8)],
    }
    number = pa.int64()
    types = {
        "p": {"id": number, "x": pa.string()},
        "c": {"id": number, "up": number, "x": number},
        "d": {"up": number, "x": number},
    }
    return MemorySource.of(rows, types)


def lists_pass_the_tape() -> None:
    """Which rows stay is decided inside the entity: whoever leaves takes their own rows along, and nobody else's."""
    report = tape_audit(plan(load_schema(LISTS), Budget(2, 1e-9)), _lists(), entities=[0, 3])
    assert report.passed, report.render()


class _OtherKey(Replayer):
    """The same answers again, and another key: what then differs between two fits is the key's doing."""

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        self.exact: list[list[object]] = []

    def answer(self, query: Query, exact: Sequence[Counts], release: Callable[[], list[Counts]]) -> list[Counts]:
        self.exact += [table.tolist() for table in exact]
        return super().answer(query, exact, release)

    def secret(self, name: str, draw: Callable[[], bytes]) -> bytes:
        return bytes(255 - byte for byte in super().secret(name, draw))


def another_key_keeps_other_rows() -> None:
    """Which rows a cap keeps depends on a key that the fit drew."""
    made, recorder = plan(load_schema(LISTS), Budget(2, 1e-9)), Recorder()
    run_fit(made, _lists(), FitOptions(bits=SeededBits(1), tape=recorder))
    other = _OtherKey(recorder.record)
    run_fit(made, _lists(), FitOptions(bits=SeededBits(1), tape=other))
    kept = [table.tolist() for entry in recorder.record.entries for table in entry.exact]
    assert other.exact != kept, "another key kept the same rows: nothing secret decides which"


HOMES = """
mare: 1
entity: people
tables:
  people:
    key: pid
    columns: {sex: {type: category, values: [F, M]}}
    references: {home_id: {kind: owned, table: homes, nullable: true}}
  homes: {key: home_id, columns: {region: {type: category, values: [north, south]}}}
"""


def shared_rows_pass_the_tape() -> None:
    """Three people live in each of two homes: a home is each one's own, and leaves with each. Seen in joint tables, by sex."""
    rows: Rows = {
        "people": [{"pid": p, "sex": "FM"[p % 2], "home_id": p // 3 if p < 6 else None} for p in range(8)],
        "homes": [{"home_id": 0, "region": "north"}, {"home_id": 1, "region": "south"}, {"home_id": 2, "region": "south"}],
    }
    number, text = pa.int64(), pa.string()
    types = {"people": {"pid": number, "sex": text, "home_id": number}, "homes": {"home_id": number, "region": text}}
    made = plan(load_schema(HOMES), Budget(2, 1e-9))
    report = tape_audit(made, MemorySource.of(rows, types), entities=list(range(7)), recorder=Copies(times=10_000))
    assert report.passed, report.render()


def sequences() -> ArrayView:
    """Sequences of four, in codes that say whose they are; the canary stands in the middle, and is as long as the cap."""
    owner, ward = [], []
    for entity in range(8):
        length = CAP if entity == CANARY + 3 else entity % 4
        owner += [entity] * length
        ward += [(entity + row // 2) % 6 for row in range(length)]
    level = Coarsening([0, 0, 1, 1, 2, 2], 3)  # type: ignore[arg-type]
    return array_view(owner, {"ward": ward}, Domain.of([("ward", 6)]), everyone=range(8), cap=CAP, coarsenings={"ward": (level,)})


def looking_back(curator: Curator) -> object:
    """Every kind of axis: the row itself, the row before, two before, "same as before", and a level of each."""
    here, before, earlier = Axis("ward"), Axis("ward", lag=1), Axis("ward", lag=2)
    same, coarse, coarse_before = Axis("ward", same_as_lag=1), Axis("ward", level=1), Axis("ward", lag=1, level=1)
    coarse_same = Axis("ward", level=1, same_as_lag=1)
    return [
        curator.counts([Marginal((here, before)), Marginal((same,)), Marginal((coarse, coarse_before))], 0.3),
        curator.counts([Marginal((coarse_same, earlier))], 0.2, clip=Clip(2.0)),
        curator.counts([Marginal((here, same))], 0.2),
        curator.scores([Tvd(here, (before,)), Tvd(same, (coarse_before,)), Tvd(coarse, (earlier,), (before,))], 0.2),
    ]


def looking_back_passes_the_tape() -> None:
    """Lags, "same as before" and levels: whoever leaves, what others' rows look back at is theirs."""
    view = sequences()
    for budget in (ZCDP, PURE):
        for gone in (CANARY + 3, 2, 7):
            pair = asked(view, budget, looking_back), asked(view.without(gone), budget, looking_back)
            recorder, ledger = replay_against(*pair, SeededBits)
            faults = account_faults(recorder.record, ledger, budget)
            assert not faults, faults


@cache
def _told_otherwise() -> MemorySource:
    """Ties in the order, rows that are there twice, NULLs and lists beyond their caps: whatever another order could move."""
    rows = hospital_rows(patients=24, heaviest=9)
    rows["stays"] += [{**stay, "sid": 9000 + n} for n, stay in enumerate(rows["stays"][:12])]
    rows["stays"] += [{**rows["stays"][-1], "sid": 9500, "begins": None}, {**rows["stays"][-1], "sid": 9501, "begins": None}]
    return MemorySource.of(rows)


def _retold(why: str) -> None:
    for model in ("independent", "privbayes"):
        report = tape_audit(plan(hospital(model), Budget(2, 1e-9)), _told_otherwise(), entities=[], retold=True)
        (replay,) = (replay for replay in report.retold if replay.why == why)
        assert replay.passed, report.render()


def many_copies_pass_the_tape() -> None:
    """Every patient many times over, the released answers as before: a true n shows, also where a clamp or a step hides one
    patient more or less."""
    _retold(MANY_TIMES)


def another_order_passes_the_tape() -> None:
    """Rows, batches and columns in another order: nothing at all may be another."""
    _retold(OTHER_ORDER)


CHECKS = (
    benchmark_passes_the_tape,
    lists_pass_the_tape,
    another_key_keeps_other_rows,
    shared_rows_pass_the_tape,
    looking_back_passes_the_tape,
    many_copies_pass_the_tape,
    another_order_passes_the_tape,
)
