"""Bins of equal width (or logarithm) where none were learned: for pools, whose rows are made up, and for schemas alone."""

from __future__ import annotations

from dataclasses import replace

from .bins import Bins, OpenBins, make_bins
from .building import ColumnCodec, TableCodec
from .ordinal import OrdinalCodec
from .relative import FirstCodec, RelativeCodec, whole_bins
from .scaled import ScaledCodec


def even_bins(placed: Bins | OpenBins) -> Bins | OpenBins:
    """Equal bins between bounds that are known. Bounds that are to be learned stay open."""
    if isinstance(placed, Bins) or placed.low is None or placed.high is None:
        return placed
    return whole_bins(placed.most) if placed.closes else make_bins(placed.low, placed.high, placed.wanted, placed.scale)


def evenly(codec: TableCodec) -> TableCodec:
    """The same codecs, with even bins wherever bins were left to be learned."""
    return TableCodec(codec.table, {name: _even(one) for name, one in codec.columns.items()})


def _even(one: ColumnCodec) -> ColumnCodec:
    if isinstance(one, OrdinalCodec):
        return replace(one, placed=even_bins(one.placed))
    if isinstance(one, RelativeCodec):
        first = None if one.first is None else _even_first(one.first)
        return replace(one, placed=even_bins(one.placed), first=first)
    if isinstance(one, ScaledCodec):
        return replace(one, items=tuple(replace(item, placed=even_bins(item.placed)) for item in one.items))
    return one


def _even_first(first: FirstCodec) -> FirstCodec:
    lasting = None if first.lasting is None else even_bins(first.lasting)
    return replace(first, placed=even_bins(first.placed), lasting=lasting)
