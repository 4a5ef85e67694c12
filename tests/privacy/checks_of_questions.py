"""Parts of the suite that planted bugs in the newer questions must turn red: sums of scores, rows by entity, keys and values that
have no code of their own, how round numbers are, identifiers that rows share, the row beside, times around each other.

One world asks all of it. That each question is asked is asserted: nothing passes because nobody asked.
"""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import pyarrow as pa
import pytest

from mare.audit import tape_audit
from mare.audit.entities import named
from mare.audit.tape import Recording, opened
from mare.audit.variants import WithoutEntity
from mare.codec import LearnedValues
from mare.domain import Axis, Domain
from mare.fitting import FitOptions
from mare.planning import Plan
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.privacy.curator import Curator
from mare.privacy.qualities import Summed, Tvd, TvdToReleased
from mare.privacy.tape import TapeMismatch
from mare.schema.loading import load_schema
from tests.memory_source import MemorySource, Rows
from tests.privacy.benchmark import Looking
from tests.privacy.sessions import PURE, ZCDP, asked, replay_against
from tests.views import ArrayView, array_view

# ---------------------------------------------------------------------- sums of scores


def at_odds() -> ArrayView:
    """Everyone in one cell but for entity 0, who is at odds with all others in each column: what moves a score most."""
    owner = [0, *range(1, 80)]
    columns = {name: [1] + [0] * 79 for name in ("a", "b", "c")} | {"all": [0] * 80}
    return array_view(owner, columns, Domain.of([("a", 2), ("b", 2), ("c", 2), ("all", 2)]), cap=1)


def summing(curator: Curator) -> object:
    """What one parent has to do with two columns, given what is the same for everybody; and with their released tables."""
    a, b, c, everyone = Axis("a"), Axis("b"), Axis("c"), Axis("all")
    given = Summed((Tvd(a, (c,), (everyone,)), Tvd(b, (c,), (everyone,))))
    merged = Summed((Tvd(a, (c,), (everyone,), merged=True), Tvd(b, (c,), (everyone,), merged=True)))
    released = Summed((TvdToReleased(a, (c,), (1, 0)), TvdToReleased(b, (c,), (1, 0))))
    return [
        curator.select([None, given], 0.2),
        curator.select([None, merged], 0.2),
        curator.select([released, None], 0.2),
        curator.scores([given, released], 0.2),
    ]


def sums_of_scores_pass_the_tape() -> None:
    """Each of two conditional scores moves by nearly 2 with one entity, and their sum by nearly 4."""
    view = at_odds()
    for budget in (ZCDP, PURE):
        recorder, _ = replay_against(asked(view, budget, summing), asked(view.without(0), budget, summing), SeededBits)
        sums = [entry for entry in recorder.record.entries if "summed" in entry.query.what]
        assert len(sums) == 4, "no sum was asked: nothing was tried"


def public_numbers_of_sums_are_compared() -> None:
    """The second part of a sum is held against a true distribution in place of a released one: that is no public number."""

    def choosing(second: tuple[int, int]) -> Any:
        parts = TvdToReleased(Axis("a"), (Axis("c"),), (1, 0)), TvdToReleased(Axis("b"), (Axis("c"),), second)
        return lambda curator: curator.select([Summed(parts), None])

    view = at_odds()
    with pytest.raises(TapeMismatch, match="public was"):
        replay_against(asked(view, ZCDP, choosing((79, 1))), asked(view.without(0), ZCDP, choosing((79, 0))), SeededBits)


# ---------------------------------------------------------------------- everything that a fit asks

QUESTIONS = """
mare: 1
entity: people
calendar: {min: 2000-01-01, max: 2009-12-31}
tables:
  people:
    key: pid
    columns:
      town: {type: category, learn: true}
      price: {type: number, min: 0, max: 100000, precision: 2}
      entered: {type: date}
      left: {type: date, after: entered, within: 10y, specials: ["9999-12-31"]}
    references:
      born_in: {kind: public, table: districts, columns: born_id, learn: true}
      lives_in: {kind: public, table: districts, columns: lives_id, learn: true}
  visits:
    key: vid
    parent: {table: people, column: pid, type: sequential, order_by: at, max_rows: 8}
    columns:
      at: {type: datetime, after: previous.at, first: {min: 2000-01-01, max: 2009-12-31}, within: 10y}
      filed: {type: datetime, around: at, within: 30d, min: 1999-12-01, max: 2010-01-31}
      ward: {type: category, values: [a, b, c, d, e, f]}
      bed: {type: category, values: [1, 2, 3, 4, 5, 6]}
  gives:
    parent: {table: visits, column: vid, type: associative, via: drugs, column_via: drug, max_rows: 3}
  lines:
    parent: {table: people, column: pid, type: sequential, order_by: day, max_rows: 4}
    sees: [visits]
    columns:
      day: {type: date}
      basket: {type: identifier, runs: true, nullable: true}
      item: {type: category, values: [i, j, k]}
  districts: {public: true, key: did, rows: 30}
  drugs: {public: true, key: drug, rows: 4}
"""
PEOPLE = 120
ODD, SECOND = "7", "0"
"""Whoever is unlike all others and beyond every cap; and who has a day and a basket that nobody but those two has."""


