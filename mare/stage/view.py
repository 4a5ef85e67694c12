"""`StagedView`: exact answers over staged codes, for the curator alone. It implements `mare.privacy.view.PrivateView`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
from numpy.typing import NDArray

from mare.domain import Axis, CodeArray, Domain, Marginal
from mare.errors import InternalError
from mare.release.placing import Index

LARGEST_TABLE = 1 << 27
"""Cells of a dense cross-tab. More than this is not counted densely."""


def _nothing(name: str) -> CodeArray:
    raise InternalError(f"the view has no column {name!r}")


@dataclass(frozen=True, eq=False)
class StagedView:
    """The rows of one column group: one per owned row, each with its entity."""

    name: str
    domain: Domain
    max_rows_per_entity: int
    """S: the cap that truncation has enforced, as the plan derived it. Not measured here."""
    all_entities: int
    owner: Index
    """Of each row, its entity."""
    columns: Mapping[str, CodeArray]
    look: Callable[[str], CodeArray] = field(default=_nothing)
    """Finds a column that is not among ``columns``: history is gathered when it is asked for."""

    def largest_entity(self) -> int:
        return int(np.bincount(self.owner, minlength=1).max(initial=0))

    def entities(self) -> int:
        return self.all_entities

    def counts(self, marginals: Sequence[Marginal]) -> list[NDArray[np.int64]]:
        known: dict[str, CodeArray] = {}
        return [self._count(marginal, known) for marginal in marginals]

    def _count(self, marginal: Marginal, known: dict[str, CodeArray]) -> NDArray[np.int64]:
        shape = tuple(self._size(axis) for axis in marginal.axes)
        cells = prod(shape)
        if cells > LARGEST_TABLE:
            raise InternalError(f"a cross-tab of {cells:,} cells was asked of {self.name}; at most {LARGEST_TABLE:,} are counted")
        index = np.zeros(len(self.owner), dtype=np.int64)
        for axis, size in zip(marginal.axes, shape, strict=True):
            index *= size
            index += self._codes(axis.column, known)
        return np.bincount(index, minlength=cells).astype(np.int64).reshape(shape)

    def _size(self, axis: Axis) -> int:
        if axis.lag or axis.level or axis.same_as_lag:
            raise InternalError(f"axis {axis.column!r}: lags, levels and predicates are not counted yet")
        return self.domain.size(axis.column)

    def _codes(self, name: str, known: dict[str, CodeArray]) -> CodeArray:
        if name not in known:
            known[name] = self.columns[name] if name in self.columns else self.look(name)
        return known[name]
