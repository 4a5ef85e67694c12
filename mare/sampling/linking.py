"""Which row a reference leads to, once rows are there: one function for each way that needs no model, or has used one.

Random references to other entities lead to any row of any other entity, also of those that are made later:

    other entity ─► `Everyone` of its table ─► a place among all rows ─► the values of the key there

Where the entities themselves are referred to, a key follows from the entity's number, and nothing has to be known beforehand.
Where rows below them are, everything is generated twice: once to know whose rows there are, once to refer to them.

Keys of several columns that were drawn column by column are brought together to keys that the public table has:

    codes of the columns ─► which keys there are ─► **codes of a key that there is**

What a row has from above stays, and so does a column as long as some key goes on from those before it: the station is drawn again
among those of the site, by how frequent its numbers are. So a site never gives way to a station.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mare.codec.ticks import DAY_US, Mask
from mare.domain import RowDraws, purpose_of
from mare.errors import InternalError
from mare.relational.filling import VIA, Fresh, Linked
from mare.relational.placing import NOWHERE, Index, written_codes
from mare.relational.relations import WholeKey, Words
from mare.schema.layout import Above
from mare.schema.reflection import ReflectedColumn

from .given_columns import key_texts
from .run import OWN_PARTS, Run
from .storing import fresh_purpose, fresh_values, take

if TYPE_CHECKING:
    from .writing import ChunkValues, Writer


Micros = NDArray[np.int64]


def find_places(block: ChunkValues, table: str, link: Linked) -> Index:
    """Of each row of a table, the place of the row that a reference leads to."""
    placed = block.placed.tables[table]
    if link.way in ("via", "position", "earlier"):
        return placed.targets[VIA if link.way == "via" else link.reference]
    if link.way == "public":
        return _public(block, table, link)
    if link.way == "owned":
        return _owned(block, table, link)
    if link.way == "pool":
        return draw_from_pool(block, table, link)
    if link.way == "other_entity":
        return draw_other_entity(block, table, link)
    return _by_time(block, table, link)


def draw_from_pool(block: ChunkValues, table: str, link: Linked, rows: Index | None = None, attempt: int = 0) -> Index:
    """Any row of a pool; for these rows, or for all."""
    places = block.draws(table, f"refer {link.reference}").at(str(attempt), rows).integers(0, max(1, pool_size(block, link)))
    there = block.present(table, link.reference)
    return places if there is None else np.where(there if rows is None else there[rows], places, NOWHERE)


def pool_size(block: ChunkValues, link: Linked) -> int:
    pool = block.writer.pools.get(link.table)
    return len(next(iter(pool.values()))) if pool is not None else block.rows(link.table)


def _public(block: ChunkValues, table: str, link: Linked) -> Index:
    words = block.related(table).reference(link.reference)
    if isinstance(words, Words):
        return words.decode(block.codes(table)[link.reference])
    # A pool's rows are made up: any key of the public table.
    keys = block.writer.public[link.table].vocabulary((link.column,))
    if not len(keys):
        return np.full(block.rows(table), NOWHERE, dtype=np.int64)
    return keys.places[block.draws(table, f"refer {link.reference}").integers(0, len(keys))]


def _owned(block: ChunkValues, table: str, link: Linked) -> Index:
    """The row that was made for this one."""
    owned = block.placed.tables[link.table]
    edge = block.writer.owned_by[link.table].index((table, link.reference))
    mine = np.arange(owned.rows, dtype=np.int64)
    if owned.owner is not None:
        mine = np.flatnonzero(owned.owner == edge).astype(np.int64)
    places = np.full(block.rows(table), NOWHERE, dtype=np.int64)
    places[owned.parent[mine]] = mine
    return places


def draw_other_entity(block: ChunkValues, table: str, link: Linked, rows: Index | None = None, attempt: int = 0) -> Index:
    """Any row of another entity; for these rows, or for all. While nobody knows yet who there is, a row that will be there."""
    entity = block.entities(table) if rows is None else block.entities(table)[rows]
    everyone = block.writer.everyone.get(link.table)
    if everyone is None:
        return np.zeros(len(entity), dtype=np.int64)
    return draw_another(everyone, entity, link.nullable, block.draws(table, f"refer {link.reference}").at(str(attempt), rows))


def given_to_owned(block: ChunkValues, table: str, name: str) -> pa.Array | None:
    """The column of an owned table by which given rows refer to it, copied from those rows. None for any other column."""
    owners = block.writer.owned_by.get(table, ())
    referring = [
        next((c for c, f in block.writer.fillings[owner].items() if isinstance(f, Linked) and _is(f, reference, name)), None)
        for owner, reference in owners
    ]
    if not any(column is not None and owner in block.chunk.given for (owner, _), column in zip(owners, referring, strict=True)):
        return None
    placed, parts, order = block.placed.tables[table], list[pa.Array](), list[Index]()
    for edge, ((owner, _), column) in enumerate(zip(owners, referring, strict=True)):
        mine = np.arange(placed.rows) if placed.owner is None else np.flatnonzero(placed.owner == edge)
        if column is None:
            raise InternalError(f"{table}.{name} comes from given rows and from others")
        parts.append(block.column(owner, column).take(pa.array(placed.parent[mine])))
        order.append(mine.astype(np.int64))
    back = np.argsort(np.concatenate(order), kind="stable")
    return pa.concat_arrays(parts).take(pa.array(back))


def _is(link: Linked, reference: str, column: str) -> bool:
    return link.way == "owned" and (link.reference, link.column) == (reference, column)


def _by_time(block: ChunkValues, table: str, link: Linked) -> Index:
    """The row that the model chose: this row's time was drawn inside its interval. Where order left no room there, or rows came
    with their times and no reference, the row of the same entity whose interval contains the time: of several, the one that
    began last."""
    time, (begin, end) = block.writer.finders[table, link.reference]
    at, known = moments(block, table, time)
    starts, started = moments(block, link.table, begin)
    ends, ended = moments(block, link.table, end, last=True)
    if (points := block.decoded(table).points.get(time)) is not None and points.scale.whole_days:
        starts = starts // DAY_US * DAY_US  # a day that a row begins on is not before it
    chosen = block.placed.tables[table].targets.get(link.reference)
    if chosen is not None and not len(starts):
        return np.full(len(at), NOWHERE, dtype=np.int64)
    if chosen is not None:
        row = np.maximum(chosen, 0)
        holds = known & started[row] & (starts[row] <= at) & (~ended[row] | (at <= ends[row]))
        if (holds | (chosen < 0)).all():
            return chosen
    entity = block.writer.order[0]
    here = block.placed.climb(np.arange(block.rows(table), dtype=np.int64), table, entity)
    there = block.placed.climb(np.arange(block.rows(link.table), dtype=np.int64), link.table, entity)
    usable = np.flatnonzero(started & ended)
    usable = usable[np.lexsort((starts[usable], there[usable]))]
    places = _latest(usable, there[usable], starts[usable], ends[usable], here, at, known)
    return places if chosen is None else np.where((chosen < 0) | holds, chosen, places)


def _latest(rows: Index, whose: Index, starts: Micros, ends: Micros, here: Index, at: Micros, known: Mask) -> Index:
    """``rows`` are sorted by entity and begin. A candidate that has ended gives way to the one before it."""
    places = np.full(len(here), NOWHERE, dtype=np.int64)
    first = np.searchsorted(whose, here, side="left")
    candidate = np.empty(len(here), dtype=np.int64)
    # The last row of the entity that begins no later, by bisection over each entity's own run.
    low, high = first.copy(), np.searchsorted(whose, here, side="right")
    while (open_ := low < high).any():
        middle = (low + high) // 2
        begun = np.zeros(len(here), dtype=np.bool_)
        begun[open_] = starts[middle[open_]] <= at[open_]
        low, high = np.where(open_ & begun, middle + 1, low), np.where(open_ & ~begun, middle, high)
    candidate = low - 1
    waiting = known & (candidate >= first)
    while waiting.any():
        index = np.flatnonzero(waiting)
        inside = ends[candidate[index]] >= at[index]
        places[index[inside]] = rows[candidate[index[inside]]]
        waiting[index[inside]] = False
        candidate[index[~inside]] -= 1
        waiting &= candidate >= first
    return places


def moments(block: ChunkValues, table: str, column: str, *, last: bool = False) -> tuple[Micros, Mask]:
    """A date or time as microseconds, and where it is there; a day, where it is the ``last``, until its end."""
    values = block.column(table, column)
    there = ~np.asarray(values.is_null().to_numpy(zero_copy_only=False), dtype=np.bool_)
    points = block.decoded(table).points.get(column) if table in block.writer.codecs else None
    if points is not None:
        # As the codec reads them: also where the source stores texts.
        return points.lower * int(points.scale.unit) + (DAY_US - 1 if last and points.scale.whole_days else 0), there
    if not pa.types.is_temporal(values.type):
        raise InternalError(f"{table}.{column} is no date or time")
    day = pa.types.is_date(values.type)
    micros = values.cast(pa.timestamp("us")).cast(pa.int64()).fill_null(0)
    return np.asarray(micros, dtype=np.int64) + (DAY_US - 1 if last and day else 0), there


@dataclass(frozen=True, eq=False)
class Numbered:
    """The entities themselves: one row each, whose keys follow from their numbers."""

    table: str
    rows: int
    fresh: Mapping[str, tuple[Fresh, ReflectedColumn]]
    seed: int

    def own(self, entity: Index) -> tuple[Index, Index]:
        """Where the rows of entities begin, and how many they are: an entity's rows are a run."""
        return entity, np.ones(len(entity), dtype=np.int64)

    def take(self, column: str, places: Index) -> pa.Array:
        """The values of a column at these places; NULL where a place is negative."""
        filling, stored = self.fresh[column]
        values = fresh_values(filling, stored, np.maximum(places, 0), fresh_purpose(filling, self.table, column, self.seed))
        return values if (places >= 0).all() else pc.if_else(pa.array(places >= 0), values, pa.scalar(None, values.type))


