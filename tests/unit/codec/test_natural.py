"""Numbers in texts stand in their place, in SQL as in Python."""

from __future__ import annotations

import duckdb
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from mare.codec.natural import natural_sql, naturally


@given(st.lists(st.text("ab _-.0129", max_size=30), min_size=1, max_size=20))
def test_a_fit_and_a_sampler_order_texts_alike(texts: list[str]) -> None:
    held = pa.table({"t": texts})
    assert held.num_rows == len(texts)
    written = duckdb.sql(f"SELECT {natural_sql('t')} AS n FROM held").fetchall()
    short = [text for text in texts if all(len(run) <= 12 for run in "".join(c if c.isdigit() else " " for c in text).split())]
    made = dict(zip(texts, (text for (text,) in written), strict=True))
    assert [made[text] for text in short] == naturally(pa.array(short, pa.string())).to_pylist()


def test_numbers_stand_in_their_place() -> None:
    texts = pa.array(["baseline", "month_3", "month_12", "month_12_day_2", "month_12_day_10", "v9", "v10", None])
    ordered = naturally(texts).to_pylist()[:-1]
    assert ordered == sorted(ordered)
    numbers = pa.array([2, 10])
    assert naturally(numbers) is numbers
