"""What each table is: the entity, below it, owned by it, a pool of staff, a public vocabulary, or nobody knows yet."""

from __future__ import annotations

from collections.abc import Mapping

from mare.schema.reflection import ReflectedTable

from .drafted import EntityGuess, RoleGuess
from .people import is_held, is_owned, is_place, is_staff, names_staff, person_rank, personal_traits
from .survey import Link, Survey
from .words import is_money, is_time, is_vocabulary


def guess_roles(survey: Survey, entity: EntityGuess) -> dict[str, RoleGuess]:
    """A role for every table. Only a definite sign makes a table public: a public table is copied verbatim."""
    roles: dict[str, RoleGuess] = {}
    if entity.node is not None:
        roles[entity.node] = RoleGuess("entity", entity.why)
        for name, why in tables_below(survey, entity.node).items():
            roles.setdefault(name, RoleGuess("private", why))
    private = set(roles)
    used = _used_by(survey, private)
    for table in survey.reflection:
        if table.name not in roles:
            roles[table.name] = _outside(survey, table.name, used.get(table.name), private, entity)
    for name in [name for name, guess in roles.items() if guess.role == "public" and _is_keyed_by_people(survey, name, roles)]:
        roles[name] = RoleGuess("unsettled", "its key leads to rows that are made up")
    return roles


def _is_keyed_by_people(survey: Survey, table: str, roles: Mapping[str, RoleGuess]) -> bool:
    """Whether its rows are told apart by whom they are about: without that column nothing is left of them."""
    key = set(survey.keys[table])
    return any(key & set(link.columns) and roles[link.target].role in ("pool", "owned") for link in survey.links_of(table))


def tables_below(survey: Survey, node: str) -> dict[str, str]:
    """Every table with a path up to the entity: its rows are about somebody."""
    why: dict[str, str] = {}
    queue = [node]
    while queue:
        target = queue.pop(0)
        for link in survey.links_to(target):
            if link.table != node and link.table not in why:
                why[link.table] = f"{', '.join(link.columns)} leads to {target}"
                queue.append(link.table)
    return why


def _used_by(survey: Survey, private: set[str]) -> dict[str, Link]:
    """Tables that private ones point to, directly or through each other → the first link that does."""
    first_links: dict[str, Link] = {}
    queue = sorted(private)
    while queue:
        for link in survey.links_of(queue.pop(0)):
            if link.target not in private and link.target not in first_links:
                first_links[link.target] = link
                queue.append(link.target)
    return first_links


def _outside(survey: Survey, table: str, used: Link | None, private: set[str], entity: EntityGuess) -> RoleGuess:
    if is_staff(table):
        return RoleGuess("pool", "its name says staff: fresh rows instead of real people")
    if done := next((link.label for link in survey.links_to(table) if any(map(names_staff, link.columns))), None):
        return RoleGuess("pool", f"{done} says who did it: fresh rows instead of real people")
    traits = personal_traits(c.name for c in survey.table(table).columns)
    users = {link.table for link in survey.links_to(table)}
    if used is not None and users == {used.table} and used.table in private and survey.keys[table]:
        if is_owned(table):
            return RoleGuess("owned", f"{used.table} refers to it, and its name says that each row belongs to somebody")
        if entity.table is not None and is_held(entity.table) and person_rank(table) is not None:
            return RoleGuess("owned", f"{used.table} joins them with {entity.table}: one {table} for each of its rows")
    if used is not None and _is_shared(survey, table, private):
        return RoleGuess("pool", f"{used.table} refers to it, and what hangs on it is about people: nothing of it is copied")
    if used is not None and traits and is_place(table, (c.name for c in survey.table(table).columns)):
        return RoleGuess("public", f"{used.table} refers to it, and its name says places")
    if used is not None and (traits or is_owned(table)):
        # Fresh rows are safe whoever these people are; copying or learning them would not be.
        sign = f"{', '.join(traits[:3])} describe people" if traits else "its name says that it is about people"
        return RoleGuess("pool", f"{used.table} refers to it, and {sign}, but nothing leads from it to the entity")
    if traits:
        return RoleGuess("unsettled", f"nothing leads from it to the entity, but {', '.join(traits[:3])} describe people")
    if person_rank(table) is not None:
        told = "nothing leads from it to the entity, but it is called after people"
        return RoleGuess("pool", f"{used.table} refers to it; {told}") if used is not None else RoleGuess("unsettled", told)
    if is_vocabulary(table):
        return RoleGuess("public", "its name says vocabulary, and nothing leads from it to the entity")
    if used is not None:
        return RoleGuess("public", f"{used.table} refers to it, and nothing leads from it to the entity")
    return RoleGuess("unsettled", "nothing leads from it to the entity, and no table of the entity refers to it")


def _is_shared(survey: Survey, table: str, private: set[str]) -> bool:
    """What people hold, or what sums of money are booked on: copying it would copy facts about them."""
    booked = [survey.table(link.table) for link in survey.links_to(table) if link.table not in private]
    return is_held(table) or any(_is_booking(other) for other in booked)


def _is_booking(table: ReflectedTable) -> bool:
    dated = any(column.kind in ("date", "datetime") or is_time(column.name) for column in table.columns)
    return dated and any(is_money(column.name) and column.kind in ("integer", "number", "unknown") for column in table.columns)
