"""`physical_audit`: the tape on two databases that are really two. It sees what an adapter does, which `tape_audit` cannot.

The proof needs that each row which is read, its type and its order follow from its own entity and public facts. A type inferred
from values, a key spelled as another row has it, a value that is refused: each happens before the gate, and only shows
where D and D′ are read through the adapter itself. So both are given here, written by the caller. Compared are what the
catalogues tell, whether one of the two fits is refused, and everything that the tape compares, to the bytes of the release; true
numbers of what was left out differ between the two, so equal bytes also say that none of them got in.

`source_audit`: the tape audit of one's own schema and data, on real copies of the source where it can be copied.

For each entity the source is copied without it, in its own format, into a folder that only its owner may enter and that is gone
at the end; so the audit also sees what the adapter does. A server is not copied, because mare never writes to one: there
the rows are filtered above the adapter, and the audit says what it then cannot see.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path

from mare.errors import MareError, SourceError
from mare.files import hold_folder
from mare.finding import Copy, Location, find_copy
from mare.fitting import FitOptions, run_fit
from mare.planning import Plan
from mare.ports import Source
from mare.privacy.bits import SeededBits
from mare.privacy.tape import Moved, Recorder
from mare.schema.reflection import ReflectedTable, Reflection

from .entities import worth_removing
from .report import INTERNAL, AuditReport, ReplayAudit
from .tape import Recording, audited, held, opened
from .variants import WithoutEntity


def physical_audit(
    plan: Plan,
    source: Location | Source,
    neighbour: Location | Source,
    *,
    why: str = "one entity less",
    seed: int = 0,
    options: FitOptions | None = None,
    recorder: Recorder | None = None,
    moved: Moved = "paid for",
) -> AuditReport:
    """Record the fit on D, ``source``, and replay it on D′, ``neighbour``. Internal, not private.

    D′ lacks one entity with all its rows. With ``moved="not at all"`` it holds the same rows in another order, and columns too. A
    fit that both refuse in the same words raises its error: nothing was audited.
    """
    options = options or FitOptions()
    label = ""
    with ExitStack() as stack:
        try:
            here = stack.enter_context(held(source))
            label = here.label
            first = Recording.of(plan, here, options, seed, recorder)
        except MareError as refusal:
            return _refused(plan, neighbour, options, seed, why, refusal, label)
        return first.report([ReplayAudit(why, replayed_on(first, here, neighbour, moved))])


def replayed_on(first: Recording, here: Source, neighbour: Location | Source, moved: Moved = "paid for") -> tuple[str, ...]:
    """What one replay does otherwise on a database of its own, with its own catalogue."""
    try:
        with held(neighbour) as there:
            # Types that somebody inferred from values reach nothing, but for those of public tables.
            public = [name for name, table in first.plan.schema.tables.items() if table.public]
            differences = catalogue_differences(
                here.reflect().declared(public), there.reflect().declared(public), any_order=moved == "not at all"
            )
            return (*differences, *first.replayed(there, moved=moved))
    except MareError as error:
        return (f"the source cannot be read ({type(error).__name__}), the recorded one could: {error}",)


def _refused(
    plan: Plan, neighbour: Location | Source, options: FitOptions, seed: int, why: str, refusal: MareError, label: str
) -> AuditReport:
    """The fit on D was refused. Where that on D′ is not, somebody's value decided: the refusal tells it."""
    label_there = ""
    try:
        with held(neighbour) as there:
            label_there = there.label
            run_fit(plan, there, audited(options, SeededBits(seed), Recorder()))
    except MareError as also:
        # Their messages may name where the two sources lie.
        if str(also).replace(label_there, "") == str(refusal).replace(label, ""):
            raise refusal from None
        difference = f"both fits were refused, for different reasons: {refusal} / {also}"
    else:
        difference = f"the fit with the entity ended with {type(refusal).__name__}, the one without it did not: {refusal}"
    return AuditReport((), (ReplayAudit(why, (difference,)),))


def catalogue_differences(before: Reflection, now: Reflection, *, any_order: bool = False) -> list[str]:
    """Everything that the two catalogues tell otherwise of their tables: all of it may reach a release, an order or a key.
    What they leave out reaches none, nor does where they lie."""
    names = [[table.name for table in catalogue] for catalogue in (before, now)]
    if any_order:
        names = [sorted(listed) for listed in names]
    if names[0] != names[1]:
        return [f"the catalogue lists the tables {names[0]}, now {names[1]}"]
    differences: list[str] = []
    for name in names[0]:
        was, is_now = (next(table for table in catalogue if table.name == name) for catalogue in (before, now))
        differences += _table_differences(was, is_now, any_order=any_order)
    return differences


