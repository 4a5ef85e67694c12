"""DuckDB draws nothing on the screen, wherever mare runs."""

from __future__ import annotations

import subprocess
import sys

_ASKED = """
from mare.stage.intake import staging_database
from mare_adapters.engine import open_duckdb
question = "SELECT value FROM duckdb_settings() WHERE name = 'enable_progress_bar'"
with staging_database() as staged, open_duckdb() as opened:
    print(staged.execute(question).fetchone()[0], opened.execute(question).fetchone()[0])
"""


def test_no_bars_of_its_own() -> None:
    """Where a program has no file (a notebook, a shell, `python -c`), DuckDB takes it that somebody is watching."""
    done = subprocess.run([sys.executable, "-c", _ASKED], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["false", "false"]
