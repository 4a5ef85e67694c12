"""`Rehearsal`: what fitted models draw of entities, so that a later one knows how its history will come out.

The number of a patient's admissions depends on the patient's columns. How those are distributed was measured once when their own
model was fitted, and again, with other noise, where the numbers are; but what a sampler finds is the first. A model that agrees
with the second would have the wrong number of admissions. Drawn from models alone: post-processing, free.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import numpy as np

from mare.domain import CodeArray, Codes
from mare.graph.groups import Part
from mare.models import FittedModel
from mare.relational.placing import seen_columns
from mare.release import SettledGroup

ENTITIES = 1 << 16
"""Enough to tell a distribution to a few thousandths, few enough to cost nothing."""


class Rehearsal:
    """Drawn entities, with as much of what stands once for each of them as was fitted. ``parents`` are those of the tables."""

    def __init__(self, parents: Mapping[str, str | None]) -> None:
        self._parents, self._entity = parents, next(iter(parents))
        self._fitted: list[tuple[SettledGroup, FittedModel]] = []
        self._drawn: dict[tuple[str, Part, str], CodeArray] = {}

    def know(self, settled: SettledGroup, fitted: FittedModel) -> None:
        """A group was fitted."""
        if self._once(settled):
            self._fitted.append((settled, fitted))

    def history(self, settled: SettledGroup) -> Codes | None:
        """The history of a group that stands once for each entity, as far as it can be drawn."""
        if not self._once(settled) or not len(settled.history):
            return None
        while self._fitted:
            self._draw(*self._fitted.pop(0))
        seen = self._seen(settled)
        return Codes(ENTITIES, seen) if seen else None

    def _draw(self, settled: SettledGroup, fitted: FittedModel) -> None:
        seen = self._seen(settled)
        if len(seen) < len(settled.history):
            return
        drawn: Mapping[str, CodeArray] = {}
        # The budget is spent: a model that fails here would take its release along, though nobody needs to know this.
        with suppress(Exception):
            # Any fixed seed: these entities are nobody's, and nobody gets them.
            drawn = fitted.sample(Codes(ENTITIES, seen), np.random.Generator(np.random.Philox(0))).columns
        for name, codes in drawn.items():
            if name in settled.columns and len(codes) == ENTITIES and codes.max() < settled.columns.size(name):
                self._drawn[settled.group.table, settled.group.part, name] = codes

    def _once(self, settled: SettledGroup) -> bool:
        table, part = settled.group.table, settled.group.part
        return (self._parents[table] if part == "context" else table) == self._entity

    def _seen(self, settled: SettledGroup) -> dict[str, CodeArray]:
        seen = {}
        for label, (column, name) in seen_columns(settled.group, settled.history).items():
            place = (column.table, column.part, name)
            if column.lag == 0 and column.kind not in ("free", "reference", "same_item") and place in self._drawn:
                seen[label] = self._drawn[place]
        return seen
