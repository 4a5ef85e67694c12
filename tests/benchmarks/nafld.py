"""Real data at ε = 2: NAFLD, fitted on 80 % of its patients and judged against them, beside the other 20 %.

    python -m tests.benchmarks.nafld [SEED OF THE NOISE]

Internal, not private: it prints figures that were worked out from the real rows. The split is by a hash of the patient's id.
Rows of one patient on one day have no order of their own, in the file or in a database: all sets are sorted alike before they
are judged (the file happens to write hdl before chol, which a stable sort would take for a fact about sequences).
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd

import mare

from .judge import judge

HERE = Path(__file__).resolve().parent
DATA = HERE.parents[2] / "shared" / "data" / "nafld"
BUDGET = mare.Budget(epsilon=2, delta=1e-9)
KINDS = {"intra": "within a row", "inter": "with ancestors", "seq": "with previous rows"}

Frames = dict[str, pd.DataFrame]


def main(seed: int | None = None) -> int:
    if not DATA.is_dir():
        print("nafld: the data (../shared/data/nafld) is not on this machine, so nothing was measured")
        return 0
    spec = json.loads((HERE / "specs" / "nafld.json").read_text())["tables"]
    train, rest = split({name: pd.read_parquet(DATA / f"{name}.parquet") for name in spec})
    start = perf_counter()
    made = synthesize(train, seed)
    print(f"fit + sample: {perf_counter() - start:.1f} s; rows {_rows(train)} -> {_rows(made)}\n")
    for line in figures(spec, train, {"mare": made, "the other 20 %": rest, "columns shuffled": shuffled(train)}):
        print(line)
    print(f"\n{by_test(train, made).to_string()}")
    return 0


def split(tables: Frames) -> tuple[Frames, Frames]:
    """Four fifths of the patients with all their rows, and the other fifth; the same ones every time."""
    rest = {patient for patient in tables["nafld1"]["id"] if _hash(patient) % 5 == 0}
    held = {name: frame["id"].isin(rest) for name, frame in tables.items()}
    return ordered({n: f[~held[n]] for n, f in tables.items()}), ordered({n: f[held[n]] for n, f in tables.items()})


def synthesize(train: Frames, seed: int | None) -> Frames:
    """With the default model and options. A seed makes the noise repeatable (and the release NOT PRIVATE)."""
    plan = mare.plan(mare.load_schema(HERE / "nafld.yaml"), BUDGET)
    made = mare.sample(mare.fit(plan, train, unsafe_seed=seed))
    assert made is not None
    return ordered(made)


def shuffled(tables: Frames) -> Frames:
    """Every column on its own, keys aside: what a synthesizer of columns alone could reach at best."""
    rng = np.random.default_rng(7)
    mixed = {}
    for name, frame in tables.items():
        columns = {c: frame[c] if c in ("id", "case_id") else rng.permutation(frame[c].to_numpy()) for c in frame}
        mixed[name] = pd.DataFrame(columns)
    return ordered(mixed)


def ordered(tables: Mapping[str, pd.DataFrame]) -> Frames:
    by = {"nafld1": ["id"], "nafld2": ["id", "days", "test", "value"], "nafld3": ["id", "days", "event"]}
    return {name: frame.sort_values(by[name], kind="stable").reset_index(drop=True) for name, frame in tables.items()}


def figures(spec: dict[str, object], real: Frames, others: Mapping[str, Frames]) -> Iterator[str]:
    """One line a set: mean pair TVD and error of Cramér's V, as `judge.py` works them out."""
    yield f"{'':18}" + "".join(f"{words:>22}" for words in KINDS.values()) + f"{'1-way':>9}{'counts':>9}{'broken':>8}"
    for name, tables in others.items():
        told = judge(spec, real, tables)["synth"]  # type: ignore[no-untyped-call]
        pairs = "".join(f"{told[kind]['tvd']:>13.3f} (V {told[kind]['cramer_err']:.3f})" for kind in KINDS)
        yield f"{name:18}{pairs}{told['one_way_tvd']:>9.3f}{told['child_count_tvd']:>9.3f}{told['broken_fk']:>8}"


def by_test(real: Frames, made: Frames) -> pd.DataFrame:
    """The quantiles of each laboratory test, real and synthetic: lab values are right where they are right for each test."""
    columns = {}
    for quantile in (0.05, 0.5, 0.95):
        for words, tables in (("real", real), ("made", made)):
            columns[f"{quantile:.0%} {words}"] = tables["nafld2"].groupby("test")["value"].quantile(quantile)
    for words, tables in (("real", real), ("made", made)):
        columns[f"share {words}"] = tables["nafld2"]["test"].value_counts(normalize=True)
    return pd.DataFrame(columns).round(3)


def _hash(patient: object) -> int:
    return int.from_bytes(hashlib.sha256(f"nafld {patient}".encode()).digest()[:4], "big")


def _rows(tables: Frames) -> str:
    return ", ".join(f"{len(frame):,}" for frame in tables.values())


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else None))
