"""Names: one thing has one name, and no two differ in case alone (databases would not tell them apart)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mare.schema.columns.column import repeated
from mare.schema.faults import Fault, Path
from mare.schema.layout import Layout


def find(layout: Layout) -> Iterator[Fault]:
    tables = layout.schema.tables
    if not tables:
        yield Fault(("tables",), "there are no tables", "Describe at least the table of the entity", "unsettled")
    yield from _alike(("tables",), tables, "table")
    for name, table in tables.items():
        here: Path = ("tables", name)
        if layout.roles[name] == "ignored":
            continue
        yield from _alike((*here, "columns"), table.columns, "column")
        yield from repeated(table.ignore_columns, here, "ignore_columns")
        may_be_missing = [r for r, link in table.references.items() if link.kind in ("owned", "pool") and link.nullable]
        may_be_missing += [c for c, column in table.columns.items() if column.type == "identifier" and column.nullable]
        for reference in may_be_missing:
            made = f"exists({reference})"
            if made in table.columns:
                what = f"{made} is what the model of {name} calls whether there is a {reference}, so no column can be called that"
                yield Fault((*here, "columns", made), what, "Call the column otherwise in a view, or list it in ignore_columns")
        used = {
            **dict.fromkeys(table.columns, "columns"),
            **{c: f"references.{r}" for r in table.references for c in table.reference_columns(r)},
            **dict.fromkeys(table.key or (), "key"),
            **dict.fromkeys(layout.foreign_key(name), "parent.column"),
            **dict.fromkeys(layout.via_columns(name), "parent.column_via"),
        }
        for i, column in enumerate(table.ignore_columns):
            if column in used:
                remedy = f"Remove it from ignore_columns, or from {used[column]}"
                yield Fault((*here, "ignore_columns", i), f"{column} is left out here and used in {used[column]}", remedy)


def _alike(path: Path, names: Iterable[str], what: str) -> Iterator[Fault]:
    seen: dict[str, str] = {}
    for name in names:
        if not name.strip():
            yield Fault((*path, name), f"a {what} has an empty name", "Write its name")
        first = seen.setdefault(name.casefold(), name)
        if first != name:
            remedy = "Keep one of them: names are matched without regard to case"
            yield Fault((*path, name), f"the {what}s {first} and {name} differ in case alone", remedy)
