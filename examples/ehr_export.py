"""An EHR export and a ready schema: a folder of files goes in, files with the same headers come out.

    python examples/ehr_export.py                      # simulates a small export first
    python examples/ehr_export.py mimiciv/3.1          # your own copy of MIMIC-IV

The export has the layout of MIMIC-IV (`hosp/*.csv.gz`), and `mimic-iv-core` is one of the schemas that come with mare: the
documented values and bounds, sensible caps, nothing taken from data. What nobody documents (insurance, ward) is learned
within the budget. `mare schemas` lists the others.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
from small_export import write_export

import mare


def main(export: Path) -> None:
    if not export.exists():
        write_export(export)
        print(f"{export}: a simulated export, no person is behind any row")

    schema = mare.load_schema("mimic-iv-core")
    for fault in mare.check(schema, export):  # against headers alone: has the export what the schema describes?
        print(fault)

    plan = mare.plan(schema, mare.Budget(epsilon=2, delta=1e-9))
    release = mare.fit(plan, export)
    release.save("mimic.mare")
    mare.sample(release, to="synthetic?format=csv.gz", seed=7)

    print(f"synthetic: {release.status}, about {release.plan.entities:,} patients")
    for file in sorted(Path("synthetic").rglob("*.csv.gz")):
        print(f"  {file.name}: {len(pd.read_csv(file)):,} rows")
    admissions = pd.read_csv("synthetic/admissions.csv.gz", parse_dates=["admittime", "dischtime"])
    print(f"  median stay: {(admissions['dischtime'] - admissions['admittime']).median()}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "export"))
