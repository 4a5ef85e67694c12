"""`source_audit`: the tape audit of one's own schema and data, on real copies of the source where it can be copied.

For each entity the source is copied without it, in its own format, into a folder that only its owner may enter and that is gone
at the end; so the audit also sees what the adapter does. A server is not copied, because mare never writes to one: there
the rows are filtered above the adapter, and the audit says what it then cannot see.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from mare.errors import SourceError
from mare.finding import Copy, Location, find_copy
from mare.fitting import FitOptions
from mare.leftovers import hold_folder
from mare.planning import Plan

from .entities import worth_removing
from .neighbour import HeldSource, WithoutEntity
from .physical import replayed_on
from .report import INTERNAL, AuditReport, ReplayAudit
from .tape import Recording, opened

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
        held, chosen = HeldSource(reader), worth_removing(owners, random, seed)
        fits = len(chosen) + 3
        watch(0, fits)
        first = Recording.of(plan, held, options, seed)
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
                differences = first.replayed(neighbour) if other is None else replayed_on(first, held, other)
                audited.append(ReplayAudit(removed.why, differences))
            watch(len(audited) + 1, fits)
        told = first.retold(held, owners)
        watch(fits, fits)
    return SourceAudit(first.report(audited, told), not_copied)


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
