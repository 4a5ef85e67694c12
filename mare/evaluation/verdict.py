"""The verdict: what an evaluation means. Sentences and listings, of which a terminal shows the worst and the report more. Every
line of it is internal, not private.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Literal

from mare.privacy.pages import table

from .evaluation import INTERNAL, Evaluation, excess
from .measured import FEWEST_ROWS, KINDS, Broken, BrokenKind, ColumnFidelity, PairKind, SetName
from .risk.assess import Risk

_WIDTH = 95
_SHOWN = 5
_NAMED = 8
"""Columns of a note."""
LAWS = "orders, equal columns, ties of columns, sums, NULLs that go together and shared ids"
_WORDS = ("close", "fair", "poor", "no better than shuffled columns")
FAIR = 0.15
"""The distance beyond chance from which on it is poor."""
BY_CHANCE = 0.25
"""What other real rows are off by may differ by as much: two halves of a hundred patients do."""
NAMES: dict[SetName, str] = {
    "synthetic": "synthetic",
    "holdout": "other real",
    "shuffled": "shuffled",
    "independent": "independent",
}

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


@dataclass(frozen=True)
class Listing:
    """Figures in rows, worst first."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Sequence[int]
    """Columns of numbers."""
    note: str = ""
    """How to read it."""


def verdict(evaluation: Evaluation) -> str:
    """For a terminal: the warnings, what it is good for, the sentences, what is worst."""
    lines = [f"Evaluation ({INTERNAL})", *(f"WARNING: {warning}" for warning in evaluation.warnings), ""]
    lines += [line for purpose in purposes(evaluation) for line in wrap(f"{purpose}.", _WIDTH)]
    lines.append("")
    for mood, sentence in summary(evaluation):
        lines += wrap(sentence, _WIDTH, initial_indent=f"  {_SIGNS[mood]} ", subsequent_indent="    ")
    for listing in listings(evaluation, _SHOWN, _SHOWN):
        right = frozenset(listing.right)
        lines += ["", f"{listing.title}:", *table(listing.head, listing.rows, _WIDTH, 0, right), *wrap(listing.note, _WIDTH)]
    lines += ["", *(f"Question: {answer.name}: {answer.apart}" for answer in evaluation.answers)] if evaluation.answers else []
    lines += [line for part in evaluation.parts.values() for line in ("", *part.words())]
    lines += [f"Note: {note.line(_NAMED)}" for note in evaluation.notes]
    return "\n".join([*lines, f"({INTERNAL})"])


_SIGNS: dict[Mood, str] = {"trust": "+", "coarse": "~", "no": "!"}


def kept(synthetic: float, shuffled: float, best: float) -> float | None:
    """The part of what columns have to do with each other that is kept, by the error of Cramér's V: 1 as good as other real rows,
    0 as bad as shuffled columns. None where they have next to nothing to do with each other."""
    return None if shuffled - best < 0.01 else (shuffled - synthetic) / (shuffled - best)


def graded(evaluation: Evaluation, kind: PairKind) -> tuple[str, float | None]:
    """In a word, and the part that is kept of what shuffling destroys. By V and not by the distance: that is also the distance of
    single columns, which shuffling leaves as they are, and one bad column would take all its pairs along. But noise has a V, too:
    rows that are further off than columns drawn each on its own are never close, and no part is told of what they keep."""
    errors = {name: means[kind].v_error for name, means in evaluation.means.items()}
    share = kept(errors["synthetic"], errors["shuffled"], errors.get("holdout", 0.0))
    beyond = evaluation.means["synthetic"][kind].tvd - _best(evaluation, kind)
    word = grade(share, beyond)
    if not further_off(evaluation, kind):
        return ("fair", None) if word == "close" and _beyond_shuffled(evaluation, kind) else (word, share)
    return max(word, "fair" if beyond < FAIR else "poor", key=_WORDS.index), None


def further_off(evaluation: Evaluation, kind: PairKind) -> bool:
    """Whether pairs are further from the real rows than other real rows are, and than columns that were drawn each on its own."""
    means, best = {name: held[kind].tvd for name, held in evaluation.means.items()}, _best(evaluation, kind)
    return means["synthetic"] > max(best, means["independent"]) + max(0.01, BY_CHANCE * best)


