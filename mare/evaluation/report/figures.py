"""What the pictures of a report are drawn from: names, bins and packed numbers.

Numbers are text, one letter each: a share in 87 steps is all that a colour can show. `draw.js` reads it back.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mare.evaluation.evaluation import Evaluation, excess, plain
from mare.evaluation.measured import KINDS, ColumnFidelity, PairFidelity, PairKind, SetName, Survival

SETS: tuple[SetName, ...] = ("real", "synthetic", "holdout")
LETTERS_OF_A_LABEL = 40
WORST = 12
"""Pairs of a table that are listed."""
MATRIX_ROOM = 1_300_000
"""Characters that heatmaps may take. Cross-tabs get what is left of the page; the worst come first."""

# Letters that neither JSON nor HTML escapes.
LETTERS = "".join(chr(code) for code in range(35, 126) if chr(code) not in "<>\\&'")
RUN, NONE = "~", " "
"""Before the number of zeros that follow; where there is no number."""
_CODES = np.frombuffer(LETTERS.encode(), dtype=np.uint8)
_MOST = len(LETTERS) - 1

Figures = dict[str, object]


def figures(evaluation: Evaluation, room: int) -> Figures:
    """All of it, for `as_json`: some ``room`` characters, if that is at all possible."""
    shown = [name for name in SETS if name in evaluation.labels]
    packer = _Packer(evaluation, shown)
    content: Figures = {
        "sets": shown,
        "tables": [packer.table(name) for name in evaluation.rows],
        "transitions": [
            {
                "name": f"{moves.table}.{moves.column}",
                "labels": _cut(moves.labels),
                "counts": [packed_counts(moves.counts[name]) for name in shown],
            }
            for moves in sorted(evaluation.transitions, key=lambda moves: -excess(moves.tvd))
        ],
        "together": [
            {"name": keys.table, "labels": _cut(keys.labels), "shares": [packed(keys.shares[name].ravel()) for name in shown]}
            for keys in evaluation.together
        ],
        "survival": [
            {"name": f"{paths.table}.{paths.column}", **_survival(curve, shown)}
            for paths in evaluation.trajectories
            for curve in paths.survival
        ],
        "timelines": plain(evaluation.timelines),
    }
    content["crosstabs"] = packer.crosstabs(room - len(as_json(content)))
    content["left_out"] = packer.left_out
    return content


def _cut(labels: tuple[str, ...]) -> list[str]:
    return [label if len(label) <= LETTERS_OF_A_LABEL else f"{label[:LETTERS_OF_A_LABEL]}…" for label in labels]


def edges_and_words(labels: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """The labels of a column, where neighbouring bins share an edge that is written once: edges, and all other labels."""
    last = next((place for place, label in enumerate(labels) if label.endswith(" and more")), 0)
    edges = [label.partition(" to ")[0] for label in labels[1:last]] + [labels[last].removesuffix(" and more")]
    if last and labels[: last + 1] == (f"below {edges[0]}", *map(" to ".join, pairwise(edges)), f"{edges[-1]} and more"):
        return edges, _cut(labels[last + 1 :])
    return [], _cut(labels)


def _survival(curve: Survival, shown: list[SetName]) -> Figures:
    return {
        "event": _cut((curve.event,))[0],
        "unit": curve.unit,
        "times": [float(f"{time:.4g}") for time in curve.times],
        "curves": [[round(float(share), 3) for share in curve.curves[name]] for name in shown],
    }


@dataclass
class _Packer:
    """Packs table by table, and keeps count of the room."""

    evaluation: Evaluation
    shown: list[SetName]
    left_out: int = 0
    """Heatmaps and cross-tabs that had no room."""

    def __post_init__(self) -> None:
        self.columns: dict[str, list[ColumnFidelity]] = {name: [] for name in self.evaluation.rows}
        for column in self.evaluation.columns:
            self.columns[column.table].append(column)
        self.place = {(c.table, c.name): i for columns in self.columns.values() for i, c in enumerate(columns)}
        self.pairs: dict[str, list[PairFidelity]] = {name: [] for name in self.evaluation.rows}
        for pair in self.evaluation.pairs:
            self.pairs[pair.table].append(pair)
        self.tables = {name: place for place, name in enumerate(self.evaluation.rows)}
        self.room = MATRIX_ROOM

    def table(self, name: str) -> Figures:
        rows = self.evaluation.rows[name]
        worst = sorted(self.pairs[name], key=lambda pair: -pair.excess)[:WORST]
        return {
            "name": name,
            "rows": [rows[shown] for shown in self.shown],
            "columns": [self._column(column) for column in self.columns[name]],
            "blocks": list(self._blocks(name)),
            "worst": [[self._address(p), round(p.excess, 3), round(p.v, 2), round(p.closeness["synthetic"].v, 2)] for p in worst],
            "lengths": [
                {
                    "per": length.per,
                    "labels": edges_and_words(length.labels),
                    "counts": [packed_histogram(length.counts[shown]) for shown in self.shown],
                }
                for length in self.evaluation.lengths
                if length.table == name
            ],
        }

    def _column(self, column: ColumnFidelity) -> list[object]:
        return [
            column.name,
            int(column.kind == "number"),
            int(column.paired),
            edges_and_words(column.labels),
            [packed_histogram(column.counts[name]) for name in self.shown],
            round(excess(column.distance), 3),
            column.card,
        ]

    def _blocks(self, name: str) -> Iterator[Figures]:
        """Pairs of a kind as matrices: own columns down, the others across."""
        blocks: dict[tuple[PairKind, str, int], list[PairFidelity]] = {}
        for pair in self.pairs[name]:
            blocks.setdefault((pair.kind, pair.other_table, pair.back), []).append(pair)
        for (kind, other, back), pairs in blocks.items():
            shape = len(self.columns[name]), len(self.columns[other])
            self.room -= 3 * shape[0] * shape[1]
            if self.room < 0:
                self.left_out += 1
                continue
            real, made, far = (np.full(shape, np.nan) for _ in range(3))
            for pair in pairs:
                at = self.place[name, pair.column], self.place[other, pair.other]
                real[at], made[at], far[at] = pair.v, pair.closeness["synthetic"].v, pair.excess
                if kind in ("row", "sibling", "linked"):
                    for matrix in (real, made, far):
                        matrix[at[::-1]] = matrix[at]
            titles = {"ancestor": f"with {other}", "previous": f"with the row {back} before"}
            yield {
                "title": titles.get(kind, KINDS[kind]),
                "kind": kind,
                "other": self.tables[other],
                "back": back,
                "real": packed(real.ravel()),
                "made": packed(made.ravel()),
                "far": packed(far.ravel()),
            }

    def _address(self, pair: PairFidelity) -> str:
        """Table, column, other table, other column, rows back: the key of a cross-tab."""
        here, there = self.place[pair.table, pair.column], self.place[pair.other_table, pair.other]
        return f"{self.tables[pair.table]},{here},{self.tables[pair.other_table]},{there},{pair.back}"

    def crosstabs(self, room: int) -> Figures:
        """Of as many pairs as have room, worst first: real, synthetic."""
        kept = Figures()
        for pair in self.evaluation.worst_pairs(len(self.evaluation.pairs)):
            if pair.counts is None or room < 0:
                self.left_out += 1
                continue
            cells = [packed_counts(pair.counts[name]) for name in ("real", "synthetic")]
            kept[self._address(pair)] = cells
            room -= sum(len(text) for text, _ in cells) + 40
        return kept


def packed(shares: NDArray[np.float64]) -> str:
    """Numbers from 0 to 1; a space for what is none."""
    there = np.isfinite(shares)
    steps = np.rint(np.clip(np.where(there, shares, 0), 0, 1) * _MOST).astype(np.int64)
    return np.where(there, _CODES[steps], ord(NONE)).astype(np.uint8).tobytes().decode("ascii")


def packed_counts(counts: NDArray[np.int64]) -> tuple[str, float]:
    """A cross-tab: the root of each cell's part of the largest, so that small ones show, runs of zeros in two letters; and what
    share of all rows the largest has."""
    flat = counts.ravel()
    total, largest = int(flat.sum()), int(flat.max(initial=0))
    written = packed(np.sqrt(flat / max(1, largest)))
    zero, pieces, place = LETTERS[0], list[str](), 0
    while place < len(written):
        end = place
        while end < len(written) and written[end] == zero and end - place < _MOST:
            end += 1
        if end - place > 2:
            pieces.append(RUN + LETTERS[end - place])
        else:
            end = max(end, place + 1)
            pieces.append(written[place:end])
        place = end
    return "".join(pieces), float(f"{largest / max(1, total):.4g}")


def packed_histogram(counts: NDArray[np.int64]) -> tuple[str, float]:
    """Two letters a bin, in parts of the largest; and what share of all rows the largest has."""
    total, largest = int(counts.sum()), int(counts.max(initial=0))
    steps = np.rint(counts / max(1, largest) * (len(LETTERS) ** 2 - 1)).astype(np.int64)
    pairs = _CODES[np.stack(np.divmod(steps, len(LETTERS)), axis=1)]
    return pairs.astype(np.uint8).tobytes().decode("ascii"), float(f"{largest / max(1, total):.5g}")


def as_json(value: object) -> str:
    """For a script element: nothing in it can end the element, or begin a comment."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return (
        text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e").replace("\u2028", " ").replace("\u2029", " ")
    )
