"""Codes and their names in one row: `cause_code` and `cause_text`, `drug` and `atc`. What belongs together is learned as pairs;
drawn apart, a name would not fit its code."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from mare.schema.reflection import ReflectedColumn, ReflectedTable

from .drafted import Entry, review
from .name_words import CODES, as_set, words
from .people import is_code

_CODES = ("code", "cd")
_MEANINGS = ("description", "desc", "display", "title", "label", "term")
_NAMES = (*_MEANINGS, "name", "text")
_SYSTEMS = (
    (as_set("atc ndc rxnorm rxcui gsn"), as_set("drug medication medicine medicament substance agent ingredient compound")),
    (as_set("icd icd9 icd10 snomed dx"), as_set("diagnosis disease disorder condition diagnose")),
    (as_set("loinc"), as_set("test analyte assay lab")),
    (as_set("cpt hcpcs ops opcs"), as_set("procedure operation surgery intervention")),
)
"""Medical vocabularies, and words for what they are codes of."""


def code_meant(table: ReflectedTable, column: ReflectedColumn) -> str | None:
    """The code that a text spells out beside it: `DESCRIPTION` of `CODE`, `drug_display` of `drug_cd`. Not a bare name or text,
    which may be anybody's."""
    *stem, last = words(column.name) or ("",)
    if column.kind != "string" or last not in (_MEANINGS if not stem else _NAMES):
        return None
    codes = {words(c.name): c.name for c in table.columns if words(c.name)[-1:] in (("code",), ("cd",)) or is_code(c.name)}
    return next((name for parts, name in codes.items() if tuple(stem) in (parts, parts[:-1])), None)


def is_name(column: str) -> bool:
    """What a thing is called: `type_name`, `title`."""
    return words(column)[-1:] in {(name,) for name in _NAMES}


def with_codes(
    entries: Sequence[Entry], alone: Collection[str], told_by: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> list[Entry]:
    """The same columns, names with the codes that they go with. Those that stand ``alone`` are asked for by others: what orders
    rows or tells them apart. ``told_by``: what was seen to have one value beside each value of others."""
    listed = {entry.name: bool(entry.fields.get("learn")) for entry in entries if entry.fields["type"] in ("category", "code")}
    listed |= {entry.name: False for entry in entries if "determined" in entry.fields}
    goes: dict[str, str] = {}
    for name, learned in listed.items():
        code = _code_of(name, [other for other in listed if other != name]) if learned else None
        if code is not None and name in alone and listed[code]:
            name, code = code, name
        if code is not None and name not in alone and _last(goes, code) != name:
            goes[name] = code
    seen = dict[str, str]()
    for name, learned in listed.items():
        codes = [code for code in told_by.get(name, ()) if listed.get(code) and _last(goes, code) != name]
        if learned and name not in alone and name not in goes and codes:
            goes[name] = seen[name] = codes[0]
    drawn = {entry.name for entry in entries if "determined" not in entry.fields}
    return [
        _going(entry, of, seen=entry.name in seen) if (of := _last(goes, entry.name)) in drawn and of != entry.name else entry
        for entry in entries
    ]


def _last(goes: Mapping[str, str], name: str) -> str:
    """The name of a name goes with the code."""
    while name in goes:
        name = goes[name]
    return name


def _code_of(name: str, others: Sequence[str]) -> str | None:
    """What a column spells out, by its name: the code of the same thing, or the thing itself."""
    parts, named = words(name), {words(other): other for other in others}
    *stem, last = parts or ("",)
    same: list[tuple[str, ...]] = []
    if last in _NAMES and (stem or last in _MEANINGS):
        same = [*((*stem, code) for code in _CODES), tuple(stem)]
    elif last not in _CODES:
        same = [(*parts, code) for code in _CODES]
    about = set(parts) - {*_NAMES, *_CODES}
    for system, things in _SYSTEMS:
        codes = [key for key in named if set(key) & system and set(key) <= {*CODES, *_CODES, *things, "10", "9"}]
        same += codes if about and about <= things and len(codes) == 1 else []
    return next((named[wanted] for wanted in same if wanted in named), None)


def _going(entry: Entry, code: str, *, seen: bool) -> Entry:
    kept = {field: value for field, value in entry.fields.items() if field in ("type", "nullable")}
    how = "follows from {} in all rows that were looked at" if seen else "taken for what {} is called, by its name"
    why = review(f"{how.format(code)}; if it may be anything beside it: learn: true", "pairs", entry.name)
    return Entry(entry.name, kept, (why,)).with_fields({"determined": {"goes_with": code}})
