"""The release file: a zip of JSON, YAML and safetensors. It opens with any tool, and no code runs when it is read.

mimetype            what this is, stored first and uncompressed
release.json        format version, settled plan, output tables
schema.yaml         the schema
ledger.json         every charge, and the status
models/N.safetensors  the arrays of group N of the settled plan
public/N.arrow      the N-th public table of the schema, whole

pydantic checks every field of `release.json` on the way in: what a file says is not believed because it parses.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, ConfigDict, TypeAdapter
from safetensors import SafetensorError
from safetensors.numpy import load, save

from mare.codec import LearnedDomain, LearnedOrder, LearnedScales, LearnedValues
from mare.errors import InternalError, MareError, ReleaseError
from mare.files import write_whole
from mare.planning import Warned
from mare.privacy.ledger import Ledger
from mare.relational.public import read_public, write_public
from mare.schema import Schema
from mare.schema.loading import load_schema
from mare.schema.reflection import ReflectedTable
from mare.schema.yaml_writing import dump_schema
from mare.secrecy import require_path, shown

from .release import Release, SettledGroup, SettledPlan

MIMETYPE = "application/x-mare-release"
FORMAT = 3
"""Version of the file's layout. Any other one is refused: half understood is not understood."""
LARGEST_MEMBER = 1 << 32
ID_LETTERS = 16
"""Of a release's id: enough to tell releases apart, short enough to read."""
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""Every member's time: the same release is the same bytes."""


def save_release(release: Release, path: Path, *, replace: bool) -> None:
    """All of it or nothing: a reader never meets half a file. Over another release only where that may be replaced."""
    require_path(path, ReleaseError, "a release file")
    refuse_other_file(path)
    try:
        write_whole(path, _packed(_members(release)), new=not replace)
    except FileExistsError:
        raise ReleaseError(
            f"{path} exists already. It was left as it was: give another path, or say that it may be replaced (replace=True)."
        ) from None
    except OSError as error:
        raise ReleaseError(f"{path} cannot be written ({error.strerror}). Nothing was left there.") from None


def release_id(release: Release) -> str:
    """What a target's mark calls the release: a hash of all that its file holds, and of nothing else."""
    hashed = sha256()
    for name, content in _members(release).items():
        hashed.update(f"{name} {len(content)}\n".encode())
        hashed.update(content)
    return hashed.hexdigest()[:ID_LETTERS]


def refuse_other_file(path: Path) -> None:
    """A release is written over a release, and over nothing else: it may be the source that somebody has named."""
    if path.is_file() and path.stat().st_size and not _is_release_file(path):
        raise ReleaseError(f"{path} exists already, and is not a release file. It was left as it was: give another path.")


