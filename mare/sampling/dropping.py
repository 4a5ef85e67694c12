"""Rows that cannot be: a key that no value is left for, what comes after the end of its sequence or of the data, or a reference
that must hold and leads to such a row.

They are few, and they go with all that depends on them. Everything else of the block stays as it is.

And rows that end their sequence (`ends: {when: …}`): nobody is admitted again after a death. How many rows a sequence has is
drawn before them, and, where codes tell, whether it ends (`mare.relational.conditions_met`). So the row that ends it comes last,
and neither rows nor ends are lost. What still ends a sequence too early, by its values as they come out, ends it: the rows after
it go. Where the calendar ends a sequence, so do gaps that leave too little time for the rows still to come (`Pacing`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mare.codec import OrdinalCodec, RelativeCodec
from mare.codec.elapsed import Advance, pace_name
from mare.codec.ordinal import ORDINARY
from mare.codec.ticks import Mask, null_mask
from mare.domain import CodeArray, RowDraws, as_generator, move_apart, repeated
from mare.models import FittedModel
from mare.relational.conditions_met import CodedEnding, judged
from mare.relational.filling import Linked, Modelled
from mare.relational.placing import NOWHERE, Index, Placed
from mare.schema import Schema
from mare.schema.condition_grammar import Condition, parse_condition

from .conditions import OwnColumns
from .linking import draw_from_pool, draw_other_entity, pool_size
from .possible_codes import REDRAWS
from .storing import numbered

if TYPE_CHECKING:
    from .writing import ChunkValues


def endings(schema: Schema) -> dict[str, Condition]:
    """By table, when a row is the last of its sequence."""
    return {name: parse_condition(table.ends.when) for name, table in schema.tables.items() if table.ends is not None}


class EndOfSequences:
    """The sequences of one table while their rows are drawn. The context says which of them end: there the last row does, and
    nobody else. So who was to die dies, after as many rows as were to be, and no noise in a row's model kills anybody."""

    def __init__(self, ending: CodedEnding, placed: Placed, draw: Callable[[Index, str], None], draws: RowDraws) -> None:
        self.ending, self.placed, self.draw, self.draws = ending, placed, draw, draws
        self.codes, self.ends = placed.codes["rows"], placed.codes["context"]["ends"] == 1

    def mend(self, index: Index, label: str) -> None:
        """The rows ``index``, which have just been drawn."""
        last = self.placed.position[index] + 1 == self.placed.siblings[index]
        ends = last & self.ends[self.placed.parent[index]]
        self._until(index[~ends], f"{label} goes on", ends=False)
        due = self._until(index[ends], f"{label} ends", ends=True)
        if ways := len(next(iter(self.ending.ways.values()), ())):
            way = self.draws.at(f"{label} ends", due).integers(0, ways)
            for name, codes in self.ending.ways.items():
                self.codes[name][due] = codes[way]

    def _until(self, rows: Index, label: str, *, ends: bool) -> Index:
        """Ask the model again, until rows end their sequence or do not; those that still do not do as they should."""
        for attempt in range(REDRAWS):
            rows = rows[self.ending.holds(self.codes, rows) != ends]
            if not len(rows):
                break
            self.draw(rows, f"{label} {attempt}")
        wrong: Index = rows[self.ending.holds(self.codes, rows) != ends]
        return wrong


def after_the_end(block: ChunkValues, table: str, condition: Condition, alive: Mask) -> Mask:
    """The rows of a table that come after one which ends their sequence."""
    placed = block.placed.tables[table]
    last = judged(condition, OwnColumns(block, table)).true & alive
    ends = np.full(int(placed.parent.max(initial=-1)) + 1, placed.rows, dtype=np.int64)
    np.minimum.at(ends, placed.parent[last], placed.position[last])
    after: Mask = placed.position > ends[placed.parent]
    return after


# A model that looks at how much time each row has (`pace`) draws gaps that fit; where noise hides how gaps depend on it, its
# gaps are those of everybody, and a sequence that is late would come to the last day and stay there. So the model is asked again,
# and a gap is kept as often as it should be among gaps whose sum is known. Were gaps exponential, the rows beyond those that
# usually fit would lie evenly over the time that is left: that none of them lies in the gap is as likely as the rest of that
# time, to their number.

