"""What a fit will find out of the domains that the schema leaves open: how many entities must share a value for it to be listed,
and whether a range will stand clear. Reckoned before anything is paid, with the assumed number of entities.

The learning share is split between all that is open, each by its weight. A list's threshold is that of its stable keys; of a
range it was measured how many deviations of its noise the entities have to be (six numbers of different shapes, 300 and 2,000
people, ε from 0.5 to 64: below 6 no stretch stood clear, below 20 an end was guessed, above 25 neither).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, sqrt
from typing import Literal

from mare.graph.groups import ColumnGroup
from mare.privacy.budget import Budget
from mare.privacy.conversion import learning_delta
from mare.privacy.stable_keys import UNIT, key_threshold
from mare.schema import Schema
from mare.schema.columns import Listed, Ordinal

from .domains import is_category, is_learned
from .plan import Needed, Phases, Warned, phase_shares
from .preview import noise_per_cell, total_cost

BOUNDS, BINS, ELAPSED, VALUES, ITEM_BOUNDS, ITEM_BINS, KEYS, STRANGERS = 0.5, 1.0, 0.3, 4.0, 1.0, 2.0, 1.0, 1.0
"""What each answer weighs when the learning share is split. Bounds are read off few cells, bins off many; how far a sequence has
come is looked at, never drawn, so that its bins may be rough. A value is listed where it stands several deviations clear of the
noise, and is lost altogether where it does not. The last two: choosing keys of a public table, and finding what it lacks."""

_UNCLEAR, _GUESSED, _KEY = 6.0, 20.0, 3.5
"""Deviations of the noise: fewer entities, and no stretch of a range stands clear, or an end is guessed; and at which a key of a
public table does."""
_EMPTY, _EMPTY_OF_SEVERAL, _FEW = 0.3, 0.5, 0.1
"""The part of the entities that have to share a value: from the first on a list is likely to stay empty (from the second, where
most of them have several values), from the third on there is room for a few."""
_ENOUGH = 150.0
"""Deviations of the noise of one weight that the entities should be, where lists and ranges are learned: until they are, more of
the budget goes there (measured on nine worlds of 380 to 5,000 people at ε = 2 and 3; from here on it is a tie)."""
_EPSILONS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20)
"""Offered as remedies: above, ε promises next to nothing."""

Kind = Literal["list", "keys", "range"]
_AT_STAKE: Mapping[Kind, float] = {"list": VALUES, "keys": KEYS + STRANGERS, "range": BOUNDS + BINS}


@dataclass(frozen=True)
class OpenDomains:
    """All that is learned."""

    columns: tuple[tuple[str, str, Kind], ...]
    """Table, column and what is learned of it, where that may fail."""
    weight: float
    of_columns: int = 0
    """How many columns are modelled in all."""

    @property
    def unknown(self) -> float:
        """What of the weight is for what may stay unknown: of lists, keys and ranges. Where bins are placed between bounds that
        are known, less of a column is at stake."""
        return sum(_AT_STAKE[kind] for *_, kind in self.columns)

    def of(self, kind: Kind) -> list[tuple[str, str]]:
        return [(table, column) for table, column, this in self.columns if this == kind]


def open_domains(schema: Schema, groups: Iterable[ColumnGroup], *, pure: bool = False) -> OpenDomains:
    """Each column once, however many groups it is generated in."""
    columns: dict[tuple[str, str], Kind] = {}
    weights: dict[tuple[str, str, bool], float] = {}
    for group in groups:
        for column in group.columns:
            table, name = column.table or group.table, column.column
            if name is None:
                continue
            place = (table, name, column.role == "first")
            if place not in weights:
                weights[place], kind = _weight(schema, table, name, first=column.role == "first", pure=pure)
                if kind is not None:
                    columns[table, name] = kind
    for table in dict.fromkeys(table for table, _, _ in weights):
        for name, held in schema.tables[table].columns.items():
            if held.goes_with is not None and (table, held.goes_with, False) in weights:
                # What a code is called is learned with it, in pairs.
                columns[table, name], weights[table, name, False] = "list", VALUES
    open_columns = tuple((*place, kind) for place, kind in columns.items())
    return OpenDomains(open_columns, sum(weights.values()), len({place[:2] for place in weights}))


def _weight(schema: Schema, table: str, name: str, *, first: bool, pure: bool) -> tuple[float, Kind | None]:
    described = schema.tables[table].columns.get(name)
    if first:
        return BINS + ELAPSED, None
    if described is None:
        learned = name in schema.tables[table].references and is_learned(schema, table, name)
        return ((KEYS if pure else KEYS + STRANGERS), "keys") if learned else (0.0, None)
    if isinstance(described, Listed) and is_learned(schema, table, name):
        return VALUES, "list" if is_category(schema, table, name) else None
    if isinstance(described, Ordinal) and described.determined is None:
        if getattr(described, "by", None):
            return ITEM_BOUNDS * described.is_learned + ITEM_BINS * described.measures_bins, None
        return BOUNDS * described.is_learned + BINS * described.measures_bins, "range" if described.is_learned else None
    return 0.0, None


@dataclass(frozen=True)
class LearningPreview:
    """How many entities must share something for it to become known."""

    open: OpenDomains
    value: float | None
    """To share a value, for it to be listed; None where no list is learned."""
    key: float
    """To share a key of a public table."""
    deviation: float
    """Of the noise on a stretch of a range."""


def preview_learning(opened: OpenDomains, budget: Budget, phases: Phases) -> LearningPreview:
    cost = total_cost(budget) * phases.learn / max(opened.weight, 1e-9)
    lists = len(opened.of("list"))
    value = None
    if lists and not budget.pure:
        sigma = noise_per_cell(budget, cost * VALUES, 1, 1)
        value = key_threshold(sigma * UNIT, 1, learning_delta(budget) / lists) / UNIT
    key, deviation = (noise_per_cell(budget, cost * part, 1, 1) if cost else 0.0 for part in (KEYS, BOUNDS))
    return LearningPreview(opened, value, _KEY * key, deviation)


def needed(budget: Budget, opened: OpenDomains, entities: float) -> Needed:
    """What learning needs so that what may stay unknown is clear of its noise. ``entities``: assumed or noisy."""
    deviation = max(entities, 1.0) / _ENOUGH
    # What makes noise of this deviation: the other way round than in `noise_per_cell`.
    cost = sqrt(2) / deviation if budget.pure else 1 / (2 * deviation**2)
    return Needed(opened.unknown * cost / total_cost(budget), len(opened.columns) / max(opened.of_columns, 1))


def note_on_lists(seen: LearningPreview, entities: float, entity: str) -> str | None:
    """What any learned list will hold."""
    if seen.value is None:
        return None
    several = "an entity that has several counts less for each"
    room = f"at most about {max(1, floor(entities / seen.value)):,} if they are alike frequent"
    return (
        f"A learned list holds the values that about {ceil(seen.value):,} of {entities:,.0f} {entity} have, or more: {room} "
        f"({several}). What else there is, is drawn among these."
    )


def warn_of_learning(
    schema: Schema, opened: OpenDomains, budget: Budget, phases: Phases, rows: Mapping[str, float], entities: float
) -> Iterator[Warned]:
    """What is likely to stay unknown, by name, and what would help. ``rows`` by table: no more entities than that have any."""
    seen = preview_learning(opened, budget, phases)
    for kind, words, remedy in _DOUBTS:
        for likely, places in _doubted(seen, kind, rows, entities).items():
            by = seen.value if kind == "list" else seen.key if kind == "keys" else None
            shared = "" if by is None else f", since only what about {ceil(by):,} of {entities:,.0f} share becomes known"
            clear = _clearing(opened, budget, kind, rows, entities)
            spend = (
                f"; or raise epsilon from {budget.epsilon:g} to {clear:g}" if clear is not None else "; no sensible epsilon does"
            )
            yield Warned(f"learned {words}", f"{likely}{shared}: {_listed(places)}", f"{remedy}{spend}.")


_DOUBTS: Sequence[tuple[Kind, str, str]] = (
    (
        "list",
        "lists",
        "Declare values that may be known (`values: […]`, a public `vocabulary:`), which leaves more for all else; leave "
        "out columns that nobody needs (`ignore_columns`)",
    ),
    ("keys", "keys", "Keep all keys (no `learn`), or say which may be meant (`where:`)"),
    ("range", "ranges", "Declare ranges that may be known (`min`, `max` or `within`)"),
)


def _doubted(seen: LearningPreview, kind: Kind, rows: Mapping[str, float], entities: float) -> dict[str, list[tuple[str, str]]]:
    """Columns by what is likely to become of them."""
    doubted: dict[str, list[tuple[str, str]]] = {}
    for table, name in seen.open.of(kind):
        held = rows.get(table, entities)
        if (likely := _likely(seen, kind, min(entities, held), several=held > entities)) is not None:
            doubted.setdefault(likely, []).append((table, name))
    return doubted


def _likely(seen: LearningPreview, kind: Kind, holders: float, *, several: bool) -> str | None:
    """``several``: whether most have several rows, and so several values."""
    if kind == "range":
        clear = holders / max(seen.deviation, 1e-9)
        if clear < _UNCLEAR:
            return "likely to stay unknown"
        return "likely to have an end that is guessed" if clear < _GUESSED else None
    shared = seen.value if kind == "list" else seen.key
    if shared is None or shared < _FEW * holders:
        return None
    empty = shared >= (_EMPTY_OF_SEVERAL if several else _EMPTY) * holders
    return "likely to stay empty" if empty else "mostly rest if they have more than a few values"


def _listed(places: Sequence[tuple[str, str]]) -> str:
    """All of them, by table."""
    tables: dict[str, list[str]] = {}
    for table, name in places:
        tables.setdefault(table, []).append(name)
    return "; ".join(f"{table} ({', '.join(names)})" for table, names in tables.items())


def _clearing(opened: OpenDomains, budget: Budget, kind: Kind, rows: Mapping[str, float], entities: float) -> float | None:
    """The smallest ε that is offered with which nothing of the kind would be doubted."""
    for epsilon in _EPSILONS:
        if epsilon > budget.epsilon:
            more = replace(budget, epsilon=epsilon)
            phases = phase_shares(entities, learns=True, needed=needed(more, opened, entities))
            seen = preview_learning(opened, more, phases)
            if not _doubted(seen, kind, rows, entities):
                return float(epsilon)
    return None
