"""`Survey`: a reflection with its keys and links, declared by the catalogue or read from names. The first step of a draft.

A folder of files declares neither keys nor foreign keys: there a column that is called as another table's key
is taken for a link to it, and the draft says so. Dates that a database stores as text (SQLite has no other way) are read as dates
by their names, in the form that ISO 8601 gives them: as texts they would be ordered as texts, and learned as lists of words.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from mare.schema.reflection import Compared, ReflectedColumn, ReflectedTable, Reflection

from .drafted import PublicFacts
from .keys import BARE, Repeats, guess_keys, referred_to, without_prefix
from .name_words import id_stem, is_common, is_vocabulary, names_of, singular, stem, words
from .people import is_birth, names_person, person_rank

DAY, PLAIN_DAY, MOMENT = "%Y-%m-%d", "%Y%m%d", "%Y-%m-%d %H:%M:%S"
TRIAL_DAY = (DAY, "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S")
"""Of SDTM: as exact as it is known."""
_DAYS = ("date", "dob", "dod", "birthday", "birthdate")
_BEFORE_DAYS = ("on", "am", "since", "seit")
"""Last words of more: `paid_on`, `kunde_seit`."""
_MOMENTS = ("datetime", "timestamp", "dttm", "at")
_CLOCKED = {*_MOMENTS, "time", "ts", "dt", "moment", "clock", "hour"}

Written = str | tuple[str, ...]
Formats = Mapping[tuple[str, str], Written]
"""Table and column → how its dates are written."""


def read_text_dates(reflection: Reflection) -> tuple[Reflection, Formats]:
    """The same tables, with dates where the names of text columns say so, and how they are taken to be written."""
    formats: dict[tuple[str, str], Written] = {}
    tables = []
    for table in reflection:
        columns = []
        for column in table.columns:
            if column.kind == "datetime" and _is_day(column):
                column = replace(column, kind="date")
            kind = _kind(column)
            if kind is not None:
                short = column.max_length is not None and column.max_length < 10
                known = MOMENT if kind == "datetime" else PLAIN_DAY if short else DAY
                formats[table.name, column.name] = TRIAL_DAY if column.name.casefold().endswith("dtc") else known
                column = replace(column, kind=kind)
            columns.append(column)
        tables.append(replace(table, columns=tuple(columns)))
    return replace(reflection, tables=tuple(tables)), formats


def _is_day(column: ReflectedColumn) -> bool:
    """Whether what is stored as a moment is a day, by its name: a birth, and any date of pandas, which has no days."""
    parts = words(column.name)
    if not parts or {*parts} & _CLOCKED or parts[-1].endswith("time"):
        return False
    named = parts[-1] in _DAYS or parts[-1].endswith(("date", "datum")) or parts[0] in ("date", "fecha")
    return is_birth(column.name) or (column.inferred and named)


def _kind(column: ReflectedColumn) -> Literal["date", "datetime"] | None:
    parts = words(column.name)
    if column.kind != "string" or column.values is not None or column.looked_at or not parts:
        return None
    if column.max_length is not None and column.max_length < 8:
        return None
    # `start_time` may be a time of day; `charttime` and `created_at` are moments.
    if parts[-1] in _MOMENTS or (len(parts[-1]) > 4 and parts[-1].endswith("time")):
        return "datetime" if column.max_length is None or column.max_length >= 19 else None
    named = (
        parts[-1] in _DAYS
        or (len(parts) > 1 and parts[-1] in _BEFORE_DAYS)
        or parts[-1].endswith(("date", "datum"))
        or parts[0] in ("date", "fecha")
    )
    # `data` and `dato` are dates in some languages and anything in others; of a birth they are dates.
    return "date" if named or (is_birth(column.name) and (parts[0] == "data" or parts[-1].endswith("dato"))) else None


@dataclass(frozen=True)
class Link:
    """A foreign key, declared or guessed."""

    table: str
    columns: tuple[str, ...]
    target: str
    references: tuple[str, ...]
    nullable: bool
    """The catalogue lets it be NULL, in a source whose catalogue tells."""
    declared: bool = True
    why: str = ""
    """How it was guessed, where it is not declared."""

    @property
    def is_self(self) -> bool:
        return self.table == self.target

    @property
    def label(self) -> str:
        return f"{self.table}.{'+'.join(self.columns)} → {self.target}"


@dataclass(frozen=True)
class Survey:
    """All tables with the keys and links the draft works with."""

    reflection: Reflection
    keys: Mapping[str, tuple[str, ...]]
    links: tuple[Link, ...]
    key_reasons: Mapping[str, str]
    """Why, for keys that the source does not declare."""
    facts: PublicFacts
    formats: Formats
    """How dates are written that are stored as text."""
    tells_nullability: bool
    """False where every column may be NULL: a folder of files does not tell."""
    repeats: Repeats = field(default_factory=dict)
    """What was looked at on request: whether the values of a column stand in several rows."""
    compared: Mapping[tuple[str, str], Compared] = field(default_factory=dict)
    """The same, of a column beside the others of its table."""

    def table(self, name: str) -> ReflectedTable:
        table = self.reflection.table(name)
        if table is None:
            raise KeyError(name)
        return table

    def links_of(self, table: str) -> Iterator[Link]:
        """Where this table points to."""
        return (link for link in self.links if link.table == table)

    def links_to(self, table: str) -> Iterator[Link]:
        """Who points to this table."""
        return (link for link in self.links if link.target == table)

    def may_be_null(self, link: Link) -> bool:
        """Whether the columns of the link may, as far as they say."""
        return _nullable(self.table(link.table), link.columns, self.keys)

    def seen(self, table: str, column: str) -> Compared:
        """What was seen of a column beside the others, if it was looked at."""
        return self.compared.get((table, column), Compared())

    def is_fact(self, table: str, column: str) -> bool:
        """Whether it was seen to be about whoever the rows belong to: the same in all of them, or what the row above says."""
        seen = self.seen(table, column)
        return seen.same or seen.copies is not None

    def with_links(self, links: tuple[Link, ...]) -> Survey:
        return replace(self, links=links)


def take_survey(
    reflection: Reflection,
    facts: PublicFacts,
    people: str | None = None,
    repeats: Repeats | None = None,
    compared: Mapping[tuple[str, str], Compared] | None = None,
    missing: Collection[tuple[str, str]] = (),
) -> Survey:
    """Keys first, then the links that refer to them. ``people``: the table that was said to hold them, or a column of it;
    ``missing``: columns of which a row was seen to have no value, so that they are no key."""
    reflection, formats = read_text_dates(reflection)
    names = _names(reflection)
    shorter = {long: short for short, long in names.items()}
    named = _renamed(reflection, shorter)
    seen = {
        (shorter.get(place[0], place[0]), place[1]): repeated or place in missing for place, repeated in (repeats or {}).items()
    }
    keys, reasons = guess_keys(named, _shortened(people, shorter), seen)
    tells = any(not column.nullable for table in reflection for column in table.columns)
    declared = declared_links(named, keys, tells)
    lists = {name: key[-1] for name, key in keys.items() if len(key) > 1 and seen.get((name, key[-1]))}
    links = [*declared, *inferred_links(named, keys, declared, tells, lists)]
    back = tuple(
        replace(
            link,
            table=names[link.table],
            target=names[link.target],
            why=link.why.removesuffix(link.target) + names[link.target] if link.why.endswith(link.target) else link.why,
        )
        for link in links
    )
    own = {names[name]: key for name, key in keys.items()}
    why = {names[name]: reason for name, reason in reasons.items()}
    return Survey(reflection, own, back, why, facts, formats, tells, repeats or {}, compared or {})


def _names(reflection: Reflection) -> dict[str, str]:
    """What tables are called without the words that all of them begin with (`Acme_Sales`, `Acme_Products`) → their names."""
    names = [table.name for table in reflection]
    first = {words(name)[:1] for name in names}
    word = next(iter(first))[0] if len(first) == 1 and len(names) > 2 and first != {()} else ""
    short = {re.sub(rf"^{re.escape(word)}[\W_]+", "", name, flags=re.IGNORECASE): name for name in names}
    plain = len(short) == len(names) and all(key[:1].isalpha() and key != name for key, name in short.items())
    return short if word and plain and person_rank(word) is None else {name: name for name in names}


def _shortened(people: str | None, shorter: Mapping[str, str]) -> str | None:
    """A table, or a column of one, by the table's shorter name."""
    if people is None or people in shorter:
        return shorter.get(people or "")
    table, dot, column = people.rpartition(".")
    return f"{shorter.get(table, table)}{dot}{column}"


