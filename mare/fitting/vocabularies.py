"""Which keys and values there are: public tables are read before anything is paid; of columns the values are found that are
worth a code.

Where nobody has written the values down, they are found as stable keys. Codes of a public list are known to everybody: which
of them the private rows use is a matter of noisy counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mare.codec import LearnedValues
from mare.codec.parsing import NO_LETTER, count_undecoded, marked
from mare.domain import Marginal
from mare.errors import PlanError, SourceError
from mare.planning import Warned
from mare.planning.preview import CLEAR_OF_NOISE
from mare.ports import Source, compared
from mare.privacy.curator import Clip, NoisyCounts
from mare.privacy.learner import MOST_PER_ENTITY
from mare.relational.public import PublicTable, PublicTables, Texts, Vocabulary, in_order, text
from mare.relational.relations import Words, relations
from mare.schema import Schema
from mare.schema.columns import DEFAULT_MAX_VALUES, MOST_PLACES
from mare.schema.faults import CUT_DOWN
from mare.schema.reflection import ReflectedColumn, ReflectedTable, Reflection
from mare.stage_door import CODE, StageDoor, TableNeeds

from .code_lists import CodeList
from .descending import TOLD, descend

_TIMES_THE_ROWS = 4
SAY_ENCODING = "Say how the files are written, after their place (export/?encoding=latin-1), or save them in UTF-8"


def named_values(rows_each: int, most: int) -> int:
    """How many of its values an entity names, which has so many rows on average and at most ``most`` values. It speaks for all of
    them together with one voice, so an entity that has many need not be silent on some; the threshold rises a
    little with the number."""
    return max(1, min(_TIMES_THE_ROWS * rows_each, most, MOST_PER_ENTITY))


if TYPE_CHECKING:
    import pyarrow as pa


def read_public(schema: Schema, reader: Source, reflection: Reflection) -> dict[str, PublicTable]:
    """Every public table, whole but for the columns that are left out; all faults at once."""
    public: dict[str, PublicTable] = {}
    for name, table in schema.tables.items():
        if not table.public or table.ignore:
            continue
        stored = reflection.table(name)
        if stored is None:
            held = ", ".join(t.name for t in reflection) or "none"
            raise SourceError(f"{reflection.label} has no table {name!r}. It has: {held}. {CUT_DOWN}.")
        left_out = {c.name for c in map(stored.column, table.ignore_columns) if c is not None}
        # By name: a source may tell them in any order, and the release is to be the same.
        columns = sorted(c.name for c in stored.columns if c.name not in left_out)
        public[name] = in_order(PublicTable(name, _rows(reader, stored, columns), table.key or ()))
    _refuse_sizes(schema, public)
    return public


def _rows(reader: Source, stored: ReflectedTable, columns: list[str]) -> pa.Table:
    import pyarrow as pa

    batches = list(reader.read(stored.name, columns))
    if not batches:
        return pa.table({name: pa.array([], type=pa.string()) for name in columns})
    return _marked(pa.Table.from_batches(batches).unify_dictionaries())


def _marked(rows: pa.Table) -> pa.Table:
    """As they come out, and as the stage has them: with a mark for each byte that is no letter."""
    import pyarrow as pa

    for place, column in enumerate(rows.schema):
        if pa.types.is_dictionary(column.type) and count_undecoded(rows[place].cast(column.type.value_type)):
            rows = rows.set_column(place, column.name, marked(rows[place].cast(column.type.value_type)))
        rows = rows.set_column(place, column.name, marked(rows[place]))
    return rows


def undecoded_values(public: PublicTables) -> dict[str, int]:
    """By column of the public tables, values with bytes that are no letters."""
    columns = {f"{name}.{c}": table.rows[c] for name, table in public.items() for c in table.rows.column_names}
    return {
        name: count for name, column in sorted(columns.items(), key=lambda held: held[0]) if (count := count_undecoded(column))
    }


def _refuse_sizes(schema: Schema, public: PublicTables) -> None:
    """The plan reckoned with the declared rows of a public table: more would break what it promised."""
    wrong = [
        f"tables.{name}.rows: the public table has {table.rows.num_rows:,} rows, the schema says {declared:,}"
        for name, table in public.items()
        if (declared := schema.tables[name].rows) is not None and table.rows.num_rows > declared
    ]
    if wrong:
        listed = "\n".join(f"  - {fault}" for fault in wrong)
        raise PlanError(
            f"public tables are larger than the plan reckons with:\n{listed}\nWrite the right number, and plan again."
        )


def compared_keys(
    keys: Mapping[str, Vocabulary], reader: Source, reflection: Reflection
) -> tuple[dict[str, tuple[Texts, ...]], dict[str, tuple[str, ...]]]:
    """The keys by who refers to them, in the form in which the source compares them, and the collations of that form."""
    forms, collations = {}, {}
    for name, vocabulary in keys.items():
        forms[name] = vocabulary.keys
        stored = reflection.table(vocabulary.table)
        columns = [] if stored is None else [column for column in map(stored.column, vocabulary.columns) if column is not None]
        if any(column.collation for column in columns):
            collations[name] = tuple(column.collation for column in columns)
            forms[name] = _forms(vocabulary, columns, reader)
    return forms, collations


def _forms(vocabulary: Vocabulary, columns: Sequence[ReflectedColumn], reader: Source) -> tuple[Texts, ...]:
    import pyarrow as pa

    names = [column.name for column in columns]
    asked = [compared(column.name, column.collation) if column.collation else column.name for column in columns]
    forms: dict[Texts, Texts] = {}
    for batch in reader.read(vocabulary.table, [*names, *asked]):
        rows = zip(*(column.to_pylist() for column in _marked(pa.Table.from_batches([batch])).columns), strict=True)
        known = [[text(value) for value in row] for row in rows if None not in row]
        forms |= {tuple(row[: len(names)]): tuple(row[len(names) :]) for row in known}
    return tuple(forms[key] for key in vocabulary.keys)


def stage_vocabularies(tables: tuple[TableNeeds, ...], schema: Schema, public: PublicTables) -> dict[str, Vocabulary]:
    """The public keys that the stage looks for, by who refers to them."""
    related = relations(schema, public, {})
    vocabularies: dict[str, Vocabulary] = {}
    for needs in tables:
        if needs.held_by is not None:
            continue
        if (unrolling := related[needs.name].unrolling) is not None:
            vocabularies[needs.name] = unrolling.vocabulary
        for link in needs.links:
            if isinstance(words := related[needs.name].reference(link.name), Words):
                vocabularies[f"{needs.name}.{link.name}"] = words.vocabulary
    return vocabularies


@dataclass(frozen=True)
class Room:
    """For a list whose length nobody has said: how many values there are codes for."""

    entities: int
    """Noisily."""
    follows: bool
    """Whether rows look at the row before: then a list is counted with itself, not only with what is short."""

    def places(self, deviation: float) -> int:
        """As many as can be counted together with another column while the mean cell stays clear of the noise."""
        cells = self.entities / (CLEAR_OF_NOISE * deviation)
        return int(min(max(DEFAULT_MAX_VALUES, sqrt(cells) if self.follows else cells / _PARTNER), MOST_PLACES))


_PARTNER = 10
"""Codes of what a list is counted together with, as a rule."""
MOST_LISTED = 10_000
"""Values that are told of a column, with codes of their own or without."""


def learn_values(
    door: StageDoor,
    table: str,
    name: str,
    most: int,
    most_rows: int,
    rows_each: int,
    share: float,
    lists: int,
    room: Room | None = None,
) -> LearnedValues:
    """The values of a column that nobody has listed, most frequent first, ``most`` at most; or, where there is ``room``, all that
    stand clear of the noise. ``rows_each`` is how many rows an entity has on average, ``lists`` how many columns share the δ."""
    learner = door.unlisted(table, name, most_rows, share, 1 / lists)
    categories = learner.categories(most if room is None else MOST_LISTED, per_entity=named_values(rows_each, most_rows))
    order = np.argsort(-categories.counts, kind="stable")
    values, counts = tuple(categories.values[place] for place in order), tuple(float(categories.counts[place]) for place in order)
    places = len(values) if room is None else room.places(categories.scale)
    rest = tuple(float(f"{count:.3g}") for count in counts[places:])
    return LearnedValues(values[:places], counts=counts[:places], others=values[places:], other_counts=rest)


def learn_codes(
    door: StageDoor, table: str, name: str, listed: CodeList, most: int, most_rows: int, share: float
) -> tuple[LearnedValues, list[Warned]]:
    """Which codes of a public list are worth a place, and what is doubtful about it. A list that is short is taken whole, and
    costs nothing."""
    if len(listed.codes) <= most:
        return LearnedValues(listed.codes, levels=listed.levels), []
    left = [share]

    def ask(cell: NDArray[np.int64], part: float) -> NoisyCounts:
        cells = dict(zip(listed.codes, cell.tolist(), strict=True))
        spent = left[0] * part
        left[0] -= spent
        clip = Clip(1.0) if most_rows > 1 else None
        (answer,) = door.listed(table, name, cells, most_rows, spent).counts([Marginal.of(CODE)], 1.0, clip)
        return answer

    descended, where = descend(listed, most, ask), f"{table}.{name}"
    if descended.strangers <= TOLD:
        return descended.values, []
    what = f"the vocabulary lacks the codes of about {descended.strangers:.0%} of its rows"
    remedy = "Name the vocabulary that they are from, or add them to it, if they may be known"
    return descended.values, [Warned(where, what, remedy)]


def doubt_of_letters(where: str, values: int, of: int) -> Warned:
    """Values that hold bytes that are no letters, told of by a public table or by a list that was learned."""
    what = f"{values:,} of its {of:,} values are not UTF-8, or not in the encoding that was said: they come out with {NO_LETTER}"
    return Warned(where, what, SAY_ENCODING)


def doubts_of_public(public: PublicTables) -> list[Warned]:
    """What is doubtful about public tables."""
    of = {name: table.rows.num_rows for name, table in public.items()}
    return [doubt_of_letters(where, n, of[where.rpartition(".")[0]]) for where, n in undecoded_values(public).items()]


def doubt_of_list(where: str, values: LearnedValues, most: int | None = None) -> list[Warned]:
    """A list that stayed empty, that stopped at the ``most`` it may hold, or that holds what are no words."""
    if values.values or values.shared:
        garbled = sum(NO_LETTER in str(value) for value in values.values)
        doubts = [doubt_of_letters(where, garbled, len(values.values))] if garbled else []
        if most is not None and most > 1 and len(values.values) >= most:
            what = f"its list stopped at {most:,} values; what else there is, comes out as one of these"
            doubts.append(Warned(where, what, "If there are more that matter, write a larger max_values"))
        return doubts
    remedy = "If its values may be known, list them (`values: […]`), or name a public `vocabulary`; or spend more"
    return [Warned(where, "no value stood clear of the noise, so nothing is known of it", remedy)]