BELIEVED = 0.3
"""So much of that, as a power: gaps come in bursts, and not all sequences run on until the end, so that those which are late must
not be hurried more than the others wait (decision 15)."""


@dataclass(frozen=True, eq=False)
class Pacing:
    """One sequence of a table while its rows are drawn."""

    advance: Advance
    usual: float
    """The mean gap, in ticks."""
    draws: RowDraws

    def mend(self, index: Index, codes: CodeArray, draw: Callable[[Index, str], None], label: str) -> None:
        """The rows ``index``, which have just been drawn into ``codes``, and which ``draw`` draws again."""
        rows = index
        for attempt in range(REDRAWS):
            least, left = self.advance.gaps(rows, codes[rows])
            surplus = np.maximum(self.advance.siblings.remaining[rows] + 1 - left / max(self.usual, 1e-9), 0.0)
            free = np.clip(1 - least / (left + 1.0), 0.0, 1.0)
            kept = (least <= left) & (self.draws.at(f"{label} {attempt}", rows).random() < free ** (BELIEVED * surplus))
            rows = rows[~kept]
            if not len(rows):
                return
            draw(rows, f"{label} {attempt}")


def usual_gap(model: FittedModel, name: str, codec: RelativeCodec) -> float | None:
    """The mean of all gaps, as the model has measured it; None where it looks at the pace, or does not say."""
    looks_at, clarity = getattr(model, "looks_at", None), getattr(model, "clarity", None)
    if looks_at is None or clarity is None or any(seen.endswith(pace_name(name)) for seen in looks_at):
        return None
    fractions = clarity.margins[name].fractions[: codec.bins.count] if name in clarity.margins else np.zeros(1)
    return float(fractions @ codec.bins.means / fractions.sum()) if fractions.sum() > 0 else None


def living_rows(block: ChunkValues) -> dict[str, Mask]:
    """Per table, the rows that stay; a table that loses none is left out."""
    alive = {table: np.ones(block.rows(table), dtype=np.bool_) for table in block.writer.order}
    for table, sets in block.writer.distinct.items():
        for columns in sets if table not in block.chunk.given else ():
            alive[table][_still_alike(block, table, columns)] = False
        block.chunk.lost[table] += int((~alive[table]).sum())
    for table in alive:
        if block.placed.owners[table] and table not in block.chunk.given and (past := block.decoded(table).past) is not None:
            alive[table][past] = False
    for table, condition in block.writer.endings.items():
        if table in alive and table not in block.chunk.given:
            alive[table][after_the_end(block, table, condition, alive[table])] = False
    changed = True
    while changed:
        changed = False
        for table in block.writer.order:
            if table in block.chunk.given:
                continue  # what the user gives stays
            mask = alive[table] & _owned(block, table, alive)
            for link in block.links(table):
                mask &= _refers(block, table, link, alive)
            changed |= bool((mask != alive[table]).any())
            alive[table] = mask
    return {table: mask for table, mask in alive.items() if not mask.all()}


def _owned(block: ChunkValues, table: str, alive: dict[str, Mask]) -> Mask:
    placed, owners = block.placed.tables[table], block.placed.owners[table]
    living = np.ones(placed.rows, dtype=np.bool_)
    for edge, owner in enumerate(owners):
        mine = slice(None) if placed.owner is None else placed.owner == edge
        living[mine] = alive[owner][placed.parent[mine]]
    return living


def _refers(block: ChunkValues, table: str, link: Linked, alive: dict[str, Mask]) -> Mask:
    """Where a reference holds. One that may be NULL lets go of a row that is gone."""
    places = block.places(table, link)
    # A row of another entity is one that was found alive.
    there = alive.get(link.table) if link.way != "other_entity" else None
    gone = places < 0
    if there is not None and len(there):
        gone |= ~there[np.maximum(places, 0)]
    if link.nullable:
        if there is not None and (gone & (places >= 0)).any():
            block.set_places(table, link, np.where(gone, NOWHERE, places))
        return np.ones(len(places), dtype=np.bool_)
    return ~gone


