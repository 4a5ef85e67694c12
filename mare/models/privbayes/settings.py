"""The options of PrivBayes: every number of the recipe, named, with its default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import isfinite
from types import MappingProxyType

from mare.domain import OptionValue, Task
from mare.errors import PlanError

WORDS = {"search": ("greedy", "noisy_scores"), "looks_back": ("own", "previous", "all")}
"""What the options may be that are words."""


@dataclass(frozen=True)
class Settings:
    """One fit's options, validated. Shares are fractions of the group's own budget."""

    one_way: float = 0.25
    """For one-way tables: what noise drowns of the families is told by these alone."""
    children: float = 0.3
    """For the one-way table of a number of children, where the group has one: it decides how many rows there are."""
    first_rows: float = 0.05
    """For the first rows of sequences, which have a network of their own where the noise leaves room for it; 0: never."""
    structure: float = 0.08
    """For choosing the network."""
    search: str = "greedy"
    """How the network is chosen: "greedy" picks (exponential mechanism), or "noisy_scores" of all pairs and τ (NIST 2018)."""
    parents: int = 0
    """At most so many parents a column; 0: as many as the noise leaves room for."""
    greedy_columns: int = 24
    """Up to so many columns the order of the network is chosen too; wider groups keep the schema's order, to save time."""
    max_cells: int = 400_000
    """Cells of a family's table, at most."""
    coarsen_above: int = 24
    """A parent with more codes than this is looked at through its coarser levels, where it has any; one with fewer only where
    noise would drown the table; 0: never."""
    noise_penalty: float = 0.1
    """How much a parent pays for the noise of the cells that it adds."""
    sampling_penalty: float = 0.5
    """How much it pays for the dependence that chance alone would show."""
    clip_portion: float = 0.04
    """Of each measurement, what choosing its clip costs."""
    clip_bias: float = 0.05
    """How much cutting an entity is thought to bias a table."""
    carry: float = 0.6
    """Columns that repeat their previous value at least this often are generated as "same as before, or else"; 1: none."""
    looks_back: str = "previous"
    """What a column may look at of earlier rows: its "own" previous value alone; the whole "previous" row, and its own values
    before that; or "all" that is remembered."""
    raking: int = 12
    """Rounds of raking family tables to the one-way tables they share."""
    replacement: bool = True
    """False: rows that are drawn together are drawn without replacement, every value in its proportion, up to one row."""

    @classmethod
    def of(cls, task: Task) -> Settings:
        given = {name: task.options.get(name, default) for name, default in OPTIONS.items()}
        wrong = [_wrong(name, given[name], default) for name, default in OPTIONS.items()]
        if faults := [w for w in wrong if w]:
            raise PlanError(f"group {task.group!r}: {'; '.join(faults)}.")
        settings = cls(**given)  # type: ignore[arg-type]
        # A column may be offered parents once more than it can have (`network`): when the first offer found none.
        most = settings.structure * (1 + 1 / (settings.parents or 2)) if settings.search == "greedy" else settings.structure
        shares = (settings.one_way, settings.children, most)
        if sum(shares) + settings.first_rows >= 0.9 or 0 in shares:
            raise PlanError(
                f"group {task.group!r}: one_way is {settings.one_way:g}, children {settings.children:g} and structure "
                f"{settings.structure:g} (up to {most:g} is spent of it); each must be above 0, and together with first_rows "
                f"({settings.first_rows:g}) they must stay below 0.9, so that something is left for the families."
            )
        if settings.clip_portion == 1 or settings.clip_bias == 0:
            raise PlanError(
                f"group {task.group!r}: clip_portion is {settings.clip_portion:g} and clip_bias {settings.clip_bias:g}; the "
                "first must be below 1 (0: no clip), the second above 0."
            )
        return settings


def _wrong(name: str, value: object, default: object) -> str | None:
    if isinstance(default, bool):
        return None if isinstance(value, bool) else f"{name} is {value!r}; it may be true or false"
    if isinstance(default, str):
        return None if value in WORDS[name] else f"{name} is {value!r}; it may be {' or '.join(WORDS[name])}"
    number = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    if isinstance(default, int):
        least = 1 if name == "max_cells" else 0
        fine = number and isinstance(value, int) and value >= least
        return None if fine else f"{name} is {value!r}; it must be a whole number of at least {least}"
    fine = number and 0 <= value <= 1  # type: ignore[operator]
    return None if fine else f"{name} is {value!r}; it must be a number from 0 to 1"


OPTIONS: Mapping[str, OptionValue] = MappingProxyType(asdict(Settings()))
"""As the registry lists them."""