@dataclass(frozen=True, eq=False)
class Collected:
    """Rows that were generated beforehand, to know whose they are."""

    whose: Index
    """Of each row, the number of its entity; ascending."""
    columns: Mapping[str, pa.Array]

    @property
    def rows(self) -> int:
        return len(self.whose)

    def own(self, entity: Index) -> tuple[Index, Index]:
        first = np.searchsorted(self.whose, entity, side="left")
        return first.astype(np.int64), (np.searchsorted(self.whose, entity, side="right") - first).astype(np.int64)

    def take(self, column: str, places: Index) -> pa.Array:
        return take(self.columns[column], places)


Everyone = Numbered | Collected
"""The rows of one table, of all entities."""


def draw_another(everyone: Everyone, entity: Index, nullable: bool, draws: RowDraws) -> Index:
    """A row of another entity, at random. Where there is no other: none, or one of one's own."""
    if not everyone.rows:
        return np.full(len(entity), NOWHERE, dtype=np.int64)
    first, own = everyone.own(entity)
    others = everyone.rows - own
    drawn = draws.integers(0, np.maximum(1, others))
    # An entity's own rows are a run: draw among the others, then step over it.
    places = np.where(drawn >= first, drawn + own, drawn)
    alone = NOWHERE if nullable else np.minimum(first, everyone.rows - 1)
    return np.where(others > 0, places, alone).astype(np.int64)


