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
    from mare.evaluation.evaluate import evaluate as evaluate
    from mare.evaluation.splitting import split as split
    from mare.fitting.fit import fit as fit
    from mare.installed import __version__ as __version__
    from mare.planning.plan import Plan as Plan
    from mare.planning.planning import plan as plan
    from mare.privacy.budget import Budget as Budget
    from mare.privacy.budget_file import BudgetFile as BudgetFile
    from mare.privacy.ledger import Ledger as Ledger
    from mare.release.archive import load_release as load_release
    from mare.release.release import Release as Release
    from mare.sampling.sample import sample as sample
    from mare.schema.loading import load_schema as load_schema
    from mare.schema.schema import Schema as Schema
    from mare.schema.yaml_writing import dump_schema as dump_schema
    from mare.schema_verbs import check as check
    from mare.schema_verbs import draft as draft
    from mare.schema_verbs import picture as picture
    from mare.verdicts.card import Card as Card
    from mare.verdicts.card import card as card

_HOMES = {
    "Budget": "mare.privacy.budget",
    "BudgetFile": "mare.privacy.budget_file",
    "Card": "mare.verdicts.card",
    "Ledger": "mare.privacy.ledger",
    "MareError": "mare.errors",
    "Plan": "mare.planning.plan",
    "Release": "mare.release.release",
    "Schema": "mare.schema.schema",
    "__version__": "mare.installed",
    "card": "mare.verdicts.card",
    "check": "mare.schema_verbs",
    "draft": "mare.schema_verbs",
    "dump_schema": "mare.schema.yaml_writing",
    "evaluate": "mare.evaluation.evaluate",
    "fit": "mare.fitting.fit",
    "load_release": "mare.release.archive",
    "load_schema": "mare.schema.loading",
    "picture": "mare.schema_verbs",
    "plan": "mare.planning.planning",
    "sample": "mare.sampling.sample",
    "split": "mare.evaluation.splitting",
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
