"""What each table is: the entity, below it, owned by it, a pool of staff, a public vocabulary, or nobody knows yet."""

from __future__ import annotations

from .drafted import EntityGuess, RoleGuess
from .names import is_owned, is_staff, is_vocabulary, personal_traits
from .survey import Link, Survey


def guess_roles(survey: Survey, entity: EntityGuess) -> dict[str, RoleGuess]:
    """A role for every table. Only a definite sign makes a table public: a public table is copied verbatim."""
    roles: dict[str, RoleGuess] = {}
    if entity.node is not None:
        roles[entity.node] = RoleGuess("entity", entity.why)
        for name, why in _below(survey, entity.node).items():
            roles.setdefault(name, RoleGuess("private", why))
    private = set(roles)
    used = _used_by(survey, private)
    for table in survey.reflection:
        if table.name not in roles:
            roles[table.name] = _outside(survey, table.name, used.get(table.name), private)
    return roles


def _below(survey: Survey, node: str) -> dict[str, str]:
    """Every table with a path up to the entity: its rows are about somebody."""
    found: dict[str, str] = {}
    queue = [node]
    while queue:
        target = queue.pop(0)
        for link in survey.links_to(target):
            if link.table != node and link.table not in found:
                found[link.table] = f"{', '.join(link.columns)} leads to {target}"
                queue.append(link.table)
    return found


def _used_by(survey: Survey, private: set[str]) -> dict[str, Link]:
    """Tables that private ones point to, directly or through each other → the first link that does."""
    found: dict[str, Link] = {}
    queue = sorted(private)
    while queue:
        for link in survey.links_of(queue.pop(0)):
            if link.target not in private and link.target not in found:
                found[link.target] = link
                queue.append(link.target)
    return found


def _outside(survey: Survey, table: str, used: Link | None, private: set[str]) -> RoleGuess:
    if is_staff(table):
        return RoleGuess("pool", "its name says staff: fresh rows instead of real people")
    traits = personal_traits(c.name for c in survey.table(table).columns)
    users = {link.table for link in survey.links_to(table)}
    if used is not None and is_owned(table) and users == {used.table} and used.table in private and survey.keys[table]:
        return RoleGuess("owned", f"{used.table} refers to it, and its name says that each row belongs to somebody")
    if used is not None and (traits or is_owned(table)):
        # Fresh rows are safe whoever these people are; copying or learning them would not be.
        sign = f"{', '.join(traits[:3])} describe people" if traits else "its name says that it is about people"
        return RoleGuess("pool", f"{used.table} refers to it, and {sign}, but nothing leads from it to the entity")
    if traits:
        return RoleGuess("unsettled", f"nothing leads from it to the entity, but {', '.join(traits[:3])} describe people")
    if is_vocabulary(table):
        return RoleGuess("public", "its name says vocabulary, and nothing leads from it to the entity")
    if used is not None:
        return RoleGuess("public", f"{used.table} refers to it, and nothing leads from it to the entity")
    return RoleGuess("unsettled", "nothing leads from it to the entity, and no table of the entity refers to it")
