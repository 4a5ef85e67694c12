"""From a schema and a budget to the public plan. Reads no data: an import rule proves it."""
