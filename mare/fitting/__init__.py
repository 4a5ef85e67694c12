"""Fitting: the only step that sees data, through the stage door, which lets no true number out."""

from mare.stage_door import Cuts, LocalNotes

from .fit import FitOptions, fit, run_fit

__all__ = ["Cuts", "FitOptions", "LocalNotes", "fit", "run_fit"]
