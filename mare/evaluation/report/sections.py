"""The parts of a report that are words and tables. Every text of the data is escaped: names and values are other people's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Literal

from mare.evaluation.evaluate import Released
from mare.evaluation.evaluation import INTERNAL, Evaluation, excess
from mare.evaluation.measured import KINDS, PairKind, SetName
from mare.evaluation.rates import Rate
from mare.evaluation.risk.assess import Risk
from mare.evaluation.risk.attacks import AGAINST_A_COIN, AGAINST_GUESSING, AGAINST_HOLDOUT, Attack
from mare.evaluation.utility.assess import Utility
from mare.evaluation.verdict import LAWS, far_by_table, grade, graded, lacking, looked_at, purposes, unlawful
from mare.verdicts.shell import Markup, table

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

_SHOWN = 12
_ATTACKS = {
    "membership": "Was she in the data? Of two people, the one nearer to a synthetic one is said to have been.",
    "distance to the closest record": "Are there copies? How many synthetic people are nearer to a real one than to one of the "
    "hold-out.",
    "singling out": "Is there one and only one? What is true of one synthetic person is said to be true of one real person.",
    "linkability": "Two parties know half of the columns each: do both halves lead to the same synthetic person?",
    "inference": "All is known but one column: the nearest synthetic person tells it.",
    "gcap": "An acquaintance knows a few columns: synthetic people who agree in them tell a further one.",
    "classifiers": "The same, learned from the synthetic people.",
    "attribute disclosure": "Who knows all other people, and weighs every guess by how well it explains the synthetic rows.",
}
_AGAINST = {AGAINST_HOLDOUT: "hold-out", AGAINST_GUESSING: "guessing", AGAINST_A_COIN: "coin"}
_NAMES: dict[SetName, str] = {
    "synthetic": "synthetic",
    "holdout": "other real",
    "shuffled": "shuffled",
    "independent": "independent",
}


def summary(evaluation: Evaluation) -> Iterator[Said]:
    """What the figures mean, in sentences that need no statistics, each with how good the news are."""
    yield _single(evaluation)
    for kind in KINDS:
        if kind in evaluation.means["synthetic"]:
            word, share = graded(evaluation, kind)
            means = {name: held[kind].tvd for name, held in evaluation.means.items()}
            part = ": further from the real rows than shuffled columns" if means["synthetic"] > means["shuffled"] else ""
            part = part if share is None else f": {min(1.0, max(0.0, share)):.0%} of it is left"
            yield _MOODS.get(word, "no"), f"{_SUBJECTS[kind]} {_SHARES.get(word, 'is lost')}{part}."
    for column in evaluation.lacking_values()[:1]:
        yield "coarse", f"Rare values are missing: {lacking(column)}."
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


def _calendar(evaluation: Evaluation) -> Iterator[Said]:
    if off := evaluation.off_calendar():
        worst, more = off[0], f", and {len(off) - 1} more" if len(off) > 1 else ""
        yield "coarse", f"The {worst.name} in {worst.table} is spread otherwise: distance {excess(worst.tvd):.2f}{more}."


def _number(items: Sequence[object], what: str) -> str:
    return f"1 {what} is" if len(items) == 1 else f"{len(items)} {what}s are"


def _copies(evaluation: Evaluation) -> Said:
    copied, others = evaluation.copied_entities["synthetic"], evaluation.copied_entities.get("holdout", 0)
    if not copied:
        return "trust", "Nobody is copied: no synthetic entity of three rows or more equals a real one in every row."
    beside = f", {others:,} of the hold-out do" if "holdout" in evaluation.copied_entities else ""
    return "no" if copied > others else "coarse", f"{copied:,} synthetic entities equal a real one in every row{beside}."


def verdict_section(evaluation: Evaluation) -> str:
    sentences = "".join(f'<li class="{mood}">{escape(words)}</li>' for mood, words in summary(evaluation))
    warned = "".join(f'<p class="alarm">{escape(warning)}</p>' for warning in evaluation.warnings)
    lead = escape(". ".join(purposes(evaluation)))
    return f"""{warned}<ul class="said"><li class="lead">{lead}.</li>{sentences}</ul>
