"""The tape audit's own reading of a fit: what it compares, what it reports, what it never shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest

from mare.audit import INTERNAL, AuditReport, QueryAudit, ReplayAudit, account_faults, tape_audit
from mare.audit.tape import artefacts, differing, published
from mare.domain import Domain
from mare.errors import BudgetError, SourceError
from mare.fitting import FitOptions, run_fit
from mare.planning import Plan
from mare.planning.planning import plan
from mare.ports import Source
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.privacy.ledger import Ledger
from mare.privacy.tape import Counts, Entry, Query, Record, Recorder
from mare.release import Release
from tests.memory_source import MemorySource, hospital_rows
from tests.privacy.sessions import PURE, ZCDP, everything, hospital, pair

tape_module = import_module("mare.audit.tape")

BUDGET = Budget(2, 1e-9)
SECRET = bytes(range(32))


def audited(**options: object) -> AuditReport:
    return tape_audit(plan(hospital(), BUDGET), MemorySource.of(hospital_rows(6)), **options)  # type: ignore[arg-type]


def test_the_report_tells_every_query_and_every_entity() -> None:
    report = audited(entities=[1, 2, "3"])
    assert report.passed
    assert [query.view for query in report.queries][:2] == ["patients.sizes", "stays.sizes"]
    assert [entity.why for entity in report.entities] == ["as asked"] * 3
    text = report.render()
    assert f"{len(report.queries)} queries compared" in text
    assert INTERNAL in text


def test_without_entities_nothing_moves_and_the_fit_itself_is_still_checked() -> None:
    report = audited(entities=[])
    assert report.passed
    assert report.tightest == 0


def test_an_entity_that_is_not_there_is_refused() -> None:
    with pytest.raises(SourceError, match="not in the source"):
        audited(entities=[99])


def test_an_audit_spends_nothing_from_a_budget_file_and_tells_nobody() -> None:
    def spend(budget: Budget, unit: str) -> None:
        raise BudgetError("the cap is reached")

    told: list[str] = []
    options = FitOptions(reserve=spend, tell=told.append, notes=lambda notes: told.append(str(notes)))  # type: ignore[arg-type]
    assert audited(entities=[1], options=options).passed
    assert told == []


def test_a_fault_and_a_difference_are_both_a_failure() -> None:
    query = QueryAudit("counts of x", "t.rows", "L2", 2.0, 3.0)
    wrong = AuditReport((query,), (ReplayAudit("the heaviest", ("moved too far",)), ReplayAudit("at random", ())))
    assert not wrong.passed
    assert wrong.tightest == 1.5
    assert wrong.differences == ("the heaviest: moved too far",)
    assert "THE GUARANTEE DOES NOT HOLD" in wrong.render()
    assert "- the heaviest: moved too far" in wrong.render()
    assert not AuditReport((), (), ("a key got out",)).passed
    assert AuditReport((), ()).passed


def test_members_that_differ_are_named_and_so_is_their_order() -> None:
    assert differing({"a": b"1", "b": b"2"}, {"a": b"1", "b": b"2"}) == []
    assert differing({"a": b"1", "b": b"2"}, {"a": b"1", "b": b"3"}) == ["b of the release is not the same"]
    assert differing({"a": b"1"}, {"a": b"1", "b": b"3"}) == ["b of the release is not the same"]
    assert differing({"a": b"1", "b": b"2"}, {"b": b"2", "a": b"1"}) == ["the members of the release come in another order"]


@pytest.mark.parametrize(
    "spelled", [bytes(range(32)), bytes(range(32)).hex().encode(), b"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"]
)
def test_a_secret_is_found_however_it_is_written(spelled: bytes) -> None:
    assert published({"truncation": SECRET}, {"x": b"before " + spelled + b" after"})
    assert not published({"truncation": SECRET}, {"x": b"before after"})


def test_artefacts_are_the_members_of_the_file_without_the_audits_own_traces() -> None:
    made, source = plan(hospital(), BUDGET), MemorySource.of(hospital_rows(4))
    recorder = Recorder()
    recorded = artefacts(run_fit(made, source, FitOptions(bits=SeededBits(1), tape=recorder)))
    assert {"release.json", "ledger.json", "schema.yaml", "models/0.safetensors"} <= set(recorded)
    assert b"reasons" not in recorded["ledger.json"]
    assert published(recorder.record.secrets, recorded) == []


def recorded_session(budget: Budget) -> tuple[Record, Ledger]:
    there, _ = pair(everything, budget)
    recorder = Recorder()
    return recorder.record, there(SeededBits(1), recorder)


@pytest.mark.parametrize("budget", [ZCDP, PURE], ids=["zcdp", "pure"])
def test_an_account_that_adds_up_has_no_faults(budget: Budget) -> None:
    assert account_faults(*recorded_session(budget), budget) == []


@pytest.mark.parametrize("budget", [ZCDP, PURE], ids=["zcdp", "pure"])
def test_an_answer_without_a_charge_is_a_fault(budget: Budget) -> None:
    record, ledger = recorded_session(budget)
    record.entries.append(record.entries[0])
    assert any("answers left and" in fault for fault in account_faults(record, ledger, budget))


@pytest.mark.parametrize("budget", [ZCDP, PURE], ids=["zcdp", "pure"])
def test_noise_that_is_smaller_than_its_charge_buys_is_a_fault(budget: Budget) -> None:
    record, ledger = recorded_session(budget)
    for place in range(len(record.entries)):
        entry = record.entries[place]
        shrunk = Entry(replace(entry.query, scale=entry.query.scale * 0.99), entry.exact, entry.released)
        changed = Record([*record.entries[:place], shrunk, *record.entries[place + 1 :]])
        assert any("costs more than" in fault for fault in account_faults(changed, ledger, budget)), entry.query.what


@pytest.mark.parametrize("budget", [ZCDP, PURE], ids=["zcdp", "pure"])
def test_more_than_the_budget_is_a_fault(budget: Budget) -> None:
    record, ledger = recorded_session(budget)
    record.entries += record.entries
    assert any("the charges add up to" in fault for fault in account_faults(record, ledger, budget))


def second_fit(monkeypatch: pytest.MonkeyPatch, does: Callable[[FitOptions], None]) -> None:
    """The fit without the entity does something that the recorded one did not."""
    fits: list[FitOptions] = []

    def fit(made: Plan, source: Source, options: FitOptions) -> Release:
        fits.append(options)
        if len(fits) > 1:
            does(options)
        return run_fit(made, source, options)

    monkeypatch.setattr(tape_module, "run_fit", fit)


def test_progress_that_tells_something_else_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def tells(options: FitOptions) -> None:
        assert options.tell is not None
        options.tell("5 patients")

    second_fit(monkeypatch, tells)
    assert audited(entities=[1]).differences == ("as asked: the progress that was shown is not the same",)


def test_an_error_that_only_one_of_the_two_meets_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(options: FitOptions) -> None:
        raise SourceError("too few patients")

    second_fit(monkeypatch, fails)
    (difference,) = audited(entities=[1]).differences
    assert "ended with SourceError, the recorded one did not: too few patients" in difference


def test_an_answer_of_another_shape_is_found_and_has_no_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    from mare.stage import Staged

    def widens(options: FitOptions) -> None:
        monkeypatch.setattr(Staged, "rows_view", lambda self, *args: _wider(original(self, *args)))

    def _wider(view: Any) -> Any:
        return replace(view, domain=Domain(view.domain.names, tuple(size + 1 for size in view.domain.sizes)))

    original = Staged.rows_view
    second_fit(monkeypatch, widens)
    report = audited(entities=[1])
    assert any("was shaped" in difference for difference in report.differences)
    (sizes,) = (query for query in report.queries if query.view == "stays.sizes")
    assert sizes.moved == 0


def test_a_recorder_of_ones_own_leads_the_fit_elsewhere_and_the_audit_follows() -> None:
    """As if there were a million patients: the answers that are let out are not those of the noise, and nothing shows."""

    class Many(Recorder):
        def answer(self, query: Query, exact: Sequence[Counts], release: Callable[[], list[Counts]]) -> list[Counts]:
            released = super().answer(query, exact, release)
            if query.what == "number of entities":
                released = [values + 1_000_000 for values in released]
                last = self.record.entries[-1]
                self.record.entries[-1] = Entry(last.query, last.exact, tuple(released))
            return released

    recorder = Many()
    assert audited(entities=[1], recorder=recorder).passed
    plain = Recorder()
    audited(entities=[1], recorder=plain)
    scales = [[entry.query.scale for entry in tape.record.entries] for tape in (recorder, plain)]
    assert scales[0] != scales[1]  # shares follow the number of entities
