"""Planted bugs in what a fit does with true rows: caps, hashes, owners, history, carry, levels, scores, learning, progress."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import mare.privacy.answers.counts as counts_module
import mare.privacy.curator as curator_module
from mare.codec import siblings
from mare.codec.relative import Placing
from mare.codec.rhythm import grain_codes, hours_of
from mare.domain import Axis, Coarsening, Codes, Estimate, Marginal
from mare.fitting.noisy_sizes import Sizes
from mare.fitting.rehearsal import Rehearsal
from mare.privacy.answers.judging import judge
from mare.privacy.answers.scoring import exact_scores
from mare.privacy.answers.selecting import Selected
from mare.privacy.curator import Gate
from mare.privacy.learner import Learner
from mare.relational.placing import PlacedTables
from mare.stage import TableNeeds, kernel, raw_columns
from tests.privacy import checks, checks_of_fits, checks_of_learning
from tests.privacy.planting import planted
from tests.privacy.seams import change_rows, change_stage, change_views, fit_module

audit_module = import_module("mare.audit.tape")

Row = list[dict[str, Any]]

# ---------------------------------------------------------------------- hashing and caps


@planted("the first rows that come are kept", checks_of_fits.lists_pass_the_tape, "one entity moves it by")
def first_come(patch: pytest.MonkeyPatch) -> None:
    """A source promises no order: which rows a cap keeps depends on how they were stored (leak 3)."""

    def first(rows: Row, needs: TableNeeds) -> Row:
        taken: Counter[object] = Counter()
        kept = []
        for row in rows:
            parent = tuple(row[name] for name in needs.foreign)
            taken[parent] += 1
            if needs.parent is None or taken[parent] <= needs.max_rows:
                kept.append(row)
        return kept

    change_rows(patch, first)


@planted("the hash has no key", checks_of_fits.another_key_keeps_other_rows, "the same rows")
def hash_without_a_key(patch: pytest.MonkeyPatch) -> None:
    """Whoever knows a row works out whether it was kept (leak 3)."""
    change_stage(patch, key=lambda drawn: bytes(len(drawn)))


@planted("the cap per entity is not enforced", checks_of_fits.lists_pass_the_tape, "the cap does not hold")
def no_cap_per_entity(patch: pytest.MonkeyPatch) -> None:
    """Lists are cut, and an entity may have any number of lists (leak 3)."""
    change_stage(patch, needs=lambda needs: replace(needs, max_per_entity=None))


@planted("caps are measured, not declared", checks_of_fits.benchmark_passes_the_tape, "was .*, now")
def measured_caps(patch: pytest.MonkeyPatch) -> None:
    """S is the largest number of rows that occurs: the noise tells how many the heaviest entity has (leak 2)."""
    change_views(patch, lambda view: replace(view, max_rows_per_entity=max(1, view.largest_entity())))


# ---------------------------------------------------------------------- ownership


@planted("a shared row belongs to the first who refers to it", checks_of_fits.shared_rows_pass_the_tape, "moves it by")
def first_owner_takes_it(patch: pytest.MonkeyPatch) -> None:
    """When that one goes the row moves to somebody else, who then shows (leak 8)."""

    def one_owner(rows: Row, needs: TableNeeds) -> Row:
        taken: set[object] = set()
        for row in rows:
            for link in needs.links:
                key = (link.name, *(row[name] for name in link.columns))
                if key in taken:
                    row |= dict.fromkeys(link.columns)
                taken.add(key)
        return rows

    change_rows(patch, one_owner)


@planted("rows belong to whoever stands beside them", checks_of_fits.lists_pass_the_tape, "one entity moves it by")
def neighbours_rows(patch: pytest.MonkeyPatch) -> None:
    """Parents are found by their place instead of their key, so one who leaves hands everybody's rows on (leak 8)."""

    def beside(rows: Row, needs: TableNeeds) -> Row:
        if needs.parent is None:
            return rows
        keys = sorted({tuple(row[name] for name in needs.foreign) for row in rows})
        handed = dict(zip(keys, [*keys[1:], *keys[:1]], strict=True))
        return [row | dict(zip(needs.foreign, handed[tuple(row[n] for n in needs.foreign)], strict=True)) for row in rows]

    change_rows(patch, beside)


