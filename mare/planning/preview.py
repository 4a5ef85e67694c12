"""The preview: what each group will get of the budget and what is left of its counts under the noise.

It uses the functions that `fit` uses (`allocate`, ρ ↔ (ε, δ), σ from ρ), with declared or assumed sizes in place of
noisy ones. The verdict is the θ-usefulness of PrivBayes as used at NIST (privbayes-nist-2018): a cross-tab is worth
measuring when it has at most τ = n̂ / (4·noise) cells, that is when a cell's mean count is at least four times the noise.

A preview needs sizes before anything may be measured (`assume_rows`): declared, or assumed and said so, never read. `fit` works
the shares out again with noisy sizes, so a wrong assumption here misleads nobody but the reader, who is told each one.

And what its reader has to agree with: what is public, what was peeked, what is learned; and what to change where a group will
drown in noise. Noise grows with the number of cells, and falls with ε: the remedy names the columns and the ε that would do it
alone; a little of each does it together. Caps are no remedy: models scale down an entity that has more rows than most, so that
what nobody reaches adds no noise, and a lower one cuts rows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, pi, sqrt

from mare.graph.dag import DatasetDag
from mare.graph.groups import ColumnGroup, Part
from mare.models import Workload
from mare.privacy.allocation import AllocationRule, GroupDemand, allocate
from mare.privacy.budget import Budget, plainly
from mare.privacy.conversion import rho_from_budget, scale_from_epsilon, sigma_from_rho, sqrt_up
from mare.schema import Schema
from mare.schema.columns import Code
from mare.schema.faults import Fault, Path
from mare.schema.layout import most_children

from .domains import RowBound, is_category, is_learned
from .plan import GroupPreview, Phases, PlannedGroup, Verdict, Warned

ASSUMED_ENTITIES = 10_000
"""Entities where nothing says otherwise: the small end of what `recipe.md` measured, so the preview errs towards noise."""
_SAY_BETTER = "Say better with --entities N, or with rows: in the schema if the number is public."


@dataclass(frozen=True)
class AssumedRows:
    """Rows per table for the preview, and where every number is from."""

    entities: float
    guessed: bool
    """Whether nothing at all says how many entities there are."""
    tables: Mapping[str, float]
    assumptions: tuple[str, ...]

    def of(self, schema: Schema, table: str, part: Part) -> float:
        """Rows of a group's view: a context has one per parent row."""
        return self.tables[(schema.parent_name(table) or table) if part == "context" else table]


def _per_entity(schema: Schema, dag: DatasetDag, bounds: Mapping[str, RowBound]) -> dict[str, float]:
    """Assumed mean rows per entity of every table, from the caps alone. ``bounds`` comes parents first."""
    means: dict[str, float] = {}
    for table, bound in bounds.items():
        above = [means[edge.owner] for edge in dag.owners(table)]
        if dag.node(table).role == "private":
            # Between one child and the cap, on a log scale: caps are set generously.
            means[table] = min(above[0] * sqrt(most_children(schema, table)), bound.rows)
        else:
            means[table] = sum(above) if above else 1.0
    return means


def assume_rows(schema: Schema, dag: DatasetDag, bounds: Mapping[str, RowBound], entities: int | None = None) -> AssumedRows:
    """Rows of every table of the entity: declared where the schema does, otherwise from the caps."""
    means = _per_entity(schema, dag, bounds)
    assumptions: list[str] = []
    count, scale = _entities(schema, means, entities, assumptions)
    nobody_said = entities is None and all(schema.table(table).rows is None for table in bounds)
    rows: dict[str, float] = {}
    by_caps = False
    for table, bound in bounds.items():
        if table == dag.entity.name:
            rows[table] = count
            continue
        declared = schema.tables[table].rows
        if declared is None:
            rows[table] = max(1.0, count * means[table])
            assumptions.append(
                f"{table}: {rows[table]:,.0f} rows, assumed: {means[table]:.3g} per entity of at most {bound.rows:,}."
            )
            by_caps = True
            continue
        wanted = declared * scale
        rows[table] = max(1.0, min(wanted, _kept(schema, dag, table, bound, count, rows)))
        times = f", times {scale:.3g} as for the entities" if scale != 1 else ""
        kept = f"; the caps keep at most {rows[table]:,.0f}" if rows[table] < wanted else ""
        assumptions.append(f"{table}: {wanted:,.0f} rows, declared{times}{kept}.")
    if by_caps:
        assumptions.append("A parent row is assumed to have the square root of its cap in children, where nothing is declared.")
    return AssumedRows(count, nobody_said, rows, tuple(assumptions))


