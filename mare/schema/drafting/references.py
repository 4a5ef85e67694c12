"""References beyond the parent, as entries of the draft: what each leads to decides its kind."""

from __future__ import annotations

from collections.abc import Mapping

from .drafted import Entry, FieldValue, Note, RoleGuess, review
from .parents import Beyond, Family
from .survey import Link, Survey
from .times import main_interval


def draft_references(
    survey: Survey, table: str, family: Family | None, roles: Mapping[str, RoleGuess], order: str | None, skip: Link | None
) -> tuple[Entry, ...]:
    """All links of a table but its parent (and ``skip``, what it associates with), in the order of its columns."""
    inner = {beyond.link: beyond for beyond in family.beyond} if family is not None else {}
    parent = family.parent if family is not None else None
    entries, taken = [], set()
    for link in sorted(survey.links_of(table), key=lambda link: _place(survey, link)):
        if link in (parent, skip):
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
    return () if link.declared or not link.why else (review(f"guessed: {', '.join(link.columns)} {link.why}"),)


def _place(survey: Survey, link: Link) -> int:
    names = [column.name for column in survey.table(link.table).columns]
    return names.index(link.columns[0]) if link.columns[0] in names else len(names)


def _name(link: Link) -> str:
    return link.columns[0] if len(link.columns) == 1 else "_".join(link.columns)


def _inner(survey: Survey, beyond: Beyond, order: str | None) -> Entry | None:
    """To a table of the entity, or to the entity itself."""
    link, kind = beyond.link, beyond.kind
    notes = [*beyond.notes, *guessed(link)]
    nullable = link.nullable or _may_be_null(survey, link)
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
    nullable = {"nullable": True} if _may_be_null(survey, link) else {}
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


def _may_be_null(survey: Survey, link: Link) -> bool:
    if set(link.columns) <= set(survey.keys[link.table]):
        return False
    return any(column.nullable for name in link.columns if (column := survey.table(link.table).column(name)))