# ---------------------------------------------------------------------- history, carry, levels


@planted("the previous row is the row above, whoever's it is", checks_of_fits.benchmark_passes_the_tape, "one entity moves it by")
def history_of_others(patch: pytest.MonkeyPatch) -> None:
    """The first row of a sequence looks at the last one of somebody else (sensitivities: history is the same entity's)."""
    original = PlacedTables.look

    def above(self: PlacedTables, group: Any, column: Any, *args: Any) -> Any:
        if column.lag and column.kind not in ("reference", "same_item"):
            space = self.space(column.table, column.part)
            placed = self.tables[space]
            anyone = replace(placed, position=np.arange(placed.rows, dtype=np.int64))
            self = PlacedTables(self.owners, {**self.tables, space: anyone})
        return original(self, group, column, *args)

    patch.setattr(PlacedTables, "look", above)


@planted("a row is compared with the one above, whoever's it is", checks_of_fits.looking_back_passes_the_tape, "moves it by")
def carried_from_others(patch: pytest.MonkeyPatch) -> None:
    """ "Same as before" and lags look across the end of a sequence, so an entity moves its neighbour's cells (sensitivities)."""
    original = kernel.CodedRows

    def endless(domain: Any, coarsenings: Any, entities: int, owner: Any, position: Any, column: Any) -> kernel.CodedRows:
        places = None if position is None else np.arange(len(owner), dtype=np.int64)
        return original(domain, coarsenings, entities, owner, places, column)

    patch.setattr(kernel, "CodedRows", endless)


@planted("levels by true frequency", checks_of_fits.looking_back_passes_the_tape, "moves it by|shaped")
def levels_from_the_data(patch: pytest.MonkeyPatch) -> None:
    """Rare codes are put together by how rare they are in the data, so an entity moves everybody's cells (leak 2)."""

    def by_frequency(view: Any) -> Any:
        levels = {}
        for name, known in view.coarsenings.items():
            (counts,) = view.counts([Marginal((Axis(name),))])
            ranks = np.argsort(np.argsort(-counts, kind="stable"))
            levels[name] = tuple(Coarsening(np.minimum(ranks, level.size - 1), level.size) for level in known)
        return replace(view, coarsenings=levels)

    change_views(patch, by_frequency)


# ---------------------------------------------------------------------- scores and learning


@planted(
    "the best candidate is simply taken", checks_of_fits.benchmark_passes_the_tape, "is not the same|was .*, now|was asked in"
)
def best_taken(patch: pytest.MonkeyPatch) -> None:
    """The network is that of the highest true scores, without noise and without a charge: it tells what they are (one gate)."""

    def best(till: Any, candidates: Sequence[Any], share: float, penalties: Any, weighting: Any) -> Selected:
        judged = judge(till, candidates, weighting)
        index = int(np.argmax(exact_scores(till, judged, weighting)))
        return Selected(index, candidates[index], "exponential mechanism", 1.0, 1.0, 0.0)

    patch.setattr(curator_module, "answer_select", best)


@planted("bins at the true quantiles", checks_of_fits.benchmark_passes_the_tape, "is not the same|now|shaped|ended with")
def true_bins(patch: pytest.MonkeyPatch) -> None:
    """The bins of a number are placed by its true histogram: they stand in the release (leak 2)."""
    original = Learner.histogram

    def true(self: Learner, grid: Any, *args: Any) -> Any:
        noisy = original(self, grid, *args)
        label = "true"
        (counts,) = self._column.binned(grid.edges, label).counts([Marginal.of(label)])
        return replace(noisy, noisy=counts[:-1].astype(np.float64), deviation=1e-9)

    patch.setattr(Learner, "histogram", true)


@planted("learned numbers count by rows", checks_of_fits.benchmark_passes_the_tape, "one entity moves it by")
def numbers_counted_by_rows(patch: pytest.MonkeyPatch) -> None:
    """A histogram to place bins by counts every row, and one unit per entity was paid for (sensitivities)."""
    original = counts_module.weighed

    def unclipped(till: Any, marginals: Any, limit: Any) -> Any:
        weights, mass = original(till, marginals, limit)
        if limit is None or weights is None or " on " not in str(marginals[0].axes[0].column):
            return weights, mass
        return np.full_like(weights, limit.unit), int(till.view.rows_per_entity().sum()) * limit.unit

    patch.setattr(counts_module, "weighed", unclipped)


