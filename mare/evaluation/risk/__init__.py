"""Risk: what the synthetic rows give away of one entity with all its rows. Internal, not private."""
