"""Shares, noise and verdicts: the numbers of privacy.md, worked by hand."""

from __future__ import annotations

from math import fsum, pi, sqrt

import pytest

from mare.models import Workload
from mare.planning.plan import phase_shares
from mare.planning.preview import judge, noise_per_cell, preview, total_cost
from mare.privacy.budget import Budget
from mare.privacy.conversion import rho_from_budget

from .examples import BUDGET, hospital, planned

PURE = Budget(2, delta=0)


def test_gaussian_noise_is_s_times_the_root_of_k_histograms() -> None:
    assert noise_per_cell(BUDGET, 0.02, sensitivity=10, histograms=4) == pytest.approx(10 * sqrt(4) / sqrt(2 * 0.02))


def test_laplace_noise_is_s_times_k_histograms() -> None:
    assert noise_per_cell(PURE, 0.5, sensitivity=10, histograms=4) == pytest.approx(sqrt(2) * 10 * 4 / 0.5)


@pytest.mark.parametrize(("per_cell", "verdict"), [(40, "fine"), (39.9, "noisy"), (10, "noisy"), (9.9, "drowns")])
def test_a_cell_is_fine_from_four_times_the_noise_and_drowns_below_it(per_cell: float, verdict: str) -> None:
    assert judge(per_cell, 10.0) == verdict


@pytest.mark.parametrize("budget", [BUDGET, PURE], ids=["zcdp", "pure"])
@pytest.mark.parametrize("rule", ["balanced", "paper", "error"])
def test_the_groups_share_all_that_the_other_phases_leave(budget: Budget, rule: str) -> None:
    made = planned(hospital(), budget=budget, allocation=rule)
    assert fsum(seen.share for seen in made.preview) == pytest.approx(1)
    spent = fsum(seen.cost for seen in made.preview) / total_cost(budget)
    assert spent + made.phases.sizes + made.phases.learn == pytest.approx(1)


def test_shares_follow_the_papers_heuristic() -> None:
    made = planned(hospital(), allocation="paper")
    weight = {}
    for group, seen in zip(made.groups, made.preview, strict=True):
        c, h = len(group.columns), len(group.history)
        weight[group.name] = c * sqrt(c + h) * sqrt(seen.rows)
    for seen in made.preview:
        assert seen.share == pytest.approx(weight[seen.name] / sum(weight.values()))


def test_the_preview_of_one_table_by_hand() -> None:
    made = planned({"patients": {"rows": 1_000, "columns": {"age": {"type": "integer", "min": 0, "max": 49, "bins": 50}}}})
    (seen,) = made.preview
    rho = rho_from_budget(BUDGET) * made.phases.models
    assert seen.share == 1
    assert seen.noise == pytest.approx(1 / sqrt(2 * rho))
    assert seen.per_cell == 20
    assert seen.relative_error == pytest.approx(0.5 * 50 * seen.noise * sqrt(2 / pi) / 1_000)


def test_learning_costs_a_quarter_of_small_data_and_a_tenth_of_large() -> None:
    assert phase_shares(1_000, learns=True).learn == 0.25
    assert phase_shares(10_000, learns=True).learn == 0.25
    assert 0.10 < phase_shares(30_000, learns=True).learn < 0.25
    assert phase_shares(1_000_000, learns=True).learn == pytest.approx(0.10)
    assert phase_shares(10_000, learns=False).learn == 0


@pytest.mark.parametrize("entities", [1.0, 2e4, 1e9])
def test_phases_add_up(entities: float) -> None:
    phases = phase_shares(entities, learns=True)
    assert phases.sizes + phases.learn + phases.models == pytest.approx(1)


def test_a_cross_tab_with_more_cells_than_a_float_can_say_drowns() -> None:
    made = planned(hospital())
    huge = Workload(histograms=1, largest=10**400, cells=10**400)
    work = {group.name: huge for group in made.groups}
    rows = dict.fromkeys(work, 1000.0)
    assert {seen.verdict for seen in preview(made.groups, work, rows, BUDGET, "paper", made.phases, 500.0)} == {"drowns"}
