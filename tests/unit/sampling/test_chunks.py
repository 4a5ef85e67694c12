"""The same release and seed give the same bytes, whatever the size of a chunk and the number of threads."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from mare.domain import Codes, RowDraws, as_generator, child_keys, drawing, numbered_keys, purpose_of
from mare.errors import PlanError
from mare.finding import open_sink
from mare.fitting import FitOptions, run_fit
from mare.planning.planning import plan
from mare.ports import SinkTable
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.release import Release
from mare.sampling import SampleOptions, pour, start
from mare.sampling.run import BLOCK, ask_by_block, stream
from mare.sampling.streaming import ChunkSizes, Job, Meter, chunks_of
from mare.schema.loading import load_schema
from mare.schema.schema import ModelChoice
from tests.datasets import dataset
from tests.fitted_hospital import fitted_hospital
from tests.integrity import faults
from tests.relations import EVERY_KIND, related


def fitted(kind: str) -> Release:
    schema = related(kind, model=ModelChoice(name="privbayes"))
    return run_fit(plan(schema, Budget(200.0, 1e-6)), dataset(schema, 1, 30), FitOptions(bits=SeededBits(1)))


def made(release: Release, entities: int, *, chunk: int | None = None, threads: int = 1) -> dict[str, pa.Table]:
    found: dict[str, list[pa.RecordBatch]] = {}
    for some in start(release, SampleOptions(entities, 5, threads=threads, chunk=chunk)).batches():
        for table, batch in some.items():
            found.setdefault(table, []).append(batch)
    return {table: pa.Table.from_batches(parts).combine_chunks() for table, parts in found.items()}


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_chunks_and_threads_change_nothing(kind: str) -> None:
    """With the model that looks at more, and so has more to get wrong. The other one is in test_given.py."""
    release = fitted(kind)
    whole = made(release, 20)
    for chunk, threads in ((1, 1), (7, 3)):
        parts = made(release, 20, chunk=chunk, threads=threads)
        for table, rows in whole.items():
            assert rows.equals(parts[table]), f"{table} in chunks of {chunk} by {threads} threads"


WIDE = """
mare: 1
entity: people
model: independent
tables:
  people:
    key: pid
    columns:
