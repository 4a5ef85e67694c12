"""A FHIR bulk export as a source: files of a JSON resource a line (ndjson), each type of resource a table.

Which type a file holds is said by its name (`Patient.ndjson`, `1.Patient.000.ndjson.gz`, `MimicPatient.ndjson`) or by that of its
folder (`Patient/0f3a.ndjson`). All files of a type are one table. A line is a row by itself: one that is no JSON, no resource or
one of another type is left out and counted (`unread`), never refused, for a refusal would tell that somebody has such a line.
Memory holds one line and one batch.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from mare.errors import SourceError
from mare.schema.reflection import ReflectedColumn

from .columnar import Unread, record_batches
from .fhir_resources import RESOURCES, flattened

if TYPE_CHECKING:
    import pyarrow as pa

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
