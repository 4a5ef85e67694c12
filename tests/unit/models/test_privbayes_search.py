"""The two searches for a network, and drawing with quotas."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mare.domain import Axis, Coarsening, Codes, Domain, Task
from mare.models import settle_options
from mare.models.privbayes import PrivBayesModel
from mare.models.privbayes.candidates import Candidates, Family
from mare.models.privbayes.fitted import FittedPrivBayes, load_fitted, quotas
from mare.models.privbayes.network import Evidence, GreedySearch
from mare.models.privbayes.settings import Settings
from mare.privacy.budget import Budget
from mare.privacy.curator import Curator
from mare.privacy.ledger import Ledger
from tests.unit.models.test_contract import COLUMNS, HISTORY, LAGS, curator_over, visits
from tests.views import ArrayView, array_view

CHAIN = Domain.of([("a", 3), ("b", 3), ("c", 3), ("d", 3)])


def chain(entities: int = 4000) -> ArrayView:
    """b follows a, c follows b; d follows nothing."""
    rng = np.random.default_rng(6)
    codes = {"a": rng.integers(0, 3, entities)}
    for name, before in (("b", "a"), ("c", "b")):
        codes[name] = np.where(rng.random(entities) < 0.8, codes[before], rng.integers(0, 3, entities))
    codes["d"] = rng.integers(0, 3, entities)
    columns = {name: values.astype(np.uint8) for name, values in codes.items()}
    return array_view(np.arange(entities), columns, CHAIN, order=np.zeros(entities, dtype=np.int64), cap=1)


def fit(view: ArrayView, task: Task, epsilon: float = 1e3) -> tuple[FittedPrivBayes, Ledger]:
    curator, ledger = curator_over(view, Budget(epsilon, 1e-9))
    model = PrivBayesModel().fit(curator, task)
    assert isinstance(model, FittedPrivBayes)
    return model, ledger


def without_history(**options: float | str) -> Task:
    return Task("t.rows", CHAIN, Domain((), ()), settle_options(PrivBayesModel(), options))


def links(model: FittedPrivBayes) -> set[frozenset[str]]:
    return {frozenset((family.column, parent.column)) for family in model.families for parent in family.parents}


@pytest.mark.parametrize("search", ["greedy", "noisy_scores"])
def test_both_searches_find_the_chain(search: str) -> None:
    model = fit(chain(), without_history(search=search, parents=1))[0]
    assert {frozenset("ab"), frozenset("bc")} <= links(model)
    assert all(len(family.parents) <= 1 for family in model.families)


def test_a_group_that_cannot_carry_structure_is_measured_column_by_column() -> None:
    """Choices among 50 people at ε = .5 would be noise, and every table of such a network larger than it need be. Nothing is paid
    for them: the one-way tables get it all. (No chance: how sharp a choice would be follows from the budget, and the noisy
    number of people is far below what it takes.)"""
    model, ledger = fit(chain(50), without_history(), epsilon=0.5)
    assert not links(model)
    assert not [charge for charge in ledger.charges if charge.what.startswith("choice")]
    assert ledger.totals.epsilon > 0.45


def test_the_number_of_parents_follows_from_noise_and_signal_not_from_the_number_of_people() -> None:
    """The same 4,000 people: at ε = 2 a cell of 500 is as large as its noise, at ε = 10⁶ one of 10⁷. Where noise is less than a
    row, chance alone limits them, and that is what parents pay for."""
    few, many = (Evidence(4000.0, {}, noise) for noise in (1 / 500, 1e-7))
    assert (few.parents, many.parents) == (2, 6)
    seen, hidden = (Evidence(600.0, {}, noise / 17_500, 17_500.0) for noise in (0.5, 1.5))
    assert (seen.parents, hidden.parents) == (6, 3)


def test_where_chance_hides_more_than_noise_columns_with_few_codes_come_first() -> None:
    """A column of 40 codes and what follows from it: a table of the few is hardly chance, one of the many would be."""
    rng, domain = np.random.default_rng(4), Domain.of([("many", 40), ("half", 2), ("few", 4)])
    many = rng.integers(0, 40, 3000)
    view = array_view(range(3000), {"many": many, "half": many // 20, "few": many // 10}, domain)
    task = Task("t.rows", domain, Domain((), ()), settle_options(PrivBayesModel(), {}), told_by=dict.fromkeys(domain, 3000.0))
    orders = {epsilon: [family.column for family in fit(view, task, epsilon)[0].families] for epsilon in (2.0, 1e6)}
    assert orders[1e6] == ["half", "few", "many"]
    assert orders[2.0][0] == "many", "nothing is known of the others then, and the schema's first is first"
    assert Evidence(3000.0, {}, 1e-4, 3000.0).told_by_chance
    assert not Evidence(3000.0, {}, 1e-3, 3000.0).told_by_chance


def test_along_sequences_a_few_rows_of_noise_count_as_chance() -> None:
    """What a parent made of chance gets wrong is fed into the next row; with noise of many rows the tables of two mislead."""
    assert Evidence(600.0, {}, 6 / 17_500, 17_500.0, feeds_back=True).told_by_chance
    assert not Evidence(600.0, {}, 6 / 17_500, 17_500.0).told_by_chance
    assert not Evidence(600.0, {}, 23 / 17_500, 17_500.0, feeds_back=True).told_by_chance


def test_a_parent_is_also_judged_by_what_the_family_leaves_unexplained_of_the_two() -> None:
    """Many weak parents: with each one more the cells of all together hold more chance, a table of two does not."""
    rng, people = np.random.default_rng(4), 4000
    parents = {f"p{place}": rng.integers(0, 4, people) for place in range(5)}
    child = (rng.random(people) < 0.2 + 0.04 * sum(parents.values())).astype(int)
    columns, history = Domain.of([("child", 2)]), Domain.of([(name, 4) for name in parents])
    view = array_view(range(people), {**parents, "child": child}, history.merge(columns))
    told_by = dict.fromkeys((*columns, *history), float(people))
    options = settle_options(PrivBayesModel(), {"parents": 5})
    (family,) = fit(view, Task("t.rows", columns, history, options, told_by=told_by), 1e6)[0].families
    assert {axis.column for axis in family.parents} == set(parents)


def test_chance_counts_the_codes_that_occur_not_those_that_might() -> None:
    """Of 30 codes one has nearly all rows: the dependence that chance shows is that of two or three."""
    domain = Domain.of([("a", 3), ("b", 30)])
    task = Task("t.rows", domain, Domain((), ()), settle_options(PrivBayesModel(), {}))
    view = array_view(range(8), {"a": [0] * 8, "b": [0] * 8}, domain)
    one_way = {"a": np.full(3, 1 / 3), "b": np.array([0.99, *[0.01 / 29] * 29])}
    candidates = Candidates(task, Settings.of(task), {})
    search = GreedySearch(
        curator_over(view, Budget(10.0, 1e-9))[0], candidates, Settings.of(task), Evidence(1000.0, one_way, 1e-9)
    )
    even = replace(search._evidence, one_way={**one_way, "b": np.full(30, 1 / 30)})
    evenly = GreedySearch(curator_over(view, Budget(10.0, 1e-9))[0], candidates, Settings.of(task), even)
    alone = Family(Axis("a"), ())
    assert search._penalty(alone, Axis("b")) < 0.35 * evenly._penalty(alone, Axis("b"))


def test_rows_tell_more_of_what_belongs_to_them_than_of_what_they_share() -> None:
    """20,000 rows of 1,000 people: chance links a row's columns a fifth as much as it links what people have."""
    domain, history = Domain.of([("unit", 8)]), Domain.of([("item", 8), ("person.ward", 8)])
    told_by = {"item": 20_000.0, "person.ward": 1_000.0}
    task = Task("t.rows", domain, history, settle_options(PrivBayesModel(), {}), told_by=told_by)
    view = array_view(range(8), {"unit": [0] * 8, "item": [0] * 8, "person.ward": [0] * 8}, history.merge(domain))
    evidence = Evidence(1000.0, {"unit": np.full(8, 1 / 8)}, 1e-9)
    search = GreedySearch(
        curator_over(view, Budget(10.0, 1e-9))[0], Candidates(task, Settings.of(task), {}), Settings.of(task), evidence
    )
    alone = Family(Axis("unit"), ())
    shares = search._penalty(alone, Axis("item")) / search._penalty(alone, Axis("person.ward"))
    assert shares == pytest.approx((1 / 20) ** 0.5, rel=0.01)


