"""A new file or folder beside the target, renamed into place at the end: how files appear complete or not at all.

An error, or a kill, leaves the target as it was; what a kill leaves beside it, the next run to that target takes away.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from mare.errors import SinkError
from mare.leftovers import hold_folder
from mare_adapters.boundary import writing

from .marks import refuse_unmarked


class Beside:
    """What will be the target, under its own name in a hidden folder beside it, which the lock of a living process holds."""

    def __init__(self, target: Path) -> None:
        # Where a link points to: the link itself stays what it is.
        self.target = place = Path(os.path.realpath(target))
        try:
            self._room = hold_folder(place.parent, f".{place.name}.", ".tmp")
        except OSError as error:
            raise SinkError(f"{target} cannot be written ({error.strerror or 'no temporary name is free'}).") from None
        self.path = self._room.path / place.name

    @contextmanager
    def opening(self, label: str) -> Iterator[None]:
        """Around the first steps: a sink that could not be entered is never left, so nothing would be removed."""
        try:
            with writing(label, "the target"):
                yield
        except BaseException:
            self.discard()
            raise

    def appear(self) -> None:
        """Rename into place, when everything is on the disk. What stood there goes away after that."""
        files = sorted(self.path.rglob("*")) if self.path.is_dir() else [self.path]
        for file in files:
            with file.open("rb") as opened:
                os.fsync(opened.fileno())
        plain = 0o777 if self.path.is_dir() else 0o666
        self.path.chmod(self.target.stat().st_mode & 0o777 if self.target.exists() else plain & ~_umask())
        try:
            if self.path.is_dir() and self.target.exists():
                _exchange(self.path, self.target)
            else:
                os.replace(self.path, self.target)
        except OSError as error:
            raise SinkError(f"{self.target} cannot be written ({error.strerror}). It was left as it was.") from None
        _sync_folder(self.target.parent)
        self.discard()

    def discard(self) -> None:
        """Remove whatever stands in the hidden folder, and the folder. May be called again."""
        self._room.discard()


def refuse_others(target: Path, held: Sequence[str], written: Sequence[str], what: str) -> None:
    """A file is replaced as a whole. That must not take anything along that is not written anew."""
    names = {name.casefold() for name in written}
    others = sorted(name for name in held if name.casefold() not in names)
    if others:
        shown = ", ".join(others[:8]) + (f" and {len(others) - 8} more" if len(others) > 8 else "")
        raise SinkError(f"{target} also holds {what} {shown}, which would be lost. It was left as it was: give another path.")


def refuse_what_is_there(target: Path, held: Mapping[str, bool], *, replace: bool) -> None:
    """Nothing is overwritten that nobody said to replace, nor anything that mare did not create: ``held`` tells which it did."""
    foreign = [name for name, ours in held.items() if not ours]
    if held and not replace:
        what = (
            "and mare did not create it. Give another path."
            if foreign
            else "Give another path, or say --replace to overwrite it."
        )
        raise SinkError(f"{target} exists already{',' if foreign else '.'} {what}")
    refuse_unmarked(str(target), foreign, "Remove it yourself, or give another path.")


def _exchange(new: Path, old: Path) -> None:
    """Let two folders change places: at once where the system can, so that a kill finds one or the other."""
    if sys.platform == "linux":
        here, swap = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
        library = ctypes.CDLL(None, use_errno=True)
        if hasattr(library, "renameat2") and library.renameat2(here, os.fsencode(new), here, os.fsencode(old), swap) == 0:
            return
    # Not in the hidden folder: that one is swept away after a kill, and this may be all there is of the old one then.
    aside = old.with_name(f"{new.parent.name}.old")
    os.rename(old, aside)
    try:
        os.rename(new, old)
    except OSError:
        os.rename(aside, old)
        raise
    os.rename(aside, new)


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut, where a folder can be opened."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _umask() -> int:
    current = os.umask(0o077)
    os.umask(current)
    return current
