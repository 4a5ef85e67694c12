"""Numbers whose scale depends on another column: lab value by test, dose by drug."""

from __future__ import annotations

from collections.abc import Iterator

from mare.schema.columns import Boolean, Category, Code, Integer, Number, Unknown
from mare.schema.faults import Fault, Path
from mare.schema.layout import Layout

from .wording import listed, no_column, unsettled


def find(layout: Layout) -> Iterator[Fault]:
    for name, table in layout.described:
        for column, says in table.columns.items():
            if isinstance(says, Integer | Number):
                yield from _by(layout, name, column, says)
                yield from _ranges(layout, name, says, ("tables", name, "columns", column, "ranges"))


def _by(layout: Layout, table: str, column: str, says: Integer | Number) -> Iterator[Fault]:
    path: Path = ("tables", table, "columns", column)
    known = layout.columns(table)
    scales = [c for c in known if c != column and _is_categorical(layout, table, c)]
    for name in says.by or ():
        if name not in known:
            yield no_column((*path, "by"), name, table, scales)
        elif name not in scales:
            what = f"{name} does not tell scales apart"
            yield Fault((*path, "by"), what, f"Name a category, a code or a reference to a public table: {listed(scales)}")
    bounded = says.min is not None and says.max is not None
    if says.by is not None and not says.ranges and not bounded and not says.learn and says.determined is None:
        remedy = "Write `ranges:` for each value, `min` and `max` for all, or `learn: true`"
        yield unsettled((*path, "ranges"), f"nothing says which scale it has for each {listed(says.by)}", remedy)


def _is_categorical(layout: Layout, table: str, column: str) -> bool:
    says = layout.columns(table)[column]
    if isinstance(says, Category | Code | Boolean | Unknown):
        return True
    reference = layout.reference_of(table, column)
    return column in layout.via_columns(table) or (reference is not None and reference.kind == "public")


def _ranges(layout: Layout, table: str, says: Integer | Number, path: Path) -> Iterator[Fault]:
    if says.ranges is None:
        return
    if not says.ranges:
        yield Fault(path, "no ranges", "Write {value: {min: …, max: …}}, or remove it")
    if says.by is None:
        yield Fault(path, "ranges of nothing", "Write `by:` with the column whose values these are")
    elif len(says.by) > 1:
        yield Fault(path, "ranges are listed by one column", f"Write `by:` with one of {listed(says.by)}, or `learn: true`")
    for value, scale in says.ranges.items():
        here = (*path, value if isinstance(value, int) else str(value))
        if scale.min > scale.max:
            yield Fault((*here, "min"), f"min {scale.min:g} is more than max {scale.max:g}", "Exchange them, or mend one of them")
        if scale.scale == "log" and scale.min < 0:
            what = f"a logarithmic scale has no place for negative values (min is {scale.min:g})"
            yield Fault((*here, "scale"), what, "Raise min to 0 or more, or write `scale: linear`")
    by = layout.columns(table).get(says.by[0]) if says.by else None
    if isinstance(by, Category | Code) and by.values is not None:
        for value in says.ranges:
            if value not in by.values:
                what = f"{value} is not a value of {listed(says.by or ())}"
                known = listed(str(v) for v in by.values)
                yield Fault((*path, value if isinstance(value, int) else str(value)), what, f"Its values: {known}")
