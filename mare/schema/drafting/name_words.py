"""What a name gives away: ids, times, positions, flags. Words for people stand in `people`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache

# Names of clinical trials, spelled out: SDTM and ADaM (CDISC) write `AESTDTC` for the start date of an adverse event. They have
# eight letters at most, and mean the same everywhere: two letters of a domain, and an ending of a public list.

_DOMAINS = frozenset(
    (
        "ae", "ag", "be", "bs", "ce", "cm", "co", "cp", "cv", "da", "dd", "dm", "ds", "dv", "ec", "eg", "er", "ex", "fa", "ft",
        "gf", "ho", "ie", "is", "lb", "mb", "mh", "mi", "mk", "ml", "ms", "nv", "oe", "pc", "pe", "pp", "pr", "qs", "rp", "rs",
        "sc", "se", "sm", "sr", "ss", "su", "sv", "tr", "tu", "ur", "vs",
    )
)  # fmt: skip
_ENDINGS = {
    "seq": "seq", "spid": "sponsor id", "grpid": "group id", "refid": "reference id",
    "test": "test", "testcd": "test code", "decod": "decoded term", "bodsys": "organ class", "bdsycd": "organ class code",
    "lltcd": "llt code", "ptcd": "pt code", "hltcd": "hlt code", "hlgtcd": "hlgt code", "soccd": "soc code",
    "orres": "original value", "stresn": "standard value", "stresc": "standard result",
    "orresu": "original unit", "stresu": "standard unit", "nrind": "range indicator", "blfl": "baseline flag",
    "ornrlo": "original range low", "ornrhi": "original range high", "stnrlo": "range low", "stnrhi": "range high",
    "dtc": "date", "stdtc": "start date", "endtc": "end date", "dy": "day", "stdy": "start day", "endy": "end day",
}  # fmt: skip
"""What stands behind the two letters of a domain."""
_WHOLE = {
    "studyid": "study id", "siteid": "site id", "usubjid": "unique subject id", "subjid": "subject id", "brthdtc": "birth date",
    "brthdt": "birth date", "dthdtc": "death date", "dthdt": "death date", "dthfl": "death flag", "armcd": "arm code",
    "actarmcd": "actual arm code", "actarm": "actual arm", "rfstdtc": "reference start date", "rfendtc": "reference end date",
    "rfxstdtc": "exposure start date", "rfxendtc": "exposure end date", "rficdtc": "consent date",
    "rfpendtc": "participation end date", "mhstdtc": "since date",
    "visitnum": "planned visit code", "visitdy": "visit day", "avisitn": "visit code",
    "avisit": "visit", "param": "parameter", "paramcd": "parameter code", "paramn": "parameter number", "aval": "value",
    "astdt": "start date", "aendt": "end date", "astdy": "start day",
    "aendy": "end day", "trtsdt": "treatment start date", "trtedt": "treatment end date",
}  # fmt: skip
"""What stands in many tables."""


def spelled_out(name: str) -> str:
    """The words of such a name; any other name as it is. Which domain it is of stands in the table's name too."""
    folded = name.casefold()
    if folded[:2] in _DOMAINS and folded[2:] in _ENDINGS:
        return _ENDINGS[folded[2:]]
    return _WHOLE.get(folded, name)


def as_set(text: str) -> frozenset[str]:
    """Words between blanks."""
    return frozenset(text.split())


def in_order(text: str) -> tuple[str, ...]:
    """Words between blanks, the first first."""
    return tuple(text.split())


VOCABULARY = as_set(
    """
    dim dict dictionary lookup vocabulary concept code type category class codebook reference ref lu lkp lut enum
    unit terminology valueset catalog catalogue domain relationship ancestor synonym
    """
)
"""Words of tables that hold definitions."""

