"""In which form the columns of a table are asked for: keys and references as their source compares them, all else as it is.

Two texts that a source takes for one key (`p1` and `P1`) are the same text in the form of its collation. A reference is asked for
in the form of the column that it refers to, a key in its own, so that both sides meet. The form is worked out of each value
alone: no row is ever looked up to read another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mare.ports import compared
from mare.schema.reflection import Reflection

from .loading import Reading
from .needs import TableNeeds

Collations = Mapping[str, Sequence[str]]
"""Of the public columns that somebody refers to, the collations, by who does: `prescriptions`, `labs.itemid`."""


def reading_of(needs: TableNeeds, tables: Sequence[TableNeeds], reflection: Reflection, public: Collations) -> Reading:
    """How to read a table of the entity from the source that reflects so."""
    stored = reflection.table(needs.name)
    if stored is None:
        return Reading()  # the source itself says best what it does not have
    forms = {staged: compared(name, rule) for staged, name, rule in _collated(needs, tables, reflection, public) if rule}
    found = {name: stored.column(name) for name in needs.columns}
    return Reading(forms, frozenset(name for name, column in found.items() if column is not None and column.inferred))


def _collated(
    needs: TableNeeds, tables: Sequence[TableNeeds], reflection: Reflection, public: Collations
) -> Iterator[tuple[str, str, str]]:
    """(staged name, column, collation) of everything that is compared."""
    by_name = {table.name: table for table in tables}

    def collation(table: str, column: str) -> str:
        described = by_name.get(table)
        stored = reflection.table(described.held_by or table if described is not None else table)
        found = None if stored is None else stored.column(column)
        return "" if found is None else found.collation

    for i, name in enumerate(needs.key):
        yield f"k{i}", name, collation(needs.name, name)
    for i, name in enumerate(needs.foreign):
        parent = by_name[needs.parent or needs.name]
        yield f"f{i}", name, collation(parent.name, parent.key[needs.refers[i]])
    for i, name in enumerate(needs.via):
        yield f"a{i}", name, public.get(needs.name, ("",) * len(needs.via))[i]
    for number, link in enumerate(needs.links):
        if link.kind == "public":
            rules: Sequence[str] = public.get(f"{needs.name}.{link.name}", ("",) * len(link.columns))
        else:
            rules = [collation(link.table, by_name[link.table].key[place]) for place in link.refers]
        for i, name in enumerate(link.columns):
            yield f"r{number}_{i}", name, rules[i]
