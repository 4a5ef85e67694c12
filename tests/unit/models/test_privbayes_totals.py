"""How many rows a noisy table is a table of, and how the history of a model will come out: what is known beforehand helps."""

from __future__ import annotations

import numpy as np
import pytest

from mare.domain import Codes, Domain, Estimate, Marginal, Task, norm_subtract
from mare.models import settle_options
from mare.models.privbayes import PrivBayesModel
from mare.models.privbayes.fitted import FittedPrivBayes
from mare.models.privbayes.noisy_tables import measured_together
from mare.privacy.budget import Budget
from mare.privacy.curator import NoisyCounts
from tests.unit.models.test_contract import curator_over
from tests.views import array_view


def table(values: list[int], deviation: float, clip: float | None = None) -> NoisyCounts:
    return NoisyCounts(Marginal.of("x"), np.array(values), "discrete gaussian", deviation, 1.0, 0.1, clip)


def test_a_large_table_takes_its_total_from_a_small_one() -> None:
    large = table([700, *[10] * 99], 10.0)
    small = table([600, 400], 10.0)
    both = measured_together([large, small])
    assert both[0].total == both[1].total == pytest.approx((1690 / 100 + 1000 / 2) / (1 / 100 + 1 / 2))
    assert measured_together([large])[0].total == pytest.approx(1690)


def test_a_number_that_was_paid_for_is_believed_as_far_as_it_is_precise() -> None:
    large = table([700, *[10] * 99], 10.0)
    assert measured_together([large], Estimate(1000.0, 1.0))[0].total == pytest.approx(1000, abs=1)
    assert measured_together([large], Estimate(1000.0, 1e6))[0].total == pytest.approx(1690, abs=1)


def test_where_entities_were_scaled_down_their_number_says_nothing() -> None:
    large = table([700, *[10] * 99], 10.0, clip=3.0)
    assert measured_together([large], Estimate(1000.0, 1.0))[0].total == pytest.approx(1690)


def test_the_total_is_never_less_than_noise_could_hide() -> None:
    """However sure it is: forty people under a noise of fifty are no reason to say that all of them are women."""
    assert measured_together([table([-500, 100, 20], 10.0)])[0].total == pytest.approx(10 * 3**0.5)
    few = measured_together([table([-10, 30], 50.0)], Estimate(40.0, 1.0))[0]
    assert few.total == pytest.approx(50 * 2**0.5)
    assert 0 < norm_subtract(few.fractions)[0] < 0.5


PATIENTS = 4000
CAP = 41


def numbers_of_children(seed: int) -> tuple[Codes, np.ndarray]:
    """Of the first kind 90 % have no child, of the second 30 %; the others have any number."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 2, PATIENTS)
    some = rng.random(PATIENTS) >= np.where(kind == 0, 0.9, 0.3)
    count = np.where(some, rng.integers(1, 21, PATIENTS), 0)
    return Codes(PATIENTS, {"kind": kind.astype(np.uint8)}), count.astype(np.uint8)


def fitted(rows: Estimate | None, rehearsed: Codes | None, seed: int, epsilon: float = 2.0) -> FittedPrivBayes:
    columns, history = Domain.of([("count", CAP)]), Domain.of([("kind", 2)])
    options = settle_options(PrivBayesModel(), {})
    task = Task("visits.context", columns, history, options, {}, frozenset({"count"}), rows, rehearsed)
    seen, count = numbers_of_children(seed)
    view = array_view(np.arange(PATIENTS), {**seen.columns, "count": count}, Domain.of([("kind", 2), ("count", CAP)]))
    model = PrivBayesModel().fit(curator_over(view, Budget(epsilon, 1e-9), seed)[0], task)
    assert isinstance(model, FittedPrivBayes)
    return model


def childless(model: FittedPrivBayes, history: Codes) -> float:
    """Often enough for chance not to show."""
    many = history.take(np.arange(200_000) % history.rows)
    return float((model.sample(many, np.random.default_rng(1))["count"] == 0).mean())


def test_the_known_number_of_rows_keeps_the_noise_of_forty_cells_out_of_one() -> None:
    """Seeded, 24 fits: without it the share of the childless is off by half as much again, at least."""
    errors: dict[bool, list[float]] = {False: [], True: []}
    for seed in range(24):
        history, count = numbers_of_children(seed)
        for known in errors:
            model = fitted(Estimate(PATIENTS, 5.0) if known else None, None, seed)
            errors[known].append(childless(model, history) - float((count == 0).mean()))
    off = {known: float(np.sqrt(np.mean(np.square(found)))) for known, found in errors.items()}
    assert off[False] > 1.5 * off[True]


def test_what_will_be_drawn_settles_how_many_there_are() -> None:
    """The model that drew the history made 80 % of the first kind out of half; the childless stay what was measured of them."""
    kind = (np.arange(10_000) >= 8000).astype(np.uint8)
    history = Codes(10_000, {"kind": kind})
    plain, told = fitted(None, None, 1, 1e4), fitted(None, history, 1, 1e4)
    measured = float((numbers_of_children(1)[1] == 0).mean())
    assert childless(plain, history) == pytest.approx(0.8 * 0.9 + 0.2 * 0.3, abs=0.02)
    assert childless(told, history) == pytest.approx(measured, abs=0.02)


def test_history_that_was_hardly_ever_drawn_keeps_its_say() -> None:
    told = fitted(None, Codes(1000, {"kind": np.zeros(1000, dtype=np.uint8)}), 1, 1e4)
    kinds = {kind: childless(told, Codes(500, {"kind": np.full(500, kind, dtype=np.uint8)})) for kind in (0, 1)}
    assert kinds[1] < kinds[0] - 0.3