def _renamed(reflection: Reflection, names: Mapping[str, str]) -> Reflection:
    tables = [
        replace(
            table,
            name=names[table.name],
            foreign_keys=tuple(replace(key, table=names.get(key.table, key.table)) for key in table.foreign_keys),
        )
        for table in reflection
    ]
    return replace(reflection, tables=tuple(tables))


Keys = Mapping[str, tuple[str, ...]]
Owners = Sequence[tuple[ReflectedTable, ReflectedColumn]]
"""Tables with a key of one column, and that column."""


def declared_links(reflection: Reflection, keys: Keys, tells_nullability: bool) -> tuple[Link, ...]:
    """The catalogue's foreign keys. One to a table that is left out is none."""
    links = []
    for table in reflection:
        for foreign in table.foreign_keys:
            target = reflection.table(foreign.table)
            if target is not None:
                nullable = tells_nullability and _nullable(table, foreign.columns, keys)
                references = foreign.references or keys[target.name]
                links.append(Link(table.name, foreign.columns, target.name, references, nullable))
    return tuple(dict.fromkeys(links))  # the same one may be declared twice


def inferred_links(
    reflection: Reflection, keys: Keys, declared: tuple[Link, ...], tells_nullability: bool, lists: Mapping[str, str]
) -> tuple[Link, ...]:
    """Links by name. A table with a declared foreign key is taken at its word, but for a column that is called as the key of
    what others refer to by a declared one (the products of order lines): whose rows it holds, and what is copied, no name alone
    settles. ``lists``: tables that tell something of each season or the like, and the column that names what of:
    others may hold it without the season."""
    settled = {link.table for link in declared}
    known = {link.target for link in declared} - _of_people(reflection, declared)
    owners = [(table, key) for table in reflection for key in _single_keys(table, keys, reflection)]
    owners += [(table, key) for table in reflection if (key := table.column(lists.get(table.name, ""))) is not None]
    links = []
    for table in reflection:
        if table.name not in settled:
            links += _composite(table, reflection, keys, tells_nullability)
            taken = {name for link in links if link.table == table.name for name in link.columns}
            for column in table.columns:
                if column.name not in taken and (link := _link(table, column, owners, keys, tells_nullability)):
                    links.append(link)
            continue
        taken = {name for link in declared if link.table == table.name for name in link.columns}
        for column in table.columns:
            named = column.name not in taken and id_stem(column.name) and not is_common(column.name)
            link = _link(table, column, owners, keys, tells_nullability) if named else None
            if link is not None and link.target in known:
                links.append(link)
    return tuple(links)