def _kept(schema: Schema, dag: DatasetDag, table: str, bound: RowBound, entities: float, rows: Mapping[str, float]) -> float:
    """The most rows that truncation can leave, given the rows of the owners."""
    each = most_children(schema, table) if dag.node(table).role == "private" else 1
    return min(entities * bound.rows, sum(rows[edge.owner] for edge in dag.owners(table)) * each)


def _entities(schema: Schema, means: Mapping[str, float], asked: int | None, assumptions: list[str]) -> tuple[float, float]:
    """The number of entities, and the factor by which declared rows are scaled when the caller asks for another number."""
    name = schema.entity_name or "entities"
    own = schema.table(name).rows if schema.entity_name is not None else None
    # The table nearest to the entity tells most; the name breaks ties, so that the order of the file does not matter.
    declared = {table: rows for table in means if table in schema.tables and (rows := schema.tables[table].rows) is not None}
    implied = sorted((means[table], table, rows / means[table]) for table, rows in declared.items())
    known = own if own is not None else implied[0][2] if implied else None
    if asked is not None:
        assumptions.append(f"{name}: {asked:,} entities, as asked for.")
        return float(asked), (asked / known if known else 1.0)
    if own is not None:
        assumptions.append(f"{name}: {own:,} entities, declared.")
        return float(own), 1.0
    if known is not None:
        assumptions.append(f"{name}: {known:,.0f} entities, assumed from the declared rows of {implied[0][1]}. {_SAY_BETTER}")
        return max(1.0, known), 1.0
    assumptions.append(f"{name}: {ASSUMED_ENTITIES:,} entities, assumed. {_SAY_BETTER}")
    return float(ASSUMED_ENTITIES), 1.0


CLEAR_OF_NOISE = 4.0
"""θ: how many times the noise a mean count has to be."""
_MEAN_OF_HALF_NORMAL = sqrt(2 / pi)
_LARGEST_FLOAT = 10**300
"""An upper bound of cells may be beyond what a float holds; there it no longer matters by how much."""


def total_cost(budget: Budget) -> float:
    """The whole budget in its own unit: ρ of zCDP where δ > 0, else ε."""
    return budget.epsilon if budget.pure else rho_from_budget(budget)


def noise_per_cell(budget: Budget, cost: float, sensitivity: int, histograms: int) -> float:
    """Standard deviation of the noise when k cross-tabs of a view are measured together at this cost.

    An entity changes each of them by at most S: S√k together in L2 (Gaussian), kS in L1 (Laplace).
    """
    if budget.pure:
        return sqrt(2) * scale_from_epsilon(cost, float(histograms * sensitivity))
    return sigma_from_rho(cost, sqrt_up(sensitivity * sensitivity * histograms))


def judge(per_cell: float, noise: float) -> Verdict:
    if per_cell >= CLEAR_OF_NOISE * noise:
        return "fine"
    return "noisy" if per_cell >= noise else "drowns"


def preview(
    groups: Sequence[PlannedGroup],
    workloads: Mapping[str, Workload],
    rows: Mapping[str, float],
    budget: Budget,
    rule: AllocationRule,
    phases: Phases,
    entities: float,
) -> tuple[GroupPreview, ...]:
    """One line per group, in the same order."""
    demands = [
        GroupDemand(g.name, len(g.columns), len(g.history), rows[g.name], g.sensitivity, max(1, workloads[g.name].largest))
        for g in groups
    ]
    shares = allocate(demands, rule, pure=budget.pure)
    total = total_cost(budget) * phases.models
    parts = [(g, workloads[g.name], rows[g.name], shares[g.name]) for g in groups]
    return tuple(_group(g, work, many, share, total * share, budget, entities) for g, work, many, share in parts)