def _beyond_shuffled(evaluation: Evaluation, kind: PairKind) -> bool:
    """Whether pairs are further off than shuffled columns, and clearly than other real rows: then nobody calls them close."""
    means = {name: held[kind].tvd for name, held in evaluation.means.items()}
    return "holdout" in means and means["synthetic"] > max(means["shuffled"], 1.15 * means["holdout"] + 0.02)


def _best(evaluation: Evaluation, kind: PairKind) -> float:
    held = evaluation.means
    return held["holdout"][kind].tvd if "holdout" in held else held["synthetic"][kind].chance


def grade(share: float | None, distance: float) -> str:
    """In a word. Where columns have next to nothing to do with each other, only the distance tells."""
    if share is None:
        return "close" if distance < 0.05 else "fair" if distance < FAIR else "poor"
    return "close" if share > 0.8 else "fair" if share > 0.5 else "poor" if share > 0.1 else _WORDS[-1]


def far_by_table(evaluation: Evaluation) -> dict[str, float]:
    """Of each table that has pairs, how far they are off on average."""
    tables, small = dict[str, list[float]](), evaluation.small
    for pair in evaluation.pairs:
        if pair.table not in small:
            tables.setdefault(pair.table, []).append(pair.excess)
    return {table: sum(held) / len(held) for table, held in tables.items()}


# ------------------------------------------------------------------ sentences


def summary(evaluation: Evaluation) -> Iterator[Said]:
    """What the figures mean, in sentences that need no statistics, each with how good the news are."""
    yield _single(evaluation)
    for kind in KINDS:
        if kind in evaluation.means["synthetic"]:
            word, share = graded(evaluation, kind)
            part = f": {_left(evaluation, kind, share)}" if _left(evaluation, kind, share) else ""
            yield _MOODS.get(word, "no"), f"{_SUBJECTS[kind]} {_SHARES.get(word, 'is lost')}{part}."
    by_table = sorted(((distance, table) for table, distance in far_by_table(evaluation).items()), reverse=True)
    if len(by_table) > 1:
        listed = ", ".join(f"{table} {distance:.3f}" for distance, table in by_table[:_SHOWN])
        yield _mood(by_table[0][0]), f"Tables by their pairs, worst first ({_beyond(evaluation)}): {listed}."
    if small := sorted(evaluation.small):
        yield "coarse", f"Too few real rows (below {FEWEST_ROWS}) to be judged, and in no mean: {', '.join(small)}."
    for column in evaluation.lacking_values()[:_SHOWN]:
        made, expected = column.different["synthetic"], column.different["shuffled"]
        figures = f"{made:,.0f} different values; as many real rows have {expected:,.0f}"
        yield "coarse", f"Rare values are missing: {column.table}.{column.name} has {figures}."
    yield from _rows(evaluation)
    for torn in evaluation.torn()[:_SHOWN]:
        real, made = torn.same["real"], torn.same["synthetic"]
        same = f"{torn.table}.{torn.column} is the same in two rows of one parent in {made:.1%}"
        yield "no", f"{same}, {real:.1%} in the real rows."
    for column in evaluation.off_calendar()[:_SHOWN]:
        off = f"distance {excess(column.tvd):.2f} ({_most(column)})"
        yield "coarse", f"The {column.name} in {column.table} is spread otherwise: {off}."
    yield _soundness(evaluation)
    yield from _laws(evaluation)
    yield _copies(evaluation)
    risk = evaluation.parts.get("risk")
    if isinstance(risk, Risk):
        yield "no" if risk.leaks else "trust" if risk.beside_outsiders else "coarse", in_short(risk)


def in_short(risk: Risk) -> str:
    """Its first line; that it is internal is on top of the page."""
    return f"{next(risk.words()).partition(f' ({INTERNAL}')[0]}."


def _left(evaluation: Evaluation, kind: PairKind, share: float | None) -> str:
    """Of what columns have to do with each other."""
    if share is not None:
        return f"{min(1.0, max(0.0, share)):.0%} is left"
    means = {name: held[kind].tvd for name, held in evaluation.means.items()}
    return "further off than shuffled columns" if means["synthetic"] > means["shuffled"] else ""


def _beyond(evaluation: Evaluation) -> str:
    return f"distance beyond {'the hold-out' if 'holdout' in evaluation.sets else 'chance'}"


def _mood(distance: float) -> Mood:
    return _MOODS.get(grade(None, distance), "no")


