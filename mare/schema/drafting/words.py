"""What a name gives away. Every guess of the draft that rests on a name finds its words here."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from mare.schema.columns.unmodelled import FakeKind


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


PERSONS = (
    "patient", "person", "people", "subject", "participant", "beneficiary", "member", "donor", "client", "customer", "resident",
    "enrollee", "student", "pupil", "learner", "respondent", "individual", "policyholder", "insured", "citizen", "tenant",
    "passenger", "guest", "player", "voter", "applicant", "borrower", "holder", "subscriber", "buyer", "driver", "user",
    "account",
)  # fmt: skip
"""Words for the people whose data this is, the most telling first."""

STAFF = _set(
    """
    employee provider caregiver staff doctor physician practitioner clinician nurse surgeon worker operator
    technician prescriber therapist pharmacist personnel teacher instructor professor lecturer tutor trainer coach agent clerk
    manager salesperson seller adviser advisor officer judge lawyer librarian cashier consultant investigator psychologist
    counselor counsellor dentist midwife broker adjuster
    """
)
"""Words for people who are not the entity: they are replaced by a pool."""

VOCABULARY = _set(
    """
    dim dict dictionary lookup vocabulary concept code type category class codebook reference ref lu lkp lut enum
    unit terminology valueset catalog catalogue domain relationship ancestor synonym
    """
)
"""Words of tables that hold definitions."""

OWNED = _set("address contact")
"""Words of rows that belong to whoever refers to them."""

HELD = _set("account policy contract household family portfolio subscription mortgage lease membership deposit wallet")
"""Words of what people hold, alone or together: its rows are about them, whoever refers to whom."""

PERSONAL_TRAITS = _set(
    """
    gender sex male female age birthdate birthday dob race ethnicity marital surname lastname firstname maiden ssn
    passport gestational email phone mobile hired nationality
    """
)
"""Words of columns that describe a person."""

_FREE_TEXT = _set(
    """
    note notes comment comments remark remarks text narrative description desc address street email mail phone
    telephone mobile fax url website firstname lastname surname fullname middlename title label message body
    subjective memo impression findings display history ssn passport drivers maiden instructions composer
    """
)
_NAMED_PEOPLE = _set(
    "first last middle full given family maiden sur nick display contact guardian spouse mother father kin login"
)
_TEXT_EXCEPTIONS = _set("type category class code status group unit method source")
_CODES = _set(
    """
    icd icd9 icd10 atc loinc snomed ndc gsn cpt hcpcs drg rxnorm rxcui icpc opcs ops mesh meddra dx
    """
)
_CODE_ENDINGS = _set("code cd")
_POSITIONS = _set("seq sequence position pos ordinal rank idx index nr")
_NUMBERINGS = _set("num no number nr")
_NUMBERED = _set("line row item visit cycle course round step wave dose fraction session")
"""What is counted within its parent. An episode or a case has a number too, but that is its name."""
_TIMES = ("datetime", "timestamp", "time", "date", "dttm", "dtm", "dt")
_AGES = _set("day days offset month months week weeks year years visitday")
_FLAGS = _set("flag is has was male female yn indicator")
_STAY_WORDS = ("stay", "visit", "encounter", "admission", "episode", "hadm", "event")

_SYNONYMS = {
    "subject": ("patient", "person", "participant"),
    "person": ("patient",),
    "mrn": ("patient",),
    "hadm": ("admission", "hospitaladmission", "hospitalization"),
    "adm": ("admission",),
    "stay": ("icustay", "unitstay", "hospitalstay"),
    "visit": ("visitoccurrence", "encounter"),
    "concept": ("concept",),
}
"""What an id is called where it is not called after its table."""

_BETWEEN_WORDS = re.compile(r"[\W_]+|(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=\D)(?=\d)|(?<=\d)(?=\D)")


@cache
def words(name: str) -> tuple[str, ...]:
    """``SupportRepId`` and ``support_rep_id`` are the same three words."""
    return tuple(word.casefold() for word in _BETWEEN_WORDS.split(name) if word)


def singular(word: str) -> str:
    """Roughly: enough to see that `patients` holds what `patient_id` names."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "is", "us")) and len(word) > 3:
        return word[:-1]
    return word


