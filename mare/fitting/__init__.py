"""Fitting: the only step that sees data, and the only room besides the evaluation and the audit that opens the stage."""

from .fit import FitOptions, fit, run_fit

__all__ = ["FitOptions", "fit", "run_fit"]
