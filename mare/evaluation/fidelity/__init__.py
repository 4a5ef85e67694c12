"""How close the rows come: single columns, pairs, sequences, trajectories, what is broken, what is copied."""
