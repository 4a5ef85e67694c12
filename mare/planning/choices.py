"""Which model each group gets, with which options. Every name that does not exist is a fault, all of them at once."""

from __future__ import annotations

from dataclasses import dataclass

from mare.domain import OptionValue
from mare.errors import PlanError
from mare.graph.groups import ColumnGroup
from mare.models import DEFAULT_MODEL, TabularModel, get_model, settle_options
from mare.schema import Schema
from mare.schema.faults import Fault, Path
from mare.schema.schema import ModelChoice


@dataclass(frozen=True)
class Chosen:
    """A model that exists, with all of its options settled."""

    model: TabularModel
    options: dict[str, OptionValue]


def _written(schema: Schema, group: ColumnGroup) -> tuple[Path, ModelChoice]:
    """The nearest choice: of the group, of its table, of the schema, or the default. It stands alone: options do not add up."""
    table = schema.tables[group.table]
    if table.models is not None:
        choice = table.models.context if group.part == "context" else table.models.rows
        if choice is not None:
            return ("tables", group.table, "models", "context" if group.part == "context" else "rows"), choice
    if table.model is not None:
        return ("tables", group.table, "model"), table.model
    if schema.model is not None:
        return ("model",), schema.model
    return (), ModelChoice(name=DEFAULT_MODEL)


def choose_models(schema: Schema, groups: tuple[ColumnGroup, ...]) -> tuple[dict[str, Chosen], list[Fault]]:
    """The model of each group by the group's name, and a fault for each choice that cannot be had."""
    chosen: dict[str, Chosen] = {}
    faults: dict[Path, Fault] = {}
    found: dict[str, TabularModel] = {}
    for group in groups:
        path, choice = _written(schema, group)
        try:
            # looked up once: the registry reads the metadata of everything that is installed
            model = found.get(choice.name) or get_model(choice.name)
        except PlanError as error:
            faults[path] = Fault(path, *_two_sentences(str(error)))
            continue
        found[choice.name] = model
        try:
            chosen[group.name] = Chosen(model, settle_options(model, choice.options))
        except PlanError as error:
            faults[path] = Fault((*path, "options"), *_two_sentences(str(error)))
    return chosen, list(faults.values())


def _two_sentences(message: str) -> tuple[str, str]:
    """The registry says what is wrong and then what there is: a fault keeps the two apart."""
    what, _, remedy = message.partition(". ")
    return what, remedy.rstrip(".")
