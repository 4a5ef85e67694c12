"""The verdict: what an evaluation means, in a few plain sentences. Every line of it is internal, not private."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from textwrap import wrap

from .evaluation import FEWEST_ROWS, INTERNAL, Evaluation, excess
from .measured import KINDS, Broken, BrokenKind, ColumnFidelity, PairKind

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


def verdict(evaluation: Evaluation) -> str:
    """For a terminal: the warnings, how close it comes, what is worst, what is broken."""
    parts = [f"Evaluation ({INTERNAL})"]
    parts += [f"WARNING: {warning}" for warning in evaluation.warnings]
    parts += [
        "",
        *(line for purpose in purposes(evaluation) for line in wrap(f"{purpose}.", _WIDTH)),
        "",
        *_closeness(evaluation),
        "",
        *_worst(evaluation),
        "",
        *_rest(evaluation),
    ]
    parts += [line for part in evaluation.parts.values() for line in ("", *part.words())]
    parts += [f"Note: {note.told(_NAMED)}" for note in evaluation.notes]
    parts += [f"({INTERNAL})"]
    return "\n".join(parts)


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


def _closeness(evaluation: Evaluation) -> Iterator[str]:
    held = "beside " + ("other real rows, " if "holdout" in evaluation.sets else "") + "shuffled columns, an independent draw"
    yield f"How far from the real rows (mean total variation distance, 0 the same, 1 nothing in common; {held}):"
    yield f"  {'single columns':<41} {evaluation.one_way['synthetic']:.3f}{_beside(evaluation, evaluation.one_way)}"
    for kind, words in KINDS.items():
        if kind not in evaluation.means["synthetic"]:
            continue
        distances = {name: means[kind].tvd for name, means in evaluation.means.items()}
        word, share = graded(evaluation, kind)
        if share is not None:
            left = f", {min(1.0, max(0.0, share)):.0%} of what columns have to do with each other is left"
        else:
            left = ", further off than shuffled columns" if distances["synthetic"] > distances["shuffled"] else ""
        yield f"  {'pairs ' + words:<41} {distances['synthetic']:.3f}{_beside(evaluation, distances)}: {word}{left}"


def _beside(evaluation: Evaluation, distances: object) -> str:
    assert isinstance(distances, dict)
    others = [f"{distances[name]:.3f} {name}" for name in evaluation.sets if name != "synthetic" and name in distances]
    return f"  ({', '.join(others)})" if others else ""


def far_by_table(evaluation: Evaluation) -> dict[str, float]:
    """Of each table that has pairs, how far they are off on average."""
    tables, small = dict[str, list[float]](), evaluation.small
    for pair in evaluation.pairs:
        if pair.table not in small:
            tables.setdefault(pair.table, []).append(pair.excess)
    return {table: sum(held) / len(held) for table, held in tables.items()}


def _worst(evaluation: Evaluation) -> Iterator[str]:
    than = f"distance beyond {'that of the hold-out' if 'holdout' in evaluation.sets else 'chance'}"
    by_table = sorted(((distance, table) for table, distance in far_by_table(evaluation).items()), reverse=True)
    if small := sorted(evaluation.small):
        yield f"Too few real rows (below {FEWEST_ROWS}) to be judged, and in no mean: {', '.join(small)}"
    if len(by_table) > 1:
        listed = ", ".join(f"{table} {distance:.3f}" for distance, table in by_table[:_SHOWN])
        yield f"Tables by their pairs, worst first ({than}): {listed}"
    yield f"Columns, worst first{' (' + than + ')' if 'holdout' in evaluation.sets else ''}:"
    for column in evaluation.worst_columns(_SHOWN):
        card = f" (the card says: {column.card})" if column.card else ""
        yield f"  {excess(column.distance):.3f}  {column.table}.{column.name}{card}"
    yield f"Pairs, worst first ({than}):"
    for pair in evaluation.telling_pairs(_SHOWN):
        close = pair.closeness["synthetic"]
        yield f"  {pair.excess:.3f}  {pair.name} (V {pair.v:.2f}, here {close.v:.2f})"


def _rest(evaluation: Evaluation) -> Iterator[str]:
    for column in evaluation.lacking_values()[:_SHOWN]:
        yield lacking(column)
    for length in evaluation.lengths:
        if (off := excess(length.tvd)) > 0.1:
            per = "row of " + length.per if length.per != "entity" else "entity"
            real, made = length.mean["real"], length.mean["synthetic"]
            yield f"Rows of {length.table} per {per}: {made:.2f} on average, {real:.2f} in the real rows (distance {off:.2f})"
    for paths in evaluation.trajectories:
        off, shuffled = paths.ngrams["2"]["synthetic"], paths.ngrams["2"]["shuffled"]
        yield f"What follows what in {paths.table}.{paths.column}: distance {off:.3f} ({shuffled:.3f} where shuffled)"
    for torn in evaluation.torn()[:_SHOWN]:
        real, made = torn.same["real"], torn.same["synthetic"]
        yield f"{torn.table}.{torn.column} is the same in two rows of one parent in {made:.1%}, {real:.1%} in the real rows"
    for column in evaluation.off_calendar()[:_SHOWN]:
        yield f"The {column.name} in {column.table} is spread otherwise: distance {excess(column.tvd):.2f} ({_most(column)})"
    whole = f"No rule of the schema is broken: {looked_at(evaluation)}."
    yield from _listed("Broken:" if evaluation.wrong else whole, evaluation.wrong, _told)
    if evaluation.unlawful:
        yield from _listed("What the real rows always keep, and the synthetic ones do not:", evaluation.unlawful, unlawful)
    elif laws := evaluation.looked_at.get("law", 0):
        yield f"What the real rows always keep, the synthetic ones keep too: {laws:,} {LAWS}."
    copied = evaluation.copied_entities
    beside = f" ({copied['holdout']:,} of the hold-out)" if "holdout" in copied else ""
    yield f"Entities that equal a real one in every row: {copied['synthetic']:,}{beside}"
    for answer in evaluation.answers:
        yield f"Question: {answer.name}: {answer.told}"


def lacking(column: ColumnFidelity) -> str:
    made, expected = column.different["synthetic"], column.different["shuffled"]
    return f"{column.table}.{column.name} has {made:,.0f} different values; as many real rows have {expected:,.0f}"


def _listed(title: str, breaches: Sequence[Broken], sentence: Callable[[Broken], str]) -> Iterator[str]:
    yield title
    yield from (f"  {sentence(breach)}" for breach in breaches[:_SHOWN])
    if len(breaches) > _SHOWN:
        yield f"  … and {len(breaches) - _SHOWN} more"


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


def _told(breach: Broken) -> str:
    real = f"; {breach.rows['real']:,} real ones" if breach.rows.get("real") else ""
    return f"{breach.where} {breach.what}: {breach.rows['synthetic']:,} of {breach.of['synthetic']:,} rows{real}"
