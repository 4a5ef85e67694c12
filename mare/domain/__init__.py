"""The pure nouns that every room speaks, and the random numbers of rows. Nothing here reads or writes anything."""

from .apart import move_apart, ranks, repeated
from .domain import (
    DIFFERENT,
    NO_ROW,
    SAME,
    Axis,
    Coarsening,
    Coarsenings,
    CodeArray,
    Codes,
    Domain,
    Marginal,
    OptionValue,
    Task,
    axis_size,
    remaining_codes,
    remaining_size,
    smallest_dtype,
    usual_size,
)
from .draws import EvenDraws, Keys, Ladder, RowDraws, as_generator, child_keys, drawing, even_bits, numbered_keys, purpose_of
from .noisy import (
    ChildrenInCells,
    Estimate,
    RowsEach,
    have_children,
    in_agreement,
    norm_subtract,
    rare_children,
    settled_children,
    with_mean,
    with_one_tail,
    without_unclear,
)

__all__ = [
    "DIFFERENT", "NO_ROW", "SAME", "Axis", "ChildrenInCells", "Coarsening", "Coarsenings", "CodeArray", "Codes", "Domain",
    "Estimate", "EvenDraws", "Keys", "Ladder", "Marginal", "OptionValue", "RowDraws", "RowsEach", "Task", "as_generator",
    "axis_size", "child_keys", "drawing", "even_bits", "have_children", "in_agreement", "move_apart", "norm_subtract",
    "numbered_keys", "purpose_of", "ranks", "rare_children", "remaining_codes", "remaining_size", "repeated",
    "settled_children", "smallest_dtype", "usual_size", "with_mean", "with_one_tail", "without_unclear",
]  # fmt: skip
