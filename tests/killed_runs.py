"""A command that gets a signal at its N-th step, many times over: forked from one process, so that a run costs little.

    python -m tests.killed_runs SIGNAL PLAN.json

The plan lists runs: the folder to work in, the arguments of `mare`, and at which step the signal comes: 0 for never, a fraction
of the steps that the first run took, or a negative number for so many steps before its end. A step is a call that the rooms
make which touch the outside: what happens between two of them is arithmetic, and leaves no trace. Of each run one line comes
back: its folder, how it ended, its steps, and whether rows were asked for before it ended.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import FrameType

_ROOMS = ("mare_adapters", "cli", "stage", "fitting", "release", "sampling", "audit")
_FILES = ("files.py", "finding.py", "budget_file.py")
_CLOCKS = ("progress.py", "stopping.py")
"""How often these are called depends on the clock, so no two runs would have the same steps. They tell how far things are, and
leave no trace."""
_READS = ("staging.py", "stage")
"""Where the first row of a person is asked for. The budget has to be paid by then."""


def main(word: str, plan: Path) -> None:
    import_everything()
    first = 0
    for run in json.loads(plan.read_text()):
        at = run["at"]
        step = int(first * at) if isinstance(at, float) else first + at if at < 0 else at
        child = os.fork()
        if child == 0:
            _run(Path(run["folder"]), run["arguments"], step, getattr(signal, word))
        _, status = os.waitpid(child, 0)
        notes = Path(run["folder"]) / "notes"
        told = notes.read_text().split() if notes.exists() else []
        notes.unlink(missing_ok=True)
        steps = [int(note) for note in told if note.isdecimal()]
        first = first or (steps[0] if steps else 0)
        line = {"folder": run["folder"], "code": os.waitstatus_to_exitcode(status), "read": "read" in told}
        print(json.dumps(line | {"steps": steps[0] if steps else None}), flush=True)


def import_everything() -> None:
    """Once, for all runs. Nothing of it has started a thread yet: a fork would not take threads along."""
    import pandas  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    import safetensors.numpy  # noqa: F401
    import sqlalchemy.dialects.sqlite  # noqa: F401

    import mare
    import mare_adapters

    for package in (mare, mare_adapters):
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            with suppress(ImportError):  # what an extra brings that is not installed
                import_module(module.name)


def _run(folder: Path, arguments: list[str], at: int, number: signal.Signals) -> None:
    os.chdir(folder)
    os.environ["TMPDIR"] = str(folder / "temporary")
    sys.argv = ["mare", *arguments]
    notes = os.open("notes", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(os.open(f"said{stream}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    seen, read = 0, False

    def step(frame: FrameType, event: str, argument: object) -> None:
        nonlocal seen, read
        code = frame.f_code
        if event not in ("call", "c_call") or not _counts(code.co_filename):
            return
        if not read and code.co_name == _READS[1] and code.co_filename.endswith(_READS[0]):
            read = True
            os.write(notes, b"read ")
        seen += 1
        if seen == at:
            sys.setprofile(None)
            os.kill(os.getpid(), number)

    from mare.cli import main as command

    code = 1
    sys.setprofile(step)
    try:
        command()
        code = 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    finally:
        sys.setprofile(None)
        os.write(notes, f"{seen} ".encode())
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


@cache
def _counts(file: str) -> bool:
    inside = Path(file).parts
    if inside[-1] in _CLOCKS:
        return False
    return ("mare" in inside and inside[-1] in _FILES) or any(room in inside for room in _ROOMS)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
