"""Whom the rows of each private table belong to, and what its other references are.

The parent is the most specific private table that is never NULL: `hadm_id` beats `subject_id` where admissions is
itself below patients. What the parent implies becomes `ancestor`, what may be NULL a reference within the entity.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

import networkx as nx

from mare.errors import InternalError

from .drafted import EntityGuess, Entry, FieldValue, Note, RoleGuess, review
from .name_words import names_stay_of_unit
from .survey import Link, Survey
from .time_order import main_interval


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
            upward = [link for link in inner if link.table == table and link not in broken]
            families[table] = _family(upward, families, entity.node, survey.tells_nullability)
            waiting.remove(table)
    itself = [link for link in survey.links if link.is_self and link.table in families]
    for beyond in (*map(_broken, broken), *(_self_reference(link, entity) for link in itself)):
        here = families[beyond.link.table]
        families[beyond.link.table] = replace(here, beyond=(*here.beyond, beyond))
    return families


def with_doubted_links(survey: Survey, entity: EntityGuess) -> Survey:
    """Where a source does not tell what may be NULL: an event with the person and a time of its own need not be part of a stay.

    To drop such rows would lose many, so the person is their parent, and the stay is found by its time.
    """
    if survey.tells_nullability or entity.node is None:
        return survey
    named = {link.table for link in survey.links if link.target == entity.node}
    return survey.with_links(
        tuple(
            replace(link, nullable=True) if link.table in named and _is_doubted(survey, link, entity) else link
            for link in survey.links
        )
    )


def _is_doubted(survey: Survey, link: Link, entity: EntityGuess) -> bool:
    if link.target == entity.node or link.is_self or survey.reflection.table(link.target) is None:
        return False
    interval = main_interval(survey.table(link.target))
    times = [column.name for column in survey.table(link.table).columns if column.kind in ("date", "datetime")]
    in_key = bool(set(link.columns) & set(survey.keys[link.table]))
    # What others are part of is itself a part of what is above it, and what is charted in a stay belongs to that stay.
    spell = main_interval(survey.table(link.table)) is not None and any(True for _ in survey.links_to(link.table))
    if spell or names_stay_of_unit(link.target) or in_key:
        return False
    return bool(times) and interval is not None and _are_moments(survey, link, times[0], interval)


def break_cycles(links: list[Link], node: str) -> list[Link]:
    """Links to leave NULL so that no table is its own ancestor: never a shortest way to the entity, nullable ones first."""
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    graph.add_nodes_from(sorted({node, *(link.table for link in links)}))
    for link in links:
        graph.add_edge(link.table, link.target, link)
    near = nx.single_source_shortest_path_length(graph.reverse(), node)

    def rank(link: Link) -> tuple[bool, bool, bool, str]:
        # The entity itself has no parent: whatever it points to below itself is what closes the circle.
        upward = near.get(link.target, 99) < near.get(link.table, 99)
        return link.table != node, upward, not link.nullable, link.label

    broken: list[Link] = []
    with suppress(nx.NetworkXNoCycle):
        while True:
            worst = min((link for _, _, link in nx.find_cycle(graph)), key=rank)
            graph.remove_edge(worst.table, worst.target, worst)
            broken.append(worst)
    return broken


def _family(links: list[Link], families: Mapping[str, Family], node: str, tells: bool) -> Family:
    firm = [link for link in links if not link.nullable]
    # The deepest is the most specific; where two are as deep, the first in the table.
    parent = max(firm or links, key=lambda link: families[link.target].depth)
    above = families[parent.target]
    ancestors = (parent.target, *above.ancestors)
    notes = []
    if not firm:
        notes.append(review(f"{', '.join(parent.columns)} may be NULL: such rows are dropped; or write orphans: entity", "nulls"))
    elif not tells and parent.target != node and any(link.target == node for link in links):
        columns = ", ".join(parent.columns)
        other = f"{{kind: same_entity, table: {parent.target}, nullable: true}}"
        notes.append(
            review(f"rows where {columns} is NULL are dropped; if many, the parent is {node}, and {columns} {other}", "nulls")
        )
    rivals = [link for link in firm if link is not parent and link.target not in ancestors]
    if rivals:
        others = ", ".join(f"{'+'.join(link.columns)} → {link.target}" for link in rivals)
        notes.append(review(f"a second owner is not possible; {others} could be the parent as well"))
    beyond = tuple(_beyond(link, parent, ancestors, node) for link in links if link is not parent)
    return Family(parent, above.depth + 1, ancestors, beyond, tuple(notes))


def _beyond(link: Link, parent: Link, ancestors: tuple[str, ...], node: str) -> Beyond:
    if link.target == node and parent.target == node:
        note = review(f"a second reference to {node}: another one than the owner? It is never learned", "second")
        return Beyond(link, "other_entity", (note,))
    if link.target == parent.target:
        return Beyond(
            link, "same_entity", (review(f"a second reference to {link.target}, taken for one of the same {node}", "second"),)
        )
    if link.target in ancestors:
        note = Note(f"implied by {', '.join(parent.columns)}")
        return Beyond(link, "ancestor", (note,))
    text = "may be NULL, so it is not the parent" if link.nullable else f"drafted within the same {node}; is it?"
    return Beyond(link, "same_entity", (Note(text, review=not link.nullable),))


def _broken(link: Link) -> Beyond:
    text = f"closes a circle ({link.label}): left NULL to break it; or break another reference of the circle"
    return Beyond(link, "broken", (review(text),))


def _self_reference(link: Link, entity: EntityGuess) -> Beyond:
    if link.table == entity.node:
        text = f"refers to another {entity.node}: never learned; fill: random draws one"
        return Beyond(link, "other_entity", (review(text),))
    return Beyond(link, "earlier", (review("taken for a reference to an earlier row of the same sequence"),))


def draft_references(
    survey: Survey, table: str, family: Family | None, roles: Mapping[str, RoleGuess], order: str | None
) -> tuple[Entry, ...]:
    """All links of a table but its parent, in the order of its columns."""
    inner = {beyond.link: beyond for beyond in family.beyond} if family is not None else {}
    parent = family.parent if family is not None else None
    entries, taken = [], set()
    for link in sorted(survey.links_of(table), key=lambda link: _place(survey, link)):
        if link == parent:
            continue
        entry = _inner(survey, inner[link], order) if link in inner else _outer(survey, link, roles)
        if entry is not None and entry.name not in taken:
            taken.add(entry.name)
            entries.append(entry)
    return tuple(entries)


def link_fields(survey: Survey, link: Link) -> dict[str, FieldValue]:
    """Table and columns, without what goes without saying."""
    fields: dict[str, FieldValue] = {"table": link.target}
    if len(link.columns) > 1:
        fields["columns"] = link.columns
    if link.references and link.references != survey.keys.get(link.target, ()):
        fields["column"] = link.references if len(link.references) > 1 else link.references[0]
    return fields


def guessed(link: Link) -> tuple[Note, ...]:
    """How the link came about, where the catalogue does not declare it: a name alone proves nothing."""
    if link.declared or not link.why:
        return ()
    columns = ", ".join(link.columns)
    return (review(f"guessed: {columns} {link.why}", "links", f"{columns} → {link.target}"),)


def _place(survey: Survey, link: Link) -> int:
    names = [column.name for column in survey.table(link.table).columns]
    return names.index(link.columns[0]) if link.columns[0] in names else len(names)


def _name(link: Link) -> str:
    return link.columns[0] if len(link.columns) == 1 else "_".join(link.columns)


def _inner(survey: Survey, beyond: Beyond, order: str | None) -> Entry | None:
    """To a table of the entity, or to the entity itself."""
    link, kind = beyond.link, beyond.kind
    notes = [*beyond.notes, *guessed(link)]
    nullable = link.nullable or survey.may_be_null(link)
    fields: dict[str, FieldValue] = {}
    if kind == "same_entity":
        interval = main_interval(survey.table(link.target))
        if order is not None and interval is not None and nullable and _are_moments(survey, link, order, interval):
            fields = {"by": "interval", "time": order, "interval": interval}
    elif kind == "earlier" and order is None:
        kind, notes = "broken", [review("a reference to the same table, which is no sequence: left NULL")]
    elif kind == "earlier" and not nullable:
        fields = {"itself": True}
    elif kind == "other_entity" and not nullable:
        fields = {"fill": "random"}
    if kind == "broken" and not nullable:
        notes.append(review("but the source does not allow NULL here: break the circle elsewhere, or allow it"))
        nullable = True
    written: dict[str, FieldValue] = {"kind": kind, **link_fields(survey, link), **fields}
    if nullable and kind != "ancestor":
        written["nullable"] = True
    return Entry(_name(link), written, tuple(notes))


def _are_moments(survey: Survey, link: Link, order: str, interval: tuple[str, str]) -> bool:
    columns = [survey.table(link.table).column(order), *(survey.table(link.target).column(name) for name in interval)]
    return all(column is not None and column.kind in ("date", "datetime") for column in columns)


def _outer(survey: Survey, link: Link, roles: Mapping[str, RoleGuess]) -> Entry | None:
    """To a table outside the entity: public, a pool, owned. Nothing for a table that is itself unsettled."""
    role = roles[link.target].role
    fields: dict[str, FieldValue] = link_fields(survey, link)
    nullable = {"nullable": True} if survey.may_be_null(link) else {}
    if link.is_self and role == "pool":
        kind = "broken" if nullable else "pool"
        return Entry(_name(link), {"kind": kind, **fields, **nullable}, (Note("who refers to whom in a pool is not kept"),))
    if role == "owned" and roles[link.table].role not in ("entity", "private"):
        return None
    if role == "public" and roles[link.table].role not in ("public", "pool"):
        # The catalogue does not tell how many keys there are: a few are learned, until a person writes `rows:` there.
        nullable = {"learn": True, **nullable}
    if role in ("public", "pool", "owned"):
        return Entry(_name(link), {"kind": role, **fields, **nullable}, guessed(link))
    return None
