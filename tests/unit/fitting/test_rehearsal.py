"""What earlier models draw of entities and of the rows below them is what a later one is told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mare.domain import Codes, Domain
from mare.fitting.rehearsal import ENTITIES, Rehearsal
from mare.graph.groups import ColumnGroup, GroupColumn, HistoryColumn, Part
from mare.release import SettledGroup

PARENTS = {"patients": None, "visits": "patients", "labs": "visits"}


class Drawing:
    """Draws one code everywhere, or its history's."""

    def __init__(self, column: str, look_at: str | None = None) -> None:
        self.column, self.look_at, self.asked = column, look_at, 0

    def sample(self, history: Codes, rng: np.random.Generator) -> Codes:
        self.asked += 1
        codes = history[self.look_at] if self.look_at else (np.arange(history.rows) % 3 == 0).astype(np.uint8)
        return Codes(history.rows, {self.column: codes})

    def arrays(self) -> dict[str, np.ndarray]:
        return {}


def group(table: str, part: Part, column: str, *history: HistoryColumn) -> SettledGroup:
    columns = (GroupColumn(column, "value", column),)
    seen = Domain.of([(str(one), 2) for one in history])
    return SettledGroup(ColumnGroup(table, part, columns, history), "any", {}, Domain.of([(column, 2)]), seen, 1, 10.0, 0.5)


SEX = HistoryColumn("patients", "rows", "sex", "ancestor")
COUNT = HistoryColumn("visits", "context", "count", "context")
PATIENTS = group("patients", "rows", "sex")
VISITS = group("visits", "context", "count", SEX)


def test_history_comes_as_the_earlier_model_draws_it() -> None:
    rehearsal = Rehearsal(PARENTS)
    rehearsal.know(PATIENTS, Drawing("sex"))
    seen = rehearsal.history(VISITS)
    assert seen is not None
    assert seen.rows == ENTITIES
    assert set(seen.columns) == {"patients.sex"}
    assert abs(seen["patients.sex"].mean() - 1 / 3) < 1e-4


def test_what_stands_once_for_each_is_drawn_from_what_was_drawn_before() -> None:
    rehearsal = Rehearsal({**PARENTS, "drugs": "patients"})
    rehearsal.know(PATIENTS, Drawing("sex"))
    rehearsal.know(VISITS, Drawing("count", "patients.sex"))
    seen = rehearsal.history(group("drugs", "context", "count", SEX, COUNT))
    assert seen is not None
    assert np.array_equal(seen["patients.sex"], seen["visits.context.count"])


def test_rows_below_are_told_nothing_until_it_is_known_how_many_there_are() -> None:
    rehearsal = Rehearsal(PARENTS)
    rehearsal.know(PATIENTS, Drawing("sex"))
    assert rehearsal.history(group("visits", "rows", "kind", SEX)) is None
    assert rehearsal.history(group("labs", "context", "count", SEX)) is None


def counted(table: str, *history: HistoryColumn) -> SettledGroup:
    """How many rows of a table each row above has: none to three."""
    seen = Domain.of([(str(one), 2) for one in history])
    columns = (GroupColumn("count", "count"),)
    return SettledGroup(ColumnGroup(table, "context", columns, history), "any", {}, Domain.of([("count", 4)]), seen, 1, 10.0, 0.5)


class Counting(Drawing):
    """Three rows for each whose history says so, none for the others; everything at random where nothing is looked at."""

    def sample(self, history: Codes, rng: np.random.Generator) -> Codes:
        codes = 3 * (history[self.look_at] if self.look_at else rng.random(history.rows) < 0.5)
        return Codes(history.rows, {self.column: codes.astype(np.uint8)})


def test_who_has_many_rows_stands_above_many() -> None:
    rehearsal = Rehearsal(PARENTS)
    rehearsal.know(PATIENTS, Drawing("sex"))
    rehearsal.know(counted("visits", SEX), Counting("count", "patients.sex"))
    seen = rehearsal.history(group("visits", "rows", "kind", SEX))
    assert seen is not None
    assert seen["patients.sex"].tolist() == [1] * (3 * -(-ENTITIES // 3))
    rehearsal.know(group("visits", "rows", "kind", SEX), Drawing("kind"))
    kind = HistoryColumn("visits", "rows", "kind", "ancestor")
    below = rehearsal.history(counted("labs", SEX, kind))
    assert below is not None
    assert set(below.columns) == {"patients.sex", "visits.kind"}


def test_of_a_table_that_hardly_anybody_has_rows_in_too_little_is_known() -> None:
    class Hardly(Drawing):
        def sample(self, history: Codes, rng: np.random.Generator) -> Codes:
            return Codes(history.rows, {"count": (np.arange(history.rows) % 1000 == 0).astype(np.uint8)})

    rehearsal = Rehearsal(PARENTS)
    rehearsal.know(PATIENTS, Drawing("sex"))
    rehearsal.know(counted("visits", SEX), Hardly("count"))
    assert rehearsal.history(group("visits", "rows", "kind", SEX)) is None


def test_groups_that_have_nothing_to_do_with_each_other_are_drawn_so() -> None:
    """From the same random numbers, who has many visits would have many drugs."""
    rehearsal = Rehearsal({**PARENTS, "drugs": "patients"})
    rehearsal.know(counted("visits"), Counting("count"))
    rehearsal.know(counted("drugs"), Counting("count"))
    both = (HistoryColumn(table, "context", "count", "context") for table in ("visits", "drugs"))
    seen = rehearsal.history(group("patients", "rows", "sex", *both))
    assert seen is not None
    assert abs(np.corrcoef(seen["visits.context.count"], seen["drugs.context.count"])[0, 1]) < 0.03


def test_nobody_is_asked_to_draw_for_nothing() -> None:
    drawing, rehearsal = Drawing("sex"), Rehearsal(PARENTS)
    rehearsal.know(PATIENTS, drawing)
    assert rehearsal.history(group("visits", "context", "count")) is None
    assert drawing.asked == 0


def test_previous_and_unknown_rows_are_not_taken_for_the_entity_s_own() -> None:
    rehearsal = Rehearsal(PARENTS)
    rehearsal.know(PATIENTS, Drawing("sex"))
    for other in (replace(SEX, lag=1, kind="previous"), replace(SEX, kind="reference", reference="referred_by")):
        assert rehearsal.history(group("visits", "context", "count", other)) is None


class Failing(Drawing):
    def sample(self, history: Codes, rng: np.random.Generator) -> Codes:
        raise MemoryError("so many rows at once")


class Straying(Drawing):
    def sample(self, history: Codes, rng: np.random.Generator) -> Codes:
        return Codes(history.rows, {self.column: np.full(history.rows, 2, dtype=np.uint8)})


def test_a_model_that_cannot_rehearse_costs_nobody_the_budget() -> None:
    for model in (Failing("sex"), Straying("sex"), Drawing("another")):
        rehearsal = Rehearsal(PARENTS)
        rehearsal.know(PATIENTS, model)
        assert rehearsal.history(VISITS) is None
