"""A twin of a database is made, and what it lacks although nobody said so is found: two reflections compared, fact by fact."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import mare
from mare.finding import open_sink, open_source
from mare.ports import Foresees
from mare.release.storage import output_tables
from mare.sampling.sample import sink_tables
from mare.schema.reflection import ReflectedColumn, ReflectedTable, Reflection

_COLUMN = ("sql_type", "nullable", "values", "min", "max", "default", "counter", "generated", "expression", "virtual", "comment")
_TABLE = ("key", "uniques", "indexes", "orders", "names", "checks", "special_indexes", "foreign_keys")


def untold(source: Reflection, target: Reflection, notes: Sequence[str]) -> list[str]:
    """Every difference of which no note speaks."""
    return [difference for difference, words in _differences(source, target) if not _told(words, notes)]


def _told(words: Sequence[str], notes: Sequence[str]) -> bool:
    return any(all(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", note) for word in words) for note in notes)


def _differences(source: Reflection, target: Reflection) -> Iterator[tuple[str, tuple[str, ...]]]:
    for table in source:
        made = target.table(table.name)
        if made is None:
            yield f"{table.name} is not there", (table.name,)
            continue
        if [c.name for c in made.columns] != [c.name for c in table.columns if made.column(c.name)]:
            yield f"{table.name}: its columns stand in another order", (table.name, "order")
        if table.comment and not (made.comment or "").startswith(table.comment):
            yield f"{table.name}: its comment", (table.name, "comments")
        for column in table.columns:
            yield from _of_column(table.name, column, made.column(column.name))
        for fact in _TABLE:
            yield from _of_fact(table, made, fact)


def _of_column(table: str, column: ReflectedColumn, made: ReflectedColumn | None) -> Iterator[tuple[str, tuple[str, ...]]]:
    if made is None:
        yield f"{table}.{column.name} is not there", (table, column.name)
        return
    for fact in (*_COLUMN, "domain"):
        if getattr(column, fact) != getattr(made, fact):
            here, there = getattr(column, fact), getattr(made, fact)
            yield f"{table}.{column.name}: {fact} {here!r} became {there!r}", (f"{table}.{column.name}",)


def _of_fact(table: ReflectedTable, made: ReflectedTable, fact: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    held = getattr(made, fact)
    for part in getattr(table, fact) if fact != "key" else [table.key]:
        if part not in (held if fact != "key" else [made.key]):
            named = getattr(part, "name", None) or (part[1] if fact == "names" else None)
            columns = getattr(part, "columns", None) or (part if fact in ("key", "uniques", "indexes") else ())
            yield (
                f"{table.name}: {fact} {part!r}",
                (table.name, named)
                if named and fact != "foreign_keys"
                else (
                    table.name,
                    *columns,
                ),
            )


def fitted(schema: str, source: str) -> mare.Release:
    plan = mare.plan(mare.load_schema(schema), mare.Budget(epsilon=100, delta=1e-9))
    return mare.fit(plan, source, unsafe_seed=1)


def poured(release: mare.Release, target: str, *, replace: bool = False) -> tuple[str, ...]:
    """Sample, and give what the target says was left out."""
    from mare.sampling import pour, start

    with open_sink(target, replace=replace) as sink:
        pour(start(release), sink)
    return sink.notes


def made_twin(schema: str, source: str, target: str) -> tuple[str, ...]:
    return poured(fitted(schema, source), target)


def foreseen(schema: str, source: str, target: str) -> tuple[str, ...]:
    """What the target will lack, told before any fit."""
    with open_source(source) as opened:
        tables = sink_tables(mare.load_schema(schema), output_tables(mare.load_schema(schema), opened.reflect()))
    with open_sink(target) as sink:
        assert isinstance(sink, Foresees)
        return sink.foresee(tables)
