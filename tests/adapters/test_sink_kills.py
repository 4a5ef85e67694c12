"""`kill -9` at any moment of a write: the target shows nothing, the old state, or everything."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.targets import ALL, ROWS, Row, make_target, read, write

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system"),
]

# Writes to each target in a fork of its own, so that a run costs little. The first goes through, and tells how many calls the
# sinks' own code makes; each other one dies at a share of them. One exit code a line.
_CHILD = """
import os, signal, sys, traceback
from tests.killed_runs import import_everything
from tests.targets import write

import_everything()
replace, shares, targets = sys.argv[1] == "replace", sys.argv[2].split(), sys.argv[3:]

def run(location, at, tell):
    seen = 0

    def count(frame, event, argument):
        nonlocal seen
        if event in ("call", "c_call") and f"{os.sep}sinks{os.sep}" in frame.f_code.co_filename:
            seen += 1
            if seen == at:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(count)
    write(location, replace=replace)
    sys.setprofile(None)
    os.write(tell, str(seen).encode())

calls = 0
for location, share in zip(targets, map(float, shares), strict=True):
    told, tell = os.pipe()
    if not (child := os.fork()):
        try:
            run(location, int(calls * share), tell)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
        os._exit(0)
    os.close(tell)
    _, status = os.waitpid(child, 0)
    calls = calls or int(os.read(told, 99) or 0)
    print(os.waitstatus_to_exitcode(status), flush=True)
"""
SHARES = (0, 0.3, 0.7, 0.9, 0.98)
OLD: dict[str, list[Row]] = {**ROWS, "lines": [], "Patients": ROWS["Patients"][2:]}


def state(location: str) -> dict[str, int]:
    """How many rows each table has; nothing where there is no target. What stands under a hidden name is not the target."""
    path = Path(location.partition("?format=")[0])
    if "://" not in location and not path.exists():
        return {}
    held = read(location)
    return {name: len(rows) for name, rows in held.items() if not name.startswith("__mare_")}


def counts(rows: dict[str, list[Row]]) -> dict[str, int]:
    return {name: len(listed) for name, listed in rows.items()}


@pytest.mark.parametrize("mode", ["fresh", "replace"])
@pytest.mark.parametrize("kind", ALL)
def test_a_kill_leaves_nothing_the_old_state_or_everything(
    kind: str, mode: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    before = counts(OLD) if mode == "replace" else {}
    targets = []
    for share in SHARES:
        folder = tmp_path / str(share)
        folder.mkdir()
        targets.append(make_target(kind, request, folder).location)
        if mode == "replace":
            write(targets[-1], OLD)
    command = [sys.executable, "-c", _CHILD, mode, " ".join(map(str, SHARES)), *targets]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.stdout.split() == ["0", *[str(-signal.SIGKILL)] * (len(SHARES) - 1)], done.stderr
    assert state(targets[0]) == counts(ROWS)
    for target in targets[1:]:
        assert state(target) in (before, counts(ROWS))
        # Whatever was left, the next run goes through.
        write(target, replace=True)
        assert state(target) == counts(ROWS)
