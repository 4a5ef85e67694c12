"""Links between tables: `Parent`, the one that makes a row belong to an entity, and how its rows are correlated;
and the references beyond it, one class per kind. None of these makes a second owner."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .strict import Names, OneOrMore, Strict

DEFAULT_MEMORY = 2
"""Markov order of a sequence, as in the paper's experiments (mare-2024, VI)."""
MAX_MEMORY = 16
"""More previous rows than this is a table of its own, not a history."""

Relationship = Literal["independent", "sequential", "associative"]


class LargeVocabulary(Strict):
    """What to do with an associative vocabulary that is too large to unroll into one context column per key."""

    select: int = Field(ge=1)
    """This many keys, chosen with budget, get a context column of their own."""
    rest: Literal["rows", "hierarchy", "drop"] = "rows"
    """The others: ordinary rows of the child table, codes through the hierarchy, or dropped."""
    hierarchy: str | None = None
    """With `rest: hierarchy`: the column of the public table that groups its keys."""


class Parent(Strict):
    """The parent of a table's rows. Its chain of parents leads to the entity."""

    table: str | None = None
    """The parent table. Left out only in the table that an entity by column lives in."""
    column: Names | None = None
    """The foreign key: a column, or a list of them."""
    references: Names | None = None
    """The parent's columns it refers to, where that is not the parent's key."""
    type: Relationship = "independent"
    """How siblings are correlated: not at all, as a sequence, or through the public table they associate with."""
    order_by: Names | None = None
    """Sequential: the column(s) that order siblings, numbers in texts as numbers. Ties go by the table's own key."""
    memory: int | None = Field(None, ge=1, le=MAX_MEMORY)
    """Sequential: how many previous rows a row may look at (Markov order; 2 unless said)."""
    history_by: Names | None = None
    """Sequential: also look at the previous row with the same value of these columns (`[itemid]`)."""
    max_rows: int | None = Field(None, ge=1)
    """Rows a parent row may have. Enforced: more are cut. The guarantee rests on it."""
    keep: Literal["first", "last", "random"] | None = None
    """Which rows stay when there are more: by default the last of a sequence, otherwise random ones."""
    max_per_entity: int | None = Field(None, ge=1)
    """Rows an entity may have in this table in all. Enforced: whole lists of a parent are dropped. Lowers the noise."""
    orphans: Literal["drop", "entity"] = "drop"
    """Rows whose parent is NULL or missing: dropped, or entities of their own. Never unprotected."""
    via: str | None = None
    """Associative: the public table of the association (drugs)."""
    column_via: Names | None = None
    """Associative: the foreign key to it (drug_id)."""
    derived: tuple[str, ...] = ()
    """Associative: columns whose meaning depends on the public key (dose): unrolled with it."""
    multiplicity: int = Field(1, ge=1)
    """Associative: how often one public key may occur under one parent row; more are cut."""
    vocabulary: LargeVocabulary | None = None
    """Associative: for a public table too large to unroll."""
    peeked: bool = False
    """Something here was filled in by looking at the data."""

    @property
    def effective_memory(self) -> int:
        """The Markov order in force: 0 for what is not a sequence."""
        if self.type != "sequential":
            return 0
        return DEFAULT_MEMORY if self.memory is None else self.memory

    @property
    def effective_keep(self) -> Literal["first", "last", "random"]:
        return self.keep or ("last" if self.type == "sequential" else "random")


class Ends(Strict):
    """When a row is the last of its sequence."""

    when: str
    """A condition on the row's columns, written as for `--where`: no row comes after one where it holds."""


class AnyReference(Strict):
    """What every reference says."""

    table: str
    """The table it refers to."""
    column: Names | None = None
    """The columns there, where that is not its key."""
    columns: Names | None = None
    """The columns here, where the reference is named otherwise or has several."""
    nullable: bool = False
    """May be NULL."""
    peeked: bool = False
    """Something here was filled in by looking at the data."""


class AncestorReference(AnyReference):
    """To an ancestor (`subject_id` next to `hadm_id`): implied, filled in from the parent."""

    kind: Literal["ancestor"]


class PublicReference(AnyReference):
    """To a public table: a modelled category whose domain is that table's key."""

    kind: Literal["public"]
    learn: bool = False
    """Learn which keys occur, and pay for it, those too that the table lacks where they are many; otherwise every key of the
    table may come out."""
    max_values: int | None = Field(None, ge=1)
    """At most this many different keys."""
    rest: Literal["redraw"] | None = "redraw"
    """What becomes of keys that the table does not have, or that were not kept. `redraw`: with `learn` and without
    `max_values` another key that was not kept, if all columns that refer to the table are called alike, `where` says which rows
    are meant, or most keys are in use; else one of the kept keys, in proportion. `null`: NULL."""
    where: dict[str, OneOrMore] | None = None
    """Only rows of the public table that have these values: `{domain_id: Visit}`, or one of several: `{domain_id: [Visit,
    Type]}`."""


class SameEntityReference(AnyReference):
    """To another table of the same entity: by a modelled position, or the row whose interval contains this row's time."""

    kind: Literal["same_entity"]
    by: Literal["position", "interval"] = "position"
    """How the row is found."""
    time: str | None = None
    """With `by: interval`: the time column of this row."""
    interval: tuple[str, str] | None = None
    """With `by: interval`: the two columns of the other table between which `time` falls."""


class EarlierReference(AnyReference):
    """To an earlier row of the same sequence, or to the row itself."""

    kind: Literal["earlier"]
    back: int = Field(2, ge=1)
    """How many rows back it may point; further back becomes NULL."""
    itself: bool = False
    """The row may point to itself."""


class OtherEntityReference(AnyReference):
    """To another entity: never learned."""

    kind: Literal["other_entity"]
    fill: Literal["none", "random"] = "none"
    """NULL, or another entity drawn at random."""


class OwnedReference(AnyReference):
    """To a row of one's own (customer → its address): that table is regenerated with its owner."""

    kind: Literal["owned"]


class PoolReference(AnyReference):
    """To a staff-like pool: one of its fresh rows, drawn at random."""

    kind: Literal["pool"]


class BrokenReference(AnyReference):
    """Left NULL on purpose: how a cycle is broken."""

    kind: Literal["broken"]


_AnyKind = AncestorReference | PublicReference | SameEntityReference | EarlierReference | OtherEntityReference
Reference = Annotated[_AnyKind | OwnedReference | PoolReference | BrokenReference, Field(discriminator="kind")]
"""A reference beyond the parent: `kind` says which of these it is."""
