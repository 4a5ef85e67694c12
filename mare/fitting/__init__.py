"""Fitting: the only step that sees data, and the only room besides the evaluation and the audit that opens the stage."""

from mare.stage import Cuts, LocalNotes

from .fit import FitOptions, fit, run_fit

__all__ = ["Cuts", "FitOptions", "LocalNotes", "fit", "run_fit"]
