"""How many rows the preview reckons with. Declared, or assumed and said so: never read.

A preview needs sizes before anything may be measured. `fit` works the shares out again with noisy sizes, so a
wrong assumption here misleads nobody but the reader, who is told each one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

from mare.graph.dag import DatasetDag
from mare.graph.groups import Part
from mare.graph.ownership import link_cap, parent_name
from mare.schema import Schema

from .sensitivity import RowBound, owner

ASSUMED_ENTITIES = 10_000
"""Entities where nothing says otherwise: the small end of what `recipe.md` measured, so the preview errs towards noise."""
_SAY_BETTER = "Say better with --entities N, or with rows: in the schema if the number is public."


@dataclass(frozen=True)
class AssumedRows:
    """Rows per table for the preview, and where every number is from."""

    entities: float
    tables: Mapping[str, float]
    assumptions: tuple[str, ...]

    def of(self, schema: Schema, table: str, part: Part) -> float:
        """Rows of a group's view: a context has one per parent row."""
        return self.tables[(parent_name(schema, table) or table) if part == "context" else table]


def _mean_children(cap: int) -> float:
    """Between one child and the cap, on a log scale: caps are set generously."""
    return sqrt(cap)


def _per_entity(schema: Schema, dag: DatasetDag, bounds: Mapping[str, RowBound]) -> dict[str, float]:
    """Assumed mean rows per entity of every table, from the caps alone. ``bounds`` comes parents first."""
    means: dict[str, float] = {}
    for table, bound in bounds.items():
        above = [means[owner(edge)] for edge in dag.owners(table)]
        if dag.node(table).role == "private":
            cap = link_cap(schema, table)
            means[table] = min(above[0] * _mean_children(cap.rows if cap else 1), bound.rows)
        else:
            means[table] = sum(above) if above else 1.0
    return means


def assume_rows(schema: Schema, dag: DatasetDag, bounds: Mapping[str, RowBound], entities: int | None = None) -> AssumedRows:
    """Rows of every table of the entity: declared where the schema does, otherwise from the caps."""
    means = _per_entity(schema, dag, bounds)
    said: list[str] = []
    count, scale = _entities(schema, means, entities, said)
    rows: dict[str, float] = {}
    guessed = False
    for table, bound in bounds.items():
        if table == dag.entity.name:
            rows[table] = count
            continue
        declared = schema.tables[table].rows
        if declared is None:
            rows[table] = max(1.0, count * means[table])
            said.append(f"{table}: {rows[table]:,.0f} rows, assumed: {means[table]:.3g} per entity of at most {bound.rows:,}.")
            guessed = True
            continue
        wanted = declared * scale
        rows[table] = max(1.0, min(wanted, _kept(schema, dag, table, bound, count, rows)))
        times = f", times {scale:.3g} as for the entities" if scale != 1 else ""
        kept = f"; the caps keep at most {rows[table]:,.0f}" if rows[table] < wanted else ""
        said.append(f"{table}: {wanted:,.0f} rows, declared{times}{kept}.")
    if guessed:
        said.append("A parent row is assumed to have the square root of its cap in children, where nothing is declared.")
    return AssumedRows(count, rows, tuple(said))


def _kept(schema: Schema, dag: DatasetDag, table: str, bound: RowBound, entities: float, rows: Mapping[str, float]) -> float:
    """The most rows that truncation can leave, given the rows of the owners."""
    cap = link_cap(schema, table) if dag.node(table).role == "private" else None
    return min(entities * bound.rows, sum(rows[owner(edge)] for edge in dag.owners(table)) * (1 if cap is None else cap.rows))


def _entities(schema: Schema, means: Mapping[str, float], asked: int | None, said: list[str]) -> tuple[float, float]:
    """The number of entities, and the factor by which declared rows are scaled when the caller asks for another number."""
    name = schema.entity_name or "entities"
    own = schema.table(name).rows if schema.entity_name is not None else None
    # The table nearest to the entity tells most; the name breaks ties, so that the order of the file does not matter.
    declared = {table: rows for table in means if table in schema.tables and (rows := schema.tables[table].rows) is not None}
    implied = sorted((means[table], table, rows / means[table]) for table, rows in declared.items())
    known = own if own is not None else implied[0][2] if implied else None
    if asked is not None:
        said.append(f"{name}: {asked:,} entities, as asked for.")
        return float(asked), (asked / known if known else 1.0)
    if own is not None:
        said.append(f"{name}: {own:,} entities, declared.")
        return float(own), 1.0
    if known is not None:
        said.append(f"{name}: {known:,.0f} entities, assumed from the declared rows of {implied[0][1]}. {_SAY_BETTER}")
        return max(1.0, known), 1.0
    said.append(f"{name}: {ASSUMED_ENTITIES:,} entities, assumed. {_SAY_BETTER}")
    return float(ASSUMED_ENTITIES), 1.0