<h2>How far from the real rows</h2>
{_closeness(evaluation)}
<p class="quiet">Mean total variation distance: 0 is the same, 1 has nothing in common. {_beside(evaluation)}Shuffled: the real
columns, each in an order of its own. Independent: as many rows drawn from that.</p>
<h2>Columns, worst first</h2>
{_columns(evaluation)}
<h2>Pairs, worst first</h2>
{_pairs(evaluation)}
{_broken(evaluation)}{_copied(evaluation)}{_questions(evaluation)}{_notes(evaluation)}"""


def _beside(evaluation: Evaluation) -> str:
    return "Other real: the hold-out, as close as can be. " if "holdout" in evaluation.sets else ""


def _closeness(evaluation: Evaluation) -> str:
    sets = [name for name in _NAMES if name in evaluation.sets]
    rows = [["single columns", *(_figure(evaluation.one_way.get(name)) for name in sets), ""]]
    for kind, words in KINDS.items():
        if kind in evaluation.means["synthetic"]:
            word, _ = graded(evaluation, kind)
            rows.append([f"pairs {words}", *(_figure(evaluation.means[name][kind].tvd) for name in sets), word])
    return table(["", *(_NAMES[name] for name in sets), "in a word"], rows, range(1, len(sets) + 1))


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _columns(evaluation: Evaluation) -> str:
    has_card = isinstance(evaluation.parts.get("release"), Released)
    rows = [
        [
            f"{c.table}.{c.name}",
            *(_figure(c.distance.get(name)) for name in _sets(evaluation)),
            f"{c.shape['synthetic']:.3f}",
            *([c.card] if has_card else []),
        ]
        for c in evaluation.worst_columns(_SHOWN)
    ]
    figures = [*(f"distance, {_NAMES[name]}" for name in _sets(evaluation)), "shape"]
    listed = table(["column", *figures, *(["the card says"] if has_card else [])], rows, range(1, len(figures) + 1))
    return f"""{listed}
<p class="quiet">Distance: the share of rows that would have to get another value. Shape: how alike the two are as SDMetrics
counts it, 1 being the same.</p>"""


def _sets(evaluation: Evaluation) -> list[SetName]:
    return [name for name in ("synthetic", "holdout") if name in evaluation.sets]


def _pairs(evaluation: Evaluation) -> str:
    rows = [
        [pair.name, f"{pair.excess:.3f}", f"{pair.v:.2f}", f"{pair.closeness['synthetic'].v:.2f}"]
        for pair in evaluation.telling_pairs(_SHOWN)
    ]
    than = "the hold-out" if "holdout" in evaluation.sets else "chance"
    listed = table(["pair", f"distance beyond {than}", "Cramér's V, real", "V, synthetic"], rows, (1, 2, 3))
    return f"""{listed}
<p class="quiet">Cramér's V: how much two columns have to do with each other; 0 nothing, 1 one decides the other.</p>"""


def _broken(evaluation: Evaluation) -> str:
    breaches = [breach for breach in evaluation.broken if breach.rows.get("synthetic") or breach.rows.get("real")]
    wrong = [breach for breach in breaches if breach.kind != "law"]
    listed = {
        "What the real rows always keep, and the synthetic ones do not": evaluation.unlawful,
        "What does not hold of every row": sorted(wrong, key=lambda breach: -breach.rows.get("synthetic", 0)),
    }
    sides: tuple[SetName, ...] = ("synthetic", "real")
    shown = ""
    for title, listing in listed.items():
        rows = [
            [f"{b.where} {b.what}", *(f"{b.rows[side]:,} of {b.of[side]:,}" if b.of.get(side) else "" for side in sides)]
            for b in listing[:40]
        ]
        shown += f"<h2>{title}</h2>\n{table(['what', 'synthetic rows', 'real rows'], rows, (1, 2))}\n" if rows else ""
    return shown


def _copied(evaluation: Evaluation) -> str:
    sets = _sets(evaluation)
    rows = [[c.table, f"{c.columns}", *(f"{c.share[name]:.2%}" for name in sets)] for c in evaluation.copies]
    if not rows:
        return ""
    head = ["rows that equal a real one", "columns", *(_NAMES[name] for name in sets)]
    return f"<h2>Copies</h2>\n{table(head, rows, range(1, len(head)))}\n"


