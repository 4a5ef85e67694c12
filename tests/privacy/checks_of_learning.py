"""Parts of the suite that planted bugs in learned domains and in history must turn red: lists of values two levels down, the
previous row of the same item, a true n where a clamp hides it, scores by rows and by entities, a source that looks around.
"""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from functools import cache
from pathlib import Path

import pyarrow as pa

from mare.audit import account_faults, physical_audit, tape_audit
from mare.audit.tape import MANY_TIMES
from mare.domain import Axis
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.privacy.curator import Curator
from mare.privacy.qualities import Tvd
from mare.schema.loading import load_schema
from tests.memory_source import MemorySource, Rows
from tests.privacy.benchmark import Looking
from tests.privacy.sessions import PURE, ZCDP, pair, replay_against

BUDGET = Budget(2, 1e-6)

LISTS_BELOW = """
mare: 1
entity: p
model: independent
tables:
  p: {key: id, columns: {x: {type: category, values: [a, b]}}}
  c: {key: id, parent: {table: p, column: up, max_rows: 4}, columns: {x: {type: category, values: [a, b]}}}
  d:
    parent: {table: c, column: up, max_rows: 3}
    columns: {word: {type: category, learn: true, max_values: 9}}
"""


def lists_below() -> MemorySource:
    """Everybody has four rows, each with three of the words that all share; the first has twelve words of their own."""
    people = range(30)
    words = [[f"own {n} {m}" if p == 0 else f"word {(n + m) % 5}" for n in range(4) for m in range(3)] for p in people]
    rows: Rows = {
        "p": [{"id": p, "x": "a"} for p in people],
        "c": [{"id": 10 * p + n, "up": p, "x": "b"} for p in people for n in range(4)],
        "d": [{"up": 10 * p + n, "word": words[p][3 * n + m]} for p in people for n in range(4) for m in range(3)],
    }
    number, text = pa.int64(), pa.string()
    types = {"p": {"id": number, "x": text}, "c": {"id": number, "up": number, "x": text}, "d": {"up": number, "word": text}}
    return MemorySource.of(rows, types)


def lists_two_levels_down_pass_the_tape() -> None:
    """Whoever has many parent rows, each with words of its own, still names k₀ words in all."""
    report = tape_audit(plan(load_schema(LISTS_BELOW), BUDGET), lists_below(), entities=[0, 7])
    assert report.passed, report.render()
    named = [query for query in report.queries if query.what.startswith("values that more than")]
    assert [query.ratio for query in named] == [1.0], "the first one names fewer words than are paid for: nothing was tried"


ITEMS = """
mare: 1
entity: p
model: privbayes
tables:
  p: {key: id, columns: {x: {type: category, values: [a, b]}}}
  labs:
    parent: {table: p, column: up, type: sequential, order_by: at, memory: 1, max_rows: 4, history_by: item}
    columns:
      at: {type: integer, min: 0, max: 9, bins: 2}
      item: {type: category, values: [k, na]}
      value: {type: integer, min: 0, max: 7, bins: 8}
"""


def _items() -> MemorySource:
    """Everybody has both items, and values of their own: the previous row of an item tells whose it is."""
    people = range(8)
    rows: Rows = {
        "p": [{"id": p, "x": "a"} for p in people],
        "labs": [{"up": p, "at": n, "item": ("k", "na")[n % 2], "value": p} for p in people for n in range(4)],
    }
    number, text = pa.int64(), pa.string()
    types = {"p": {"id": number, "x": text}, "labs": {"up": number, "at": number, "item": text, "value": number}}
    return MemorySource.of(rows, types)


LOOKED_AT = "labs.value[same item]"


def items_pass_the_tape() -> None:
    """The previous row of the same item is one's own: at the first of each item nobody's, whoever stands before."""
    made = plan(load_schema(ITEMS), Budget(8, 1e-9))
    report = tape_audit(made, _items(), entities=[0, 3, 7], recorder=Looking(LOOKED_AT, times=10_000, seed=1))
    assert report.passed, report.render()
    assert any(LOOKED_AT in query.what and query.norm == "L2" for query in report.queries), "no table looks at the same item"


NUMBERS = """
mare: 1
entity: p
model: independent
tables:
  p: {key: id, columns: {x: {type: category, values: [a, b]}}}
  weighed:
    parent: {table: p, column: up, type: sequential, order_by: at, max_rows: 4}
    columns:
      at: {type: integer, min: 0, max: 9, bins: 2}
      before: {type: integer, min: 0, max: 99999}
      after: {type: integer, min: 0, max: 99999, nullable: true}
"""


def numbers() -> MemorySource:
    """Everybody has numbers of their own, up to four of them, some of them missing."""
    people = range(12)
    rows: Rows = {
        "p": [{"id": p, "x": "a"} for p in people],
        "weighed": [
            {"up": p, "at": n, "before": 5000 * p + n, "after": None if (p + n) % 5 == 0 else 5000 * p + 2 * n}
            for p in people
            for n in range(1 + p % 4)
        ],
    }
    number, text = pa.int64(), pa.string()
    weighed = {"up": number, "at": number, "before": number, "after": number}
    return MemorySource.of(rows, {"p": {"id": number, "x": text}, "weighed": weighed})


def numbers_near_others_pass_the_tape() -> None:
    """How far a number is from the one in the row before, or beside it: each difference is of two numbers of one entity."""
    report = tape_audit(plan(load_schema(NUMBERS), BUDGET), numbers(), entities=[0, 3, 7, 11])
    assert report.passed, report.render()
    asked = [query.view for query in report.queries]
    assert {"weighed.change(before)", "weighed.change(after)", "weighed.after - before"} <= set(asked), asked


NAMES = """
mare: 1
entity: p
model: independent
tables:
  p: {key: id, columns: {x: {type: category, values: [a, b]}}}
  taken:
    parent: {table: p, column: up, max_rows: 3}
    columns:
      code: {type: category, learn: true, nullable: true}
      name: {type: category, nullable: true, determined: {goes_with: code}}
      kind: {type: category, values: [k, l], nullable: true}
      kind_name: {type: category, determined: {goes_with: kind}}
"""


def codes_and_their_names_pass_the_tape() -> None:
    """The first has names of their own for codes that all have, and codes of their own; the last has nothing at all."""

    def row(p: int, n: int) -> dict[str, object]:
        own = f"own {n}" if p == 0 else None
        code = None if (p + n) % 7 == 0 else own if n == 2 and own else f"c{n % 2}"
        name = None if (p + n) % 5 == 0 else own or f"name of c{n % 2}"
        return {"up": p, "code": code, "name": name, "kind": (None, "k", "l")[(p + n) % 3], "kind_name": own or f"kind {p % 2}"}

    people = range(60)
    rows: Rows = {
        "p": [{"id": p, "x": "a"} for p in people],
        "taken": [row(p, n) for p in people[:-1] for n in range(6 if p == 0 else 1 + p % 3)],
    }
    number, text = pa.int64(), pa.string()
    taken = {"up": number, **dict.fromkeys(("code", "name", "kind", "kind_name"), text)}
    made = plan(load_schema(NAMES), Budget(60, 1e-4))
    report = tape_audit(
        made, MemorySource.of(rows, {"p": {"id": number, "x": text}, "taken": taken}), entities=[0, 1, 7, 59], retold=True
    )
    assert report.passed, report.render()
    named = {query.view: query.ratio for query in report.queries if query.what.startswith("values that more than")}
    assert set(named) == {"taken.code", "taken.name", "taken.kind_name"}, named
    assert max(named.values()) > 0.99, "nobody names as much as is paid for: nothing was tried"


LEARNED = """
mare: 1
entity: p
tables:
  p:
    key: id
    columns: {income: {type: integer, min: 0, max: 100000}, town: {type: category, learn: true, max_values: 4}}
  visits:
    parent: {table: p, column: up, type: sequential, order_by: at, max_rows: 2}
    columns: {at: {type: date, min: 2000-01-01, max: 2009-12-31}, cost: {type: number, learn: true, precision: 0}}
"""


@cache
def _learned() -> MemorySource:
    people = range(20)
    rows: Rows = {
        "p": [{"id": p, "income": 997 * (p + 1) * (1 + p % 3), "town": ("Ulm", "Bonn")[p % 2]} for p in people],
        "visits": [{"up": p, "at": f"200{p % 9}-0{1 + n}-1{p % 9}", "cost": 3.0 * p + n} for p in people for n in range(p % 3)],
    }
    types = {
        "p": {"id": pa.int64(), "income": pa.int64(), "town": pa.string()},
        "visits": {"up": pa.int64(), "at": pa.string(), "cost": pa.float64()},
    }
    return MemorySource.of(rows, types)


