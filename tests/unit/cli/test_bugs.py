"""An error that nobody foresaw shows where it is. What it says may quote a value of the source, and errors end up in logs."""

from __future__ import annotations

import sys

import pytest

import mare.cli.app as app_module
import mare.cli.commands  # noqa: F401  (registers the verbs with the true app)

BROKEN = "Anna Smith, born 1950-02-03"


def broken() -> None:
    raise KeyError(BROKEN)


@pytest.mark.parametrize("terminal", [False, True])
def test_a_bug_shows_where_it_is_and_what_it_says_only_on_a_terminal(
    terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(app_module, "app", broken)
    monkeypatch.setattr(sys, "argv", ["mare", "fit"])
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    with pytest.raises(SystemExit) as stopped:
        app_module.main()
    said = capsys.readouterr()
    assert stopped.value.code == 1
    assert said.out == ""
    assert "in broken" in said.err
    assert "KeyError. Internal, not private: " in said.err
    assert (BROKEN in said.err) is terminal
