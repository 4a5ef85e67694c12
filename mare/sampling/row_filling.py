"""What is in the rows: codes that models draw, position by position where a row looks back, and the rows that they lead to.

The previous rows a model looks at are the ones just written (the paper's FIFO queue, without the copying). Where a row picks
another row first, its head is drawn before the rest of it, at every step.

The rest of a list is drawn again: a code that stands for all that the list does not hold comes out as one that it holds. Models
look at the code that they have drawn, here and in the tables below: what goes along with the rest stays as it was learned. What
is written is another matter. The model is asked a few times more for the same row, with the same history, and the listed value is
taken that came with most of what the row holds already; where there was none, or the value came from a context, the noisy counts
of the list decide. Keys of a public table that no other column refers to are drawn among those that were not chosen: everybody
knows them. Numbers whose scale depends on the column are written on the scale of the value that is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mare.codec import Above, RelativeCodec
from mare.codec.category import Redrawn
from mare.codec.elapsed import Advance, elapsed_name, pace_name
from mare.domain import CodeArray, RowDraws, purpose_of, smallest_dtype
from mare.graph.groups import Part
from mare.relational.coding import siblings_in
from mare.relational.placing import NOWHERE, Index, Placed, rows_above, written_codes
from mare.relational.relations import Ranked, Stepped, Words
from mare.release import SettledGroup
from mare.schema.condition_grammar import comparisons_in

from .dropping import EndOfSequences, Pacing, usual_gap
from .fitted_tables import Chunk, FittedTables, decoding_draws
from .linking import bring_together
from .possible_codes import REDRAWS, LastOfItem, choice_of, keep_apart, step_targets
from .run import OWN_PARTS, Coded, Run, by_position, make_room


@dataclass(frozen=True, eq=False)
class GrowingHistory:
    """The free history of one table that grows with its rows: how far sequences have come, told to the models while the rows are
    drawn one position after the other. Only where a model looks at it: the values of a sequence are worked out here a step ahead
    of the others."""

    advances: Sequence[Advance]
    free: dict[str, CodeArray]
    """What the models look at: written when rows begin."""
    pacings: Mapping[str, Pacing]
    """By column, of the sequences that the calendar ends."""
    linked: Callable[[Index], Above]
    """Where the intervals are that rows refer to, once their references are drawn."""

    def begin(self, index: Index) -> None:
        for advance in self.advances:
            for name, codes in advance.begin(index).items():
                self.free[name][index] = codes

    def end(self, index: Index, codes: Mapping[str, CodeArray]) -> None:
        linked = self.linked(index) if self.advances else {}
        for advance in self.advances:
            advance.hand_in(index, codes, linked)


def fill_context(run: Run, settled: SettledGroup, codes: dict[str, CodeArray], rows: int) -> None:
    """One row for each row of the parent table."""
    make_room(settled, codes, rows)
    position = run.tables[run.placed.space(settled.group.table, "context")].position
    looks_back = any(h.lag > 0 and (h.table, h.part) == (settled.group.table, "context") for h in settled.group.history)
    steps = by_position(position) if looks_back else [np.arange(rows, dtype=np.int64)]
    for step, index in enumerate(steps):
        run.draw(settled, codes, index, str(step))


def fill_rows(run: Run, table: str) -> None:
    """All columns of the rows that have their places."""
    placed, related = run.tables[table], run.related(table)
    groups = [settled for part in OWN_PARTS if (settled := run.group(table, part)) is not None]
    # The head of an association was drawn with its keys.
    groups = [g for g in groups if not (g.group.part == "head" and placed.codes["head"])]
    codes: Coded = {part: dict(placed.codes[part]) for part in ("head", "rows", "context")}
    targets = dict(placed.targets)
    same_item = np.full(placed.rows, NOWHERE, dtype=np.int64) if related.items else None
    ranked = run.ranked(table)
    for name in ranked:
        targets[name] = np.full(placed.rows, NOWHERE, dtype=np.int64)
    growing = _growing_history(run.made, run.chunk, table)
    along = {pace_name(name): name for name, reference in ranked.items() if reference.onward}
    free = {**placed.free, **growing.free, **{known: np.zeros(placed.rows, dtype=np.uint8) for known in along}}
    run.tables[table] = placed = Placed(
        placed.rows, placed.parent, placed.position, placed.siblings, codes, placed.owner, free, targets, same_item
    )
    for settled in groups:
        make_room(settled, codes[settled.group.part], placed.rows)
    codes["rows"] |= shared_codes(run, table)
    if codes["head"] and all(g.group.part != "head" for g in groups):
        run.resolve(table, codes["head"], targets, np.arange(placed.rows, dtype=np.int64))
    last, ends = _last_of_item(run, table, groups), _end_of_sequences(run, table, groups)
    steps = [np.arange(placed.rows, dtype=np.int64)]
    if growing.advances or _look_back(groups) or along:
        steps = by_position(placed.position)
    for step, index in enumerate(steps):
        growing.begin(index)
        for known, name in along.items():
            free[known][index] = run.pace(table, name, ranked[name], index)
        for settled in groups:
            run.draw(settled, codes[settled.group.part], index, str(step))
            for name in settled.columns:
                if name in growing.pacings and settled.group.part == "rows":

                    def again(rows: Index, label: str, settled: SettledGroup = settled) -> None:
                        run.draw(settled, codes["rows"], rows, label)

                    growing.pacings[name].mend(index, codes["rows"][name], again, f"{step} paced")
            if settled.group.part == "head":
                run.resolve(table, codes["head"], targets, index)
                if last is not None and same_item is not None:
                    items = tuple(codes["head"][item] for item in related.items)
                    same_item[index] = last.step(placed.parent, placed.position, items, index)
        if ends is not None:
            ends.mend(index, str(step))
        growing.end(index, {**codes["head"], **codes["rows"]})
    redraw_rest(run, table, groups)
    bring_together(run, table, np.arange(placed.rows, dtype=np.int64))
    _keep_apart(run, table, groups)
    _resolve_steps(run, table)


def shared_codes(run: Run, table: str) -> dict[str, CodeArray]:
    """What is the same in many rows, for each of them: a context has drawn it. Where that said that there would be no row, and
    there is one, its model is asked again."""
    codes, codec = dict[str, CodeArray](), run.made.codecs[table]
    for shared in codec.shared:
        above, none = rows_above(shared, run.placed), codec.columns[shared.column].size
        held = run.tables[shared.holder].codes["context"][shared.name]
        settled = run.group(shared.holder, "context")
        missing = np.unique(above[held[above] == none])
        for attempt in range(REDRAWS if settled is not None else 0):
            if not len(missing) or settled is None:
                break
            held[missing] = run.sample(settled, missing, f"{shared.name} {attempt}")[shared.name]
            missing = missing[held[missing] == none]
        draws = RowDraws(run.keys[shared.above], purpose_of(f"{table}.{shared.name}"))
        held[missing] = draws.at("any", missing).integers(0, none)
        codes[shared.column] = held[above].astype(smallest_dtype(none))
    return codes


def _end_of_sequences(run: Run, table: str, groups: list[SettledGroup]) -> EndOfSequences | None:
    """Where the schema says what ends a sequence, and the rows' own codes tell."""
    ending, placed = run.related(table).coded_ending(run.made.codecs[table]), run.tables[table]
    rows = next((g for g in groups if g.group.part == "rows"), None)
    if ending is None or rows is None or not all(test.column in rows.columns for test in comparisons_in(ending.condition)):
        return None
    settled = rows

    def draw(index: Index, label: str) -> None:
        run.draw(settled, placed.codes["rows"], index, label)

    return EndOfSequences(ending, placed, draw, RowDraws(run.keys[table], purpose_of(f"ends {table}")))