def _is_release_file(path: Path) -> bool:
    """Whether a file is one of ours, readable by this mare or not."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.read("mimetype") == MIMETYPE.encode()
    except (OSError, KeyError, RuntimeError, zipfile.BadZipFile):
        return False


def _members(release: Release) -> dict[str, bytes]:
    members: dict[str, bytes] = {
        "mimetype": MIMETYPE.encode(),
        "release.json": write_document(release, FORMAT).encode(),
        "schema.yaml": dump_schema(release.schema).encode(),
        "ledger.json": release.ledger.to_json().encode(),
    }
    for number, settled in enumerate(release.plan.groups):
        arrays = {name: np.ascontiguousarray(values) for name, values in release.arrays[settled.name].items()}
        members[f"models/{number}.safetensors"] = save(arrays)
    for number, name in enumerate(_public_names(release.schema)):
        members[f"public/{number}.arrow"] = write_public(release.public[name])
    return members


def _packed(members: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members.items():
            info = zipfile.ZipInfo(member, _EPOCH)
            info.external_attr = 0o644 << 16
            info.compress_type = zipfile.ZIP_STORED if member == "mimetype" else zipfile.ZIP_DEFLATED
            archive.writestr(info, content)
    return packed.getvalue()


def load_release(path: str | Path) -> Release:
    """Read a release file, or refuse it with a `ReleaseError` that says why."""
    path = Path(path)
    try:
        with zipfile.ZipFile(path) as archive:
            return _read(archive, path)
    except FileNotFoundError:
        raise ReleaseError(f"there is no release {shown(path)}.") from None
    except IsADirectoryError:
        raise ReleaseError(f"{path} is a folder, not a release.") from None
    except PermissionError:
        raise ReleaseError(f"{path} may not be read by this user.") from None
    except zipfile.BadZipFile:
        raise ReleaseError(f"{path} is not a release of mare, or it is damaged.") from None
    except (OSError, EOFError, NotImplementedError, RuntimeError, zipfile.LargeZipFile) as error:
        raise ReleaseError(f"{shown(path)} is damaged ({type(error).__name__}).") from None


def _read(archive: zipfile.ZipFile, path: Path) -> Release:
    names = set(archive.namelist())
    if "mimetype" not in names or _member(archive, "mimetype", path) != MIMETYPE.encode():
        raise ReleaseError(f"{path} is a zip file, but not a release of mare.")
    document = _json(_member(archive, "release.json", path), path)
    version = document.get("format")
    if not isinstance(version, int) or version < 1:
        raise ReleaseError(f"{path} is damaged: it does not say its format.")
    if version > FORMAT:
        raise ReleaseError(f"{path} has format {version}; this mare reads format {FORMAT}. Upgrade mare to read it.")
    if version < FORMAT:
        raise ReleaseError(
            f"{path} has format {version}, of an earlier mare; this one reads format {FORMAT}. Sample it with the version that "
            "made it (its ledger.json names it), or fit again, which costs budget again."
        )
    try:
        written = _member(archive, "schema.yaml", path)
        schema = load_schema(written.decode() + "\n")
        ledger = Ledger.from_json(_member(archive, "ledger.json", path).decode())
        plan, tables = read_document(document)
    except ReleaseError:
        raise
    except (MareError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ReleaseError(f"{path} is damaged: its description cannot be read ({type(error).__name__}).") from None
    if ledger.occasion.schema not in ("", sha256(written).hexdigest()):
        raise ReleaseError(f"{path} is damaged: its schema is not the one that its ledger names.")
    arrays = {
        settled.name: _arrays(_member(archive, f"models/{number}.safetensors", path), path)
        for number, settled in enumerate(plan.groups)
    }
    public = {
        name: read_public(name, schema.tables[name].key or (), _member(archive, f"public/{number}.arrow", path))
        for number, name in enumerate(_public_names(schema))
    }
    release = Release(schema, plan, tables, arrays, ledger, public)
    for settled in plan.groups:
        release.model(settled.name)  # every model loads, so that a file that loads can be sampled from
    return release


def _public_names(schema: Schema) -> list[str]:
    return [name for name, table in schema.tables.items() if table.public and not table.ignore]


def _member(archive: zipfile.ZipFile, name: str, path: Path) -> bytes:
    try:
        info = archive.getinfo(name)
    except KeyError:
        raise ReleaseError(f"{path} is damaged: {name} is missing.") from None
    if info.file_size > LARGEST_MEMBER:
        raise ReleaseError(f"{path} is damaged: {name} claims {info.file_size:,} bytes.")
    # read() checks the CRC of what it unpacks, zlib that it can be unpacked.
    try:
        return archive.read(info)
    except zlib.error:
        raise ReleaseError(f"{path} is damaged: {name} cannot be unpacked.") from None


def _json(content: bytes, path: Path) -> dict[str, object]:
    try:
        document = json.loads(content)
    except ValueError:
        raise ReleaseError(f"{path} is damaged: release.json is not JSON.") from None
    if not isinstance(document, dict):
        raise ReleaseError(f"{path} is damaged: release.json does not describe a release.")
    return document


def _arrays(content: bytes, path: Path) -> dict[str, NDArray[np.generic]]:
    try:
        return dict(load(content))
    except (SafetensorError, ValueError) as error:
        raise ReleaseError(f"{path} is damaged: a model cannot be read ({type(error).__name__}).") from None


_COLUMN = (
    "name", "kind", "sql_type", "nullable", "precision", "max_length", "digits", "values", "min", "max", "lowest", "highest",
    "comment", "default", "counter", "domain", "generated", "expression", "virtual",
)  # fmt: skip
_TABLE = (
    "name", "columns", "key", "foreign_keys", "indexes", "uniques", "orders", "unread_checks", "comment", "names", "checks",
    "special_indexes", "computed", "left_out", "unmade", "verbatim", "namespace", "dialect",
)  # fmt: skip
"""What is stored of a table and its columns. The rest is how a source is read, or of a draft."""


def _stored_fields_alone(table: object) -> object:
    columns = [*table["columns"], *(column for _, column in table.get("computed", ()))] if isinstance(table, dict) else []
    if not isinstance(table, dict) or table.keys() - set(_TABLE) or any(column.keys() - set(_COLUMN) for column in columns):
        raise ValueError("a table says what no table of a release says")
    return table


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Learned(_Strict):
    """One of these, so that a reader need not guess."""

    order: LearnedOrder | None = None
    values: LearnedValues | None = None
    scales: LearnedScales | None = None

    def domain(self) -> LearnedDomain:
        held = [domain for domain in (self.order, self.values, self.scales) if domain is not None]
        if len(held) != 1:
            raise ValueError("a learned domain is one of order, values and scales")
        return held[0]


class _Document(_Strict):
    format: int
    status: str
    entities: int
    groups: tuple[SettledGroup, ...]
    tables: tuple[Annotated[ReflectedTable, BeforeValidator(_stored_fields_alone)], ...]
    chosen: dict[str, tuple[int, ...]] = {}
    counts: dict[str, tuple[float, ...]] = {}
    learned: dict[str, _Learned] = {}
    doubts: tuple[Warned, ...] = ()


_KIND: dict[type, str] = {LearnedOrder: "order", LearnedValues: "values", LearnedScales: "scales"}


@cache
def _adapter() -> TypeAdapter[_Document]:
    return TypeAdapter(_Document)


def write_document(release: Release, version: int) -> str:
    """The JSON text, with the status first in sight."""
    document = {
        "format": version,
        "status": release.status,
        "entities": release.plan.entities,
        "groups": release.plan.groups,
        "tables": [_stored_table(table) for table in release.tables],
        "chosen": release.plan.chosen,
        "counts": release.plan.counts,
        "learned": {name: {_KIND[type(domain)]: domain} for name, domain in release.plan.learned.items()},
        "doubts": release.plan.doubts,
    }
    return json.dumps(document, allow_nan=False, default=_plain)


def _stored_table(table: ReflectedTable) -> dict[str, object]:
    columns = [_fields(column, _COLUMN) for column in table.columns]
    computed = [(place, _fields(column, _COLUMN)) for place, column in table.computed]
    return _fields(table, _TABLE) | {"columns": columns, "computed": computed}


def _fields(noun: object, stored: tuple[str, ...]) -> dict[str, object]:
    return {name: getattr(noun, name) for name in stored}


def _plain(value: object) -> object:
    """What JSON has no word for."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    raise InternalError(f"a release cannot hold a {type(value).__name__}")


def read_document(document: dict[str, object]) -> tuple[SettledPlan, tuple[ReflectedTable, ...]]:
    """The plan and the tables back, or a `ValueError`."""
    read = _adapter().validate_json(json.dumps(document))
    learned = {name: stored.domain() for name, stored in read.learned.items()}
    return SettledPlan(read.entities, read.groups, read.chosen, read.counts, learned, read.doubts), read.tables
