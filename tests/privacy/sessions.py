"""Small sessions with a curator, for audits that need no database: the same questions with a canary there and gone."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from mare.audit import Session
from mare.codec.building import evenly, table_codec
from mare.domain import Axis, Domain, Marginal
from mare.graph.pdag import column_groups
from mare.privacy.bits import BitSource
from mare.privacy.budget import Budget
from mare.privacy.curator import Clip, Curator, Gate
from mare.privacy.ledger import Ledger
from mare.privacy.qualities import NormRank, Summed, Tvd, TvdToReleased
from mare.privacy.tape import Recorder, Replayer, Tape
from mare.privacy.view import PrivateView
from mare.schema import Schema
from mare.schema.loading import load_schema
from mare.stage import needs, stage
from mare.stage.raw_columns import StagedColumn, measured_column
from tests.even_grids import even_grid
from tests.memory_source import HOSPITAL, MemorySource, Rows
from tests.views import ArrayView, array_view

ZCDP, PURE = Budget(8, 1e-9), Budget(2, delta=0)
WARD, AGE, BOTH = Marginal.of("ward"), Marginal.of("age"), Marginal.of("ward", "age")
CANARY, CAP = 0, 6

Questions = Callable[[Curator], object]


def wards() -> ArrayView:
    """Entity 0 is the canary: all the rows of its cap in one cell that nobody else has. Entity 9 has no rows."""
    owner, ward, age = [CANARY] * CAP, [3] * CAP, [4] * CAP
    for entity in range(1, 9):
        owner += [entity] * (entity % 4)
        ward += [(entity + row) % 3 for row in range(entity % 4)]
        age += [(entity * row) % 4 for row in range(entity % 4)]
    domain = Domain.of([("ward", 4), ("age", 5)])
    return array_view(owner, {"ward": ward, "age": age}, domain, everyone=range(10), cap=CAP)


def asked(view: PrivateView, budget: Budget, questions: Questions) -> Session:
    """These questions, put to a curator that holds the whole budget."""

    def session(bits: BitSource, tape: Tape) -> Ledger:
        ledger = Ledger(budget, "one patient")
        questions(Gate(budget, ledger, bits, tape).curator(view, 1.0))
        return ledger

    return session


def usual(curator: Curator) -> object:
    """Sizes, two cross-tabs together, and two clipped ones."""
    return [curator.entities(0.1), curator.counts([WARD, AGE], 0.5), curator.counts([WARD, BOTH], 0.4, clip=Clip(2.0))]


def everything(curator: Curator) -> object:
    """Every kind of answer that a curator gives, once."""
    ward, age = Axis("ward"), Axis("age")
    to_released = TvdToReleased(ward, (age,), (1, 0, 0, 0)), TvdToReleased(age, (ward,), (1, 0, 0, 0, 0))
    judged = [Tvd(ward, (age,)), to_released[0], None]
    ranks = [NormRank((WARD,), bound, 1.0) for bound in (1.0, 3.0, float(CAP))]
    return [
        curator.entities(0.05),
        curator.counts([WARD, AGE], 0.15),
        curator.counts([WARD, BOTH], 0.15, clip=Clip(2.0)),
        curator.counts([AGE], 0.15, clip=Clip.chosen()),
        curator.counts([BOTH], 0.15, minimum=1),
        curator.counts([BOTH, WARD], 0.15, clip=Clip(2.0), minimum=1),
        curator.scores(judged, 0.1),
        curator.select(judged, 0.05, penalties=[0.0, 1.0, 0.0]),
        curator.select([Summed(to_released), None], 0.02),
        curator.select(ranks, 0.03),
    ]


@cache
def hospital(model: str = "independent") -> Schema:
    """The small hospital with this model for every group: whatever the default is, these tests know what is measured."""
    return load_schema(HOSPITAL.replace("entity: patients\n", f"entity: patients\nmodel: {model}\n"))


def learning(rows: Rows, budget: Budget = ZCDP) -> Session:
    """The wards of a hospital as a list of values, and the range of the ages: over true rows on the stage."""
    schema = hospital()
    tables = needs(schema, column_groups(schema))

    def session(bits: BitSource, tape: Tape) -> Ledger:
        ledger = Ledger(budget, "one patient")
        gate = Gate(budget, ledger, bits, tape)
        with stage(MemorySource.of(rows), tables, gate.secret("truncation")) as staged:
            codec = evenly(table_codec(schema, "patients", ["age"]))
            staged.read("patients", codec)
            ages = measured_column(staged, "patients", "age", "values", codec, 1)
            gate.learner(StagedColumn(staged, "stays", "ward", 3), 0.5, delta_share=1.0).categories(most=10, per_entity=1)
            gate.learner(ages, 0.5).histogram(even_grid(0, 120, 12))
        return ledger

    return session


def pair(questions: Questions = usual, budget: Budget = ZCDP) -> tuple[Session, Session]:
    """With the canary, and without it."""
    view = wards()
    return asked(view, budget, questions), asked(view.without(CANARY), budget, questions)


def replay_against(there: Session, gone: Session, bits: Callable[[int], BitSource]) -> tuple[Recorder, Ledger]:
    """Record one, replay the other; raises `TapeMismatch` when the canary shows beyond what was paid for."""
    recorder = Recorder()
    ledger = there(bits(1), recorder)
    replayer = Replayer(recorder.record)
    gone(bits(2), replayer)
    replayer.finish()
    return recorder, ledger