def test_noisy_scores_are_one_charge() -> None:
    _, ledger = fit(chain(), without_history(search="noisy_scores"))
    assert [charge.what.split()[0] for charge in ledger.charges].count("scores") == 1
    assert not [charge for charge in ledger.charges if charge.what.startswith("choice")]
    (scores,) = (charge for charge in ledger.charges if charge.what.startswith("scores"))
    assert scores.cells == 6, "of two columns there is one score, whichever is the child"


def test_tau_keeps_families_small_where_there_is_little_budget() -> None:
    def largest(epsilon: float) -> int:
        model = fit(chain(400), without_history(search="noisy_scores"), epsilon)[0]
        return max(table.size for table in model.conditionals.values())

    assert largest(0.3) < largest(1e4) == 81


def test_noisy_scores_look_at_history_and_at_one_column_only() -> None:
    options = settle_options(PrivBayesModel(), {"search": "noisy_scores"})
    model, _ = fit(visits(2000), Task("visits.rows", COLUMNS, HISTORY, options, LAGS))
    parents = {family.column: {axis.column for axis in family.parents} for family in model.families}
    assert "visits.unit[-1]" in parents["unit"]
    alone = Domain.of([("a", 3)])
    single = array_view(np.arange(50), {"a": np.zeros(50, dtype=np.uint8)}, alone, order=np.zeros(50, dtype=np.int64), cap=1)
    task = Task("t.rows", alone, Domain((), ()), options)
    assert fit(single, task)[0].families == (Family(Axis("a"), ()),)


