"""The pure nouns that every room speaks. Nothing here reads, draws or writes anything."""

from .codes import CodeArray, Codes, smallest_dtype
from .domain import Domain
from .marginal import Axis, Marginal
from .task import OptionValue, Task

__all__ = ["Axis", "CodeArray", "Codes", "Domain", "Marginal", "OptionValue", "Task", "smallest_dtype"]
