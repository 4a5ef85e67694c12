"""Planted bugs of a saboteur who had not written the stage: in counting, caps, references, orphans and missing values."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from numpy.typing import NDArray

import mare.relational.conditions_met as conditions_module
import mare.stage.staged as staged_module
import mare.stage.staged_tables as tables_module
import mare.stage.truncation as truncation_module
from mare.codec.category import CategoryCodec, Listing, canonical
from mare.relational.placing import NOWHERE
from mare.stage import Staged, TableNeeds, kernel
from mare.stage.raw_columns import StagedColumn
from mare.stage.staged_tables import StagedTable
from tests.privacy import checks_of_fits, checks_of_learning, checks_of_rows
from tests.privacy.planting import planted
from tests.privacy.seams import change_rows

Integers = NDArray[np.int64]

# ---------------------------------------------------------------------- counting much


@planted(
    "compiled norms of rows that are all thought to differ",
    checks_of_rows.counting_much_passes_the_tape,
    "one entity moves it by",
)
def compiled_norms(patch: pytest.MonkeyPatch) -> None:
    """Only where there is much to count: an entity with all its rows in one cell is clipped too little (sensitivities)."""
    original = kernel.compiled_loops

    def loops() -> Any:
        def norms(a: Any, b: Any, c: Any, d: Any, sizes: Any, owner: Integers, seen: Integers, found: Integers) -> None:
            found += np.bincount(owner, minlength=len(found))

        compiled = original()
        return None if compiled is None else replace(compiled, norms=norms)

    patch.setattr(kernel, "compiled_loops", loops)


@planted("an entity in two chunks", checks_of_rows.counting_much_passes_the_tape, "one entity moves it by")
def torn_entities(patch: pytest.MonkeyPatch) -> None:
    """Norms are worked out chunk by chunk; of whoever stands in two, each half is squared by itself (sensitivities)."""
    patch.setattr(kernel, "_entity_chunks", lambda owner: kernel._chunks(len(owner), 0))


# ---------------------------------------------------------------------- caps


@planted("whole lists in the order of the source", checks_of_fits.lists_pass_the_tape, "one entity moves it by")
def lists_by_row_number(patch: pytest.MonkeyPatch) -> None:
    """Which lists fit the cap per entity depends on how the source stores them (leak 3)."""
    original = truncation_module._whole_lists
    patch.setattr(
        truncation_module, "_whole_lists", lambda rows, most: original(replace(rows, hash=rows.row.astype(np.uint64)), most)
    )


@planted(
    "rows of the rest in the order of the source",
    checks_of_rows.rows_of_the_rest_pass_the_tape,
    "although nobody joined or left|was paid for",
)
def rest_by_row_number(patch: pytest.MonkeyPatch) -> None:
    """Which row of a group of rare keys stays depends on how the source stores them (leak 3)."""

    def times(connection: Any, held: StagedTable, rest: NDArray[np.bool_], group: Integers) -> Integers:
        return truncation_module.turns(held.row, rest.astype(np.int64), held.parent, group)

    patch.setattr(tables_module, "_times", times)


@planted("one row of a rare group for all", checks_of_rows.groups_of_the_rest_pass_the_tape, "one entity moves it by")
def one_row_of_a_group(patch: pytest.MonkeyPatch) -> None:
    """Which row of a group of rare keys stays depends on the rows of all: one who leaves gives theirs to another (leak 3)."""
    original = tables_module.turns
    patch.setattr(tables_module, "turns", lambda order, rest, parent, group: original(order, rest, group))


@planted("places among the rows of all", checks_of_rows.places_of_references_pass_the_tape, "one entity moves it by")
def places_among_all(patch: pytest.MonkeyPatch) -> None:
    """Which of somebody's stays a lab refers to is counted from the first of all: one who leaves moves everybody (leak 3)."""
    original = staged_module.rank_codes

    def codes(target: Integers, entity: Integers, there: Integers, size: int, *more: Any) -> NDArray[np.integer]:
        first = np.searchsorted(there, entity)
        return original(np.where(target < 0, target, first + target % size), entity, there, size, *more)

    patch.setattr(staged_module, "rank_codes", codes)


@planted("a list has ended where the one before it did", checks_of_rows.endings_pass_the_tape, "one entity moves it by")
def endings_of_others(patch: pytest.MonkeyPatch) -> None:
    """Whether a list has ended is told by the rows of the one before it: one who leaves ends another's (leak 3)."""
    original = conditions_module.CodedEnding.context
    patch.setattr(
        conditions_module.CodedEnding, "context", lambda self, codes, parent, n: original(self, codes, np.roll(parent, 1), n)
    )


@planted(
    "learned values picked by the entity's number",
    checks_of_learning.lists_two_levels_down_pass_the_tape,
    "one entity moves it by",
)
def picked_by_number(patch: pytest.MonkeyPatch) -> None:
    """Which of its values an entity names depends on how many stand before it: one who leaves moves everybody (leak 2)."""

    def keys(self: StagedColumn, most: int, key: bytes) -> dict[int, dict[str, int]]:
        values = self.staged.values(self.table)[self.column].to_pylist()
        held: dict[int, set[str]] = {}
        for entity, value in zip(self.staged.tables[self.table].entity.tolist(), values, strict=True):
            held.setdefault(entity, set()).update([] if value is None else [str(value)])
        named = [sorted(own, key=lambda v: sha256(key + f"{e}:{v}".encode()).digest())[:most] for e, own in held.items()]
        lengths = {len(own) for own in named if own}
        return {length: dict(Counter(value for own in named if len(own) == length for value in own)) for length in lengths}

    patch.setattr(StagedColumn, "keys", keys)


