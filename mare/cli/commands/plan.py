"""What a schema leads to, before any data is touched. `mare graph`: the tables and the column groups, as text or as a picture.
`mare plan`: what will be modelled, in which order, with which noise.

On a narrow page numbers of the plan's tables are left out, the least telling ones first; names and verdicts never.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mare.cli.app import app
from mare.cli.options import DEFAULT_DELTA, AsJson, SchemaName
from mare.cli.telling import check_output, page_width, print_json, print_utf8, with_lines, without_blanks, write_output
from mare.errors import PlanError, SchemaError, SinkError
from mare.privacy.budget import Budget

if TYPE_CHECKING:
    from mare.planning import Plan, PlannedGroup
    from mare.planning.plan import Verdict
    from mare.schema import Schema

_SUFFIXES = (".svg", ".txt")
_WIDTH = 100
"""Of the text, where no terminal says how wide it is."""


@app.command()
def graph(
    schema: SchemaName,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Draw into this file: .svg for a picture, .txt for text.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Draw the tables, the column groups and what each may look at. Reads no data."""
    from mare.graph.drawing import draw_svg, draw_text
    from mare.schema.loading import load_document

    # An earlier picture or text is drawn anew; whatever else somebody has called .svg or .txt stays.
    is_drawing = re.compile(rb"<svg |Tables of ").match
    check_output(output, "the file of a picture", "a drawing of a schema", SinkError, is_drawing, overwrite=True)
    if output is not None and output.suffix.lower() not in _SUFFIXES:
        ending = f"ends in {output.suffix}" if output.suffix else "has no ending"
        raise SinkError(f"{output} {ending}. Draw into a .svg file (a picture) or a .txt file (text), as in -o graph.svg.")
    document = load_document(schema)
    try:
        if output is not None and output.suffix.lower() == ".svg":
            drawn = draw_svg(document.schema)
        else:
            terminal = output is None and sys.stdout.isatty()
            drawn = draw_text(document.schema, shutil.get_terminal_size((_WIDTH, 24)).columns if terminal else _WIDTH)
    except SchemaError as error:
        raise with_lines(error, document) from None
    if output is not None:
        write_output(output, drawn)
    if as_json:
        print_json(_graph_page(document.schema, output, len(document.faults)))
        return
    if output is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(drawn.encode(sys.stdout.encoding or "utf-8", errors="replace"))
        sys.stdout.flush()
    else:
        typer.echo(f"drew {output}", err=True)
    if document.faults:
        typer.echo(f"{len(document.faults)} of its questions are still open: mare check {schema} lists them.", err=True)


def _graph_page(schema: Schema, output: Path | None, questions: int) -> dict[str, object]:
    """What is drawn, for --json."""
    from mare.graph.dag import DatasetDag
    from mare.graph.pdag import column_groups

    dag = DatasetDag.of(schema)
    groups = [
        {"name": group.name, "columns": [column.name for column in group.columns], "history": list(map(str, group.history))}
        for group in column_groups(schema)
    ]
    return {
        "output": None if output is None else str(output),
        "tables": [asdict(node) for node in dag.nodes],
        "edges": [asdict(edge) for edge in dag.edges],
        "groups": groups,
        "open": questions,
    }


_Number = TypeVar("_Number", int, float)