"""


def wide(columns: int, below: str = "") -> Release:
    text = WIDE + "".join(f"      c{i}: {{type: category, values: [a, b]}}\n" for i in range(columns)) + below
    schema = load_schema(text)
    return run_fit(plan(schema, Budget(200.0, 1e-6)), dataset(schema, 1, 20), FitOptions(bits=SeededBits(1)))


def sizes(release: Release) -> ChunkSizes:
    return start(release, SampleOptions(10, 5)).chunks


@pytest.mark.parametrize("threads", [1, 2])
def test_the_first_chunk_is_small_so_that_the_time_left_is_known_soon(threads: int) -> None:
    release, told = wide(32), list[tuple[float, int]]()
    entities = 40_000  # less than a full chunk holds
    sampling = start(release, SampleOptions(entities, 5, threads=threads))
    assert sampling.chunks.full > entities
    chunks = [len(chunk["people"]) for chunk in sampling.batches(lambda done, total: told.append((done, total)))]
    assert chunks[0] <= entities / 4
    assert told[0] == (0, entities)
    assert 0 < told[1][0] <= entities / 4
    assert told[-1] == (entities, entities)
    assert len(chunks) <= 4  # and the work is in a few chunks still


def test_what_is_quick_is_not_cut_up_and_wide_rows_are() -> None:
    narrow, broad = sizes(wide(2)), sizes(wide(64))
    assert narrow.first >= narrow.full
    assert broad.first < broad.full / 8


def test_steps_along_sequences_are_not_taken_for_a_handful_of_entities() -> None:
    """Each of 100 positions costs what it costs, however few stand there: many chunks would take many times as long."""
    below = "  visits: {parent: {table: people, column: pid, type: sequential, max_rows: 100, order_by: n}, columns: "
    below += "{n: {type: position}"
    below += "".join(f", v{i}: {{type: category, values: [a, b]}}" for i in range(8)) + "}}\n"
    assert sizes(wide(64, below)).first > 4 * sizes(wide(64)).first


@pytest.mark.parametrize(("first", "full"), [(1, 1), (9, 7), (3, 20), (BLOCK, 5 * BLOCK)])
def test_chunks_grow_up_to_their_size(first: int, full: int) -> None:
    grown = list(islice(ChunkSizes(first, full), 12))
    assert grown[0] == min(first, full)
    assert grown[-1] == full
    assert all(now <= then <= 2 * now for now, then in pairwise(grown))


def test_growing_chunks_change_nothing() -> None:
    release = fitted_hospital()
    sampling = start(release, SampleOptions(300, 5, threads=2))
    whole = list(sampling.batches())
    parts = list(replace(sampling, chunks=ChunkSizes(3, 90)).batches())
    assert len(parts) > len(whole)
    for table in ("patients", "stays"):
        assert pa.Table.from_batches([p[table] for p in parts]).equals(pa.Table.from_batches([w[table] for w in whole]))


def test_entities_that_satisfy_a_condition_come_in_chunks_too() -> None:
    sampling = start(fitted_hospital(), SampleOptions(3000, 5, where="sex = 'F' or sex = 'M'", threads=1))
    assert [len(chunk) for chunk in chunks_of(sampling.job, Meter(3000), ChunkSizes(500, 1200))] == [500, 1000, 1200, 300]


def test_fewer_entities_are_the_first_of_more() -> None:
    few, many = made(fitted_hospital(), 40), made(fitted_hospital(), 90)
    assert few["patients"].equals(many["patients"].slice(0, 40))
    assert few["stays"].equals(many["stays"].slice(0, few["stays"].num_rows))


class _Plain:
    """A model that says nothing of rows: it gets a plain generator, and may draw what it likes."""

    def __init__(self, inner: object) -> None:
        self.inner = inner

    def sample(self, history: Codes, rng: np.random.Generator) -> Codes:
        rng.normal(size=3)
        return self.inner.sample(history, rng)  # type: ignore[attr-defined, no-any-return]

    def arrays(self) -> dict[str, np.ndarray]:
        return {}


def test_a_model_that_knows_nothing_of_rows_draws_by_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    release, load = fitted_hospital(), Release.model
    monkeypatch.setattr(Release, "model", lambda self, group: _Plain(load(self, group)))
    entities = 2 * BLOCK + 100
    one = made(release, entities, chunk=4 * BLOCK)
    for other in (made(release, entities, chunk=BLOCK, threads=2), made(release, entities, chunk=BLOCK - 1)):
        assert all(one[table].equals(other[table]) for table in one)
    assert one["stays"].num_rows > BLOCK


def test_the_rows_of_a_block_stay_in_their_places() -> None:
    class Echo:
        def sample(self, history: Codes, rng: np.random.Generator) -> Codes:
            return history

        def arrays(self) -> dict[str, np.ndarray]:
            return {}

    entities = np.array([5 * BLOCK, 3, BLOCK, 4, 5 * BLOCK + 1], dtype=np.int64)
    history = Codes(5, {"x": np.arange(5, dtype=np.uint8)})
    assert ask_by_block(Echo(), history, 1, "a", entities)["x"].tolist() == [0, 1, 2, 3, 4]


RANDOM_PARTNERS = """
mare: 1
entity: people
model: independent
tables:
  people:
    key: pid
    columns: {pid: {type: identifier, generate: uuid}, sex: {type: category, values: [F, M]}}
    references: {partner_id: {kind: other_entity, table: people, fill: random}}
  visits:
    key: vid
    parent: {table: people, column: pid, max_rows: 2}
    references: {host: {kind: other_entity, table: visits, fill: random, nullable: true}}
    columns: {kind: {type: category, values: [a, b]}}
  meets:
    key: [pid, host_id]
    parent: {table: people, column: pid, max_rows: 3}
    references: {host_id: {kind: other_entity, table: people, fill: random}}
    columns: {kind: {type: category, values: [a, b]}}
"""


@cache
def partners() -> Release:
    schema = load_schema(RANDOM_PARTNERS)
    return run_fit(plan(schema, Budget(200.0, 1e-6)), dataset(schema, 1, 60), FitOptions(bits=SeededBits(1)))


@pytest.mark.parametrize("entities", [0, 1, 2, 3, 60])
def test_random_references_lead_to_others_wherever_there_are_some(entities: int) -> None:
    frames = {name: table.to_pandas() for name, table in made(partners(), entities, chunk=4).items()}
    assert faults(partners().schema, frames) == []
    if entities > 1:
        assert (frames["people"]["partner_id"] != frames["people"]["pid"]).all()


def test_random_references_reach_everyone_not_the_same_chunk_alone() -> None:
    tables = made(partners(), 400, chunk=10)
    place = {key: number for number, key in enumerate(tables["people"]["pid"].to_pylist())}
    away = [abs(number - place[partner]) for number, partner in enumerate(tables["people"]["partner_id"].to_pylist())]
    # Two uniform places are 133 apart on average; within a chunk of 10 it would be 4.
    assert np.mean(away) > 100
    whose = dict(zip(tables["visits"]["vid"].to_pylist(), tables["visits"]["pid"].to_pylist(), strict=True))
    hosts = [(pid, host) for pid, host in zip(*(tables["visits"][c].to_pylist() for c in ("pid", "host")), strict=True)]
    assert all(whose[host] != pid for pid, host in hosts)
    assert np.mean([abs(place[whose[host]] - place[pid]) for pid, host in hosts]) > 100


@pytest.mark.parametrize("threads", [1, 2])
def test_who_there_is_is_told_too_when_everything_is_made_twice(threads: int) -> None:
    told: list[tuple[float, int]] = []
    for _ in start(partners(), SampleOptions(60, 5, threads=threads, chunk=20)).batches(lambda *done: told.append(done)):
        pass
    assert told == [(done, 60) for done in (0, 10, 20, 30, 40, 50, 60)]  # a chunk of 20 is worth ten


def test_entities_that_satisfy_a_condition_are_counted_as_they_come_out() -> None:
    told: list[tuple[float, int]] = []
    for _ in start(fitted_hospital(), SampleOptions(100, 5, where="sex = 'F'", chunk=50)).batches(
        lambda *done: told.append(done)
    ):
        pass
    assert told == [(0, 100), (50, 100), (100, 100)]


def test_only_the_thread_that_asked_is_told() -> None:
    tellers: set[int] = set()
    sampling = start(fitted_hospital(), SampleOptions(40, 5, threads=3, chunk=5))
    for _ in sampling.batches(lambda done, total: tellers.add(threading.get_ident())):
        pass
    assert tellers == {threading.get_ident()}


def test_streams_of_seeds_purposes_and_blocks_are_apart() -> None:
    draws = {
        tuple(stream(seed, purpose, block).integers(0, 2**60, 4)) for seed in (0, 1) for purpose in ("a", "b") for block in (0, 1)
    }
    assert len(draws) == 8


class TestRowDraws:
    def keys(self, rows: int = 20_000) -> np.ndarray:
        return numbered_keys(purpose_of("seed"), np.arange(rows))

    def test_numbers_are_even_and_independent_of_each_other(self) -> None:
        draws = RowDraws(self.keys(), purpose_of("a"))
        one, two, three = draws.random(), draws.random(), draws.at("b").random()
        for drawn in (one, two, three):
            # Of 20 cells of 1,000 rows each: chi-squared with 19 degrees of freedom, beyond 60 with probability 4e-6.
            counts = np.histogram(drawn, bins=20, range=(0, 1))[0]
            assert ((counts - 1000) ** 2 / 1000).sum() < 60
        assert max(abs(np.corrcoef([one, two, three])[np.triu_indices(3, 1)])) < 5 / np.sqrt(20_000)
        assert abs(np.corrcoef(one[1:], one[:-1])[0, 1]) < 5 / np.sqrt(20_000)

    def test_a_row_has_its_numbers_whoever_is_drawn_beside_it(self) -> None:
        whole, rows = RowDraws(self.keys(100), 7), np.array([3, 99, 4])
        assert (whole.at("x", rows).random() == whole.at("x").random()[rows]).all()
        assert (drawing(as_generator(whole), "x", rows).integers(0, 1000, 3) == whole.at("x").integers(0, 1000)[rows]).all()

    def test_a_plain_generator_draws_on(self) -> None:
        rng = np.random.default_rng(1)
        assert drawing(rng, "x", np.array([1])) is rng

    @pytest.mark.parametrize("width", [1, 2, 10, 1 << 62])
    def test_whole_numbers_stay_in_their_range(self, width: int) -> None:
        low = np.arange(20_000) % 7 - 3
        drawn = RowDraws(self.keys(), 1).integers(low, low + width)
        assert (drawn >= low).all()
        assert (drawn < low + width).all()
        assert len(set((drawn - low).tolist())) >= min(width, 10)

    def test_as_many_numbers_as_rows(self) -> None:
        with pytest.raises(ValueError, match="there are 20 rows"):
            RowDraws(self.keys(20), 1).random(21)

    def test_the_children_of_a_row_have_keys_of_their_own(self) -> None:
        above = self.keys(100)
        parent, position = np.repeat(np.arange(100), 50), np.tile(np.arange(50), 100)
        keys = {*child_keys(above, parent, position, 1), *child_keys(above, parent, position, 2), *above}
        assert len(keys) == 10_100


class _Interrupted:
    """A sink that somebody stops (Ctrl-C) while rows are written."""

    label, notes = "nowhere", ()

    def __init__(self) -> None:
        self.batches = 0

    def __enter__(self) -> _Interrupted:
        return self

    def __exit__(self, *error: object) -> None:
        self.left_with = error[0]

    def expect(self, tables: Sequence[str]) -> None: ...

    def create(self, tables: Sequence[SinkTable], release: str = "") -> None: ...

    def write(self, table: str, batch: pa.RecordBatch) -> None:
        self.batches += 1
        if self.batches == 3:
            raise KeyboardInterrupt


def test_an_interruption_ends_all_threads_and_reaches_the_sink() -> None:
    sink = _Interrupted()
    with pytest.raises(KeyboardInterrupt), sink:
        pour(start(fitted_hospital(), SampleOptions(5000, chunk=10, threads=3)), sink)
    assert sink.left_with is KeyboardInterrupt
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("mare-sample")]


def test_an_error_in_a_thread_is_the_one_that_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Job, entities: np.ndarray) -> None:
        raise PlanError(f"from {int(entities[0])} on")

    monkeypatch.setattr(Job, "generate", broken)
    with pytest.raises(PlanError, match="from 0 on"):
        made(fitted_hospital(), 100, chunk=10, threads=3)


@pytest.mark.parametrize("target", ["o.duckdb", "o.sqlite"])
def test_a_database_takes_references_to_rows_that_come_later(target: str, tmp_path: Path) -> None:
    with open_sink(tmp_path / target) as sink:
        poured = pour(start(partners(), SampleOptions(200, chunk=10)), sink)
    assert poured.rows["people"] == 200