@cache
def stem(name: str) -> str:
    """The name of a table as one word in the singular: `invoice_lines`, `InvoiceLine` → `invoiceline`."""
    parts = words(name.rpartition(".")[2])  # without a database schema before it
    return "".join((*parts[:-1], singular(parts[-1]))) if parts else name.casefold()


@cache
def id_stem(name: str) -> str | None:
    """What an id is the id of: `hadm_id` → `hadm`, `InvoiceId` → `invoice`, `id` → ``""``; None for what is no id."""
    parts = words(name)
    if not parts or (parts[-1] == "id" and parts[-2:-1] and parts[-2] in _UNITS):
        return None
    if parts[-1] in ("id", "key", "uuid", "guid", "pk") or (parts[-1] in _CODE_ENDINGS and len(parts) <= 2):
        return "".join((*parts[:-2], *map(singular, parts[-2:-1])))
    if parts[-1].endswith("id") and len(parts[-1]) > 4 and parts[-1] not in _NO_IDS:
        return "".join((*parts[:-1], singular(parts[-1][:-2])))
    return "mrn" if parts == ("mrn",) else None


_UNITS = _set("year month week day quarter season hour")
"""`yearID` is a year, whatever it is called."""
_NO_IDS = _set(
    """
    fluid covid steroid thyroid opioid lipid acid rapid valid invalid paid said void avoid hybrid grid solid
    """
)


@cache
def names_of(stem_of_id: str) -> frozenset[str]:
    """Table stems that an id of this stem may belong to."""
    return frozenset((stem_of_id, *_SYNONYMS.get(stem_of_id, ())))


def is_vocabulary(table: str) -> bool:
    parts = words(table.rpartition(".")[2])
    return bool(parts) and (
        parts[0] in ("d", "dim", "lu", "lkp", "ref", "dict", "lookup")
        or singular(parts[-1]) in VOCABULARY
        or parts[-1] in VOCABULARY
        or any(stem(table).endswith(word) for word in ("type", "vocabulary", "dictionary", "lookup"))
        or (parts[0] in _CODES and all(part.isdigit() for part in parts[1:]))
    )


def is_staff(table: str) -> bool:
    return any(singular(word) in STAFF for word in words(table))


def is_money(column: str) -> bool:
    return bool(set(words(column)) & {"amount", "balance", "amt", "sum", "charge", "payment", "paid"})


def is_held(table: str) -> bool:
    return bool(words(table)) and singular(words(table)[-1]) in HELD


def is_once(table: str) -> bool:
    """What happens to a person once: `death`."""
    return bool({singular(word) for word in words(table)} & {"death", "deceased", "mortality"})


def is_owned(table: str) -> bool:
    return any(singular(word) in OWNED for word in words(table))


def person_rank(table: str) -> int | None:
    """How telling the table's name is: 0 for `patients`; None for what does not name people."""
    if not words(table) or is_staff(table) or is_vocabulary(table):
        return None
    # The last word is the noun: `patient_notes` holds notes.
    nouns = {stem(table), singular(words(table)[-1])}
    return next((rank for rank, word in enumerate(PERSONS) if word in nouns), None)


def names_person(column: str) -> bool:
    """An id of a person: `patient_id`, `mrn`, `uniquepid`, `subject_id`."""
    of = id_stem(column)
    return of is not None and (
        of in PERSONS or of in ("mrn", "uniquep", "pat", "empi", "nhs") or column.casefold() == "uniquepid"
    )


def names_stay(column: str) -> bool:
    """An id of something that a person may have several of."""
    return any(word in column.casefold() for word in _STAY_WORDS)


def names_stay_of_unit(table: str) -> bool:
    """A stay on one ward, within which everything of it is charted: `icustays`, `edstays`."""
    return stem(table).endswith("stay")


def personal_traits(columns: Iterable[str]) -> tuple[str, ...]:
    """The columns that describe a person: evidence for who the entity is."""
    return tuple(name for name in columns if PERSONAL_TRAITS & {*words(name), "".join(words(name))} or is_birth(name))