# ---------------------------------------------------------------------- what models are told beside the answers


@planted("a model is told how many rows there truly are", checks_of_fits.benchmark_passes_the_tape, "public was .*, now")
def true_number_of_rows(patch: pytest.MonkeyPatch) -> None:
    """Fractions are of the true number of entities: whoever multiplies a released table with it has that number (leak 1)."""
    original = fit_module.measure_sizes

    def telling(door: Any, *args: Any) -> Any:
        class Telling(Sizes):
            def measured_rows(self, table: str, part: Any) -> Estimate | None:
                noisy = super().measured_rows(table, part)
                return None if noisy is None else Estimate(float(door._staged.entities), noisy.deviation)

        sizes = original(door, *args)
        return Telling(sizes.entities, sizes.tables, sizes.parents, sizes.deviation, sizes.rows, sizes.share)

    patch.setattr(fit_module, "measure_sizes", telling)


@planted("history is rehearsed with the true rows", checks_of_fits.benchmark_passes_the_tape, "not the same|was .*, now")
def true_history(patch: pytest.MonkeyPatch) -> None:
    """What a model is to agree with is its history in the data, not as the models before it draw it (leak 2)."""
    original, views = Gate.curator, list[Any]()

    def seeing(self: Gate, view: Any, share: float) -> Any:
        views.append(view)
        return original(self, view, share)

    def true(self: Rehearsal, settled: Any) -> Codes | None:
        view = views[-1]
        seen = {name: view._coded.column(name) for name in settled.history}
        return Codes(len(view.owner), seen) if seen and settled.group.part == "context" else None

    patch.setattr(Gate, "curator", seeing)
    patch.setattr(Rehearsal, "history", true)


# ---------------------------------------------------------------------- moments


@planted("hours count from the first moment of all", checks_of_learning.moments_pass_the_tape, "one entity moves it by")
def hours_of_all(patch: pytest.MonkeyPatch) -> None:
    """When things happen is counted from the earliest row there is: whoever has it moves all (leak 3)."""
    patch.setattr(raw_columns, "hours_of", lambda ticks, a_day: hours_of(ticks - ticks.min(initial=1 << 40), a_day))


@planted(
    "how round moments are is told from the first of all", checks_of_learning.moments_pass_the_tape, "one entity moves it by"
)
def round_by_all(patch: pytest.MonkeyPatch) -> None:
    """Whoever has the earliest moment decides which others are full hours (leak 3)."""
    patch.setattr(raw_columns, "grain_codes", lambda ticks, a_day: grain_codes(ticks - ticks.min(initial=1 << 40), a_day))


@planted("the end of the data is the last moment of all", checks_of_learning.moments_pass_the_tape, "one entity moves it by")
def end_of_all(patch: pytest.MonkeyPatch) -> None:
    """Who is still there is told by the latest row, not by the calendar (leak 3)."""
    patch.setattr(Placing, "closing", lambda self, ticks, limits, a_day: ticks == ticks.max(initial=0))


@planted("times lie around the anchor of the row beside", checks_of_learning.moments_pass_the_tape, "one entity moves it by")
def around_another(patch: pytest.MonkeyPatch) -> None:
    """What is near in every row is counted from a time of somebody else, who moves it (sensitivities: a row is its entity's)."""
    original = siblings._anchored

    def beside(anchor: Any, points: Any, above: Any, at: Any) -> Any:
        return original(anchor, points, above, np.maximum(at - 1, 0) if anchor.column == "seen" else at)

    patch.setattr(siblings, "_anchored", beside)


# ---------------------------------------------------------------------- what is told beside the answers


@planted("progress tells a true number", checks.hospital_passes_the_tape, "the progress that was shown is not the same")
def telling_progress(patch: pytest.MonkeyPatch) -> None:
    """What is told while a fit runs ends up in logs, and logs are kept and sent (leak 10)."""
    original = audit_module.run_fit

    def telling(plan: Any, source: Any, options: Any) -> Any:
        if options.tell is not None:
            options.tell(f"{sum(batch.num_rows for batch in source.read('patients', ['pid']))} patients")
        return original(plan, source, options)

    patch.setattr(audit_module, "run_fit", telling)
