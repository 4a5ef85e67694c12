"""The plan: what will be modelled, in which order, with which noise. Made from the schema alone; nothing here can read data."""

from .plan import GroupPreview, Plan, PlannedGroup, Verdict, Warned

__all__ = ["GroupPreview", "Plan", "PlannedGroup", "Verdict", "Warned"]
