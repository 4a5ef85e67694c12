"""What the reader of a plan has to agree with before any data is touched: what is public, what was peeked, what is learned."""

from __future__ import annotations

from collections.abc import Sequence

from mare.graph.dag import DatasetDag
from mare.graph.groups import ColumnGroup
from mare.privacy.budget import Budget, plainly
from mare.schema import Schema
from mare.schema.faults import Fault, Path

from .domains import is_category, is_learned
from .plan import Warned


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
    """A promise that says little is called so before it is made."""
    word = plainly(budget.epsilon, budget.delta)
    return None if word is None else Warned("budget", word, "Choose a smaller epsilon, or do not rely on the promise.")


def public_facts(schema: Schema, dag: DatasetDag) -> tuple[str, ...]:
    """What the guarantee does not cover, because it is taken to be known to everybody."""
    facts = ["the schema itself: names, types, values, bounds, caps, which columns may be NULL"]
    if public := dag.tables("public"):
        facts.append(f"tables copied verbatim: {', '.join(public)}")
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
            name = column.column
            if name is None or not is_learned(schema, group.table, name) or not is_category(schema, group.table, name):
                continue
            kind = "references" if name in schema.tables[group.table].references else "columns"
            path: Path = ("tables", group.table, kind, name)
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
