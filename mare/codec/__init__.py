"""Values to codes and back, one file a column type. Pure: no database, no noise."""
