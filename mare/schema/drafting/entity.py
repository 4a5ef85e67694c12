"""Whose privacy is protected? By name, by reach (who leads to it), by what its columns describe. And what each other table is:
below the entity, owned by it, a pool of staff, a public vocabulary, or nobody knows yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mare.errors import SourceError
from mare.schema.reflection import ReflectedTable

from .drafted import EntityGuess, RoleGuess, review
from .keys import BARE, KEYLIKE, named_column
from .name_words import id_stem, is_at_school, is_money, is_time, is_vocabulary, names_stay, stem, words
from .people import (
    describes_held,
    is_contact,
    is_held,
    is_owned,
    is_place,
    is_staff,
    is_sure,
    is_written,
    names_person,
    names_staff,
    numbers_people,
    person_rank,
    personal_traits,
    surely_names_person,
)
from .survey import Link, Survey

_CONVINCING_REACH = 0.5
"""An unnamed table must be what at least this part of the others lead to."""
_CODE_COLUMNS = 3
"""A code, what it means, and perhaps one word more."""


def guess_entity(survey: Survey, asked: str | None = None) -> EntityGuess:
    """The entity that was asked for, or the most convincing one, or none with the candidates."""
    guess = _guess(survey, asked)
    if guess.by is not None and survey.reflection.table(guess.by) is not None:
        return replace(guess, name=f"each_{guess.by}")
    return guess


def _guess(survey: Survey, asked: str | None) -> EntityGuess:
    if asked is not None:
        return _asked_for(survey, asked)
    named = [table.name for table in survey.reflection if not describes_held(table.name, table.columns)]
    if people := {name: rank for name in named if (rank := person_rank(name)) is not None}:
        below = {name: reach(survey, name) for name in people}
        described = {name: bool(personal_traits(column.name for column in survey.table(name).columns)) for name in people}
        any_described = any(described[name] for name in people if is_sure(people[name]))

        def telling(name: str) -> tuple[bool, bool, int, int, str]:
            """A word that is sure of people comes first, unless most of what there is leads to somebody else, or somebody else is
            described there: subjects are taught where students have a sex."""
            sure = is_sure(people[name]) and 2 * below[name] >= max(below.values()) and (described[name] or not any_described)
            return not sure, not below[name], people[name] if sure else -below[name], -below[name], name

        table, *others = sorted(people, key=telling)
        rivals = tuple(others)
        if (held := _held_by(survey, table)) is not None:
            doubt = review(f"each {held[0]} is protected by itself: is that enough for a {table} who has several?")
            return EntityGuess(*held, rivals=(table, *(name for name in rivals if name != held[0])), doubts=(doubt,))
        why = f"it is called after people, and {_led(below[table])}"
        return _table_or_column(survey, table, why, rivals)
    return _unnamed(survey)


def _held_by(survey: Survey, people: str) -> tuple[str, str] | None:
    """What people hold together, joined with them by a table between (an account with two holders), and everything that is about
    them depends on: then it is what can be protected as a whole."""
    below = set(tables_below(survey, people))
    for link in survey.links_to(people):
        for other in survey.links_of(link.table):
            held = other.target
            if held in (people, *below) or not is_held(held):
                continue
            led = set(tables_below(survey, held))
            if below <= led and led - below:
                return held, f"{link.table} joins it with {people}, and {_led(len(led))}"
    return None


def reach(survey: Survey, table: str) -> int:
    """How many other tables lead to this one."""
    return len(tables_below(survey, table))


def _asked_for(survey: Survey, asked: str) -> EntityGuess:
    whole = survey.reflection.table(asked)
    if whole is not None:
        return EntityGuess(whole.name, "you asked for it")
    holder, column = named_column(survey.reflection, asked)
    if holder is not None and column is not None:
        # Where the column is its key, the table holds each of them once.
        by = None if survey.keys[holder.name] == (column.name,) else column.name
        return EntityGuess(holder.name, "you asked for it", by=by)
    if holder is not None:
        by = asked.rpartition(".")[2]
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
    if person is not None and not key and survey.repeats.get((table, person)):
        return EntityGuess(table, f"its {person} stands in several rows", by=person, rivals=rivals)
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
        return _alone(survey, tables[0])
    rows = [t for t in tables if not _is_code_table(survey, t)]
    traits = {t.name: personal_traits(c.name for c in t.columns) for t in rows}
    # Whoever is described as a person before what is not, and then what most others lead to.
    ranked = sorted((not traits[t.name], -reach(survey, t.name), t.name) for t in rows)
    candidates = tuple(f"{name} ({_led(-below)})" for _, below, name in ranked if below)[:5]
    shared = _person_column(survey)
    if shared is not None:
        return shared
    if ranked and -ranked[0][1] >= max(1, _CONVINCING_REACH * (len(rows) - 1)):
        *_, name = ranked[0]
        upward = [link for link in survey.links_of(name) if not link.is_self and link.target in traits]
        alone = len(ranked) == 1 or ranked[0][:2] < ranked[1][:2]
        if traits[name] and not upward and alone:
            why = f"{_led(-ranked[0][1])}, and it describes people ({', '.join(traits[name][:3])})"
            return EntityGuess(name, why, rivals=tuple(other for _, below, other in ranked[1:] if below))
    rest = tuple(f"{t.name} ({_led(below)})" for t in tables if (below := reach(survey, t.name))) or tuple(t.name for t in tables)
    return EntityGuess(None, "no table is called after people", rivals=candidates or rest[:8])


def _alone(survey: Survey, table: ReflectedTable) -> EntityGuess:
    """The only table there is. Whoever an id names has several rows, where nobody says or sees that no two have the same:
    to protect each row would protect them less than is said."""
    unique = {survey.keys[table.name], *table.uniques}
    free = [c.name for c in table.columns if c.kind in KEYLIKE and (c.name,) not in unique]
    seen = {name: survey.repeats.get((table.name, name)) for name in free}
    people = [name for name in free if names_person(name) and seen[name] is not False]
    taught = is_at_school((table.name, *(column.name for column in table.columns)))
    numbered = [name for name in free if numbers_people(name) and seen[name] and not (taught and stem(name) == "subject")]
    for by in (*people, *numbered):
        reason = "stands in several rows" if seen[by] else "names people, and nothing says that each has one row"
        return EntityGuess(table.name, f"it is the only table, and its {by} {reason}", by=by)
    if survey.keys[table.name] or any(names_person(name) or numbers_people(name) for name in free):
        return EntityGuess(table.name, "it is the only table, and nobody has two rows by its key or id")
    how = f"if somebody has several, name what tells people apart: --entity {table.name}.COLUMN"
    doubt = review(f"each row is protected by itself: {how}")
    return EntityGuess(table.name, "it is the only table: one row must be one person", doubts=(doubt,))


def _is_code_table(survey: Survey, table: ReflectedTable) -> bool:
    """A code and what it means: it leads nowhere, and tells neither when nor of whom."""
    facts = _is_dated(table) or personal_traits(c.name for c in table.columns)
    leads = any(not link.is_self for link in survey.links_of(table.name))
    return not (leads or facts) and len(table.columns) <= _CODE_COLUMNS


def with_nothing_below(survey: Survey, entity: EntityGuess, roles: Mapping[str, RoleGuess]) -> EntityGuess:
    """The same entity, with a loud word where no table leads to it and others are left out for that."""
    lost = [name for name, guess in roles.items() if guess.role == "unsettled"]
    if entity.table is None or not lost or any(guess.role == "private" for guess in roles.values()):
        return entity
    warning = f"no other table leads to {entity.table}, so {', '.join(lost)} {'is' if len(lost) == 1 else 'are'} left out"
    held = [c.name for c in survey.table(entity.table).columns if any(survey.table(t).column(c.name) for t in lost)]
    named = f" (they share {', '.join(held[:5])})" if held else ""
    how = f"If a column tells there whose rows they are, name it: --entity {entity.table}.COLUMN{named}"
    return replace(entity, doubts=(*entity.doubts, review(f"{warning}. {how}")))


def _person_column(survey: Survey) -> EntityGuess | None:
    """No table of people, but ids of people (`visits.patient_id`, `labs.patient_id`), or of what they hold together and most
    tables share (`household_id`)."""
    linked = {(link.table, link.columns[0]) for link in survey.links}
    free = [
        (table, column.name)
        for table in survey.reflection
        for column in table.columns
        if column.kind in KEYLIKE and (table.name, column.name) not in linked
    ]
    named = [(table, name) for table, name in free if names_person(name)]
    if named:
        table, by = max(named, key=lambda pair: (reach(survey, pair[0].name), -named.index(pair)))
        if survey.keys[table.name] == (by,):
            return EntityGuess(table.name, f"its key {by} names people, and {_led(reach(survey, table.name))}")
        return EntityGuess(table.name, f"no table holds people one row each, but {by} names them", by=by)
    held = [(table, name) for table, name in free if is_held(id_stem(name) or "-") and survey.keys[table.name] != (name,)]
    shared = [pair for pair in held if 2 * sum(name == pair[1] for _, name in held) >= len(survey.reflection.tables)]
    if not shared:
        return None
    # Where they are told apart by what happened to them: a table that describes them need not hold all.
    table, by = max(shared, key=lambda pair: (_is_dated(pair[0]), len(pair[0].columns), -shared.index(pair)))
    holders = sum(name == by for _, name in shared)
    doubt = review(f"each {by} is protected as a whole, and a person in none is not: is this whom the data is about?")
    return EntityGuess(
        table.name, f"no table holds people one row each, but {by} stands in {holders} tables", by=by, doubts=(doubt,)
    )


def _is_dated(table: ReflectedTable) -> bool:
    return any(column.kind in ("date", "datetime") or is_time(column.name) for column in table.columns)


def _led(count: int) -> str:
    return "no other table leads to it" if count == 0 else f"{count} other table{'s lead' if count > 1 else ' leads'} to it"


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
    for name, why in _about_people(survey, roles).items():
        if roles[name].role == "public":
            roles[name] = RoleGuess("unsettled", why)
    return roles


def _about_people(survey: Survey, roles: Mapping[str, RoleGuess]) -> dict[str, str]:
    """Tables whose rows are about some people, whoever the entity is, and what leads to these: none of it is ever copied."""
    why: dict[str, str] = {}
    keys = {words(key[0]) for name, key in survey.keys.items() if _names_its_people(survey, name, key, roles)}
    for table in survey.reflection:
        free = [column.name for column in table.columns if (column.name,) != survey.keys[table.name]]
        named = [name for name in free if surely_names_person(name) or any(words(name)[-len(key) :] == key for key in keys)]
        away = [link for link in survey.links_of(table.name) if not _says_who(link)]
        if signs := [*named, *(link.label for link in away if _is_people(survey, link.target, roles))]:
            why[table.name] = f"{signs[0]} says whom it is about"
        elif is_written(table.name):
            why[table.name] = "its name says that people wrote it, or did it"
    queue = list(why)
    while queue:
        target = queue.pop(0)
        for link in survey.links_to(target):
            if link.table not in why and roles[target].role in ("public", "unsettled"):
                why[link.table] = f"{link.label} leads to rows about people"
                queue.append(link.table)
    return why


def _names_its_people(survey: Survey, table: str, key: tuple[str, ...], roles: Mapping[str, RoleGuess]) -> bool:
    """Whether the key of a table of people is called as hardly anything else is: then any column of that name is about them."""
    people = roles[table].role == "entity" or (person_rank(table) is not None and _is_people(survey, table, roles))
    return people and len(key) == 1 and words(key[0]) not in BARE


def _is_people(survey: Survey, table: str, roles: Mapping[str, RoleGuess]) -> bool:
    """Made-up rows in place of people who are no staff."""
    if roles[table].role not in ("pool", "owned") or is_staff(table) or any(map(_says_who, survey.links_to(table))):
        return False
    traits = personal_traits(c.name for c in survey.table(table).columns)
    return person_rank(table) is not None or not all(map(is_contact, traits))


def _is_keyed_by_people(survey: Survey, table: str, roles: Mapping[str, RoleGuess]) -> bool:
    """Whether its rows are told apart by whom they are about: without that column nothing is left of them."""
    key = set(survey.keys[table])
    return any(key & set(link.columns) and roles[link.target].role in ("pool", "owned") for link in survey.links_of(table))


def tables_below(survey: Survey, node: str) -> dict[str, str]:
    """Every table with a path up to the entity: its rows are about somebody. Who made a row is not whom it is about."""
    why: dict[str, str] = {}
    queue, doers = [node], {link.target for link in survey.links if _says_who(link) and _may_do(survey, link.target)} - {node}
    while queue:
        target = queue.pop(0)
        for link in survey.links_to(target):
            if link.table != node and link.table not in why and link.table not in doers:
                why[link.table] = f"{', '.join(link.columns)} leads to {target}"
                queue.append(link.table)
    return why


def _says_who(link: Link) -> bool:
    """Whether a reference says who did it."""
    return any(map(names_staff, link.columns))


def _may_do(survey: Survey, table: str) -> bool:
    """Whether a table may hold those who did it: a bill is covered by a policy."""
    described = survey.reflection.table(table)
    traits = personal_traits(column.name for column in described.columns) if described is not None else ()
    return is_staff(table) or person_rank(table) is not None or bool(traits)


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
    if is_staff(table) and not _joins(survey, table):
        return RoleGuess("pool", "its name says staff: fresh rows instead of real people")
    if done := next((link.label for link in survey.links_to(table) if _says_who(link)), None):
        return RoleGuess("pool", f"{done} says who did it: fresh rows instead of real people")
    # What tells its rows apart describes nobody: a `race_id` of races is none of a person's traits.
    traits = personal_traits(c.name for c in survey.table(table).columns if c.name not in survey.keys[table])
    users = {link.table for link in survey.links_to(table)}
    if used is not None and users == {used.table} and used.table in private and survey.keys[table]:
        if is_owned(table):
            return RoleGuess("owned", f"{used.table} refers to it, and its name says that each row belongs to somebody")
        if entity.table is not None and is_held(entity.table) and person_rank(table) is not None:
            return RoleGuess("owned", f"{used.table} joins them with {entity.table}: one {table} for each of its rows")
    if used is not None and _is_shared(survey, table, private):
        return RoleGuess("pool", f"{used.table} refers to it, and what depends on it is about people: nothing of it is copied")
    if used is not None and traits and is_place(table, (c.name for c in survey.table(table).columns)):
        return RoleGuess("public", f"{used.table} refers to it, and its name says places")
    if used is not None and (traits or is_owned(table)):
        # Fresh rows are safe whoever these people are; copying or learning them would not be.
        sign = f"{', '.join(traits[:3])} describe people" if traits else "its name says that it is about people"
        return RoleGuess("pool", f"{used.table} refers to it, and {sign}, but nothing leads from it to the entity")
    if traits:
        return RoleGuess("unsettled", f"nothing leads from it to the entity, but {', '.join(traits[:3])} describe people")
    if person_rank(table) is not None and not _is_taught(survey, table):
        reason = "nothing leads from it to the entity, but it is called after people"
        return RoleGuess("pool", f"{used.table} refers to it; {reason}") if used is not None else RoleGuess("unsettled", reason)
    if is_vocabulary(table):
        return RoleGuess("public", "its name says vocabulary, and nothing leads from it to the entity")
    if used is not None:
        return RoleGuess("public", f"{used.table} refers to it, and nothing leads from it to the entity")
    return RoleGuess("unsettled", "nothing leads from it to the entity, and no table of the entity refers to it")


def _joins(survey: Survey, table: str) -> bool:
    """Whether rows only say what goes with what: a staff's groups are no staff."""
    key = set(survey.keys[table])
    return len(key) > 1 and key <= {name for link in survey.links_of(table) for name in link.columns}


def _is_taught(survey: Survey, table: str) -> bool:
    """What a school calls a subject."""
    return stem(table) == "subject" and is_at_school(other.name for other in survey.reflection)


def _is_shared(survey: Survey, table: str, private: set[str]) -> bool:
    """What people hold, or what sums of money are booked on: copying it would copy facts about them."""
    booked = [survey.table(link.table) for link in survey.links_to(table) if link.table not in private]
    return is_held(table) or any(_is_booking(other) for other in booked)


def _is_booking(table: ReflectedTable) -> bool:
    money = [column for column in table.columns if is_money(column.name)]
    return _is_dated(table) and any(column.kind in ("integer", "number", "unknown") for column in money)
