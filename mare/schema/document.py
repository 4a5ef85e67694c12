"""`SchemaDocument`: a schema together with the file it came from, so that every fault can name its line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .faults import Fault, Path
from .schema import Schema


@dataclass(frozen=True)
class SchemaDocument:
    """What `load_document` returns. The schema is free of errors; it may still be a draft."""

    schema: Schema
    label: str
    """The file, for messages."""
    text: str
    """As it was read."""
    faults: tuple[Fault, ...]
    """What is still unsettled, with lines."""
    lines: Mapping[Path, int]

    def line_of(self, path: Path) -> int | None:
        """The line of this place, or of the nearest thing around it that is written."""
        return nearest_line(self.lines, path)


@dataclass(frozen=True)
class Examination:
    """A file as it was found, good or not. ``schema`` is None where nothing could be built from it."""

    schema: Schema | None
    label: str
    text: str
    faults: tuple[Fault, ...]
    """Everything that is wrong or open, with lines."""
    lines: Mapping[Path, int]

    def line_of(self, path: Path) -> int | None:
        """As in a `SchemaDocument`."""
        return nearest_line(self.lines, path)


def nearest_line(lines: Mapping[Path, int], path: Path) -> int | None:
    """Line of the longest written beginning of the path."""
    for end in range(len(path), -1, -1):
        if path[:end] in lines:
            return lines[path[:end]]
    return None
