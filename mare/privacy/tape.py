"""The tape: what crossed the mechanism boundary, for audits. It holds true answers: internal, not private.

Record a fit on D, then fit again on D′ (one entity removed) while the tape answers with what it recorded. A fit that
learns from its noisy answers alone then does exactly the same things, and every exact answer moves by no more than the
sensitivity that it was charged for. A wrong cap, a fan-out, a true row count in the budget, a domain or an order
taken from the data: each shows as a `TapeMismatch`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from mare.domain import Marginal
from mare.errors import PrivacyError

from .accountant import Kind, Norm

Counts = NDArray[np.int64]


class TapeMismatch(PrivacyError):
    """The fit on D′ did something that one entity must not be able to cause. ``differences`` lists it all."""

    def __init__(self, differences: Sequence[str]) -> None:
        super().__init__("the tape does not fit:\n" + "\n".join(f"  - {difference}" for difference in differences))
        self.differences = tuple(differences)


@dataclass(frozen=True)
class Query:
    """One charge at the mechanism boundary, without its answer. Two runs must ask the same, to the last bit."""

    what: str
    view: str
    marginals: tuple[Marginal, ...]
    mechanism: Kind
    norm: Norm
    sensitivity: float
    sensitivity_squared: int
    """The sensitivity before its root was rounded (L2), or its square (L1, max): the audit compares integers."""
    scale: float
    cost: float
    clip: float | None = None
    """C, where the entities were scaled down before they were counted; the exact answers are the scaled ones."""
    denominator: int = 1
    """Units of a row: answers, sensitivity and scale are in such units."""
    listed: bool = False
    """The exact answers come in pairs, what is there (ascending) and its counts; whatever is not listed counts 0."""
    public: str = ""
    """A fingerprint of the public numbers that went into the answer: penalties, released tables, references."""


@dataclass(frozen=True, eq=False)
class Entry:
    """A query with its exact and its released answer."""

    query: Query
    exact: tuple[Counts, ...]
    released: tuple[Counts, ...]


@dataclass(eq=False)
class Record:
    """All that crossed the boundary in one fit, in order."""

    entries: list[Entry] = field(default_factory=list)
    secrets: dict[str, bytes] = field(default_factory=dict)
    """Keys that the fit drew (truncation): the second run needs the same."""


class Tape(Protocol):
    """What a gate may be given to listen, or to answer in its place."""

    @property
    def reason(self) -> str:
        """Why a release that this tape touched is NOT PRIVATE."""
        ...

    def answer(self, query: Query, exact: Sequence[Counts], release: Callable[[], list[Counts]]) -> list[Counts]:
        """Called once per charge. ``release`` adds the noise."""
        ...

    def secret(self, name: str, draw: Callable[[], bytes]) -> bytes: ...


class Recorder:
    """Lets every answer through, and keeps it with its exact one."""

    def __init__(self) -> None:
        self.record = Record()

    @property
    def reason(self) -> str:
        return "the fit was recorded for an audit: the tape holds exact answers"

    def answer(self, query: Query, exact: Sequence[Counts], release: Callable[[], list[Counts]]) -> list[Counts]:
        released = release()
        self.record.entries.append(Entry(query, _copies(exact), _copies(released)))
        return released

    def secret(self, name: str, draw: Callable[[], bytes]) -> bytes:
        return self.record.secrets.setdefault(name, draw())


Moved = Literal["paid for", "not at all", "anywhere"]
"""How far the exact answers of a replay may be from the recorded ones: D′ lacks one entity; D′ is D in another order; D′ holds
every entity many times over."""


class Replayer:
    """Answers as recorded, and checks that the run on D′ asks the same and is moved no further than it paid for.

    A different question stops the run at once, because what follows means nothing. Answers that moved too far are
    collected; `finish` reports them all, and questions that were never asked.
    """

    def __init__(self, record: Record, *, moved: Moved = "paid for") -> None:
        self._record = record
        self._moved = moved
        self._next = 0
        self._differences: list[str] = []

    @property
    def reason(self) -> str:
        return "the answers were replayed from a tape, for an audit"

    def answer(self, query: Query, exact: Sequence[Counts], release: Callable[[], list[Counts]]) -> list[Counts]:
        position = self._next
        self._next += 1
        if position >= len(self._record.entries):
            raise TapeMismatch([*self._differences, f"query {position + 1} ({_named(query)}) was not asked in the recorded run"])
        entry = self._record.entries[position]
        if query != entry.query:
            raise TapeMismatch([*self._differences, *_compare(position, entry.query, query)])
        if self._moved != "anywhere":
            self._differences += _moved(position, entry, exact, same=self._moved == "not at all")
        return [values.copy() for values in entry.released]

    def secret(self, name: str, draw: Callable[[], bytes]) -> bytes:
        if name not in self._record.secrets:
            raise TapeMismatch([*self._differences, f"the key {name!r} was not drawn in the recorded run"])
        return self._record.secrets[name]

    def finish(self) -> None:
        """Call when the second fit is done: raises `TapeMismatch` with everything that was found."""
        missing = [
            f"query {index + 1} ({_named(entry.query)}) was asked in the recorded run only"
            for index, entry in enumerate(self._record.entries)
            if index >= self._next
        ]
        if self._differences or missing:
            raise TapeMismatch([*self._differences, *missing])


def _compare(position: int, recorded: Query, asked: Query) -> list[str]:
    differences = []
    for name in Query.__dataclass_fields__:
        before, now = getattr(recorded, name), getattr(asked, name)
        if before != now:
            differences.append(f"query {position + 1} ({_named(recorded)}): {name} was {before!r}, now {now!r}")
    return differences


def _moved(position: int, entry: Entry, exact: Sequence[Counts], *, same: bool) -> list[str]:
    """The joint distance of all answers of the charge, against its sensitivity. Exact: Python integers."""
    where = f"query {position + 1} ({_named(entry.query)})"
    shapes, shapes_now = [a.shape for a in entry.exact], [b.shape for b in exact]
    if shapes != shapes_now and not entry.query.listed:
        return [f"{where}: the answer was shaped {shapes}, now {shapes_now}"]
    distance = distance_squared(entry.query, entry.exact, exact)
    allowed = entry.query.sensitivity_squared
    if same and distance:
        return [f"{where}: the answer is another one, although nobody joined or left"]
    if entry.query.mechanism == "stable keys" and _speaks_twice(entry, exact):
        # the threshold hides a value that one entity alone holds, if it counts once
        return [f"{where}: one entity counts more than once for one value"]
    if distance <= allowed:
        return []
    norm, moved, paid = entry.query.norm, sqrt(distance), sqrt(allowed)
    return [f"{where}: one entity moves it by {moved:.6g} in {norm}, {paid:.6g} was paid for"]


def _speaks_twice(entry: Entry, exact: Sequence[Counts]) -> bool:
    return any(abs(step) > entry.query.denominator for step in _listed_steps(entry.exact, exact))


def distance_squared(query: Query, before: Sequence[Counts], now: Sequence[Counts]) -> int:
    """How far two exact answers to one question are apart, in its norm, squared: of all arrays together."""
    steps = _listed_steps(before, now) if query.listed else _steps(before, now)
    if query.norm == "max":
        return max((step * step for step in steps), default=0)
    return sum(step * step for step in steps) if query.norm == "L2" else sum(abs(step) for step in steps) ** 2


def _steps(before: Sequence[Counts], now: Sequence[Counts]) -> list[int]:
    return [int(step) for a, b in zip(before, now, strict=True) for step in (a - b).ravel() if step]


def _listed_steps(before: Sequence[Counts], now: Sequence[Counts]) -> list[int]:
    steps = []
    for place in range(0, len(before), 2):
        was, is_now = ({int(k): int(n) for k, n in zip(*side[place : place + 2], strict=True)} for side in (before, now))
        steps += [was.get(key, 0) - is_now.get(key, 0) for key in was.keys() | is_now.keys()]
    return steps


def _named(query: Query) -> str:
    return f"{query.what} of {query.view}"


def _copies(arrays: Sequence[Counts]) -> tuple[Counts, ...]:
    return tuple(array.copy() for array in arrays)
