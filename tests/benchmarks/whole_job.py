"""The whole job on MIMIC-like data, Parquet to Parquet: time against DuckDB reading and writing the same files, growth, memory.

python -m tests.benchmarks.whole_job [PATIENTS]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import mare

from .timing import Ratio, compare

HERE = Path(__file__).resolve().parent
SCHEMA = HERE / "mimic_like.yaml"
BUDGET = mare.Budget(epsilon=2, delta=1e-9)
TABLES = ("patients", "admissions", "transfers")
SEED = 11
"""Of the generator. 7 is the seed that the recipe was found on."""
PATIENTS = 300_000
THREADS = 2

_ALONE = """
import sys
import mare
plan = mare.plan(mare.load_schema(sys.argv[1]), mare.Budget(epsilon=2, delta=1e-9))
mare.sample(mare.fit(plan, sys.argv[2]), to=sys.argv[3], replace=True)
# Not getrusage: a process inherits the peak of the one that started it.
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""

_COMPILE = """
from time import perf_counter
import numpy as np
from mare.stage.kernel import compiled_loops
start = perf_counter()
loops = compiled_loops()
codes, some = [np.zeros(1, dtype=np.uint16)] * 4, np.zeros(1, dtype=np.int64)
if loops is not None:
    for loop in (loops.tally, loops.norms):
        loop(*codes, (1, 1, 1), some, some.copy(), some.copy())
print(perf_counter() - start)
"""


def whole_job_ratios(folder: Path, patients: int = PATIENTS, rounds: int = 5) -> Iterator[Ratio]:
    use_two_threads()
    large, small = generated(folder, patients, SEED), generated(folder, patients // 3, SEED)
    plan = mare.plan(mare.load_schema(SCHEMA), BUDGET)

    def job(source: Path) -> None:
        mare.sample(mare.fit(plan, source), to=folder / "synthetic", replace=True)

    def copy() -> None:
        import duckdb

        with duckdb.connect(config={"threads": THREADS}) as connection:
            for table in TABLES:
                connection.execute(f"CREATE TABLE {table} AS FROM '{large / table}.parquet'")
                connection.execute(f"COPY {table} TO '{folder / table}.parquet'")

    compiling = float(_run(_COMPILE, env={"NUMBA_CACHE_DIR": tempfile.mkdtemp(dir=folder)}))
    yield compare(
        f"fit + sample + write, {patients:,} patients (compiled before: {compiling:.1f} s, once a machine)",
        lambda: job(large), copy, "DuckDB reads and writes the same files", 20, rounds,
    )  # fmt: skip
    yield compare(f"{patients:,} patients", lambda: job(large), lambda: job(small), "a third of them", 3.3, rounds)
    start = perf_counter()
    kilobytes = int(_run(_ALONE, str(SCHEMA), str(large), str(folder / "alone")))
    yield Ratio(f"peak memory, {patients:,} patients", "gigabytes", kilobytes / 1e6, 2, perf_counter() - start)


def generated(folder: Path, patients: int, seed: int) -> Path:
    """A folder of Parquet files of so many patients, made once."""
    target = folder / f"mimic_like_{patients}_{seed}"
    if not target.is_dir():
        script = str(HERE / "gen_mimic_like.py")
        subprocess.run([sys.executable, script, str(target), "--patients", str(patients), "--seed", str(seed)], check=True)
    return target


def use_two_threads() -> None:
    """Figures from machines with more cores would not compare."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])


def _run(script: str, *arguments: str, env: dict[str, str] | None = None) -> str:
    asked = [sys.executable, "-c", script, *arguments]
    return subprocess.run(asked, check=True, capture_output=True, text=True, env={**os.environ, **(env or {})}).stdout


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="mare-bench-") as made:
        for ratio in whole_job_ratios(Path(made), int(sys.argv[1]) if len(sys.argv) > 1 else PATIENTS):
            print(f"{ratio.name}: {ratio.value:.2f} of {ratio.reference} (bar {ratio.bar:g}), {ratio.seconds:.1f} s", flush=True)
