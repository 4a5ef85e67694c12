"""mare: a synthetic relational database with a differential-privacy guarantee per patient.

    schema  = mare.load_schema("schemas/mimic-iv-core.yaml")
    plan    = mare.plan(schema, mare.Budget(epsilon=2, delta=1e-9))
    release = mare.fit(plan, source="postgresql://…")
    release.save("ehr.mare")
    mare.sample(release, to="postgresql://…/synthetic", seed=7)

Names are loaded on first use, so that `import mare` is instant.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mare.errors import MareError as MareError

_HOMES = {
    "MareError": "mare.errors",
}
"""Every public name and the module it lives in. A test freezes the list."""

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'mare' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
