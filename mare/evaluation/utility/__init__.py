"""Utility: does work on the synthetic rows come to what it would have come to on the real ones? Internal, not private."""
