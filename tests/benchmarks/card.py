"""Does the card keep its word? Verdicts of many fits beside the true error of each column.

    python -m tests.benchmarks.card [WORLD ...] [--epsilon 0.5 2 10] [--fits 5] [--drawn FIRST LAST] [--json FILE]

For each world, ε and fit: fit (with the operating system's noise), read the card, sample as many entities as there are, and
compare every column with the real one in 20 quantiles, as `judge.py` bins. Rows beyond the schema's caps are cut beforehand.
With ``--drawn`` databases are drawn at random by these seeds, one fit each: take seeds that nothing was set by.
Internal, not private: the errors were worked out from real rows.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd

import mare
from mare.verdicts.card import COARSE, TRUST
from tests.benchmarks import judge as judging

from .fidelity import frames
from .timing import NO_BAR, Ratio
from .whole_job import SCHEMA, SEED, generated
from .worlds.catalogue import WORLDS
from .worlds.drawn import drawn
from .worlds.tools import Frames

EPSILONS, FITS, DELTA = (0.5, 2.0, 10.0), 5, 1e-9
MIMIC = {f"mimic-like-{patients}": patients for patients in (3_000, 10_000)}
BOUNDS = {"trust": TRUST, "coarse": COARSE}
MISSES = 0.05
"""Of the columns of a verdict, so many may lie beyond its bound."""


@dataclass(frozen=True)
class Judged:
    """One column of one fit."""

    world: str
    epsilon: float
    column: str
    verdict: str
    at_most: float
    error: float


def judged_fit(world: str, schema: mare.Schema, real: Frames, epsilon: float, seed: int | None = None) -> Iterator[Judged]:
    """Every verdict of one fit, with the true error."""
    release = mare.fit(mare.plan(schema, mare.Budget(epsilon, DELTA)), real, unsafe_seed=seed)
    card = mare.card(release)
    held = real.get(schema.entity_name)
    made = mare.sample(release, entities=None if held is None else len(held))
    assert made is not None
    for column in card.columns:
        if column.verdict is not None and column.at_most is not None:
            error = one_way(real[column.table], made[column.table], column.column)
            yield Judged(world, epsilon, column.name, column.verdict, column.at_most, error)
    for table in card.tables:
        link = schema.parent(table.table)
        if link is not None and table.per is not None and table.verdict is not None and table.at_most is not None:
            keys = list(link.column or ()), list(link.references or schema.tables[table.per].key or ())
            ours, theirs = (children(tables[table.per], tables[table.table], *keys) for tables in (real, made))
            error = apart(ours, theirs)
            yield Judged(world, epsilon, f"#{table.table}", table.verdict, table.at_most, error)


def one_way(real: pd.DataFrame, made: pd.DataFrame, column: str) -> float:
    """Total-variation distance of one column, whatever the case of its name there."""
    ours, theirs = (frame[{name.casefold(): name for name in frame}[column.casefold()]] for frame in (real, made))
    if judging.is_time(ours):  # type: ignore[no-untyped-call]
        return apart(_moments(ours), _moments(theirs))
    return apart(ours.reset_index(drop=True), theirs.reset_index(drop=True))


def apart(ours: pd.Series, theirs: pd.Series) -> float:
    if not len(theirs):
        return 1.0
    cells, codes = judging.codes(ours, theirs)  # type: ignore[no-untyped-call]
    return float(judging.tvd(*(np.bincount(side, minlength=cells).astype(float) for side in codes)))  # type: ignore[no-untyped-call]


def children(parents: pd.DataFrame, rows: pd.DataFrame, foreign: list[str], key: list[str]) -> pd.Series:
    counts = rows.groupby(foreign).size()
    index = parents[key[0]] if len(key) == 1 else pd.MultiIndex.from_frame(parents[key])
    return counts.reindex(index).fillna(0).reset_index(drop=True)


def _moments(values: pd.Series) -> pd.Series:
    times = pd.to_datetime(values, errors="coerce", utc=True).dt.as_unit("us").reset_index(drop=True)
    return times.astype("int64").astype(float).where(times.notna())


def measured(worlds: Sequence[str], epsilons: Sequence[float], fits: int, folder: Path) -> Iterator[Judged]:
    for name in worlds:
        if name in MIMIC:
            path, real = SCHEMA, frames(generated(folder, MIMIC[name], SEED))
        elif WORLDS[name].there:
            path, (real, _) = WORLDS[name].schema, WORLDS[name].pair(False)
        else:
            print(f"{name}: the data (../shared/data/{WORLDS[name].folder}) is not on this machine, so nothing was measured")
            continue
        schema = mare.load_schema(path)
        for epsilon in epsilons:
            for _ in range(fits):
                yield from judged_fit(name, schema, real, epsilon)


def measured_drawn(seeds: range, epsilons: Sequence[float], folder: Path) -> Iterator[Judged]:
    """Of databases that nobody has set anything by, as `mare init` drafts them."""
    for seed in seeds:
        world = drawn(seed)
        schema = world.schema(world.write(folder / "drawn.sqlite"))
        for epsilon in epsilons:
            yield from judged_fit(f"drawn-{seed}", schema, world.frames, epsilon)


def beyond(found: Sequence[Judged], verdict: str) -> float:
    """The part of the columns with that verdict whose error is not what it says."""
    errors = [one.error for one in found if one.verdict == verdict]
    return sum(error > BOUNDS[verdict] for error in errors) / max(1, len(errors))


def card_ratios(folder: Path, fits: int = 2) -> Iterator[Ratio]:
    """For `make bench`: of the worlds that a clone has."""
    worlds = [name for name, world in WORLDS.items() if world.generate is not None]
    for epsilon in EPSILONS:
        start = perf_counter()
        found = list(measured([*worlds, next(iter(MIMIC))], [epsilon], fits, folder))
        seconds = (perf_counter() - start) / (fits * (len(worlds) + 1))
        for verdict, bound in BOUNDS.items():
            many = sum(one.verdict == verdict for one in found)
            name = f"card: columns called {verdict} ({many}) with an error above {bound:g}, ε = {epsilon:g}"
            yield Ratio(name, "all of them", beyond(found, verdict), MISSES, seconds)
        unused = sum(one.verdict == "do not use" for one in found) / max(1, len(found))
        yield Ratio(f"card: columns not to use, ε = {epsilon:g}", "all that are judged", unused, NO_BAR, seconds)


def told(found: Sequence[Judged]) -> Iterator[str]:
    """A line for each ε, in Markdown."""
    yield f"| ε | trust | error ≤ {TRUST:g} | coarse | error ≤ {COARSE:g} | do not use | error > {COARSE:g} |"
    yield "|---|---|---|---|---|---|---|"
    for epsilon in sorted({one.epsilon for one in found}):
        here = [one for one in found if one.epsilon == epsilon]
        counts = {verdict: sum(one.verdict == verdict for one in here) for verdict in (*BOUNDS, "do not use")}
        wrong = [one.error > COARSE for one in here if one.verdict == "do not use"]
        held = [cell for v in BOUNDS for cell in (f"{counts[v]:,}", f"{1 - beyond(here, v):.1%}")]
        yield f"| {epsilon:g} | {' | '.join(held)} | {counts['do not use']:,} | {sum(wrong) / max(1, len(wrong)):.0%} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = [*WORLDS, *MIMIC]
    parser.add_argument("worlds", nargs="*", metavar="WORLD", help=f"all unless named: {', '.join(known)}")
    parser.add_argument("--epsilon", nargs="+", type=float, default=EPSILONS)
    parser.add_argument("--fits", type=int, default=FITS)
    parser.add_argument("--drawn", nargs=2, type=int, metavar=("FIRST", "LAST"), help="seeds of databases, in place of worlds")
    parser.add_argument("--json", type=Path, help="every verdict with its error")
    asked = parser.parse_args()
    if unknown := [name for name in asked.worlds if name not in known]:
        parser.error(f"no world is called {unknown[0]}; there are {', '.join(known)}")
    with tempfile.TemporaryDirectory(prefix="mare-bench-") as folder:
        if asked.drawn is not None:
            found = list(measured_drawn(range(asked.drawn[0], asked.drawn[1] + 1), asked.epsilon, Path(folder)))
        else:
            found = list(measured(asked.worlds or known, asked.epsilon, asked.fits, Path(folder)))
    if asked.json:
        asked.json.write_text(json.dumps([asdict(one) for one in found], indent=1))
    print("\n".join(told(found)))
    misses = [one for one in found if one.verdict in BOUNDS and one.error > BOUNDS[one.verdict]]
    for one in sorted(misses, key=lambda one: -one.error)[:20]:
        word = f"{one.column}, called {one.verdict} (≤ {one.at_most:.2f}), is {one.error:.2f} off"
        print(f"{one.world}, ε = {one.epsilon:g}: {word}")
    return int(any(beyond(found, verdict) > MISSES for verdict in BOUNDS))


if __name__ == "__main__":
    sys.exit(main())
