"""The counting kernel against plain Python: every axis, weights, chunks of any length, domains that are never laid out."""

from __future__ import annotations

import sys
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mare.domain import Axis, Coarsening, Domain, Marginal
from mare.errors import InternalError, PrivacyError
from mare.stage import kernel
from mare.stage.kernel import compiled_loops
from tests.unit.privacy.listed_view import ListedView
from tests.views import ArrayView, array_view

DOMAIN = Domain.of([("ward", 3), ("age", 4)])
LEVELS = {"age": (Coarsening(np.array([0, 0, 1, 1]), 2), Coarsening(np.array([0, 0, 0, 0]), 1))}

axes = st.one_of(
    st.builds(Axis, st.just("ward"), lag=st.integers(0, 3), same_as_lag=st.integers(0, 2)),
    st.builds(Axis, st.just("age"), level=st.integers(0, 2), new_since=st.integers(1, 2)),
    st.builds(Axis, st.just("age"), lag=st.integers(0, 3), level=st.integers(0, 2), same_as_lag=st.integers(0, 2)),
)
marginals = st.lists(axes, max_size=3, unique=True).map(lambda a: Marginal(tuple(a)))
rows = st.lists(st.tuples(st.integers(1, 6), st.integers(0, 2), st.integers(0, 3)), max_size=30).map(
    lambda r: sorted(r, key=lambda row: row[0])
)
chunks = st.integers(1, 40)


def both(listed: list[tuple[int, int, int]], everyone: int = 8) -> tuple[ArrayView, ListedView]:
    """The same rows twice. Entities without rows come last, as the oracle has them."""
    owners = [entity for entity, _, _ in listed]
    people = sorted(set(owners)) + [100 + i for i in range(everyone - len(set(owners)))]
    columns = {"ward": [w for _, w, _ in listed], "age": [a for _, _, a in listed]}
    fast = array_view(owners, columns, DOMAIN, everyone=people, memory=5, coarsenings=LEVELS)
    slow = ListedView(tuple((e, (w, a)) for e, w, a in listed), everyone, DOMAIN, 30, memory=5, coarsenings=LEVELS)
    return fast, slow


compiled_from = st.sampled_from([0, kernel.COMPILED_FROM])
"""Everything by the compiled loops, or (so few rows) everything by numpy."""


@given(
    rows,
    st.lists(marginals, max_size=4),
    chunks,
    compiled_from,
    st.none() | st.lists(st.integers(0, 2**20), min_size=8, max_size=8),
)
def test_counts_are_those_of_plain_python(
    listed: list[tuple[int, int, int]], asked: list[Marginal], chunk: int, compiled: int, factors: list[int] | None
) -> None:
    fast, slow = both(listed)
    weights = None if factors is None else np.array(factors, dtype=np.int64)
    with patch.object(kernel, "CHUNK", chunk), patch.object(kernel, "COMPILED_FROM", compiled):
        answers = fast.counts(asked, weights)
        sparse = [fast.sparse_counts(marginal, weights) for marginal in asked]
    for dense, expected in zip(answers, slow.counts(asked, weights), strict=True):
        assert dense.dtype == np.int64
        np.testing.assert_array_equal(dense, expected)
    for (cells, counts), marginal in zip(sparse, asked, strict=True):
        expected_cells, expected_counts = slow.sparse_counts(marginal, weights)
        assert cells.dtype == counts.dtype == np.int64
        np.testing.assert_array_equal(cells, expected_cells)
        np.testing.assert_array_equal(counts, expected_counts)


@given(rows, st.lists(marginals, max_size=4), chunks, compiled_from)
def test_rows_and_norms_per_entity_are_those_of_plain_python(
    listed: list[tuple[int, int, int]], asked: list[Marginal], chunk: int, compiled: int
) -> None:
    fast, slow = both(listed)
    with patch.object(kernel, "CHUNK", chunk), patch.object(kernel, "COMPILED_FROM", compiled):
        np.testing.assert_array_equal(fast.rows_per_entity(), slow.rows_per_entity())
        np.testing.assert_array_equal(fast.squared_norms(asked), slow.squared_norms(asked))


wide = st.lists(st.tuples(st.integers(1, 5), st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1)), min_size=1, max_size=40)


@given(wide, st.sampled_from([2**31, 2**32]), chunks, st.booleans())
def test_domains_that_nobody_could_lay_out_are_counted_sparsely(
    listed: list[tuple[int, int, int]], size: int, chunk: int, weighted: bool
) -> None:
    domain = Domain.of([("a", size), ("b", 2**31)])
    view = array_view([e for e, _, _ in listed], {"a": [a for _, a, _ in listed], "b": [b for _, _, b in listed]}, domain)
    weights = np.arange(len(view.entity_ids), dtype=np.int64) if weighted else None
    expected: dict[int, int] = {}
    own: dict[tuple[int, int], int] = {}
    for entity, a, b in listed:
        cell, place = a * 2**31 + b, int(np.searchsorted(view.entity_ids, entity))
        expected[cell] = expected.get(cell, 0) + (place if weighted else 1)
        own[place, cell] = own.get((place, cell), 0) + 1
    norms = np.zeros(len(view.entity_ids), dtype=np.int64)
    for (place, _), count in own.items():
        norms[place] += count * count
    with patch.object(kernel, "CHUNK", chunk):
        cells, counts = view.sparse_counts(Marginal.of("a", "b"), weights)
        found = view.squared_norms([Marginal.of("a", "b")])
    assert dict(zip(cells.tolist(), counts.tolist(), strict=True)) == {cell: n for cell, n in expected.items() if n}
    assert cells.tolist() == sorted(cells.tolist())
    np.testing.assert_array_equal(found, norms)


