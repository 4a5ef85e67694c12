"""`Axis` and `Marginal`: what may be counted, said without any data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Axis:
    """One axis of a cross-tab over the rows of a view.

    ``column`` is a name of the view's domain. A history column is an axis like any other: the view joins it
    upwards (n:1), so no row is counted twice.
    """

    column: str
    lag: int = 0
    """0 is the row itself; k is the row k steps earlier in the same sequence. Where no such row is, the code is one more
    than the column has: the last."""
    level: int = 0
    """0 is the column as coded; k is its k-th public coarsening."""
    same_as_lag: int = 0
    """When positive the axis is the row-local predicate "equal to its own value that many rows earlier": 0 different,
    1 the same, 2 one of the two rows is not there."""
    new_since: int = 0
    """When positive the axis is the value where it is new: where the row that many earlier has another one, or is not there.
    Where that row has the same, the code is one more than the column has: the last."""

    def __post_init__(self) -> None:
        if min(self.lag, self.level, self.same_as_lag, self.new_since) < 0:
            raise ValueError(f"axis {self.column!r}: lag, level, same_as_lag and new_since are never negative")
        if self.new_since and (self.lag or self.same_as_lag):
            raise ValueError(f"axis {self.column!r}: what is new is told of the row itself, without lag and same_as_lag")


@dataclass(frozen=True)
class Marginal:
    """A cross-tab of one or more axes, in this order."""

    axes: tuple[Axis, ...]

    def __post_init__(self) -> None:
        if len(set(self.axes)) != len(self.axes):
            raise ValueError(f"an axis occurs twice in {self.axes}")

    @classmethod
    def of(cls, *columns: str) -> Marginal:
        """The plain case: columns of the row itself, uncoarsened."""
        return cls(tuple(Axis(c) for c in columns))
