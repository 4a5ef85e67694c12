"""Learning domains: what the schema leaves open is found where the data is, and everything is paid for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from mare.codec import LearnedOrder, LearnedScales, LearnedValues, OrdinalCodec, RelativeCodec, ScaledCodec, table_codec
from mare.codec.relative import WHOLE
from mare.fitting.code_lists import code_lists
from mare.fitting.learning import Learning
from mare.graph.dag import DatasetDag
from mare.graph.pdag import column_groups
from mare.planning.domains import row_bounds
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.privacy.curator import Gate
from mare.privacy.ledger import Ledger
from mare.schema.loading import load_schema
from mare.stage_door import needs, open_stage
from tests.memory_source import MemorySource

SCHEMA = """
mare: 1
entity: people
tables:
  people:
    key: pid
    columns:
      town: {type: category, learn: true, max_values: 3}
      height: {type: number, learn: true, precision: 1, nullable: true}
      born: {type: date, learn: true}
      pence: {type: integer, min: 0, max: 100000, scale: log}
      icd: {type: code, values: [A00, A01, A02, B00, B01, B02, C00], max_values: 6, hierarchy: {prefix: [1]}}
  labs:
    parent: {table: people, column: pid, type: sequential, order_by: taken, max_rows: 4}
    columns:
      test: {type: category, learn: true, max_values: 4}
      value: {type: number, by: test, learn: true, precision: 1}
      taken: {type: datetime, after: previous.taken, first: {min: 2005-01-01, max: 2015-01-01}, learn: true}
      done: {type: datetime, after: taken, within: 1d}
      seen: {type: datetime, during: [taken, done]}
