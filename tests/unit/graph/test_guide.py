"""The guide shows what `mare graph` prints today."""

from __future__ import annotations

import re
from pathlib import Path

from mare.graph.drawing.text import draw_text
from mare.schema.loading import load_schema

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "reading-the-graph.md"


def test_the_guides_session_is_what_its_schema_gives() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    (yaml,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    (session,) = re.findall(r"```console\n\$ mare graph clinic\.yaml\n(.*?)```", text, re.DOTALL)
    assert draw_text(load_schema(yaml)) == session