def _last_of_item(run: Run, table: str, groups: list[SettledGroup]) -> LastOfItem | None:
    items = run.related(table).items
    head = next((g for g in groups if g.group.part == "head"), None)
    if not items or head is None:
        return None
    parents = int(run.tables[table].parent.max(initial=-1)) + 1
    return LastOfItem(parents, tuple(head.columns.size(item) for item in items))


def _resolve_steps(run: Run, table: str) -> None:
    """The rows that references to earlier ones lead to."""
    placed, targets = run.tables[table], dict[str, Index]()
    rows = np.arange(placed.rows, dtype=np.int64)
    for name, reference in (run.related(table).references or {}).items():
        codes = placed.codes["rows"].get(name, placed.codes["head"].get(name))
        if isinstance(reference, Stepped) and codes is not None:
            targets[name] = step_targets(codes, reference, rows)
    run.tables[table] = replace(placed, targets={**placed.targets, **targets})


def _keep_apart(run: Run, table: str, groups: list[SettledGroup]) -> None:
    """Rows of one parent that came out alike, where a key says that they are not."""
    for number, wanted in enumerate(run.made.distinct.get(table, ())):
        placed = run.tables[table]
        drawn = {g.group.part: g for g in groups if set(wanted.drawn) & set(g.columns.names)}
        codes = written_codes(placed)
        if not run.made.keeps_apart(table, wanted) or not set(wanted.drawn) <= set(codes):
            continue
        label = f"apart {number}"

        def redraw(
            rows: Index, attempt: str, drawn: Mapping[Part, SettledGroup] = drawn, placed: Placed = placed, label: str = label
        ) -> None:
            for part, settled in drawn.items():
                run.draw(settled, placed.codes[part], rows, f"{label} {attempt}")
            redraw_rows(run, table, list(drawn.values()), rows, f"{label} {attempt}")
            bring_together(run, table, rows, f"{label} {attempt}")
            # Another code leads to another row.
            if "head" in drawn:
                run.resolve(table, placed.codes["head"], placed.targets, rows)

        # What was unrolled with its key is drawn over its domain at once: its model has spoken for the whole list.
        columns = run.made.codecs[table].columns
        related, shared = run.related(table), {held.column for held in run.made.codecs[table].shared}
        shared |= {part for whole in related.wholes for part in whole.parts if isinstance(part, str)}
        coded = {name: related.reference(name) or columns.get(name) for name in wanted.drawn}
        choices = {
            name: choice_of(column)
            for name, column in coded.items()
            if name not in shared and (name in columns or _is_drawn_word(placed, name, column))
            if column is not None and not isinstance(column, Ranked | Stepped)
        }
        nulls = {
            name: column.size - 1 for name, column in coded.items() if column is not None and getattr(column, "nullable", False)
        }
        draws = RowDraws(run.keys[table], purpose_of(f"{label} {table}"))
        gone = keep_apart(placed.parent, codes, wanted.drawn, choices, redraw, draws, nulls)
        if len(gone):
            run.chunk.lost[table] += len(gone)
            run.drop(table, gone)