def _table_differences(before: ReflectedTable, now: ReflectedTable, *, any_order: bool) -> list[str]:
    columns = [[column.name for column in table.columns] for table in (before, now)]
    if any_order:
        columns = [sorted(names) for names in columns]
    if columns[0] != columns[1]:
        return [f"table {before.name} has the columns {columns[0]}, now {columns[1]}"]
    differences = [f"table {before.name}: {name} is not the same" for name in _unequal(before, now, leave=("columns",))]
    for name in columns[0]:
        was, is_now = before.column(name), now.column(name)
        differences += [
            f"column {before.name}.{name}: {what} was {getattr(was, what)!r}, now {getattr(is_now, what)!r}"
            for what in _unequal(was, is_now)
        ]
    return differences


def _unequal(before: object, now: object, leave: Sequence[str] = ()) -> list[str]:
    names = [field.name for field in fields(before)]  # type: ignore[arg-type]
    return [name for name in names if name not in leave and getattr(before, name) != getattr(now, name)]


COPIED = "Each entity was removed from a copy of the source, in its own format, and the copy was read as the source is."
NOT_COPIED = (
    "So entities were removed after reading, and what reading itself does could not be seen: a type, an order, a spelling or a "
    "refusal that depends on somebody's values."
)
SERVER = "mare writes to no server, so no copies of the source were made."


@dataclass(frozen=True)
class SourceAudit:
    """What the audit of a source found, and how it looked."""

    report: AuditReport
    not_copied: str = ""
    """Why no copies were made, where none were."""

    @property
    def how(self) -> str:
        return f"{self.not_copied} {NOT_COPIED}" if self.not_copied else COPIED

    def render(self) -> str:
        return f"{self.report.render()}\n\n{self.how} ({INTERNAL})"


def source_audit(
    plan: Plan,
    source: Location,
    *,
    random: int = 3,
    seed: int = 0,
    options: FitOptions | None = None,
    watch: Callable[[int, int], None] = lambda done, total: None,
) -> SourceAudit:
    """Fit the plan to the source, again without each of some entities, and again to the same data told otherwise.

    ``random`` entities are removed beside the heaviest, one with rare and one with extreme values. ``watch`` is told how many
    of how many fits are done. Internal, not private.
    """
    options = options or FitOptions()
    with opened(plan, source) as (reader, owners):
        chosen = worth_removing(owners, random, seed)
        fits = len(chosen) + 3
        watch(0, fits)
        first = Recording.of(plan, reader, options, seed)
        watch(1, fits)
        copy = find_copy(source)
        not_copied = "" if copy is not None else SERVER
        audited = list[ReplayAudit]()
        for removed in chosen:
            neighbour = WithoutEntity(reader, owners, owners.removal(removed.entity))
            with ExitStack() as stack:
                other: Location | None = None
                if copy is not None and not not_copied:
                    try:
                        other = stack.enter_context(_copied(copy, source, neighbour))
                    except SourceError as fault:  # a constraint may hold on to somebody's rows, or the disk be full
                        not_copied = str(fault)
                differences = first.replayed(neighbour) if other is None else replayed_on(first, reader, other)
                audited.append(ReplayAudit(removed.why, differences))
            watch(len(audited) + 1, fits)
        retold = first.retold(reader, owners)
        watch(fits, fits)
    return SourceAudit(first.report(audited, retold), not_copied)


@contextmanager
def _copied(copy: Copy, source: Location, neighbour: WithoutEntity) -> Iterator[Location]:
    """The source without an entity, for as long as the block lasts."""
    try:
        # Also takes away the rows that a killed audit left there.
        folder = hold_folder(Path(tempfile.gettempdir()), "mare-copy-")
    except OSError as error:
        raise SourceError(f"no temporary folder can be made ({error.strerror}). Set TMPDIR to one with room.") from None
    try:
        try:
            location = copy(source, folder.path, neighbour.removed())
        except OSError as error:
            raise SourceError(f"the source cannot be copied ({error.strerror}). Set TMPDIR to a disk with more room.") from None
        yield location
    finally:
        folder.discard()
