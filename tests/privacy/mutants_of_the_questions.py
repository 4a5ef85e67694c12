"""Planted bugs in the newer questions (docs/decisions/0022): sums of scores, rows by entity, keys and values without a code of
their own, how round numbers are, identifiers that rows share, the row beside. What once survived came first.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import mare.codec.elapsed as elapsed_module
import mare.fitting.learning as learning_module
import mare.privacy.answers.judging as judging_module
import mare.privacy.answers.scoring as scoring_module
import mare.privacy.answers.selecting as selecting_module
import mare.stage.raw_columns as raw_columns
import mare.stage.staged as staged_module
from mare.codec import LearnedValues
from mare.codec.bins import roundness
from mare.codec.ordinal import NULL, SpecialValues
from mare.codec.rhythm import days_of
from mare.domain import Domain, smallest_dtype
from mare.fitting.public_keys import ChosenKeys
from mare.privacy.qualities import Summed
from mare.privacy.till import Till
from mare.relational.placing import NOWHERE, STRANGER, PlacedTables
from mare.relational.relations import NEW, SAME, run_codes
from mare.stage import Staged, StagedView
from mare.stage.staged import ROWS
from tests.privacy import checks_of_noise, checks_of_questions
from tests.privacy.planting import planted
from tests.privacy.seams import fit_module

Integers = NDArray[np.int64]
SHOWS = "entity 7 shows|entity 0 shows|many times over|another order"

# ---------------------------------------------------------------------- sums of scores


@planted(
    "conditional scores in a sum at the price of released ones",
    checks_of_questions.sums_of_scores_pass_the_tape,
    "one entity moves it by",
)
def sums_of_conditionals(patch: pytest.MonkeyPatch) -> None:
    """A part of a sum is taken to move by one; a conditional one moves by two (sensitivities)."""
    original = judging_module._judged

    def judged(till: Till, candidate: Any, mass: int, where: str) -> Any:
        found = original(till, candidate, mass, where)
        return replace(found, sensitivity=len(found.parts) * mass) if isinstance(candidate, Summed) else found

    patch.setattr(judging_module, "_judged", judged)


@planted(
    "a sum is known by its first part", checks_of_questions.public_numbers_of_sums_are_compared, "did not match|DID NOT RAISE"
)
def first_part_alone(patch: pytest.MonkeyPatch) -> None:
    """An audit does not see that the other parts of a sum are held against true numbers (how it is tested)."""
    original = judging_module.fingerprint

    def fingerprint(judged: Any, penalties: Integers) -> str:
        first = [
            replace(one, candidate=replace(one.candidate, parts=one.candidate.parts[:1])) if one.parts else one for one in judged
        ]
        return original(first, penalties)

    for module in (scoring_module, selecting_module):
        patch.setattr(module, "fingerprint", fingerprint)


# ---------------------------------------------------------------------- rows that look at others


@planted("the same number as before, whoever's row that is", checks_of_questions.rows_beside_pass_the_tape, "DOES NOT HOLD")
def runs_of_anybody(patch: pytest.MonkeyPatch) -> None:
    """The first row of a person goes on with the basket of whoever stands before (leak 3)."""
    patch.setattr(
        staged_module,
        "run_codes",
        lambda values, there, parent, *, nullable: run_codes(values, there, np.zeros_like(parent), nullable=nullable),
    )


@planted("a number that anybody had before is no new one", checks_of_questions.rows_beside_pass_the_tape, "DOES NOT HOLD")
def numbers_of_anybody(patch: pytest.MonkeyPatch) -> None:
    """An identifier is new only where nobody has it: whoever had it first leaves, and another one is new (leak 8)."""

    def codes(values: Integers, there: NDArray[np.bool_], parent: Integers, *, nullable: bool) -> Any:
        found = run_codes(values, there, parent, nullable=nullable)
        first = np.isin(np.arange(len(values)), np.unique(values, return_index=True)[1])
        return np.where((found == NEW) & ~first, SAME, found).astype(found.dtype)

    patch.setattr(staged_module, "run_codes", codes)


@planted("the row beside is the next person's", checks_of_questions.rows_beside_pass_the_tape, "DOES NOT HOLD")
def beside_the_next(patch: pytest.MonkeyPatch) -> None:
    """Whose list is shorter looks on into the list of whoever stands next (leak 8)."""

    def beside(self: PlacedTables, group: Any, sibling: str, index: Integers) -> Integers:
        above = self.climb(index, self.space(group.table, group.part), self.space(sibling, "context"))
        there = self.tables[sibling].parent
        first, end = np.searchsorted(there, above), np.searchsorted(there, above, side="right")
        wanted = end - 1 if group.part == "context" else first + self.tables[group.table].position[index]
        return np.where(first < end, np.minimum(wanted, len(there) - 1), NOWHERE)

    patch.setattr(PlacedTables, "_beside", beside)


# ---------------------------------------------------------------------- rows by entity


@planted("rows by parent at the price of rows by entity", checks_of_questions.questions_pass_the_tape, SHOWS)
def rows_by_parent(patch: pytest.MonkeyPatch) -> None:
    """Each row above has a cell of its own, so an entity moves as many as it has of these (sensitivities)."""

    def view(self: Staged, name: str, table: str, entity: str, starts: Any) -> StagedView:
        held, above = self.tables[table], self.tables[self.placed.space(table, "context")]
        codes = (np.searchsorted(np.asarray(starts), held.counts, side="right") - 1).astype(smallest_dtype(len(starts)))
        owner = above.entity[above.counted_rows]
        return StagedView(name, Domain((ROWS,), (len(starts),)), 1, self.entities, owner, {ROWS: codes[above.counted_rows]})

    patch.setattr(Staged, "rows_view", view)
    patch.setattr(StagedView, "largest_entity", lambda self: 0)


@planted("cells of rows by entity end with the heaviest", checks_of_questions.questions_pass_the_tape, SHOWS)
def cells_of_the_heaviest(patch: pytest.MonkeyPatch) -> None:
    """How many cells there are follows from the most rows that anybody has (leak 2)."""
    _while_sizes_are_measured(patch, "_starts", lambda original, most, heaviest, _: original(min(most, heaviest)))


@planted("what sizes cost follows from the true number of entities", checks_of_questions.questions_pass_the_tape, SHOWS)
def sizes_at_a_true_price(patch: pytest.MonkeyPatch) -> None:
    """The share that sizes get tells how many there are (leak 1)."""
    patched = fit_module.measure_sizes.__globals__["_wanted"]
    _while_sizes_are_measured(patch, "_wanted", lambda _, measured, __, entities: patched(measured, entities))


def _while_sizes_are_measured(patch: pytest.MonkeyPatch, name: str, instead: Any) -> None:
    """``instead`` is called with the original, its first argument, the most rows that anybody has, and the true number."""
    measure = fit_module.measure_sizes
    original = measure.__globals__[name]

    def measured(door: Any, *args: Any) -> Any:
        tables = door._staged.tables.values()
        heaviest = max(int(np.bincount(table.entity).max(initial=1)) for table in tables)
        with pytest.MonkeyPatch.context() as inner:
            known = door._staged.entities
            inner.setitem(measure.__globals__, name, lambda first, *_: instead(original, first, heaviest, known))
            return measure(door, *args)

    patch.setattr(fit_module, "measure_sizes", measured)


# ---------------------------------------------------------------------- keys and values without a code of their own


@planted("keys that were not kept, as frequent as they truly are", checks_of_questions.questions_pass_the_tape, SHOWS)
def other_keys_truly(patch: pytest.MonkeyPatch) -> None:
    """They come out by true counts, which stand in the release (leak 2)."""

    def truly(held: Integers, choice: Any, chosen: ChosenKeys) -> ChosenKeys:
        counts = np.bincount(held[held >= 0], minlength=choice.keys).astype(np.float64)
        left = tuple(np.delete(counts, list(chosen.keys[choice.name])).tolist())
        return replace(chosen, others={**chosen.others, choice.name: LearnedValues((), within=(left,))})

    _with_true_keys(patch, lambda held, choice, chosen: truly(held, choice, chosen) if choice.name in chosen.others else chosen)


@planted("one key that the table lacks is enough", checks_of_questions.questions_pass_the_tape, SHOWS)
def one_strange_key(patch: pytest.MonkeyPatch) -> None:
    """Whether keys are looked for that a public table lacks is decided by whether anybody has one (leak 2)."""

    def strange(held: Integers, choice: Any, chosen: ChosenKeys) -> ChosenKeys:
        return replace(chosen, strange={**chosen.strange, choice.name: 1.0}) if (held == STRANGER).any() else chosen

    _with_true_keys(patch, strange)


def _with_true_keys(patch: pytest.MonkeyPatch, change: Any) -> None:
    original = fit_module.choose_keys

    def choose(door: Any, wanted: Any, *args: Any) -> ChosenKeys:
        chosen = original(door, wanted, *args)
        for choice in wanted:
            if choice.reference is not None:
                table = door._staged.tables[choice.table]
                held = door._staged._public_keys(table, *table.needs.link(choice.reference))
                chosen = change(held, choice, chosen)
        return chosen

    patch.setattr(fit_module, "choose_keys", choose)


@planted("codes for as many values as the true number leaves room for", checks_of_questions.questions_pass_the_tape, SHOWS)
def room_by_the_true_number(patch: pytest.MonkeyPatch) -> None:
    """How many values of a list have a code of their own tells how many entities there are (leak 1)."""
    original = learning_module.Learning._room

    def room(self: Any, *args: Any) -> Any:
        found = original(self, *args)
        return None if found is None else replace(found, entities=self.door._staged.entities)

    patch.setattr(learning_module.Learning, "_room", room)


@planted("values without a code as the source has them", checks_of_questions.questions_pass_the_tape, SHOWS)
def others_in_the_order_of_the_source(patch: pytest.MonkeyPatch) -> None:
    """Who stands first in the source, stands first in the release (leak 4)."""
    original = learning_module.learn_values

    def learned(door: Any, table: str, name: str, *args: Any) -> LearnedValues:
        found = original(door, table, name, *args)
        seen = list(dict.fromkeys(door._staged.values(table)[name].to_pylist()))
        order = sorted(range(len(found.others)), key=lambda place: seen.index(found.others[place]))
        others, counts = zip(*((found.others[n], found.other_counts[n]) for n in order), strict=True)
        return replace(found, others=others, other_counts=counts)

    patch.setattr(learning_module, "learn_values", learned)


# ---------------------------------------------------------------------- numbers and times


@planted("how round numbers are, in the step of all of them", checks_of_questions.questions_pass_the_tape, SHOWS)
def round_in_the_step_of_all(patch: pytest.MonkeyPatch) -> None:
    """One odd price decides how round all others are (leak 2)."""
    patch.setattr(raw_columns, "roundness", lambda ticks: roundness(ticks // max(1, int(np.gcd.reduce(ticks)))))


@planted("numbers are counted in the step of all of them", checks_of_questions.questions_pass_the_tape, SHOWS)
def the_step_of_all(patch: pytest.MonkeyPatch) -> None:
    """The step is read off the numbers, so one that is less round than all others decides it (leak 2)."""

    original = learning_module.Learning._step

    def step(self: Any, table: str, column: str, *args: Any) -> int:
        original(self, table, column, *args)
        reading = self.door._staged.as_read(table).readings[column]
        return max(1, int(np.gcd.reduce(reading.measure[reading.ordinary])))

    patch.setattr(learning_module.Learning, "_step", step)


@planted("how round numbers are is free", checks_of_questions.questions_pass_the_tape, "the account does not add up")
def round_for_nothing(patch: pytest.MonkeyPatch) -> None:
    """An answer with noise, and nothing charged for it (leak 1)."""
    original = Till.pay
    patch.setattr(Till, "pay", lambda self, *args: None if "roundness" in self.view.name else original(self, *args))


@planted("how round moments are, without noise", checks_of_noise.bits_cover_every_cell, "words were drawn")
def grains_without_noise(patch: pytest.MonkeyPatch) -> None:
    """Paid for, and true all the same (leak 4)."""
    original = Till.release_dense

    def release(self: Till, query: Any, noise: Any, exact: Any) -> Any:
        if "grains" not in self.view.name:
            return original(self, query, noise, exact)
        return self.release(query, exact, lambda: [values.copy() for values in exact])

    patch.setattr(Till, "release_dense", release)


@planted("days count from the first of all", checks_of_questions.questions_pass_the_tape, SHOWS)
def days_of_all(patch: pytest.MonkeyPatch) -> None:
    """Whoever came first decides which days are Mondays (leak 3)."""
    patch.setattr(raw_columns, "days_of", lambda ticks, a_day: days_of(ticks - ticks.min(initial=1 << 60), a_day))


@planted("a day that never comes is one that several have", checks_of_questions.questions_pass_the_tape, SHOWS)
def days_of_several(patch: pytest.MonkeyPatch) -> None:
    """A special value is one only where more than one has it: the second one leaves, and the first has none (leak 2)."""
    original = SpecialValues.read

    def read(self: SpecialValues, values: Any) -> Any:
        ticks, kinds = original(self, values)
        rare = [place for place in range(len(self.listed)) if (kinds == place).sum() == 1]
        return ticks, np.where(np.isin(kinds, rare), NULL, kinds).astype(kinds.dtype)

    patch.setattr(SpecialValues, "read", read)


@planted("the time that is left, for the longest list of all", checks_of_questions.paces_pass_the_tape, "DOES NOT HOLD")
def paces_of_the_longest(patch: pytest.MonkeyPatch) -> None:
    """Everybody's pace follows from how many rows the one with most still has (leak 3)."""
    original = elapsed_module.pace_ticks

    def pace(codec: Any, name: str, points: Any, siblings: Any, at: Integers) -> Integers:
        mine = siblings.remaining[at] + 1
        return original(codec, name, points, siblings, at) * mine // max(1, int(mine.max(initial=1)))

    patch.setattr(elapsed_module, "pace_ticks", pace)