def test_columns_too_large_for_one_another_stay_alone() -> None:
    model, _ = fit(chain(200), without_history(search="noisy_scores", max_cells=5))
    assert all(not family.parents for family in model.families)


def test_pure_budgets_are_spent_by_either_search() -> None:
    for search in ("greedy", "noisy_scores"):
        curator: Curator = curator_over(chain(500), Budget(5.0, delta=0))[0]
        PrivBayesModel().fit(curator, without_history(search=search))
        assert curator.remaining < 0.01


@pytest.mark.parametrize("search", ["greedy", "noisy_scores"])
def test_how_many_children_comes_before_all_else(search: str) -> None:
    options = settle_options(PrivBayesModel(), {"search": search})
    task = Task("t.context", Domain(("b", "c", "d"), (3, 3, 3)), Domain(("a",), (3,)), options, counts=frozenset({"d"}))
    assert fit(chain(), task)[0].families[0].column == "d"


def test_quotas_give_every_value_its_share() -> None:
    model, _ = fit(chain(), without_history(replacement=False))
    drawn = model.sample(Codes(999, {}), np.random.default_rng(3))
    first = model.families[0].child
    expected = 999 * model.conditionals[first][0] / model.conditionals[first][0].sum()
    assert np.abs(np.bincount(drawn[first.column], minlength=3) - expected).max() <= 1
    assert not model.row_by_row
    assert not load_fitted(without_history(), model.arrays()).row_by_row


def test_with_replacement_rows_know_nothing_of_each_other() -> None:
    assert fit(chain(), without_history())[0].row_by_row


def test_quotas_are_uniform_for_each_row_and_even_for_each_distribution() -> None:
    row = np.repeat([0, 2, 5], [10, 1, 40])
    rng = np.random.default_rng(9)
    drawn = np.array([quotas(row, rng) for _ in range(4000)])
    assert ((drawn >= 0) & (drawn < 1)).all()
    assert np.abs(drawn.mean(axis=0) - 0.5).max() < 0.03
    assert (np.sort(np.floor(drawn[:, :10] * 10), axis=1) == np.arange(10)).all()
    assert (np.sort(np.floor(drawn[:, 11:] * 40), axis=1) == np.arange(40)).all()
    assert len(quotas(np.zeros(0, dtype=np.int64), rng)) == 0


@pytest.mark.parametrize(
    ("wish", "seen"),
    [
        ("own", {"a[-1]", "above"}),
        ("previous", {"a[-1]", "b[-1]", "a[-2]", "above"}),
        ("all", {"a[-1]", "b[-1]", "a[-2]", "b[-2]", "above"}),
    ],
)
def test_what_a_column_may_look_at_of_earlier_rows(wish: str, seen: set[str]) -> None:
    lags = {f"{name}[-{back}]": (name, back) for name in "ab" for back in (1, 2)}
    task = Task("t.rows", Domain(("a", "b"), (2, 2)), Domain((*lags, "above"), (3, 3, 3, 3, 2)), {"looks_back": wish}, lags)
    candidates = Candidates(task, Settings.of(task), {})
    assert {axis.column for axis in candidates.allowed(candidates.alone("a"), [])} == seen


