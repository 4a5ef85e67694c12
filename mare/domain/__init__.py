"""The pure nouns that every room speaks, and the random numbers of rows. Nothing here reads or writes anything."""

from .coarsening import DIFFERENT, NO_ROW, SAME, Coarsening, Coarsenings, axis_size
from .codes import CodeArray, Codes, smallest_dtype
from .domain import Domain
from .draws import Keys, RowDraws, as_generator, child_keys, drawing, numbered_keys, purpose_of
from .estimate import Estimate
from .even_draws import EvenDraws
from .ladder import Ladder
from .marginal import Axis, Marginal
from .projection import norm_subtract
from .remaining import remaining_codes, remaining_size, usual_size
from .task import OptionValue, Task

__all__ = [
    "DIFFERENT",
    "NO_ROW",
    "SAME",
    "Axis",
    "Coarsening",
    "Coarsenings",
    "CodeArray",
    "Codes",
    "Domain",
    "Estimate",
    "EvenDraws",
    "Keys",
    "Ladder",
    "Marginal",
    "OptionValue",
    "RowDraws",
    "Task",
    "as_generator",
    "axis_size",
    "child_keys",
    "drawing",
    "norm_subtract",
    "numbered_keys",
    "purpose_of",
    "remaining_codes",
    "remaining_size",
    "smallest_dtype",
    "usual_size",
]