def clipped(sensitivity: int, rows: float, entities: float) -> int:
    """How many rows of an entity are counted in full, about: models scale down an entity that has more than most, so that caps
    that nobody reaches add no noise."""
    return min(sensitivity, max(1, ceil(rows / max(entities, 1.0))))


def _group(
    group: PlannedGroup, work: Workload, rows: float, share: float, cost: float, budget: Budget, entities: float
) -> GroupPreview:
    noise = noise_per_cell(budget, cost, clipped(group.sensitivity, rows, entities), max(1, work.histograms))
    largest = float(min(max(1, work.largest), _LARGEST_FLOAT))
    per_cell = rows / largest
    # half the L1 distance that noise adds: ½ · cells · E|noise| / n
    error = 0.5 * largest * noise * _MEAN_OF_HALF_NORMAL / rows
    return GroupPreview(
        name=group.name,
        rows=rows,
        share=share,
        cost=cost,
        histograms=work.histograms,
        largest=work.largest,
        cells=work.cells,
        noise=noise,
        per_cell=per_cell,
        relative_error=min(1.0, error),
        verdict=judge(per_cell, noise),
    )


def warn_of_peeking(paths: Sequence[Path]) -> Warned | None:
    """One warning that lists the places."""
    if not paths:
        return None
    listed = ", ".join(".".join(str(step) for step in path) for path in paths)
    return Warned(
        "schema",
        f"{len(paths)} {'place was' if len(paths) == 1 else 'places were'} filled in by looking at the data: {listed}",
        "Replace each by what is publicly known and remove its peeked mark; until then fit refuses this schema.",
    )


def warn_of_epsilon(budget: Budget) -> Warned | None:
    """A warning where ε is so large that the guarantee says little."""
    word = plainly(budget.epsilon, budget.delta)
    return None if word is None else Warned("budget", word, "Choose a smaller epsilon, or do not rely on the promise.")


def warn_of_a_guess(schema: Schema, entities: float) -> Warned:
    """No verdict is known where nobody said how many entities there are: 91 customers are no 10,000."""
    return Warned(
        schema.entity_name or "entities",
        f"their number is not given, so each verdict is for a guess of {entities:,.0f}",
        "Say it with --entities N, or with rows: in the schema if the number is public.",
    )


def public_facts(schema: Schema, dag: DatasetDag) -> tuple[str, ...]:
    """What the guarantee does not cover, because it is taken to be known to everybody."""
    facts = ["the schema itself: names, types, values, bounds, caps, which columns may be NULL"]
    if public := dag.tables("public"):
        facts.append(f"tables copied verbatim: {', '.join(public)}")
    brought = {
        c.vocabulary if isinstance(c.vocabulary, str) else c.vocabulary.file
        for table in schema.tables.values()
        for c in table.columns.values()
        if isinstance(c, Code) and c.vocabulary is not None and c.vocabulary_table is None
    }
    if brought:
        facts.append(f"vocabularies of codes: {', '.join(sorted(brought))}")
    if pools := dag.tables("pool"):
        facts.append(f"the size of pools, whose rows are made up: {', '.join(pools)}")
    if sized := [name for name in dag.tables("entity", "private", "owned") if schema.tables[name].rows is not None]:
        facts.append(f"rough row counts, as declared: {', '.join(sized)}")
    return tuple(facts)


def learning_without_delta(schema: Schema, groups: tuple[ColumnGroup, ...], budget: Budget) -> list[Fault]:
    """With δ = 0 a list of values cannot be learned: any rule that may release a value has to be able to withhold it."""
    if not budget.pure:
        return []
    faults = {}
    for group in groups:
        for column in group.columns:
            table, name = column.table or group.table, column.column
            if name is None or not is_learned(schema, table, name) or not is_category(schema, table, name):
                continue
            kind = "references" if schema.tables[table].drawn_reference(name) is not None else "columns"
            path: Path = ("tables", table, kind, name)
            what = "its values are to be learned, which no mechanism can do with delta = 0"
            remedy = "Write values: […], or take them from a public table, or plan with a delta above 0 (--delta 1e-9)"
            faults[path] = Fault(path, what, remedy)
    return list(faults.values())


