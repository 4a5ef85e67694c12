"""`assess_risk`: every attack that one synthetic data set allows, each beside its baseline. Internal, not private.

Entities are attacked with all their rows (`entity_features`). Large sides are sampled: people to attack, hold-out people to
compare with, and synthetic entities to attack with; the size of the samples is in the intervals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mare.errors import MissingExtra
from mare.evaluation.evaluation import INTERNAL, plain
from mare.evaluation.rates import shared_confidence
from mare.evaluation.sides import Side
from mare.evaluation.vectors import Features, Ints, entity_features, some_entities
from mare.schema import Schema

from .attacks import Attack, Game
from .attribute import disclosures, learned_network
from .by_key import classifier_attacks, gcap_attacks
from .membership import distance_to_closest_record, membership
from .three_risks import inference, linkability, singling_out

TARGETS, CROWD, SYNTHETIC, LOOKED_UP, LEARNED = 1_000, 5_000, 20_000, 5_000, 1_000
"""At most so many people are attacked on either side, with so many synthetic entities. The closest record is looked for in a
larger crowd; inference and GCAP look up values among fewer synthetic entities, and classifiers learn from fewer still."""
SECRETS, KEYS = 5, 5
"""So many columns are attacked by inference, GCAP and classifiers, by somebody who knows at most so many others."""
FAMILY = 16
"""About so many attacks of a kind: each interval is that much wider, so that 95 % holds for all of a kind together."""


@dataclass(frozen=True)
class Risk:
    """What attacks on one synthetic data set achieve. Internal, not private."""

    attacks: tuple[Attack, ...]
    notes: tuple[str, ...]
    """What was not measured, and why; what a reader must know."""

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(attack.kind for attack in self.attacks))

    @property
    def leaks(self) -> tuple[Attack, ...]:
        """Attacks that do better on people who were in the data than on people who were not, beyond chance."""
        return tuple(
            attack
            for attack in self.attacks
            if attack.verdict == "above the baseline" and (attack.control is not None or attack.about_membership)
        )

    @property
    def beside_outsiders(self) -> bool:
        """Whether any attack had others to compare with: else no news is no good news."""
        return any(attack.control is not None or attack.about_membership for attack in self.attacks)

    def words(self) -> Iterator[str]:
        """The attack of each kind that gains most, beside whom it should gain nothing over."""
        finding = (
            "no attack shows that somebody was in the data"
            if self.beside_outsiders
            else "without a hold-out nothing says whether anybody can be recognised"
        )
        if self.leaks:
            finding = f"{len(self.leaks)} of {len(self.attacks)} attacks show that somebody was in the data"
        yield f"Risk: {finding} ({INTERNAL})."
        for kind in self.kinds:
            worst = max((attack for attack in self.attacks if attack.kind == kind), key=lambda attack: attack.excess.lower)
            reference = worst.control or worst.guessing
            beside = f"{reference.value:.0%} for {worst.against}" if reference is not None else ""
            yield f"  {kind} ({worst.about}): {worst.success.value:.0%} right, {beside}: {worst.in_words}"
        yield from (f"  {note}" for note in self.notes)

    def to_json(self) -> dict[str, object]:
        return {
            "status": INTERNAL,
            "attacks": plain(self.attacks),
            "leaks": len(self.leaks),
            "verdicts": dict(Counter(attack.verdict for attack in self.attacks)),
            "notes": list(self.notes),
        }


def assess_risk(
    schema: Schema, real: Side, synthetic: Side, holdout: Side | None, *, seed: int, inside: Sequence[int] | Ints = ()
) -> Risk:
    """All attacks. Without a hold-out nothing can be said about membership, and what people are like is not told apart from what
    one person gave away. ``inside`` are those of the hold-out who are among the real people, too: they are no outsiders."""
    rng = np.random.default_rng(seed)
    sides = [real, synthetic, *([holdout] if holdout is not None else [])]
    chosen = [some_entities(side, SYNTHETIC if side is synthetic else CROWD, rng) for side in sides]
    chosen[2:] = [np.setdiff1d(numbers, np.asarray(inside, np.int64)) for numbers in chosen[2:]]
    people, made, *others = entity_features(sides, chosen)
    notes = _notes(people, made, others[0] if others else None, len(inside))
    attacks: list[Attack] = []
    if people.rows and made.rows and people.columns:
        control = others[0] if others and others[0].rows else None
        attacks += _attacks(Game(people, made, control, int(rng.integers(2**31)), shared_confidence(FAMILY)), rng, notes)
    return Risk(tuple(attacks), tuple(notes))


def _notes(people: Features, made: Features, holdout: Features | None, inside: int) -> list[str]:
    notes = []
    if not people.columns:
        notes.append("no column could be compared: nothing was attacked")
    for name, side in (("real", people), ("synthetic", made)):
        if not side.rows:
            notes.append(f"the {name} side holds no entity: nothing was attacked")
    if holdout is None:
        notes.append(
            "without a hold-out, success above guessing may be what is true of people like the target, which is what synthetic "
            "data is for. Membership and distance to the closest record were not measured. Give --holdout (mare split makes one)"
        )
    elif not holdout.rows:
        notes.append("nobody in the hold-out is an outsider" if inside else "the hold-out holds no entity")
    elif inside:
        notes.append(f"{inside:,} entities of the hold-out are among the real ones: the others alone were taken for outsiders")
    notes.append("the linkability game takes many fits and was not played here")
    return notes


def _attacks(game: Game, rng: np.random.Generator, notes: list[str]) -> Iterator[Attack]:
    if game.control is not None:
        yield distance_to_closest_record(replace(game, synthetic=game.synthetic.sample(TARGETS, rng)))
        game = replace(game, control=game.control.sample(TARGETS, rng))
    game = replace(game, real=game.real.sample(TARGETS, rng))
    if game.control is not None:
        yield from membership(game)
    everything = tuple(range(len(game.real.columns)))
    for columns in (1, min(4, len(everything))):
        yield singling_out(game, columns=columns)
    if len(everything) > 1:
        yield linkability(game, (everything[::2], everything[1::2]))
    yield from _disclosures(game)
    secrets = _secrets(game.real)
    some, few = (replace(game, synthetic=game.synthetic.sample(size, rng)) for size in (LOOKED_UP, LEARNED))
    for secret in secrets:
        if others := [column for column in everything if column != secret]:
            yield inference(some, secret, others)
    for secret in secrets[:2]:
        known = _keys(game.real, secret)
        yield from gcap_attacks(some, secret, known)
        try:
            yield from classifier_attacks(few, secret, known)
        except MissingExtra as error:
            if str(error) not in notes:
                notes.append(str(error))


def _disclosures(game: Game) -> Iterator[Attack]:
    """Of each column that holds more than one value, under both priors."""
    people, made = game.real, game.synthetic
    network = learned_network(made)
    for column in _secrets(people, most=FAMILY // 2):
        each = [
            disclosures(people, made, [column], outsiders=outsiders, network=network, seed=game.seed)
            for outsiders in (None, *game.people[1:])
        ]
        for prior, member in each[0].items():
            if not len(member.targets):
                continue
            details = {
                "prior": prior,
                "rank of the truth, median": float(np.median(member.rank_true)),
                "guesses": int(member.full_prob.shape[1]),
                "highest posterior of a true value": float(member.true_val_prob.max()),
            }
            about, outcomes = f"{people.columns[column].name}, {prior} prior", [held[prior].true_val_prob for held in each]
            yield game.counted("attribute disclosure", about, outcomes, member.prior_true, details)


def _secrets(people: Features, most: int = SECRETS) -> list[int]:
    """Columns to attack: categories of 2 to 41 values first, the entity's own first; then numbers."""
    columns = [(column, np.unique(people.values[column])) for column in range(len(people.columns))]
    worth = [
        (column, len(values)) for column, values in columns if len(values) > 1 and not np.isnan(np.asarray(values, float)).all()
    ]
    few = [column for column, values in worth if not people.is_number(column) and values <= 41]
    return [
        *few,
        *(column for column, _ in worth if people.is_number(column)),
        *(c for c, n in worth if n > 41 and c not in few),
    ][:most]


def _keys(people: Features, secret: int) -> list[int]:
    """What an acquaintance may know: the entity's own columns, then what its rows come to."""
    order = sorted(range(len(people.columns)), key=lambda column: not people.columns[column].own)
    return [column for column in order if column != secret][:KEYS]
