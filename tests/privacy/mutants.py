"""Planted bugs, kept: mistakes that a reasonable person could make, each with the leak of privacy.md that it is.

`test_planted_bugs.py` holds each against the part of the suite (`checks`) that must turn red.
"""

from __future__ import annotations

# Importing plants them.
from tests.privacy import (  # noqa: F401
    mutants_of_the_answers,
    mutants_of_the_draws,
    mutants_of_the_fit,
    mutants_of_the_gate,
    mutants_of_the_questions,
    mutants_of_the_rows,
    mutants_of_the_stage,
    mutants_that_survived,
)
from tests.privacy.planting import PLANTED, Mutant

MUTANTS: tuple[Mutant, ...] = tuple(PLANTED)