@cache
def everybody() -> MemorySource:
    chance = random.Random(5)
    rows: Rows = {name: [] for name in ("people", "visits", "gives", "lines")}
    for number in range(PEOPLE):
        odd, both = str(number) == ODD, str(number) in (ODD, SECOND)
        rows["people"].append(
            {
                "pid": str(number),
                "town": f"only {number}" if odd else f"town {int(chance.random() ** 2 * 12)}",
                "price": 1.37 if odd else float(chance.randint(1, 900) * 100),
                "entered": f"200{chance.randint(0, 8)}-0{chance.randint(1, 9)}-11",
                "left": "9999-12-31" if both else chance.choice(["2009-12-31", "2009-06-06"]),
                "born_id": "none" if odd else str(chance.randint(0, 29)),
                "lives_id": str(chance.randint(0, 29)),
            }
        )
        for visit in range(9 if odd else chance.choice([0, 1, 2, 3])):
            day, ward = f"200{2 * visit % 9}-0{chance.randint(1, 9)}-1{chance.randint(0, 9)}", chance.choice("abbccc")
            at = "2000-01-01 00:17:00" if odd and visit < 2 else f"{day} 0{chance.randint(7, 9)}:30:00"
            filed = f"{at[:10]} 12:00:00"
            vid = len(rows["visits"])
            seen = {"ward": ward, "bed": 1 + "abcdef".index(ward)}
            rows["visits"].append({"vid": vid, "pid": str(number), "at": at, "filed": filed, **seen})
            rows["gives"] += [{"vid": vid, "drug": drug} for drug in range(4) if odd or chance.random() < (drug + 1) / 6]
        for line in range(4 if odd else 1 if both else chance.choice([0, 0, 2, 3])):
            # Baskets of different people have the same numbers: nobody's row may be compared with another's.
            basket = ("both" if not line else None) if both else chance.choice([None, "b1", "b2"])
            held = {"basket": basket, "item": chance.choice("ijk")}
            rows["lines"].append({"pid": str(number), "day": f"2005-01-0{1 + line}", **held})
    rows |= {"districts": [{"did": str(n)} for n in range(30)], "drugs": [{"drug": n} for n in range(4)]}
    types = {name: dict.fromkeys(content[0], pa.string()) for name, content in rows.items()}
    types["people"]["price"] = pa.float64()
    types["visits"] |= {"vid": pa.int64(), "bed": pa.int64()}
    types["gives"] |= {"vid": pa.int64(), "drug": pa.int64()}
    types["drugs"]["drug"] = pa.int64()
    return MemorySource.of(rows, types)


ASKED = (
    "visits.sizes", "gives.sizes", "people.town", "people.born_in.keys", "people.roundness(price)", "visits.hours(at)",
    "visits.days(at)", "visits.grains(at)", "visits.first(at)", "visits.elapsed(at)", "visits.grains(filed)", "gives.context",
    "lines.rows",
)  # fmt: skip
"""Views that something was asked of."""


def questions() -> Plan:
    return plan(load_schema(QUESTIONS), Budget(18, 1e-3))


def questions_pass_the_tape() -> None:
    """Whoever leaves, whoever is there a thousand times, in whatever order rows stand: the same is asked and told."""
    made = questions()
    with pytest.MonkeyPatch.context() as patch, opened(made, everybody()) as (reader, owners):
        # So few values have codes of their own that others are left, as of a thousand towns.
        patch.setattr("mare.fitting.vocabularies.DEFAULT_MAX_VALUES", 3)
        first = Recording.of(made, reader, FitOptions(), 1, Looking())
        missing = set(ASKED) - {entry.query.view for entry in first.record.entries}
        assert not missing, f"nothing was asked of {sorted(missing)}"
        assert any("summed" in entry.query.what for entry in first.record.entries), "no sum was asked"
        learned = first.release.plan.learned
        values = [learned[name] for name in ("people.town", "people.born_in")]
        towns, born = (found for found in values if isinstance(found, LearnedValues))
        assert towns.others, "no value was without a code of its own"
        assert born.within[0], "no keys were in use that were not kept"
        faults = first.report([]).faults
        assert not faults, f"the account does not add up: {'; '.join(faults)}"
        for entity in (ODD, SECOND):
            differences = first.replayed(WithoutEntity(reader, owners, owners.removal(named(entity).entity)))
            assert not differences, f"entity {entity} shows: {'; '.join(differences)}"
        for replay in first.retold(reader, owners):
            assert replay.passed, f"{replay.why}: {'; '.join(replay.differences)}"


