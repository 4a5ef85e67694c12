"""The simulated hospital of the examples as a source, and `mare synth` on it, for tests of whole commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples.hospital import simulate_hospital
from tests.command_line import Done, mare
from tests.conftest import ROOT

HOSPITAL = ROOT / "examples" / "hospital.yaml"


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("real") / "hospital.sqlite"
    simulate_hospital(path, patients=500)
    return path


def synth(schema: Path, source: object, target: object, folder: Path, *options: object) -> Done:
    fixed = ("--epsilon", "10", "--delta", "1e-9", *options)
    return mare("synth", schema, "--from", source, "--to", target, *fixed, folder=folder)
