"""Which keys of public tables there are a column or a code for: chosen with budget, by noisy counts.

A public table is known to everybody, so its keys are a domain without cost. Which of them the private rows use is not: that is
a noisy histogram over all keys, one unit of weight per entity, charged to the learning share. It also tells whether rows have
keys that the table lacks (an excerpt of a vocabulary, 0 for "none"). Where they are many, and the keys are to be learned,
these are found as stable keys, as the values of any column that nobody has listed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from mare.codec import LearnedValues
from mare.domain import Marginal
from mare.errors import SourceError
from mare.planning import Warned
from mare.planning.domains import RowBound, is_learned
from mare.privacy.curator import Clip
from mare.relational.public import PublicTables
from mare.relational.relations import Words, relations
from mare.schema import Schema
from mare.schema.columns import DEFAULT_MAX_VALUES
from mare.schema.layout import PublicPart, public_parts
from mare.schema.links import PublicReference
from mare.stage_door import KEY, StageDoor

from .descending import clear_of_noise
from .vocabularies import doubt_of_list, named_values

STRANGE = 0.01
"""Rows with keys that a public table lacks are told, and looked for, from this part of all rows on."""


@dataclass(frozen=True)
class KeyChoice:
    """Keys of a public table, to be chosen for one association or reference."""

    table: str
    reference: str | None
    """None: the association itself."""
    keys: int
    most: int
    exactly: bool
    """As many as may be; else only those that stand clear of the noise."""
    nullable: bool = False
    """Whether there may be none."""
    finds_strangers: bool = False
    """Whether keys that the public table lacks may be found too."""
    spreads: bool = False
    """Whether the rest may be drawn among the keys that were not chosen."""
    its_own: bool = False
    """Whether any key of the table may be meant: nothing else refers to it, or the schema says which rows are meant."""

    @property
    def name(self) -> str:
        """As `mare.relational.relations` looks it up."""
        return self.table if self.reference is None else f"{self.table}.{self.reference}"


def choices(schema: Schema, public: PublicTables) -> list[KeyChoice]:
    """What has to be chosen, and paid for. Refuses an association that has no key to be made of."""
    wanted = []
    for name, table in relations(schema, public, {}).items():
        link, parts = schema.tables[name].parent, {part.name: part for part in public_parts(schema, name)}
        if table.unrolling is not None and not len(table.unrolling.vocabulary) and table.unrolling.rest != "rows":
            raise SourceError(
                f"the public table {table.unrolling.vocabulary.table!r} is empty, and {name!r} is made of its keys. Fill it, or "
                f"write ignore: true under {name}."
            )
        if table.unrolling is not None and link is not None and link.vocabulary is not None:
            keys = len(table.unrolling.vocabulary)
            if link.vocabulary.select < keys:
                wanted.append(KeyChoice(name, None, keys, link.vocabulary.select, True))
        for reference, words in (table.references or {}).items():
            part = parts.get(reference)
            declared = None if part is None else schema.tables[name].references[part.reference]
            if (
                isinstance(declared, PublicReference)
                and declared.where
                and isinstance(words, Words)
                and not len(words.vocabulary)
            ):
                raise SourceError(f"tables.{name}.references.{reference}.where: no row of {declared.table!r} has these values.")
            if (
                part is not None
                and isinstance(words, Words)
                and isinstance(declared, PublicReference)
                and is_learned(schema, name, reference)
            ):
                most = declared.max_values or (DEFAULT_MAX_VALUES if declared.learn else len(words.vocabulary))
                if declared.learn or most < len(words.vocabulary):
                    alone = (
                        declared.learn
                        and len(part.columns) == 1
                        and part.columns == schema.tables[name].reference_columns(part.reference)
                    )
                    spreads = declared.rest is not None and declared.max_values is None and not _scales(schema, name, part)
                    its_own = declared.where is not None or _means_all(schema, declared.table)
                    keys, exactly = len(words.vocabulary), not declared.learn
                    wanted.append(KeyChoice(name, reference, keys, most, exactly, declared.nullable, alone, spreads, its_own))
    return wanted


def _means_all(schema: Schema, target: str) -> bool:
    """Whether any key of the public table may be meant: nothing else refers to it, or only columns that are called alike, as the
    team is in all that a player does. Of a table of all concepts, each of its columns means a few."""
    links = [
        tuple(column.casefold() for column in described.reference_columns(reference))
        for described in schema.tables.values()
        for reference, link in described.references.items()
        if isinstance(link, PublicReference) and link.table == target
    ]
    return len(set(links)) == 1 and not any(link is not None and link.via == target for link in map(schema.parent, schema.tables))


def _scales(schema: Schema, table: str, part: PublicPart) -> bool:
    """Whether the scale of a number depends on the key: then it was counted, or nothing is known of its numbers."""
    scaled = {item for column in schema.tables[table].columns.values() for item in getattr(column, "by", None) or ()}
    return bool(scaled & {part.name, *part.columns})


KNOWN = 2.0
"""Deviations above which the count of a key that was not chosen tells how frequent it is."""
TOGETHER = 3.0
"""Deviations above which keys that were not chosen are known to occur."""
HALF_OF_THEM = 2.0
"""One over the part of the other keys that has to be in use, for any of them to come out."""
UNCLEAR = 20
"""Keys that are kept where none stands clear of the noise."""


@dataclass(frozen=True)
class ChosenKeys:
    """Keys by who refers to them, their noisy counts, and what is doubtful about them."""

    keys: Mapping[str, tuple[int, ...]]
    counts: Mapping[str, tuple[float, ...]]
    doubts: tuple[Warned, ...] = ()
    strange: Mapping[str, float] = field(default_factory=dict)
    """References whose public table lacks keys, clear of the noise: the noisy count of their rows."""
    others: Mapping[str, LearnedValues] = field(default_factory=dict)
    """References whose rest is drawn among the other keys: how frequent these are, as far as that is known."""


def choose_keys(door: StageDoor, wanted: list[KeyChoice], bounds: Mapping[str, RowBound], share: float) -> ChosenKeys:
    """The chosen keys by name. ``share`` of the whole budget is split evenly."""
    keys, weights, doubts = dict[str, tuple[int, ...]](), dict[str, tuple[float, ...]](), list[Warned]()
    strange, others = dict[str, float](), dict[str, LearnedValues]()
    for choice in wanted:
        label, rows = f"{choice.name}.keys", bounds[choice.table].rows
        curator = door.public_keys(label, choice.table, choice.reference, choice.keys, rows, share / len(wanted))
        (answer,) = curator.counts([Marginal.of(KEY)], clip=Clip(1.0))
        counts, strangers = answer.rows[:-2], float(answer.rows[-2])
        order = np.argsort(-counts, kind="stable")[: choice.most]
        clear = order if choice.exactly else order[counts[order] > clear_of_noise(choice.keys) * answer.rows_deviation]
        together = max(float(counts.sum()), 0.0) + strangers
        lacking = strangers > clear_of_noise(1) * answer.rows_deviation and strangers > STRANGE * together
        # The rest of a table that lacks many keys is mostly what it lacks: it is drawn again among those that were chosen.
        spreads = choice.spreads and not lacking
        spreads = spreads and (choice.its_own or _are_in_use(np.delete(counts, clear), answer.rows_deviation))
        # Something has to be there to refer to: those that were counted most, be it noise. One alone would look like knowledge.
        chosen_keys = np.sort(clear if len(clear) or choice.nullable or spreads else order[:UNCLEAR])
        keys[choice.name] = tuple(int(key) for key in chosen_keys)
        weights[choice.name] = tuple(float(count) for count in np.maximum(counts[chosen_keys], 0.0))
        if not len(clear) and choice.reference is not None:
            remedy = (
                "If the keys that occur may be known, restrict the reference (`where:`), or keep all (no `learn`); or spend more"
            )
            kept = f"the {len(chosen_keys)} that were counted most are kept, as noise has it"
            what = "any key of the table comes out" if spreads else kept if len(chosen_keys) else "nothing is known of it"
            doubts.append(Warned(choice.name, f"no key stood clear of the noise, so {what}", remedy))
        if lacking:
            strange[choice.name] = strangers
            what = f"the public table lacks the keys of about {strangers / together:.0%} of its rows"
            doubts.append(Warned(choice.name, what, "Add them to the public table, if they may be known"))
        elif spreads:
            others[choice.name] = LearnedValues((), within=(_of_the_others(counts, chosen_keys, answer.rows_deviation),))
    return ChosenKeys(keys, weights, tuple(doubts), strange, others)


def _are_in_use(counts: NDArray[np.float64], deviation: float) -> bool:
    """Whether most keys that were not chosen occur, as the districts do that people live and work in. Of a table of all concepts
    each reference means a few: drugs and races stand there alike.

    Were u of the m keys equally frequent, the squares of their counts would add up to T²/u, and to mσ² more by the noise: that
    tells u, where it stands clear of the noise of these squares.
    """
    m, together = len(counts), float(counts.sum())
    if together <= TOGETHER * deviation * sqrt(m):
        return False
    squares = float((counts * counts).sum()) - m * deviation**2
    noise = deviation * sqrt(2 * m * deviation**2 + 4 * max(squares, 0.0))
    return (squares + noise) * m <= HALF_OF_THEM * together**2


def _of_the_others(counts: NDArray[np.float64], chosen_keys: NDArray[np.intp], deviation: float) -> tuple[float, ...]:
    """How frequent the keys are that were not chosen: by their counts, less what the noise may have made of them, and all alike
    for what is left. Nothing where the noise tells nothing."""
    left = np.delete(counts, chosen_keys)
    known = np.maximum(left - KNOWN * deviation, 0.0)
    unknown = max(float(left.sum()), 0.0) - float(known.sum())
    if not len(left) or unknown <= 0:
        return ()
    return tuple(float(f"{weight:.3g}") for weight in (known + unknown / len(left)).tolist())


def may_be_strange(wanted: Sequence[KeyChoice], pure: bool) -> list[KeyChoice]:
    """References whose keys may be found though the public table lacks them: learned, of one column, with a δ above 0."""
    return [choice for choice in wanted if choice.finds_strangers and not pure]


def learn_strangers(
    door: StageDoor,
    asked: Sequence[KeyChoice],
    chosen: ChosenKeys,
    bounds: Mapping[str, RowBound],
    named: Mapping[str, int],
    share: float,
    lists: int,
) -> tuple[ChosenKeys, dict[str, LearnedValues]]:
    """The keys that the public tables lack, and all that are kept with them. ``share`` of the whole budget is each one's own,
    ``lists`` is how many share the δ for learning."""
    keys, counts, strange = dict(chosen.keys), dict(chosen.counts), dict[str, LearnedValues]()
    for choice in asked:
        learner = door.strange_keys(choice.table, choice.reference or "", bounds[choice.table].rows, share, 1 / lists)
        strangers = learner.categories(choice.most, per_entity=named_values(named[choice.table], choice.most))
        if not strangers.values:
            continue
        order = np.argsort(-strangers.counts, kind="stable")[: max(1, choice.most - len(keys[choice.name]))]
        values = tuple(strangers.values[place] for place in order)
        strange[choice.name] = LearnedValues(values)
        door.add_keys(choice.table, choice.reference or "", values, choice.keys)
        # Keys of the table and others were counted with different noise; of too many, the least of the table's go.
        kept = np.sort(np.argsort(-np.asarray(counts[choice.name]), kind="stable")[: choice.most - len(values)])
        rows = chosen.strange[choice.name] * strangers.counts[order] / strangers.counts[order].sum()
        keys[choice.name] = (*(keys[choice.name][place] for place in kept), *range(choice.keys, choice.keys + len(values)))
        counts[choice.name] = (*(counts[choice.name][place] for place in kept), *map(float, rows))
    doubts = [doubt for doubt in chosen.doubts if doubt.where not in strange]
    doubts += [doubt for where, values in strange.items() for doubt in doubt_of_list(where, values)]
    return replace(chosen, keys=keys, counts=counts, doubts=tuple(doubts)), strange