def _single(evaluation: Evaluation) -> Said:
    distance, best = evaluation.one_way["synthetic"], evaluation.one_way.get("holdout")
    beside = "" if best is None else f" (other real people: {best:.1%})"
    word = grade(None, distance - (best or 0.0))
    worst = next(iter(evaluation.worst_columns(1)), None)
    worst_of_all = "" if worst is None else f"; most, {worst.distance['synthetic']:.1%}, in {worst.table}.{worst.name}"
    spread = {"close": "are spread as the real ones", "fair": "are spread nearly as the real ones"}
    judgement = spread.get(word, "are spread otherwise than the real ones")
    return _MOODS.get(word, "no"), (
        f"Single columns {judgement}: on average {distance:.1%} of rows would have to get another value{beside}{worst_of_all}."
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
    breach = f"{worst.where} {worst.what} ({worst.rows['synthetic']:,} rows)"
    return "no", f"{_number(evaluation.wrong, 'rule')} broken, most often: {breach}."


def _worst_of(items: Sequence[object]) -> str:
    return ", worst first" if len(items) > 1 else ""


def _laws(evaluation: Evaluation) -> Iterator[Said]:
    breaches, laws = evaluation.unlawful, evaluation.looked_at.get("law", 0)
    if breaches:
        worst = unlawful(breaches[0])
        yield "no", f"{_number(breaches, 'thing')} done here that real rows never do{_worst_of(breaches)}: {worst}."
    elif laws:
        yield "trust", f"What the real rows always keep is kept: {laws:,} {LAWS}."


def _number(items: Sequence[object], what: str) -> str:
    return f"1 {what} is" if len(items) == 1 else f"{len(items)} {what}s are"


def _copies(evaluation: Evaluation) -> Said:
    copied, others = evaluation.copied_entities["synthetic"], evaluation.copied_entities.get("holdout", 0)
    if not copied:
        return "trust", "Nobody is copied: no synthetic entity of three rows or more equals a real one in every row."
    beside = f", {others:,} of the hold-out do" if "holdout" in evaluation.copied_entities else ""
    return "no" if copied > others else "coarse", f"{copied:,} synthetic entities equal a real one in every row{beside}."


def unlawful(breach: Broken) -> str:
    real = breach.share("real")
    return (
        f"{breach.where} {breach.what} in {breach.share('synthetic'):.1%} of {breach.of['synthetic']:,} rows, "
        f"{'never' if not real else f'{real:.2%}'} in the real ones"
    )


def _most(column: ColumnFidelity) -> str:
    """Where the difference is largest."""
    real, made = (column.counts[name] / max(1, column.counts[name].sum()) for name in ("real", "synthetic"))
    worst = int(abs(made - real).argmax())
    return f"{column.labels[worst]}: {made[worst]:.1%}, {real[worst]:.1%} in the real rows"


_LOOKED_AT: dict[BrokenKind, tuple[str, str]] = {
    "reference": ("reference", "references"),
    "key": ("key", "keys"),
    "null": ("column without NULL", "columns without NULL"),
    "domain": ("domain", "domains"),
    "order": ("declared order", "declared orders"),
    "same": ("shared value", "shared values"),
    "cap": ("cap", "caps"),
    "ending": ("ending", "endings"),
}
_PURPOSES: dict[PairKind, str] = {
    "row": "comparing columns of a row",
    "ancestor": "relating tables to the ones above",
    "previous": "courses along time",
    "sibling": "what rows of one parent share",
    "linked": "what rows refer to and have beside them",
}


def looked_at(evaluation: Evaluation) -> str:
    """The rules of the schema that the rows were held against."""
    looked_at = evaluation.looked_at
    counted = [f"{n:,} {words[n > 1]}" for kind, words in _LOOKED_AT.items() if (n := looked_at.get(kind, 0))]
    return ", ".join(counted) + " were looked at" if counted else "the schema has no rule that rows could break"


def purposes(evaluation: Evaluation) -> Iterator[str]:
    """What it is good for, for what with care, and for what not: the first thing that anybody wants to know."""
    distance = evaluation.one_way["synthetic"] - evaluation.one_way.get("holdout", 0.0)
    words = {"single values": grade(None, distance)}
    words |= {_PURPOSES[kind]: graded(evaluation, kind)[0] for kind in KINDS if kind in evaluation.means["synthetic"]}
    lists = {"Good for": ("close",), "With care for": ("fair",), "Not for": _WORDS[2:]}
    for title, grades in lists.items():
        if named := [purpose for purpose, word in words.items() if word in grades]:
            yield f"{title} {', '.join(named)}"


# ------------------------------------------------------------------ listings


def listings(evaluation: Evaluation, most: int, breaches: int) -> Iterator[Listing]:
    """So many columns and pairs, and so many breaches of rules."""
    yield _closeness(evaluation)
    yield _columns(evaluation, most)
    yield _pairs(evaluation, most)
    listed = [breach for breach in evaluation.broken if breach.rows.get("synthetic") or breach.rows.get("real")]
    wrong = sorted((breach for breach in listed if breach.kind != "law"), key=lambda breach: -breach.rows.get("synthetic", 0))
    yield from _broken("What the real rows always keep, and the synthetic ones do not", evaluation.unlawful, breaches)
    yield from _broken("What does not hold of every row", wrong, breaches)
    if evaluation.copies:
        sets = _sets(evaluation)
        rows = [[c.table, f"{c.columns}", *(f"{c.share[name]:.2%}" for name in sets)] for c in evaluation.copies]
        head = ["rows that equal a real one", "columns", *(NAMES[name] for name in sets)]
        yield Listing("Copies", head, rows, range(1, len(head)))


def _closeness(evaluation: Evaluation) -> Listing:
    sets = [name for name in NAMES if name in evaluation.sets]
    rows = [["single columns", *(figure(evaluation.one_way.get(name)) for name in sets), ""]]
    for kind, words in KINDS.items():
        if kind in evaluation.means["synthetic"]:
            word, share = graded(evaluation, kind)
            told = ", ".join(filter(None, (word, _left(evaluation, kind, share))))
            rows.append([f"pairs {words}", *(figure(evaluation.means[name][kind].tvd) for name in sets), told])
    beside = "Other real: the hold-out, as close as can be. " if "holdout" in evaluation.sets else ""
    note = (
        f"Mean total variation distance: 0 is the same, 1 has nothing in common. {beside}Shuffled: the real columns, each in an "
        "order of its own. Independent: as many rows drawn from that."
    )
    return Listing(
        "How far from the real rows", ["", *(NAMES[name] for name in sets), "in a word"], rows, range(1, len(sets) + 1), note
    )


def figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _columns(evaluation: Evaluation, most: int) -> Listing:
    sets, has_card = _sets(evaluation), any(column.card for column in evaluation.columns)
    rows = [
        [
            f"{c.table}.{c.name}",
            *(figure(c.distance.get(name)) for name in sets),
            f"{c.shape['synthetic']:.3f}",
            *([c.card] if has_card else []),
        ]
        for c in evaluation.worst_columns(most)
    ]
    figures = [*(NAMES[name] for name in sets), "shape"]
    note = (
        "Distance: the share of rows that would have to get another value. Shape: how alike the two are as SDMetrics counts it, "
        "1 being the same."
    )
    head = ["column", *figures, *(["the card says"] if has_card else [])]
    return Listing("Columns, worst first, by their distance", head, rows, range(1, len(figures) + 1), note)


def _sets(evaluation: Evaluation) -> list[SetName]:
    return [name for name in ("synthetic", "holdout") if name in evaluation.sets]


def _pairs(evaluation: Evaluation, most: int) -> Listing:
    rows = [
        [pair.name, f"{pair.excess:.3f}", f"{pair.v:.2f}", f"{pair.closeness['synthetic'].v:.2f}"]
        for pair in evaluation.telling_pairs(most)
    ]
    note = "Cramér's V: how much two columns have to do with each other; 0 nothing, 1 one decides the other."
    title = f"Pairs, worst first, by their {_beyond(evaluation)}"
    return Listing(title, ["pair", "distance", "V, real", "V, synthetic"], rows, (1, 2, 3), note)


def _broken(title: str, breaches: Sequence[Broken], most: int) -> Iterator[Listing]:
    sides: tuple[SetName, ...] = ("synthetic", "real")
    rows = [
        [f"{b.where} {b.what}", *(f"{b.rows[side]:,} of {b.of[side]:,}" if b.of.get(side) else "" for side in sides)]
        for b in breaches[:most]
    ]
    if rows:
        more = f"And {len(breaches) - most:,} more." if len(breaches) > most else ""
        yield Listing(title, ["what", "synthetic rows", "real rows"], rows, (1, 2), more)
