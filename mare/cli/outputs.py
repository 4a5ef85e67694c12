"""The files that verbs write: where they may be written is found out before any work, and each appears whole or not at all.

A file is written over its like alone, a schema over a schema, a picture over a picture: nobody's data is drafted over.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mare.errors import MareError, SinkError
from mare.files import write_whole
from mare.secrecy import require_path

_BEGINNING = 1 << 16
"""Bytes that tell what a file is."""


def check_path(path: Path, what: str, error: type[MareError], *, overwrite: bool, option: str = "--replace") -> None:
    """Refuse a path that no file can be written at, or that would be overwritten unasked: ``option`` asks for that."""
    require_path(path, error, what)
    folder = path.absolute().parent
    if path.is_dir():
        raise error(f"{path} is a folder. Give the path of a file.")
    if not folder.is_dir():
        raise error(f"the folder {folder} is not there. Make it first, or give another path.")
    if path.exists() and not overwrite:
        raise error(f"{path} exists already. Give another path, or say {option} to overwrite it.")


def check_output(
    path: Path | None,
    what: str,
    like: str,
    error: type[MareError],
    is_like: Callable[[bytes], bool],
    *,
    overwrite: bool,
    option: str = "--replace",
) -> None:
    """The same, and refuse to write over anything but its like, which its beginning tells. Nothing where nothing is written."""
    if path is None:
        return
    check_path(path, what, error, overwrite=overwrite, option=option)
    if path.exists() and path.stat().st_size:
        with path.open("rb") as opened:
            if not is_like(opened.read(_BEGINNING)):
                raise error(f"{path} exists already, and is not {like}. It was left as it was: give another path.")


def write_output(path: Path, text: str, *, private: bool = False) -> None:
    """The whole file or none: an earlier one stays until then. What holds data (``private``) is for its owner's eyes only."""
    try:
        write_whole(path, text, private=private)
    except OSError as error:
        raise SinkError(f"{path} cannot be written ({error.strerror}). Nothing was changed.") from None