# ---------------------------------------------------------------------- rows that look at others

BESIDE = """
mare: 1
entity: p
model: privbayes
tables:
  p: {key: id, columns: {x: {type: category, values: [a, b]}}}
  jobs:
    parent: {table: p, column: up, type: sequential, order_by: at, memory: 1, max_rows: 2}
    columns: {at: {type: integer, min: 0, max: 9, bins: 2}, dept: {type: integer, min: 0, max: 7, bins: 8}}
  lines:
    parent: {table: p, column: up, type: sequential, order_by: at, memory: 1, max_rows: 4}
    sees: [jobs]
    columns:
      at: {type: integer, min: 0, max: 9, bins: 2}
      basket: {type: identifier, runs: true}
      item: {type: integer, min: 0, max: 7, bins: 8}
"""
LOOKED_AT = "jobs.dept"


def rows_beside_pass_the_tape() -> None:
    """Everybody has a job of their own, or none, and all baskets have one number: what is beside is one's own, and so is what is
    the same as before."""
    people, whole, text = range(8), pa.int64(), pa.string()
    rows: Rows = {
        "p": [{"id": p, "x": "a"} for p in people],
        "jobs": [{"up": p, "at": n, "dept": p} for p in people if p % 3 for n in range(2)],
        "lines": [{"up": p, "at": n, "basket": "b", "item": p} for p in people for n in range(4 if p % 2 else 3)],
    }
    types = {
        "p": {"id": whole, "x": text},
        "jobs": {"up": whole, "at": whole, "dept": whole},
        "lines": {"up": whole, "at": whole, "basket": text, "item": whole},
    }
    made, recorder = plan(load_schema(BESIDE), Budget(8, 1e-9)), Looking(LOOKED_AT, times=10_000, seed=1)
    report = tape_audit(made, MemorySource.of(rows, types), entities=list(people), recorder=recorder)
    assert report.passed, report.render()
    tables = [query.what for query in report.queries if query.norm == "L2" and LOOKED_AT in query.what]
    assert any("exists(basket)" in what and "item" in what for what in tables), "no table looks at the row beside"


PACES = """
mare: 1
entity: p
model: privbayes
calendar: {min: 2000-01-01, max: 2000-12-31}
tables:
  p: {key: id, columns: {x: {type: category, values: [a, b]}}}
  visits:
    parent: {table: p, column: up, type: sequential, order_by: at, memory: 1, max_rows: 8}
    columns:
      at: {type: date, after: previous.at, first: {min: 2000-01-01, max: 2000-12-31}, within: 1y, bins: 8}
      item: {type: integer, min: 0, max: 7, bins: 8}
"""
PACE = "visits.free.pace(at)"


def paces_pass_the_tape() -> None:
    """What time is left for each row that is to come, of rows of one's own: one alone has many."""
    people, whole, text = range(8), pa.int64(), pa.string()
    rows: Rows = {
        "p": [{"id": p, "x": "a"} for p in people],
        "visits": [{"up": p, "at": f"2000-0{1 + n}-11", "item": p} for p in people for n in range(8 if p == 3 else 2)],
    }
    types = {"p": {"id": whole, "x": text}, "visits": {"up": whole, "at": text, "item": whole}}
    made, recorder = plan(load_schema(PACES), Budget(8, 1e-9)), Looking(PACE, times=10_000, seed=1)
    report = tape_audit(made, MemorySource.of(rows, types), entities=[0, 3], recorder=recorder)
    assert report.passed, report.render()
    assert any(query.norm == "L2" and PACE in query.what for query in report.queries), "no table looks at the time that is left"


CHECKS = (
    sums_of_scores_pass_the_tape,
    public_numbers_of_sums_are_compared,
    questions_pass_the_tape,
    rows_beside_pass_the_tape,
    paces_pass_the_tape,
)
