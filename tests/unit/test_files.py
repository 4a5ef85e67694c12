"""A file appears complete or not at all, and there is one place that writes it so."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mare.files import write_whole
from tests.conftest import ROOT

OWN_WAYS = {"mare/files.py", "mare/privacy/budget_file.py"}
"""The budget file is replaced under its lock, and linked when it is made: a way of its own."""


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_the_content_is_written_as_it_is(tmp_path: Path) -> None:
    write_whole(tmp_path / "text", "ä\r\nb\n")
    write_whole(tmp_path / "bytes", b"\x00\xff")
    assert (tmp_path / "text").read_bytes() == "ä\r\nb\n".encode()
    assert (tmp_path / "bytes").read_bytes() == b"\x00\xff"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["bytes", "text"]


def test_a_new_file_gets_the_usual_mode_and_a_private_one_is_its_owners(tmp_path: Path) -> None:
    write_whole(tmp_path / "usual", "x")
    write_whole(tmp_path / "private", "x", private=True)
    assert (mode(tmp_path / "usual"), mode(tmp_path / "private")) == (0o640, 0o600)


def test_a_file_that_is_replaced_keeps_its_mode_unless_it_becomes_private(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o604)
    write_whole(path, "new")
    assert (path.read_text(), mode(path)) == ("new", 0o604)
    write_whole(path, "data", private=True)
    assert mode(path) == 0o600


def test_a_link_stays_a_link_to_what_was_written(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "file")
    write_whole(tmp_path / "link", "x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "folder" / "file").read_text() == "x"


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_whatever_goes_wrong_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, error: BaseException
) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(f"os.{call}", fail)
    with pytest.raises(type(error)):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_the_content_is_on_the_disk_before_the_name_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr("os.fsync", lambda handle: (calls.append("fsync"), fsync(handle)))
    monkeypatch.setattr("os.replace", lambda one, other: (calls.append("replace"), replace(one, other)))
    write_whole(tmp_path / "file", "x")
    assert calls == ["fsync", "replace", "fsync"]


def test_no_other_file_of_mare_writes_beside_and_renames() -> None:
    ways = re.compile(r"\bos\.(?:replace|rename)\(|mkstemp|NamedTemporaryFile|beside\.replace\(")
    found = {
        str(path.relative_to(ROOT)) for path in (ROOT / "mare").rglob("*.py") if ways.search(path.read_text(encoding="utf-8"))
    }
    assert found == OWN_WAYS
