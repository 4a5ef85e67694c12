"""`import mare` and `mare --help` are instant: nothing heavy is loaded before it is needed."""

from __future__ import annotations

import json
import subprocess
import sys

HEAVY = {"pandas", "pyarrow", "duckdb", "sqlalchemy", "networkx", "pydantic", "numpy", "ruamel"}


def modules_after(code: str) -> set[str]:
    program = f"import sys, json\n{code}\nprint(json.dumps(sorted({{m.split('.')[0] for m in sys.modules}})))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_importing_mare_loads_nothing_heavy() -> None:
    assert not modules_after("import mare") & HEAVY


def test_help_loads_nothing_heavy() -> None:
    code = "import sys\nsys.argv = ['mare', '--help']\nfrom mare.cli import main\ntry:\n    main()\nexcept SystemExit:\n    pass"
    assert not modules_after(code) & HEAVY


def test_a_name_is_loaded_when_it_is_used() -> None:
    assert "pydantic" in modules_after("import mare\nmare.load_schema")
