"""Lines between boxes that never touch a box: up and down in the gutters between layers, across in the gaps between boxes.

Layer k stands between gutter k (to its left) and gutter k + 1. A gutter has one lane for the tree and one for every
line that would otherwise lie on another. Lines that start at the same place for the same reason share their lane.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

LANE = 9.0
Interval = tuple[float, float]


@dataclass(frozen=True)
class Wire:
    """A line to draw, from a port of one box to a port of another; ports are heights."""

    source: str
    source_layer: int
    source_y: float
    target: str
    target_layer: int
    target_y: float
    kind: str
    words: str
    """For the tooltip."""


@dataclass(frozen=True)
class Run:
    """A vertical piece of a wire in a gutter."""

    gutter: int
    start: float
    end: float
    lane: int = 0


@dataclass(frozen=True)
class Route:
    """A wire with its vertical pieces from source to target; between two of them it runs across a layer."""

    wire: Wire
    runs: tuple[Run, ...]


def route(wires: Sequence[Wire], occupied: Mapping[int, Sequence[Interval]]) -> tuple[Route, ...]:
    """Lanes for all wires. `occupied` says where the boxes of each layer are, top to bottom."""
    planned = [(wire, _runs(wire, occupied)) for wire in wires]
    lanes: dict[int, list[list[tuple[Interval, tuple[object, ...]]]]] = {}
    routes = []
    # Long pieces last: short ones stay close to the boxes they join.
    for wire, runs in planned:
        placed = []
        for place, run in enumerate(runs):
            bundle = (wire.source, wire.source_y, wire.kind) if place == 0 else (wire, place)
            placed.append(_in_lane(run, bundle, lanes.setdefault(run.gutter, [])))
        routes.append(Route(wire, tuple(placed)))
    return tuple(routes)


def lanes_used(routes: Sequence[Route]) -> dict[int, int]:
    """How many lanes each gutter needs."""
    used: dict[int, int] = {}
    for wired in routes:
        for run in wired.runs:
            used[run.gutter] = max(used.get(run.gutter, 0), run.lane + 1)
    return used


def _runs(wire: Wire, occupied: Mapping[int, Sequence[Interval]]) -> list[Run]:
    a, b = wire.source_layer, wire.target_layer
    if a == b:
        return [Run(a, wire.source_y, wire.target_y)]
    # To the right it leaves on the right; to the left on the left. Each layer on the way is crossed in a gap.
    gutters = range(a + 1, b + 1) if a < b else range(a, b, -1)
    runs, y = list[Run](), wire.source_y
    for gutter in gutters:
        last = gutter == gutters[-1]
        crossed = gutter if a < b else gutter - 1
        to = wire.target_y if last else _gap(wire.target_y, occupied.get(crossed, ()))
        runs.append(Run(gutter, y, to))
        y = to
    return runs


def _gap(wanted: float, boxes: Sequence[Interval]) -> float:
    """The height nearest to the wanted one that no box covers."""
    margin = 9.0
    if all(not (top - margin < wanted < bottom + margin) for top, bottom in boxes):
        return wanted
    edges = [top - margin for top, _ in boxes] + [bottom + margin for _, bottom in boxes]
    free = [y for y in edges if all(not (top - margin < y < bottom + margin) for top, bottom in boxes)]
    return min(free, key=lambda y: abs(y - wanted))


def _in_lane(run: Run, bundle: tuple[object, ...], lanes: list[list[tuple[Interval, tuple[object, ...]]]]) -> Run:
    low, high = min(run.start, run.end), max(run.start, run.end)
    for number, lane in enumerate(lanes):
        if all(who == bundle or high + 6 < bottom or top + 6 < low for (bottom, top), who in lane):
            lane.append(((low, high), bundle))
            return Run(run.gutter, run.start, run.end, number)
    lanes.append([((low, high), bundle)])
    return Run(run.gutter, run.start, run.end, len(lanes) - 1)
