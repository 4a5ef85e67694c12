"""Planted bugs that an auditor planted and that the suite of that day let through: each with the check that was missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from numpy.typing import NDArray

import mare.fitting.bin_placing as placing_module
import mare.privacy.learner as learner_module
import mare.relational.coding as coding_module
from mare.privacy.fine_histograms import FineHistogram
from mare.privacy.learner import Learner
from mare.privacy.noise import LARGEST_COUNT, Noise
from mare.privacy.till import Till
from mare.stage.raw_columns import StagedColumn
from mare_adapters.sources.sql import SqlSource
from tests.privacy import checks_of_learning, checks_of_noise
from tests.privacy.planting import planted
from tests.privacy.seams import fit_module

Integers = NDArray[np.int64]


@planted("one noise for all tables of a call", checks_of_noise.equal_tables_get_unrelated_noise, "is related")
@planted("one noise for all tables of a call, counted in bits", checks_of_noise.bits_cover_every_cell, "words were drawn")
@planted("one noise for all tables of a call, over a fit", checks_of_noise.noise_of_a_fit_is_unrelated, "is related")
def shared_noise(patch: pytest.MonkeyPatch) -> None:
    """The difference of two tables has no noise at all; each by itself looks as it should (noise and accounting)."""

    def release_dense(self: Till, query: Any, noise: Noise, exact: list[Integers]) -> list[Integers]:
        def draw() -> list[Integers]:
            once = type(noise)(noise.mechanism, noise.scale, max(table.size for table in exact), noise.exact).draw(self.bits)
            return [np.clip(t + once[: t.size].reshape(t.shape), -LARGEST_COUNT, LARGEST_COUNT) for t in exact]

        return self.release(query, exact, draw)

    patch.setattr(Till, "release_dense", release_dense)


@planted("k₀ values of each parent row", checks_of_learning.lists_two_levels_down_pass_the_tape, "one entity moves it by")
def values_by_parent(patch: pytest.MonkeyPatch) -> None:
    """Each parent row names k₀ values with a voice of its own, and an entity has many: it moves the list too far (leak 2)."""

    def keys(self: StagedColumn, most: int, key: bytes) -> dict[int, dict[str, int]]:
        table, values = self.staged.tables[self.table], self.staged.values(self.table)[self.column].to_pylist()
        named: dict[int, list[str]] = {}
        for parent, value in zip(table.parent.tolist(), values, strict=True):
            own = named.setdefault(parent, [])
            if value is not None and value not in own and len(own) < most:
                own.append(value)
        held = {
            (entity, value, len(named[parent]))
            for entity, parent in zip(table.entity, table.parent, strict=True)
            for value in named[parent]
        }
        lengths = {length for *_, length in held}
        return {length: dict(Counter(value for _, value, own in held if own == length)) for length in lengths}

    patch.setattr(StagedColumn, "keys", keys)


@planted("the previous row of an item, whoever's it is", checks_of_learning.items_pass_the_tape, "one entity moves it by")
def items_of_others(patch: pytest.MonkeyPatch) -> None:
    """`history_by` goes over the end of a patient: the first sodium looks at somebody else's last one (sensitivities)."""
    original = coding_module.previous_of_item
    patch.setattr(coding_module, "previous_of_item", lambda parent, items: original(np.zeros_like(parent), items))


def _with_true_number(patch: pytest.MonkeyPatch, use: Callable[[Callable[[], float]], None]) -> None:
    """Lets a mutant of the fit know how many entities there truly are: what the stage door is there to prevent."""
    original, doors = fit_module.measure_sizes, list[Any]()

    def measure(door: Any, *args: Any) -> Any:
        doors.append(door)
        return original(door, *args)

    patch.setattr(fit_module, "measure_sizes", measure)
    use(lambda: float(doors[-1]._staged.entities))


@planted("true n in the split between phases", checks_of_learning.copies_of_learned_domains_pass_the_tape, "was .*, now")
def true_phases(patch: pytest.MonkeyPatch) -> None:
    """The share of learning falls with the true number of entities, in a range that small data never reaches (leak 1)."""
    original = fit_module.phase_shares

    def use(true: Callable[[], float]) -> None:
        patch.setattr(fit_module, "phase_shares", lambda entities, **known: original(true(), **known))

    _with_true_number(patch, use)


@planted("true n in the number of bins", checks_of_learning.copies_of_learned_domains_pass_the_tape, "was .*, now|not the same")
def true_quantiles(patch: pytest.MonkeyPatch) -> None:
    """The number of bins stands in the release, and is a clamped function of the true number of entities (leak 1)."""
    original = placing_module.quantile_count

    def use(true: Callable[[], float]) -> None:
        def count(histogram: FineHistogram) -> int:
            return original(replace(histogram, noisy=np.array([true()]), deviation=0.02))

        patch.setattr(placing_module, "quantile_count", count)

    _with_true_number(patch, use)


@planted("the most frequent values by true count", checks_of_noise.listed_values_follow_the_noise, "the more frequent value")
def listed_by_true_count(patch: pytest.MonkeyPatch) -> None:
    """Of too many values those are listed that truly are the most frequent: one entity decides which (leak 2)."""

    def drawn(self: Learner, values: list[str], counts: Integers, noise: Noise, threshold: int, most: int) -> list[Integers]:
        top = np.sort(np.argsort(-counts, kind="stable")[:most])
        return original(self, [values[place] for place in top], counts[top], noise, threshold, most)

    original = learner_module.Learner._drawn
    patch.setattr(Learner, "_drawn", drawn)


class _Forgetful(dict[tuple[object, str], int]):
    """Scores that are known by their candidate alone."""

    def __contains__(self, key: object) -> bool:
        return super().__contains__((key[0], ""))  # type: ignore[index]

    def __getitem__(self, key: tuple[object, str]) -> int:
        return super().__getitem__((key[0], ""))

    def __setitem__(self, key: tuple[object, str], score: int) -> None:
        super().__setitem__((key[0], ""), score)


@planted("known scores forget how rows were weighed", checks_of_learning.both_weightings_pass_the_tape, "one entity moves it by")
def forgetful_scores(patch: pytest.MonkeyPatch) -> None:
    """A score by rows is kept, and answered where one by entities was paid for: S times too far (sensitivities)."""
    original = Till.__init__

    def init(self: Till, *args: Any) -> None:
        original(self, *args)
        self.known_scores = _Forgetful()

    patch.setattr(Till, "__init__", init)


@planted("a source that winsorises each batch", checks_of_learning.sqlite_neighbours_pass_the_tape, "one entity moves it by")
def winsorised(patch: pytest.MonkeyPatch) -> None:
    """Numbers are cut to a quantile of those that come along: one patient moves the values of others (begins at the source)."""
    original = SqlSource.read

    def cut(values: pa.Array) -> pa.Array:
        if not pa.types.is_floating(values.type) and not pa.types.is_integer(values.type):
            return values
        most = pa.scalar(pc.quantile(values, 0.9, interpolation="lower")[0].as_py(), values.type)
        return pc.min_element_wise(values, most)

    def read(self: SqlSource, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for batch in original(self, table, columns):
            told = ("income", "cost")
            arrays = [cut(one) if name in told else one for name, one in zip(batch.schema.names, batch.columns, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)

    patch.setattr(SqlSource, "read", read)
