"""Keys that a source does not declare: by the names of columns, and by who else holds them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from mare.schema.reflection import ReflectedColumn, ReflectedTable, Reflection

from .name_words import (
    counts_rows,
    id_stem,
    is_code_ending,
    is_common,
    is_elapsed,
    is_flag,
    is_position,
    is_round,
    is_time,
    is_vocabulary,
    names_of,
    names_setting,
    stem,
    words,
)
from .people import describes_held, is_free_text, names_person, person_rank, personal_traits

KEYLIKE = ("integer", "string", "uuid", "unknown")
"""Stored kinds that a key may have."""
Repeats = Mapping[tuple[str, str], bool]
"""Table and column → whether values were seen twice, or missing: what was looked at on request alone."""
BARE = (("id",), ("key",), ("code",), ("uuid",), ("row", "id"))
"""Names of keys that do not say of what."""


def guess_keys(
    reflection: Reflection, people: str | None = None, repeats: Repeats | None = None
) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Key of each table (empty where there is none) and the reason for those that the source does not declare.

    ``people``: the table that was said to hold them, or the column of it that tells them apart.
    """
    repeats = repeats or {}
    shared = _shared_ids(reflection)
    asked = reflection.table(people) if people is not None else None
    named, by = named_column(reflection, people) if people is not None and asked is None else (None, None)
    keys: dict[str, tuple[str, ...]] = {}
    reasons: dict[str, str] = {}
    for table in reflection:
        keys[table.name] = _declared(table)
        if not keys[table.name]:
            keys[table.name], reason = _by_name(table, reflection, shared)
            if len(keys[table.name]) == 1 and repeats.get((table.name, keys[table.name][0])):
                keys[table.name], reason = _with_those_before(table, keys[table.name][0])
            if not keys[table.name]:
                keys[table.name], reason = _seen_once(table, reflection, repeats)
            people_once = person_rank(table.name) is not None
            if not keys[table.name] and by is not None and table == named:
                if not repeats.get((table.name, by.name), not people_once):
                    keys[table.name], reason = (by.name,), "you named it; the source declares no key"
            elif not keys[table.name] and (table == asked or (people_once and not describes_held(table.name, table.columns))):
                keys[table.name], reason = _shared_by_others(table, reflection, repeats)
            if reason:
                reasons[table.name] = reason
    return keys, reasons


def _declared(table: ReflectedTable) -> tuple[str, ...]:
    if table.key:
        return table.key
    never_null = {column.name for column in table.columns if not column.nullable}
    return next((unique for unique in table.uniques if set(unique) <= never_null), ())


def _by_name(table: ReflectedTable, reflection: Reflection, shared: dict[str, str | None]) -> tuple[tuple[str, ...], str]:
    own = stem(table.name)
    joins = len(table.columns) > 1 and all(id_stem(column.name) for column in table.columns)
    if joins and any(_described_by(reflection, column.name) for column in table.columns):
        return (), ""  # it joins what others describe
    for column in table.columns:
        of = id_stem(column.name)
        if of and column.kind in KEYLIKE and own in names_of(of):
            return (column.name,), "it is called after the table; the source declares no key"
        if of and column.kind in KEYLIKE and _describes(table, of):
            return (column.name,), "the table describes what it names; the source declares no key"
    first = table.columns[0] if table.columns else None
    if first is None or first.kind not in KEYLIKE:
        return (), ""
    if first.name.casefold() in shared:
        owner = shared[first.name.casefold()]
        if owner == table.name:
            traits = ", ".join(personal_traits(c.name for c in table.columns)[:3])
            return (first.name,), f"other tables share this column, and this one describes people ({traits}); no key is declared"
        return (), ""
    if (meant := referred_to(table, reflection)) is not None and words(first.name) in BARE:
        return (meant,), "other tables hold it, and the column before it only counts rows; the source declares no key"
    if words(first.name) in BARE:
        return (first.name,), "by its name; the source declares no key"
    people = any(names_person(column.name) for column in table.columns)
    if is_vocabulary(table.name) and not people and not _owned_elsewhere(reflection, table, first.name):
        return _vocabulary_key(table), "leading columns of what looks like a vocabulary; the source declares no key"
    own_id = id_stem(first.name) and "code" not in words(first.name) and not names_setting(first.name)
    if own_id and _holders(reflection, first.name) == 1:
        return (first.name,), "it is the first column, an id that no other table has; the source declares no key"
    if _is_prefixed_id(first, table) and _holders(reflection, first.name) > 1:
        return (first.name,), "it begins with the table's name, and other tables share it; the source declares no key"
    return (), ""


def _with_those_before(table: ReflectedTable, column: str) -> tuple[tuple[str, ...], str]:
    """An id that was seen to repeat is a key together with the ids and years that the table begins with, if it does: a team of a
    season."""
    names = [each.name for each in table.columns]
    before = names[: names.index(column)]
    if not before or not all(id_stem(name) or is_round(name) for name in before):
        return (), ""
    return (*before, column), f"{column} was seen to repeat, so what stands before it belongs to it; the source declares no key"


def named_column(reflection: Reflection, name: str) -> tuple[ReflectedTable | None, ReflectedColumn | None]:
    """`TABLE.COLUMN`, as far as there is such a table, and there such a column."""
    table, _, column = name.rpartition(".")
    holder = reflection.table(table) if table else None
    return holder, holder.column(column) if holder is not None else None


