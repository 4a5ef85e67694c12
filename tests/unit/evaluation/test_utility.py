"""Utility on cases that can be worked out by hand, and in the right order: real, synthetic, shuffled."""

from __future__ import annotations

import numpy as np
import pytest

from mare.evaluation.rates import Rate
from mare.evaluation.utility.assess import Utility
from mare.evaluation.utility.nist import gini, nist_scores, regression_columns, three_way_difference
from mare.evaluation.utility.queries import asked_on_both, generated
from mare.evaluation.utility.train_and_test import Learned, train_and_test
from tests.few_stays import SCHEMA, here, side
from tests.people import drawn_apart, people, vectors


def test_gini_by_hand() -> None:
    assert gini(np.array([5.0, 5.0, 5.0])) == pytest.approx(0)
    assert gini(np.array([0.0, 0.0, 0.0, 1.0])) == pytest.approx(3 / 4)
    assert gini(np.array([1.0, 3.0])) == pytest.approx(1 / 4)
    assert gini(np.array([])) == 0


def test_three_way_tables_differ_by_the_sum_of_their_cells() -> None:
    assert three_way_difference(np.array([0, 0, 1, 2]), np.array([0, 1])) == pytest.approx(0 + 1 / 4 + 1 / 4)
    assert three_way_difference(np.array([0]), np.array([5])) == pytest.approx(2)


def test_scores_of_the_challenge_are_between_shuffled_columns_and_other_people() -> None:
    real = people(1500, 1)
    for score in nist_scores(real, people(1500, 2), people(1500, 3), seed=0):
        assert score.holdout is not None
        assert 0 <= score.lower <= score.value <= score.upper <= 1_000_000
        assert score.value == pytest.approx(score.holdout, abs=150_000)
        if score.name == "clustering":
            assert score.value > score.shuffled
    names = [score.name for score in nist_scores(real, real, None, seed=0)]
    assert names == ["clustering", "classification", "regression"]
    assert [score.value for score in nist_scores(real, real, None, seed=0)] == pytest.approx([1e6] * 3)
    assert regression_columns(real) == (4, 5, 1)  # city, visits, sex


def test_training_on_alike_people_is_as_good_and_on_shuffled_columns_is_not() -> None:
    pytest.importorskip("sklearn")
    real, asked = people(250, 1).select([0, 2, 3]), people(250, 2).select([0, 2, 3])
    good = list(train_and_test(real, people(250, 3).select([0, 2, 3]), asked, seed=0))
    poor = list(train_and_test(real, drawn_apart(real, 4), asked, seed=0))
    assert {each.target for each in good} == {"ill"}
    assert len({each.classifier for each in good}) == 5
    assert np.mean([each.synthetic.value for each in good]) > np.mean([each.synthetic.value for each in poor]) + 0.1
    assert all(each.real.value > each.zero_rule.value for each in good)


def test_without_a_category_a_number_is_predicted() -> None:
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(0)
    sides = [vectors(a=rng.normal(0, 1, 60), b=rng.normal(0, 1, 60)) for _ in range(3)]
    assert {each.target for each in train_and_test(*sides, seed=0)} == {"a, above its median", "b, above its median"}


def test_odd_columns_are_no_obstacle() -> None:
    pytest.importorskip("sklearn")
    odd = vectors(
        constant=np.full(20, 2.0),
        nothing=np.full(20, np.nan),
        many=np.arange(0, 10_000, 500),
        two=np.arange(20) % 2,
        own=np.zeros(20, int),
    )
    for synthetic in (odd, odd.take([]), odd.take([1])):
        assert len(list(train_and_test(odd, synthetic, odd, seed=0))) == 5
        assert all(np.isfinite(score.value) for score in nist_scores(odd, synthetic, odd, seed=0))


def test_queries_join_what_belongs_together_and_are_asked_on_both_sides() -> None:
    asked = {question.name: question.sql for question in generated(SCHEMA)}
    joined = asked["stays: the mean of cost by patients.sex"]
    assert 'JOIN "patients" AS t1 ON t0."pid" = t1."pid"' in joined
    other = side([(1, "F", 30)], [(1, 1, "2001-01-01", "b", 12.0)], [])
    errors = {query.name: query for query in asked_on_both(SCHEMA, here(), other, here(), seed=0, most=1000)}
    query = errors["stays: the mean of cost by patients.sex"]
    # Women cost 6 on average and men 1: the other side says 12 and has no men.
    assert query.error == pytest.approx((6 + 1) / 7)
    assert query.holdout == pytest.approx(0)


def test_a_classifier_that_real_people_teach_nothing_has_no_say() -> None:
    """One that is worse than the most frequent value, taught by whomever: on NAFLD it said that -1 % is learned."""

    def learned(synthetic: float, real: float) -> Learned:
        return Learned("sex", "own columns", "naive Bayes", *(Rate(value, 0.01, 2000) for value in (synthetic, real, 0.5)))

    found = Utility((learned(0.6, 0.75), learned(0.1, 0.3), learned(0.505, 0.505)), (), (), ())
    assert found.kept_by_classifiers == pytest.approx(0.4)
    assert "real people teach 1 of 3 classifiers something: 40% of it is learned from synthetic ones, too" in "\n".join(
        found.words()
    )
    assert Utility((learned(0.1, 0.3),), (), (), ()).kept_by_classifiers is None
    worse = "\n".join(Utility((learned(0.2, 0.75),), (), (), ()).words())
    assert "something: synthetic ones teach nothing of it" in worse
