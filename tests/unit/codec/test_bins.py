"""Bins partition a domain: every tick has one bin, and a drawn tick falls back into its bin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mare.codec.bins import Bins, bins_from_edges, make_bins
from mare.schema.columns import DEFAULT_BINS


@given(
    low=st.integers(-(10**12), 10**12),
    width=st.integers(0, 10**12),
    count=st.one_of(st.none(), st.integers(1, 300)),
    scale=st.sampled_from(["linear", "log"]),
    seed=st.integers(0, 9),
)
def test_bins_cover_the_domain_and_draws_fall_back_into_their_bin(low, width, count, scale, seed) -> None:
    bins = make_bins(low, low + width, count, scale)
    assert (bins.low, bins.high) == (low, low + width)
    assert bins.count <= width + 1
    if count is not None:
        assert bins.count <= count
    codes = np.arange(bins.count)
    drawn = bins.draw(codes, np.random.default_rng(seed))
    assert drawn.min() >= bins.low
    assert drawn.max() <= bins.high
    np.testing.assert_array_equal(bins.assign(drawn), codes)


def test_few_values_keep_a_code_each() -> None:
    assert make_bins(1, 31, None, "linear").count == 31


def test_many_values_get_the_default_number_of_bins() -> None:
    assert make_bins(0, 10**6, None, "linear").count == DEFAULT_BINS


def test_log_bins_widen() -> None:
    edges = np.diff(make_bins(0, 10**6, 12, "log").edges)
    assert (np.diff(edges) >= 0).all()
    assert edges[0] < edges[-1] / 1000


def test_values_outside_are_clamped() -> None:
    bins = make_bins(0, 9, 5, "linear")
    assert bins.assign(np.array([-100, 0, 9, 10**9])).tolist() == [0, 0, 4, 4]


def test_declared_edges_are_kept_and_those_outside_ignored() -> None:
    assert bins_from_edges(0, 99, [18, 65, 200, -4]).edges == (0, 18, 65, 100)


@pytest.mark.parametrize("edges", [(0,), (0, 0), (3, 2)])
def test_edges_that_are_none_are_refused(edges: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="strictly increasing"):
        Bins(edges)


def test_numbers_beyond_what_a_double_tells_apart_are_drawn_as_they_weigh() -> None:
    low = 2**59
    bins = Bins((low, low + 4), cells=tuple(range(low, low + 5)), weights=(0.0, 3.0, 1.0, 0.0))
    drawn = bins.draw(np.zeros(4000, dtype=np.intp), np.random.default_rng(1)) - low
    assert set(drawn) == {1, 2}
    assert abs((drawn == 1).mean() - 0.75) < 0.05
