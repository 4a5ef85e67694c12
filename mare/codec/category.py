"""Listed values: the code is the value's place in the list. What the list does not hold is the rest.

    listed values ─ **the rest** ─ NULL

Of a learned list the rest is one code of its own: it is measured and modelled as any other, and is never a listed value's. When
rows are written, it is drawn again (`Redrawn`) among values that are known but have no code, or else among the listed ones; or it
becomes NULL. A list that the schema declares is a promise of the schema, and has no such code: a value outside becomes
`rest`, where that is a word, else NULL; where there is no NULL either, any of the values, spread by what else the row holds, so
that none of them gains all of it.

Codes of a large vocabulary are many: rare ones share a place with their kin, and come back as one of them. The hierarchy tells
which codes are alike: prefixes of the code, or columns of the public vocabulary. Its levels are public, so models may count codes
more coarsely.

What a code is called (`determined: {goes_with: …}`) is learned as a list of pairs (`Names`): the code is drawn as any other
column, and its name is one that stood beside it, in proportion: where a code has one name, that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mare.domain import Coarsening, CodeArray, smallest_dtype
from mare.schema.columns.category import canonical as canonical
from mare.schema.strict import Value

from .learned_domains import LearnedValues
from .ticks import Mask


@dataclass(frozen=True)
class Redrawn:
    """What stands for all that a list does not hold, and is drawn again: among what it holds, or among others that are known to
    everybody."""

    code: int
    """The codes below are the listed ones."""
    weights: tuple[float, ...] = ()
    """How frequent these are, by answers that were paid for; none where nobody asked."""
    others: range | None = None
    """The codes of the others; None: it is drawn among what is listed."""

    def pick(self, uniform: NDArray[np.float64]) -> NDArray[np.int64]:
        """A code for each number between 0 and 1. There is at least one."""
        codes = range(self.code) if self.others is None else self.others
        weights = np.maximum(np.asarray(self.weights, dtype=np.float64), 0.0)
        if len(weights) != len(codes) or not weights.any():
            weights = np.ones(len(codes))
        steps = np.cumsum(weights) / weights.sum()
        places = np.searchsorted(steps, uniform, side="right")
        return np.asarray(codes.start + np.minimum(places, np.flatnonzero(weights)[-1]), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Listing:
    """The values of a column as codes."""

    codes: CodeArray
    outside: int
    """How many values the list does not hold. True, hence secret."""
    nowhere: Mask | None = None
    """Rows that no code is for, where there are any; theirs is 0 for the time being."""


@dataclass(frozen=True)
class CategoryCodec:
    """Codes 0 … values-1 in the order of the list; then the rest, of a learned list; the last is NULL where the column is
    nullable.

    It is never a crash: whether a strange value occurs is a fact about somebody.
    """

    values: tuple[Value, ...]
    nullable: bool = False
    other: Value | None = None
    """One of the values: what all others are."""
    spellings: tuple[tuple[str, Value], ...] = ()
    """Other texts that a source may write for a value."""
    has_rest: bool = False
    redraws: bool = True
    """Whether the rest is drawn again; else it is NULL."""
    weights: tuple[float, ...] = ()
    """How frequent the values are, where it was learned."""
    others: tuple[Value, ...] = ()
    """Values that the list does not hold, and that the rest is drawn among."""
    other_weights: tuple[float, ...] = ()

    @property
    def size(self) -> int:
        """Of what models see. Codes from here on are those of the others: rows are written with them."""
        return len(self.values) + self.has_rest + self.nullable

    @property
    def labels(self) -> tuple[str | None, ...]:
        """Of each code, its value as text; None for the rest and for NULL."""
        return (*map(canonical, self.values), *([None] * (self.size - len(self.values))))

    @property
    def rest(self) -> Redrawn | None:
        """What is drawn again when rows are written."""
        if not self.has_rest or not self.redraws or not self.values:
            return None
        if self.others:
            return Redrawn(len(self.values), self.other_weights, range(self.size, self.size + len(self.others)))
        return Redrawn(len(self.values), self.weights)

    def encode(self, values: pa.Array) -> CodeArray:
        return self.listing(values).codes

    def listing(self, values: pa.Array) -> Listing:
        known = {canonical(value): code for code, value in enumerate(self.values)}
        known = {text: known[canonical(value)] for text, value in self.spellings} | known
        outside: int | None = None
        if self.other is not None:
            outside = self.values.index(self.other)
        elif self.has_rest or self.nullable:
            outside = len(self.values)
        null = self.size - 1 if self.nullable else outside
        return coded_by_value(values, known, outside, null, self.size)

    def decode(self, codes: NDArray[np.integer], rng: np.random.Generator) -> pa.Array:
        """A rest that nothing was known to draw from is NULL; where there is no NULL, a text without a letter."""
        rest = [] if not self.has_rest else [None if self.nullable else ""]
        known, null = uniform((*self.values, *self.others)), [None] * self.nullable
        every = pa.array([*known[: len(self.values)], *rest, *null, *known[len(self.values) :], None])
        return every.take(pa.array(np.minimum(codes.astype(np.int64), len(every) - 1)))


@dataclass(frozen=True)
class CodeCodec:
    """Codes: those kept; one for each group that shares a place; the rest, where there is one; the last is NULL where the
    column is nullable."""

    kept: tuple[str, ...]
    """The most frequent first, where they were chosen with budget."""
    shared: tuple[tuple[str, ...], ...] = ()
    """Groups of codes that share a place: each comes back as one of its codes."""
    nullable: bool = False
    prefix: tuple[int, ...] = ()
    """Lengths of the prefixes that are levels, coarse to fine."""
    levels: tuple[tuple[str, ...], ...] = ()
    """Further levels, coarse to fine: of each kept code and each group, what the vocabulary calls it there."""
    other: str | None = None
    """One of those kept: what all codes outside the vocabulary are."""
    within: tuple[tuple[float, ...], ...] = ()
    """Of each group, how frequent its codes are; nothing where all are as likely."""
    has_rest: bool = False
    redraws: bool = True
    """Whether the rest is drawn again; else it is NULL."""
    weights: tuple[float, ...] = ()
    """How frequent the kept ones and the groups are, where it was counted."""

    @property
    def places(self) -> int:
        return len(self.kept) + len(self.shared)

    @property
    def size(self) -> int:
        return self.places + self.has_rest + self.nullable

    @property
    def labels(self) -> tuple[str | None, ...]:
        """Of each code, its text; None for NULL, for the rest, and for what stands for several codes."""
        return (*self.kept, *([None] * (self.size - len(self.kept))))

    @property
    def rest(self) -> Redrawn | None:
        return Redrawn(self.places, self.weights) if self.has_rest and self.redraws and self.places else None

    def encode(self, values: pa.Array) -> CodeArray:
        return self.listing(values).codes

    def listing(self, values: pa.Array) -> Listing:
        known = {text: code for code, text in enumerate(self.kept)}
        known |= {text: len(self.kept) + group for group, texts in enumerate(self.shared) for text in texts}
        outside = self.places if self.has_rest or self.nullable else None
        outside = outside if self.other is None else self.kept.index(self.other)
        return coded_by_value(values, known, outside, self.size - 1 if self.nullable else outside, self.size)

    def decode(self, codes: NDArray[np.integer], rng: np.random.Generator) -> pa.Array:
        unknown = [] if not self.has_rest else [None if self.nullable else ""]
        every = [*self.kept, *(text for texts in self.shared for text in texts), *unknown, None]
        known = self.within or [()] * len(self.shared)
        of_groups = [own or (1.0,) * len(texts) for texts, own in zip(self.shared, known, strict=True)]
        weights = [*[(1.0,)] * len(self.kept), *of_groups, *[(1.0,)] * (len(unknown) + 1)]
        ends = np.cumsum([len(own) for own in weights])
        # Place p stands on a ladder between p and p + 1: one search finds all codes. One draw a row whatever it is.
        steps = np.concatenate([place + np.cumsum(own) / np.sum(own) for place, own in enumerate(weights)])
        index = np.minimum(codes.astype(np.int64), self.size)
        drawn = np.searchsorted(steps, index + rng.random(len(index)), side="right")
        return pa.array(every, type=pa.string()).take(pa.array(np.minimum(drawn, ends[index] - 1)))

    def coarsenings(self) -> tuple[Coarsening, ...]:
        """Fine to coarse. The rest and NULL stay codes of their own."""
        names = [*self.kept, *(texts[0] for texts in self.shared)]
        by_prefix = [tuple(name[:length] for name in names) for length in self.prefix]
        own = self.has_rest + self.nullable
        coarsenings: list[Coarsening] = []
        for labels in reversed([*self.levels, *by_prefix]):
            place = {label: code for code, label in enumerate(dict.fromkeys(labels))}
            codes = [place[label] for label in labels] + [len(place) + number for number in range(own)]
            size = len(place) + own
            if size < (coarsenings[-1].size if coarsenings else self.size):
                coarsenings.append(Coarsening(np.array(codes, dtype=np.int64), size))
        return tuple(coarsenings)


def coded_by_value(values: pa.Array, known: dict[str, int], outside: int | None, null: int | None, size: int) -> Listing:
    """Codes by the value's text: every distinct value is looked up once. Without a code for what is ``outside``, or ``null``,
    such rows are nowhere."""
    distinct = values.dictionary_encode()
    texts = [canonical(value) for value in distinct.dictionary.to_pylist()]
    by_text = [*(known.get(text, outside) for text in texts), null]
    strange = np.array([*(text not in known for text in texts), False])
    index = np.asarray(pc.fill_null(distinct.indices, len(texts)), dtype=np.int64)
    lost = np.array([code is None for code in by_text])[index]
    codes = np.array([0 if code is None else code for code in by_text], dtype=smallest_dtype(size))[index]
    return Listing(codes, int(strange[index].sum()), lost if lost.any() else None)


def uniform(values: tuple[Value, ...]) -> list[Value]:
    """Values of one type. Those of several types (1, "unknown") have one in common: text."""
    kinds = {type(value) for value in values}
    if len(kinds) == 1 or (kinds <= {int, float} and bool not in kinds):
        return list(values)
    return [canonical(value) for value in values]


_BETWEEN, _THERE, _NONE = "\x1f", "+", "\x1e"
"""What stands before a name; the mark of one that is there; in place of a code that is NULL."""
NAMED = 0.8
"""Where the pairs hold this part of what a list of codes does, each code is taken to have a name, or few."""


def pair_sql(code: str, name: str) -> str:
    """The one text of two SQL expressions, NULL where both are."""
    code, name = (f"CAST({value} AS VARCHAR)" for value in (code, name))
    text = f"coalesce({code}, '{_NONE}') || '{_BETWEEN}' || coalesce('{_THERE}' || {name}, '')"
    return f"CASE WHEN coalesce({code}, {name}) IS NOT NULL THEN {text} END"


@dataclass(frozen=True, eq=False)
class Names:
    """What stood beside the values of a column."""

    of: str
    """That column."""
    pairs: LearnedValues

    @cached_property
    def by_code(self) -> Mapping[str | None, tuple[tuple[str | None, float], ...]]:
        """Of each code, its names and how often they were counted."""
        held: dict[str | None, list[tuple[str | None, float]]] = {}
        for text, count in _counted(self.pairs).items():
            code, _, name = text.partition(_BETWEEN)
            held.setdefault(None if code == _NONE else code, []).append((name[1:] if name else None, max(count, 1e-9)))
        return {code: tuple(names) for code, names in held.items()}

    def draw(self, codes: pa.Array, uniform: NDArray[np.float64]) -> pa.Array:
        """A name for each code, NULL where none is known. Codes come as texts."""
        coded = codes.dictionary_encode()
        listed = [self.by_code.get(code, ((None, 1.0),)) for code in (*coded.dictionary.to_pylist(), None)]
        ends = np.cumsum([len(names) for names in listed])
        # Code c stands on a ladder between c and c + 1: one search finds all names.
        steps = np.concatenate(
            [place + np.cumsum([n for _, n in own]) / sum(n for _, n in own) for place, own in enumerate(listed)]
        )
        index = np.asarray(coded.indices.fill_null(len(listed) - 1), dtype=np.int64)
        drawn = np.minimum(np.searchsorted(steps, index + uniform, side="right"), ends[index] - 1)
        return pa.array([name for own in listed for name, _ in own], type=pa.string()).take(pa.array(drawn))

    def with_names(self, codes: LearnedValues, most: int | None = None) -> LearnedValues:
        """A list of codes, ``most`` of them: those that have names, where nearly all have one; as it is where they have not."""
        own = _counted(codes)
        without = {code: count for code, count in own.items() if code not in self.by_code}
        if sum(without.values()) > (1 - NAMED) * sum(own.values()):
            return codes
        counted = {
            code: float(f"{sum(count for _, count in names):.3g}") for code, names in self.by_code.items() if code is not None
        }
        order = sorted(counted, key=lambda code: -counted[code])
        places = len({text.partition(_BETWEEN)[0] for text in self.pairs.values} - {_NONE})
        kept, others = order[: min(places, most or places)], order[places:] if most is None else []
        counts = tuple(counted[code] for code in kept)
        return replace(
            codes, values=tuple(kept), counts=counts, others=tuple(others), other_counts=tuple(map(counted.__getitem__, others))
        )


def _counted(values: LearnedValues) -> dict[str, float]:
    listed, counts = (*values.values, *values.others), (*values.counts, *values.other_counts)
    return dict(zip(map(str, listed), counts or (1.0,) * len(listed), strict=True))
