"""One attack's result: how often it succeeds, against whom, and what it gains over those it should not gain over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import NDArray

from mare.evaluation.evaluation import plain
from mare.evaluation.rates import CONFIDENCE, Excess, Rate, Verdict, excess, mean, share
from mare.evaluation.vectors import Features

AGAINST_HOLDOUT = "people of the hold-out, who were not in the data"
AGAINST_GUESSING = "guessing without the synthetic data"
AGAINST_A_COIN = "a coin: half of the targets were in the data, half were not"

MEMBERSHIP = ("membership", "distance to the closest record", "linkability game")


@dataclass(frozen=True)
class Attack:
    """Internal, not private."""

    kind: str
    """`singling out`, `linkability`, `inference`, `gcap`, `classifier`, `attribute disclosure`, `membership`, …"""
    about: str
    """Which columns, keys or features."""
    success: Rate
    """Against entities that were in the data."""
    guessing: Rate | None
    """Of somebody who does without the synthetic rows; None where the hold-out alone is the measure."""
    control: Rate | None = None
    """Against entities of the hold-out."""
    details: Mapping[str, object] = field(default_factory=dict)

    @property
    def excess(self) -> Excess:
        """Over the hold-out where there is one, else over guessing."""
        reference = self.control or self.guessing
        assert reference is not None
        return excess(self.success, reference)

    @property
    def verdict(self) -> Verdict:
        """Nobody learns anything by an attack that is right less often than who guesses, whatever it does to the hold-out."""
        if self.guessing is not None and self.success.value <= self.guessing.value:
            return "no sign"
        return self.excess.verdict

    @property
    def against(self) -> str:
        """What the excess is measured against, in words."""
        if self.control is not None:
            return AGAINST_HOLDOUT
        return AGAINST_A_COIN if self.about_membership else AGAINST_GUESSING

    @property
    def about_membership(self) -> bool:
        """Whether the question is who was in the data: a coin is then the baseline, and what exceeds it is a leak."""
        return self.kind in MEMBERSHIP

    @property
    def in_words(self) -> str:
        """The verdict. Without a hold-out, what exceeds guessing may be what is true of people like the target."""
        if self.verdict == "above the baseline" and self.control is None and not self.about_membership:
            return "above guessing, which a hold-out may explain"
        return {"above the baseline": "A LEAK"}.get(self.verdict, str(self.verdict))

    def to_json(self) -> dict[str, object]:
        held = {f.name: plain(getattr(self, f.name)) for f in fields(self)}
        return held | {"excess": self.excess.to_json(), "against": self.against}


@dataclass(frozen=True)
class Game:
    """With whom an attack is made: people of the data, synthetic ones, and people who were not in it (``control``), if any."""

    real: Features
    synthetic: Features
    control: Features | None = None
    seed: int = 0
    """Of all that is drawn."""
    confidence: float = CONFIDENCE

    @property
    def people(self) -> list[Features]:
        """All who are attacked."""
        return [self.real] if self.control is None else [self.real, self.control]

    def counted(
        self,
        kind: str,
        about: str,
        outcomes: Sequence[NDArray[np.generic]],
        guessing: NDArray[np.generic] | None,
        details: Mapping[str, object] | None = None,
        *,
        worth: float | None = None,
    ) -> Attack:
        """From what happened to each target, of the real people and of the others: true or false, or a chance between 0 and 1;
        and to those of who guesses. ``worth`` as in `rates.share`."""
        success, *control = (rate(each, self.confidence, worth) for each in outcomes)
        guessed = None if guessing is None else rate(guessing, self.confidence)
        return Attack(kind, about, success, guessed, control[0] if control else None, details or {})


def against_a_coin(
    kind: str,
    about: str,
    right: NDArray[np.bool_],
    confidence: float,
    details: Mapping[str, object],
    worth: float | None = None,
) -> Attack:
    """Of targets of which half were in the data: how often that was told rightly. Without the data nobody exceeds 1/2."""
    return Attack(kind, about, rate(right, confidence, worth), Rate(0.5, 0.0, max(len(right), 1)), None, details)


def rate(outcomes: NDArray[np.generic], confidence: float, worth: float | None = None) -> Rate:
    if outcomes.dtype == np.bool_:
        return share(int(np.count_nonzero(outcomes)), len(outcomes), confidence, worth=worth)
    return mean(np.asarray(outcomes, np.float64), confidence)