CODES = as_set("icd icd9 icd10 atc loinc snomed ndc gsn cpt hcpcs drg rxnorm rxcui icpc opcs ops mesh meddra dx")
"""Words of medical vocabularies."""
_CODE_ENDINGS = as_set("code cd")
_POSITIONS = as_set("seq sequence position pos ordinal rank idx index nr")
_NUMBERINGS = as_set("num no number nr")
_NUMBERED = as_set("line row item visit cycle course round step wave dose fraction session")
"""What is counted within its parent. An episode or a case has a number too, but that is its name."""
_TIMES = ("datetime", "timestamp", "time", "date", "datum", "zeitpunkt", "dttm", "dtm", "dt", "dato", "fecha")
_AGES = as_set("day days offset month months week weeks years hours minutes visitday")
_ROUNDS = as_set(
    """
    year season wave round semester period visit session stint cycle
    jahr saison welle runde annee ano anno jaar rok temporada stagione semestre semestr vague ronda
    """
)
"""What a table has one row each of, and which comes first is known."""
_GRADES = (("grade",), ("grade", "level"), ("school", "grade"), ("klasse",), ("klassenstufe",), ("schulstufe",))
_SCHOOLS = ("school", "student", "pupil", "enrol", "teacher", "schul", "eleve", "ecole", "alumn", "escuela", "leerling")
_FLAGS = as_set("flag is has was male female yn indicator ist hat heeft active enabled deleted")
_SURE_FLAGS = as_set("is has was ist hat heeft"), as_set("flag yn")
"""First and last words."""
_AMOUNTS = as_set("pct percent percentage rate ratio share count number num n total mean sum value")
_STAY_WORDS = ("stay", "visit", "encounter", "admission", "episode", "hadm", "event")

_SYNONYMS = {
    "subject": ("patient", "person", "participant"),
    "uniquesubject": ("subject", "patient", "person", "participant"),
    "person": ("patient",),
    "mrn": ("patient",),
    "hadm": ("admission", "hospitaladmission", "hospitalization"),
    "adm": ("admission",),
    "stay": ("icustay", "unitstay", "hospitalstay"),
    "visit": ("visitoccurrence", "encounter"),
    "concept": ("concept",),
}
"""What an id is called where it is not called after its table."""

_BETWEEN_WORDS = re.compile(
    r"[\W_]+|(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=\D)(?=\d)|(?<=\d)(?=\D)"
    r"|(?<=[a-z]{3})(?=(?:code|amount)$)|(?<=[A-Z]{3})(?=(?:CODE|AMOUNT)$)"
)


@cache
def words(name: str) -> tuple[str, ...]:
    """``SupportRepId`` and ``support_rep_id`` are the same three words; so are élève and eleve one, and AESTDTC a start date."""
    letters = spelled_out(name).translate(_LETTERS)
    plain = "".join(c for c in unicodedata.normalize("NFKD", letters) if not unicodedata.combining(c))
    return tuple(word.casefold() for word in _BETWEEN_WORDS.split(plain) if word)


_LETTERS = str.maketrans("øØæÆœŒłŁđĐ", "oOaAoOlLdD")
"""Letters that are no other letter with a mark."""


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
    """What an id is the id of: `hadm_id` → `hadm`, `id_cliente` → `cliente`, `id` → ``""``; None for what is no id."""
    parts = words(name)
    if not parts or (parts[-1] == "id" and parts[-2:-1] and parts[-2] in _UNITS):
        return None
    if parts[-1] in ("id", "key", "uuid", "guid", "pk") or (parts[-1] in _CODE_ENDINGS and len(parts) <= 2):
        return "".join((*parts[:-2], *map(singular, parts[-2:-1])))
    if parts[-1].endswith("id") and len(parts[-1]) > 4 and parts[-1] not in _NO_IDS:
        return "".join((*parts[:-1], singular(parts[-1][:-2])))
    if parts[0] == "id" and len(parts) == 2 and parts[1] not in _ABOUT_IDS:
        return singular(parts[1])
    return "mrn" if parts == ("mrn",) else None


_UNITS = as_set("year month week day quarter season hour")
"""`yearID` is a year, whatever it is called."""
_NO_IDS = as_set(
    """
    fluid covid steroid thyroid opioid lipid acid rapid valid invalid paid said void avoid hybrid grid solid
    """
)


_ABOUT_IDS = as_set("type number no nr card status source version")
"""What is said of an id, behind it: `id_type`."""


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
        or (parts[0] in CODES and all(part.isdigit() for part in parts[1:]))
    )


def is_common(name: str) -> bool:
    """What tables call columns without meaning the same: two of that name are no link, whatever is a key of what."""
    parts = words(name)
    return len(parts) == 1 and singular(parts[0]) in _COMMON


_COMMON = as_set(
    """
    name code type kind status state value label title description desc text note comment category class group unit number date
    time datetime timestamp year city country ville ort stadt ciudad region amount
    """
)


def names_setting(name: str) -> bool:
    """Where many people are met, or where rows come from: it tells nobody apart, whatever tables share it."""
    of = id_stem(name)
    return ("".join(words(name)) if of is None else of) in _SETTINGS


