"""What a dead process left is taken away; what a living one holds, what is another's and what only looks alike is not."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

from mare.files import Held, discard_own, hold_file, hold_folder, sweep
from tests.conftest import ROOT

_HOLDER = """
import sys
from collections.abc import Callable
from pathlib import Path
from mare.files import hold_file, hold_folder
hold = {"folder": hold_folder, "file": hold_file}[sys.argv[2]]
held = hold(Path(sys.argv[1]), ".out.", ".tmp")
if sys.argv[2] == "folder":
    (held.path / "rows").write_text("secret")
print(held.path.name, flush=True)
input()
"""


def left(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_what_a_living_process_holds_stays_and_what_a_killed_one_left_goes(tmp_path: Path, kind: str) -> None:
    command = [sys.executable, "-c", _HOLDER, str(tmp_path), kind]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as holder:
        assert holder.stdout is not None
        name = holder.stdout.readline().strip()
        assert f".{holder.pid}-" in name
        sweep(tmp_path, ".out.", ".tmp")
        assert left(tmp_path) == [name]
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        assert left(tmp_path) == [name]
    mine = hold_folder(tmp_path, ".out.", ".tmp")
    assert left(tmp_path) == [mine.path.name]
    mine.discard()
    assert left(tmp_path) == []
    mine.discard()


def test_a_name_that_only_looks_alike_is_left_alone(tmp_path: Path) -> None:
    names = [".out.tmp", ".out.notes.tmp", ".out.12-deadbeef.tmp.old", ".other.12-deadbeef.tmp", "out", ".out.12-deadbeef"]
    for name in names:
        (tmp_path / name).mkdir()
    (tmp_path / ".out.12-deadbeef.tmp").mkdir()
    sweep(tmp_path, ".out.", ".tmp")
    assert left(tmp_path) == sorted(names)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis").write_text("x")
    (tmp_path / ".out.12-deadbeef.tmp").symlink_to(tmp_path / "precious")
    sweep(tmp_path, ".out.", ".tmp")
    assert left(tmp_path / "precious") == ["thesis"]


def test_what_another_user_owns_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".out.12-deadbeef.tmp").mkdir()
    with mock.patch("os.geteuid", return_value=os.geteuid() + 1):
        sweep(tmp_path, ".out.", ".tmp")
    assert left(tmp_path) == [".out.12-deadbeef.tmp"]


def test_where_there_are_no_locks_nothing_is_swept_and_everything_works(tmp_path: Path) -> None:
    (tmp_path / ".out.12-deadbeef.tmp").mkdir()
    with mock.patch("fcntl.flock", side_effect=OSError(95, "Operation not supported")):
        held = hold_file(tmp_path, ".out.", ".tmp")
    assert left(tmp_path) == sorted([".out.12-deadbeef.tmp", held.path.name])
    held.discard()


def test_a_thing_that_somebody_sweeps_before_it_is_locked_is_made_again(tmp_path: Path) -> None:
    real, swept = fcntl.flock, list[str]()

    def quicker(handle: int, how: int) -> None:
        if not swept:  # another process has just taken it away
            swept.extend(left(tmp_path))
            (tmp_path / swept[0]).rmdir()
        real(handle, how)

    with mock.patch("fcntl.flock", side_effect=quicker):
        held = hold_folder(tmp_path, ".out.", ".tmp")
    assert held.path.name not in swept
    assert left(tmp_path) == [held.path.name]
    held.discard()


def test_a_thing_that_somebody_is_sweeping_is_not_taken(tmp_path: Path) -> None:
    real, refused = fcntl.flock, list[str]()

    def busy(handle: int, how: int) -> None:
        if not refused:
            refused.extend(left(tmp_path))
            raise BlockingIOError
        real(handle, how)

    with mock.patch("fcntl.flock", side_effect=busy):
        held = hold_folder(tmp_path, ".out.", ".tmp")
    assert held.path.name not in refused
    held.discard()


def test_a_folder_is_its_owners_alone(tmp_path: Path) -> None:
    held = hold_folder(tmp_path, "mare-stage-")
    assert held.path.stat().st_mode & 0o777 == 0o700
    held.discard()


def test_a_place_that_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        hold_folder(tmp_path / "nowhere", "mare-stage-")


@pytest.mark.parametrize("hold", [hold_folder, hold_file])
@pytest.mark.parametrize("call", ["os.open", "fcntl.flock", "os.fstat"])
def test_a_stop_while_it_is_made_leaves_nothing(tmp_path: Path, hold: Callable[..., Held], call: str) -> None:
    """Ctrl-C may come between any two steps, and until the last of them nobody else knows that the thing is there."""
    real = {"os.open": os.open, "fcntl.flock": fcntl.flock, "os.fstat": os.fstat}[call]

    stops = iter([KeyboardInterrupt])

    def stopped(*asked: object, **also: object) -> object:
        answer = real(*asked, **also)  # type: ignore[operator]
        for stop in stops:
            raise stop
        return answer

    with mock.patch(call, stopped), pytest.raises(KeyboardInterrupt):
        hold(tmp_path, ".out.", ".tmp")
    assert len(left(tmp_path)) == 1
    discard_own()
    assert left(tmp_path) == []


def test_what_was_let_go_is_nobodys_to_discard(tmp_path: Path) -> None:
    kept, gone = hold_folder(tmp_path, ".out.", ".tmp"), hold_folder(tmp_path, ".out.", ".tmp")
    kept.let_go()
    gone.discard()
    discard_own()
    assert left(tmp_path) == [kept.path.name]
