"""The public API is a promise: it changes here on purpose or not at all."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

import mare

FROZEN = {
    "__version__",
    "Budget",
    "BudgetFile",
    "Card",
    "Ledger",
    "MareError",
    "Plan",
    "Release",
    "Schema",
    "card",
    "check",
    "draft",
    "dump_schema",
    "evaluate",
    "fit",
    "load_release",
    "load_schema",
    "picture",
    "plan",
    "sample",
    "split",
    "study",
}


def test_the_public_names_are_frozen() -> None:
    assert set(mare.__all__) == FROZEN


def test_every_public_name_is_there_and_is_what_it_says() -> None:
    for name in set(mare.__all__) - {"__version__"}:
        value = getattr(mare, name)
        assert getattr(value, "__name__", None) == name, name


def test_the_version_is_that_of_the_package() -> None:
    assert mare.__version__ == version("mare-synth")


def test_every_public_name_is_declared_for_type_checkers() -> None:
    source = Path(mare.__file__).read_text(encoding="utf-8")
    declared = set(re.findall(r"import (\w+) as \1", source))
    assert declared == FROZEN


def test_verbs_stay_verbs_when_their_rooms_are_imported() -> None:
    import mare.evaluation.evaluate
    import mare.fitting
    import mare.planning
    import mare.sampling

    assert callable(mare.plan)
    assert callable(mare.fit)
    assert callable(mare.sample)
    assert callable(mare.evaluate)


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(mare, "no_such_thing")
