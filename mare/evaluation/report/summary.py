"""The verdict of a report: what the figures mean, in sentences that need no statistics. Each comes with how good the news are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from mare.evaluation.evaluation import INTERNAL, KINDS, Evaluation, PairKind, excess
from mare.evaluation.risk.assess import Risk
from mare.evaluation.verdict import LAWS, grade, graded, looked_at, unlawful

Mood = Literal["trust", "coarse", "no"]
Said = tuple[Mood, str]

_MOODS: dict[str, Mood] = {"close": "trust", "fair": "coarse"}
_SUBJECTS: dict[PairKind, str] = {
    "row": "What columns of a row have to do with each other",
    "ancestor": "What a row has to do with the rows above it",
    "previous": "What a row has to do with the rows before it",
    "sibling": "What a row has to do with other rows of the same parent",
    "linked": "What a row has to do with what it refers to, and with its siblings in other tables",
}
_SHARES = {"close": "is kept", "fair": "is kept in part", "poor": "is mostly lost"}


def summary(evaluation: Evaluation) -> Iterator[Said]:
    yield _single(evaluation)
    for kind in KINDS:
        if kind in evaluation.means["synthetic"]:
            word, share = graded(evaluation, kind)
            part = "" if share is None else f": {min(1.0, max(0.0, share)):.0%} of it is left"
            yield _MOODS.get(word, "no"), f"{_SUBJECTS[kind]} {_SHARES.get(word, 'is lost')}{part}."
    yield from _rows(evaluation)
    yield from _calendar(evaluation)
    yield _soundness(evaluation)
    yield from _laws(evaluation)
    yield _copies(evaluation)
    risk = evaluation.parts.get("risk")
    if isinstance(risk, Risk):
        yield "no" if risk.leaks else "trust", in_short(risk)


def in_short(risk: Risk) -> str:
    """Its first line; that it is internal is on top of the page."""
    return f"{next(risk.words()).partition(f' ({INTERNAL}')[0]}."


def _single(evaluation: Evaluation) -> Said:
    distance, best = evaluation.one_way["synthetic"], evaluation.one_way.get("holdout")
    beside = "" if best is None else f" (other real people: {best:.1%})"
    word = grade(None, distance - (best or 0.0))
    worst = next(iter(evaluation.worst_columns(1)), None)
    worst_of_all = "" if worst is None else f"; most, {worst.tvd['synthetic']:.1%}, in {worst.table}.{worst.name}"
    spread = {"close": "are spread as the real ones", "fair": "are spread nearly as the real ones"}
    found = spread.get(word, "are spread otherwise than the real ones")
    return _MOODS.get(word, "no"), (
        f"Single columns {found}: on average {distance:.1%} of rows would have to get another value{beside}{worst_of_all}."
    )


def _rows(evaluation: Evaluation) -> Iterator[Said]:
    worst = max(((excess(length.tvd), length) for length in evaluation.lengths), key=lambda pair: pair[0], default=None)
    if worst is None:
        return
    distance, length = worst
    word = grade(None, distance)
    per = "entity" if length.per == "entity" else f"row of {length.per}"
    figures = f"{length.table} has {length.mean['synthetic']:.2f} rows per {per}, {length.mean['real']:.2f} in the real rows"
    yield (
        _MOODS.get(word, "no"),
        f"How many rows there are: {word}{', even' if word == 'close' else ''} at its worst ({figures}).",
    )


def _soundness(evaluation: Evaluation) -> Said:
    if not evaluation.wrong:
        return "trust", f"No rule of the schema is broken: {looked_at(evaluation)}."
    worst = evaluation.wrong[0]
    found = f"{worst.where} {worst.what} ({worst.rows['synthetic']:,} rows)"
    return "no", f"{_number(evaluation.wrong, 'rule')} broken, most often: {found}."


def _laws(evaluation: Evaluation) -> Iterator[Said]:
    found, laws = evaluation.unlawful, evaluation.looked_at.get("law", 0)
    if found:
        yield "no", f"{_number(found, 'thing')} done here that real rows never do, worst first: {unlawful(found[0])}."
    elif laws:
        yield "trust", f"What the real rows always keep is kept: {laws:,} {LAWS}."


def _calendar(evaluation: Evaluation) -> Iterator[Said]:
    if off := evaluation.off_calendar():
        worst, more = off[0], f", and {len(off) - 1} more" if len(off) > 1 else ""
        yield "coarse", f"The {worst.name} in {worst.table} is spread otherwise: distance {excess(worst.tvd):.2f}{more}."


def _number(found: Sequence[object], what: str) -> str:
    return f"1 {what} is" if len(found) == 1 else f"{len(found)} {what}s are"


def _copies(evaluation: Evaluation) -> Said:
    copied, others = evaluation.copied_entities["synthetic"], evaluation.copied_entities.get("holdout", 0)
    if not copied:
        return "trust", "Nobody is copied: no synthetic entity of three rows or more equals a real one in every row."
    beside = f", {others:,} of the hold-out do" if "holdout" in evaluation.copied_entities else ""
    return "no" if copied > others else "coarse", f"{copied:,} synthetic entities equal a real one in every row{beside}."
