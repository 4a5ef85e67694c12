"""The evaluation of MIMIC-like data, Parquet against Parquet: time against DuckDB copying both databases, and memory.

python -m tests.benchmarks.evaluating [PATIENTS]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import mare

from .timing import Ratio, compare
from .whole_job import PATIENTS, SCHEMA, SEED, TABLES, THREADS, generated, use_two_threads

_ALONE = """
import sys
import mare
mare.evaluate(sys.argv[1], sys.argv[2], sys.argv[3])
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def evaluating_ratios(folder: Path, patients: int = PATIENTS, rounds: int = 3) -> Iterator[Ratio]:
    """A second draw of the same world stands in for a synthetic database: as large, and as slow to look at."""
    use_two_threads()
    sides = [generated(folder, patients, seed) for seed in (SEED, SEED + 1)]
    schema = mare.load_schema(SCHEMA)

    def copy() -> None:
        import duckdb

        for side in sides:
            with duckdb.connect(config={"threads": THREADS}) as connection:
                for table in TABLES:
                    connection.execute(f"CREATE TABLE {table} AS FROM '{side / table}.parquet'")
                    connection.execute(f"COPY {table} TO '{folder / table}.parquet'")

    yield compare(
        f"evaluate, {patients:,} patients on each side", lambda: mare.evaluate(schema, *sides), copy,
        "DuckDB copies both databases", 3, rounds,
    )  # fmt: skip
    start = perf_counter()
    asked = [sys.executable, "-c", _ALONE, str(SCHEMA), *map(str, sides)]
    kilobytes = int(subprocess.run(asked, check=True, capture_output=True, text=True).stdout)
    yield Ratio(f"peak memory of evaluate, {patients:,} patients", "gigabytes", kilobytes / 1e6, 1.5, perf_counter() - start)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="mare-bench-") as made:
        for ratio in evaluating_ratios(Path(made), int(sys.argv[1]) if len(sys.argv) > 1 else PATIENTS):
            print(f"{ratio.name}: {ratio.value:.2f} of {ratio.reference} (bar {ratio.bar:g}), {ratio.seconds:.1f} s", flush=True)
