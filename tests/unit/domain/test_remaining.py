"""Rows to come: the last ones are told apart each, those before them by doublings."""

from __future__ import annotations

import numpy as np

from mare.domain import remaining_codes, remaining_size, usual_size


def test_the_last_rows_have_a_code_each_and_earlier_ones_share_theirs() -> None:
    rows = np.array([0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32])
    assert remaining_codes(rows, 9).tolist() == [0, 1, 2, 3, 4, 4, 5, 5, 6, 6, 7]


def test_what_is_more_than_the_codes_tell_has_the_last_one() -> None:
    assert remaining_codes(np.array([3, 4, 1000, 10**12]), 5).tolist() == [3, 4, 4, 4]
    assert remaining_codes(np.array([0, 5]), 1).tolist() == [0, 0]


def test_every_code_of_a_cap_is_reached_and_none_lies_beyond() -> None:
    for most in (0, 1, 3, 4, 5, 39, 99, 1000):
        codes = remaining_codes(np.arange(most + 1), remaining_size(most))
        assert sorted(set(codes.tolist())) == list(range(remaining_size(most)))


def test_short_sequences_keep_to_the_few_codes_and_long_ones_get_more() -> None:
    assert [usual_size(length) for length in (0.0, 1.5, 3.5, 4.0, 25.0)] == [5, 5, 5, 6, 8]