def vocabulary_notes(schema: Schema, dag: DatasetDag) -> list[str]:
    """What becomes of vocabularies that are not unrolled in full."""
    notes = []
    for table in dag.tables("private"):
        link = schema.tables[table].parent
        if link is None or link.vocabulary is None:
            continue
        rest = {
            "rows": "the others become ordinary rows, with the key as a column",
            "hierarchy": f"the others are drawn within their {link.vocabulary.hierarchy}",
            "drop": "rows with another key are dropped",
        }[link.vocabulary.rest]
        notes.append(
            f"{table}: {link.vocabulary.select:,} keys of {link.via}, chosen with budget, get columns of their own; {rest}."
        )
    return notes


_SENSIBLE_EPSILON = 20
"""Above this, ε promises next to nothing; it is not offered as a remedy."""
_NAMED_COLUMNS = 3
_LAST_RESORT = "use fewer values, and leave out (ignore_columns) what nobody needs"


def warn_of_noise(budget: Budget, group: PlannedGroup, seen: GroupPreview, part: Callable[[Budget], float]) -> Warned | None:
    """The warning for one group, or None where its counts stand clear of the noise. ``part``: what the models get of a budget,
    which is more of a larger one, since learning needs less of it."""
    if seen.verdict == "fine":
        return None
    factor = CLEAR_OF_NOISE * seen.noise / seen.per_cell
    verb = "drowns in noise" if seen.verdict == "drowns" else "will be noisy"
    what = (
        f"{verb}: about {short(seen.per_cell)} rows per cell of the largest cross-tab ({seen.largest:,} cells), "
        f"noise ±{short(seen.noise)} on each"
    )
    ways = [*_cells(group, factor), *_epsilon(budget, factor, part)]
    if not ways:
        remedy = f"No single change is enough, it is {short(factor)} times too noisy: {_LAST_RESORT}."
    elif len(ways) == 1:
        remedy = f"{ways[0][:1].upper()}{ways[0][1:]}."
    else:
        remedy = f"One of these, or a little of each: {'; '.join(ways)}."
    return Warned(group.name, what, remedy)


def _cells(group: PlannedGroup, factor: float) -> list[str]:
    """Fewer values where a column has many."""
    limit = floor(max(group.columns.sizes) / factor)
    if limit < 3:
        return []
    sizes = zip(group.columns.sizes, group.columns.names, strict=True)
    large = sorted(((size, name) for size, name in sizes if size > limit), reverse=True)
    counts = {column.name for column in group.group.columns if column.role == "count"}
    names = [name for _, name in large if name not in counts]
    more = len(names) - _NAMED_COLUMNS
    shown = ", ".join(names[:_NAMED_COLUMNS]) + (f" and {more} more" if more > 0 else "")
    return [f"give {shown} at most {limit:,} values (bins, values or max_values)"] if names else []


def _epsilon(budget: Budget, factor: float, part: Callable[[Budget], float]) -> list[str]:
    """The smallest that suffices, in hundredths."""

    def cost(hundredths: int) -> float:
        more = replace(budget, epsilon=hundredths / 100)
        return total_cost(more) * part(more)

    wanted = total_cost(budget) * part(budget) * (factor if budget.pure else factor * factor)
    larger = range(floor(budget.epsilon * 100) + 1, _SENSIBLE_EPSILON * 100 + 1)
    place = bisect_left(larger, wanted, key=cost)
    return [f"raise epsilon from {budget.epsilon:g} to {larger[place] / 100:g}"] if place < len(larger) else []


def short(value: float) -> str:
    """A number as a person would say it."""
    if value >= 100:
        return f"{value:,.0f}" if value < 1e9 else f"{value:.1e}"
    return f"{value:.2g}"
