"""`mare` as a command, run inside the test: the same code path as the program, without a second of start-up each time."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from unittest import mock

import typer.main

_built = cache(typer.main.get_command)
"""The parser of every verb, from their signatures: as long as many a command, and the same each time."""


@dataclass(frozen=True)
class Done:
    """What a command left: its exit code, and what it printed where."""

    returncode: int
    stdout: str
    stderr: str


class _Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def mare(*arguments: object, folder: Path | None = None, typed: str | None = None) -> Done:
    """Run `mare …` in that folder, on a terminal where something is ``typed``. Nothing but `SystemExit` may come out of it: a
    traceback fails the test."""
    from mare.cli import main

    stream = io.TextIOWrapper if typed is None else _Terminal
    out, err = (stream(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    keyboard = sys.stdin if typed is None else _Terminal(io.BytesIO(typed.encode()), encoding="utf-8")
    code = 0
    with (
        _in(folder),
        mock.patch.object(sys, "stdin", keyboard),
        mock.patch.object(sys, "argv", ["mare", *map(str, arguments)]),
        mock.patch.object(typer.main, "get_command", _built),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return Done(code, _text(out), _text(err))


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode()


@contextmanager
def _in(folder: Path | None) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder or before)
    try:
        yield
    finally:
        os.chdir(before)
