"""Which mare this is: as it was installed, so that pyproject.toml is the one place that says it."""

from __future__ import annotations

from importlib.metadata import version

__version__ = version("mare-synth")
