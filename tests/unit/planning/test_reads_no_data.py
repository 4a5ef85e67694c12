"""The plan cannot depend on private data: nothing that could read any is even loaded."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys

from mare.planning.planning import plan

READERS = {"duckdb", "sqlalchemy", "pandas", "pyarrow", "sqlite3", "mare_adapters"}
ROOMS = {"mare.stage", "mare.codec", "mare.ports", "mare.finding", "mare.fitting", "mare.sampling", "mare.release"}

PROGRAM = """
import json, sys
import mare
schema = mare.Schema.model_validate({
    "mare": 1, "entity": "patients",
    "tables": {
        "patients": {"key": "id", "columns": {"sex": {"type": "category", "values": ["F", "M"]}}},
        "stays": {"key": "id", "parent": {"table": "patients", "column": "patient_id", "max_rows": 3},
                  "columns": {"ward": {"type": "boolean"}}},
    },
})
made = mare.plan(schema, mare.Budget(epsilon=1, delta=1e-9))
made.to_json()
print(json.dumps([len(made.groups), sorted(sys.modules)]))
"""


def test_planning_loads_nothing_that_can_read_data() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    groups, loaded = json.loads(done.stdout)
    assert groups == 3
    assert {name.split(".")[0] for name in loaded} & READERS == set()
    assert {".".join(name.split(".")[:2]) for name in loaded} & ROOMS == set()


def test_there_is_no_argument_that_could_hold_data() -> None:
    assert list(inspect.signature(plan).parameters) == ["schema", "budget", "entities"]