def referred_at_random(writer: Writer) -> dict[str, set[str]]:
    """The tables that random references to other entities lead to, each with the columns that are copied from there."""
    columns: dict[str, set[str]] = {}
    for table in writer.order:
        for filling in writer.fillings[table].values():
            if isinstance(filling, Linked) and filling.way == "other_entity":
                columns.setdefault(filling.table, set()).add(filling.column)
    return columns


def numbered(writer: Writer, wanted: Mapping[str, set[str]], entities: int, seed: int) -> dict[str, Everyone]:
    """Those tables that need no look beforehand: the entities, where each keeps its row whatever is drawn."""
    entity = writer.order[0]
    if writer.given is not None:
        return {}
    filled = writer.fillings[entity]
    fresh = {name: f for name in wanted.get(entity, ()) if isinstance(f := filled[name], Fresh)}
    if entity not in wanted or set(fresh) != wanted[entity] or not _stays(writer, entity, frozenset()):
        return {}
    stored = {name: (filling, writer.stored[entity, name]) for name, filling in fresh.items()}
    return {entity: Numbered(entity, entities, stored, seed)}


def _stays(writer: Writer, table: str, seen: frozenset[str]) -> bool:
    """Whether no row of a table ever has to go. False where that is not certain."""
    if table in seen or writer.distinct.get(table):
        return False
    for filling in writer.fillings[table].values():
        if not isinstance(filling, Linked) or filling.nullable or filling.way == "pool":
            continue
        words = writer.related[table].reference(filling.reference) if table in writer.related else None
        if filling.way == "public" and isinstance(words, Words) and (words.chosen or words.rest):
            continue
        if filling.way == "owned" and _stays(writer, filling.table, seen | {table}):
            continue
        if filling.way == "other_entity" and filling.table == table == writer.order[0]:
            continue
        return False
    return True


