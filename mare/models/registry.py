"""Models by name. mare's own and a third party's are found the same way: the entry-point group ``mare.models``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from mare.domain import OptionValue
from mare.errors import PlanError
from mare.installed import plug_ins

from .protocol import TabularModel

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
