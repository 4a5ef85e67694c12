"""The plan: what will be modelled, in which order, with which noise. Made from the schema alone; nothing here can read data."""

from .plan import Plan, PlannedGroup, Warned

__all__ = ["Plan", "PlannedGroup", "Warned"]
