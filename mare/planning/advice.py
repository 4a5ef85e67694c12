"""What the reader of a plan has to agree with before any data is touched: what is public, what was peeked, what is learned.

And what to change where a group will drown in noise: in numbers, so that a person can write them down. Noise grows with the
number of cells, and falls with ε. For each group whose counts do not stand clear of the noise, the remedy names the columns and
the ε that would do it alone; a little of each does it together. Caps are no remedy: models scale down whoever has more rows than
most, so that what nobody reaches adds no noise, and a lower one cuts rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, inf

from mare.graph.dag import DatasetDag
from mare.graph.groups import ColumnGroup
from mare.privacy.budget import Budget, plainly
from mare.privacy.conversion import conversion_delta, epsilon_from_rho, rho_from_budget
from mare.schema import Schema
from mare.schema.columns import Code
from mare.schema.faults import Fault, Path

from .domains import is_category, is_learned
from .plan import GroupPreview, PlannedGroup, Warned
from .preview import CLEAR_OF_NOISE


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
        f"nobody said how many there are, so each verdict is for a guess of {entities:,.0f}",
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


_SENSIBLE_EPSILON = 20.0
"""Above this, ε promises next to nothing; it is not offered as a remedy."""
_NAMED_COLUMNS = 3
_LAST_RESORT = "use fewer values, and leave out (ignore_columns) what nobody needs"


def warn_of_noise(budget: Budget, group: PlannedGroup, seen: GroupPreview) -> Warned | None:
    """The warning for one group, or None where its counts stand clear of the noise."""
    if seen.verdict == "fine":
        return None
    factor = CLEAR_OF_NOISE * seen.noise / seen.per_cell
    verb = "drowns in noise" if seen.verdict == "drowns" else "will be noisy"
    what = (
        f"{verb}: about {short(seen.per_cell)} rows per cell of the largest cross-tab ({seen.largest:,} cells), "
        f"noise ±{short(seen.noise)} on each"
    )
    ways = [*_cells(group, factor), *_epsilon(budget, factor)]
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


def _epsilon(budget: Budget, factor: float) -> list[str]:
    if budget.pure:
        needed = budget.epsilon * factor
    else:
        rho = rho_from_budget(budget) * factor * factor
        needed = epsilon_from_rho(rho, conversion_delta(budget)) if rho < 1e6 else inf
    if needed > _SENSIBLE_EPSILON:
        return []
    # rounded up, so that the number that is named does suffice
    return [f"raise epsilon from {budget.epsilon:g} to {ceil(needed * 100) / 100:g}"]


def short(value: float) -> str:
    """A number as a person would say it."""
    if value >= 100:
        return f"{value:,.0f}" if value < 1e9 else f"{value:.1e}"
    return f"{value:.2g}"
