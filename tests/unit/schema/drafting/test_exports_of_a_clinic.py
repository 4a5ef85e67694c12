"""Drafts of a clinic's own export, in its own words: `Pat-Nr` tells people apart, `Geb.-Datum` is a birth."""

from __future__ import annotations

from datetime import date

import pytest

from mare.schema.reflection import Peek, StorageKind
from tests.reflections import SIX_YEARS, drafted, table

TABLES = {
    "Patienten": {"Pat-Nr": "string", "Geschlecht": "string", "Geb.-Datum": "date"},
    "Fälle": {"Fall-Nr": "string", "Pat-Nr": "string", "Aufnahme": "date", "Entlassung": "date"},
    "Labor": {"Fall-Nr": "string", "Datum": "date", "Parameter": "string", "Wert": "number"},
}
ONCE = {("Patienten", "Pat-Nr"), ("Fälle", "Fall-Nr")}


def test_what_no_two_rows_have_here_and_many_have_there_says_whose_rows_they_are() -> None:
    kinds: dict[tuple[str, str], StorageKind] = {(t, c): kind for t, held in TABLES.items() for c, kind in held.items()}  # type: ignore[misc]
    peeks = {place: Peek(kind=kind, repeats=place not in ONCE) for place, kind in kinds.items()}
    export = [table(name, ", ".join(f"{column} unknown?" for column in held)) for name, held in TABLES.items()]
    schema = drafted(*export, peeks=peeks, facts=SIX_YEARS)
    assert (schema.entity, schema.tables["Patienten"].key) == ("Patienten", ("Pat-Nr",))
    assert (schema.parent_columns("Fälle"), schema.parent_columns("Labor")) == (("Pat-Nr",), ("Fall-Nr",))
    first = schema.tables["Fälle"].columns["Aufnahme"].first  # type: ignore[union-attr]
    assert first is not None
    assert first.after == "parent.Geb.-Datum"
    assert schema.tables["Labor"].columns["Wert"].by == ("Parameter",)  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["Geb.-Datum", "birth.date", "Geb. Datum", "date.of.birth"])
def test_a_birth_is_one_whatever_stands_between_its_words(name: str) -> None:
    born = drafted(table("patients", f"id integer, {name} date", key="id"), facts=SIX_YEARS).tables["patients"].columns[name]
    assert born.min == date(1900, 1, 1)  # type: ignore[union-attr]
