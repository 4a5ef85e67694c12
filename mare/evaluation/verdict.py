"""The verdict: what an evaluation means, in a few plain sentences. Every line of it is internal, not private."""

from __future__ import annotations

from collections.abc import Iterator

from .evaluation import INTERNAL, KINDS, Broken, Evaluation, PairKind, excess

_SHOWN = 5


def verdict(evaluation: Evaluation) -> str:
    """For a terminal: the warnings, how close it comes, what is worst, what is broken."""
    parts = [f"Evaluation ({INTERNAL})"]
    parts += [f"WARNING: {warning}" for warning in evaluation.warnings]
    parts += ["", *_closeness(evaluation), "", *_worst(evaluation), "", *_rest(evaluation)]
    parts += [line for part in evaluation.parts.values() for line in ("", *part.words())]
    parts += [f"Note: {note}" for note in evaluation.notes]
    parts += [f"({INTERNAL})"]
    return "\n".join(parts)


def kept(synthetic: float, shuffled: float, best: float) -> float | None:
    """The part of what columns have to do with each other that is kept, by the error of Cramér's V: 1 as good as other real rows,
    0 as bad as shuffled columns. None where they have next to nothing to do with each other."""
    return None if shuffled - best < 0.01 else (shuffled - synthetic) / (shuffled - best)


def graded(evaluation: Evaluation, kind: PairKind) -> tuple[str, float | None]:
    """In a word, and the part that is kept of what shuffling destroys. By V and not by the distance: that is also the distance of
    single columns, which shuffling leaves as they are, and one bad column would take all its pairs along."""
    errors = {name: means[kind].v_error for name, means in evaluation.means.items()}
    share = kept(errors["synthetic"], errors["shuffled"], errors.get("holdout", 0.0))
    means = evaluation.means["synthetic"][kind]
    best = evaluation.means["holdout"][kind].tvd if "holdout" in evaluation.means else means.chance
    return grade(share, means.tvd - best), share


def grade(share: float | None, distance: float) -> str:
    """In a word. Where columns have next to nothing to do with each other, only the distance tells."""
    if share is None:
        return "close" if distance < 0.05 else "fair" if distance < 0.15 else "poor"
    return "close" if share > 0.8 else "fair" if share > 0.5 else "poor" if share > 0.1 else "no better than shuffled columns"


def _closeness(evaluation: Evaluation) -> Iterator[str]:
    held = "beside " + ("other real rows, " if "holdout" in evaluation.sets else "") + "shuffled columns, an independent draw"
    yield f"How far from the real rows (mean total variation distance, 0 the same, 1 nothing in common; {held}):"
    yield f"  {'single columns':<25} {evaluation.one_way['synthetic']:.3f}{_beside(evaluation, evaluation.one_way)}"
    for kind, words in KINDS.items():
        if kind not in evaluation.means["synthetic"]:
            continue
        distances = {name: means[kind].tvd for name, means in evaluation.means.items()}
        word, share = graded(evaluation, kind)
        left = "" if share is None else f", {min(1.0, max(0.0, share)):.0%} of what columns have to do with each other is left"
        yield f"  {'pairs ' + words:<25} {distances['synthetic']:.3f}{_beside(evaluation, distances)}: {word}{left}"


def _beside(evaluation: Evaluation, distances: object) -> str:
    assert isinstance(distances, dict)
    others = [f"{distances[name]:.3f} {name}" for name in evaluation.sets if name != "synthetic" and name in distances]
    return f"  ({', '.join(others)})" if others else ""


def _worst(evaluation: Evaluation) -> Iterator[str]:
    than = f"distance beyond {'that of the hold-out' if 'holdout' in evaluation.sets else 'chance'}"
    tables: dict[str, list[float]] = {}
    for pair in evaluation.pairs:
        tables.setdefault(pair.table, []).append(pair.excess)
    by_table = sorted(((sum(held) / len(held), table) for table, held in tables.items()), reverse=True)
    if len(by_table) > 1:
        listed = ", ".join(f"{table} {distance:.3f}" for distance, table in by_table[:_SHOWN])
        yield f"Tables by their pairs, worst first ({than}): {listed}"
    yield f"Columns, worst first{' (' + than + ')' if 'holdout' in evaluation.sets else ''}:"
    for column in evaluation.worst_columns(_SHOWN):
        yield f"  {excess(column.tvd):.3f}  {column.table}.{column.name}"
    yield f"Pairs, worst first ({than}):"
    for pair in evaluation.worst_pairs(_SHOWN):
        close = pair.closeness["synthetic"]
        yield f"  {pair.excess:.3f}  {pair.name} (V {pair.v:.2f}, here {close.v:.2f})"


def _rest(evaluation: Evaluation) -> Iterator[str]:
    for length in evaluation.lengths:
        if (off := excess(length.tvd)) > 0.1:
            per = "row of " + length.per if length.per != "entity" else "entity"
            real, made = length.mean["real"], length.mean["synthetic"]
            yield f"Rows of {length.table} per {per}: {made:.2f} on average, {real:.2f} in the real rows (distance {off:.2f})"
    for paths in evaluation.trajectories:
        off, shuffled = paths.ngrams["2"]["synthetic"], paths.ngrams["2"]["shuffled"]
        yield f"What follows what in {paths.table}.{paths.column}: distance {off:.3f} ({shuffled:.3f} where shuffled)"
    wrong = [found for found in evaluation.broken if found.kind not in ("unseen", "beyond") and found.rows.get("synthetic")]
    yield "Nothing is broken: references, keys, domains, orders." if not wrong else "Broken:"
    yield from (f"  {_told(found)}" for found in sorted(wrong, key=lambda found: -found.rows["synthetic"])[:_SHOWN])
    if len(wrong) > _SHOWN:
        yield f"  … and {len(wrong) - _SHOWN} more"
    copied = evaluation.copied_entities
    beside = f" ({copied['holdout']:,} of the hold-out)" if "holdout" in copied else ""
    yield f"Entities that equal a real one in every row: {copied['synthetic']:,}{beside}"
    for answer in evaluation.answers:
        yield f"Question: {answer.name}: {answer.told}"


def _told(found: Broken) -> str:
    real = f"; {found.rows['real']:,} real ones" if found.rows.get("real") else ""
    return f"{found.where} {found.what}: {found.rows['synthetic']:,} of {found.of['synthetic']:,} rows{real}"
