"""Made-up names, addresses, phone and account numbers (`fill: fake`): from the number of the row and the seed, never from data.

    row number ─► a person (which first name, which street …) ─► **name, e-mail, address** of that one person

Faker tells what names and streets a country has; once for each locale, a few thousand of them. Which of them a row gets is drawn
like all else, so that chunks, and rows that refer to others, agree. The columns of a row are about one person: the e-mail fits
the name.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from string import ascii_uppercase
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mare.domain import RowDraws, numbered_keys
from mare.errors import MissingExtra, PlanError
from mare.schema import Schema
from mare.schema.columns import Text
from mare.schema.columns.unmodelled import FakeKind

from .placing import Index

if TYPE_CHECKING:
    from faker import Faker

DRAWN = 2000
"""How many of each are asked for. Frequent names come more than once, as they do in the country."""
_SEED = 1
_LETTERS = 12
"""Letters of a name that an address of e-mail takes, at most."""
_PHONE_DIGITS, _IBAN_DIGITS = 7, 10
"""Digits at the end of a number that are the row's own: so many rows have different ones."""
_PHONE_LETTERS = 20
"""Of a phone number, at most: what databases have room for."""
_FACTOR = 7_654_321
"""Has no divisor in common with ten: multiplied by it, numbers below a power of ten stay different, and stand in no order."""
_PLAIN = str.maketrans({"ß": "ss", "ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"})

_AS_DIGITS = str.maketrans({letter: str(int(letter, 36)) for letter in ascii_uppercase})


def check_fakes(schema: Schema) -> None:
    """Refuse, before anything is paid, what could not be made up here: Faker is missing, or does not know a locale."""
    for name, table in schema.tables.items():
        for column, described in table.columns.items():
            if isinstance(described, Text) and described.fill == "fake" and not table.ignore and not table.public:
                _faker(described.locale, f"tables.{name}.columns.{column}")


def fake_values(kind: FakeKind, locale: str, numbers: Index, purpose: int) -> pa.Array:
    """Of the rows with these numbers, counted from 0. ``purpose`` is the same for all columns of a table."""
    draws = RowDraws(numbered_keys(purpose, numbers), purpose)

    def pick(what: str, of_same: str = "", read: Callable[[str], str] = str) -> pa.Array:
        """One of what Faker tells; what is ``of_same`` goes along with that."""
        known = [read(text) for text in _drawn_once(locale, what)]
        return pa.array(known, type=pa.string()).take(pa.array(draws.at(of_same or what).integers(0, len(known))))

    def joined(*parts: pa.Array | str, by: str = " ") -> pa.Array:
        return pc.binary_join_element_wise(*parts, by)

    match kind:
        case "name":
            return joined(pick("first_name"), pick("last_name"))
        case "email":
            counted = pa.array(numbers + 1).cast(pa.string())
            local = joined(pick("first_name", read=_ascii), joined(pick("last_name", read=_ascii), counted, by=""), by=".")
            return joined(local, "example.org", by="@")
        case "address":
            place = joined(pick("postcode", "city"), pick("city"))
            return joined(pick("street_address"), place, by=", ")
        case "postcode":
            return pick("postcode", "city")
        case "street":
            return pick("street_address")
        case "phone":
            known = _drawn_once(locale, "phone_number")
            forms = [form for form in known if len(form) <= _PHONE_LETTERS] or [form[-_PHONE_LETTERS:] for form in known]
            masks = draws.at("phone").integers(0, len(forms)).tolist()
            ends = _own_digits(numbers, purpose, _PHONE_DIGITS)
            return pa.array([_ending(forms[mask], end) for mask, end in zip(masks, ends, strict=True)], type=pa.string())
        case "iban":
            form = _drawn_once(locale, "iban")[0]
            ends = _own_digits(numbers, purpose, _IBAN_DIGITS)
            return pa.array([_checked(_ending(form, end)) for end in ends], type=pa.string())
        case _:
            return pick(kind)


@cache
def _drawn_once(locale: str, what: str) -> tuple[str, ...]:
    faker = _faker(locale)
    faker.seed_instance(_SEED)
    return tuple(" ".join(str(getattr(faker, what)()).split()) for _ in range(DRAWN))


@cache
def _faker(locale: str, where: str = "fill: fake") -> Faker:
    try:
        from faker import Faker
    except ImportError:
        raise MissingExtra("fill: fake", "fake") from None
    try:
        return Faker(locale)
    except AttributeError:
        raise PlanError(f"{where}: Faker knows no locale {locale!r}. Write one as in en_US, de_DE or fr_FR.") from None


def _own_digits(numbers: Index, purpose: int, digits: int) -> Sequence[str]:
    """Different for each number below ten to the power of digits."""
    size = 10**digits
    own = (numbers.astype(np.int64) % size * _FACTOR + purpose % size) % size
    return [f"{number:0{digits}d}" for number in own.tolist()]


def _ending(form: str, digits: str) -> str:
    """The form with these as its last digits."""
    letters, left = list(form), list(digits)
    for place in reversed(range(len(letters))):
        if left and letters[place].isdecimal():
            letters[place] = left.pop()
    return "".join((*left, *letters))


def _checked(number: str) -> str:
    """An account number with the check digits that fit it (ISO 7064, 97-10)."""
    country, account = number[:2], number[4:]
    remainder = int(f"{account}{country}00".translate(_AS_DIGITS)) % 97
    return f"{country}{98 - remainder:02d}{account}"


def _ascii(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name.lower().translate(_PLAIN)).encode("ascii", "ignore").decode()
    return "".join(letter for letter in plain if letter.isalnum())[:_LETTERS] or "x"
