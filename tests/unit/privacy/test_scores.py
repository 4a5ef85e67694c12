"""Scores: exact against rationals, and never moved by an entity further than was proved."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import floor

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mare.privacy.scores import distance, f_score, merged_tvd, rank_distance, tvd, tvd_to_released
from tests.conftest import examples

Table = NDArray[np.int64]

sizes = st.integers(0, 6) | st.integers(0, 2**20) | st.integers(0, 2**55)


@st.composite
def tables(draw: st.DrawFn, slices: int | None = None) -> Table:
    shape = (draw(st.integers(1, 4)), draw(st.integers(1, 4)), draw(st.integers(1, 3)) if slices is None else slices)
    cells = draw(st.lists(sizes, min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
    return np.array(cells, dtype=np.int64).reshape(shape)


@st.composite
def neighbours(draw: st.DrawFn, slices: int | None = None) -> tuple[Table, Table]:
    """A table, and what one entity adds to it."""
    table = draw(tables(slices))
    rows = draw(st.lists(st.tuples(st.integers(0, table.size - 1), st.integers(1, 40)), min_size=1, max_size=6))
    added = np.zeros(table.size, dtype=np.int64)
    for cell, weight in rows:
        added[cell] += weight
    return table, added.reshape(table.shape)


def slow_tvd(table: Table) -> int:
    """The formula as it is written, in fractions; each slice rounded down."""
    total = 0
    for p in range(table.shape[2]):
        c = [[int(v) for v in row] for row in table[:, :, p]]
        n = sum(map(sum, c))
        r, q = [sum(row) for row in c], [sum(col) for col in zip(*c, strict=True)]
        if n:
            distances = [abs(c[i][j] - Fraction(r[i] * q[j], n)) for i in range(len(r)) for j in range(len(q))]
            total += floor(sum(distances) / 2)
    return total


@given(tables())
def test_tvd_is_the_formula_to_the_last_unit(table: Table) -> None:
    assert tvd(table) == slow_tvd(table)


def test_an_empty_table_scores_nothing() -> None:
    assert tvd(np.zeros((3, 2, 2), dtype=np.int64)) == 0
    assert tvd_to_released(np.zeros((2, 2), dtype=np.int64), np.array([1, 1])) == 0
    assert f_score(np.zeros((2, 3), dtype=np.int64)) == 0


@given(st.lists(st.integers(1, 2**27), min_size=2, max_size=4), st.lists(st.integers(1, 2**27), min_size=2, max_size=4))
def test_independence_scores_nothing_where_floats_cannot_tell(rows: list[int], columns: list[int]) -> None:
    table = np.outer(rows, columns).astype(np.int64)
    assert tvd(table[:, :, None]) == 0
    assert tvd_to_released(table, np.array(rows, dtype=np.int64)) == 0


@pytest.mark.parametrize("step", [-1, 0, 1])
def test_a_single_unit_off_independence_is_seen_in_large_tables(step: int) -> None:
    side = 2**27 + 1
    table = np.array([[side * 3, side * 5], [side * 7, side * 35 // 3 + step]], dtype=np.int64)[:, :, None]
    assert tvd(table) == slow_tvd(table)


def test_perfect_dependence_scores_half_the_mass_of_two_even_values() -> None:
    assert tvd(np.array([[500, 0], [0, 500]], dtype=np.int64)[:, :, None]) == 500


@given(neighbours())
@example((np.array([[10**6, 0], [0, 0]]).reshape(2, 2, 1), np.array([[0, 0], [0, 40]]).reshape(2, 2, 1)))
def test_an_entity_moves_tvd_by_less_than_twice_its_mass(pair: tuple[Table, Table]) -> None:
    table, added = pair
    assert abs(tvd(table + added) - tvd(table)) <= 2 * added.sum()


def test_the_bound_on_tvd_is_nearly_reached() -> None:
    """A lower bound would be wrong: one entity at odds with a million others moves the score by 1.99999 of 2."""
    table, added = np.array([[10**12, 0], [0, 0]]), np.array([[0, 0], [0, 2**20]])
    moved = tvd((table + added)[:, :, None]) - tvd(table[:, :, None])
    assert 1.9999 * 2**20 < moved <= 2 * 2**20


def test_slices_cannot_add_up_to_more_than_the_whole_entity() -> None:
    """A row in each of three slices: the masses add up, so do the bounds."""
    table = np.zeros((2, 2, 3), dtype=np.int64)
    table[0, 0, :] = 10**9
    added = np.zeros_like(table)
    added[1, 1, :] = 10
    moved = tvd(table + added) - tvd(table)
    assert 1.99 * 30 - 3 < moved <= 2 * 30


def slow_merged(table: Table) -> Fraction:
    """As the formula says, unrounded."""
    differences = Fraction(0)
    for x, q in np.ndindex(table.shape[:2]):
        left, right, total = table.sum(axis=1)[x], table.sum(axis=0)[q], table.sum(axis=(0, 1))
        slices = [Fraction(int(r) * int(c), int(n)) if n else 0 for r, c, n in zip(left, right, total, strict=True)]
        differences += abs(int(table[x, q].sum()) - sum(slices))
    return differences / 2


@given(neighbours())
@example((np.array([[2**58, 3], [5, 2**57]]).reshape(2, 2, 1), np.array([[0, 0], [0, 40]]).reshape(2, 2, 1)))
def test_merged_an_entity_moves_tvd_by_twice_its_mass_and_a_unit_a_cell(pair: tuple[Table, Table]) -> None:
    table, added = pair
    before, after = merged_tvd(table), merged_tvd(table + added)
    assert abs(after - before) <= 2 * added.sum() + table.size + 1
    assert abs(before - slow_merged(table)) <= table.size


def test_merged_what_differs_from_case_to_case_cancels_out_and_what_is_the_same_adds_up() -> None:
    same, other = np.array([[60, 40], [40, 60]], dtype=np.int64), np.array([[40, 60], [60, 40]], dtype=np.int64)
    assert merged_tvd(np.stack([same, other], axis=2)) == 0 < tvd(np.stack([same, other], axis=2))
    assert merged_tvd(np.stack([same, same], axis=2)) == tvd(np.stack([same, same], axis=2)) == 20 * 2


@given(neighbours(slices=1), st.lists(st.integers(0, 2**40), min_size=4, max_size=4).filter(lambda p: p[0] > 0))
def test_against_a_released_distribution_an_entity_moves_it_by_its_mass(pair: tuple[Table, Table], released: list[int]) -> None:
    table, added = pair[0][:, :, 0], pair[1][:, :, 0]
    public = np.array(released[: len(table)], dtype=np.int64)
    before, after = tvd_to_released(table, public), tvd_to_released(table + added, public)
    assert abs(after - before) <= added.sum()
    total = int(public.sum())
    columns = table.sum(axis=0)
    expected = sum(abs(int(table[x, q]) - Fraction(int(columns[q]) * int(public[x]), total)) for x, q in np.ndindex(table.shape))
    assert before == floor(expected / 2)


def test_the_bound_against_a_released_distribution_is_reached() -> None:
    public = np.array([1, 0])
    assert tvd_to_released(np.array([[5, 0], [0, 7]]), public) - tvd_to_released(np.array([[5, 0], [0, 0]]), public) == 7


def brute_f(table: Table) -> Fraction:
    """F over whole choices only: each parent value on one side."""
    n = int(table.sum())
    best = None
    for sides in product((0, 1), repeat=table.shape[1]):
        k = [sum(int(table[side, i]) for i, chosen in enumerate(sides) if chosen == side) for side in (0, 1)]
        value = sum(max(Fraction(0), Fraction(n, 2) - one) for one in k)
        best = value if best is None else min(best, value)
    assert best is not None
    return -best


def lp_f(table: Table) -> Fraction:
    """F with splitting, by its dual: -max over λ in [0,1]² of (λ₀ + λ₁)·n/2 - Σ max(λ₀·c₀, λ₁·c₁). Its corners are enough."""
    n = int(table.sum())
    zeros, ones = table[0].tolist(), table[1].tolist()
    ratios = [(Fraction(1), Fraction(0)), (Fraction(0), Fraction(1)), (Fraction(1), Fraction(1)), (Fraction(0), Fraction(0))]
    for zero, one in zip(zeros, ones, strict=True):
        largest = max(zero, one)
        if largest:
            ratios.append((Fraction(one, largest), Fraction(zero, largest)))
    return -max((a + b) * n / 2 - sum(max(a * z, b * o) for z, o in zip(zeros, ones, strict=True)) for a, b in ratios)


binary = st.integers(1, 6).flatmap(
    lambda width: st.lists(st.integers(0, 30) | sizes, min_size=2 * width, max_size=2 * width).map(
        lambda cells: np.array(cells, dtype=np.int64).reshape(2, -1)
    )
)


@given(binary)
@settings(max_examples=examples(300))
def test_f_is_its_dual_and_never_below_the_knapsack_nor_a_cell_above_it(table: Table) -> None:
    score = f_score(table)
    assert score == floor(lp_f(table))
    whole = brute_f(table)
    assert floor(whole) <= score <= whole + int(table.max(initial=0))


def test_f_is_zero_where_the_parent_says_the_child_and_both_are_even() -> None:
    assert f_score(np.array([[6, 0, 4], [0, 10, 0]])) == 0
    assert f_score(np.array([[5, 5], [5, 5]])) == -10


@given(binary, st.lists(st.integers(0, 50), min_size=12, max_size=12).filter(any))
@settings(max_examples=examples(300))
def test_an_entity_moves_f_by_at_most_its_mass(table: Table, rows: list[int]) -> None:
    added = np.array(rows[: table.size], dtype=np.int64).reshape(table.shape)
    assert abs(f_score(table + added) - f_score(table)) <= added.sum()


def test_the_bound_on_f_is_reached() -> None:
    """Both values were matched in full; a row that no choice matches makes both halves short."""
    table = np.array([[10, 0], [0, 10]])
    assert f_score(table) - f_score(table + np.array([[0, 4], [0, 0]])) == 4


@given(
    neighbours(slices=1),
    st.lists(st.integers(-5, 2**30), min_size=16, max_size=16),
    st.integers(0, 2**24),
)
def test_an_entity_moves_a_distance_by_its_weighted_mass(pair: tuple[Table, Table], reference: list[int], weight: int) -> None:
    table, added = pair[0].ravel(), pair[1].ravel()
    public = np.array(reference[: table.size], dtype=np.int64)
    before, after = (distance(one, public, weight, 20) for one in (table, table + added))
    assert before == floor(Fraction(weight * sum(abs(int(a) - int(b)) for a, b in zip(table, public, strict=True)), 2**20))
    assert abs(after - before) <= -(-weight * int(added.sum()) >> 20)


@given(st.lists(st.integers(0, 400), max_size=20), st.integers(0, 400), st.integers(0, 400), st.integers(0, 20))
def test_an_entity_moves_the_rank_of_norms_by_one(norms: list[int], more: int, limit: int, rank: int) -> None:
    before = rank_distance(np.array(norms, dtype=np.int64), limit, rank)
    assert before == -abs(sum(norm > limit for norm in norms) - rank)
    assert abs(rank_distance(np.array([*norms, more], dtype=np.int64), limit, rank) - before) <= 1