def _questions(evaluation: Evaluation) -> str:
    if not evaluation.answers:
        return ""
    held = "holdout" in evaluation.sets
    rows = [
        [a.name, a.told, _first(a.real), _first(a.synthetic), *([_first(a.holdout)] if held else [])] for a in evaluation.answers
    ]
    head = ["question", "answer", "real", "synthetic", *(["other real"] if held else [])]
    return f"<h2>Questions</h2>\n{table(head, rows, ())}\n"


def _first(rows: Sequence[Sequence[object]]) -> str:
    """A few rows of an answer, in one line."""
    lines = ["; ".join(str(value)[:40] for value in row) for row in rows[:3]]
    return " | ".join(lines) + (" | …" if len(rows) > 3 else "")


def _notes(evaluation: Evaluation) -> str:
    notes = "".join(f"<li>{escape(note.told())}</li>" for note in evaluation.notes)
    return f"<h2>What could not be read or compared</h2>\n<ul>{notes}</ul>\n" if notes else ""


def budget_section(evaluation: Evaluation) -> str:
    """Where the budget went, as the release's card tells it."""
    released = evaluation.parts.get("release")
    if not isinstance(released, Released):
        return '<p class="quiet">Where the budget went is told with --release RELEASE.</p>'
    most = max((asked.share for asked in released.card.asked), default=1.0) or 1.0
    rows = [
        [
            asked.part,
            f"{asked.numbers:,}",
            f"{asked.share:.1%}",
            Markup(f'<span class="track"><i class="trust" style="width:{100 * asked.share / most:.0f}%"></i></span>'),
        ]
        for asked in released.card.asked
    ]
    words = "".join(f"<p>{escape(line)}</p>" for line in released.words())
    return f"{words}\n{table(['what was asked', 'numbers', 'of the budget', ''], rows, (1, 2))}"


def sequence_section(evaluation: Evaluation) -> str:
    """How often runs of events and whole paths occur, and how often values stay."""
    markup = ""
    for paths in evaluation.trajectories:
        sets = [name for name in _NAMES if name in paths.whole or name in paths.ngrams["1"]]
        rows = [
            [f"runs of {length}", *(_figure(distances.get(name)) for name in sets)] for length, distances in paths.ngrams.items()
        ]
        rows.append(["whole sequences", *(_figure(paths.whole.get(name)) for name in sets)])
        common = [
            [words, *(f"{shares.get(name, 0.0):.1%}" for name in ("real", *_sets(evaluation)))] for words, shares in paths.paths
        ]
        head = ["most common in the real rows", "real", *(_NAMES[name] for name in _sets(evaluation))]
        markup += f"""<h3>{escape(f"{paths.table}.{paths.column}")}</h3>
{table(["distance of", *(_NAMES[name] for name in sets)], rows, range(1, len(sets) + 1))}
{table(head, common, range(1, len(head)))}
"""
    titles = {
        False: "How often a value stays from one row to the next",
        True: "How often two rows of one parent have the same value",
    }
    for siblings, title in titles.items():
        stuck = [s for s in evaluation.stickiness if s.siblings is siblings]
        stuck = sorted(stuck, key=lambda s: -abs(s.same["synthetic"] - s.same["real"]))[:_SHOWN]
        if not stuck:
            continue
        sets = [name for name in ("real", "synthetic", "holdout", "shuffled") if name in stuck[0].same]
        rows = [[f"{s.table}.{s.column}", *(f"{s.same[name]:.1%}" for name in sets)] for s in stuck]
        markup += f"<h3>{title}</h3>\n{table(['column', *sets], rows, range(1, 5))}\n"
    return markup


