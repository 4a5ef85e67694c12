"""From a location to the adapter that opens it: mare knows adapters by entry point only.

A location is a URL (`postgresql://…`), a folder, a file whose suffix an adapter has claimed (`ehr.sqlite`),
or an object in memory (a dictionary of frames; a connection that is open). Each maps to an entry-point name: the URL's scheme,
``folder``, ``suffix-sqlite``, ``frames``, ``object``. In the group ``mare.dialects`` it names a database family, which gives a
source and a sink (`Family`); in ``mare.sources``, ``mare.sinks`` and ``mare.copies`` one of these.

And where files are, whatever they are called, so that a target is not where the data comes from. A path has many spellings, and
a file many names (links, a folder above that is a link): the operating system knows one device and inode for all of them; what
is not there yet is known by the folder that it would be in. Servers are asked by their adapters. Nothing is changed here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, cast

from mare.errors import MareError, SinkError, SourceError
from mare.installed import plug_ins
from mare.ports import Located, Place, RemovedRows, Sink, Source
from mare.secrecy import is_path, is_there, refuse_file_url, require_path, shown

if TYPE_CHECKING:
    import pyarrow as pa

    from mare.schema.reflection import Peek, Reflection


Location = str | Path | Mapping[str, object]
Copy = Callable[[Location, Path, Mapping[str, RemovedRows]], Location]
"""Writes the source at a location into an empty folder, without these rows of its tables. Where the copy is."""

Open = Callable[..., object]


class Family(Protocol):
    """A database family."""

    def source(self, location: str | Path) -> Source: ...
    def sink(self, location: str | Path, *, replace: bool = False) -> Sink: ...


_FAMILIES, _SOURCES, _SINKS = "mare.dialects", "mare.sources", "mare.sinks"
_URL = re.compile(r"([a-zA-Z][a-zA-Z0-9]*)(?:\+\w+)?:(?://|$)")
_GIVE = "a server is given as a URL, postgresql://user@host/database; jdbc: and host=… are not read"


def _entry_name(location: Location, fault: type[MareError], *, must_exist: bool) -> str:
    if isinstance(location, Mapping):
        return "frames"
    text = str(location)
    refuse_file_url(text, fault)
    if match := _URL.match(text):
        return match[1].lower()
    path = Path(text.partition("?encoding=")[0] if must_exist else text)  # files may say how their letters are written
    if not must_exist and not is_there(path):
        path = Path(text.partition("?format=")[0])  # a folder to be written may say what its files are to be
        require_path(path, fault, f"the name of a new file or folder ({_GIVE})")
    if is_there(path) and path.is_dir():
        return "folder"
    if must_exist and not is_there(path):
        hint = "" if is_path(path) else f" ({_GIVE})"
        raise fault(f"{shown(path)} is not there{hint}. Give a URL (postgresql://…), a folder, or a database file that exists.")
    # `run.2/` is a folder, whatever the dot in its name looks like.
    if not must_exist and text.partition("?format=")[0].endswith(tuple(filter(None, (os.sep, os.altsep)))):
        return "folder"
    if path.suffix:
        return f"suffix-{path.suffix.lstrip('.').lower()}"
    if must_exist:
        raise fault(
            f"{shown(text)} has no suffix that says what it is. "
            f"Give a URL (sqlite:///{shown(text)}), or rename the file (.sqlite, .duckdb)."
        )
    return "folder"


def _adapter(group: str, name: str, fault: type[MareError]) -> Open:
    """What opens a location of this name as a source or a sink, whichever the group is for."""
    points = {**plug_ins(_FAMILIES), **plug_ins(group)}
    if name not in points:
        may_be_a_folder = group == _SINKS and name.startswith("suffix-")
        hint = " A new folder with a dot in its name is written with a slash at its end." if may_be_a_folder else ""
        raise fault(
            f"nothing installed here opens {_described(name)}. Known: "
            f"{', '.join(map(_described, sorted(points))) or 'none'}.{hint}"
        )
    loaded = points[name].load()
    if points[name].group != _FAMILIES:
        return cast(Open, loaded)
    family: Family = loaded()
    return family.source if group == _SOURCES else family.sink


def _described(name: str) -> str:
    """An entry point's name as a user writes the location."""
    if name.startswith("suffix-"):
        return f"a .{name.removeprefix('suffix-')} file"
    return {"folder": "a folder", "frames": "data frames", "object": "an open connection"}.get(name, f"{name}://")


