"""`python -m tests.sqlite_shell FILE QUERY`: what the `sqlite3` command does, where it is not installed."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing

if __name__ == "__main__":
    with closing(sqlite3.connect(sys.argv[1])) as database:
        for row in database.execute(sys.argv[2]):
            print("|".join(str(value) for value in row))
