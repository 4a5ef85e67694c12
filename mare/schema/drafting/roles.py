"""Whose privacy is protected? By name, by reach (who leads to it), by what its columns describe.

And, from there, what each table is: the entity, below it, owned by it, a pool of staff, a public vocabulary, or nobody knows yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mare.errors import SourceError
from mare.schema.reflection import ReflectedTable

from .drafted import EntityGuess, RoleGuess, review
from .keys import KEYLIKE
from .survey import Link, Survey
from .words import (
    is_held,
    is_money,
    is_owned,
    is_staff,
    is_time,
    is_vocabulary,
    names_person,
    names_stay,
    person_rank,
    personal_traits,
)


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
            roles[table.name] = _outside(survey, table.name, used.get(table.name), private, entity)
    for name in [name for name, guess in roles.items() if guess.role == "public" and _is_keyed_by_people(survey, name, roles)]:
        roles[name] = RoleGuess("unsettled", "its key leads to rows that are made up")
    return roles


def _is_keyed_by_people(survey: Survey, table: str, roles: Mapping[str, RoleGuess]) -> bool:
    """Whether its rows are told apart by whom they are about: without that column nothing is left of them."""
    key = set(survey.keys[table])
    return any(key & set(link.columns) and roles[link.target].role in ("pool", "owned") for link in survey.links_of(table))


def _below(survey: Survey, node: str) -> dict[str, str]:
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
    traits = personal_traits(c.name for c in survey.table(table).columns)
    users = {link.table for link in survey.links_to(table)}
    if used is not None and users == {used.table} and used.table in private and survey.keys[table]:
        if is_owned(table):
            return RoleGuess("owned", f"{used.table} refers to it, and its name says that each row belongs to somebody")
        if entity.table is not None and is_held(entity.table) and person_rank(table) is not None:
            return RoleGuess("owned", f"{used.table} joins them with {entity.table}: one {table} for each of its rows")
    if used is not None and _is_shared(survey, table, private):
        return RoleGuess("pool", f"{used.table} refers to it, and what hangs on it is about people: nothing of it is copied")
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


def _is_shared(survey: Survey, table: str, private: set[str]) -> bool:
    """What people hold, or what sums of money are booked on: copying it would copy facts about them."""
    booked = [survey.table(link.table) for link in survey.links_to(table) if link.table not in private]
    return is_held(table) or any(_is_booking(other) for other in booked)


def _is_booking(table: ReflectedTable) -> bool:
    dated = any(column.kind in ("date", "datetime") or is_time(column.name) for column in table.columns)
    return dated and any(is_money(column.name) and column.kind in ("integer", "number", "unknown") for column in table.columns)


_CONVINCING_REACH = 0.5
"""An unnamed table must be what at least this part of the others lead to."""


def guess_entity(survey: Survey, asked: str | None = None) -> EntityGuess:
    """The entity that was asked for, or the most convincing one, or none with the candidates."""
    guess = _guess(survey, asked)
    if guess.by is not None and survey.reflection.table(guess.by) is not None:
        return replace(guess, name=f"each_{guess.by}")
    return guess


def _guess(survey: Survey, asked: str | None) -> EntityGuess:
    if asked is not None:
        return _asked(survey, asked)
    named = sorted(
        (rank, -reach(survey, table.name), table.name)
        for table in survey.reflection
        if (rank := person_rank(table.name)) is not None
    )
    if named:
        _, below, table = named[0]
        rivals = tuple(name for _, _, name in named[1:])
        if (held := _held_by(survey, table)) is not None:
            doubt = review(f"each {held[0]} is protected by itself: is that enough for a {table} who has several?")
            return EntityGuess(*held, rivals=(table, *(name for name in rivals if name != held[0])), doubts=(doubt,))
        why = f"it is called after people, and {_led(-below)}"
        return _table_or_column(survey, table, why, rivals)
    return _unnamed(survey)


def _held_by(survey: Survey, people: str) -> tuple[str, str] | None:
    """What people hold together, joined with them by a table between (an account with two holders), and everything that is about
    them hangs on: then it is what can be protected as a whole."""
    below = set(_below(survey, people))
    for link in survey.links_to(people):
        for other in survey.links_of(link.table):
            held = other.target
            if held in (people, *below) or not is_held(held):
                continue
            led = set(_below(survey, held))
            if below <= led and led - below:
                return held, f"{link.table} joins it with {people}, and {_led(len(led))}"
    return None


def reach(survey: Survey, table: str) -> int:
    """How many other tables lead to this one through foreign keys, upwards."""
    tables, queue = {table}, [table]
    while queue:
        for link in survey.links_to(queue.pop()):
            if link.table not in tables:
                tables.add(link.table)
                queue.append(link.table)
    return len(tables) - 1


def _asked(survey: Survey, asked: str) -> EntityGuess:
    whole = survey.reflection.table(asked)
    if whole is not None:
        return EntityGuess(whole.name, "you asked for it")
    table, _, by = asked.rpartition(".")
    holder = survey.reflection.table(table) if table else None
    column = holder.column(by) if holder is not None else None
    if holder is not None and column is not None:
        return EntityGuess(holder.name, "you asked for it", by=column.name)
    if holder is not None:
        names = ", ".join(c.name for c in holder.columns)
        raise SourceError(f"--entity {asked}: table {holder.name} has no column {by}. It has: {names}.")
    names = ", ".join(sorted(t.name for t in survey.reflection))
    raise SourceError(f"--entity {asked}: there is no such table in {survey.reflection.label}. There are: {names}.")


def _table_or_column(survey: Survey, table: str, why: str, rivals: tuple[str, ...]) -> EntityGuess:
    """A table called `patient` whose key is a stay holds its patients as a column (eICU's `uniquepid`)."""
    key = survey.keys[table]
    person = next(
        (c.name for c in survey.table(table).columns if names_person(c.name) and c.kind in KEYLIKE and (c.name,) != key), None
    )
    uniques = survey.table(table).uniques
    if person is not None and (person,) not in uniques and len(key) == 1 and names_stay(key[0]):
        why = f"its key {key[0]} names a stay, so one {person} has several rows"
        return EntityGuess(table, why, by=person, rivals=rivals)
    return EntityGuess(table, why, rivals=rivals)


def _unnamed(survey: Survey) -> EntityGuess:
    tables = [t for t in survey.reflection if not is_staff(t.name) and not is_vocabulary(t.name)]
    staff = [t.name for t in survey.reflection if is_staff(t.name) and reach(survey, t.name) >= _CONVINCING_REACH * len(tables)]
    if len(staff) == 1 and tables:
        return EntityGuess(staff[0], f"it holds the only people there are, and {_led(reach(survey, staff[0]))}")
    if len(tables) == 1:
        return EntityGuess(tables[0].name, "it is the only table: one row must be one person")
    ranked = sorted((-reach(survey, t.name), t.name) for t in tables)
    candidates = tuple(f"{name} ({_led(-below)})" for below, name in ranked if below)[:5]
    shared = _person_column(survey)
    if shared is not None:
        return shared
    if ranked and -ranked[0][0] >= max(1, _CONVINCING_REACH * (len(tables) - 1)):
        _, name = ranked[0]
        traits = personal_traits(c.name for c in survey.table(name).columns)
        if traits and not any(
            True for link in survey.links_of(name) if not link.is_self and link.target in {t.name for t in tables}
        ):
            why = f"{_led(-ranked[0][0])}, and it describes people ({', '.join(traits[:3])})"
            return EntityGuess(name, why, rivals=tuple(n for b, n in ranked[1:] if b))
    return EntityGuess(None, "no table is called after people", rivals=candidates or tuple(t.name for t in tables)[:8])


def _person_column(survey: Survey) -> EntityGuess | None:
    """No table of people, but ids of people: `visits.patient_id`, `labs.patient_id`."""
    linked = {(link.table, link.columns[0]) for link in survey.links}
    columns = [
        (table.name, column.name)
        for table in survey.reflection
        for column in table.columns
        if names_person(column.name) and column.kind in KEYLIKE and (table.name, column.name) not in linked
    ]
    if not columns:
        return None
    table, by = max(columns, key=lambda pair: (reach(survey, pair[0]), -columns.index(pair)))
    return EntityGuess(table, f"no table holds people one row each, but {by} names them", by=by)


def _led(count: int) -> str:
    return "no other table leads to it" if count == 0 else f"{count} other table{'s lead' if count > 1 else ' leads'} to it"
