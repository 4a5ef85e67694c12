"""`make demo`: a simulated hospital in a SQLite file, synthesized into another one.

    python examples/demo.py [FOLDER]

Plans, fits with epsilon = 2, samples, lets SQLite check the keys, and shows the ledger and how close the synthetic
columns come. Everything stays in the folder it names.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from hospital import simulate_hospital
from rich.console import Console
from rich.table import Table

import mare

HERE = Path(__file__).resolve().parent

# What is compared: one-way distributions, by an SQL expression that both files can answer.
COMPARED = {
    ("patients", "sex"): "sex",
    ("patients", "birth decade"): "birth_year / 10 * 10",
    ("patients", "insurance"): "insurance",
    ("patients", "died"): "died IS NOT NULL",
    ("admissions", "ward"): "ward",
    ("admissions", "urgent"): "urgent",
    ("admissions", "severity"): "severity",
    ("admissions", "days of stay"): "min(20, CAST(julianday(discharged) - julianday(admitted) AS INTEGER))",
    ("admissions", "year of admission"): "strftime('%Y', admitted)",
    ("admissions", "crp measured"): "crp IS NOT NULL",
}
PER_PATIENT = (
    "SELECT min(6, (SELECT count(*) FROM admissions a WHERE a.patient_id = p.patient_id)), count(*) FROM patients p GROUP BY 1"
)


def main(folder: Path) -> None:
    console = Console(highlight=False)
    real, synthetic, file = folder / "hospital.sqlite", folder / "synthetic.sqlite", folder / "hospital.mare"

    folder.mkdir(parents=True, exist_ok=True)
    console.rule("1  a hospital, simulated")
    simulate_hospital(real)
    console.print(f"{real}: {_rows(real)}")

    console.rule("2  plan: reads no data")
    schema = mare.load_schema(HERE / "hospital.yaml")
    plan = mare.plan(schema, mare.Budget(epsilon=2, delta=1e-9))
    for planned in plan.groups:
        console.print(f"{planned.name}: {', '.join(planned.columns)}; S = {planned.sensitivity} ({planned.reason})")

    console.rule("3  fit: the only step that sees data")
    release = mare.fit(plan, real)
    release.save(file)
    console.print(f"{file}: {release.status}", markup=False)
    console.print(release.ledger.render(), markup=False, soft_wrap=True)

    console.rule("4  sample: needs the release alone")
    mare.sample(mare.load_release(file), to=synthetic, seed=7)
    console.print(f"{synthetic}: {_rows(synthetic)}")
    with closing(sqlite3.connect(synthetic)) as database:
        broken = database.execute("PRAGMA foreign_key_check").fetchall()
        (checked,) = database.execute("PRAGMA integrity_check").fetchone()
        late = database.execute("SELECT count(*) FROM admissions WHERE discharged < admitted").fetchone()[0]
    console.print(f"SQLite itself: integrity {checked}, {len(broken)} broken references, {late} discharges before admission")

    console.rule("5  how close it comes (internal, not private: it looks at the real data)")
    console.print(_fidelity(real, synthetic))
    console.print(f"All of it is in {folder}", markup=False, soft_wrap=True)
    if broken or checked != "ok" or late:
        sys.exit("the synthetic database is not sound: this is a bug in mare")


def _rows(path: Path) -> str:
    with closing(sqlite3.connect(path)) as database:
        tables = ("patients", "admissions")
        return ", ".join(f"{database.execute(f'SELECT count(*) FROM {table}').fetchone()[0]:,} {table}" for table in tables)


def _fidelity(real: Path, synthetic: Path) -> Table:
    """Total-variation distances: 0 is the same distribution, 1 has nothing in common."""
    table = Table("table", "column", "values", "distance", title="one-way distributions, real against synthetic")
    queries = {key: f"SELECT {value}, count(*) FROM {key[0]} GROUP BY 1" for key, value in COMPARED.items()}
    queries["patients", "admissions per patient"] = PER_PATIENT
    for (name, column), query in queries.items():
        ours, theirs = _distribution(real, query), _distribution(synthetic, query)
        values = ours.keys() | theirs.keys()
        distance = sum(abs(ours.get(value, 0.0) - theirs.get(value, 0.0)) for value in values) / 2
        table.add_row(name, column, str(len(values)), f"{distance:.3f}")
    return table


def _distribution(path: Path, query: str) -> dict[object, float]:
    with closing(sqlite3.connect(path)) as database:
        counts = dict(database.execute(query).fetchall())
    total = sum(counts.values()) or 1
    return {value: count / total for value, count in counts.items()}


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp(prefix="mare-demo-")))
