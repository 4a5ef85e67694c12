"""What the worlds share: the type of a database in memory, and days as a column."""

from __future__ import annotations

import pandas as pd

Frames = dict[str, pd.DataFrame]


def days(values: object) -> pd.Series:
    """A column of moments, NULL where there is none."""
    return pd.Series(pd.to_datetime(pd.Series(values).to_numpy())).dt.as_unit("us")
