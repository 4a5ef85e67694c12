"""How faithful mare is to worlds that nobody tuned to, at several ε, beside three baselines.

    python -m tests.benchmarks.worlds [WORLD ...] --epsilon 2 10 1000000 --fits 5 [--independent 2] [--half] [--json FILE]

For each world, ε and fit: fit (with the operating system's noise), sample as many entities as there are, judge. Beside it:
`independent`, mare's own model of columns alone at the same ε; the other half of a real database, or a fresh draw of a
generated world, which is what an ideal synthesizer reaches; and every column shuffled. Real databases are always halved;
--half halves generated worlds too, instead of drawing them twice. Rows beyond the schema's caps are cut beforehand on both
sides.

Internal, not private: it prints figures that were worked out from the real rows. The data of the real worlds is not in the
repository; a world whose data (../shared/data) is not there is skipped.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

import mare
from tests.benchmarks import judge as judging

from .catalogue import WORLDS, World, ordered, shuffled
from .tools import Frames

KINDS = {"intra": "within a row", "inter": "with ancestors", "seq": "with previous rows"}
DELTA = 1e-9
WORST = 5

Judged = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _parsed(arguments)
    records: list[dict[str, Any]] = []
    for name in asked.worlds or WORLDS:
        world = WORLDS[name]
        if not world.there:
            print(f"{name}: the data (../shared/data/{world.folder}) is not on this machine, so nothing was measured\n")
            continue
        for record in measured(world, asked.epsilon, asked.fits, asked.independent, asked.half):
            records.append(record)
            print("\n".join(told(record)), end="\n\n", flush=True)
            if asked.json:
                asked.json.write_text(json.dumps(records, indent=1))
    return 0


def measured(world: World, epsilons: Sequence[float], fits: int, independent: int, half: bool) -> Iterator[dict[str, Any]]:
    """One record an ε: every fit of both models, and the two baselines that do not depend on ε."""
    spec = world.spec
    real, other = world.pair(half)
    baselines = {"ideal": judged(spec, real, other), "shuffled": judged(spec, real, shuffled(spec, real))}
    baselines["ideal"]["is"] = "other half" if half or world.generate is None else "fresh draw"
    text = world.schema.read_text()
    for epsilon in epsilons:
        models = {"mare": (text, fits), "independent": (f"{text}\nmodel: independent\n", independent)}
        found = {
            model: [synthesized(schema, spec, real, epsilon) for _ in range(many)] for model, (schema, many) in models.items()
        }
        yield {"world": world.name, "epsilon": epsilon, **found, **baselines}


def synthesized(schema: str, spec: dict[str, Any], real: Frames, epsilon: float) -> Judged:
    """Fit, sample and judge once; what mare refuses is told, not raised, so that the other worlds are measured."""
    entity = next(iter(spec))
    start = perf_counter()
    try:
        plan = mare.plan(mare.load_schema(schema), mare.Budget(epsilon=epsilon, delta=DELTA))
        made = mare.sample(mare.fit(plan, real), entities=len(real[entity]))
    except mare.MareError as fault:
        return {"refused": str(fault)}
    assert made is not None
    seconds = perf_counter() - start
    return judged(spec, real, ordered(spec, made)) | {"seconds": round(seconds, 1)}


def judged(spec: dict[str, Any], real: Frames, made: Frames) -> Judged:
    """Mean pair TVD by kind, mean 1-way TVD, rows, and the 1-way TVD of every column, as `judge.py` works them out."""
    truth, other = ({name: tables[name] for name in spec} for tables in (real, made))
    found = judging.judge(spec, truth, other)["synth"]  # type: ignore[no-untyped-call]
    return {
        "tvd": {kind: found[kind]["tvd"] for kind in KINDS if kind in found},
        "one_way": found["one_way_tvd"],
        "rows": {name: [len(truth[name]), len(other[name])] for name in spec},
        "broken": found["broken_fk"] + found["duplicate_keys"],
        "columns": by_column(spec, truth, other),
    }


def by_column(spec: dict[str, Any], real: Frames, made: Frames) -> dict[str, float]:
    """The 1-way TVD of every column that the judge looks at, counts of children (#) and gaps in time among them."""
    times = {n: [c for c in t if judging.is_time(t[c]) and c not in spec[n].get("skip", ())] for n, t in real.items()}
    ours, theirs = (judging.features(spec, tables, times) for tables in (real, made))
    apart = {}
    for name, frame in ours.items():
        for column in frame:
            if column not in theirs[name]:
                apart[f"{name}.{column}"] = 1.0
                continue
            cells, (a, b) = judging.codes(frame[column], theirs[name][column])
            counts = (np.bincount(codes, minlength=cells).astype(float) for codes in (a, b))
            apart[f"{name}.{column}"] = round(judging.tvd(*counts), 4)  # type: ignore[no-untyped-call]
    return apart


def told(record: dict[str, Any]) -> Iterator[str]:
    """A record as lines for people."""
    fits = [fit for fit in record["mare"] if "refused" not in fit]
    plain = [fit for fit in record["independent"] if "refused" not in fit]
    ideal, mixed = record["ideal"], record["shuffled"]
    head = f"{record['world']}, ε = {record['epsilon']:g}"
    yield f"{head:24}{'mare: median [min–max]':>26}{'independent':>13}{ideal['is']:>13}{'shuffled':>10}"
    for fit in (*record["mare"], *record["independent"]):
        if "refused" in fit:
            yield f"  refused: {fit['refused']}"
    if not fits:
        return
    for kind, words in {**KINDS, "one_way": "1-way"}.items():
        if kind in ideal["tvd"] or kind == "one_way":
            own, bare, best, worst = (_figures(sets, kind) for sets in (fits, plain, [ideal], [mixed]))
            spread = f"{median(own):.3f} [{min(own):.3f}–{max(own):.3f}]"
            beside = f"{median(bare):.3f}" if bare else "–"
            yield f"  {words:22}{spread:>26}{beside:>13}{best[0]:>13.3f}{worst[0]:>10.3f}"
    rows = {name: (real, round(median(fit["rows"][name][1] for fit in fits))) for name, (real, _) in fits[0]["rows"].items()}
    yield "  rows: " + ", ".join(f"{name} {real:,} → {made:,}" for name, (real, made) in rows.items())
    columns = {name: median(fit["columns"][name] for fit in fits) for name in fits[0]["columns"]}
    worst_columns = sorted(columns, key=lambda name: -columns[name])[:WORST]
    yield "  worst columns: " + ", ".join(
        f"{name} {columns[name]:.2f} (ideal {ideal['columns'][name]:.2f})" for name in worst_columns
    )
    broken = max(fit["broken"] for fit in fits)
    yield f"  {median(fit['seconds'] for fit in fits):.0f} s a fit" + (f"; broken keys: {broken}" if broken else "")


def _figures(sets: Sequence[Judged], kind: str) -> list[float]:
    return [one["one_way"] if kind == "one_way" else one["tvd"][kind] for one in sets]


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tests.benchmarks.worlds", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("worlds", nargs="*", metavar="WORLD", help=f"all unless named: {', '.join(WORLDS)}")
    parser.add_argument("--epsilon", nargs="+", type=float, default=[2.0, 10.0, 1e6])
    parser.add_argument("--fits", type=int, default=5)
    parser.add_argument("--independent", type=int, default=2, help="fits of the model `independent`")
    parser.add_argument("--half", action="store_true", help="halve generated worlds too, instead of drawing them twice")
    parser.add_argument("--json", type=Path, help="every figure of every fit")
    asked = parser.parse_args(arguments)
    if unknown := [name for name in asked.worlds if name not in WORLDS]:
        parser.error(f"no world is called {unknown[0]}; there are {', '.join(WORLDS)}")
    return asked


if __name__ == "__main__":
    sys.exit(main())
