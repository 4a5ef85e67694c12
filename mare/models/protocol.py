"""The plug-in contract: what a tabular model is, and how one is found.

A model sees a curator and a task, never rows. What it measures, the curator charges; what it returns is
post-processing. Settings arrive as ``task.options``; a model holds no state between fits. Models have
names: mare's own and a third party's are found the same way, by the entry-point group ``mare.models``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from mare.domain import Codes, OptionValue, Task
from mare.errors import PlanError
from mare.installed import plug_ins

if TYPE_CHECKING:
    from mare.privacy.curator import Curator


@dataclass(frozen=True)
class Workload:
    """What a model will measure for a task, for the preview of its noise. Worked out from domains alone."""

    histograms: int
    """Cross-tabs measured together, each entity contributing to every one."""
    largest: int
    """Cells of the largest of them."""
    cells: int
    """Cells of all of them."""


class FittedModel(Protocol):
    """A model after fitting: numbers that were paid for, and nothing else.

    It may say ``looks_at``, the names of the history that it uses: then no other is gathered for it. And ``row_by_row``: that
    it draws by nothing but ``rng.random(history.rows)``, a number for each row; then rows are drawn in large chunks at once. And
    ``clarity``, how far its tables stood clear of the noise (`mare.models.clarity`): what the card goes by.
    """

    def sample(self, history: Codes, rng: np.random.Generator) -> Codes:
        """One row of the task's columns per row of history. Asked while later groups are fitted too (`Task.rehearsed`)."""
        ...

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """All it knows, as plain arrays: saved as safetensors, so that no code runs at load."""
        ...


class TabularModel(Protocol):
    """A way to model one column group."""

    name: ClassVar[str]
    summary: ClassVar[str]
    """One line for `mare models`."""
    options: ClassVar[Mapping[str, OptionValue]]
    """Every option with its default."""

    def workload(self, task: Task) -> Workload:
        """What `fit` will measure at most, from upper bounds of the domains. Reads no data.

        Options that make no sense are refused here (`PlanError`): when the fit begins, the budget is spent.
        """
        ...

    def fit(self, curator: Curator, task: Task) -> FittedModel: ...

    def load(self, task: Task, arrays: Mapping[str, NDArray[np.generic]]) -> FittedModel:
        """The fitted model back from `FittedModel.arrays`."""
        ...


DEFAULT_MODEL = "privbayes"
"""The model of every group that does not name one."""

_GROUP = "mare.models"


def model_names() -> list[str]:
    return sorted(plug_ins(_GROUP))


def get_model(name: str) -> TabularModel:
    """The model of that name, or an error that lists the others."""
    point = plug_ins(_GROUP).get(name)
    if point is None:
        raise PlanError(f"there is no model {name!r}. Models installed here: {', '.join(model_names())}.")
    return cast(TabularModel, point.load()())


def settle_options(model: TabularModel, given: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
    """Defaults overlaid with what the schema says; an option the model does not have is refused."""
    unknown = sorted(set(given) - set(model.options))
    if unknown:
        allowed = ", ".join(sorted(model.options)) or "none"
        raise PlanError(f"model {model.name!r} has no option {', '.join(unknown)}. Its options: {allowed}.")
    return {**model.options, **given}
