"""`write_whole`: a file that appears complete or not at all. Drafts, pictures and releases are written through here.

The content goes into a new file beside the target, onto the disk, and is renamed into place: a reader never meets half a file,
and an error or a kill leaves what was there. (A budget file is written by `mare.privacy.budget_file`, under its lock; databases
by the adapters.)

What a `kill -9` leaves behind is cleared away by the next run, without touching what is in use. Temporary folders
and files are made here. Its name carries the process number, for people, and it is held by a lock (`flock`) for as long as its
maker lives: the kernel lets go of it when the process dies, however it dies. So a thing of such a name whose lock is free belongs
to nobody any more. Only what this user owns is ever looked at, links are not followed, and where a file system has no locks
nothing is removed.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

_TRIES = 20
"""Somebody who sweeps may take a new thing before its maker has locked it: another is made then."""


_OWN: set[Path] = set()
"""What this process is making or holds. A process has one table of its locks as well: this is the same."""


@dataclass
class Held:
    """A temporary folder or file that nobody sweeps away while its maker lives."""

    path: Path
    handle: int = field(repr=False)

    def let_go(self) -> None:
        """Give up the lock; the thing itself stays. May be called again."""
        _OWN.discard(self.path)
        handle, self.handle = self.handle, -1
        if handle >= 0:
            os.close(handle)

    def discard(self) -> None:
        """Remove it with everything in it, and let go. May be called again."""
        if self.handle >= 0:
            _remove(self.path)
        self.let_go()


def hold_folder(parent: Path, prefix: str, suffix: str = "") -> Held:
    """A new folder for its owner's eyes only. What dead processes left under such names is removed first."""
    sweep(parent, prefix, suffix)

    def make(path: Path) -> int:
        path.mkdir(mode=0o700)
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)

    return _held(parent, prefix, suffix, make)


def hold_file(parent: Path, prefix: str, suffix: str = "", *, mode: int = 0o600) -> Held:
    """A new, empty file, whose handle may be written to. What dead processes left under such names is removed first."""
    sweep(parent, prefix, suffix)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return _held(parent, prefix, suffix, lambda path: os.open(path, flags, mode))


def discard_own() -> None:
    """Remove what this process holds or was making when it was stopped: between two steps nobody else knows of it."""
    for path in sorted(_OWN):
        _remove(path)
    _OWN.clear()


def sweep(parent: Path, prefix: str, suffix: str = "") -> None:
    """Remove what processes that are dead have left under such names. What cannot be removed is left for another time."""
    with suppress(OSError):
        for path in _left_over(parent, prefix, suffix):
            with suppress(OSError), _unheld(path):
                _remove(path)


def _held(parent: Path, prefix: str, suffix: str, make: Callable[[Path], int]) -> Held:
    for _ in range(_TRIES):
        path = parent / f"{prefix}{os.getpid()}-{secrets.token_hex(4)}{suffix}"
        _OWN.add(path)
        try:
            handle = make(path)
        except OSError as error:
            _OWN.discard(path)
            if not isinstance(error, FileExistsError | FileNotFoundError) or not parent.is_dir():
                raise
            continue
        if _locked(handle, path):
            return Held(path, handle)
        _OWN.discard(path)
        os.close(handle)
    raise OSError(f"no temporary name of its own was to be had in {parent}")


def _locked(handle: int, path: Path) -> bool:
    """Is it ours now, and still there? Somebody who sweeps may have been quicker."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: held by nothing, and swept by nobody
        return True
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(handle), os.stat(path))
    return False


def _left_over(parent: Path, prefix: str, suffix: str) -> Iterator[Path]:
    named = re.compile(re.escape(prefix) + r"\d+-[0-9a-f]{8}" + re.escape(suffix))
    with os.scandir(parent) as entries:
        for entry in entries:
            if named.fullmatch(entry.name) and entry.stat(follow_symlinks=False).st_uid == os.geteuid():
                yield Path(entry.path)


@contextmanager
def _unheld(path: Path) -> Iterator[None]:
    """Around removing it: raises `OSError` where somebody holds it, or where that cannot be known."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def write_whole(path: Path, content: bytes | str, *, private: bool = False, new: bool = False) -> None:
    """Write all of it, or raise `OSError` and change nothing. Text is UTF-8, with the line ends that it has.

    ``private``: for its owner's eyes only. Otherwise a file that is replaced keeps its mode, and a new one gets the usual one.
    ``new``: nothing is replaced, also not what somebody else has just put there (`FileExistsError`).
    """
    target = path.resolve()  # behind symbolic links: the rename must replace the file, not a link to it
    beside = hold_file(target.parent, f".{target.name}.", ".part", mode=0o600 if private else 0o666)
    try:
        with os.fdopen(beside.handle, "wb", closefd=False) as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            if not private and target.exists():
                os.fchmod(file.fileno(), target.stat().st_mode & 0o777)
            os.fsync(file.fileno())
        if new:
            os.link(beside.path, target)
        else:
            os.replace(beside.path, target)
    except BaseException:
        beside.discard()
        raise
    if new:
        beside.discard()
    else:
        beside.let_go()
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut, where a folder can be opened. The file is whole without it."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
