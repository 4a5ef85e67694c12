"""The ready schemas: a name (`mimic-iv-core`) stands for a YAML file that comes with mare.

A clone reads `schemas/` at the root of the repository, a wheel reads `mare/_schemas`. Loading asks `find`
when what it was given is no file, so a name works wherever a path does.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SUFFIX = ".yaml"
JSON_SCHEMA = "mare.schema.json"
"""The file beside them that tells editors the language."""


@dataclass(frozen=True)
class ReadySchema:
    """One line of `mare schemas`."""

    name: str
    """What to write instead of a path."""
    summary: str
    """The first line of its description."""
    entity: str
    """Whom it protects."""
    tables: int
    """How many tables it fills or keeps; the ignored ones do not count."""


def folder() -> Path:
    """Where the ready schemas lie: inside the package when installed from a wheel, beside it in a clone."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "_schemas"
    return installed if installed.is_dir() else package.parent / "schemas"


def names() -> tuple[str, ...]:
    """The names of all ready schemas, sorted."""
    return tuple(sorted(path.stem for path in folder().glob(f"*{SUFFIX}")))


def find(name: str) -> Path | None:
    """The file of the ready schema with this name; None when there is none. A path is never mistaken for a name."""
    return folder() / f"{name}{SUFFIX}" if name in names() else None


def ready_schemas() -> tuple[ReadySchema, ...]:
    """What `mare schemas` lists, sorted by name."""
    return tuple(_describe(name) for name in names())


def _describe(name: str) -> ReadySchema:
    # Imported here: loading asks this module for `find`.
    from .loading import load_schema

    schema = load_schema(folder() / f"{name}{SUFFIX}")
    return ReadySchema(
        name=name,
        summary=(schema.description or "").strip().partition("\n")[0],
        entity=schema.entity_name or "",
        tables=sum(not table.ignore for table in schema.tables.values()),
    )
