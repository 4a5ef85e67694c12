"""`assess_utility`: classifiers, queries and the challenge's scores, each between what real rows reach and what needs none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np

from mare.errors import MissingExtra
from mare.evaluation.evaluation import INTERNAL, plain
from mare.evaluation.sides import Side
from mare.evaluation.vectors import Features, entity_features, some_entities
from mare.schema import Schema

from .nist import Score, nist_scores
from .queries import Query, asked_on_both
from .train_and_test import Learned, train_and_test

LEARNED = 2_000
"""Classifiers learn from so many entities, and are asked about so many."""
COMPARED = 5_000
"""The scores compare so many."""


@dataclass(frozen=True)
class Utility:
    """Internal, not private."""

    learned: tuple[Learned, ...]
    queries: tuple[Query, ...]
    scores: tuple[Score, ...]
    notes: tuple[str, ...]

    @property
    def kept_by_classifiers(self) -> float | None:
        """The part of what real training gains over zero-rule that synthetic training gains, over all classifiers and targets
        where real people teach anything: where they do not, there is nothing to keep."""
        taught = self.taught
        gained = sum(each.real.value - each.zero_rule.value for each in taught)
        return sum(each.synthetic.value - each.zero_rule.value for each in taught) / gained if taught else None

    @property
    def taught(self) -> tuple[Learned, ...]:
        """Those that real people teach more than the most frequent value, beyond chance."""
        return tuple(each for each in self.learned if each.real.lower > each.zero_rule.value)

    @property
    def median_query_error(self) -> float | None:
        errors = [query.error for query in self.queries if query.error is not None]
        return float(np.median(errors)) if errors else None

    def words(self) -> Iterator[str]:
        yield f"Utility ({INTERNAL}):"
        if (kept := self.kept_by_classifiers) is not None:
            number = f"{len(self.taught)} of {len(self.learned)}"
            learned = f"{kept:.0%} of it is learned from synthetic ones, too"
            learned = learned if kept > 0 else "synthetic ones teach nothing of it"
            yield f"  real people teach {number} classifiers something: {learned}"
        elif self.learned:
            yield "  classifiers: taught by real people, none is better than always saying the most frequent value"
        if (error := self.median_query_error) is not None:
            others = [query.holdout for query in self.queries if query.holdout is not None]
            beside = f", {float(np.median(others)):.1%} on the hold-out" if others else ""
            yield f"  {len(self.queries)} queries over joins: half are off by {error:.1%} or more{beside}"
        for score in self.scores:
            best = f", other real people {score.holdout:,.0f}" if score.holdout is not None else ""
            beside = f"shuffled columns {score.shuffled:,.0f}{best}"
            yield f"  NIST's score of {score.name}: {score.value:,.0f} of 1,000,000 ({beside})"
        yield from (f"  {note}" for note in self.notes)

    def to_json(self) -> dict[str, object]:
        means = {"kept_by_classifiers": self.kept_by_classifiers, "median_query_error": self.median_query_error}
        return {"status": INTERNAL, **means, **{f.name: plain(getattr(self, f.name)) for f in fields(self)}}


def assess_utility(schema: Schema, real: Side, synthetic: Side, holdout: Side | None, *, seed: int) -> Utility:
    """Without a hold-out, half of the real entities teach and the other half are asked about."""
    rng = np.random.default_rng(seed)
    sides = [real, synthetic, *([holdout] if holdout is not None else [])]
    vectors = entity_features(sides, [some_entities(side, COMPARED, rng) for side in sides])
    notes: list[str] = []
    learned: tuple[Learned, ...] = ()
    if all(side.rows for side in vectors) and vectors[0].columns:
        teaching, asked = _teaching_and_asked(vectors, rng)
        if holdout is None:
            notes.append("without a hold-out, classifiers are asked about people whom the generator has seen")
        try:
            learned = tuple(train_and_test(teaching, vectors[1].sample(LEARNED, rng), asked, seed=seed))
        except MissingExtra as error:
            notes.append(str(error))
    else:
        notes.append("a side holds no entity or no column in common: nothing could be learned")
    queries = asked_on_both(schema, real, synthetic, holdout, seed=seed)
    scores = nist_scores(vectors[0], vectors[1], vectors[2] if holdout is not None else None, seed=seed)
    return Utility(learned, queries, scores, tuple(notes))


def _teaching_and_asked(vectors: tuple[Features, ...], rng: np.random.Generator) -> tuple[Features, Features]:
    real = vectors[0]
    if len(vectors) == 3:
        return real.sample(LEARNED, rng), vectors[2].sample(LEARNED, rng)
    order = rng.permutation(real.rows)
    half = max(1, real.rows // 2)
    return real.take(order[:half]).sample(LEARNED, rng), real.take(order[half:]).sample(LEARNED, rng)