def _seen_once(table: ReflectedTable, reflection: Reflection, repeats: Repeats) -> tuple[tuple[str, ...], str]:
    """What was seen to differ in all rows here, and not in those of another table that has it too, whatever it is called:
    there it says which of these rows is meant (`Pat-Nr`, `Fallnummer`)."""
    for column in table.columns:
        if repeats.get((table.name, column.name)) is not False or column.kind not in KEYLIKE or _holds_values(column.name):
            continue
        if any(repeats.get((other.name, held.name)) for other in reflection if (held := other.column(column.name)) is not None):
            return (column.name,), "no two rows have the same, and rows of other tables do; the source declares no key"
    return (), ""


def _describes(table: ReflectedTable, of: str) -> bool:
    """`campaign_descriptions`, of what `campaign_id` names."""
    own = stem(table.name)
    return own != of and own.startswith(of) and own.removeprefix(of) in _DESCRIPTIONS


_DESCRIPTIONS = ("description", "desc", "info", "master", "lookup", "catalog", "catalogue")


def _described_by(reflection: Reflection, column: str) -> bool:
    """Whether another table describes what an id names: then one that holds nothing but ids joins it with something else."""
    return any(_describes(other, id_stem(column) or "-") and other.column(column) is not None for other in reflection)


def _shared_by_others(table: ReflectedTable, reflection: Reflection, repeats: Repeats) -> tuple[tuple[str, ...], str]:
    """Of people in a folder, the column that most other tables hold too, an id of people first: what else would tell there whose
    rows they are?"""
    free = [column for column in table.columns if not names_setting(column.name)]
    held = {
        column.name: (names_person(column.name), _holders(reflection, column.name))
        for column in free
        if column.kind in KEYLIKE and not _tells_more(column.name) and not _owned_elsewhere(reflection, table, column.name)
    }
    shared = {name: rank for name, rank in held.items() if rank[1] > 1 and not repeats.get((table.name, name))}
    best = [name for name, rank in shared.items() if rank == max(shared.values())]
    # Of several, the first column of the table; otherwise nobody knows.
    if not best or (len(best) > 1 and best[0] != free[0].name):
        return (), ""
    return (best[0],), "other tables hold it too; the source declares no key"


def _tells_more(column: str) -> bool:
    """Whether a name says what a column holds: a text, a time, a trait, a number. Two tables may hold that of anybody."""
    return is_position(column) or _holds_values(column)


def _holds_values(column: str) -> bool:
    known = is_free_text(column) or is_time(column) or is_elapsed(column) or is_flag(column) or counts_rows(column)
    return bool(known or is_round(column) or personal_traits((column,)) or is_common(column))


def referred_to(table: ReflectedTable, reflection: Reflection) -> str | None:
    """The id by which others refer to a vocabulary, whatever it counts its rows with: `d_items.itemid` beside `row_id`."""
    own = without_prefix(table.name)
    for column in table.columns:
        of = id_stem(column.name)
        if (
            of
            and column.kind in KEYLIKE
            and own.endswith(of)
            and is_vocabulary(table.name)
            and _holders(reflection, column.name) > 1
        ):
            return column.name
    return None


def _owned_elsewhere(reflection: Reflection, table: ReflectedTable, column: str) -> bool:
    """`concept_id` in `concept_synonym` is the key of `concept`."""
    called = names_of(id_stem(column) or "-") | {"".join(words(column))}
    others = [other for other in reflection if other.name != table.name and other.column(column) is not None]
    return any(other.key == (column,) or stem(other.name) in called for other in others)


def _vocabulary_key(table: ReflectedTable) -> tuple[str, ...]:
    """`icd_code, icd_version, long_title` → the first two."""
    first, *rest = table.columns
    key = [first.name]
    for column in rest:
        if "version" not in words(column.name) and not (
            is_code_ending(column.name) and len(key) < 2 and is_code_ending(first.name)
        ):
            break
        key.append(column.name)
    return tuple(key)


def _is_prefixed_id(column: ReflectedColumn, table: ReflectedTable) -> bool:
    """`patient.patientunitstayid`."""
    of = id_stem(column.name)
    return bool(of) and str(of).startswith(stem(table.name))


def _holders(reflection: Reflection, column: str) -> int:
    return sum(any(c.name.casefold() == column.casefold() for c in table.columns) for table in reflection)


def _shared_ids(reflection: Reflection) -> dict[str, str | None]:
    """Bare ids that are not each table's own but one id that several tables share → the table that owns it, if any.

    `id` in `nafld1`, `nafld2` and `nafld3` is the patient; `id` in `patients` next to `patient_id` elsewhere is not.
    """
    holders: dict[str, list[ReflectedTable]] = defaultdict(list)
    for table in reflection:
        if table.columns and words(table.columns[0].name) == ("id",) and not _declared(table):
            holders[table.columns[0].name.casefold()].append(table)
    stems = {stem(table.name) for table in reflection}
    if any(stems & ({id_stem(c.name) or "", stem(c.name)} - {""}) for table in reflection for c in table.columns):
        return {}
    shared: dict[str, str | None] = {}
    for column, tables in holders.items():
        if len(tables) < 2:
            continue
        # Of two that describe people alike, the one without a time that goes on holds each of them once.
        described = sorted((-len(personal_traits(c.name for c in t.columns)), _goes_on(t), t.name) for t in tables)
        alone = described[0][0] < 0 and described[0][:2] < described[1][:2]
        shared[column] = described[0][2] if alone else None
    return shared


def _goes_on(table: ReflectedTable) -> bool:
    return any(is_elapsed(column.name) or is_round(column.name) or is_position(column.name) for column in table.columns)


def without_prefix(table: str) -> str:
    parts = words(table.rpartition(".")[2])
    return stem("_".join(parts[1:])) if len(parts) > 1 and parts[0] in ("d", "dim", "lu", "lkp", "ref", "dict") else stem(table)
