"""Which entities are worth taking out: the heavy, the rare, the extreme, orphans, and some others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mare.schema.columns import Listed

from .ownership import PLAIN, Ownership


@dataclass(frozen=True)
class Chosen:
    """An entity that is to be removed. What names it is a true value: internal, not private, and never printed."""

    entity: tuple[str, ...]
    why: str


def named(key: object) -> Chosen:
    """The entity of that key: a value, or a tuple where the key has several columns."""
    parts = key if isinstance(key, tuple) else (key,)
    return Chosen((PLAIN, *(str(part) for part in parts)), "as asked")


def worth_removing(owners: Ownership, random: int, seed: int) -> list[Chosen]:
    """Each kind once and so many at random; an entity that is several is removed once, for all its reasons."""
    found = [heaviest(owners), rarest(owners), extreme(owners), orphan(owners), *at_random(owners, random, seed)]
    reasons: dict[tuple[str, ...], list[str]] = {}
    for chosen in found:
        if chosen is not None and chosen.why not in reasons.setdefault(chosen.entity, []):
            reasons[chosen.entity].append(chosen.why)
    return [Chosen(entity, " and ".join(why)) for entity, why in reasons.items()]


def heaviest(owners: Ownership) -> Chosen | None:
    """The one with most rows in all: where a cap that is not enforced shows."""
    return _first(
        owners, f"SELECT entity FROM ({_everywhere(owners)}) GROUP BY entity ORDER BY count(*) DESC, entity", "the heaviest"
    )


def rarest(owners: Ownership) -> Chosen | None:
    """The one whose categories fewest others share: where a domain or an order from the data shows."""
    parts = []
    for table, column in _values(owners, categories=True):
        seen = f"SELECT DISTINCT entity, {column} AS v FROM {table} WHERE {column} IS NOT NULL"
        parts.append(f"SELECT entity, 1.0 / count(*) OVER (PARTITION BY v) AS rarity FROM ({seen})")
    if not parts:
        return None
    order = "max(rarity) DESC, sum(rarity) DESC, entity"
    return _first(owners, f"SELECT entity FROM ({' UNION ALL '.join(parts)}) GROUP BY entity ORDER BY {order}", "rare values")


def extreme(owners: Ownership) -> Chosen | None:
    """The one that holds most smallest and largest values: where bounds from the data show."""
    parts = [
        f"(SELECT min(entity) AS entity FROM {table} WHERE {column} = (SELECT {side}({column}) FROM {table}))"
        for table, column in _values(owners, categories=False)
        for side in ("min", "max")
    ]
    if not parts:
        return None
    held = f"SELECT entity FROM ({' UNION ALL '.join(f'SELECT * FROM {part}' for part in parts)}) WHERE entity IS NOT NULL"
    return _first(owners, f"{held} GROUP BY entity ORDER BY count(*) DESC, entity", "extreme values")


def orphan(owners: Ownership) -> Chosen | None:
    """The heaviest of those that are entities because their parent is missing; where the schema calls them so."""
    apart = f"SELECT entity FROM ({_everywhere(owners)}) WHERE entity[1] <> '{PLAIN}'"
    return _first(owners, f"{apart} GROUP BY entity ORDER BY count(*) DESC, entity", "an orphan")


def at_random(owners: Ownership, count: int, seed: int) -> list[Chosen]:
    """The same ones for the same seed."""
    asked = (
        f"SELECT entity FROM (SELECT DISTINCT entity FROM ({_everywhere(owners)})) "
        f"ORDER BY sha256($1 || entity::VARCHAR), entity LIMIT {int(count)}"
    )
    return [Chosen(tuple(entity), "at random") for (entity,) in owners.connection.execute(asked, [f"{seed}:"]).fetchall()]


def _everywhere(owners: Ownership) -> str:
    return " UNION ALL ".join(f"SELECT entity FROM {relation}" for relation in owners.relations)


def _values(owners: Ownership, *, categories: bool) -> Iterator[tuple[str, str]]:
    for relation, needs in zip(owners.relations, owners.tables, strict=True):
        for i, name in enumerate(needs.values):
            if isinstance(needs.described[name], Listed) is categories:
                yield relation, f"v{i}"


def _first(owners: Ownership, query: str, why: str) -> Chosen | None:
    row = owners.connection.execute(f"{query} LIMIT 1").fetchone()
    return None if row is None else Chosen(tuple(row[0]), why)
