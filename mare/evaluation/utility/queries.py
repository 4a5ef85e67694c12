"""Aggregate queries over joins, generated from the schema and asked on both sides: what an analyst would have asked.

Shares and means by group, never plain counts, so that sides of different sizes compare. Each is SQL that anybody can run again.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass

import numpy as np

from mare.evaluation.measured import SetName
from mare.evaluation.questions import Question, answer_all
from mare.evaluation.sides import Side
from mare.schema import Schema
from mare.schema.columns import Listed, Quantity

QUERIES = 20


@dataclass(frozen=True)
class Query:
    """One query and how far the answers are apart, as a share of the real one. Internal, not private."""

    name: str
    sql: str
    error: float | None
    """Of the synthetic side: Σ|real - synthetic| / Σ|real| over all groups; None where there was nothing to compare."""
    holdout: float | None
    """Of the hold-out: the error that another sample of the same people has."""


def asked_on_both(
    schema: Schema, real: Side, synthetic: Side, holdout: Side | None, *, seed: int, most: int = QUERIES
) -> tuple[Query, ...]:
    """So many queries drawn from all that the schema allows."""
    questions = list(generated(schema, real.missing | synthetic.missing))
    rng = np.random.default_rng(seed)
    chosen = tuple(questions[place] for place in np.sort(rng.permutation(len(questions))[:most]))
    if not chosen:
        return ()
    sides: dict[SetName, Side] = {"real": real, "synthetic": synthetic}
    answers = answer_all(chosen, sides if holdout is None else sides | {"holdout": holdout})
    return tuple(Query(answer.name, answer.sql, answer.error, answer.holdout_error) for answer in answers)


def generated(schema: Schema, missing: Set[str] = frozenset()) -> Iterator[Question]:
    """Of each table: how its rows spread over groups, and the means of its numbers by group; groups are categories of the table
    itself and of every table above it, and pairs of them."""
    for table in schema.tables:
        if table in missing or not _is_of_the_entity(schema, table):
            continue
        chain = _chain(schema, table, missing)
        joins = f"FROM {_quoted(table)} AS t0" + "".join(join for _, join in chain)
        groups = [
            (f"{above}.{column}", f"t{place}.{_quoted(column)}")
            for place, above in enumerate([table, *(name for name, _ in chain)])
            for column in _of_kind(schema, above, Listed, missing)
        ]
        measures = [("the share of rows", "count(*) * 1.0 / sum(count(*)) OVER ()")]
        measures += [
            (f"the mean of {column}", f"avg(t0.{_quoted(column)})") for column in _of_kind(schema, table, Quantity, missing)
        ]
        pairs = [(first, second) for i, first in enumerate(groups) for second in groups[i + 1 :]]
        for by in [*((group,) for group in groups), *pairs]:
            for what, aggregate in measures:
                listed = ", ".join(f"CAST({expression} AS VARCHAR) AS g{i}" for i, (_, expression) in enumerate(by))
                numbered = ", ".join(str(i + 1) for i in range(len(by)))
                name = f"{table}: {what} by {' and '.join(group for group, _ in by)}"
                yield Question(name, f"SELECT {listed}, {aggregate} AS answer {joins} GROUP BY {numbered} ORDER BY {numbered}")


def _is_of_the_entity(schema: Schema, table: str) -> bool:
    described = schema.tables[table]
    return not (described.public or described.ignore or described.pool)


def _chain(schema: Schema, table: str, missing: Set[str]) -> list[tuple[str, str]]:
    """The tables above, nearest first, each with the SQL that joins it to the one below."""
    joins: list[tuple[str, str]] = []
    below = table
    while (above := schema.parent_name(below)) is not None and above in schema.tables and above not in missing:
        link = schema.parent(below)
        theirs = (link.references if link is not None else None) or schema.tables[above].key or ()
        mine = schema.parent_columns(below)
        if not mine or len(mine) != len(theirs):
            break
        place = len(joins) + 1
        on = " AND ".join(f"t{place - 1}.{_quoted(a)} = t{place}.{_quoted(b)}" for a, b in zip(mine, theirs, strict=True))
        joins.append((above, f" JOIN {_quoted(above)} AS t{place} ON {on}"))
        below = above
    return joins


def _of_kind(schema: Schema, table: str, kind: type, missing: Set[str]) -> list[str]:
    return [
        name
        for name, column in schema.tables[table].columns.items()
        if isinstance(column, kind) and column.modelled and f"{table}.{name}" not in missing
    ]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
