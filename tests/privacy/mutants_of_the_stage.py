"""Planted bugs in the stage and in the fit: who owns what, what is cut, what is told beside the answers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import mare.fitting.learning as learning_module
import mare.privacy.curator as curator_module
from mare.codec import LearnedValues
from mare.fitting.noisy_sizes import Sizes
from mare.privacy.answers.counts import NoisySize
from mare.privacy.curator import Gate
from mare.privacy.stable_keys import UNIT
from mare.stage import Staged, StagedView, TableNeeds
from mare.stage.raw_columns import StagedColumn
from mare.stage.staged import ROWS
from mare.stage_door import StageDoor
from tests.privacy import checks, checks_of_learning
from tests.privacy.planting import planted
from tests.privacy.seams import change_rows, change_stage, fit_module


@planted("no truncation", checks.hospital_passes_the_tape, "the cap does not hold")
def no_truncation(patch: pytest.MonkeyPatch) -> None:
    """The cap is declared and not enforced: an entity moves the counts by as many rows as it has (leak 3)."""
    change_stage(patch, needs=lambda needs: replace(needs, max_rows=10**6, max_per_entity=None))


@planted("no truncation, and the view lies about it", checks.hospital_passes_the_tape, "one entity moves it by")
def no_truncation_unnoticed(patch: pytest.MonkeyPatch) -> None:
    """As above, with the gate's own assertion blinded: the tape is the second line."""
    no_truncation(patch)
    patch.setattr(StagedView, "largest_entity", lambda self: 0)


@planted("unstable truncation", checks.hospital_passes_the_tape, "one entity moves it by")
def unstable_truncation(patch: pytest.MonkeyPatch) -> None:
    """Which rows are kept depends on other entities, so one entity moves the rows of all that follow (leak 3)."""
    change_rows(patch, lambda rows, needs: rows if needs.parent is None else sorted(rows, key=str)[::3])


@planted("rows of cut parents become entities", checks.rows_of_cut_parents_stay_their_entitys, "one entity moves it by")
def orphans_of_the_caps(patch: pytest.MonkeyPatch) -> None:
    """A row whose parent a cap took away is taken for an orphan, hence for an entity: it escapes its entity's cap (leak 7)."""

    def cut_first(rows: list[dict[str, Any]], needs: TableNeeds) -> list[dict[str, Any]]:
        if needs.parent is None or not needs.key:
            return rows
        rows = sorted(rows, key=str)
        parents = [tuple(row[name] for name in needs.foreign) for row in rows]
        return [row for place, row in enumerate(rows) if parents[:place].count(parents[place]) < needs.max_rows]

    change_rows(patch, cut_first)


@planted("rows without an owner are counted", checks.rows_without_an_owner_change_nothing, "nobody protects them")
def owners_for_orphans(patch: pytest.MonkeyPatch) -> None:
    """A row with a NULL or dangling parent belongs to nobody, and is counted without protection (leak 7)."""
    keys: dict[str, list[object]] = {}

    def owned(rows: list[dict[str, Any]], needs: TableNeeds) -> list[dict[str, Any]]:
        if needs.parent is None:
            keys[needs.name] = sorted(row[needs.key[0]] for row in rows)
            return rows
        (foreign,) = needs.foreign
        known = keys[needs.parent]
        return [row if row[foreign] in known else {**row, foreign: known[0]} for row in rows]

    change_rows(patch, owned)


@planted("per-row sensitivity", checks.hospital_passes_the_tape, "one entity moves it by")
def per_row_sensitivity(patch: pytest.MonkeyPatch) -> None:
    """The noise protects one row; an entity has up to S of them (sensitivities)."""
    original = Staged.view
    patch.setattr(Staged, "view", lambda self, *args: replace(original(self, *args), max_rows_per_entity=1))
    patch.setattr(StagedView, "largest_entity", lambda self: 0)


@planted("wrong adjacency: the number of entities is public", checks.hospital_passes_the_tape, "scale was|is not the same")
def public_number_of_entities(patch: pytest.MonkeyPatch) -> None:
    """Under replacement n never changes, so it is told without noise; under add/remove it gives each entity away (leak 1)."""
    patch.setattr(
        curator_module, "answer_entities", lambda till, *_: NoisySize(till.view.entities(), "discrete laplace", 1.0, 1.0, 0.0)
    )


@planted("true n in the shares", checks.hospital_passes_the_tape, "scale was")
def true_sizes(patch: pytest.MonkeyPatch) -> None:
    """The budget is split by true row counts, so every noise scale tells them (leak 1)."""
    original = fit_module.measure_sizes

    def measure(door: StageDoor, *args: Any) -> Sizes:
        noisy, tables = original(door, *args), door._staged.tables
        return replace(noisy, tables={name: max(1.0, float(len(table.entity))) for name, table in tables.items()})

    patch.setattr(fit_module, "measure_sizes", measure)


@planted("rows by entity, counted over its end", checks.hospital_passes_the_tape, "one entity moves it by")
def rows_of_others(patch: pytest.MonkeyPatch) -> None:
    """An entity's rows are added up with those of the entities before it: whoever leaves moves all cells (sensitivities)."""
    original = Staged.rows_view

    def running(self: Staged, *args: Any) -> Any:
        view = original(self, *args)
        added = np.cumsum(view.columns[ROWS]) % view.domain.size(ROWS)
        return replace(view, columns={ROWS: added.astype(view.columns[ROWS].dtype)})

    patch.setattr(Staged, "rows_view", running)


