"""Which columns are a table's key: as declared, or as the names say where nothing is declared."""

from __future__ import annotations

from collections import defaultdict

from mare.schema.reflection import ReflectedColumn, ReflectedTable, Reflection

from .names import id_stem, is_code_ending, is_vocabulary, names_of, names_person, personal_traits, stem, words

_KEYLIKE = ("integer", "string", "uuid", "unknown")


def guess_keys(reflection: Reflection) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Key of each table (empty where there is none) and the reason for those that the source does not declare."""
    shared = _shared_ids(reflection)
    keys: dict[str, tuple[str, ...]] = {}
    reasons: dict[str, str] = {}
    for table in reflection:
        keys[table.name] = _declared(table)
        if not keys[table.name]:
            keys[table.name], reason = _by_name(table, reflection, shared)
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
    for column in table.columns:
        of = id_stem(column.name)
        if of and column.kind in _KEYLIKE and own in names_of(of):
            return (column.name,), "it is called after the table; the source declares no key"
    first = table.columns[0] if table.columns else None
    if first is None or first.kind not in _KEYLIKE:
        return (), ""
    if first.name.casefold() in shared:
        owner = shared[first.name.casefold()]
        if owner == table.name:
            traits = ", ".join(personal_traits(c.name for c in table.columns)[:3])
            return (first.name,), f"other tables share this column, and this one describes people ({traits}); no key is declared"
        return (), ""
    if words(first.name) in (("id",), ("row", "id"), ("key",), ("uuid",), ("code",)):
        return (first.name,), "by its name; the source declares no key"
    people = any(names_person(column.name) for column in table.columns)
    if is_vocabulary(table.name) and not people and not _owned_elsewhere(reflection, table, first.name):
        return _vocabulary_key(table), "leading columns of what looks like a vocabulary; the source declares no key"
    if id_stem(first.name) and _holders(reflection, first.name) == 1 and "code" not in words(first.name):
        return (first.name,), "it is the first column, an id that no other table has; the source declares no key"
    if _is_prefixed_id(first, table) and _holders(reflection, first.name) > 1:
        return (first.name,), "it begins with the table's name, and other tables share it; the source declares no key"
    return (), ""


def _owned_elsewhere(reflection: Reflection, table: ReflectedTable, column: str) -> bool:
    """`concept_id` in `concept_synonym` is the key of `concept`."""
    called = names_of(id_stem(column) or "-")
    others = [other for other in reflection if other.name != table.name and other.column(column) is not None]
    return any(other.key == (column,) or stem(other.name) in called for other in others)


def _vocabulary_key(table: ReflectedTable) -> tuple[str, ...]:
    """`icd_code, icd_version, long_title` → the first two."""
    first, *rest = table.columns
    found = [first.name]
    for column in rest:
        if "version" not in words(column.name) and not (
            is_code_ending(column.name) and len(found) < 2 and is_code_ending(first.name)
        ):
            break
        found.append(column.name)
    return tuple(found)


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
        described = sorted(
            ((len(personal_traits(c.name for c in t.columns)), t.name) for t in tables), key=lambda x: (-x[0], x[1])
        )
        alone = described[0][0] > 0 and described[0][0] > described[1][0]
        shared[column] = described[0][1] if alone else None
    return shared
