"""What a sink does after the last row, step by step, told to whoever waits (`mare.ports.Finishes`).

A step goes over the rows of a table: it builds an index, checks a foreign key. So the rows of all steps are what there is to do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from mare.ports import Watch, WorkStep


@dataclass(frozen=True)
class Step:
    """One thing to do, and the tables whose rows it goes over."""

    what: str
    tables: tuple[str, ...]
    statement: str = ""


@dataclass(eq=False)
class Finishing:
    """Counts rows as they are written, and tells the steps that go over them."""

    rows: Counter[str] = field(default_factory=Counter)
    watch: Watch | None = None

    def over(self, steps: Sequence[Step]) -> Iterator[Step]:
        """The steps, each told as it begins."""
        sizes = [sum(self.rows[table] for table in step.tables) for step in steps]
        for number, step in enumerate(steps):
            if self.watch is not None:
                self.watch(WorkStep(step.what, sum(sizes[:number]), sizes[number], sum(sizes)))
            yield step
