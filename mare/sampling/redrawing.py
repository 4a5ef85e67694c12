"""The rest of a list is drawn again: a code that stands for all that the list does not hold comes out as one that it holds.

Models look at the code that they have drawn, here and in the tables below: what goes along with the rest stays as it was learned.
What is written is another matter. The model is asked a few times more for the same row, with the same history, and the listed
value is taken that came with most of what the row holds already; where there was none, or the value came from a context, the
noisy counts of the list decide. Keys of a public table that no other column refers to are drawn among those that were not chosen:
everybody knows them. Numbers whose scale depends on the column are written on the scale of the value that is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from mare.codec.category import Redrawn
from mare.domain import CodeArray, RowDraws, purpose_of
from mare.relational.placing import Index, rows_above
from mare.release import SettledGroup

from .run import Run

ATTEMPTS = 4
"""Of asking the model again."""


def redraw_rest(run: Run, table: str, groups: Sequence[SettledGroup]) -> None:
    """Add to a table whose rows are drawn the codes that those of the rest come out by."""
    placed = run.tables[table]
    drawn = {**placed.free, **placed.codes["head"], **placed.codes["rows"]}
    rests = {name: rest for name, rest in _rests(run, table).items() if name in drawn}
    if rests:
        wide = {name: drawn[name].astype(np.uint32) if rest.others else drawn[name].copy() for name, rest in rests.items()}
        run.tables[table] = replace(placed, written=wide)
        _redraw(run, table, groups, rests, np.arange(placed.rows, dtype=np.int64), "")


def redraw_rows(run: Run, table: str, groups: Sequence[SettledGroup], rows: Index, label: str) -> None:
    """The same for rows that these groups have drawn once more."""
    placed, again = run.tables[table], dict[str, Redrawn]()
    for name, rest in _rests(run, table).items():
        for settled in groups:
            if name in placed.written and name in settled.columns:
                placed.written[name][rows] = placed.codes[settled.group.part][name][rows]
                again[name] = rest
    _redraw(run, table, groups, again, rows, label)


def _redraw(run: Run, table: str, groups: Sequence[SettledGroup], rests: Mapping[str, Redrawn], rows: Index, label: str) -> None:
    written = run.tables[table].written
    for settled in groups:
        # No model knows of codes that are not listed.
        own = {name: rest for name, rest in rests.items() if name in settled.columns and rest.others is None}
        _ask_again(run, settled, own, written, rows, label)
    shared = {held.column: held for held in run.made.codecs[table].shared}
    for name, rest in rests.items():
        left = rows[written[name][rows] == rest.code]
        if not len(left):
            continue
        # What is the same in many rows is drawn once for all of them.
        held = shared.get(name)
        home, index = (table, left) if held is None else (held.above, rows_above(held, run.placed)[left])
        draws = RowDraws(run.keys[home], purpose_of(f"rest of {table} {label}")).at(name, index)
        written[name][left] = rest.pick(draws.random()).astype(written[name].dtype)


def _ask_again(
    run: Run,
    settled: SettledGroup,
    rests: Mapping[str, Redrawn],
    written: Mapping[str, CodeArray],
    rows: Index,
    label: str,
) -> None:
    """Of the rows that the model draws instead, the value comes from the one that has most in common with what was drawn."""
    waiting = np.zeros(len(rows), dtype=np.bool_)
    for name, rest in rests.items():
        waiting |= written[name][rows] == rest.code
    rows = rows[waiting]
    drawn = {name: codes[rows] for name, codes in run.tables[settled.group.table].codes[settled.group.part].items()}
    # What is the same in many rows stands here too, but a context has drawn it.
    others = [name for name in drawn if name in settled.columns and name not in rests]
    stood = {name: written[name][rows] == rest.code for name, rest in rests.items()}
    alike = {name: np.full(len(rows), -1) for name in rests}
    for attempt in range(ATTEMPTS if len(rows) else 0):
        again = run.sample(settled, rows, f"rest {label} {attempt}")
        common = sum((again[name] == codes).astype(np.int64) for name, codes in drawn.items() if name in others)
        for name, rest in rests.items():
            better = stood[name] & (again[name] < rest.code) & (common > alike[name])
            written[name][rows[better]] = again[name][better]
            alike[name] = np.where(better, common, alike[name])


def _rests(run: Run, table: str) -> dict[str, Redrawn]:
    """By column and reference."""
    lists = {**run.made.codecs[table].columns, **(run.related(table).references or {})}
    return {name: rest for name, codec in lists.items() if (rest := getattr(codec, "rest", None)) is not None}
