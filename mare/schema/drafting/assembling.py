"""From a reflection to a draft: survey, entity, roles, families, then table by table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mare.errors import SourceError
from mare.schema.reflection import Peek, Reflection

from .drafted import Draft, DraftedTable, EntityGuess, Note, review
from .entity import guess_entity
from .foreign_keys import declared_links, inferred_links
from .keys import guess_keys
from .mending import mend
from .parents import Family, guess_families
from .peeking import peeked_kinds, with_marked_structure, with_peeks
from .roles import guess_roles
from .survey import Link, Survey
from .tables import draft_member, draft_outsider

Peeks = Mapping[tuple[str, str], Peek]
"""What was read from columns, by table and column."""


def make_draft(reflection: Reflection, entity: str | None = None, peeks: Peeks | None = None) -> Draft:
    """The draft as a value. ``peeks`` holds what was read from columns on the user's explicit request."""
    if not reflection.tables:
        left_out = "; ".join(f"{left.name}: {left.reason}" for left in reflection.left_out[:5])
        raise SourceError(
            f"{reflection.label} holds no table that can be drafted{f' ({left_out})' if left_out else ''}. "
            "Check that it is the right database or folder, and that this user may read its tables."
        )
    peeks = peeks or {}
    typed = peeked_kinds(reflection, peeks)
    survey = take_survey(typed)
    guess = guess_entity(survey, entity)
    survey = _with_entity_links(survey, guess)
    roles = guess_roles(survey, guess)
    families = guess_families(survey, guess, roles)
    tables: list[DraftedTable] = []
    rows: dict[str, int] = {guess.node: 1} if guess.node is not None else {}
    for table in _down(survey, guess, families):
        family = families[table]
        above = rows[family.parent.target] if family.parent is not None else 1
        drafted, rows[table] = draft_member(survey, table, guess, family, roles, above)
        tables.append(drafted)
    for role in ("owned", "pool", "unsettled", "public"):
        tables += [draft_outsider(survey, t.name, roles[t.name], roles) for t in typed if roles[t.name].role == role]
    filled, kind = with_peeks(tables, reflection, peeks)
    made = mend(Draft(reflection.label, guess, tuple(filled), tuple(_header(survey)), kind, roles))
    return made if typed == reflection else with_marked_structure(made, make_draft(reflection, entity))


def take_survey(reflection: Reflection) -> Survey:
    """Keys first, then the links that refer to them."""
    keys, reasons = guess_keys(reflection)
    tells = any(not column.nullable for table in reflection for column in table.columns)
    declared = declared_links(reflection, keys, tells)
    inferred = inferred_links(reflection, keys, declared, tells)
    return Survey(reflection, keys, (*declared, *inferred), reasons, tells)


def _with_entity_links(survey: Survey, entity: EntityGuess) -> Survey:
    """An entity by column is a node of its own: every table that holds the column leads to it."""
    if entity.by is None:
        return survey
    links = list(survey.links)
    for table in survey.reflection:
        column = table.column(entity.by)
        if column is not None:
            links.append(
                Link(
                    table.name,
                    (column.name,),
                    entity.node or entity.by,
                    (),
                    False,
                    declared=table.name == entity.table,
                    why="names the entity",
                )
            )
    return survey.with_links(tuple(links))


def _down(survey: Survey, entity: EntityGuess, families: Mapping[str, Family]) -> Iterator[str]:
    """The entity and what is below it, each table right after its parent, in the order of the source."""
    if entity.node is None:
        return
    queue = [entity.node]
    while queue:
        table = queue.pop(0)
        if entity.by is None or table != entity.node:
            yield table
        children = [t.name for t in survey.reflection if t.name in families and t.name != table]
        queue = [t for t in children if (link := families[t].parent) is not None and link.target == table] + queue


def _header(survey: Survey) -> Iterator[Note]:
    """What the draft cannot show next to a table."""
    for left in survey.reflection.left_out:
        yield Note(f"left out: {left.name}: {left.reason}")
    for table in survey.reflection:
        for check in table.unread_checks:
            yield review(f"a constraint of {table.name} was not understood and is not kept: {check}")
    if any(not link.declared for link in survey.links):
        yield review("links between tables were guessed from column names where the source declares no foreign keys")
    if not survey.tells_nullability:
        yield review(
            "the source does not say which columns may be NULL. Rows whose parent is NULL are dropped: where that loses much, "
            "make the ancestor the parent, and the column a reference {kind: same_entity, table: …, nullable: true}"
        )
