"""FHIR R4 resources as rows of tables with fixed columns (docs/guides/from-a-fhir-export.md lists them).

The columns are public: they follow from the standard, never from what an export happens to hold. A resource becomes rows by
itself, whatever it holds: what is not there, or not of the shape that the standard gives it, is NULL. An Observation with
components (a blood pressure) is a row for each of them, which is how other long tables of measurements have it.

Moments are kept as the clock on the wall showed them: the offset from UTC is dropped, not added. A part of a date (2019, 2019-05)
is the first day of it.

A bulk export is files of a JSON resource a line (ndjson). Which type a file holds is said by its name (`Patient.ndjson`,
`1.Patient.000.ndjson.gz`, `MimicPatient.ndjson`) or by that of its folder (`Patient/0f3a.ndjson`). All files of a type are one
table. A line that is no JSON, no resource or one of another type is left out and counted (`unread`), never refused, for a refusal
would tell that somebody has such a line. Memory holds one line and one batch.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import IO, cast

import pyarrow as pa

from mare.errors import SourceError
from mare.schema.reflection import ReflectedColumn, StorageKind
from mare_adapters.letters import lettered

from .arrow_kinds import reflected_field
from .columnar import Unread, arrow_type, record_batches

Json = object
"""As `json.loads` gives it: nothing is known of its shape."""
Get = Callable[[Json], object]


@dataclass(frozen=True)
class Field:
    """One column: what it stores, and where a resource has it."""

    kind: StorageKind
    get: Get


_MOMENT = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6})\d*)?)?(?:Z|[+-]\d\d:?\d\d)?)?)?)?", re.ASCII
)
_REFERENCE = re.compile(r"(?:.*/)?([A-Za-z]+)/([^/?#|]+)(?:/_history/[^/]*)?")
_BY_NAME = re.compile(r"urn:(?:uuid|oid):(.+)")


def at(node: Json, *steps: str) -> Json:
    """What stands at the end of these names; of a list, its first item. None where it is not there."""
    for step in steps:
        if type(node) is list:
            node = node[0] if node else None
        if type(node) is not dict:  # of the types that `json` gives, this is asked for every value of an export
            return None
        node = node.get(step)
    return node


def word(value: Json) -> str | None:
    """A text, or what says one; half letters (surrogates) as their bytes."""
    if type(value) is str:
        return value if value.isascii() else lettered(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else None


def moment(value: Json) -> object:
    """A FHIR date, dateTime or instant; what cannot be read stays what it is, and is counted where columns are made."""
    match = _MOMENT.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        return value if isinstance(value, str) else None
    year, month, day, hour, minute, second, fraction = match.groups()
    try:
        clock = int(hour or 0), int(minute or 0), min(int(second or 0), 59), int(f"{fraction or 0:0<6}")
        return datetime(int(year), int(month or 1), int(day or 1), *clock)
    except ValueError:
        return value


def day(value: Json) -> object:
    read = moment(value)
    return date(read.year, read.month, read.day) if isinstance(read, datetime) else read


def refers(node: Json, to: str) -> str | None:
    """The id that a reference to such a resource names: `Patient/7`, `https://…/Patient/7/_history/2`, `urn:uuid:7`."""
    text = at(node, "reference")
    if not isinstance(text, str):
        return None
    if (named := _BY_NAME.fullmatch(text)) is not None:
        return word(named[1])
    match = _REFERENCE.fullmatch(text)
    return word(match[2]) if match is not None and match[1] == to else None


def coding(concept: Json) -> Mapping[str, Json]:
    """The first coding of a concept that has a code."""
    codings = at(concept, "coding")
    for one in codings if type(codings) is list else (codings,):
        if type(one) is dict and one.get("code") is not None:
            return one
    return {}


def display(concept: Json) -> str | None:
    return word(coding(concept).get("display")) or word(at(concept, "text"))


# ---------------------------------------------------------------------- how columns are said


def text(*steps: str) -> Field:
    return Field("string", lambda resource: word(at(resource, *steps)))


def code(*steps: str) -> Field:
    return Field("string", lambda resource: word(coding(at(resource, *steps)).get("code")))


def reference(to: str, *steps: str) -> Field:
    return Field("string", lambda resource: refers(at(resource, *steps), to))


def time(*ways: tuple[str, ...]) -> Field:
    """The first of these places that holds something."""
    return Field("datetime", lambda resource: next((m for way in ways if (m := moment(at(resource, *way))) is not None), None))


def coded(concept: Callable[[Json], Json]) -> dict[str, Field]:
    """System, code and words of what a resource is about."""
    return {
        "code_system": Field("string", lambda resource: word(coding(concept(resource)).get("system"))),
        "code": Field("string", lambda resource: word(coding(concept(resource)).get("code"))),
        "display": Field("string", lambda resource: display(concept(resource))),
    }


def _own_code(resource: Json) -> Json:
    return at(resource, "code")


def _medication(resource: Json) -> Json:
    """Said in the request, or in a Medication that it contains."""
    named, contained = at(resource, "medicationReference", "reference"), at(resource, "contained")
    if isinstance(named, str) and named.startswith("#"):
        listed = contained if isinstance(contained, list) else [contained]
        return at([one for one in listed if at(one, "id") == named[1:]], "code")
    return at(resource, "medicationCodeableConcept")


def _us_core(name: str) -> Field:
    """An extension of the American core profiles: the broad category, or its text."""

    def get(resource: Json) -> str | None:
        inside = _extension(resource, f"us-core-{name}")
        broad = at(_extension(inside, "ombCategory"), "valueCoding")
        return word(at(broad, "display")) or word(at(broad, "code")) or word(at(_extension(inside, "text"), "valueString"))

    return Field("string", get)


def _extension(node: Json, ending: str) -> Json:
    listed = node.get("extension") if isinstance(node, dict) else None
    urls = [(one, at(one, "url")) for one in listed] if isinstance(listed, list) else []
    return next((one for one, url in urls if isinstance(url, str) and url.rpartition("/")[2] == ending), None)


def _value_number(resource: Json) -> object:
    places = (("valueQuantity", "value"), ("valueInteger",), ("valueDecimal",))
    return next((number for place in places if (number := _number(at(resource, *place))) is not None), None)


def _dose(resource: Json) -> object:
    return _number(at(resource, "dosageInstruction", "doseAndRate", "doseQuantity", "value"))


def _number(value: Json) -> float | str | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return "beyond any number"  # counted as unread where columns are made


def _deceased(resource: Json) -> bool:
    return at(resource, "deceasedBoolean") is True or at(resource, "deceasedDateTime") is not None


_WHOSE = {"id": text("id"), "patient_id": reference("Patient", "subject"), "encounter_id": reference("Encounter", "encounter")}

RESOURCES: Mapping[str, tuple[str, Mapping[str, Field]]] = {
    "Patient": (
        "patient",
        {
            "id": text("id"),
            "gender": text("gender"),
            "birth_date": Field("date", lambda resource: day(at(resource, "birthDate"))),
            "deceased": Field("boolean", _deceased),
            "deceased_at": time(("deceasedDateTime",)),
            "marital_status": code("maritalStatus"),
            "language": code("communication", "language"),
            "race": _us_core("race"),
            "ethnicity": _us_core("ethnicity"),
            "state": text("address", "state"),
            "country": text("address", "country"),
        },
    ),
    "Encounter": (
        "encounter",
        {
            "id": text("id"),
            "patient_id": reference("Patient", "subject"),
            "status": text("status"),
            "class": text("class", "code"),
            "type_code": code("type"),
            "type_display": Field("string", lambda resource: display(at(resource, "type"))),
            "reason_code": code("reasonCode"),
            "start_at": time(("period", "start")),
            "end_at": time(("period", "end")),
            "admit_source": code("hospitalization", "admitSource"),
            "discharge_disposition": code("hospitalization", "dischargeDisposition"),
            "service_provider_id": reference("Organization", "serviceProvider"),
        },
    ),
    "Condition": (
        "condition",
        {
            **_WHOSE,
            "clinical_status": code("clinicalStatus"),
            "verification_status": code("verificationStatus"),
            "category": code("category"),
            **coded(_own_code),
            "onset_at": time(("onsetDateTime",), ("onsetPeriod", "start"), ("recordedDate",)),
            "abatement_at": time(("abatementDateTime",), ("abatementPeriod", "end")),
        },
    ),
    "Observation": (
        "observation",
        {
            **_WHOSE,
            "status": text("status"),
            "category": code("category"),
            **coded(_own_code),
            "effective_at": time(("effectiveDateTime",), ("effectivePeriod", "start"), ("effectiveInstant",), ("issued",)),
            "value_number": Field("number", _value_number),
            "value_unit": Field("string", lambda r: word(at(r, "valueQuantity", "code")) or word(at(r, "valueQuantity", "unit"))),
            "value_code": code("valueCodeableConcept"),
            "value_text": text("valueString"),
            "value_boolean": Field("boolean", lambda r: v if isinstance(v := at(r, "valueBoolean"), bool) else None),
        },
    ),
    "MedicationRequest": (
        "medication_request",
        {
            **_WHOSE,
            "status": text("status"),
            "intent": text("intent"),
            **coded(_medication),
            "medication_id": reference("Medication", "medicationReference"),
            "authored_at": time(("authoredOn",)),
            "reason_code": code("reasonCode"),
            "dose_number": Field("number", _dose),
            "dose_unit": text("dosageInstruction", "doseAndRate", "doseQuantity", "unit"),
            "route_code": code("dosageInstruction", "route"),
        },
    ),
    "Procedure": (
        "procedure",
        {
            **_WHOSE,
            "status": text("status"),
            **coded(_own_code),
            "performed_at": time(("performedDateTime",), ("performedPeriod", "start")),
            "performed_until": time(("performedPeriod", "end"), ("performedDateTime",)),
            "reason_code": code("reasonCode"),
        },
    ),
}
"""By the type of a resource: its table and the columns of it."""


def columns_of(resource: str) -> tuple[ReflectedColumn, ...]:
    """As a catalogue would have them. Nothing in them comes from a file."""
    kinds = {name: field.kind for name, field in RESOURCES[resource][1].items()}
    return tuple(reflected_field(pa.field(name, arrow_type(ReflectedColumn(name, kind)))) for name, kind in kinds.items())


_OF_A_COMPONENT = ("value", "code", "dataAbsentReason", "interpretation", "referenceRange")


def flattened(resource: str, content: Mapping[str, Json], columns: Sequence[str]) -> Iterator[tuple[object, ...]]:
    """These columns of the rows that a resource is."""
    gets = [RESOURCES[resource][1][column].get for column in columns]
    for view in _views(content) if resource == "Observation" else (content,):
        yield tuple([get(view) for get in gets])


def _views(observation: Mapping[str, Json]) -> Iterator[Mapping[str, Json]]:
    """The observation itself where it has a value, or nothing but itself; and each component as if it stood alone, under a name
    that no resource can have."""
    components = observation.get("component")
    inside = [one for one in components if isinstance(one, dict)] if isinstance(components, list) else []
    if not inside or any(name.startswith("value") for name in observation):
        yield observation
    shared = {name: value for name, value in observation.items() if not name.startswith(("value", "component", "code"))}
    name = word(observation.get("id"))
    for number, component in enumerate(inside, 1):
        # What is measured, and nothing else: whose it is, a component cannot say.
        own = {key: value for key, value in component.items() if key.startswith(_OF_A_COMPONENT)}
        yield {**shared, **own, "id": None if name is None else f"{name}#{number}"}


_NDJSON = re.compile(r"(?P<stem>.+)\.ndjson(?:\.gz)?", re.IGNORECASE)
_LONGEST = 1 << 26
"""Bytes of a line. A resource with a scan inside is longer; it is left out as a line that cannot be read."""
_MARK = b"\xef\xbb\xbf"
NO_TYPE = f"not a type of FHIR resource that is read ({', '.join(RESOURCES)})"
_HALF = re.compile(rb"\\u[dD][cC][89a-fA-F]")
"""The escape of half a character, of those that stand for bytes."""


def is_ndjson(path: Path) -> bool:
    return _NDJSON.fullmatch(path.name) is not None


def resource_of(path: Path) -> str | None:
    """The type of resource that a file's name says, or else that of its folder; None where neither says one, and one alone."""
    match = _NDJSON.fullmatch(path.name)
    stem = match["stem"] if match is not None else ""
    named = [resource for resource in RESOURCES if re.search(rf"{resource}(?![a-z])", stem)]
    if not named and path.parent.name in RESOURCES:
        return path.parent.name
    return named[0] if len(named) == 1 else None


