"""When, for what and by whom: one line each, whatever was typed, and the same bytes for the same words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from mare.errors import BudgetError
from mare.privacy.occasion import Occasion, one_line, utc


def test_a_moment_is_written_in_utc() -> None:
    assert utc(datetime(2026, 3, 14, 9, 26, 53, 589_793, tzinfo=UTC)) == "2026-03-14T09:26:53Z"
    assert utc(datetime(2026, 3, 14, 0, 30, tzinfo=timezone(timedelta(hours=1)))) == "2026-03-13T23:30:00Z"


def test_a_moment_without_a_zone_is_refused() -> None:
    with pytest.raises(BudgetError, match="without a zone"):
        utc(datetime(2026, 3, 14))


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("  a course\n for\tstudents ", "a course for students"),
        ("red \x1b[31mtext\x07", "red [31mtext"),
        ("Ärztin × 2", "Ärztin × 2"),
        ("half \ud800 a character", "half ? a character"),
        ("right to \u202eleft", "right to left"),
    ],
)
def test_nothing_that_was_typed_breaks_a_line_or_moves_a_cursor(typed: str, kept: str) -> None:
    assert one_line(typed) == kept
    assert Occasion(purpose=typed, by=typed) == Occasion(purpose=kept, by=kept)


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(TypeError):
        Occasion.read({"at": 20260314})
    assert Occasion.read(None) == Occasion()
