"""The parts of a report that are words and tables. Every text of the data is escaped: names and values are other people's."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from mare.evaluation.evaluate import Released
from mare.evaluation.evaluation import Evaluation, excess
from mare.evaluation.measured import SetName
from mare.evaluation.rates import Rate
from mare.evaluation.risk.assess import Risk
from mare.evaluation.risk.attacks import AGAINST_A_COIN, AGAINST_GUESSING, AGAINST_HOLDOUT, Attack
from mare.evaluation.utility.assess import Utility
from mare.evaluation.verdict import NAMES, far_by_table, figure, in_short, listings, purposes, summary
from mare.verdicts.shell import Markup, table

_SHOWN, _BREACHES = 12, 40
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


def verdict_section(evaluation: Evaluation) -> str:
    sentences = "".join(f'<li class="{mood}">{escape(words)}</li>' for mood, words in summary(evaluation))
    warned = "".join(f'<p class="alarm">{escape(warning)}</p>' for warning in evaluation.warnings)
    lead = escape(". ".join(purposes(evaluation)))
    listed = "".join(
        f'<h2>{listing.title}</h2>\n{table(listing.head, listing.rows, listing.right)}\n<p class="quiet">{listing.note}</p>\n'
        for listing in listings(evaluation, _SHOWN, _BREACHES)
    )
    return f"""{warned}<ul class="said"><li class="lead">{lead}.</li>{sentences}</ul>
{listed}{_questions(evaluation)}{_notes(evaluation)}"""


def _questions(evaluation: Evaluation) -> str:
    if not evaluation.answers:
        return ""
    held = "holdout" in evaluation.sets
    rows = [
        [a.name, a.apart, _first(a.real), _first(a.synthetic), *([_first(a.holdout)] if held else [])] for a in evaluation.answers
    ]
    head = ["question", "answer", "real", "synthetic", *(["other real"] if held else [])]
    return f"<h2>Questions</h2>\n{table(head, rows, ())}\n"


def _first(rows: Sequence[Sequence[object]]) -> str:
    """A few rows of an answer, in one line."""
    lines = ["; ".join(str(value)[:40] for value in row) for row in rows[:3]]
    return " | ".join(lines) + (" | …" if len(rows) > 3 else "")


def _notes(evaluation: Evaluation) -> str:
    notes = "".join(f"<li>{escape(note.line())}</li>" for note in evaluation.notes)
    return f"<h2>What could not be read or compared</h2>\n<ul>{notes}</ul>\n" if notes else ""


def budget_section(evaluation: Evaluation) -> str:
    """Where the budget went, as the release's card tells it."""
    released = evaluation.parts.get("release")
    if not isinstance(released, Released):
        return '<p class="quiet">To see where the budget went, add --release RELEASE.</p>'
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
        sets = [name for name in NAMES if name in paths.whole or name in paths.ngrams["1"]]
        rows = [
            [f"runs of {length}", *(figure(distances.get(name)) for name in sets)] for length, distances in paths.ngrams.items()
        ]
        rows.append(["whole sequences", *(figure(paths.whole.get(name)) for name in sets)])
        beside: list[SetName] = ["real", *(name for name in ("synthetic", "holdout") if name in evaluation.sets)]
        common = [[words, *(f"{shares.get(name, 0.0):.1%}" for name in beside)] for words, shares in paths.paths]
        head = ["most common in the real rows", *(NAMES.get(name, name) for name in beside)]
        markup += f"""<h3>{escape(f"{paths.table}.{paths.column}")}</h3>
{table(["distance of", *(NAMES[name] for name in sets)], rows, range(1, len(sets) + 1))}
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
    head = ["attack", "verdict", "right about people", "success", "baseline", "which is"]
    notes = "".join(f"<li>{escape(note)}</li>" for note in risk.notes)
    against = "; ".join(f"{word}: {words}" for words, word in _AGAINST.items())
    played = {attack.kind for attack in risk.attacks}
    explained = "".join(f"<dt>{kind}</dt><dd>{words}</dd>" for kind, words in _ATTACKS.items() if kind in played)
    return f"""<p>{escape(in_short(risk))}</p>
{table(head, map(_attack, attacks), (3, 4))}
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
        Markup(f'<span class="tag {mood}">{escape(attack.in_words)}</span>'),
        Markup(f'<span class="interval">{_interval(attack.success, mood)}{mark}</span>'),
        f"{attack.success.value:.1%}",
        "" if reference is None else f"{reference.value:.1%}",
        _AGAINST[attack.against],
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
