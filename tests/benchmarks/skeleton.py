"""From SQLite file to SQLite file, against copying the same rows with SQLite itself."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import mare

from .timing import Ratio, compare

ROOT = Path(__file__).resolve().parents[2]
PATIENTS = 20_000


def skeleton_ratios(folder: Path) -> Iterator[Ratio]:
    sys.path.insert(0, str(ROOT / "examples"))
    from hospital import simulate_hospital  # type: ignore[import-not-found]

    source, synthetic, copy = folder / "hospital.sqlite", folder / "synthetic.sqlite", folder / "copy.sqlite"
    simulate_hospital(source, patients=PATIENTS)
    plan = mare.plan(mare.load_schema(ROOT / "examples" / "hospital.yaml"), mare.Budget(epsilon=2, delta=1e-9))

    def ours() -> None:
        mare.sample(mare.fit(plan, source), to=synthetic, replace=True)

    def reference() -> None:
        copy.unlink(missing_ok=True)
        with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(copy)) as new:
            new.executescript("\n".join(old.iterdump()))

    yield compare(f"fit + sample + write, {PATIENTS:,} patients", ours, reference, "SQLite dump and restore", bar=20)
