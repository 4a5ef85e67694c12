"""The tables of `mare plan`: the groups of one plan, and the verdicts of several plans side by side.

On a narrow page numbers are left out, the least telling ones first; names and verdicts never.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from mare.planning import Plan
    from mare.planning.plan import Verdict

_COLOURS = {"fine": "green", "noisy": "yellow", "drowns": "bold red"}
_GAP = 2  # what stands between two columns


@dataclass
class _Column:
    heading: str
    cells: Sequence[str | Text]
    number: bool = True
    """Right-aligned, and left out where the page is narrow."""
    rank: int = 0
    """Of two numbers the one with the lower rank goes first."""
    width: int = field(init=False)

    def __post_init__(self) -> None:
        self.width = max(len(line) for line in (*self.heading.split("\n"), *map(str, self.cells))) + _GAP


def groups_table(made: Plan, width: int) -> Table:
    """One line per group. One model for all is said above the table: every column counts."""
    from mare.planning.advice import short

    groups, preview = made.groups, made.preview
    columns = [
        _Column("#", [str(place) for place in range(1, len(groups) + 1)], rank=5),
        _Column("group", [g.name for g in groups], number=False),
        _Column("cols", [f"{len(g.columns):,}" for g in groups], rank=2),
        _Column("hist", [f"{len(g.history):,}" for g in groups], rank=1),
        _Column("largest", [_count(seen.largest) for seen in preview], rank=3),
        _Column("S", [_count(g.sensitivity) for g in groups], rank=6),
    ]
    if len({g.model for g in groups}) > 1:
        columns.append(_Column("model", [g.model for g in groups], number=False))
    columns += [
        _Column("share", [f"{100 * seen.share:.1f} %" for seen in preview], rank=4),
        _Column("noise", [f"±{short(seen.noise)}" for seen in preview], rank=8),
        _Column("rows/cell", [short(seen.per_cell) for seen in preview], rank=7),
        _Column("verdict", [_verdict(seen.verdict, _guess(made)) for seen in preview], number=False),
    ]
    return _laid_out(columns, width)


def comparison_tables(plans: Sequence[Plan], width: int) -> Iterator[Table]:
    """The verdict of every group under each of the plans, and the error that noise alone is expected to add.

    As many plans side by side as the page has room for, then the next ones below.
    """
    group = _Column("group", [g.name for g in plans[0].groups], number=False)
    columns = [group]
    for made in plans:
        pair = _compared(made)
        if len(columns) > 1 and _too_wide([c for c in (*columns, *pair) if not c.number], width):
            yield _laid_out(columns, width)
            columns = [group]
        columns += pair
    yield _laid_out(columns, width)


def _compared(made: Plan) -> list[_Column]:
    from mare.planning.advice import short

    size = "" if made.entities_guessed else f"\n{made.entities:,.0f}"
    verdicts = [_verdict(seen.verdict, _guess(made)) for seen in made.preview]
    errors = [f"{short(100 * seen.relative_error)} %" for seen in made.preview]
    return [_Column(f"epsilon {made.budget.epsilon:g}{size}", verdicts, number=False), _Column("error", errors)]


def _too_wide(columns: Sequence[_Column], width: int) -> bool:
    return sum(column.width for column in columns) > width


def _laid_out(columns: list[_Column], width: int) -> Table:
    from rich import box
    from rich.table import Table

    kept = list(columns)
    for rank in sorted({c.rank for c in columns if c.number}):
        if not _too_wide(kept, width):
            break
        kept = [c for c in kept if not c.number or c.rank != rank]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), collapse_padding=True)
    for column in kept:
        table.add_column(column.heading, justify="right" if column.number else "left", no_wrap=column.number, overflow="fold")
    for cells in zip(*(c.cells for c in kept), strict=True):
        table.add_row(*cells)
    return table


def _guess(made: Plan) -> str:
    return f" if {made.entities:,.0f}" if made.entities_guessed else ""


def _verdict(verdict: Verdict, guess: str) -> Text:
    from rich.text import Text

    return Text(verdict + guess, style=_COLOURS[verdict])


def _count(value: int) -> str:
    return f"{value:,}" if value < 10**7 else f"{value:.1e}"
