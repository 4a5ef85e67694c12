"""Descending a public hierarchy with plain noisy counts: chapter, block, three characters, full code, as far as the noise lets
it.

The codes are known to everybody, so that nothing needs a threshold for anybody's sake, and no δ. At each level the children of
what is open are counted. A child that stands clear of the noise is opened in its turn, or is a code that is kept; its siblings
that do not stay together: they share one place, and come back as one of them, in proportion to the little that is known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from mare.codec import LearnedValues
from mare.privacy.curator import NoisyCounts

from .code_lists import CodeList

Ask = Callable[[NDArray[np.int64], float], NoisyCounts]
"""Of each code the cell that it is counted in, and which part of what is left of the share it costs. After the cells come values
outside the list, and NULL."""


TOLD = 0.1
"""A share of strange keys or codes from which on it is told, and keys are looked for."""


@dataclass(frozen=True, eq=False)
class _Node:
    """Some codes that are one so far, by their places in the list."""

    codes: NDArray[np.int64]
    count: float
    weights: NDArray[np.float64]
    """Of each code, how often it occurs, as far as that is known."""


@dataclass(frozen=True)
class Found:
    """What a descent found, and which part of the rows holds none of the codes: noisy; 0 where that is not clear."""

    values: LearnedValues
    strangers: float


def clear_of_noise(cells: int) -> float:
    """How many standard deviations above nothing a count stands, so that hardly one of so many empty cells does by noise."""
    return sqrt(2 * log(max(cells, 8)))


def descend(listed: CodeList, most: int, ask: Ask) -> Found:
    """The codes that are worth a place, ``most`` places at most, and groups of those that are not."""
    everything = np.arange(len(listed.codes), dtype=np.int64)
    nodes, closed, idle = [_Node(everything, 0.0, np.ones(len(everything)))], list[_Node](), list[_Node]()
    strangers: float | None = None
    steps = listed.steps
    for depth, names in enumerate(steps):
        children = [_children(node, names) for node in nodes]
        cells = [part for parts in children if len(parts) > 1 for part in parts]
        if not cells:
            continue
        where = np.full(len(everything), len(cells), dtype=np.int64)
        for cell, part in enumerate(cells):
            where[part] = cell
        # Coarse counts are large and need little: of four levels the shares are .1, .15, .25 and .5.
        below = len(steps) - depth
        answer = ask(where, 2 / (below * (below + 1)))
        counts, clear = answer.rows[: len(cells)], clear_of_noise(len(cells)) * answer.rows_deviation
        strangers = _share_outside(answer) if strangers is None else strangers
        whose = np.repeat(np.arange(len(children)), [len(parts) if len(parts) > 1 else 0 for parts in children])
        carried = sum(len(parts) == 1 for parts in children)
        # One place is for all that hardly occurs.
        accepted = _accepted(counts, whose, clear, most - len(closed) - carried - 1)
        before, nodes, first = nodes, list[_Node](), 0
        for node, parts in zip(before, children, strict=True):
            if len(parts) == 1:
                nodes.append(node)
                continue
            mine = range(first, first + len(parts))
            first += len(parts)
            nodes += [_Node(cells[cell], float(counts[cell]), np.ones(len(cells[cell]))) for cell in mine if cell in accepted]
            left = [cell for cell in mine if cell not in accepted]
            if left:
                together = _together([(cells[cell], float(counts[cell])) for cell in left], answer.rows_deviation)
                (closed if together.count > clear else idle).append(together)
    if idle:
        codes, weights = (np.concatenate([getattr(node, name) for node in idle]) for name in ("codes", "weights"))
        closed.append(_Node(codes, sum(node.count for node in idle), weights))
    return Found(_learned(listed, nodes, closed), strangers or 0.0)


def _accepted(counts: NDArray[np.float64], whose: NDArray[np.int64], clear: float, room: int) -> set[int]:
    """The largest counts that stand clear, as many as there is room for: what is left of a parent takes a place too, if it stands
    clear. ``whose`` holds the parent of each."""
    left = np.bincount(whose, weights=counts)
    places, best = int((left > clear).sum()), 0
    order = [int(cell) for cell in np.argsort(-counts, kind="stable") if counts[cell] > clear]
    for number, cell in enumerate(order, start=1):
        before = left[whose[cell]] > clear
        left[whose[cell]] -= counts[cell]
        places += 1 + int(left[whose[cell]] > clear) - int(before)
        best = number if places <= room else best
    return set(order[:best])


def _together(parts: Sequence[tuple[NDArray[np.int64], float]], deviation: float) -> _Node:
    """Codes that share a place: each as frequent as what is known of its part of them says, less what the noise may have made."""
    weights = [np.full(len(codes), max(0.0, count - deviation) / len(codes)) for codes, count in parts]
    return _Node(np.concatenate([codes for codes, _ in parts]), sum(count for _, count in parts), np.concatenate(weights))


def _children(node: _Node, names: Sequence[str]) -> list[NDArray[np.int64]]:
    """The codes of a node by what they are called at the next level; in the order of the list."""
    parts: dict[str, list[int]] = {}
    for code in node.codes.tolist():
        parts.setdefault(names[code], []).append(code)
    return [np.array(codes, dtype=np.int64) for codes in parts.values()]


def _share_outside(answer: NoisyCounts) -> float:
    """Which part of the rows that are not NULL holds a value outside the list."""
    outside, together = float(answer.rows[-2]), max(1e-9, float(answer.rows[:-1].sum()))
    return outside / together if outside > clear_of_noise(1) * answer.rows_deviation else 0.0


def _learned(listed: CodeList, nodes: list[_Node], closed: list[_Node]) -> LearnedValues:
    """Those kept, most frequent first; then the groups."""
    kept = sorted((node for node in nodes if len(node.codes) == 1), key=lambda node: -node.count)
    groups = [*(node for node in nodes if len(node.codes) > 1), *closed]
    # A group is known by its first code; that is also how it is called at every level.
    heads = [int(node.codes[np.argmax(node.weights)]) for node in (*kept, *groups)]
    return LearnedValues(
        tuple(listed.codes[node.codes[0]] for node in kept),
        tuple(tuple(listed.codes[code] for code in node.codes) for node in groups),
        tuple(max(0.0, node.count) for node in (*kept, *groups)),
        tuple(tuple(level[head] for head in heads) for level in listed.levels),
        tuple(tuple(node.weights.tolist()) if node.weights.any() else () for node in groups),
    )
