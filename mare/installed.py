"""What is installed here: which mare this is, and what was added to it by entry point (models, sources, sinks, copies)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points, version
from importlib.util import find_spec

__version__ = version("mare-synth")
"""As it was installed, so that pyproject.toml is the one place that says it."""


def has_fakes() -> bool:
    """Whether names and addresses can be made up (the extra `fake`)."""
    return find_spec("faker") is not None


def plug_ins(group: str) -> Mapping[str, EntryPoint]:
    """The entry points of a group, by name."""
    return _looked_up(group, tuple(sys.path))


@cache
def _looked_up(group: str, path: tuple[str, ...]) -> Mapping[str, EntryPoint]:
    # Once for a search path: to go through all that is installed takes as long as a model of a small group does.
    return {point.name: point for point in entry_points(group=group)}
