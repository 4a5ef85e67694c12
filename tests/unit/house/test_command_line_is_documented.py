"""Every command and every option stands in docs/reference/cli.md: an undocumented one fails the build."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer.main
from click import Context
from typer.core import TyperGroup

from mare.cli import commands  # noqa: F401
from mare.cli.app import app
from mare.installed import __version__
from tests.command_line import mare

REFERENCE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "cli.md"
GROUP = typer.main.get_group(app)
VERBS = {
    verb: command
    for name, below in GROUP.commands.items()
    for verb, command in (
        [(f"{name} {sub}", one) for sub, one in below.commands.items()] if isinstance(below, TyperGroup) else [(name, below)]
    )
}


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_every_command_can_answer_as_json(verb: str) -> None:
    assert "--json" in {name for parameter in VERBS[verb].params for name in parameter.opts}


@pytest.mark.parametrize("arguments", [
    ["init", "--json"], ["plan", "s.yaml", "--json"], ["plan", "s.yaml", "--epsilon", "two", "--json"],
    ["fit", "--bogus", "--json"], ["budget", "create", "--json"], ["nonsense", "--json"], ["--bogus", "--json"],
])  # fmt: skip
def test_a_command_line_that_is_not_understood_is_told_as_json_too(arguments: list[str]) -> None:
    done = mare(*arguments)
    assert done.returncode == 2
    page = json.loads(done.stdout)
    assert page["kind"] == "UsageError"
    assert page["error"]
    assert mare(*[word for word in arguments if word != "--json"]).stdout == ""


def test_what_may_be_a_password_is_not_in_the_json_either() -> None:
    done = mare("init", "host=h", "password=secret", "--json")
    assert "may hold a password" in json.loads(done.stdout)["error"]
    assert "secret" not in done.stdout + done.stderr


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_a_command_is_documented_with_all_its_options(verb: str) -> None:
    text = REFERENCE.read_text(encoding="utf-8")
    assert f"## `mare {verb}" in text, f"docs/reference/cli.md has no section for `mare {verb}`"
    section = text.split(f"## `mare {verb}", 1)[1].split("\n## ", 1)[0]
    command = VERBS[verb]
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
