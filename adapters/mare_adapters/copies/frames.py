"""Frames without some rows, in the dtypes that pandas would have given them had these rows never been there.

A frame that merely lost its rows would keep the dtypes that they had caused: `object` for a word among numbers, `float64` for a
missing one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mare.ports import RemovedRows

if TYPE_CHECKING:
    import pandas as pd

    from mare.finding import Location


def copy_frames(location: Location, folder: Path, removed: Mapping[str, RemovedRows]) -> Location:
    """In memory: the folder stays empty."""
    assert isinstance(location, Mapping)
    return {name: _copied(frame, removed[name]) if name in removed else frame for name, frame in location.items()}  # type: ignore[arg-type]


def _copied(frame: pd.DataFrame, rows: RemovedRows) -> pd.DataFrame:
    kept = frame.iloc[[place for place in range(len(frame)) if place not in rows.places]].infer_objects()
    return kept.assign(**{name: _whole(kept[name]) for name in kept.columns if _lost_its_gaps(frame[name], kept[name])})


def _lost_its_gaps(before: pd.Series[Any], now: pd.Series[Any]) -> bool:
    """Numbers with gaps are fractions to pandas; whole numbers without any are not."""
    return bool(before.dtype == "float64" and before.isna().any() and not now.isna().any() and (now % 1 == 0).all())


def _whole(numbers: pd.Series[Any]) -> pd.Series[Any]:
    return numbers.astype("int64") if (numbers.abs() < 2**53).all() else numbers
