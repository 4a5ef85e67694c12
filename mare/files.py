"""`write_whole`: a file that appears complete or not at all. Drafts, pictures and releases are written through here.

The content goes into a new file beside the target, onto the disk, and is renamed into place: a reader never meets half a file,
and an error or a kill leaves what was there; what a kill leaves beside it goes away with the next write. (A budget file is
written by `mare.privacy.budget_file`, under its lock; databases by the adapters.)
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from mare.leftovers import hold_file


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
