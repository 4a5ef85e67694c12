"""What each part of the default model gives: the same data, one option changed at a time.

python -m tests.benchmarks.levers [PATIENTS] [--seed OF THE GENERATOR]
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import mare

from .fidelity import KINDS, frames
from .judge import judge
from .whole_job import BUDGET, HERE, SCHEMA, SEED, generated

LEVERS: dict[str, dict[str, object]] = {
    "as it is": {},
    "no clipping: noise by the caps": {"clip_portion": 0.0},
    "noisy pair scores and τ instead of greedy picks": {"search": "noisy_scores"},
    "one parent": {"parents": 1},
    "two parents": {"parents": 2},
    "no coarser levels": {"coarsen_above": 0},
    "no carried values": {"carry": 1.0},
    "of earlier rows, a column's own previous value alone": {"looks_back": "own"},
    "all that is remembered of earlier rows": {"looks_back": "all"},
    "no raking": {"raking": 0},
    "no penalties": {"noise_penalty": 0.0, "sampling_penalty": 0.0},
    "the model `independent`": {"name": "independent"},
}


def measured(folder: Path, patients: int, seed: int) -> Iterator[str]:
    spec = json.loads((HERE / "specs" / "mimic_like.json").read_text())["tables"]
    source = generated(folder, patients, seed)
    real = frames(source)
    yield f"| changed | {' | '.join(KINDS.values())} | stickiness |"
    yield f"|---|{'---|' * (len(KINDS) + 1)}"
    for said, changed in LEVERS.items():
        options = {name: value for name, value in changed.items() if name != "name"}
        model = json.dumps({"name": changed.get("name", "privbayes"), "options": options})
        schema = folder / "schema.yaml"
        schema.write_text(f"{SCHEMA.read_text()}\nmodel: {model}\n")
        made = folder / "synthetic"
        mare.sample(mare.fit(mare.plan(mare.load_schema(schema), BUDGET), source), to=made, replace=True)
        found = judge(spec, real, frames(made))["synth"]
        figures = [*(found[kind]["tvd"] for kind in KINDS), found["stickiness_err"]]
        yield f"| {said} | {' | '.join(f'{figure:.3f}' for figure in figures)} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patients", nargs="?", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=SEED)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mare-bench-") as made:
        for line in measured(Path(made), asked.patients, asked.seed):
            print(line, flush=True)