"""
TYPES = {
    "people": {
        "pid": pa.int64(), "town": pa.string(), "height": pa.float64(), "born": pa.timestamp("us"), "pence": pa.int64(),
        "icd": pa.string(),
    },
    "labs": {
        "pid": pa.int64(), "test": pa.string(), "value": pa.float64(), "taken": pa.timestamp("us"), "done": pa.timestamp("us"),
        "seen": pa.timestamp("us"),
    },
}  # fmt: skip
PEOPLE = 1500


def rows() -> dict[str, list[dict[str, object]]]:
    rng = np.random.default_rng(3)
    people, labs = [], []
    for pid in range(PEOPLE):
        people.append(
            {
                "pid": pid,
                "town": rng.choice(["Ulm", "Bonn", "Köln", "only here"], p=[0.6, 0.25, 0.1499, 0.0001]),
                "height": None if pid % 9 == 0 else round(float(rng.normal(170, 8)), 1),
                "born": datetime(1950, 1, 1) + timedelta(days=int(rng.integers(0, 365 * 20))),
                "pence": 0 if rng.random() < 0.3 else int(np.exp(rng.normal(5, 1))),
                "icd": rng.choice(["A00", "A01", "A02", "B00", "B01", "zzz"], p=[0.4, 0.3, 0.15, 0.05, 0.05, 0.05]),
            }
        )
        clock = datetime(2010, 1, 1) + timedelta(hours=int(rng.integers(0, 9000)))
        for _ in range(int(rng.integers(0, 5))):
            test = str(rng.choice(["sodium", "crp"]))
            value = float(rng.normal(140, 4)) if test == "sodium" else float(np.exp(rng.normal(1, 1)))
            done = clock + timedelta(minutes=int(rng.integers(1, 60)))
            seen = done if rng.random() < 0.5 else clock + (done - clock) * float(rng.random())
            labs.append({"pid": pid, "test": test, "value": value, "taken": clock, "done": done, "seen": seen})
            clock = clock + timedelta(hours=int(rng.integers(1, 200)))
    return {"people": people, "labs": labs}


@contextmanager
def learning(budget: Budget, share: float = 0.5) -> Iterator[Learning]:
    schema = load_schema(SCHEMA)
    tables = needs(schema, column_groups(schema))
    bounds, _ = row_bounds(schema, DatasetDag.of(schema))
    gate = Gate(budget, Ledger(budget, "one person"), SeededBits(1))
    with open_stage(MemorySource.of(rows(), TYPES), tables, gate) as door:
        columns = {t.name: t.values for t in tables}
        codes = code_lists(schema, {}, [table_codec(schema, name, values) for name, values in columns.items()])
        yield Learning(schema, columns, door, bounds, share, codes)


@pytest.fixture(scope="module")
def learned() -> Iterator[tuple[Learning, dict[str, object]]]:
    with learning(Budget(400, 1e-6)) as phase:
        yield phase, {f"{t}.{c}": one for t, codec in phase.run().items() for c, one in codec.columns.items()}


def test_values_are_listed_by_how_many_hold_them_and_a_single_ones_is_not(learned) -> None:
    phase, _ = learned
    towns = phase.learned["people.town"]
    assert isinstance(towns, LearnedValues)
    assert towns.values == ("Ulm", "Bonn", "Köln")


def test_bounds_close_in_on_the_data(learned) -> None:
    height, born = learned[1]["people.height"], learned[1]["people.born"]
    assert isinstance(height, OrdinalCodec)
    assert isinstance(born, OrdinalCodec)
    assert height.scale.decimals == 1
    assert 100 <= height.bins.low / 10 <= 150
    assert 190 <= height.bins.high / 10 <= 300
    low, high = born.scale.to_values(np.array([born.bins.low, born.bins.high]), np.zeros(2, dtype=bool)).to_pylist()
    assert (low.year, high.year) == (1950, 1969)


def test_bins_are_quantiles_and_heavy_values_have_their_own(learned) -> None:
    pence = learned[1]["people.pence"]
    assert isinstance(pence, OrdinalCodec)
    assert pence.bins.edges[:2] == (0, 1)
    amounts = np.array([row["pence"] for row in rows()["people"]])
    shares = np.bincount(pence.bins.assign(amounts), minlength=pence.bins.count) / PEOPLE
    assert shares[0] == pytest.approx(0.3, abs=0.05)
    assert shares.max() < 0.35
    assert pence.bins.count <= 20


def test_values_inside_a_bin_follow_the_fine_histogram(learned) -> None:
    pence = learned[1]["people.pence"]
    rng = np.random.default_rng(0)
    amounts = np.array([row["pence"] for row in rows()["people"]])
    drawn = pence.bins.draw(np.repeat(pence.bins.assign(amounts), 20), rng)
    for quantile in (0.35, 0.5, 0.75, 0.9):
        assert np.quantile(drawn, quantile) == pytest.approx(np.quantile(amounts, quantile), rel=0.15, abs=3)


def test_distances_and_fractions_are_binned_where_they_are(learned) -> None:
    done, seen, taken = (learned[1][f"labs.{name}"] for name in ("done", "seen", "taken"))
    assert all(isinstance(one, RelativeCodec) for one in (done, seen, taken))
    assert sum(edge <= 3600 for edge in done.bins.edges) >= done.bins.count - 2
    assert seen.bins.edges[-2:] == (WHOLE, WHOLE + 1)
    assert 100 * 3600 <= taken.bins.high <= 1000 * 3600
    first = phase_first(learned)
    assert first.bins.count > 3
    days = np.array(first.bins.edges[1:-1]) / 86_400 / 365.25 + 1970
    assert 2009 <= days.min() <= days.max() <= 2013


def phase_first(learned):
    taken = learned[1]["labs.taken"]
    assert taken.first is not None
    return taken.first


def test_every_item_has_its_own_scale(learned) -> None:
    phase, codecs = learned
    value, test = codecs["labs.value"], codecs["labs.test"]
    assert isinstance(value, ScaledCodec)
    assert isinstance(phase.learned["labs.value"], LearnedScales)
    spans = {label: (item.bins.low / 10, item.bins.high / 10) for label, item in zip(test.labels, value.items, strict=True)}
    assert spans["sodium"][0] > 50
    assert spans["crp"][1] < 130


def test_codes_that_hardly_occur_share_a_place(learned) -> None:
    icd = learned[1]["people.icd"]
    assert set(icd.kept) == {"A00", "A01", "A02", "B00", "B01"}
    assert [set(group) for group in icd.shared] == [{"B02", "C00"}]
    assert icd.size == 5 + 1 + 1  # what no list holds is a code of its own
    drawn = set(icd.decode(np.full(200, 5), np.random.default_rng(0)).to_pylist())
    assert drawn <= {"B02", "C00"}


def test_the_share_is_spent_and_no_more() -> None:
    budget = Budget(2, 1e-9)
    with learning(budget, 0.25) as phase:
        phase.run()
        assert phase.door._gate.remaining == pytest.approx(0.75, abs=1e-6)
        assert phase.door._gate.ledger.totals.epsilon <= budget.epsilon


def test_nothing_is_asked_when_nothing_is_open() -> None:
    with learning(Budget(2, 1e-9)) as phase:
        codecs = phase.run()
        again = Learning(phase.schema, phase.columns, phase.door, phase.bounds, 0.1, learned=dict(phase.learned))
        charges = len(phase.door._gate.ledger.charges)
        assert again.run() == codecs
        assert len(phase.door._gate.ledger.charges) == charges


def test_what_was_learned_says_all_that_a_sampler_needs(learned) -> None:
    phase, _ = learned
    for one in phase.learned.values():
        assert isinstance(one, LearnedOrder | LearnedValues | LearnedScales)
        assert not isinstance(one, LearnedOrder) or one.bins is not None