# ---------------------------------------------------------------------- whose rows, whose values


@planted("references lead to anybody's row", checks_of_rows.references_pass_the_tape, "one entity moves it by")
def references_to_others(patch: pytest.MonkeyPatch) -> None:
    """A row that names another patient's stay is coded by that stay's place: when its patient leaves, it moves (leak 8)."""
    original, ranks = staged_module.find_rows, staged_module.rank_codes

    def anybody(connection: Any, relation: str, number: int, link: Any, target: str, *, within: str) -> Integers:
        if within != "entity":
            return original(connection, relation, number, link, target, within=within)
        keys = [f"k{place}" for place in link.refers]
        join = " AND ".join(f"p.r{number}_{i} = t.{key}" for i, key in enumerate(keys))
        there = f"SELECT {', '.join(keys)}, min(place) AS place FROM {target} WHERE NOT unknown GROUP BY ALL"
        found = connection.sql(
            f"SELECT coalesce(t.place, {NOWHERE}) AS found FROM {relation} p LEFT JOIN ({there}) t ON {join} ORDER BY p.place"
        )
        return np.asarray(found.fetchnumpy()["found"], dtype=np.int64)

    def among_their_own(
        target: Integers, entity: Integers, there: Integers, size: int, nullable: bool, onward: Integers | None = None
    ) -> Any:
        whose = np.where(target < 0, entity, there[np.maximum(target, 0)]) if len(there) else entity
        return ranks(target, whose, there, size, nullable, onward)

    patch.setattr(staged_module, "find_rows", anybody)
    patch.setattr(staged_module, "rank_codes", among_their_own)


@planted("a part of the key names the parent", checks_of_rows.keys_of_several_columns_pass_the_tape, "one entity moves it by")
def parents_by_the_home(patch: pytest.MonkeyPatch) -> None:
    """Of a foreign key of several columns only the last is compared: whoever has the same home has the same visits (leak 8)."""
    last = property(lambda needs: f"r.f{len(needs.refers) - 1} = p.k{needs.refers[-1]}")
    patch.setattr(TableNeeds, "joins_parent", last)


@planted("a part of a key that is missing", checks_of_rows.keys_of_several_columns_pass_the_tape, "one entity moves it by")
def parts_filled_in(patch: pytest.MonkeyPatch) -> None:
    """Where a column of a key is NULL it is taken to be the one that most rows have, whoever's they are (the bounds above)."""
    original = staged_module.find_keys

    def find(*args: Any) -> Integers:
        found = original(*args)
        return np.where(found == NOWHERE, np.bincount(found[found >= 0], minlength=1).argmax(), found)

    patch.setattr(staged_module, "find_keys", find)


@planted("rows without a parent are one entity together", checks_of_rows.orphans_pass_the_tape, "one entity moves it by")
def one_entity_of_orphans(patch: pytest.MonkeyPatch) -> None:
    """Each is an entity by the promise; under one cap, one that leaves makes room for another (leak 7)."""

    def together(rows: list[dict[str, Any]], needs: TableNeeds) -> list[dict[str, Any]]:
        if needs.parent is None or needs.orphans != "entity":
            return rows
        return [row | {name: -1 if row[name] is None else row[name] for name in needs.foreign} for row in rows]

    change_rows(patch, together)


@planted(
    "strange values become the most frequent one",
    checks_of_rows.strange_and_missing_values_pass_the_tape,
    "one entity moves it by",
)
def most_frequent_instead(patch: pytest.MonkeyPatch) -> None:
    """What no list holds is put to the value that most rows have: one entity more or less, and all of them move (leak 2)."""
    original = CategoryCodec.listing

    def encode(self: CategoryCodec, values: pa.Array) -> Listing:
        listing = original(self, values)
        codes = listing.codes
        texts = values.to_pylist()
        strange = np.array([text is not None and canonical(text) not in self.labels for text in texts], dtype=np.bool_)
        if strange.any() and not strange.all():
            codes = codes.copy()
            codes[strange] = np.bincount(codes[~strange]).argmax()
        return Listing(codes, listing.outside)

    patch.setattr(CategoryCodec, "listing", encode)


@planted("missing numbers become the median", checks_of_rows.strange_and_missing_values_pass_the_tape, "one entity moves it by")
def filled_with_the_median(patch: pytest.MonkeyPatch) -> None:
    """A number that is not there is filled in from all the others: one entity moves the rows of many (leak 2)."""
    original = Staged.values

    def filled(self: Staged, table: str) -> dict[str, pa.Array]:
        found = original(self, table)
        for name, values in found.items():
            if pa.types.is_integer(values.type) and values.null_count < len(values):
                median = pc.quantile(values, 0.5, interpolation="lower")[0]
                found[name] = pc.fill_null(values, median.cast(values.type))
        return found

    patch.setattr(Staged, "values", filled)