@app.command()
def plan(
    schema: SchemaName,
    epsilon: Annotated[str, typer.Option(help="The budget: how much may be told about one entity. Several to compare: 1,2,5.")],
    delta: Annotated[
        float | None,
        typer.Option(help=f"How often epsilon may not hold. {DEFAULT_DELTA:g} unless given; 0: pure epsilon."),
    ] = None,
    entities: Annotated[
        str | None, typer.Option(help="Reckon with this many entities in the preview. Several to compare: 500,4000.")
    ] = None,
    details: Annotated[bool, typer.Option("--details", help="Also list each group's columns, sizes and history.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the groups, sensitivities, shares and noise that a budget gives. Reads no data."""
    from mare.planning.planning import plan as make_plan
    from mare.schema.loading import load_document

    budgets = [Budget(one, DEFAULT_DELTA if delta is None else delta) for one in numbers("--epsilon", epsilon, float)]
    sizes: Sequence[int | None] = [None] if entities is None else numbers("--entities", entities, int)
    document = load_document(schema)
    try:
        plans = [make_plan(document.schema, budget, entities=size) for size in sizes for budget in budgets]
    except (PlanError, SchemaError) as error:
        raise with_lines(error, document) from None
    if as_json and len(plans) == 1:
        print_utf8(plans[0].to_json())
        return
    if as_json:
        print_json({"plans": [made.to_dict() for made in plans]})
        return
    console = Console(highlight=False, width=None if sys.stdout.isatty() else min(page_width(), _WIDTH))
    with console.capture() as page:
        if len(plans) == 1:
            _show(console, plans[0], document.label, details)
        else:
            _compare(console, plans, document.label)
        if delta is None:
            _say(console, "Default", [f"delta was not given: {DEFAULT_DELTA:g}. Pure epsilon is --delta 0."])
        _say(console, "Next", [_next(schema, plans, delta)])
    text = without_blanks(page.get())
    # a terminal that knows no × gets a question mark, not a traceback
    typer.echo(text.encode(console.encoding, "replace").decode(console.encoding))


def numbers(option: str, text: str, kind: Callable[[str], _Number]) -> list[_Number]:
    """`2`, or `1,2,5` for several, each once."""
    try:
        return list(dict.fromkeys(kind(one) for one in text.split(",")))
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is not a number, nor several with commas between them: 1,2,5.", param_hint=option
        ) from None


def _compare(console: Console, plans: Sequence[Plan], label: str) -> None:
    made = plans[0]
    console.print(f"Plans of {made.schema.name or label}, side by side. No data was read.", markup=False)
    for table in comparison_tables(plans, console.width):
        console.print()
        console.print(table)
    legend = ["error: what noise alone is expected to add to the largest cross-tab of the group (total-variation distance)"]
    _say(console, "How to read it", [*legend, "fine: rows per cell are at least 4 times the noise; drowns: below the noise"])
    # What no budget and no size mends; the rest stands in the page of each plan alone.
    common = set.intersection(*({str(warned) for warned in made.warnings} for made in plans))
    _say(console, "Warnings", [str(warned) for warned in made.warnings if str(warned) in common], style="bold yellow")


def _show(console: Console, made: Plan, label: str, details: bool) -> None:
    console.print(_title(made, label), markup=False)
    console.print()
    console.print(groups_table(made, console.width))
    _say(console, "How to read it", _legend(made))
    _say(console, "How S came about", _sensitivities(made))
    if details:
        for place, group in enumerate(made.groups, 1):
            _say(console, f"{place}. {group.name}", _detail(group))
    _say(console, "Learned, and paid for (most codes)", _learned(made))
    _say(console, "Sizes: declared or assumed, never read", made.assumptions)
    _say(console, "Counts as public", made.public)
    _say(console, "Good to know", made.notes)
    _say(console, "Warnings", [str(warned) for warned in made.warnings], style="bold yellow")


def _title(made: Plan, label: str) -> str:
    from mare.planning.preview import short, total_cost
    from mare.schema.yaml_writing import schema_hash

    unit = "" if made.budget.pure else f" (rho {short(total_cost(made.budget))})"
    models = sorted({group.model for group in made.groups})
    each = f"model {models[0]} for all" if len(models) == 1 else f"models {', '.join(models)}"
    return (
        f"Plan of {made.schema.name or label}: epsilon {made.budget.epsilon:g}, delta {made.budget.delta:g}{unit} "
        f"per entity ({made.schema.entity_name}).\n"
        f"{len(made.groups)} column groups in {len(made.tables)} tables, {each}. No data was read.\n"
        f"Schema SHA-256 {schema_hash(made.schema)}"
    )


def _legend(made: Plan) -> list[str]:
    learn = f", {100 * made.phases.learn:.3g} % to what is learned" if made.phases.learn else ""
    rest = f"{100 * made.phases.sizes:.3g} % of the budget go to sizes{learn}"
    return [
        "cols, hist: columns that the model generates, columns that it may look at (--details lists them)",
        "largest: cells of the largest cross-tab that the model measures, at most",
        "S: rows that one entity may have in the group, by caps that are enforced",
        f"share: of the models' {100 * made.phases.models:.3g} %, by the rule {made.allocation!r} ({rest})",
        "noise: standard deviation on every cell, where nobody counts for more rows than entities have on average",
        "rows/cell: mean count in the largest cross-tab; fine from 4 times the noise, drowns below the noise",
    ]


def _sensitivities(made: Plan) -> list[str]:
    """One line per table that an entity may have several rows in."""
    reasons = {g.group.table: g.reason for g in made.groups if g.group.part != "context" and g.sensitivity > 1}
    lines = [f"{table}: {reason}" for table, reason in reasons.items()]
    return [*lines, "a context has one row per parent row, hence the parent's S; everything else: one row per entity"]


def _learned(made: Plan) -> list[str]:
    """One line per group: its columns with the most codes that each may get."""
    lines = []
    for group in made.groups:
        sizes = ((name, group.columns.size(name)) for name in group.columns if name in group.learned)
        if listed := ", ".join(f"{name} ({size:,})" for name, size in sizes):
            lines.append(f"{group.name}: {listed}")
    return lines


def _detail(group: PlannedGroup) -> list[str]:
    generates = ", ".join(f"{name} {size:,}" for name, size in zip(group.columns.names, group.columns.sizes, strict=True))
    looks_at = ", ".join(f"{name} {size:,}" for name, size in zip(group.history.names, group.history.sizes, strict=True))
    options = ", ".join(f"{name}={value}" for name, value in sorted(group.options.items()))
    lines = [f"generates (name, codes): {generates}", f"may look at: {looks_at or 'nothing'}"]
    return [*lines, f"options of {group.model}: {options}"] if options else lines


def _next(schema: str, plans: Sequence[Plan], delta: float | None) -> str:
    budget = f"--epsilon {plans[0].budget.epsilon:g}" + ("" if delta is None else f" --delta {delta:g}")
    if len(plans) > 1:
        size = "" if plans[0].entities_guessed else f" --entities {plans[0].entities:.0f}"
        return f"mare plan {quote(schema)} {budget}{size} shows one of them whole"
    return f"mare fit {quote(schema)} --from SOURCE {budget} -o FILE.mare"


def _say(console: Console, title: str, lines: Sequence[str], style: str = "bold") -> None:
    """A titled list; nothing where there is nothing to say."""
    if not lines:
        return
    console.print(Text(f"\n{title}", style=style))
    listed = Table.grid(padding=(0, 1))
    for line in lines:
        listed.add_row(Text("-"), Text(line))
    console.print(Padding(listed, (0, 0, 0, 2)))


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

    @property
    def width(self) -> int:
        return max(len(line) for line in (*self.heading.split("\n"), *map(str, self.cells))) + _GAP


def groups_table(made: Plan, width: int) -> Table:
    """One line per group. One model for all is said above the table: every column counts."""
    from mare.planning.preview import short

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
    from mare.planning.preview import short

    size = "" if made.entities_guessed else f"\n{made.entities:,.0f}"
    verdicts = [_verdict(seen.verdict, _guess(made)) for seen in made.preview]
    errors = [f"{short(100 * seen.relative_error)} %" for seen in made.preview]
    return [_Column(f"epsilon {made.budget.epsilon:g}{size}", verdicts, number=False), _Column("error", errors)]


def _too_wide(columns: Sequence[_Column], width: int) -> bool:
    return sum(column.width for column in columns) > width


def _laid_out(columns: list[_Column], width: int) -> Table:
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
    return Text(verdict + guess, style=_COLOURS[verdict])


def _count(value: int) -> str:
    return f"{value:,}" if value < 10**7 else f"{value:.1e}"