_SETTINGS = as_set("study site source domain center centre hospital clinic country region protocol trial project batch")


def is_money(column: str) -> bool:
    return bool(set(words(column)) & {"amount", "balance", "amt", "sum", "charge", "payment", "paid"})


def names_stay(column: str) -> bool:
    """An id of something that a person may have several of."""
    return any(word in column.casefold() for word in _STAY_WORDS)


def names_stay_of_unit(table: str) -> bool:
    """A stay on one ward, within which everything of it is charted: `icustays`, `edstays`."""
    return stem(table).endswith("stay")


def is_position(column: str) -> bool:
    """A number within the parent: `seq_num`, `line_no`, `cycle_number`, `position`."""
    parts = words(column)
    if not parts:
        return False
    return (
        bool(set(parts) & _POSITIONS)
        or parts[-2:] == ("line", "item")
        or (parts[-1] in _NUMBERINGS and len(parts) > 1 and bool({parts[0], parts[-2]} & _NUMBERED))
    )


def is_place(column: str) -> bool:
    """`rank`, `field_position`: it may number rows, or be a fact like any other (the place of a team, of a player)."""
    parts = set(words(column))
    return is_position(column) and not parts & {"seq", "sequence"} and bool(parts & _PLACES)


_PLACES = as_set("position pos rank index idx ordinal")


def numbers_lines(column: str) -> bool:
    """What a part of a key beside the parent's counts: `item_id` of an order. Elsewhere it may name anything."""
    parts = words(column)
    counted = len(parts) > 1 and parts[-1] in _NUMBERINGS and parts[-2] not in _NAMED_BY_NUMBER
    return counted or is_position(column) or (id_stem(column) or "").endswith(("item", "line", "row", "detail", "entry"))


_NAMED_BY_NUMBER = as_set(
    """
    room ward bed house street gate flight table seat site centre center store shop branch account case episode order invoice
    policy contract phone card serial licence license check cheque
    """
)
"""What its number tells apart everywhere, not only within its parent."""


def counts_rows(column: str) -> bool:
    """The number of a row that whatever wrote the file has put there, and nobody measured: `rownames` of R, `Unnamed: 0` of
    pandas."""
    return words(column) in _ROW_COUNTERS


_ROW_COUNTERS = (("rownames",), ("rowname",), ("row", "names"), ("row", "name"), ("unnamed", "0"), ("rowid",))


def counts_visits(column: str) -> bool:
    """A number that goes on with time: `visit_no`, `cycle`; a line of an invoice has no time of its own."""
    return is_position(column) and bool(set(words(column)) & (_NUMBERED - {"line", "row", "item"}))


def is_time(column: str) -> bool:
    """A date or a time by name: `admittime`, `birth_date`, `START`."""
    parts = words(column)
    if not parts:
        return False
    return any(part in _TIMES or part.endswith(_TIMES[:6]) for part in parts) or parts in (
        ("start",),
        ("stop",),
        ("dob",),
        ("dod",),
    )


def is_beside_calendar(column: str) -> bool:
    """A date that may well lie before or after what the data is about: when a row was stored, until when something holds."""
    return is_before_calendar(column) or any(word.startswith(_BESIDE) and not word.startswith(_CHECKED) for word in words(column))


_BESIDE = (
    "updat", "modif", "load", "insert", "etl", "extract", "import", "expir", "valid", "due", "schedul", "plan", "matur", "until",
    "thru", "require", "next", "deadline",
)  # fmt: skip
_CHECKED = "validat"
"""What was validated was looked at, once; it holds no longer for that."""
_BEFORE = (
    "hire", "hiring", "founded", "since", "seit", "join", "signup", "eintritt", "beitritt", "stock", "manufactur", "built",
    "launch", "publish",
)  # fmt: skip
_BEFORE_OF_PEOPLE = ("regist", "creat", "open", "anmeld", "angelegt", "eroffn", "inscri", "iscri")


def is_before_calendar(column: str, *, of_people: bool = False) -> bool:
    """A date that may well lie before what the data is about, and hardly after it: when somebody was hired. ``of_people``: it
    stands in their own table: who is met in the data may have registered years ago."""
    begins = (*_BEFORE, *_BEFORE_OF_PEOPLE) if of_people else _BEFORE
    return any(word.startswith(begins) for word in words(column))


def is_stored(column: str) -> bool:
    """When a record was last written: after it was made, whatever else happened, and before anybody looked at it."""
    return any(word.startswith(("updat", "modif")) for word in words(column))


