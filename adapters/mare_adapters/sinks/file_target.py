"""`FileTarget`: the life of a target that is a file or a folder. It appears complete or not at all.

It is written beside the target, under a hidden name, and renamed into place at the end, when it is sure that what stands there
may be replaced (`marks`). An error, or a kill, leaves the target as it was; what a kill leaves beside it, the next run to that
target takes away.
"""

from __future__ import annotations

import ctypes
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

import pyarrow as pa

from mare.errors import SinkError
from mare.files import hold_folder, sync_folder
from mare.finding import file_place
from mare.ports import Place, SinkTable
from mare.schema.reflection import ReflectedTable
from mare_adapters.boundary import writing

from .target import Target, entered, refuse_others, refuse_what_is_there
from .target_tables import Limits, target_tables


class FileTarget(Target, ABC):
    """A file or a folder, as a `mare.ports.Sink`. A format says how it is opened, filled, finished and let go of."""

    limits: ClassVar[Limits]
    is_folder: ClassVar[bool] = False

    def __init__(self, target: Path, *, replace: bool) -> None:
        super().__init__(str(target), replace=replace)
        self._target = target
        self._release = ""
        self._new: _Beside | None = None

    def __enter__(self) -> Self:
        if self._target.exists() and self._target.is_dir() != self.is_folder:
            raise SinkError(f"{self._target} is a {_NOUNS[not self.is_folder]}. Give the path of a {_NOUNS[self.is_folder]}.")
        if not self._replace:
            refuse_what_is_there(self._target, self._held(), replace=False)
        self._new = _Beside(self._target)
        try:
            with writing(self.label, "the target"):
                self._begin(self._new.path)
        except BaseException:  # a sink that could not be entered is never left, so nothing would be removed
            self._new.discard()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if error is None and self._targets.tables:
                with writing(self.label, f"the {_NOUNS[self.is_folder]}"):
                    self._finish()
                    self._let_go()
                    self.expect([table.name for table in self._targets.tables])  # somebody may have come meanwhile
                    self._make_way()
                    entered(self._new).appear()
        finally:
            self._let_go()
            if self._new is not None:
                self._new.discard()
                self._new = None

    def place(self) -> Place:
        return file_place(self._target, within_folder=False)

    def expect(self, tables: Sequence[str]) -> None:
        held = self._held()
        refuse_others(self._target, list(held), tables, "the tables")
        refuse_what_is_there(self._target, held, replace=self._replace)

    def create(self, tables: Sequence[SinkTable], release: str = "") -> None:
        self.expect([table.table.name for table in tables])
        self._targets, self._release = target_tables(tables, self.limits), release
        for table in self._targets.tables:
            with writing(self.label, f"table {table.name}"):
                self._create(table)

    def foresee(self, tables: Sequence[SinkTable]) -> tuple[str, ...]:
        self.expect([table.table.name for table in tables])
        try:
            self._targets = target_tables(tables, self.limits)
            with writing(self.label, "the target"):
                self._rehearse()
            return self.notes
        finally:
            self._targets = target_tables((), self.limits)

    def _rehearse(self) -> None:
        """Create the tables where nobody sees them, and forget them. Files have nothing that could be refused."""

    def _try_out(self) -> None:
        """Make and finish the tables in what is open at the moment, and close it."""
        try:
            for table in self._targets.tables:
                self._create(table)
            self._finish()
        finally:
            self._let_go()

    def write(self, table: str, batch: pa.RecordBatch) -> None:
        laid = self._targets.table(table)
        if not laid.columns:
            return
        with writing(self.label, f"table {table}"):
            self._write(laid, batch)
        self._finishing.rows[table] += batch.num_rows

    @abstractmethod
    def _held(self) -> dict[str, bool]:
        """What stands at the target, by name, and whether mare created it. What is of another format is nobody's to overwrite."""

    @abstractmethod
    def _begin(self, path: Path) -> None:
        """Begin a new one at this path."""

    @abstractmethod
    def _create(self, table: ReflectedTable) -> None:
        """Create a table in it, with its mark."""

    @abstractmethod
    def _write(self, table: ReflectedTable, batch: pa.RecordBatch) -> None:
        """Add rows to it."""

    @abstractmethod
    def _finish(self) -> None:
        """Check what is to be checked, and write the rest."""

    @abstractmethod
    def _let_go(self) -> None:
        """Close what is open, in whatever state it is. May be called again."""

    def _make_way(self) -> None:
        """Called just before the old one is replaced."""


_NOUNS = {False: "file", True: "folder"}


class _Beside:
    """What will be the target, under its own name in a hidden folder beside it, which the lock of a living process holds."""

    def __init__(self, target: Path) -> None:
        # Where a link points to: the link itself stays what it is.
        self.target = place = Path(os.path.realpath(target))
        try:
            self._room = hold_folder(place.parent, f".{place.name}.", ".tmp")
        except OSError as error:
            raise SinkError(f"{target} cannot be written ({error.strerror or 'no temporary name is free'}).") from None
        self.path = self._room.path / place.name

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
        sync_folder(self.target.parent)
        self.discard()

    def discard(self) -> None:
        """Remove whatever stands in the hidden folder, and the folder. May be called again."""
        self._room.discard()


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


def _umask() -> int:
    current = os.umask(0o077)
    os.umask(current)
    return current
