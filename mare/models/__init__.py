"""Tabular models and the registry that finds them. A model sees answers, not rows: nothing here imports the stage."""

from .protocol import DEFAULT_MODEL, FittedModel, TabularModel, Workload, get_model, model_names, settle_options

__all__ = ["DEFAULT_MODEL", "FittedModel", "TabularModel", "Workload", "get_model", "model_names", "settle_options"]