def risk_section(risk: Risk) -> str:
    """Every attack beside whom it should not gain over, worst first."""
    attacks = sorted(risk.attacks, key=lambda attack: -attack.excess.lower)
    head = ["attack", "right about people", "success", "baseline", "which is", "verdict"]
    notes = "".join(f"<li>{escape(note)}</li>" for note in risk.notes)
    against = "; ".join(f"{word}: {words}" for words, word in _AGAINST.items())
    played = {attack.kind for attack in risk.attacks}
    explained = "".join(f"<dt>{kind}</dt><dd>{words}</dd>" for kind, words in _ATTACKS.items() if kind in played)
    return f"""<p>{escape(in_short(risk))}</p>
{table(head, map(_attack, attacks), (2, 3))}
<p class="quiet">The bar is the interval of the success, the line its baseline. {against}.
Success beyond the hold-out or a coin is a leak. An interval that is too wide says nothing either way.</p>
<ul>{notes}</ul>
<h2>What the attacks are</h2>
<dl>{explained}</dl>"""


def _attack(attack: Attack) -> list[str]:
    reference = attack.control or attack.guessing
    mark = "" if reference is None else f'<b style="left:{_percent(reference.value)}%"></b>'
    mood = {"A LEAK": "no", "no sign": "trust"}.get(attack.in_words, "coarse")
    return [
        Markup(f"{escape(attack.kind)}<br><small>{escape(attack.about)}</small>"),
        Markup(f'<span class="interval">{_interval(attack.success, mood)}{mark}</span>'),
        f"{attack.success.value:.1%}",
        "" if reference is None else f"{reference.value:.1%}",
        _AGAINST[attack.against],
        Markup(f'<span class="tag {mood}">{escape(attack.in_words)}</span>'),
    ]


def _interval(rate: Rate, mood: str) -> str:
    low, high = _percent(rate.value - rate.error), _percent(rate.value + rate.error)
    return f'<i class="{mood}" style="left:{low}%;width:{max(1.0, high - low):.1f}%"></i>'


def _percent(share: float) -> float:
    return round(100 * min(1.0, max(0.0, share)), 1)


def utility_section(utility: Utility) -> str:
    learned = [
        [each.target, each.given, each.classifier, *(f"{rate.value:.1%}" for rate in (each.synthetic, each.real, each.zero_rule))]
        for each in utility.learned
    ]
    queries = [
        [query.name, "" if query.error is None else f"{query.error:.1%}", "" if query.holdout is None else f"{query.holdout:.1%}"]
        for query in sorted(utility.queries, key=lambda query: -(query.error or 0.0))
    ]
    scores = [
        [score.name, f"{score.value:,.0f}", "" if score.holdout is None else f"{score.holdout:,.0f}", f"{score.shuffled:,.0f}"]
        for score in utility.scores
    ]
    words = "".join(f"<li>{escape(line.strip())}</li>" for line in list(utility.words())[1:])
    markup = f"<ul>{words}</ul>"
    if learned:
        head = ["predicts", "from", "classifier", "right, trained on synthetic", "on real", "without looking"]
        markup += f"<h2>Trained on synthetic, asked about real people</h2>\n{table(head, learned, (3, 4, 5))}\n"
    if queries:
        markup += f"<h2>Queries over joins</h2>\n{table(['query', 'error', 'error of other real people'], queries, (1, 2))}\n"
    if scores:
        head = ["NIST's score, of 1,000,000", "synthetic", "other real people", "shuffled"]
        markup += f"<h2>The challenge's scores</h2>\n{table(head, scores, (1, 2, 3))}\n"
    return markup


def size_table(evaluation: Evaluation) -> str:
    sets = list(evaluation.labels)
    rows = [["entities", *(f"{evaluation.entities[name]:,}" for name in sets)]]
    rows += [[name, *(f"{counts[side]:,}" for side in sets)] for name, counts in evaluation.rows.items()]
    return table(["rows of", *sets], rows, range(1, len(sets) + 1))


def worst_tables(evaluation: Evaluation) -> list[str]:
    """Names, worst first: by the mean of their pairs, those without by their columns."""
    far: dict[str, list[float]] = {name: [] for name in evaluation.rows}
    for column in evaluation.columns:
        far[column.table].append(excess(column.distance))
    means = {name: sum(held) / len(held) if held else 0.0 for name, held in far.items()} | far_by_table(evaluation)
    return sorted(means, key=lambda name: -means[name])