def _of_people(reflection: Reflection, links: tuple[Link, ...]) -> set[str]:
    """Tables of people, and what leads to them."""
    found = {table.name for table in reflection if person_rank(table.name) is not None}
    while more := {link.table for link in links if link.target in found} - found:
        found |= more
    return found


def _single_keys(table: ReflectedTable, keys: Keys, reflection: Reflection) -> Iterator[ReflectedColumn]:
    """Columns that rows may be referred to by: the key, what the catalogue says is unique, the code of a vocabulary."""
    names = [keys[table.name][0]] if len(keys[table.name]) == 1 else []
    names += [unique[0] for unique in table.uniques if len(unique) == 1 and id_stem(unique[0])]
    if names and words(names[0]) in BARE and (meant := referred_to(table, reflection)) is not None:
        names.append(meant)
    yield from (column for name in dict.fromkeys(names) if (column := table.column(name)) is not None)


def _nullable(table: ReflectedTable, columns: tuple[str, ...], keys: Keys) -> bool:
    if set(columns) <= set(keys[table.name]):
        return False
    return any(column.nullable for name in columns if (column := table.column(name)))


def _link(table: ReflectedTable, column: ReflectedColumn, owners: Owners, keys: Keys, tells: bool) -> Link | None:
    for targets, why in (
        (dict(_same_name(table, column, owners, keys)), "is called as the key of"),
        (dict(_called_after(table, column, owners)), "is called after"),
    ):
        target = _best(table, column, [owner for owner, _ in owners if owner.name in targets])
        if target is not None:
            nullable = tells and _nullable(table, (column.name,), keys)
            why = f"{why} {target.name}"
            return Link(table.name, (column.name,), target.name, (targets[target.name],), nullable, declared=False, why=why)
    return None


def _same_name(table: ReflectedTable, column: ReflectedColumn, owners: Owners, keys: Keys) -> Iterator[tuple[str, str]]:
    """Tables that a column may refer to, and by which of their columns."""
    own = keys[table.name] == (column.name,)
    named_by = names_of(id_stem(column.name) or "-")
    mine = words(column.name)
    for target, key in owners:
        theirs = words(key.name)
        bare = theirs in BARE
        same = mine == theirs or (not bare and len(theirs) > 1 and mine[-len(theirs) :] == theirs)
        # A key may be another table's key too (1:0..1), but only of the table that it is called after.
        once = _holds_people(target, column.name) and not _holds_people(table, column.name)
        mistaken = own and (bare or stem(table.name) in named_by or (stem(target.name) not in named_by and not once))
        mistaken |= is_common(column.name) and stem(target.name) != mine[0]
        mistaken |= column.autoincrement  # its own number, whatever else is part of its key
        if same and not mistaken and target.name != table.name and _fits(column, key):
            yield target.name, key.name


