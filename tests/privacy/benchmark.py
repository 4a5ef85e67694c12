"""The benchmark's own configuration for audits: its schema as it is, the default model, ε = 2, δ = 1e-9, its generator's data.

Audits need few patients: what one entity moves does not depend on how many others there are. What a fit *does* depends on
it (parents, bins, shares), through noisy answers alone; so `Copies` lets out the answers that the same patients would
give if each had been there many times, and the fit takes the way that it takes on large data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from mare.planning import Plan
from mare.planning.planning import plan
from mare.privacy.budget import Budget
from mare.privacy.tape import Counts, Entry, Query, Recorder
from mare.schema.loading import load_schema
from tests.benchmarks.gen_mimic_like import make
from tests.memory_source import MemorySource

SCHEMA = Path(__file__).resolve().parents[1] / "benchmarks" / "mimic_like.yaml"
BUDGET = Budget(2, 1e-9)
STUFFED = 99_999_999
"""A patient unlike all others, beyond every cap: see `with_stuffed`."""

Frames = dict[str, pd.DataFrame]


@cache
def benchmark_plan() -> Plan:
    return plan(load_schema(SCHEMA), BUDGET)


def patients(count: int, seed: int = 3) -> Frames:
    """So many patients of the benchmark's generator."""
    made: Frames = make(count, seed)
    return made


def with_stuffed(frames: Frames, admissions: int = 45, transfers: int = 55) -> Frames:
    """And one more: more admissions than the cap, more transfers in each than the cap, and values that no domain holds."""
    person = frames["patients"].iloc[:1].assign(subject_id=STUFFED, gender="?", birth_year=pd.Timestamp("1844-01-01"))
    begins = pd.Timestamp("2101-01-01") + pd.to_timedelta(np.arange(admissions) * 20, unit="D")
    template = frames["admissions"].iloc[np.zeros(admissions, dtype=int)]
    stays = template.assign(
        hadm_id=np.arange(admissions) + STUFFED,
        subject_id=STUFFED,
        admittime=begins,
        dischtime=begins + pd.Timedelta(days=12),
        race=["NOWHERE", "RACE DETAIL 20"] * (admissions // 2) + ["ASIAN"] * (admissions % 2),
        admission_type="",
    )
    hours = np.tile(np.arange(transfers), admissions)
    moves = (
        frames["transfers"]
        .iloc[np.zeros(len(hours), dtype=int)]
        .assign(
            transfer_id=np.arange(len(hours)) + STUFFED,
            hadm_id=np.repeat(stays["hadm_id"].to_numpy(), transfers),
            intime=np.repeat(begins.to_numpy(), transfers) + pd.to_timedelta(hours, unit="h").to_numpy(),
            careunit="Nursery",
        )
    )
    more = {"patients": person, "admissions": stays, "transfers": moves}
    return {name: pd.concat([frame, more[name]], ignore_index=True) for name, frame in frames.items()}


def source(frames: Frames) -> MemorySource:
    return MemorySource({name: pa.Table.from_pandas(frame, preserve_index=False) for name, frame in frames.items()})


class Copies(Recorder):
    """A recorder that lets out what ``times`` copies of every entity would: true counts so often, and noise once.

    Choices are drawn blindly: whatever large data would choose, and much that it would not, is followed up.
    """

    def __init__(self, times: int, seed: int = 0) -> None:
        super().__init__()
        self._times, self._rng = times, np.random.default_rng(seed)

    def answer(self, query: Query, exact: Sequence[Counts], release: Callable[[], list[Counts]]) -> list[Counts]:
        released = super().answer(query, exact, release)
        if query.mechanism == "exponential choice":
            (scores,) = exact
            released = [np.array([self._rng.integers(scores.size)], dtype=np.int64)]
        elif not query.listed:
            released = [noisy + (self._times - 1) * true for noisy, true in zip(released, exact, strict=True)]
        last = self.record.entries[-1]
        self.record.entries[-1] = Entry(last.query, last.exact, tuple(values.copy() for values in released))
        return released


class Looking(Copies):
    """Chooses what looks at this column, or else blindly, and the smallest clip: whoever is clipped then moves an answer just as
    far as was paid for, and nobody else may move it at all."""

    def __init__(self, looked_at: str = "", times: int = 1, seed: int = 0) -> None:
        super().__init__(times, seed)
        self._looked_at = looked_at

    def answer(self, query: Query, exact: Sequence[Counts], release: Callable[[], list[Counts]]) -> list[Counts]:
        released = super().answer(query, exact, release)
        if query.mechanism != "exponential choice":
            return released
        first = int(": none; " in query.what)
        looking = [first + n for n, m in enumerate(query.marginals) if self._looked_at in {axis.column for axis in m.axes}]
        # A sum has several tables: it is chosen blindly.
        looking = looking if "summed" not in query.what else []
        wanted = 0 if not query.marginals else looking[0] if looking else int(released[0][0])
        self.record.entries[-1] = replace(self.record.entries[-1], released=(np.array([wanted]),))
        return [np.array([wanted])]
