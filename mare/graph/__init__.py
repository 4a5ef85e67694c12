"""The graphs of a schema: tables, correlations, and the column groups that models are fitted to. Reads no data."""