def _still_alike(block: ChunkValues, table: str, columns: tuple[str, ...]) -> Index:
    """Draw values again until the rows of one parent differ in these columns; the rows that still do not."""
    for attempt in range(REDRAWS):
        rows = _alike(block, table, columns)
        if not len(rows) or not _draw_again(block, table, columns, rows, attempt):
            return rows
    _share_out_pools(block, table, columns)
    return _alike(block, table, columns)


def _alike(block: ChunkValues, table: str, columns: tuple[str, ...]) -> Index:
    """The rows that have an earlier one of the same parent with the same values, as they are stored. NULL is like nothing, as
    databases have it."""
    values, whole = _whole(block, table, columns)
    return whole[repeated(block.placed.tables[table].parent[whole], [column[whole] for column in values.values()])]


def _whole(block: ChunkValues, table: str, columns: tuple[str, ...]) -> tuple[dict[str, Index], Index]:
    """Equal values as equal numbers, by column; and the rows that have all of them."""
    values = {name: block.stored_column(table, name) for name in columns}
    whole = np.flatnonzero(~np.logical_or.reduce([null_mask(column) for column in values.values()])).astype(np.int64)
    return {name: numbered(column) for name, column in values.items()}, whole


def _share_out_pools(block: ChunkValues, table: str, columns: tuple[str, ...]) -> None:
    """What chance does not find in a pool that is hardly larger than the list: the rows that no sibling refers to yet."""
    for name in columns:
        filling = block.writer.fillings[table][name]
        if isinstance(filling, Linked) and filling.way == "pool":
            values, whole = _whole(block, table, columns)
            values[name] = block.places(table, filling).copy()
            first = np.zeros(block.rows(table), dtype=np.int64)
            ends = {name: (first, first + pool_size(block, filling) - 1)}
            draws = block.draws(table, f"apart {', '.join(columns)} of {name}")
            move_apart(block.placed.tables[table].parent, values, ends, whole, as_generator(draws))
            block.set_places(table, filling, values[name])


def _draw_again(block: ChunkValues, table: str, columns: tuple[str, ...], rows: Index, attempt: int) -> bool:
    """Values of the same codes, drawn once more; whether there was anything to draw."""
    draws = block.draws(table, f"apart {', '.join(columns)} {attempt}")
    drawn = False
    for name in columns:
        filling = block.writer.fillings[table][name]
        if isinstance(filling, Modelled):
            codec = block.writer.codecs[table].columns[name]
            if not isinstance(codec, OrdinalCodec) or _is_anchor(block, table, name):
                continue
            drawn |= _draw_other_values(block, table, name, codec, rows, draws)
        elif isinstance(filling, Linked) and filling.way in ("pool", "other_entity"):
            places = block.places(table, filling).copy()
            again = draw_from_pool if filling.way == "pool" else draw_other_entity
            places[rows] = again(block, table, filling, rows, attempt + 1)
            block.set_places(table, filling, places)
            drawn = True
    return drawn


def _draw_other_values(block: ChunkValues, table: str, name: str, codec: OrdinalCodec, rows: Index, draws: RowDraws) -> bool:
    """Other values of the same bins for these rows; whether any of them has one. Values that order siblings stay in order."""
    kinds, points = codec.slots.kinds_of(block.codes(table)[name], codec.bins.count), block.decoded(table).points[name]
    there, ticks = kinds == ORDINARY, points.lower.copy()
    again = rows[there[rows]]
    ticks[again] = codec.bins.draw(codec.bins.assign(ticks[again]), as_generator(draws.at(name, again)))
    if name in block.writer.ordered_by.get(table, ()):
        at = np.flatnonzero(there)
        ticks[at] = ticks[at][np.lexsort((ticks[at], block.placed.tables[table].parent[at]))]
    block.set_ordered(table, name, codec, ticks, kinds)
    return bool(len(again))


def _is_anchor(block: ChunkValues, table: str, name: str) -> bool:
    """Whether other values depend on this one, or the order of others: then it stays where it is."""
    ordered_by = block.writer.ordered_by.get(table, ())
    if name in ordered_by and len(ordered_by) > 1:
        return True
    for other, codec in block.writer.codecs.items():
        for ordered in codec.ordered.values():
            if isinstance(ordered, RelativeCodec):
                for anchor in ordered.anchors:
                    here = anchor.scope == table or (other == table and anchor.scope in ("", "previous"))
                    if here and anchor.column == name:
                        return True
    return False
