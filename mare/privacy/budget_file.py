"""`BudgetFile`: one cap for many releases of the same data, kept in a file that neither a crash nor a race can cheat.

A fit reserves its whole budget here before the first row is read. Nothing is ever given back: a fit that dies has spent
its reservation. So two things have to hold, whatever happens to the process that writes:

- **what was granted is never missing.** The new state is written beside the file, synced to the disk, renamed over it, and
  the folder is synced, all before `reserve` returns. A reader meets the state before or the state after, never a torn one.
- **no two grants from the same state.** A writer holds an exclusive lock on the file, checks that what it locked is still the
  file of that name (a rename puts another in its place), and only then reads.

A checksum covers all of it. A file that was cut, edited or damaged is refused; nothing is guessed, nothing starts again
from zero. (A copy, or an older state put back from a backup, cannot be told from the true one: keep one file, and guard it.)
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from mare.errors import BudgetError
from mare.secrecy import require_path, shown

from .account import Account, looks_like_account, read_account, write_account
from .budget import Budget, Pledge
from .cap import Cap
from .occasion import utc

_LARGEST = 1 << 26
"""No budget file is larger: what is, is something else."""


@dataclass(frozen=True)
class BudgetFile:
    """A path that holds an `Account`. Every call reads it anew: others write to it too."""

    path: Path

    def __post_init__(self) -> None:
        # behind symbolic links: a rename must replace the file, not a link to it
        object.__setattr__(self, "path", Path(os.path.realpath(self.path)))

    @classmethod
    def create(cls, path: str | Path, cap: Budget, label: str, at: datetime) -> BudgetFile:
        """A new file with nothing spent. One that is there is never overwritten: it may hold spent budget."""
        require_path(path, BudgetError, "a budget file")
        file = cls(Path(path))
        account = Account.opened(label, Cap.of(cap), utc(at))
        with _named_errors(file.path, f"the folder {file.path.parent} is not there. Make it, or give another path."):
            beside = _write_beside(file.path, account)
            try:
                os.link(beside, file.path)
            except FileExistsError:
                raise BudgetError(f"{file.path} exists already, and was left as it is. Give another path.") from None
            finally:
                with suppress(FileNotFoundError):  # somebody who holds the lock of a file of that name swept it away
                    os.unlink(beside)
            _sync_folder(file.path)
        return file

    def read(self) -> Account:
        """What it says now, checked from the first byte to the last."""
        with _named_errors(self.path, _missing(self.path)), open(self.path, "rb") as file:
            return read_account(file.read(_LARGEST), str(self.path))

    def reserve(self, budget: Budget, purpose: str, unit: str, at: datetime, by: str = "") -> Pledge:
        """Take this budget out of the cap, for good; or refuse with `BudgetError`, and change nothing.

        When this returns, the reservation is on the disk. If it does not, nothing may be answered, though the budget may
        be gone.
        """
        with _named_errors(self.path, _missing(self.path)), _locked(self.path) as handle:
            _refuse_second_names(handle, self.path)
            before = read_account(os.pread(handle, _LARGEST, 0), str(self.path))
            after = before.reserve(budget, purpose, unit, utc(at), by)
            beside = _write_beside(self.path, after, like=os.fstat(handle))
            os.replace(beside, self.path)
            _sync_folder(self.path)
        return Pledge(after.label, after.reservations[-1].id, after.cap.budget)


def is_budget_file(path: str | Path) -> bool:
    """Does it begin like one? It may still be damaged."""
    try:
        with open(path, "rb") as file:
            return looks_like_account(file.read(64))
    except OSError:
        return False


def budget_files_beside(path: Path) -> list[Path]:
    """Budget files in the folder of that file, known by what they hold: their names are anybody's choice."""
    try:
        # is_file first: to open a named pipe is to wait for somebody who writes to it
        return sorted(entry for entry in path.parent.iterdir() if entry.is_file() and is_budget_file(entry))
    except OSError:
        return []


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """The file, open for reading, held by nobody else, and still the one of that name."""
    while True:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                yield handle
                return
        finally:
            os.close(handle)  # which also unlocks it


def _refuse_second_names(handle: int, path: Path) -> None:
    """A file with two names would have two futures. Names that a killed writer left are taken away first."""
    for left_over in path.parent.glob(f".{path.name}.*.new"):
        with suppress(FileNotFoundError):
            left_over.unlink()
    if os.fstat(handle).st_nlink != 1:
        raise BudgetError(f"{path} has a second name (a hard link). A budget has one: remove the other. Nothing was reserved.")


def _write_beside(path: Path, account: Account, like: os.stat_result | None = None) -> str:
    """The new state, synced, under a name of its own in the same folder. Only its owner may read it (0600)."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".new", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(write_account(account))
            file.flush()
            if like is not None:
                _owned_like(file.fileno(), like)
            os.fsync(file.fileno())
    except BaseException:
        os.unlink(name)
        raise
    return name


def _owned_like(handle: int, like: os.stat_result) -> None:
    """Whoever writes, the file stays as open as its owner made it, and the owner's where that is allowed."""
    os.fchmod(handle, like.st_mode & 0o777)
    for user, group in ((-1, like.st_gid), (like.st_uid, -1)):
        with suppress(PermissionError):
            os.fchown(handle, user, group)


def _sync_folder(path: Path) -> None:
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextmanager
def _named_errors(path: Path, missing: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise BudgetError(missing) from None
    except OSError as error:
        raise BudgetError(
            f"{shown(path)} cannot be used as a budget file ({error.strerror}). "
            "Nothing may be answered under it until that is mended."
        ) from None


def _missing(path: Path) -> str:
    return f"there is no budget file {shown(path)}. Make one with: mare budget create FILE --epsilon E --delta D"
