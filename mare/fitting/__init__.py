"""The only step that sees data: stage, measure through the curator, keep what was paid for."""
