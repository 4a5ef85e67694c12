"""Where files are, whatever they are called, and that a target is not where the data comes from.

A path has many spellings, and a file many names: links, relative paths, a folder above that is a link. The operating system
knows one device and inode for all of them; what is not there yet is known by the folder that it would be in. Servers are
asked by their adapters. Everything here looks, and changes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable
from pathlib import Path

from mare.errors import SinkError
from mare.ports import Located, Place, Sink, Source


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

    Whoever fits and samples in one go calls this before a budget is spent. A sample alone knows no source: there, a target is
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
    names: set[Hashable] = {("file", *known)} if (known := _known(real)) else set()
    parent = _known(real.parent)
    return names | ({("name", *parent, real.name)} if parent else set())


def _folders_above(real: Path) -> set[Hashable]:
    return {("file", *known) for folder in real.parents if (known := _known(folder))}


def _known(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino
