"""Reading a table out of PostgreSQL, against `pandas.read_sql` over the same driver (issue: at least 3 times faster)."""

from __future__ import annotations

from collections.abc import Iterator

from mare.finding import open_source
from tests.servers import running_postgres

from .timing import Ratio, compare

ROWS = 2_000_000
COLUMNS = ("id", "patient", "admitted", "discharged", "ward", "urgent", "severity", "score", "crp")

_TABLE = """
CREATE TABLE stays AS
SELECT n AS id, n % 100000 AS patient, timestamp '2000-01-01' + n * interval '1 minute' AS admitted,
       timestamp '2000-01-03' + n * interval '1 minute' AS discharged, 'ward ' || n % 7 AS ward, n % 2 = 0 AS urgent,
       (n % 5)::smallint AS severity, n / 7.0::float8 AS score,
       CASE WHEN n % 3 > 0 THEN (n % 900) / 10.0::numeric(7, 1) END AS crp
  FROM generate_series(1, {rows}) n
"""


def reading_ratios(rows: int = ROWS, rounds: int = 5) -> Iterator[Ratio]:
    try:
        import pandas as pd
        import psycopg  # noqa: F401
        from sqlalchemy import create_engine
        from sqlalchemy.pool import NullPool
    except ImportError as missing:
        print(f"reading: {missing.name} is not installed, so there is nothing to compare with")
        return
    with running_postgres() as server:
        url = server.create_database(_TABLE.format(rows=rows))
        engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"), poolclass=NullPool)

        def ours() -> None:
            with open_source(url) as source:
                for _ in source.read("stays", COLUMNS):
                    pass

        def reference() -> None:
            with engine.connect() as connection:
                pd.read_sql(f"SELECT {', '.join(COLUMNS)} FROM stays", connection)

        yield compare(f"read {rows:,} rows from PostgreSQL", ours, reference, "pandas.read_sql, psycopg", 1 / 3, rounds)


if __name__ == "__main__":
    import sys

    for ratio in reading_ratios(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS, int(sys.argv[2]) if len(sys.argv) > 2 else 5):
        print(f"{ratio.name}: {ratio.value:.3f} of {ratio.reference} ({1 / ratio.value:.1f} times faster), {ratio.seconds:.2f} s")