def _called_after(table: ReflectedTable, column: ReflectedColumn, owners: Owners) -> Iterator[tuple[str, str]]:
    of = id_stem(column.name)
    parts = words(column.name)
    if of is None and (not parts or parts[-1].endswith(("name", "type", "time", "date"))):
        return
    # `PATIENT` refers to a patient; `ENCOUNTERS` counts them.
    whole = "".join(parts) if of is None else of
    last = singular(parts[-2]) if of is not None and len(parts) > 2 else None
    named_by = names_of(whole) if whole else frozenset()
    for target, key in owners:
        if named_by and words(key.name) in BARE and target.name != table.name and _fits(column, key):
            names = {stem(target.name), without_prefix(target.name)}
            if names & named_by or last in names:
                yield target.name, key.name


def _holds_people(table: ReflectedTable, column: str) -> bool:
    """Whether an id of people is that of this table's: whoever else has one row for each of them refers to it."""
    return names_person(column) and person_rank(table.name) is not None


def _composite(table: ReflectedTable, reflection: Reflection, keys: Keys, tells: bool) -> list[Link]:
    """A vocabulary whose key has several parts, all of them here: `icd_code, icd_version`."""
    candidates = []
    for target in reflection:
        key = keys[target.name]
        if target.name == table.name or len(key) < 2 or not is_vocabulary(target.name):
            continue
        mine = [column for name in key if (column := table.column(name))]
        telling = not all(is_common(name) for name in key)
        if telling and len(mine) == len(key) and {column.name for column in mine} != set(keys[table.name]):
            candidates.append((target, tuple(column.name for column in mine)))
    best = _best(table, None, [target for target, _ in candidates])
    why = "has all parts of that table's key"
    return [
        Link(table.name, columns, target.name, keys[target.name], tells and _nullable(table, columns, keys), False, why)
        for target, columns in candidates
        if best is not None and target.name == best.name
    ]


def _best(table: ReflectedTable, column: ReflectedColumn | None, targets: list[ReflectedTable]) -> ReflectedTable | None:
    """One of several vocabularies with such a key: the one that shares a word with this table. A vocabulary for
    something else (`d_labitems` for `outputevents`) is worse than none."""
    targets = list(dict.fromkeys(targets))
    people = [t for t in targets if column is not None and _holds_people(t, column.name)]
    if len(people) == 1 and len(targets) > 1:
        return people[0]
    of = (id_stem(column.name) or "-") if column is not None else ""
    for called in (
        [t for t in targets if column is None or stem(t.name) in names_of(of)],
        [t for t in targets if len(of) >= _SHORTEST and stem(t.name).startswith(of)],
    ):
        if len(called) == 1:
            return called[0]
    meant = [t for t in targets if (narrowed := _qualifier(t, column)) and narrowed in stem(table.name)]
    if len(meant) == 1:
        return meant[0]
    fitting = [t for t in targets if not _qualifier(t, column) or _qualifier(t, column) in stem(table.name)]
    if len(fitting) > 1:
        mine = {singular(word) for word in words(table.name)}
        shared = {t.name: len(mine & {singular(word) for word in words(t.name)}) for t in fitting}
        closest = [t for t in fitting if shared[t.name] == max(shared.values())]
        fitting = closest if len(closest) == 1 else [t for t in closest if not is_vocabulary(t.name)]
    return fitting[0] if len(fitting) == 1 else None


_SHORTEST = 3
"""Letters of a word that is cut off: `prod_id` of products."""


def _qualifier(target: ReflectedTable, column: ReflectedColumn | None) -> str:
    """What narrows a vocabulary down: `lab` in `d_labitems` for `itemid`."""
    of = id_stem(column.name) if column is not None else None
    name = without_prefix(target.name)
    return name.removesuffix(of) if of and is_vocabulary(target.name) and name.endswith(of) and name != of else ""


def _fits(column: ReflectedColumn, key: ReflectedColumn) -> bool:
    kinds = {column.kind, key.kind}
    return len(kinds) == 1 or "unknown" in kinds