def test_how_far_a_sequence_has_come_is_asked_last_but_by_what_takes_it_further() -> None:
    """The sum of forty gaps that were drawn is not that of forty that were: what is drawn from it is drawn from wrong sums."""
    rng, entities = np.random.default_rng(5), 6000
    come, kind_before = rng.integers(0, 4, entities), rng.integers(0, 4, entities)
    otherwise = np.where(rng.random(entities) < 0.7, kind_before, rng.integers(0, 4, entities))
    kind = np.where(rng.random(entities) < 0.6, come, otherwise)
    gap = np.where(rng.random(entities) < 0.6, come, rng.integers(0, 4, entities))
    columns, history = Domain.of([("kind", 4), ("gap", 4)]), Domain.of([("kind[-1]", 5), ("come", 4)])
    codes = {"kind": kind, "gap": gap, "come": come, "kind[-1]": kind_before}
    arrays = {name: column.astype(np.uint8) for name, column in codes.items()}
    order = np.zeros(entities, dtype=np.int64)
    view = array_view(np.arange(entities), arrays, history.merge(columns), order=order, cap=1)
    lags = {"kind[-1]": ("kind", 1)}
    options = settle_options(PrivBayesModel(), {"first_rows": 0.0, "carry": 1.0})
    wanted = {True: {"kind": ("kind[-1]", "come"), "gap": ("come",)}, False: {"kind": ("come", "kind[-1]"), "gap": ("come",)}}
    for late, expected in wanted.items():
        task = Task("visits.rows", columns, history, options, lags, adds_up={"come": "gap"} if late else {})
        families = {family.column: family.parents for family in fit(view, task, 1e4)[0].families}
        looked_at = {name: tuple(axis.column for axis in families[name] if axis.column in history) for name in families}
        assert {name: looked_at[name][: len(parents)] for name, parents in expected.items()} == expected


def test_what_tells_first_rows_from_others_is_no_reason_to_look_at_it() -> None:
    """The gap of a first row is a code of its own: any column of the row before tells it, and only the pace tells more."""
    rng, entities, length = np.random.default_rng(3), 1500, 4
    position = np.tile(np.arange(length), entities)
    first, pace = position == 0, rng.integers(0, 3, entities * length)
    gap = np.where(first, 3, np.where(rng.random(len(pace)) < 0.5, pace, rng.integers(0, 3, len(pace))))
    codes = {"gap": gap, "kind": rng.integers(0, 4, len(pace)), "pace": pace}
    before = {f"{name}[-1]": np.where(first, size, np.roll(codes[name], 1)) for name, size in (("gap", 4), ("kind", 4))}
    columns, history = Domain.of([("gap", 4), ("kind", 4)]), Domain.of([("gap[-1]", 5), ("kind[-1]", 5), ("pace", 3)])
    arrays = {name: values.astype(np.uint8) for name, values in {**codes, **before}.items()}
    owner = np.repeat(np.arange(entities), length)
    view = array_view(owner, arrays, history.merge(columns), order=position, cap=length)
    levels = {name: (Coarsening(np.arange(5) == 4, 2),) for name in ("gap[-1]", "kind[-1]")}
    lags = {"gap[-1]": ("gap", 1), "kind[-1]": ("kind", 1)}
    options = settle_options(PrivBayesModel(), {"parents": 1, "first_rows": 0.0, "carry": 1.0})
    for begins, wanted in ((frozenset({"gap"}), {"gap[-1]", "pace"}), (frozenset[str](), {"kind[-1]"})):
        task = Task("visits.rows", columns, history, options, lags, begins=begins)
        model = fit(replace(view, coarsenings=levels), task)[0]
        (family,) = (family for family in model.families if family.column == "gap")
        seen = {axis.column for axis in family.parents}
        assert seen == wanted or (not begins and len(seen) == 1 and seen < {"gap[-1]", "kind[-1]"})
