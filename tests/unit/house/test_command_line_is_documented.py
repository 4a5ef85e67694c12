"""Every command and every option stands in docs/reference/cli.md: an undocumented one fails the build."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer.main
from click import Context

from mare.cli import commands  # noqa: F401
from mare.cli.app import app
from mare.installed import __version__
from tests.command_line import mare

REFERENCE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "cli.md"
GROUP = typer.main.get_group(app)


@pytest.mark.parametrize("verb", sorted(GROUP.commands))
def test_a_command_is_documented_with_all_its_options(verb: str) -> None:
    text = REFERENCE.read_text(encoding="utf-8")
    assert f"## `mare {verb}" in text, f"docs/reference/cli.md has no section for `mare {verb}`"
    section = text.split(f"## `mare {verb}", 1)[1].split("\n## ", 1)[0]
    command = GROUP.commands[verb]
    for parameter in command.get_params(Context(command)):
        if parameter.name == "help":
            continue
        for name in parameter.opts:
            shown = name if name.startswith("-") else name.upper()
            assert f"`{shown}" in section or f"{shown}" in section.splitlines()[0], f"mare {verb}: {shown} is not documented"


def test_the_version_is_said_and_documented() -> None:
    done = mare("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"mare {__version__}\n", "")
    assert "`mare --version`" in REFERENCE.read_text(encoding="utf-8")


def test_no_section_documents_a_command_that_is_gone() -> None:
    text = REFERENCE.read_text(encoding="utf-8")
    documented = {line.split("`")[1].split()[1] for line in text.splitlines() if line.startswith("## `mare ")}
    assert documented <= set(GROUP.commands)
