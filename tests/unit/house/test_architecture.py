"""docs/architecture.md names rooms, files and functions. They exist, and no room is left out."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`((?:mare|adapters)/[\w/]+\.py)(?:::([\w.]+))?`", PAGE)
"""`mare/room/file.py` or `mare/room/file.py::name`, where a name may be a method: `Class.method`."""


def _holds(path: Path, name: str) -> bool:
    nodes: list[ast.stmt] = ast.parse(path.read_text(encoding="utf-8")).body
    for part in name.split("."):
        named = [n for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef) and n.name == part]
        if not named:
            return False
        nodes = named[0].body
    return True


def test_every_file_and_name_on_the_page_exists() -> None:
    missing = [f"{path}::{name}" for path, name in NAMED if not (ROOT / path).is_file()]
    missing += [f"{path}::{name}" for path, name in NAMED if name and (ROOT / path).is_file() and not _holds(ROOT / path, name)]
    assert missing == []


def test_the_walk_goes_from_source_to_sink_through_every_room_on_the_way() -> None:
    walk = re.findall(r"^\d+\. .*?`((?:mare|adapters)/[\w/]+)", PAGE, flags=re.MULTILINE)
    assert walk[0].startswith("adapters/mare_adapters/sources"), "the walk begins at a source"
    assert walk[-1].startswith("adapters/mare_adapters/sinks"), "the walk ends at a sink"
    on_the_way = {f"mare/{room}" for room in ("stage", "relational", "codec", "models", "release", "sampling")}
    assert on_the_way <= {"/".join(Path(step).parts[:2]) for step, _ in NAMED}


def test_every_room_is_shown() -> None:
    folders = {p.parent.relative_to(ROOT).as_posix() for p in (ROOT / "mare").glob("*/__init__.py")}
    files = {p.relative_to(ROOT).as_posix() for p in (ROOT / "mare").glob("*.py") if p.name != "__init__.py"}
    assert {room for room in folders | files if f"`{room}" not in PAGE} == set()