def test_no_rows_give_zeros_and_no_cells() -> None:
    fast, _ = both([])
    assert fast.rows_per_entity().tolist() == fast.squared_norms([Marginal.of("ward")]).tolist() == [0] * 8
    assert fast.counts([Marginal.of("ward"), Marginal.of()])[0].tolist() == [0, 0, 0]
    for domain in (DOMAIN, Domain.of([("ward", 2**40), ("age", 2**20)])):
        view = array_view([], {"ward": [], "age": []}, domain, everyone=[1])
        for weights in (None, np.array([3])):
            assert [part.tolist() for part in view.sparse_counts(Marginal.of("ward", "age"), weights)] == [[], []]


def test_sums_beyond_a_double_are_still_exact() -> None:
    view = array_view([1, 1, 2], {"ward": [0, 0, 0], "age": [0, 0, 0]}, DOMAIN)
    weights = np.array([2**53 + 1, 1], dtype=np.int64)
    assert view.counts([Marginal.of("ward")], weights)[0].tolist() == [2**54 + 3, 0, 0]


@pytest.mark.parametrize(
    ("weights", "error", "said"),
    [
        (np.array([1, -1]), PrivacyError, "negative"),
        (np.array([2**62, 1]), PrivacyError, "overflow"),
        (np.array([0.5, 1.0]), InternalError, "float64"),
        (np.array([1, 1, 1]), InternalError, "one int64 per entity"),
    ],
)
def test_weights_that_are_none_are_refused(weights: np.ndarray, error: type[Exception], said: str) -> None:
    view = array_view([1, 2], {"ward": [0, 1], "age": [0, 1]}, DOMAIN)
    with pytest.raises(error, match=said):
        view.counts([Marginal.of("ward")], weights)
    with pytest.raises(error, match=said):
        view.sparse_counts(Marginal.of("ward"), weights)


def test_a_code_outside_its_domain_is_a_bug_and_is_not_counted_elsewhere() -> None:
    view = array_view([1], {"ward": [3], "age": [0]}, DOMAIN)
    with pytest.raises(InternalError, match="'ward' holds a code outside its domain of 3"):
        view.counts([Marginal.of("ward", "age")])


def test_tables_beyond_their_limits_are_refused() -> None:
    view = array_view([1], {"ward": [0], "age": [0]}, Domain.of([("ward", 2**33), ("age", 2**31)]))
    with pytest.raises(InternalError, match="dense"):
        view.counts([Marginal.of("ward")])
    with pytest.raises(InternalError, match="63 bits"):
        view.sparse_counts(Marginal.of("ward", "age"))
    with pytest.raises(InternalError, match="63 bits"):
        view.squared_norms([Marginal.of("ward", "age")])


def test_rows_without_an_order_cannot_look_back() -> None:
    view = array_view([1], {"ward": [0], "age": [0]}, DOMAIN, memory=0)
    with pytest.raises(InternalError, match="no order"):
        view.counts([Marginal((Axis("ward", lag=1),))])


def test_the_compiled_loops_are_there_and_are_used_where_there_is_much_to_count() -> None:
    """They are installed with the tests: what is held against plain Python above is what a large fit runs."""
    loops = compiled_loops()
    assert loops is not None
    many = both([(1, 0, 0)] * 20)[0].coded
    with patch.object(kernel, "COMPILED_FROM", 20):
        assert kernel._loops(many, [Marginal.of("ward")]) is loops
        assert kernel._loops(many, [Marginal(tuple(Axis("age", lag=lag) for lag in range(5)))]) is None
    assert kernel._loops(many, [Marginal.of("ward")]) is None


def test_without_a_compiler_numpy_counts() -> None:
    listed = [(1, 0, 1), (1, 0, 2), (2, 1, 1)]
    fast, slow = both(listed)
    with patch.object(kernel, "COMPILED_FROM", 0), patch.object(kernel, "compiled_loops", lambda: None):
        np.testing.assert_array_equal(fast.counts([Marginal.of("ward")])[0], slow.counts([Marginal.of("ward")])[0])


def test_a_compiler_that_cannot_be_loaded_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """numba refuses to be imported beside a numpy that it does not know: a fit then takes longer, and does not fail."""
    (tmp_path / "numba.py").write_text("raise ImportError('Numba needs NumPy 2.2 or less. Got NumPy 9.9.')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    assert compiled_loops.__wrapped__() is None