@planted("a true count in a released file", checks.hospital_passes_the_tape, "ledger.json of the release is not the same")
def true_count_in_the_ledger(patch: pytest.MonkeyPatch) -> None:
    """A line meant for the screen ends up in the ledger (leak 10)."""
    original = fit_module.measure_sizes

    def measure(door: StageDoor, *args: Any) -> Sizes:
        door._gate.ledger.declare(f"{door._staged.entities} patients were read")
        return original(door, *args)

    patch.setattr(fit_module, "measure_sizes", measure)


@planted(
    "the truncation key is published",
    checks.hospital_passes_the_tape,
    "the secret key 'truncation' of the fit is in ledger.json",
)
def published_key(patch: pytest.MonkeyPatch) -> None:
    """Who has the key can work out which rows were kept (leak 3)."""
    original = Gate.secret

    def secret(self: Gate, name: str) -> bytes:
        key = original(self, name)
        self.ledger.declare(f"rows were kept in the order of a hash with the key {key.hex()}")
        return key

    patch.setattr(Gate, "secret", secret)


@planted("data-driven domain", checks.hospital_passes_the_tape, "the answer was shaped")
def data_driven_domain(patch: pytest.MonkeyPatch) -> None:
    """The categories are those that occur: one with a single patient comes and goes with that patient (leak 2)."""
    original = Staged.view

    def seen(self: Staged, group: Any, columns: Any, history: Any, *args: Any) -> StagedView:
        view = original(self, group, columns, history, *args)
        sizes = [int(view._codes(name).max(initial=0)) + 1 for name in view.domain]
        return replace(view, domain=type(view.domain)(view.domain.names, tuple(sizes)))

    patch.setattr(Staged, "view", seen)


@planted("cells in the order of appearance", checks.hospital_passes_the_tape, "one entity moves it by")
def order_of_appearance(patch: pytest.MonkeyPatch) -> None:
    """Codes are numbered as they are met in the data, so the order of the cells tells who came first (leak 4)."""
    original = StagedView._codes

    def numbered(self: StagedView, name: str) -> Any:
        codes = original(self, name)
        _, first, place = np.unique(codes, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[place].astype(codes.dtype)

    patch.setattr(StagedView, "_codes", numbered)


@planted("fan-out", checks.hospital_passes_the_tape, "one entity moves it by")
def fan_out(patch: pytest.MonkeyPatch) -> None:
    """A patient's own columns are counted once per stay, with the patient's cap of one row (sensitivities)."""
    original = Staged.view

    def joined_down(self: Staged, group: Any, *args: Any) -> StagedView:
        view = original(self, group, *args)
        first, below, *_ = self.tables
        if group.table != first:
            return view
        stays = np.bincount(self.tables[below].entity, minlength=self.entities)
        rows = np.repeat(np.arange(len(view.owner)), np.maximum(1, stays[view.owner]))
        columns = {name: view._codes(name)[rows] for name in view.domain}
        return replace(view, owner=view.owner[rows], columns=columns, memory=0)

    patch.setattr(Staged, "view", joined_down)
    patch.setattr(StagedView, "largest_entity", lambda self: 0)


@planted("learned categories counted by rows", checks.learning_passes_the_tape, "one entity counts more than once")
def values_counted_by_rows(patch: pytest.MonkeyPatch) -> None:
    """An entity lifts its own value over the threshold by repeating it (leak 2)."""

    def keys(self: StagedColumn, most: int, key: bytes) -> dict[int, dict[str, int]]:
        values = self.staged.values(self.table)[self.column].to_pylist()
        return {1: dict(Counter(str(value) for value in values if value is not None))}

    patch.setattr(StagedColumn, "keys", keys)


@planted("learned categories, any number per entity", checks.learning_passes_the_tape, "where it may name 1 to")
def any_number_of_values(patch: pytest.MonkeyPatch) -> None:
    """An entity names more than k₀ values, and one of them comes through more often than δ says (leak 2)."""
    original = StagedColumn.keys
    patch.setattr(StagedColumn, "keys", lambda self, most, key: original(self, 1000, key))


@planted(
    "learned categories, a full voice for each value",
    checks_of_learning.lists_two_levels_down_pass_the_tape,
    "one entity moves it by",
)
def full_voices(patch: pytest.MonkeyPatch) -> None:
    """Whoever names t values speaks for each as if it were the only one, and moves the list by √t (leak 2)."""
    patch.setattr("mare.privacy.stable_keys.shared_weight", lambda named: UNIT)


@planted(
    "a difference from somebody else's number", checks_of_learning.numbers_near_others_pass_the_tape, "one entity moves it by"
)
def numbers_of_others(patch: pytest.MonkeyPatch) -> None:
    """The first number of a patient is held against the last one of the patient before, who may not be there (sensitivities)."""
    patch.setattr("mare.stage.raw_columns.follows_a_row", lambda rows: np.arange(len(rows.position)) > 0)


@planted(
    "names of codes from the data", checks_of_learning.codes_and_their_names_pass_the_tape, "release.json of the release is not"
)
def names_looked_up(patch: pytest.MonkeyPatch) -> None:
    """Codes are learned, and their names are those that stand beside them: one of a single patient comes out (leak 2)."""
    original = learning_module.learn_values

    def learn(door: StageDoor, table: str, name: str, *args: Any) -> LearnedValues:
        found, staged = original(door, table, name, *args), door._staged
        if name not in staged.tables[table].needs.beside:
            return found
        return LearnedValues(tuple(sorted(staged.values(table)[name].drop_null().unique().to_pylist())))

    patch.setattr(learning_module, "learn_values", learn)