def collected(chunks: Iterator[ChunkValues], wanted: Mapping[str, set[str]]) -> dict[str, Everyone]:
    """Everyone of these tables, from all chunks."""
    whose: dict[str, list[Index]] = {table: [] for table in wanted}
    columns: dict[tuple[str, str], list[pa.Array]] = {(table, c): [] for table, names in wanted.items() for c in names}
    for values in chunks:
        values.alive()  # works out which rows stay
        for table, names in wanted.items():
            rows = values.living(table)
            whose[table].append(values.entities(table)[rows])
            for name in names:
                columns[table, name].append(values.column(table, name).take(pa.array(rows)))
    return {
        table: Collected(np.concatenate(whose[table]), {name: pa.concat_arrays(columns[table, name]) for name in names})
        for table, names in wanted.items()
    }


def with_everyone(writer: Writer, known: Mapping[str, Everyone]) -> Writer:
    return replace(writer, everyone={**writer.everyone, **known})


_RARE = 1e-6
"""The weight of what was never counted, beside what was."""


def bring_together(run: Run, table: str, rows: Index, label: str = "") -> None:
    """Mend the codes of these rows in place."""
    for number, whole in enumerate(run.related(table).wholes if len(rows) else ()):
        if len(whole.keys):
            _bring_together(run, table, whole, rows, f"{number} {label}")


def _bring_together(run: Run, table: str, whole: WholeKey, rows: Index, label: str) -> None:
    keys, listed = whole.numbers, whole.listed
    held = [_held(run, table, whole.parts[place], number, rows) for place, number in zip(whole.order, listed, strict=True)]
    known = np.logical_and.reduce([numbers != NULL for numbers in held])
    draws = RowDraws(run.keys[table], purpose_of(f"whole key {table}.{label}"))
    begun, branches = np.zeros(len(rows), dtype=np.int64), np.zeros(len(whole.keys), dtype=np.int64)
    for level, place in enumerate(whole.order):
        # Which branch of the tree of keys a row is on, and on which it goes on.
        steps, branch_of = np.unique(np.stack([branches, keys[:, level]], axis=1), axis=0, return_inverse=True)
        ids, size = steps[:, 0] * len(listed[level]) + steps[:, 1], len(listed[level])
        wanted = begun * size + held[level]
        at = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
        lost = known & ((ids[at] != wanted) | (held[level] < 0))
        part = whole.parts[place]
        if isinstance(part, Above):
            _leave_out(run, table, whole, rows[lost])
            known &= ~lost
        elif lost.any():
            words = run.related(table).reference(part)
            assert isinstance(words, Words)
            again = np.flatnonzero(lost)
            at[again] = _draw(steps, _weights(words, listed[level]), begun[again], draws.at(part, rows[again]).random())
            code_of = {key: code for code, key in enumerate(words.of_codes()) if key is not None}
            keys_there = (words.vocabulary.codes.get((text,), NOWHERE) for text in listed[level])
            codes = np.array([code_of.get(key, len(words.chosen)) for key in keys_there], dtype=np.int64)
            _write(run, table, part, words, rows[again], codes[steps[at[again], 1]])
        begun, branches = np.where(known, at, 0), np.ravel(branch_of)


NULL = -2


def _held(run: Run, table: str, part: str | Above, number: Mapping[str, int], rows: Index) -> Index:
    """Of each row, the number of what it has there; below 0 where the table has no such key, or it is NULL."""
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


def _weights(words: Words, texts: Iterable[str]) -> NDArray[np.float64]:
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


def _leave_out(run: Run, table: str, whole: WholeKey, rows: Index) -> None:
    """No key goes on from what stands above these rows: they refer to none, or go."""
    for part in whole.parts if len(rows) else ():
        if isinstance(part, str):
            words = run.related(table).reference(part)
            assert isinstance(words, Words)
            _write(run, table, part, words, rows, np.full(len(rows), words.size - 1))


def _write(run: Run, table: str, name: str, words: Words, rows: Index, codes: Index) -> None:
    """A key may be one that models have no code for: they look at the rest then, and it comes out all the same."""
    placed = run.tables[table]
    if name not in placed.written or placed.written[name].dtype != np.uint32:
        written = {**placed.written, name: written_codes(placed)[name].astype(np.uint32)}
        run.tables[table] = placed = replace(placed, written=written)
    placed.written[name][rows] = codes
    for own in OWN_PARTS:
        if name in placed.codes[own]:
            placed.codes[own][name][rows] = np.where(codes < words.size, codes, len(words.chosen))
