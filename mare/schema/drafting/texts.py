"""Which texts people write, which name somebody, and which are codes, by the names of their columns."""

from __future__ import annotations

from mare.schema.columns.unmodelled import FakeKind

from .people import PERSONS, STAFF
from .words import CODES, as_set, singular, words

_FREE_TEXT = as_set(
    """
    note notes comment comments remark remarks text narrative description desc address street email mail phone
    telephone mobile fax url website firstname lastname surname fullname middlename title label message body
    subjective memo impression findings display history ssn passport drivers maiden instructions composer
    forename familyname givenname prenom courriel remarque remarques commentaire commentaires adresse rue vorname nachname
    familienname strasse bemerkung bemerkungen anmerkung kommentar notiz notizen beschreibung apellido apellidos correo calle
    direccion comentario comentarios observaciones descripcion cognome indirizzo descrizione sobrenome endereco descricao
    voornaam achternaam straat opmerking omschrijving fornavn etternavn efternavn fornamn efternamn telefon telefono telefone
    imie nazwisko
    """
)
_NAMED_PEOPLE = as_set(
    "first last middle full given family maiden sur nick display contact guardian spouse mother father kin login"
)
NAMES = as_set("name nom nombre nome naam navn namn")
"""What anything is called."""
_TEXT_EXCEPTIONS = as_set("type category class code status group unit method source")
_FAKES: tuple[tuple[frozenset[str], FakeKind], ...] = (
    (as_set("firstname forename given first prenom vorname voornaam fornavn fornamn imie"), "first_name"),
    (
        as_set(
            "lastname surname family maiden last nachname familienname apellido apellidos cognome sobrenome achternaam etternavn "
            "efternavn efternamn nazwisko"
        ),
        "last_name",
    ),
    (as_set("email mail courriel correo"), "email"),
    (as_set("phone telephone mobile fax telefon telefono telefone"), "phone"),
    (as_set("street strasse rue calle straat"), "street"),
    (as_set("address adresse direccion indirizzo endereco"), "address"),
    (as_set("iban"), "iban"),
    (NAMES | {"fullname"}, "name"),
)
"""Words of what can be made up, the surest first."""


def fake_kind(column: str) -> FakeKind | None:
    """What is made up in place of such a text, where its name tells."""
    parts = {*words(column), "".join(words(column))}
    return next((kind for named, kind in _FAKES if parts & named), None)


def is_free_text(column: str) -> bool:
    """Text that people write, or that names them. The name of a thing (`drug_name`) is a category."""
    parts = {singular(word) for word in words(column)} | set(words(column)) | {"".join(words(column))}
    if parts & NAMES:
        return (
            len(words(column)) == 1 or bool(parts & _NAMED_PEOPLE) or bool({singular(w) for w in parts} & (STAFF | set(PERSONS)))
        )
    return words(column) in (("first",), ("last",)) or (bool(parts & _FREE_TEXT) and not parts & _TEXT_EXCEPTIONS)


def is_number_of(column: str) -> bool:
    """A text that names one thing or person: `birth_number`, `iban`, `account_to`."""
    return bool(set(words(column)) & _NAMING) and not set(words(column)) & _TEXT_EXCEPTIONS


_NAMING = as_set("number nr iban account phone plate serial passport token hash username login mrn password licence license")


def is_code(column: str) -> bool:
    """A code of a medical vocabulary: `icd_code`, `ndc`, `atc5`."""
    parts = words(column)
    return bool(set(parts) & CODES) and "version" not in parts and "type" not in parts and not is_free_text(column)
