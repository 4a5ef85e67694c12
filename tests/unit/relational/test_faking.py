"""What is made up follows from the row's number and the seed alone, is about one person, and differs where it has to."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

import mare
from mare.errors import MissingExtra, PlanError, SchemaError
from mare.planning.planning import plan
from mare.privacy.budget import Budget
from mare.relational import faking
from mare.relational.faking import check_fakes, fake_values
from mare.schema.loading import load_schema

SCHEMA = """
mare: 1
entity: people
tables:
  people:
    key: id
    unique: [[mail], [phone]]
    columns:
      sex:   {type: category, values: [F, M]}
      name:  {type: text, fill: fake, fake: name, locale: de_DE}
      last:  {type: text, fill: fake, fake: last_name, locale: de_DE}
      mail:  {type: text, fill: fake, fake: email, locale: de_DE}
      phone: {type: text, fill: fake, fake: phone, locale: de_DE}
      home:  {type: text, fill: fake, fake: address, locale: de_DE}
      city:  {type: text, fill: fake, fake: city, locale: de_DE}
      bank:  {type: text, fill: fake, fake: iban, locale: de_DE}
"""


def values(kind: faking.FakeKind, rows: int = 3000, purpose: int = 7, locale: str = "de_DE") -> list[str]:
    return list(fake_values(kind, locale, np.arange(rows), purpose).to_pylist())


def test_a_row_is_about_one_person() -> None:
    people = zip(values("first_name"), values("last_name"), values("name"), values("email"), strict=True)
    for number, (first, last, name, mail) in enumerate(people, 1):
        assert name == f"{first} {last}"
        local, at, domain = mail.partition("@")
        assert (at, domain) == ("@", "example.org")
        assert local.endswith(str(number))
        assert local.isascii()
    places = zip(values("street"), values("postcode"), values("city"), values("address"), strict=True)
    assert all(address == f"{street}, {code} {city}" for street, code, city, address in places)


@pytest.mark.parametrize("kind", ["email", "phone", "iban"])
@pytest.mark.parametrize("locale", ["en_US", "de_DE", "ja_JP", "fr_FR"])
def test_what_has_to_differ_differs(kind: faking.FakeKind, locale: str) -> None:
    assert len(set(values(kind, 5000, locale=locale))) == 5000


def test_account_numbers_have_the_check_digits_that_fit() -> None:
    for iban in values("iban", 50):
        moved = iban[4:] + iban[:4]
        assert int("".join(str(int(letter, 36)) for letter in moved)) % 97 == 1
        assert iban.startswith("DE")
        assert len(iban) == 22


def test_a_part_of_the_rows_is_as_in_the_whole_and_another_seed_is_another_world() -> None:
    whole = values("name")
    assert fake_values("name", "de_DE", np.arange(1000, 1010), 7).to_pylist() == whole[1000:1010]
    assert values("name", purpose=8) != whole


def test_it_comes_out_of_a_sample_the_same_for_the_same_seed_and_never_from_the_data() -> None:
    schema = load_schema(SCHEMA)
    columns = ["name", "last", "mail", "phone", "home", "city", "bank"]
    frame = pd.DataFrame({"id": range(300), "sex": ["F", "M"] * 150, **dict.fromkeys(columns, "Somebody Real")})
    release = mare.fit(plan(schema, Budget(20.0, 1e-6)), {"people": frame}, unsafe_seed=1)
    people = mare.sample(release, seed=3)["people"]
    assert people.equals(mare.sample(release, seed=3)["people"])
    assert not people.equals(mare.sample(release, seed=4)["people"])
    assert people["mail"].is_unique
    assert people["phone"].is_unique
    assert all(name.endswith(last) for name, last in zip(people["name"], people["last"], strict=True))
    assert not people[columns].eq("Somebody Real").any(axis=None)


def test_a_name_cannot_be_unique_and_what_is_made_up_is_named() -> None:
    from mare.schema.checks import find_faults

    (fault,) = find_faults(load_schema(SCHEMA.replace("[[mail], [phone]]", "[[name]]")))
    assert fault.path == ("tables", "people", "unique", 0)
    with pytest.raises(SchemaError, match="go together"):
        load_schema(SCHEMA.replace("fill: fake, fake: city", "fill: fake"))


def test_without_faker_it_is_refused_before_anything_is_paid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faker", None)
    faking._faker.cache_clear()
    with pytest.raises(MissingExtra, match=r"pip install 'mare-synth\[fake\]'"):
        mare.fit(plan(load_schema(SCHEMA), Budget(1.0, 1e-6)), {})
    # A schema that makes up nothing needs no Faker.
    check_fakes(load_schema("mare: 1\nentity: t\ntables:\n  t: {key: id, columns: {x: {type: text}}}\n"))


def test_a_locale_that_faker_does_not_know_is_refused() -> None:
    faking._faker.cache_clear()
    with pytest.raises(PlanError, match=r"tables.people.columns.name: .*xx_YY"):
        check_fakes(load_schema(SCHEMA.replace("fake: name, locale: de_DE", "fake: name, locale: xx_YY")))