_FAKES: tuple[tuple[frozenset[str], FakeKind], ...] = (
    (_set("firstname forename given first"), "first_name"),
    (_set("lastname surname family maiden last"), "last_name"),
    (_set("email mail"), "email"),
    (_set("phone telephone mobile fax"), "phone"),
    (_set("street"), "street"),
    (_set("address"), "address"),
    (_set("iban"), "iban"),
    (_set("name fullname"), "name"),
)
"""Words of what can be made up, the surest first."""


def fake_kind(column: str) -> FakeKind | None:
    """What is made up in place of such a text, where its name tells."""
    parts = {*words(column), "".join(words(column))}
    return next((kind for named, kind in _FAKES if parts & named), None)


def is_free_text(column: str) -> bool:
    """Text that people write, or that names them. The name of a thing (`drug_name`) is a category."""
    parts = {singular(word) for word in words(column)} | set(words(column)) | {"".join(words(column))}
    if "name" in parts:
        return (
            len(words(column)) == 1 or bool(parts & _NAMED_PEOPLE) or bool({singular(w) for w in parts} & (STAFF | set(PERSONS)))
        )
    return words(column) in (("first",), ("last",)) or (bool(parts & _FREE_TEXT) and not parts & _TEXT_EXCEPTIONS)


def is_number_of(column: str) -> bool:
    """A text that names one thing or person: `birth_number`, `iban`, `account_to`."""
    return bool(set(words(column)) & _NAMING) and not set(words(column)) & _TEXT_EXCEPTIONS


_NAMING = _set("number nr iban account phone plate serial passport token hash username login mrn password licence license")


def is_code(column: str) -> bool:
    """A code of a medical vocabulary: `icd_code`, `ndc`, `atc5`."""
    parts = words(column)
    return bool(set(parts) & _CODES) and "version" not in parts and "type" not in parts and not is_free_text(column)


def is_position(column: str) -> bool:
    """A number within the parent: `seq_num`, `line_no`, `cycle_number`, `position`."""
    parts = words(column)
    if not parts:
        return False
    return bool(set(parts) & _POSITIONS) or (
        parts[-1] in _NUMBERINGS and len(parts) > 1 and bool({parts[0], parts[-2]} & _NUMBERED)
    )


def counts_visits(column: str) -> bool:
    """A number that goes on with time: `visit_no`, `cycle`; a line of an invoice has no time of its own."""
    return is_position(column) and bool(set(words(column)) & (_NUMBERED - {"line", "row", "item"}))


def is_time(column: str) -> bool:
    """A date or a time by name: `admittime`, `birth_date`, `START`."""
    parts = words(column)
    if not parts:
        return False
    return any(part in _TIMES or part.endswith(_TIMES[:4]) for part in parts) or parts in (
        ("start",),
        ("stop",),
        ("dob",),
        ("dod",),
    )


def is_beside_calendar(column: str) -> bool:
    """A date that may well lie before or after what the data is about: when a row was stored, until when something holds."""
    return any(word.startswith(_BESIDE) for word in words(column))


_BESIDE = (
    "updat", "modif", "load", "insert", "etl", "extract", "import", "expir", "valid", "due", "schedul", "plan", "matur", "until",
    "hire", "hiring", "founded", "since", "thru",
)  # fmt: skip


def is_elapsed(column: str) -> bool:
    """A number that counts time: `days`, `chartoffset`."""
    parts = words(column)
    return bool(parts) and (parts[-1] in _AGES or parts[-1].endswith("offset"))


def is_flag(column: str) -> bool:
    return bool(set(words(column)) & _FLAGS)


def is_code_ending(column: str) -> bool:
    parts = words(column)
    return bool(parts) and parts[-1] in _CODE_ENDINGS


def is_age(column: str) -> bool:
    """An age of a person, in years."""
    parts = words(column)
    other = {"gestational", "group", "band", "class", "category", *_AGES} - {"year", "years"}
    return "age" in (parts[:1] + parts[-1:]) and not other & set(parts)


def is_birth(column: str) -> bool:
    """When somebody was born, or a part of that date."""
    parts = set(words(column))
    return bool(parts & _BIRTHS or any(part.startswith(("birthd", "birthy")) for part in parts))


_BIRTHS = _set("birth born dob yob bday")