def open_source(location: Location | Source | object) -> Source:
    """The source at this location, or behind this object; a source is what it is. It is opened when entered (`with`)."""
    if hasattr(location, "reflect") and hasattr(location, "read"):
        return cast(Source, location)
    if not isinstance(location, str | Path | Mapping):
        return cast(Source, _adapter(_SOURCES, "object", SourceError)(location))
    name = _entry_name(location, SourceError, must_exist=True)
    return cast(Source, _adapter(_SOURCES, name, SourceError)(location))


def open_sink(location: Location, *, replace: bool = False) -> Sink:
    """The sink at this location. Nothing is written before it is entered."""
    name = _entry_name(location, SinkError, must_exist=False)
    return cast(Sink, _adapter(_SINKS, name, SinkError)(location, replace=replace))


def find_copy(location: Location) -> Copy | None:
    """Who copies the source at this location for an audit; None where nothing may be written, as on a server."""
    name = _entry_name(location, SourceError, must_exist=True)
    point = plug_ins("mare.copies").get(name)
    return None if point is None else cast(Copy, point.load())


@dataclass(frozen=True, eq=False)
class HeldSource:
    """A source that is already open, for many fits on one snapshot: entering and leaving it change nothing."""

    reader: Source

    @property
    def label(self) -> str:
        return self.reader.label

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        pass

    def reflect(self) -> Reflection:
        return self.reader.reflect()

    def read(self, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        return self.reader.read(table, columns)

    def peek(self, table: str, column: str, max_values: int) -> Peek:
        return self.reader.peek(table, column, max_values)


def file_place(path: str | Path, *, beside: Iterable[str] = (), within_folder: bool = True) -> Place:
    """A file, there or not. ``beside`` are endings of files that belong to it (a log). Without ``within_folder`` the folders
    above it do not count: a new file hurts nobody who reads its neighbours."""
    real = Path(os.path.realpath(path))
    logs = {name for ending in beside for name in _names(real.with_name(real.name + ending))}
    return Place(frozenset({*_names(real), *logs}), frozenset(_folders_above(real)) if within_folder else frozenset())


def folder_place(path: str | Path, files: Iterable[Path] = ()) -> Place:
    """A folder that is read or written as a whole, with the files that are its tables: each may be a link to elsewhere."""
    real = Path(os.path.realpath(path))
    held = [Path(os.path.realpath(file)) for file in files]
    own = {*_names(real), *(name for file in held for name in _names(file))}
    return Place(
        frozenset(own), frozenset({*_folders_above(real), *(above for file in held for above in _folders_above(file))} - own)
    )


def refuse_overlap(source: Source, sink: Sink) -> None:
    """Refuse a target that is the source, holds it, or lies within it. Both have been entered; nothing is changed by asking.

    Fitting and sampling in one go calls this before a budget is spent. A sample alone knows no source: there, a target is
    protected by the mark that only mare's own tables carry.
    """
    if isinstance(source, Located) and isinstance(sink, Located) and source.place().overlaps(sink.place()):
        raise SinkError(
            f"the target {sink.label} is the source {source.label}, or one lies within the other: writing there would destroy "
            "what is read. Nothing was read or changed, and --replace does not change that. Give another target."
        )


def refuse_files_at(source: Source, files: Iterable[tuple[str, Path]]) -> None:
    """Refuse a file that is to be written where the source lies, or one that a database would take for its own log."""
    place = source.place().own if isinstance(source, Located) else frozenset()
    for what, path in files:
        if file_place(path, within_folder=False).own & place:
            raise SinkError(f"{path} ({what}) is the source {source.label}, or belongs to it. Give another path.")


def refuse_files_in(sink: Sink, files: Iterable[tuple[str, Path]]) -> None:
    """Refuse a target that would take along a file which is read or written beside it, each with a word for what it is."""
    if not isinstance(sink, Located):
        return
    place = sink.place()
    for what, path in files:
        if file_place(path).overlaps(place):
            raise SinkError(f"{path} ({what}) is the target {sink.label}, or lies within it. Give one of them another path.")


def _names(real: Path) -> set[Hashable]:
    """What is there, by device and inode; and its name in its folder, which it has before it is there."""
    names: set[Hashable] = {("file", *known)} if (known := _device_and_inode(real)) else set()
    parent = _device_and_inode(real.parent)
    return names | ({("name", *parent, real.name)} if parent else set())


def _folders_above(real: Path) -> set[Hashable]:
    return {("file", *known) for folder in real.parents if (known := _device_and_inode(folder))}


def _device_and_inode(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino
