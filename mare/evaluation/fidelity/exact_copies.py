"""Exact copies: rows that equal a real one in everything but keys, and entities all of whose rows do.

A copy need not be a leak: short rows of few values repeat by chance, and a hold-out's do too. More than the hold-out has is a
sign.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mare.evaluation.measured import Copies, SetName
from mare.evaluation.sides import starts_of

from .coded_sets import Coded, CodedSet, Hashes, scrambled

_MASK, _SHIFTS = np.uint64((1 << 24) - 1), (np.uint64(40), np.uint64(16))
FEWEST_COLUMNS = FEWEST_ROWS = 3
"""Rows of fewer columns, and entities of fewer rows, are alike by chance."""


def copies(coded: Coded) -> tuple[tuple[Copies, ...], dict[SetName, int]]:
    """Of each table the share of copied rows; and how many entities are copied whole."""
    real = coded.sets["real"]
    shares: list[Copies] = []
    for table, listed in coded.features.items():
        columns = sum(feature.how in ("column", "moment") for feature in listed)
        if columns < FEWEST_COLUMNS:
            continue
        known = real.hashes[table]
        hashes = {name: coded.sets[name].hashes[table] for name in coded.others}
        shared = {name: _among(held, known) / max(1, len(held)) for name, held in hashes.items()}
        shares.append(Copies(table, columns, shared))
    known = _whole(real)
    return tuple(shares), {name: _among(_whole(coded.sets[name]), known) for name in coded.others}


def _among(hashes: Hashes, known: Hashes) -> int:
    """How many of them are among the known ones. By some of their bits most have no equal; the rest are looked up."""
    for shift in _SHIFTS:
        hashes = hashes[_bits_there(known, shift)[_bits(hashes, shift)]]
        known = known[_bits_there(hashes, shift)[_bits(known, shift)]]
    return int(np.isin(hashes, known).sum())


def _bits(hashes: Hashes, shift: np.uint64) -> Hashes:
    return (hashes >> shift) & _MASK


def _bits_there(hashes: Hashes, shift: np.uint64) -> NDArray[np.bool_]:
    there = np.zeros(int(_MASK) + 1, dtype=np.bool_)
    there[_bits(hashes, shift)] = True
    return there


def same_rows(coded: CodedSet, other: CodedSet) -> bool:
    """Whether both hold the same rows, whatever their order and their keys."""
    return all(
        len(coded.side.entity[table]) == len(other.side.entity[table])
        and (table not in coded.hashes or np.array_equal(np.sort(coded.hashes[table]), np.sort(other.hashes[table])))
        for table in coded.side.tables
    )


def _whole(held: CodedSet) -> Hashes:
    """Of each entity with enough rows, one number of all of them, whatever their order."""
    side = held.side
    total, rows = np.zeros(side.entities, dtype=np.uint64), np.zeros(side.entities, dtype=np.int64)
    for place, (table, hashes) in enumerate(held.hashes.items()):
        order = side.order[table]
        order = order[side.entity[table][order] >= 0]
        if not len(order):
            continue
        owner = side.entity[table][order]
        starts = starts_of(owner)
        total[owner[starts]] += np.add.reduceat(scrambled(hashes[order] + np.uint64(place)), starts)
        rows[owner[starts]] += np.diff(starts, append=len(order))
    return total[rows >= FEWEST_ROWS]
