"""Utility: whether work done on the synthetic rows comes to what it would have come to on the real ones. Internal, not private."""