def _is_drawn_word(placed: Placed, name: str, column: object) -> bool:
    """Whether the code alone says which public row a reference leads to: not that of an association, which has its place."""
    return isinstance(column, Words) and any(name in placed.codes[part] for part in OWN_PARTS)


def _look_back(groups: Sequence[SettledGroup]) -> bool:
    """Whether a row looks at earlier ones that these very groups have written."""
    return any(
        h.table == g.group.table and h.part != "context" and (h.lag > 0 or h.kind == "same_item")
        for g in groups
        for h in g.group.history
    )


def _growing_history(made: FittedTables, chunk: Chunk, table: str) -> GrowingHistory:
    """For the rows of a table that are about to be drawn; its context and all tables above are there."""
    codec, rows = made.codecs[table], chunk.placed.tables[table].rows
    advances, free, pacings = list[Advance](), dict[str, CodeArray](), dict[str, Pacing]()
    drawn_with = next((made.models[g.name] for g in made.plan.groups if (g.group.table, g.group.part) == (table, "rows")), None)
    for column, first in codec.firsts.items():
        bins = {elapsed_name(column): first.elapsed, **({} if first.pacing is None else {pace_name(column): first.pacing})}
        sequence, usual = codec.columns[column], None
        if first.pacing is not None and drawn_with is not None and isinstance(sequence, RelativeCodec):
            usual = usual_gap(drawn_with, column, sequence)
        if usual is not None or any(is_looked_at(made, table, name) for name in bins):
            firsts = chunk.placed.tables[table].codes["context"][f"first({column})"]
            above, draws = made.above(chunk, codec), decoding_draws(chunk, table)
            advances.append(Advance(codec, column, firsts, siblings_in(chunk.placed, table), above, draws))
            free |= {name: np.zeros(rows, dtype=smallest_dtype(placed.count)) for name, placed in bins.items()}
            if usual is not None:
                paced = RowDraws(chunk.keys[table], purpose_of(f"pace {table}.{column}"))
                pacings[column] = Pacing(advances[-1], usual, paced)
    return GrowingHistory(advances, free, pacings, lambda rows: made.linked(chunk, codec, rows))


def is_looked_at(made: FittedTables, table: str, name: str) -> bool:
    """Whether a model looks at this free history of a table."""
    for settled in made.plan.groups:
        asked = getattr(made.models[settled.name], "looks_at", None)
        for column in settled.group.history:
            mine = (column.kind, column.table, column.name) == ("free", table, name)
            if mine and (asked is None or str(column) in asked):
                return True
    return False


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
    run: Run, settled: SettledGroup, rests: Mapping[str, Redrawn], written: Mapping[str, CodeArray], rows: Index, label: str
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
