"""mare's samplers against OpenDP's: are two samples of one distribution? And OpenDP as a backend of the gate.

OpenDP cannot be seeded, so these tests could fail by chance. Both statistics are compared with a bound that a pair of correct
samplers exceeds with a probability of at most 1e-9 per comparison:

- Kolmogorov–Smirnov: P(√(n/2)·gap ≥ t) ≤ 2e^(-2t²) for two samples of n ≥ 458 each (Wei and Dudley 2012), also for discrete
  laws; t = 3.28;
- χ² of the difference over fixed bins that each expect 100 draws or more: Σ (a - b)²/(a + b) is close to χ²_d, and
  P(χ²_d ≥ d + 2√(dx) + 2x) ≤ e^-x (Laurent and Massart 2000); x = 21.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from mare.errors import MissingExtra
from mare.fitting import FitOptions, run_fit
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.privacy.curator import Gate
from mare.privacy.ledger import Ledger
from mare.privacy.noise import Mechanism, prepare_noise
from mare.privacy.opendp_noise import OpendpNoise
from tests.memory_source import MemorySource, hospital_rows
from tests.privacy.sessions import BOTH, PURE, ZCDP, hospital, wards

pytest.importorskip("opendp", reason="OpenDP is not installed (extra: opendp)")

DRAWS = 10_000
CASES: list[tuple[Mechanism, float]] = [
    *(("discrete gaussian", sigma) for sigma in (0.5, 2.0, 30.0, 1e5)),
    *(("discrete laplace", scale) for scale in (0.5, 2.0, 30.0, 1e5)),
]


def kolmogorov(one: NDArray[np.int64], two: NDArray[np.int64]) -> float:
    """In units of its bound: above 1 the two are not of one distribution."""
    values = np.union1d(one, two)
    reached = [np.searchsorted(np.sort(sample), values, side="right") / len(sample) for sample in (one, two)]
    return float(np.abs(reached[0] - reached[1]).max()) * sqrt(len(one) / 2) / 3.28


def chi_squared(one: NDArray[np.int64], two: NDArray[np.int64], edges: NDArray[np.int64]) -> float:
    """In units of its bound. ``edges`` depend on the law alone, never on the draws."""
    a, b = (np.bincount(np.searchsorted(edges, sample, side="right"), minlength=len(edges) + 1) for sample in (one, two))
    statistic = float(((a - b) ** 2 / np.maximum(a + b, 1)).sum())
    freedom = len(edges)
    return statistic / (freedom + 2 * sqrt(freedom * 21) + 2 * 21)


def bins(mechanism: Mechanism, scale: float) -> NDArray[np.int64]:
    """Neighbouring values joined until a bin expects a hundredth of the draws or more."""
    reach = int(40 * scale) + 40
    step = max(1, reach // 4000)
    values = np.arange(-reach, reach + 1, step)
    weight: Callable[[float], float] = (
        (lambda x: exp(-abs(x) / scale)) if mechanism == "discrete laplace" else (lambda x: exp(-x * x / (2 * scale * scale)))
    )
    mass = np.array([weight(float(value)) for value in values])
    cumulated = np.cumsum(mass / mass.sum())
    edges, last = [], 0.0
    for value, reached in zip(values, cumulated, strict=True):
        if reached - last >= 0.01 and 1 - reached >= 0.01:
            edges.append(int(value) + 1)
            last = float(reached)
    return np.array(edges)


@pytest.mark.parametrize("exact", [False, True], ids=["as prepared", "exact"])
@pytest.mark.parametrize(("mechanism", "scale"), CASES)
def test_draws_are_of_one_distribution_with_those_of_opendp(mechanism: Mechanism, scale: float, exact: bool) -> None:
    ours = prepare_noise(mechanism, scale, DRAWS, exact=exact).draw(SeededBits(9))
    theirs = OpendpNoise().noise(mechanism, scale, DRAWS)
    assert kolmogorov(ours, theirs) < 1
    assert chi_squared(ours, theirs, bins(mechanism, scale)) < 1


@pytest.mark.parametrize(("mechanism", "scale"), CASES)
def test_a_scale_that_is_a_quarter_off_is_noticed(mechanism: Mechanism, scale: float) -> None:
    ours = prepare_noise(mechanism, scale * 0.75, DRAWS).draw(SeededBits(9))
    theirs = OpendpNoise().noise(mechanism, scale, DRAWS)
    edges = bins(mechanism, scale)
    assert max(kolmogorov(ours, theirs), chi_squared(ours, theirs, edges)) > 1


@pytest.mark.parametrize("budget", [ZCDP, PURE], ids=["gaussian", "laplace"])
def test_the_gate_answers_with_noise_of_opendp(budget: Budget, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, float, int]] = []
    original = OpendpNoise.noise

    def watched(self: OpendpNoise, mechanism: Mechanism, scale: float, cells: int) -> NDArray[np.int64]:
        asked.append((mechanism, scale, cells))
        return original(self, mechanism, scale, cells)

    monkeypatch.setattr(OpendpNoise, "noise", watched)
    ledger = Ledger(budget, "one patient")
    (answer,) = Gate(budget, ledger, OpendpNoise()).curator(wards(), 1.0).counts([BOTH])
    assert asked == [(answer.mechanism, answer.scale, 20)]
    assert ledger.status == "PRIVATE"
    assert (answer.values != wards().counts([BOTH])[0]).any()


def test_a_fit_with_noise_of_opendp_is_private() -> None:
    release = run_fit(plan(hospital(), Budget(2, 1e-9)), MemorySource.of(hospital_rows(5)), FitOptions(bits=OpendpNoise()))
    assert release.status == "PRIVATE"


@pytest.mark.parametrize("mechanism", ["discrete gaussian", "discrete laplace"])
@pytest.mark.parametrize("scale", [2.0**-10, 2.0**29])
def test_extreme_scales_are_drawn(mechanism: Mechanism, scale: float) -> None:
    drawn = OpendpNoise().noise(mechanism, scale, 50)
    assert drawn.dtype == np.int64
    assert (drawn == 0).all() if scale < 1 else np.abs(drawn).max() > 1000


def test_without_opendp_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(MissingExtra, match=r"pip install 'mare-synth\[opendp\]'"):
        OpendpNoise()
