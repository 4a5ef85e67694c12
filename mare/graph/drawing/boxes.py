"""Tables as boxes with their column groups inside: what the picture writes where, measured before it is placed.

Names are set in a monospaced font, because only its width is known without measuring: nothing runs out of its box.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from unicodedata import combining, east_asian_width

from mare.graph.dag import DatasetDag
from mare.graph.groups import ColumnGroup, GroupColumn
from mare.schema import Schema

from .text import reference_words, relationship

TABLE_WIDTH = 310.0
PAD = 10.0
LOOP_ROOM = 34.0
"""To the right of the groups, for the loops of sequences."""
MONO = 6.7
"""Width of one character of the 11 px monospaced font; real fonts are between 6.0 and 6.65."""
SMALL = 5.5
"""Mean width of a character of the 10 px sans font, on the generous side."""
BESIDE = 10
"""Characters that have room beside the name of the part."""
LINE, SMALL_LINE, HEADER, GAP = 15.0, 13.0, 19.0, 13.0


@dataclass(frozen=True)
class Word:
    """One name in a line, cut where it is too long; the whole is its tooltip."""

    x: float
    shown: str
    whole: str


@dataclass(frozen=True)
class GroupBox:
    """One column group inside a table's box; places are relative to the table."""

    group: ColumnGroup
    number: int
    """Its place in the order of generation, from 1."""
    x: float
    y: float
    width: float
    height: float
    lines: tuple[tuple[Word, ...], ...]
    beside: bool
    """The names stand in the heading itself."""


@dataclass(frozen=True)
class TableBox:
    """One table, measured. `picture` says where it stands."""

    name: str
    title: str
    """The name, cut to fit."""
    notes: tuple[str, ...]
    """How its rows belong to somebody."""
    groups: tuple[GroupBox, ...]
    references: tuple[Word, ...]
    references_y: float
    width: float
    height: float

    def part(self, part: str) -> GroupBox | None:
        return next((box for box in self.groups if box.group.part == part), None)


def cells(text: str) -> int:
    """How many characters wide a text is in a monospaced font: East Asian ones take two."""
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def cut(text: str, room: int) -> str:
    """The text, or its beginning and an ellipsis."""
    if cells(text) <= room:
        return text
    kept = ""
    for character in text:
        if cells(kept + character) > room - 1:
            break
        kept += character
    return kept + "…"


def wrapped(text: str, room: int, most: int) -> tuple[str, ...]:
    """Words in lines; what does not fit into `most` lines is cut."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if cells(longer) <= room or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(word)
    kept = lines[:most]
    if len(lines) > most:
        kept[-1] += " …"
    return tuple(cut(line, room) for line in kept)


def column_words(column: GroupColumn) -> str:
    """The column's name; for an unrolled association also into how many columns it unrolls."""
    if column.role in ("exists", "derived") and column.repeat != 1:
        return f"{column.name} ×{'?' if column.repeat is None else column.repeat}"
    return column.name


def flowing(names: Iterable[str], room: int) -> tuple[tuple[Word, ...], ...]:
    """Names one after the other, two characters apart, in lines of `room` characters."""
    lines: list[list[Word]] = [[]]
    at = 0
    for name in names:
        shown = cut(name, room)
        if at and at + cells(shown) > room:
            lines.append([])
            at = 0
        lines[-1].append(Word(at * MONO, shown, name))
        at += cells(shown) + 2
    return tuple(tuple(line) for line in lines)


def table_box(schema: Schema, dag: DatasetDag, groups: Iterable[tuple[int, ColumnGroup]], name: str) -> TableBox:
    """A table and its numbered groups, from top to bottom: name, relationship, context, head, rows, references."""
    inner = TABLE_WIDTH - 2 * PAD
    notes = wrapped(relationship(schema, dag, name), int(inner / SMALL), 2)
    y = 27 + SMALL_LINE * len(notes) + 7
    width = inner - LOOP_ROOM
    boxes = []
    for number, group in groups:
        lines = flowing((column_words(c) for c in group.columns), int((width - 14) / MONO))
        # A context is mostly a count: such a short name stands beside the part's own, and saves the line.
        beside = len(lines) == 1 and sum(cells(word.shown) + 2 for word in lines[0]) <= BESIDE
        height = HEADER + (2 if beside else LINE * len(lines) + 5)
        boxes.append(GroupBox(group, number, PAD, y, width, height, lines, beside))
        y += height + GAP
    y += 2 - GAP if boxes else -4
    top = y + SMALL_LINE
    references = []
    for whole in reference_words(dag, name):
        references += [
            Word(PAD + 10 * (n > 0), words, whole) for n, words in enumerate(wrapped(whole, int(inner / SMALL) - 2, 3))
        ]
    y += SMALL_LINE * len(references) + (6 if references else 0)
    return TableBox(name, cut(name, 28), notes, tuple(boxes), tuple(references), top, TABLE_WIDTH, y + 8)
