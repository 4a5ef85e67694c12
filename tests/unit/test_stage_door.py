"""No true size gets into fitting: by what the stage door gives, by what fitting can name, by what crosses while a fit runs."""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from inspect import getmembers, isfunction
from types import FrameType, GeneratorType, ModuleType
from typing import Any, ClassVar, get_type_hints

import pytest

import mare.fitting
from mare.audit.variants import HeldSource
from mare.fitting import FitOptions, LocalNotes, run_fit
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.privacy.curator import Curator
from mare.privacy.learner import Learner
from mare.schema.loading import load_schema
from mare.stage.needs import Link, TableNeeds
from mare.stage_door import StageDoor
from tests.datasets import dataset, strange_keys
from tests.memory_source import MemorySource, hospital_rows, hospital_schema
from tests.privacy.checks_of_learning import BUDGET, NUMBERS, numbers
from tests.relations import related
from tests.unit.fitting.test_learning import SCHEMA, TYPES, rows

PAID = (Curator, Learner)
"""What answers only with noise, and against payment."""
PUBLIC = (type(None), StageDoor, TableNeeds, Link, str, tuple, GeneratorType)
"""Besides, fitting may get the door itself, and what staging will read: both are there before a row is."""


def test_every_verb_of_the_door_gives_nothing_back_or_what_has_to_be_paid() -> None:
    verbs = {name: verb for name, verb in getmembers(StageDoor, isfunction) if not name.startswith("_")}
    assert verbs
    given = {name: get_type_hints(verb)["return"] for name, verb in verbs.items()}
    assert {name: kind for name, kind in given.items() if kind not in (type(None), *PAID)} == {}


def test_the_door_shows_nothing_else() -> None:
    shown = [name for name in dir(StageDoor) if not name.startswith("_") and not isfunction(getattr(StageDoor, name))]
    assert shown == []
    with pytest.raises(AttributeError):
        StageDoor(None, None).entities_there = 7  # type: ignore[arg-type, attr-defined]


def _rooms() -> list[ModuleType]:
    return [import_module(f"mare.fitting.{found.name}") for found in pkgutil.iter_modules(mare.fitting.__path__)]


def test_fitting_can_name_nothing_of_the_stage_but_what_is_public() -> None:
    public = {"TableNeeds", "needs", "LocalNotes", "Cuts"}
    named = {
        (room.__name__, name)
        for room in _rooms()
        for name, value in vars(room).items()
        if str(getattr(value, "__module__", "")).startswith("mare.stage.") or getattr(value, "__name__", "") == "mare.stage"
    }
    assert {(room, name) for room, name in named if name not in public} == set()


@contextmanager
def crossing() -> Iterator[list[tuple[str, str, type]]]:
    """While this is open: whatever a function of the stage or its door gives back to a function of fitting."""
    crossed: list[tuple[str, str, type]] = []

    def watch(frame: FrameType, event: str, value: Any) -> None:
        if event != "return" or frame.f_back is None:
            return
        giver, taker = (str(one.f_globals.get("__name__")) for one in (frame, frame.f_back))
        if not taker.startswith("mare.fitting"):
            return
        if giver.startswith("mare.stage") or isinstance(frame.f_locals.get("self"), StageDoor):
            crossed.append((taker, frame.f_code.co_name, type(value)))

    sys.setprofile(watch)
    try:
        yield crossed
    finally:
        sys.setprofile(None)


def _fit_watched() -> list[tuple[str, str, type]]:
    """Fits that learn everything there is to learn, with keys that are chosen, and a public table that lacks keys."""
    association, references = related("association, the rest as rows"), related("public references")
    with crossing() as crossed:
        made = plan(load_schema(SCHEMA), Budget(40, 1e-6))
        run_fit(made, MemorySource.of(rows(), TYPES), FitOptions(bits=SeededBits(1), notes=lambda _: None))
        run_fit(plan(association, Budget(40, 1e-6)), dataset(association, seed=3, entities=10), FitOptions(bits=SeededBits(1)))
        run_fit(plan(load_schema(NUMBERS), BUDGET), numbers(), FitOptions(bits=SeededBits(1)))
        run_fit(plan(references, Budget(1e4, 1e-3)), strange_keys(references), FitOptions(bits=SeededBits(1)))
    return crossed


def test_nothing_but_curators_and_learners_crosses_while_a_fit_runs() -> None:
    crossed = _fit_watched()
    verbs = {name for name, _ in getmembers(StageDoor, isfunction) if not name.startswith("__")}
    assert verbs <= {verb for _, verb, _ in crossed}, "a verb of the door was not tried"
    assert {cross for cross in crossed if cross[2] not in (*PAID, *PUBLIC)} == set()


def test_a_door_that_lets_a_size_out_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    original = StageDoor.encode

    def telling(self: StageDoor, *args: Any) -> int:
        original(self, *args)
        return self._staged.entities

    monkeypatch.setattr(StageDoor, "encode", telling)
    association = related("association, the rest as rows")
    with crossing() as crossed:
        run_fit(plan(association, Budget(40, 1e-6)), dataset(association, seed=3, entities=10), FitOptions(bits=SeededBits(1)))
    assert int in {kind for _, _, kind in crossed}


class _Watched(HeldSource):
    """Knows which tables were read by fitting itself, and not by the stage for it."""

    by_fitting: ClassVar[set[str]] = set()

    def read(self, table: str, columns: Sequence[str]) -> Iterator[Any]:
        if str(sys._getframe(1).f_globals["__name__"]).startswith("mare.fitting"):
            self.by_fitting.add(table)
        return super().read(table, columns)


def test_fitting_itself_reads_public_tables_alone() -> None:
    schema = related("association, the rest as rows")
    _Watched.by_fitting.clear()
    source = _Watched(dataset(schema, seed=3, entities=10))
    run_fit(plan(schema, Budget(40, 1e-6)), source, FitOptions(bits=SeededBits(1)))
    assert _Watched.by_fitting == {name for name, table in schema.tables.items() if table.public}


class _Forgiving(HeldSource):
    unread: ClassVar[dict[str, int]] = {"stays.begins": 3}


def test_what_a_source_could_not_read_is_told_to_whoever_runs_the_fit_and_to_nobody_else() -> None:
    noted: list[LocalNotes] = []
    options = FitOptions(bits=SeededBits(1), notes=noted.append)
    release = run_fit(plan(hospital_schema(), Budget(2, 1e-9)), _Forgiving(MemorySource.of(hospital_rows(6))), options)
    assert [dict(notes.unread) for notes in noted] == [{"stays.begins": 3}]
    assert "unread" not in release.ledger.to_json()
