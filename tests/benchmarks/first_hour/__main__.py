"""What a new user gets who edits nothing.

    python -m tests.benchmarks.first_hour [WORLD ...] [--epsilon 3 1000] [--seed 7] [--keep FOLDER]

For each world: init, check, plan and synth, with the two public facts (`--between`, `--entities`) and nothing edited. Files
without types are drafted with `--peek-types`, whose mark a person would remove, which counts as an edit. Then what a new user
sees first is counted, and `mare evaluate` holds the rows against shuffled columns and a fresh draw of the same world ("ideal").

Internal, as every evaluation; the worlds are made up.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory

import mare
from mare.evaluation.evaluation import Evaluation
from mare.evaluation.measured import PairKind

from .care import TRIAL, VET, WEARABLES
from .contracts import INSURANCE, LOANS, SHOP, TELECOM
from .judging import Faults, faults
from .records import COURSES, SCHOOL, STAFF
from .stays import GYM, HOTEL, LIBRARY
from .storing import read, store
from .world import World

WORLDS = (HOTEL, SCHOOL, INSURANCE, TRIAL, SHOP, LIBRARY, WEARABLES, GYM, STAFF, TELECOM, VET, COURSES, LOANS)
KINDS: dict[PairKind, str] = {
    "row": "within a row",
    "ancestor": "with rows above",
    "previous": "with previous rows",
    "linked": "between siblings",
}


@dataclass(frozen=True)
class FirstHour:
    edits: int
    """Lines to change until a fit takes the draft: faults that `check` finds, and marks of what was peeked."""
    faults: Faults
    evaluation: Evaluation


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _parsed(arguments)
    print(f"{'world':10} {'ε':>5} edits one late NULL" + "".join(f"{words:>26}" for words in KINDS.values()))
    print(f"{'':32}" + f"{'mare / shuffled / ideal':>26}" * len(KINDS))
    for world in asked.worlds:
        with TemporaryDirectory() as temporary:
            folder = (asked.keep or Path(temporary)) / world.name
            folder.mkdir(parents=True)
            sources = [store(world, world.draw(draw), _made(folder / f"draw {draw}")) for draw in (0, 1)]
            for epsilon in asked.epsilon:
                print("\n".join(told(world, epsilon, first_hour(world, *sources, epsilon, asked.seed, folder))), flush=True)
    return 0


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    by_name = {world.name: world for world in WORLDS}
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("worlds", nargs="*", metavar="WORLD", help=", ".join(by_name))
    parser.add_argument("--epsilon", nargs="+", type=float, default=[1000.0])
    parser.add_argument("--seed", type=int, default=7, help="of the noise")
    parser.add_argument("--keep", type=Path, help="a folder that does not exist yet, for sources, drafts and targets")
    asked = parser.parse_args(arguments)
    if unknown := [name for name in asked.worlds if name not in by_name]:
        parser.error(f"no world is called {', '.join(unknown)}; there are {', '.join(by_name)}")
    asked.worlds = [by_name[name] for name in asked.worlds] or WORLDS
    return asked


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def first_hour(world: World, source: Path, other: Path, epsilon: float, seed: int, folder: Path) -> FirstHour:
    files = world.kind in ("folder", "csv")
    draft, target = folder / "draft.yaml", folder / f"made at {epsilon:g}.{'sqlite' if world.kind == 'sqlite' else 'duckdb'}"
    public = ["--between", *world.between, "--entities", str(world.entities)]
    _mare("init", source, *public, *(["--peek-types"] if files else []), "-o", draft, "--force")
    wrong = _mare("check", draft, "--from", source, may_fail=True)
    _mare("plan", draft, "--epsilon", f"{epsilon:g}")
    fitted = ["--epsilon", f"{epsilon:g}", "-o", folder / "release.mare", "--unsafe-seed", str(seed)]
    (folder / "release.mare").unlink(missing_ok=True)
    _mare("synth", draft, "--from", source, "--to", target, *fitted, *(["--unsafe-peeked"] if files else []))
    schema = mare.load_schema(draft)
    edits = wrong + len(re.findall(r"^[^#\n]*\bpeeked:", draft.read_text(), re.MULTILINE))
    return FirstHour(
        edits,
        faults(world, schema, read(source), read(target)),
        mare.evaluate(schema, str(source), str(target), holdout=str(other)),
    )


def _mare(*words: object, may_fail: bool = False) -> int:
    """How many faults a command of a new user ended with; it is an error if it should have none."""
    quiet = {**os.environ, "NO_COLOR": "1", "COLUMNS": "160"}
    command = [sys.executable, "-m", "mare", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, env=quiet, check=False)
    if done.returncode and not may_fail:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return max(1, done.stderr.count("\n  ")) if done.returncode else 0


def told(world: World, epsilon: float, hour: FirstHour) -> list[str]:
    counted = "".join(f"{len(getattr(hour.faults, field.name)):>5}" for field in fields(Faults))
    line = f"{world.name:10} {epsilon:>5g} {hour.edits:>5}{counted[1:]}"
    worse = []
    for kind, words in KINDS.items():
        means = [hour.evaluation.means[name] for name in ("synthetic", "shuffled", "holdout")]
        if kind not in means[0]:
            line += f"{'–':>26}"
            continue
        ours, mixed, best = (mean[kind].tvd for mean in means)
        line += f"{f'{ours:.3f} / {mixed:.3f} / {best:.3f}':>26}"
        worse += [words] if ours > mixed else []
    named = [f"  {field.name}: {', '.join(columns)}" for field in fields(Faults) if (columns := getattr(hour.faults, field.name))]
    return [line, *named, *([f"  further off than shuffled columns: {', '.join(worse)}"] if worse else [])]


if __name__ == "__main__":
    sys.exit(main())