def read_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file. Of one that is too long, no more than its beginning."""
    try:
        with path.open("rb") as raw, gzip.GzipFile(fileobj=raw) if path.name.lower().endswith(".gz") else raw as file:
            lines = cast(IO[bytes], file)
            while line := lines.readline(_LONGEST):
                end = line
                while not end.endswith(b"\n") and (end := lines.readline(_LONGEST)):
                    pass
                yield line
    except gzip.BadGzipFile:
        raise SourceError(f"{path} is not compressed with gzip, as its name says. Rename it to end in .ndjson.") from None
    except EOFError:
        raise SourceError(f"{path} ends too early: the compressed file is not complete. Copy it again.") from None
    except (OSError, zlib.error) as error:
        raise SourceError(f"{path} cannot be read ({type(error).__name__}). Copy it again.") from None


def resource_in(line: bytes, resource: str) -> Mapping[str, object] | None:
    """What a line says, if it is such a resource."""
    try:
        content = json.loads(line.removeprefix(_MARK).decode("utf-8", "surrogateescape"))
        # Half a character, written as an escape, would be taken for the byte that is read as the same sign: two keys, one text.
        if _HALF.search(line):
            json.dumps(content, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) and content.get("resourceType") == resource else None


def stream_resources(
    path: Path, resource: str, columns: Sequence[ReflectedColumn], table: str, unread: Unread
) -> Generator[pa.RecordBatch, None, None]:
    """These columns of every row of the file, in batches."""
    names = [column.name for column in columns]

    def rows() -> Iterator[tuple[object, ...]]:
        for line in read_lines(path):
            content = resource_in(line, resource)
            if content is not None:
                yield from flattened(resource, content, names)
            elif line.strip():
                unread[table] += 1

    yield from record_batches(rows(), columns, names, table, unread)