def is_end(column: str) -> bool:
    """When something ended, was given back or called off; `valid_from` is none."""
    parts = words(column)
    return any(_ENDS.fullmatch(word) for word in parts) and not any(word.startswith(_NO_ENDS) for word in parts)


_ENDS = re.compile(
    r"(end|out|stopp?|exit|left|due|until|thru)(ed|ing|s|time|date|dt|dttm)?|fine?|ende|slut|baja|last|final|letzt.*|dernier.*|ultim[ao].*|laatst.*|clos.*|checkout.*"
    r"|.*(disch|expir|cancel|terminat|finish|complet|resol[uv]|abate|withdr|leaving|return|valid(?!at)).*"
    r"|.*(entlass|austritt|kuendig|kundig|rueckgabe|ruckgabe|sortie|retour|salida|cierre|egreso|devol|uscita|dimission).*"
    r"|.*(chiusura|restituz|einde|ontslag|utskriv|udskriv|saida).*"
)
_OVER_SOON = (
    "out", "disch", "checkout", "due", "return", "complet", "cancel", "last", "final", "letzt", "dernier", "ultim", "laatst",
    "entlass", "rueckgabe", "ruckgabe", "sortie", "retour", "salida", "egreso", "devol", "uscita", "dimission", "restituz",
    "ontslag", "utskriv", "udskriv", "saida",
)  # fmt: skip
"""Words of ends that come, and soon: somebody is discharged, a thing is given back."""
_UNTIL = as_set("to til till bis through")


def is_open_end(column: str) -> bool:
    """Until when something holds, which may be for ever: `to_date`, `valid_until`, the end of a contract."""
    parts = words(column)
    ends = is_end(column) or bool(_UNTIL & set(parts))
    return ends and not any(word.startswith((*_OVER_SOON, *_NO_ENDS)) for word in parts)


_NO_ENDS = ("start", "begin", "from", "von", "debut", "inicio", "inizio", "updat", "modif")


def is_elapsed(column: str) -> bool:
    """A number that counts time: `days`, `chartoffset`."""
    parts = words(column)
    named = bool(parts) and (parts[-1] in _AGES or parts[-1].endswith("offset"))
    return named and not _LASTS & set(parts)


def is_clock_unit(column: str) -> bool:
    """`hour`, `icu_minute`: of a day, or since something began."""
    return words(column)[-1:] in (("hour",), ("minute",), ("second",)) and not _LASTS & set(words(column))


_LASTS = as_set("duration length los term experience tenure supply gestational")
"""How long something took or goes on, not when it was."""


def counts_nights(column: str) -> bool:
    """How many nights somebody stays: `nights`, `num_nights`."""
    parts = set(words(column))
    return bool(parts & _NIGHTS) and parts <= _NIGHTS | {"n", "num", "no", "number", "of", "count", "total"}


_NIGHTS = as_set("nights naechte nachte nuits noches notti nachten noites natter")


def is_round(column: str) -> bool:
    """A year, a season, a wave, by the whole name: `year_id`, `school_year`; a `model_year` is a fact about a car."""
    parts = tuple(word for word in words(column) if word not in _OF_ROUNDS)
    return len(parts) == 1 and parts[0] in _ROUNDS


_OF_ROUNDS = as_set("id school academic fiscal calendar study survey")


def is_grade(column: str) -> bool:
    """A class of a school, where it is one: tumours have grades too."""
    return words(column) in _GRADES


def is_at_school(tables: Iterable[str]) -> bool:
    return any(word.startswith(_SCHOOLS) for table in tables for word in words(table))


def is_flag(column: str) -> bool:
    """Yes or no, by name; not how many of them there are (`female_count`)."""
    return bool(set(words(column)) & _FLAGS) and not set(words(column)) & _AMOUNTS


def is_surely_flag(column: str) -> bool:
    """`is_dead`, `has_card`, `insured_flag`: whatever it is stored as."""
    parts = words(column)
    return is_flag(column) and (parts[0] in _SURE_FLAGS[0] or parts[-1] in _SURE_FLAGS[1])


def is_code_ending(column: str) -> bool:
    parts = words(column)
    return bool(parts) and parts[-1] in _CODE_ENDINGS


def is_age(column: str) -> bool:
    """An age of a person, in years."""
    parts = words(column)
    other = {"gestational", "group", "band", "class", "category", *_AGES} - {"year", "years"}
    return "age" in (parts[:1] + parts[-1:]) and not other & set(parts)
