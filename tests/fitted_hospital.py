"""One small hospital, fitted with seeded noise: for tests of what comes after the fit."""

from __future__ import annotations

from functools import cache

from mare.fitting import FitOptions, run_fit
from mare.planning.planning import plan
from mare.privacy.bits import OsBits, SeededBits
from mare.privacy.budget import Budget
from mare.release import Release
from mare.schema.schema import ModelChoice
from tests.memory_source import MemorySource, hospital_rows, hospital_schema


@cache
def fitted_hospital(epsilon: float = 50.0, *, private: bool = True, parents: int = 0) -> Release:
    """At a large ε the noise hardly shows, so tests may look for what is in the data."""
    bits = OsBits() if private else SeededBits(3)
    model = ModelChoice(name="privbayes", options={"parents": parents})
    made = plan(hospital_schema().model_copy(update={"model": model}), Budget(epsilon, 1e-9))
    return run_fit(made, MemorySource.of(hospital_rows(patients=300)), FitOptions(bits=bits))
