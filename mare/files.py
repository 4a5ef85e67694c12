"""`write_whole`: a file that appears complete or not at all. Drafts, pictures and releases are written through here.

The content goes into a new file beside the target, onto the disk, and is renamed into place: a reader never meets half a file,
and an error or a kill leaves what was there. (A budget file is written by `mare.privacy.budget_file`, under its lock;
databases by the adapters.)
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, content: bytes | str, *, private: bool = False) -> None:
    """Write all of it, or raise `OSError` and change nothing. Text is UTF-8, with the line ends that it has.

    ``private``: for its owner's eyes only. Otherwise a file that is replaced keeps its mode, and a new one gets the usual one.
    """
    target = path.resolve()  # behind symbolic links: the rename must replace the file, not a link to it
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600 if private else 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            if not private and target.exists():
                os.fchmod(file.fileno(), target.stat().st_mode & 0o777)
            os.fsync(file.fileno())
        os.replace(beside, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut, where a folder can be opened. The file is whole without it."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
