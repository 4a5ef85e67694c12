"""The pure nouns that every room speaks. Nothing here reads, draws or writes anything."""

from .coarsening import DIFFERENT, NO_ROW, SAME, Coarsening, Coarsenings, axis_size
from .codes import CodeArray, Codes, smallest_dtype
from .domain import Domain
from .marginal import Axis, Marginal
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
    "Marginal",
    "OptionValue",
    "Task",
    "axis_size",
    "smallest_dtype",
]
