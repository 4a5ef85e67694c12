"""The guide to the audits is true: its code is run here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
GUIDE = (ROOT / "docs" / "guides" / "auditing.md").read_text(encoding="utf-8")
PIECES = re.findall(r"^```python\n(.*?)^```", GUIDE, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("piece", [pytest.param(0, marks=pytest.mark.slow), *range(1, len(PIECES))])
def test_the_code_of_the_guide_works(
    piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    exec(compile(PIECES[piece], "auditing.md", "exec"), {"__name__": "__main__"})
    assert "internal, not private" in capsys.readouterr().out


def test_the_guide_names_what_there_is() -> None:
    import mare.audit

    assert len(PIECES) == 2
    for name in re.findall(r"`(\w+_audit)\(", GUIDE):
        assert callable(getattr(mare.audit, name))
