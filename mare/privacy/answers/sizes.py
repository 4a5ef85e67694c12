"""How many entities there are: the one size that depends on no cap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mare.privacy.noise import Mechanism, standard_deviation
from mare.privacy.till import Till, described_charge, described_query

from .asking import checked_table


@dataclass(frozen=True)
class NoisySize:
    """A single number that was paid for."""

    value: int
    mechanism: Mechanism
    scale: float
    sensitivity: float
    cost: float

    @property
    def standard_deviation(self) -> float:
        return standard_deviation(self.mechanism, self.scale)


def answer_entities(till: Till, share: float) -> NoisySize:
    """The noisy number of entities, those without rows in the view included. One entity moves it by 1."""
    quote = till.quote(1, share)
    noise = till.noise(quote, 1)
    query = described_query(till, quote, noise.scale, "number of entities", ())
    till.pay(query, described_charge(query, 1, noise.total_variation), quote.portion)
    number = till.view.entities()
    exact = checked_table(till, np.array([number], dtype=np.int64), (1,), number)
    (released,) = till.release_dense(query, noise, [exact])
    return NoisySize(int(released[0]), noise.mechanism, noise.scale, query.sensitivity, query.cost)
