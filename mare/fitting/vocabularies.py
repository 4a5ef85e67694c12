"""Which keys and values there are: public tables are read before anything is paid; of large vocabularies the keys are chosen that
are worth a column, of columns the values that are worth a code.

A public table is known to everybody, so its keys are a domain without cost. Which of them the private rows use is not: that
is a noisy histogram over all keys, one unit of weight per entity, charged to the learning share. So it is for a public list of
values that is too long; where nobody has written the values down, they are found as stable keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mare.codec import LearnedValues, OpenCodec
from mare.domain import Marginal
from mare.errors import InternalError, PlanError, SourceError
from mare.planning import Warned
from mare.ports import Source, compared
from mare.privacy.curator import Clip
from mare.relational.public import PublicTable, PublicTables, Texts, Vocabulary, in_order, text
from mare.relational.relations import Words, relations
from mare.schema import Schema
from mare.schema.columns import Code
from mare.schema.reflection import ReflectedColumn, ReflectedTable, Reflection
from mare.stage_door import CODE, StageDoor, TableNeeds

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
            raise SourceError(f"{reflection.label} has no table {name!r}. It has: {held}.")
        left_out = {c.name for c in map(stored.column, table.ignore_columns) if c is not None}
        columns = [c.name for c in stored.columns if c.name not in left_out]
        public[name] = in_order(PublicTable(name, _rows(reader, stored, columns), table.key or ()))
    _refuse_sizes(schema, public)
    return public


def _rows(reader: Source, stored: ReflectedTable, columns: list[str]) -> pa.Table:
    import pyarrow as pa

    batches = list(reader.read(stored.name, columns))
    if not batches:
        return pa.table({name: pa.array([], type=pa.string()) for name in columns})
    return pa.Table.from_batches(batches).unify_dictionaries()


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
    names = [column.name for column in columns]
    asked = [compared(column.name, column.collation) if column.collation else column.name for column in columns]
    forms: dict[Texts, Texts] = {}
    for batch in reader.read(vocabulary.table, [*names, *asked]):
        rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
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


def learn_values(
    door: StageDoor,
    schema: Schema,
    table: str,
    name: str,
    wanted: OpenCodec,
    most_rows: int,
    rows_each: int,
    share: float,
    lists: int,
    public: PublicTables,
) -> LearnedValues:
    """The values of a column, most frequent first. ``rows_each`` is how many rows an entity has on average, ``lists`` how many
    columns share the δ for learning."""
    described = schema.tables[table].columns[name]
    listed, levels = _public_list(described, name, wanted, public)
    if listed is None:
        learner = door.unlisted(table, name, most_rows, share, 1 / lists)
        # Each entity names a few of its values: counts grow with their number up to how many it has, the noise with its root.
        categories = learner.categories(wanted.most, per_entity=max(1, min(most_rows, rows_each)))
        order = np.argsort(-categories.counts, kind="stable")
        return LearnedValues(
            tuple(categories.values[place] for place in order),
            counts=tuple(float(categories.counts[place]) for place in order),
        )
    if len(listed) <= wanted.most:
        return LearnedValues(listed, levels=levels)
    counts = _counts(door, table, name, listed, most_rows, share)
    return _kept(listed, levels, counts, wanted.most, _kin(described, listed, levels))


def doubt_of_list(where: str, values: LearnedValues) -> Warned | None:
    """A list that stayed empty."""
    if values.values or values.shared:
        return None
    what = "no value stood clear of the noise, so nothing is known of it"
    return Warned(
        where, what, "If its values may be known, list them (`values: […]`), or name a public `vocabulary`; or spend more"
    )


def _public_list(
    described: object, name: str, wanted: OpenCodec, public: PublicTables
) -> tuple[tuple[str, ...] | None, tuple[tuple[str, ...], ...]]:
    """All codes of a public list, and their levels there, coarse to fine."""
    if wanted.listed:
        return wanted.listed, ()
    if wanted.vocabulary is None or not isinstance(described, Code):
        return None, ()
    table, hierarchy = public[wanted.vocabulary], described.hierarchy
    others = () if hierarchy is None or hierarchy.by is None else (hierarchy.by,)
    keys = [column for column in table.key if column not in others] or list(table.key)
    column = name if name in keys else keys[0]
    wanted_levels = [*(other for other in others if other in table.key), *(hierarchy.columns if hierarchy is not None else ())]
    rows = zip(
        table.texts([column]), *([_level(v) for v in table.column(level).to_pylist()] for level in wanted_levels), strict=True
    )
    first: dict[str, tuple[str, ...]] = {}
    for key, *names in rows:
        if key is not None:
            first.setdefault(key[0], tuple(names))
    if not first:
        raise InternalError(f"the vocabulary {wanted.vocabulary!r} is empty")
    return tuple(first), tuple(zip(*first.values(), strict=True)) if wanted_levels else ()


def _level(value: object) -> str:
    return "" if value is None else str(value)


def _counts(door: StageDoor, table: str, name: str, listed: tuple[str, ...], most_rows: int, share: float) -> np.ndarray:
    """Noisy counts of every code of the list."""
    clip = Clip(1.0) if most_rows > 1 else None
    (answer,) = door.listed(table, name, listed, most_rows, share).counts([Marginal.of(CODE)], 1.0, clip)
    return answer.rows[:-1]


def _kin(described: object, listed: tuple[str, ...], levels: Sequence[tuple[str, ...]]) -> list[str]:
    """By what the rare codes are put together: the coarsest level; one group for all where there is none."""
    if levels:
        return list(levels[0])
    if isinstance(described, Code) and described.hierarchy is not None and described.hierarchy.prefix:
        return [text[: described.hierarchy.prefix[0]] for text in listed]
    return [""] * len(listed)


def _kept(
    listed: tuple[str, ...], levels: tuple[tuple[str, ...], ...], counts: np.ndarray, most: int, kin: list[str]
) -> LearnedValues:
    """The codes with the largest noisy counts; the rest in groups of kin, or in one where there are too many groups."""
    order = np.argsort(-counts, kind="stable").tolist()
    groups = len(set(kin))
    if groups > most // 2:
        kin, groups = [""] * len(listed), 1
    kept = order[: max(0, most - groups)]
    rest: dict[str, list[int]] = {}
    for place in order[len(kept) :]:
        rest.setdefault(kin[place], []).append(place)
    # A group is known by its most frequent code; that is also how it is called at every level.
    heads = [places[0] for places in rest.values()]
    called = tuple(tuple(level[place] for place in (*kept, *heads)) for level in levels)
    clear = np.maximum(counts, 0.0)
    return LearnedValues(
        tuple(listed[place] for place in kept),
        tuple(tuple(listed[place] for place in places) for places in rest.values()),
        (*(float(clear[place]) for place in kept), *(float(clear[places].sum()) for places in rest.values())),
        called,
    )
