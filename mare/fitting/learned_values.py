"""Lists of values: by stable keys where nobody has written them down, by noisy counts where a public list is too long."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt

import numpy as np

from mare.codec import LearnedValues, OpenCodec
from mare.domain import Marginal
from mare.errors import InternalError
from mare.privacy.curator import Clip
from mare.relational.public import PublicTables
from mare.schema import Schema
from mare.schema.columns import Code
from mare.stage_door import CODE, StageDoor


def learn_values(
    door: StageDoor,
    schema: Schema,
    table: str,
    name: str,
    wanted: OpenCodec,
    most_rows: int,
    share: float,
    lists: int,
    public: PublicTables,
) -> LearnedValues:
    """The values of a column, most frequent first. ``lists`` is how many columns share the δ for learning."""
    described = schema.tables[table].columns[name]
    listed, levels = _listed(described, name, wanted, public)
    if listed is None:
        learner = door.unlisted(table, name, most_rows, share, 1 / lists)
        # Each entity names a few of its values: more of them find rarer values, and need more noise.
        found = learner.categories(wanted.most, per_entity=max(1, min(most_rows, isqrt(wanted.most))))
        order = np.argsort(-found.counts, kind="stable")
        return LearnedValues(tuple(found.values[place] for place in order))
    if len(listed) <= wanted.most:
        return LearnedValues(listed, (), levels)
    counts = _counted(door, table, name, listed, most_rows, share)
    return _kept(listed, levels, counts, wanted.most, _kin(described, listed, levels))


def _listed(
    described: object, name: str, wanted: OpenCodec, public: PublicTables
) -> tuple[tuple[str, ...] | None, tuple[tuple[str, ...], ...]]:
    """All codes of a public list, and their levels there, coarse to fine."""
    if wanted.listed:
        return wanted.listed, ()
    if wanted.vocabulary is None or not isinstance(described, Code):
        return None, ()
    table, hierarchy = public[wanted.vocabulary], described.hierarchy
    others = () if hierarchy is None or hierarchy.by is None else (hierarchy.by,)
    keys = [column for column in table.key if column not in others] or list(table.key)
    column = name if name in keys else keys[0]
    wanted_levels = [*(other for other in others if other in table.key), *(hierarchy.columns if hierarchy is not None else ())]
    rows = zip(
        table.texts([column]), *([_text(v) for v in table.column(level).to_pylist()] for level in wanted_levels), strict=True
    )
    first: dict[str, tuple[str, ...]] = {}
    for key, *names in rows:
        if key is not None:
            first.setdefault(key[0], tuple(names))
    if not first:
        raise InternalError(f"the vocabulary {wanted.vocabulary!r} is empty")
    return tuple(first), tuple(zip(*first.values(), strict=True)) if wanted_levels else ()


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _counted(door: StageDoor, table: str, name: str, listed: tuple[str, ...], most_rows: int, share: float) -> np.ndarray:
    """Noisy counts of every code of the list."""
    clip = Clip(1.0) if most_rows > 1 else None
    (answer,) = door.listed(table, name, listed, most_rows, share).counts([Marginal.of(CODE)], 1.0, clip)
    return answer.rows[:-1]


def _kin(described: object, listed: tuple[str, ...], levels: Sequence[tuple[str, ...]]) -> list[str]:
    """By what the rare codes are put together: the coarsest level; one group for all where there is none."""
    if levels:
        return list(levels[0])
    if isinstance(described, Code) and described.hierarchy is not None and described.hierarchy.prefix:
        return [text[: described.hierarchy.prefix[0]] for text in listed]
    return [""] * len(listed)


def _kept(
    listed: tuple[str, ...], levels: tuple[tuple[str, ...], ...], counts: np.ndarray, most: int, kin: list[str]
) -> LearnedValues:
    """The codes with the largest noisy counts; the rest in groups of kin, or in one where there are too many groups."""
    order = np.argsort(-counts, kind="stable").tolist()
    groups = len(set(kin))
    if groups > most // 2:
        kin, groups = [""] * len(listed), 1
    kept = order[: max(0, most - groups)]
    rest: dict[str, list[int]] = {}
    for place in order[len(kept) :]:
        rest.setdefault(kin[place], []).append(place)
    # A group is known by its most frequent code; that is also how it is called at every level.
    heads = [places[0] for places in rest.values()]
    called = tuple(tuple(level[place] for place in (*kept, *heads)) for level in levels)
    return LearnedValues(
        tuple(listed[place] for place in kept),
        tuple(tuple(listed[place] for place in places) for places in rest.values()),
        called,
    )
