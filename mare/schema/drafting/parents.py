"""Whom the rows of each private table belong to, and what its other references are.

The parent is the most specific private table that is never NULL: `hadm_id` beats `subject_id` where admissions is
itself below patients. What the parent implies becomes `ancestor`, what may be NULL a reference within the entity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mare.errors import InternalError

from .drafted import EntityGuess, Note, RoleGuess, review
from .survey import Link, Survey


@dataclass(frozen=True)
class Beyond:
    """A reference beyond the parent."""

    link: Link
    kind: str
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class Family:
    """The parent of one table and its other links to private tables."""

    parent: Link | None
    depth: int
    """Steps up to the entity."""
    ancestors: tuple[str, ...]
    """From the parent up to the entity."""
    beyond: tuple[Beyond, ...] = ()
    notes: tuple[Note, ...] = ()


def guess_families(survey: Survey, entity: EntityGuess, roles: Mapping[str, RoleGuess]) -> dict[str, Family]:
    """The family of the entity and of every private table, parents before children."""
    if entity.node is None:
        return {}
    members = {name for name, guess in roles.items() if guess.role in ("entity", "private")} | {entity.node}
    inner = [link for link in survey.links if link.table in members and link.target in members and not link.is_self]
    broken = break_cycles(inner, entity.node)
    families: dict[str, Family] = {entity.node: Family(None, 0, ())}
    waiting = sorted(members - {entity.node})
    while waiting:
        ready = [t for t in waiting if all(link.target in families for link in inner if link.table == t and link not in broken)]
        if not ready:
            raise InternalError(f"the links of {', '.join(waiting)} go round in circles")
        for table in ready:
            families[table] = _family(
                [link for link in inner if link.table == table and link not in broken], families, entity.node
            )
            waiting.remove(table)
    for link in broken:
        here = families[link.table]
        families[link.table] = Family(here.parent, here.depth, here.ancestors, (*here.beyond, _broken(link)), here.notes)
    for link in survey.links:
        if link.is_self and link.table in families:
            here = families[link.table]
            beyond = (*here.beyond, _self_reference(link, entity))
            families[link.table] = Family(here.parent, here.depth, here.ancestors, beyond, here.notes)
    return families


def break_cycles(links: list[Link], node: str) -> list[Link]:
    """Links to leave NULL so that no table is its own ancestor: never a shortest way to the entity, nullable ones first."""
    near = _distances(links, node)
    kept, broken = list(links), []
    while cycle := _cycle(kept):
        # The entity itself has no parent: whatever it points to below itself is what closes the circle.
        worst = min(cycle, key=lambda link: (link.table != node, _upward(link, near), not link.nullable, link.label))
        kept.remove(worst)
        broken.append(worst)
    return broken


def _upward(link: Link, near: Mapping[str, int]) -> bool:
    return near.get(link.target, 99) < near.get(link.table, 99)


def _distances(links: list[Link], node: str) -> dict[str, int]:
    found, queue = {node: 0}, [node]
    while queue:
        target = queue.pop(0)
        for link in links:
            if link.target == target and link.table not in found:
                found[link.table] = found[target] + 1
                queue.append(link.table)
    return found


def _cycle(links: list[Link]) -> list[Link]:
    """The links of one cycle, or nothing."""
    outgoing: dict[str, list[Link]] = {}
    for link in links:
        outgoing.setdefault(link.table, []).append(link)
    done: set[str] = set()
    for start in sorted(outgoing):
        path: list[Link] = []
        found = _follow(start, outgoing, path, [start], done)
        if found:
            return found
    return []


def _follow(table: str, outgoing: dict[str, list[Link]], path: list[Link], seen: list[str], done: set[str]) -> list[Link]:
    if table in done:
        return []
    for link in outgoing.get(table, []):
        if link.target in seen:
            return [*path[seen.index(link.target) :], link]
        found = _follow(link.target, outgoing, [*path, link], [*seen, link.target], done)
        if found:
            return found
    done.add(table)
    return []


def _family(links: list[Link], families: Mapping[str, Family], node: str) -> Family:
    firm = [link for link in links if not link.nullable]
    # The deepest is the most specific; where two are as deep, the first in the table.
    parent = max(firm or links, key=lambda link: families[link.target].depth)
    above = families[parent.target]
    ancestors = (parent.target, *above.ancestors)
    notes = []
    if not firm:
        notes.append(review(f"{', '.join(parent.columns)} may be NULL: such rows are dropped; or write orphans: entity"))
    rivals = [link for link in firm if link is not parent and link.target not in ancestors]
    if rivals:
        others = ", ".join(f"{'+'.join(link.columns)} → {link.target}" for link in rivals)
        notes.append(review(f"a second owner is not possible; {others} could be the parent as well"))
    beyond = tuple(_beyond(link, parent, ancestors, node) for link in links if link is not parent)
    return Family(parent, above.depth + 1, ancestors, beyond, tuple(notes))


def _beyond(link: Link, parent: Link, ancestors: tuple[str, ...], node: str) -> Beyond:
    if link.target == node and parent.target == node:
        note = review(f"a second reference to {node}: another one than the owner? It is never learned")
        return Beyond(link, "other_entity", (note,))
    if link.target == parent.target:
        return Beyond(link, "same_entity", (review(f"a second reference to {link.target}, taken for one of the same {node}"),))
    if link.target in ancestors:
        note = Note(f"implied by {', '.join(parent.columns)}")
        return Beyond(link, "ancestor", (note,))
    text = "may be NULL, so it cannot be the parent" if link.nullable else f"drafted within the same {node}; is it?"
    return Beyond(link, "same_entity", (Note(text, review=not link.nullable),))


def _broken(link: Link) -> Beyond:
    text = f"closes a circle ({link.label}): left NULL to break it; or break another reference of the circle"
    return Beyond(link, "broken", (review(text),))


def _self_reference(link: Link, entity: EntityGuess) -> Beyond:
    if link.table == entity.node:
        text = f"refers to another {entity.node}: never learned; fill: random draws one"
        return Beyond(link, "other_entity", (review(text),))
    return Beyond(link, "earlier", (review("taken for a reference to an earlier row of the same sequence"),))
