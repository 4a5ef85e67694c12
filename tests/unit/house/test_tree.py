"""House rules about the tree itself (style.md), checked so that they do not rot."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SOURCES = [*sorted((ROOT / "mare").rglob("*.py")), *sorted((ROOT / "adapters").rglob("*.py"))]


def test_every_module_says_what_it_is_for() -> None:
    silent = [str(p.relative_to(ROOT)) for p in SOURCES if not p.read_text(encoding="utf-8").lstrip().startswith('"""')]
    assert silent == []


def test_no_file_holds_two_ideas() -> None:
    long = {str(p.relative_to(ROOT)): n for p in SOURCES if (n := len(p.read_text(encoding="utf-8").splitlines())) > 450}
    assert long == {}


def test_no_file_has_a_name_that_says_nothing() -> None:
    nameless = [p.name for p in SOURCES if p.stem in {"utils", "helpers", "common", "misc", "base"}]
    assert nameless == []


def test_the_product_never_uses_global_randomness_or_pickle() -> None:
    forbidden = re.compile(r"np\.random\.(rand|randn|normal|laplace|seed|choice|randint)\(|\bimport (pickle|cloudpickle)\b")
    guilty = [str(p.relative_to(ROOT)) for p in SOURCES if forbidden.search(p.read_text(encoding="utf-8"))]
    assert guilty == []
