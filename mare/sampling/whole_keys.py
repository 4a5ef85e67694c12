"""Keys of several columns that were drawn column by column, brought together to keys that the public table has.

    codes of the columns ─► which keys there are ─► **codes of a key that there is**

What a row has from above stays, and so does a column as long as some key goes on from those before it: the station is drawn again
among those of the site, by how frequent its numbers are. So a site never gives way to a station.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mare.domain import RowDraws, purpose_of
from mare.relational.placing import NOWHERE, Index, written_codes
from mare.relational.relations import WholeKey, Words
from mare.schema.layout import Above

from .given_columns import key_texts
from .run import OWN_PARTS, Run

_RARE = 1e-6
"""The weight of what was never counted, beside what was."""


def bring_together(run: Run, table: str, rows: Index, label: str = "") -> None:
    """Mend the codes of these rows in place."""
    for number, whole in enumerate(run.related(table).wholes if len(rows) else ()):
        if len(whole.keys):
            _bring_together(run, table, whole, rows, f"{number} {label}")


def _bring_together(run: Run, table: str, whole: WholeKey, rows: Index, label: str) -> None:
    order = sorted(range(len(whole.parts)), key=lambda place: isinstance(whole.parts[place], str))
    listed = [np.unique([key[place] for key in whole.keys.keys]).tolist() for place in order]
    held = [_held(run, table, whole.parts[place], texts, rows) for place, texts in zip(order, listed, strict=True)]
    known = np.logical_and.reduce([numbers != NULL for numbers in held])
    number_of = [{text: number for number, text in enumerate(texts)} for texts in listed]
    keys = np.array([[number_of[i][key[place]] for i, place in enumerate(order)] for key in whole.keys.keys], dtype=np.int64)
    draws = RowDraws(run.keys[table], purpose_of(f"whole key {table}.{label}"))
    begun, branches = np.zeros(len(rows), dtype=np.int64), np.zeros(len(whole.keys), dtype=np.int64)
    for level, place in enumerate(order):
        # Which branch of the tree of keys a row is on, and on which it goes on.
        steps, branch_of = np.unique(np.stack([branches, keys[:, level]], axis=1), axis=0, return_inverse=True)
        ids, size = steps[:, 0] * len(listed[level]) + steps[:, 1], len(listed[level])
        wanted = begun * size + held[level]
        at = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
        lost = known & ((ids[at] != wanted) | (held[level] < 0))
        part = whole.parts[place]
        if isinstance(part, Above):
            known &= ~lost  # what is above stays what it is, whatever the table lacks
        elif lost.any():
            words = run.related(table).reference(part)
            assert isinstance(words, Words)
            again = np.flatnonzero(lost)
            at[again] = _draw(steps, _weights(words, listed[level]), begun[again], draws.at(part, rows[again]).random())
            _write(run, table, part, words, listed[level], rows[again], steps[at[again], 1])
        begun, branches = np.where(known, at, 0), np.ravel(branch_of)


NULL = -2


def _held(run: Run, table: str, part: str | Above, texts: Sequence[str], rows: Index) -> Index:
    """Of each row, the number of what it has there; below 0 where the table has no such key, or it is NULL."""
    number = {text: place for place, text in enumerate(texts)}
    if isinstance(part, str):
        return _numbers(run, table, part, number)[written_codes(run.tables[table])[part][rows]]
    above = run.placed.climb(rows, table, part.table)
    given, column = run.chunk.given.get(part.table), part.part.columns[0]
    if given is not None and run.made.given is not None and column in (columns := run.made.given.tables[part.table].columns):
        held = [
            NULL if text is None else number.get(text, NOWHERE)
            for text in key_texts({column: columns[column][given]}, [column]).to_pylist()
        ]
        return np.array(held, dtype=np.int64)[above]
    there = written_codes(run.tables[part.table])[part.part.name]
    numbers: Index = _numbers(run, part.table, part.part.name, number)[there[above]]
    return numbers


def _numbers(run: Run, table: str, name: str, number: Mapping[str, int]) -> Index:
    """Of each code that a reference is written with, the number of its key."""
    words = run.related(table).reference(name)
    assert isinstance(words, Words)
    keys = words.of_codes()
    return np.array([NULL if key is None else number.get(words.vocabulary.keys[key][0], NOWHERE) for key in keys], dtype=np.int64)


def _weights(words: Words, texts: Sequence[str]) -> NDArray[np.float64]:
    """How frequent each of these is, as far as that was counted."""
    counted = dict(zip(words.chosen, words.weights, strict=False)) if words.weights else dict.fromkeys(words.chosen, 1.0)
    codes, most = words.vocabulary.codes, max(counted.values(), default=1.0) or 1.0
    return np.array([max(counted.get(codes.get((text,), NOWHERE), 0.0), most * _RARE) for text in texts])


def _draw(steps: NDArray[np.int64], weights: NDArray[np.float64], begun: Index, uniform: NDArray[np.float64]) -> Index:
    """One of the steps that go on from each of these branches. Steps are sorted by branch."""
    ladder = np.r_[0.0, np.cumsum(weights[steps[:, 1]])]
    first, end = np.searchsorted(steps[:, 0], begun, side="left"), np.searchsorted(steps[:, 0], begun, side="right")
    drawn = np.searchsorted(ladder, ladder[first] + uniform * (ladder[end] - ladder[first]), side="right") - 1
    chosen: Index = np.clip(drawn, first, end - 1).astype(np.int64)
    return chosen


def _write(run: Run, table: str, name: str, words: Words, texts: Sequence[str], rows: Index, drawn: Index) -> None:
    """A key may be one that models have no code for: they look at the rest then, and it comes out all the same."""
    placed = run.tables[table]
    code_of = {key: code for code, key in enumerate(words.of_codes()) if key is not None}
    by_text = np.array(
        [code_of.get(words.vocabulary.codes.get((text,), NOWHERE), len(words.chosen)) for text in texts], dtype=np.int64
    )
    codes = by_text[drawn]
    if name not in placed.written:
        wide = written_codes(placed)[name].astype(np.uint32)
        run.tables[table] = placed = replace(placed, written={**placed.written, name: wide})
    elif placed.written[name].dtype != np.uint32:
        run.tables[table] = placed = replace(placed, written={**placed.written, name: placed.written[name].astype(np.uint32)})
    placed.written[name][rows] = codes
    for own in OWN_PARTS:
        if name in placed.codes[own]:
            placed.codes[own][name][rows] = np.minimum(codes, len(words.chosen))
