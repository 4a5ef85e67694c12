"""Text as moments: what is read at once says the same as what is read one by one."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from mare.codec.parsing import moments

FORMS = [
    "%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%d %H:%M:%S.%f789", " %Y-%m-%d ",
    "%Y%m%d", "%Y-%m-%dT%H:%M:%S+02:00", "%Y-%m-%d %H", "%Y-%m-%dt%H:%M", "%Y-%m-%d 24:00", "%Y-%m-%d %H:%M:%S.1",
]  # fmt: skip
ODD = [
    "",
    "x",
    None,
    "2021-02-30",
    "2020-02-29",
    "1900-02-29",
    "2021-04-31",
    "2021-12-31",
    "0000-01-01",
    "0001-01-01",
    "2020-13-01",
]
ODD += ["2020-01-01 10:60", "2020-01-01 10:00:60", "2020-01-01 24:00", "9999-12-28 23:59:59.999999", "२०२०-01-01", "2020-01-01\n"]


def one_by_one(text: str | None) -> datetime | None:
    try:
        found = datetime.fromisoformat((text or "").strip())
    except ValueError:
        return None
    return found if found.tzinfo is None else found.astimezone(UTC).replace(tzinfo=None)


def test_a_moment_that_no_calendar_has_in_utc_is_none() -> None:
    texts = ["0001-01-01T00:00:00+05:00", "9999-12-31 23:59:59-05:00", "2020-01-01T00:00:00+05:00"]
    assert moments(pa.array(texts)).to_pylist() == [None, None, datetime(2019, 12, 31, 19)]
    assert moments(pa.array(texts[:1]), ["%Y-%m-%dT%H:%M:%S%z"]).to_pylist() == [None]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_moments_are_read_as_python_reads_them(kind: pa.DataType) -> None:
    chance = random.Random(4)
    days = [datetime(1000, 1, 1) + timedelta(days=chance.randrange(3_280_000), microseconds=chance.randrange(86_400_000_000))
            for _ in range(2000)]  # fmt: skip
    texts = [*ODD, *(day.strftime(chance.choice(FORMS)) for day in days)]
    wanted = [one_by_one(text) for text in texts]
    assert 500 < sum(moment is not None for moment in wanted) < len(texts)
    assert moments(pa.array(texts, kind), None).to_pylist() == wanted
