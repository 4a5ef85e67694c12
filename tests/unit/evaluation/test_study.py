"""The study: fits with several budgets and with less history, thrown away, beside a hold-out; and it says what it is."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import pytest

import mare
from mare.errors import BudgetError, PlanError
from mare.evaluation.study import NOT_CHARGED, Study, may_look
from mare.graph.groups import HistoryColumn
from mare.graph.pdag import column_groups
from tests.clinic import Frames, changed, clinic, clinic_schema
from tests.page_tags import Balanced


def world() -> Frames:
    """A clinic whose wards depend on the patient, too."""
    frames = clinic(300, 1)
    women = set(frames["patients"].query("sex == 'F'")["pid"])
    return changed(frames, "stays", lambda stays: stays.assign(ward=stays["ward"].mask(stays["pid"].isin(women), "c")))


@cache
def studied() -> Study:
    return mare.study(clinic_schema(), world(), [5000, 20])


@pytest.mark.slow
def test_both_studies_are_there_beside_a_reference() -> None:
    found = studied()
    assert [tried.epsilon for tried in found.privacy] == [20, 5000]
    assert [tried.looks for tried in found.ablation] == ["no history", "inter-table", "sequential", "both"]
    assert {tried.epsilon for tried in found.ablation} == {20}
    assert found.entities == (240, 60)
    assert found.kinds == ("row", "ancestor", "previous", "sibling", "linked")


@pytest.mark.slow
def test_less_noise_comes_closer() -> None:
    little, much = studied().privacy
    for kind in studied().kinds:
        if kind not in ("sibling", "linked"):  # one pair or a few, as close as chance with either
            assert much.mean(kind, "tvd") < little.mean(kind, "tvd")


@pytest.mark.slow
def test_without_history_what_it_tells_is_lost() -> None:
    # At ε = 20 the noise on 240 patients is as large as what history tells: V is .0557 off with it and .0551 without.
    nothing, above, before, both = mare.study(clinic_schema(), world(), [100]).ablation
    assert before.mean("previous", "v_error") < nothing.mean("previous", "v_error")
    assert both.mean("ancestor", "tvd") < nothing.mean("ancestor", "tvd")
    assert above.mean("ancestor", "tvd") < nothing.mean("ancestor", "tvd")


@pytest.mark.slow
def test_the_same_seed_gives_the_same_study_and_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    again = mare.study(clinic_schema(), world(), [20], fits=2)
    assert again.privacy[0].fits[0] == studied().privacy[0].fits[0]
    assert again.privacy[0].fits[0] != again.privacy[0].fits[1]
    assert again.privacy[0].spread("row", "kl")[0] < again.privacy[0].spread("row", "kl")[1]
    assert "to 0." in again.to_html()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("looks", "past", "above"),
    [("no history", False, False), ("inter-table", False, True), ("sequential", True, False), ("both", True, True)],
)
def test_an_ablated_model_does_not_look(looks: str, past: bool, above: bool) -> None:
    history = [column for group in column_groups(clinic_schema()) for column in group.history]
    previous = [column for column in history if column.lag > 0]
    ancestors = [column for column in history if column.kind == "ancestor" and column.lag == 0]
    assert previous
    assert ancestors
    assert {may_look(column, looks) for column in previous} == {past}  # type: ignore[arg-type]
    assert {may_look(column, looks) for column in ancestors} == {above}  # type: ignore[arg-type]
    own = HistoryColumn("stays", "context", "count", "context")
    assert may_look(own, looks)  # type: ignore[arg-type]


@pytest.mark.slow
def test_it_says_that_the_choice_is_not_charged() -> None:
    found = studied()
    words, page, document = "\n".join(found.words()), found.to_html(), found.to_json()
    assert NOT_CHARGED in words
    assert NOT_CHARGED[1:] in page
    assert document["not_charged"] == NOT_CHARGED
    for told in (words, page, str(document["status"])):
        assert "internal, not private" in told
    parser = Balanced()
    parser.feed(page)
    assert not parser.open


def test_no_budget_and_no_fit_are_refused() -> None:
    with pytest.raises(PlanError, match="at least one ε"):
        mare.study(clinic_schema(), clinic(20), [])
    with pytest.raises(BudgetError):
        mare.study(clinic_schema(), clinic(20), [-1])