def copies_of_learned_domains_pass_the_tape() -> None:
    """Lists, bounds and bins are learned, and every patient is there a thousand times: shares, grids and bins stay."""
    report = tape_audit(plan(load_schema(LEARNED), BUDGET), _learned(), entities=[], retold=True)
    (many,) = (replay for replay in report.retold if replay.why == MANY_TIMES)
    assert many.passed, report.render()
    assert any("values that more than" in query.what for query in report.queries), "no list was learned: nothing was tried"


MOMENTS = """
mare: 1
entity: p
model: independent
calendar: {min: 2000-01-01, max: 2009-12-31}
tables:
  p:
    key: id
    columns:
      seen: {type: datetime, min: 1990-01-01, max: 2009-12-31}
      entered: {type: date}
      left: {type: date, after: entered, within: 10y}
      filed: {type: datetime, around: seen, within: 30d, min: 1989-12-01, max: 2010-01-31}
"""


def _moments() -> MemorySource:
    """All are tidy; the first alone has the earliest and the latest."""
    people = range(40)
    seen = [f"2005-01-{1 + p % 20:02d} 0{p % 9}:30:00" if p else "1990-01-01 05:17:00" for p in people]
    left = ["2009-12-30" if p else "2009-12-31" for p in people]
    filed = [f"{moment[:11]}1{p % 7}:00:00" for p, moment in enumerate(seen)]
    texts = {"seen": seen, "entered": [f"2008-02-{1 + p % 20:02d}" for p in people], "left": left, "filed": filed}
    rows: Rows = {"p": [{"id": p, **{name: values[p] for name, values in texts.items()}} for p in people]}
    return MemorySource.of(rows, {"p": {"id": pa.int64(), **dict.fromkeys(texts, pa.string())}})


def moments_pass_the_tape() -> None:
    """Hours, days, who is still there when the data ends, and what lies around another time: each row by itself."""
    report = tape_audit(plan(load_schema(MOMENTS), Budget(4, 1e-6)), _moments(), entities=[0, 7])
    assert report.passed, report.render()
    assert any("hours(seen)" in query.what or "hours" in query.view for query in report.queries), "no hour was looked at"


def both_weightings(curator: Curator) -> object:
    """The same candidates by rows and then by entities, noisy and chosen among."""
    candidates = [Tvd(Axis("ward"), (Axis("age"),)), None]
    return [
        curator.scores(candidates, 0.3, weighting="row"),
        curator.scores(candidates, 0.3, weighting="entity"),
        curator.select(candidates, 0.2, weighting="row"),
        curator.select(candidates, 0.2, weighting="entity"),
    ]


def both_weightings_pass_the_tape() -> None:
    """A score by rows moves as far as the cap; what was known of it may not stand in for one by entities."""
    for budget in (ZCDP, PURE):
        recorder, ledger = replay_against(*pair(both_weightings, budget), SeededBits)
        faults = account_faults(recorder.record, ledger, budget)
        assert not faults, faults


SQLITE = """
mare: 1
entity: p
model: independent
tables:
  p: {key: id, columns: {income: {type: integer, min: 0, max: 999, bins: 10}}}
  c: {parent: {table: p, column: up, max_rows: 2}, columns: {cost: {type: number, min: 0, max: 99, bins: 10}}}
"""


def _written(folder: Path, people: range) -> Path:
    """A database file with these people, of whom the last has more of everything than the others."""
    path = folder / f"{len(people)}.sqlite"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE p (id INTEGER PRIMARY KEY, income INTEGER)")
        database.execute("CREATE TABLE c (up INTEGER, cost REAL)")
        database.executemany("INSERT INTO p VALUES (?, ?)", [(p, 990 if p == 39 else 20 * p) for p in people])
        database.executemany("INSERT INTO c VALUES (?, ?)", [(p, 98.5 if p == 39 else 2.0 * p) for p in people for _ in "ab"])
    return path


def sqlite_neighbours_pass_the_tape() -> None:
    """Two database files, one of them written without the last patient, each read through the adapter."""
    made = plan(load_schema(SQLITE), BUDGET)
    with tempfile.TemporaryDirectory() as folder:
        here, there = (_written(Path(folder), range(people)) for people in (40, 39))
        report = physical_audit(made, here, there)
    assert report.passed, report.render()


CHECKS = (
    lists_two_levels_down_pass_the_tape,
    items_pass_the_tape,
    numbers_near_others_pass_the_tape,
    codes_and_their_names_pass_the_tape,
    copies_of_learned_domains_pass_the_tape,
    moments_pass_the_tape,
    both_weightings_pass_the_tape,
    sqlite_neighbours_pass_the_tape,
)
