"""References beyond the parent, one class per kind. None of them makes a second owner."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .strict import Names, Strict


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
    """Learn which keys occur, and pay for it; otherwise every key of the table may come out."""
    max_values: int | None = Field(None, ge=1)
    """At most this many different keys."""


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


Reference = Annotated[
    AncestorReference
    | PublicReference
    | SameEntityReference
    | EarlierReference
    | OtherEntityReference
    | OwnedReference
    | PoolReference
    | BrokenReference,
    Field(discriminator="kind"),
]
"""A reference beyond the parent: `kind` says which of these it is."""
