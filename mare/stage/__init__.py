"""The stage: true rows, truncated and coded, behind views that only the curator may ask."""

from .intake import stage
from .needs import TableNeeds, needs
from .raw_columns import StagedColumn
from .staged import LocalNotes, Staged, StagedView
from .truncation import Cuts

__all__ = ["Cuts", "LocalNotes", "Staged", "StagedColumn", "StagedView", "TableNeeds", "needs", "stage"]
