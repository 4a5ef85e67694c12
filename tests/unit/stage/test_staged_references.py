"""What a staged table tells of its references: which public key, which row of one's own, how far back, whether there is any."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

from mare.codec import evenly, table_codec
from mare.domain import Domain, Marginal
from mare.errors import InternalError
from mare.graph.pdag import column_groups
from mare.relational.public import PublicTable
from mare.relational.relations import relations
from mare.stage import Staged, needs, stage
from mare.stage.staged import KEY, ROWS
from tests.memory_source import MemorySource
from tests.relations import related

Rows = dict[str, dict[str, list[object]]]
DRUGS = [10, 20, 30]


@contextmanager
def staged(kind: str, columns: Rows, folder: Path, chosen: dict[str, tuple[int, ...]] | None = None) -> Iterator[Staged]:
    """Encoded, where the keys of vocabularies are ``chosen``."""
    schema = related(kind)
    wanted = needs(schema, column_groups(schema))
    everyone = [(str(drug),) for drug in DRUGS]
    named = [table.name for table in wanted if table.via]
    named += [f"{table.name}.{link.name}" for table in wanted for link in table.links if link.kind == "public"]
    source = MemorySource({name: pa.table(held) for name, held in columns.items()})
    with stage(source, wanted, b"k" * 32, folder=folder, vocabularies=dict.fromkeys(named, everyone)) as found:
        if chosen is not None:
            public = {"drugs": PublicTable("drugs", pa.table({"drug_id": DRUGS}), ("drug_id",))}
            links = relations(schema, public, chosen)
            for table in found.tables.values():
                codec = evenly(table_codec(schema, table.needs.name, table.needs.values))
                found.encode(table.needs.name, codec, links.get(table.needs.name))
        yield found


def counted(found: Staged, table: str, reference: str | None) -> list[int]:
    view = found.key_view("keys", table, reference, len(DRUGS), 4)
    (counts,) = view.counts([Marginal.of(KEY)])
    return [int(count) for count in counts]


PEOPLE = {"pid": [1, 2], "sex": ["F", "M"]}
TAKES = {"pid": [1, 1, 2, 2], "drug_id": [10, 20, 99, None], "other_id": [30, None, 30, 30]}


def test_public_keys_are_counted_then_those_that_the_table_does_not_have_then_null(tmp_path: Path) -> None:
    with staged("public references", {"people": PEOPLE, "takes": TAKES}, tmp_path) as found:
        assert counted(found, "takes", "drug_id") == [1, 1, 0, 1, 1]
        assert counted(found, "takes", "other") == [0, 0, 3, 0, 1]
        assert found.key_view("keys", "takes", "other", len(DRUGS), 4).owner.tolist() == found.tables["takes"].entity.tolist()


def test_the_keys_of_an_association_are_counted_too(tmp_path: Path) -> None:
    gives = {"gid": [1, 2, 3, 4], "pid": [1, 1, 2, 2], "drug_id": [10, 30, 10, 99], "route": ["iv"] * 4}
    doses = {"gid": [1], "amount": [3]}
    with staged("association, the rest dropped", {"people": PEOPLE, "gives": gives, "doses": doses}, tmp_path) as found:
        assert counted(found, "gives", None) == [2, 0, 1, 0, 0]  # 99 is no public key: such a row was dropped


def test_a_table_that_refers_to_no_public_key_has_none_to_count(tmp_path: Path) -> None:
    notes = {"pid": [1], "kind": ["a"]}
    with (
        staged("independent", {"people": PEOPLE, "notes": notes}, tmp_path) as found,
        pytest.raises(InternalError, match="no pub"),
    ):
        counted(found, "notes", None)


def test_public_references_are_coded_by_what_was_chosen(tmp_path: Path) -> None:
    chosen = {"takes.drug_id": (0, 1, 2), "takes.other": (2,)}
    with staged("public references", {"people": PEOPLE, "takes": TAKES}, tmp_path, chosen) as found:
        codes = found.placed.tables["takes"].codes["rows"]
        rows = found.tables["takes"].row.tolist()
        by_row = {row: (int(codes["drug_id"][n]), int(codes["other"][n])) for n, row in enumerate(rows)}
        # What is no key has a code of its own; and so has a NULL that may not be.
        assert by_row == {0: (0, 0), 1: (1, 2), 2: (3, 0), 3: (3, 0)}
        assert found.notes.outside["takes.drug_id"] == 1


def test_a_key_that_was_not_chosen_is_the_rest_and_never_another_key(tmp_path: Path) -> None:
    with staged("public references", {"people": PEOPLE, "takes": TAKES}, tmp_path, {"takes.drug_id": (1,)}) as found:
        codes, rows = found.placed.tables["takes"].codes["rows"]["drug_id"], found.tables["takes"].row.tolist()
        assert {row: int(codes[n]) for n, row in enumerate(rows)} == {0: 1, 1: 0, 2: 1, 3: 1}


def test_earlier_rows_are_looked_for_under_the_same_parent_alone(tmp_path: Path) -> None:
    times = [[f"21{10 + k}-0{1 + k}-01" for k in range(3)] for _ in range(2)]
    moments = pa.array([moment for mine in times for moment in mine]).cast(pa.timestamp("us"))
    stays: dict[str, object] = {
        "sid": [1, 2, 3, 4, 5, 6],
        "pid": [1, 1, 1, 2, 2, 2],
        "begins": moments,
        "ends": moments,
        "ward": ["a"] * 6,
        "after_sid": [None, 1, 1, 3, 4, 6],  # 4 follows a row of somebody else, 6 follows itself, which this one may not
        "episode": [1, 1, 1, 4, 4, 1],
    }
    with staged("earlier rows", {"people": PEOPLE, "stays": stays}, tmp_path, {}) as found:  # type: ignore[dict-item]
        table, codes = found.tables["stays"], found.placed.tables["stays"].codes["rows"]
        by_row = {row: (int(codes["after_sid"][n]), int(codes["episode"][n])) for n, row in enumerate(table.row.tolist())}
    # after_sid: 0 and 1 are steps back, 2 is none. episode: one step back at most, then itself, then none.
    assert [after for after, _ in (by_row[row] for row in range(6))] == [2, 0, 1, 2, 0, 2]
    says = relations(related("earlier rows"), {}, {})["stays"].reference("episode")
    assert says is not None
    assert by_row[0][1] == by_row[3][1] == says.size - 2  # itself
    assert by_row[1][1] == by_row[4][1] == 0
    assert by_row[5][1] == says.size - 1  # another's


def test_whether_a_row_has_one_of_its_own_is_a_code(tmp_path: Path) -> None:
    rows: Rows = {
        "people": {**PEOPLE, "home_id": [7, 8]},
        "jobs": {"job_id": [1, 2, 3], "pid": [1, 1, 2], "place_id": [9, None, 77], "kind": ["a", "a", "b"]},
        "homes": {"home_id": [7, 8, 9], "region": ["north", "south", "north"]},
        "rooms": {"home_id": [9], "size": [4]},
    }
    with staged("rows of one's own", rows, tmp_path, {}) as found:
        jobs = found.placed.tables["jobs"].codes["rows"]["exists(place_id)"]
        assert dict(zip(found.tables["jobs"].row.tolist(), jobs.tolist(), strict=True)) == {0: 1, 1: 0, 2: 0}  # 77 is not there
        homes = found.tables["homes"]
        assert homes.owner is not None
        assert sorted(homes.owner.tolist()) == [0, 0, 1]


def test_the_head_of_an_association_counts_the_rest_alone(tmp_path: Path) -> None:
    kind = "association, the rest as rows"
    gives = {"pid": [1, 1, 2, 2], "drug_id": [10, 30, 20, 30], "dose": [1.0, 2.0, 3.0, 4.0], "route": ["iv"] * 4}
    head = next(g for g in column_groups(related(kind)) if (g.table, g.part) == ("gives", "head"))
    with staged(kind, {"people": PEOPLE, "gives": gives}, tmp_path, {"gives": (0, 1)}) as found:
        view = found.view(head, Domain(("drug_id",), (3,)), Domain((), ()), 4)
        (counts,) = view.counts([Marginal.of("drug_id")])
        assert counts.tolist() == [0, 0, 2]  # 10 and 20 have columns of their own in the context
        assert len(view.owner) == 2


def test_whoever_stands_in_for_a_missing_row_is_counted_nowhere(tmp_path: Path) -> None:
    moment = pa.array(["2110-01-01"]).cast(pa.timestamp("us"))
    rows: dict[str, object] = {
        "people": PEOPLE,
        "stays": {"sid": [5], "pid": [77], "begins": moment, "ends": moment, "ward": ["a"]},
        "notes": {"sid": [5, 500], "kind": ["a", "b"]},
        "calls": {"pid": [1], "kind": ["a"]},
    }
    with staged("orphans are entities", rows, tmp_path) as found:  # type: ignore[arg-type]
        assert found.entities == 4  # two people, whoever 77 is, and whoever had the stay 500
        assert len(found.entity_view("entities", "people").owner) == 2
        for table in ("stays", "notes"):
            (rows,) = found.rows_view("sizes", table, "people", (0, 1)).counts([Marginal.of(ROWS)])
            assert rows.tolist() == [2, 0]  # of people who are known: neither has one
        assert found.tables["stays"].counted_rows.tolist() == [0]
        assert found.values("stays")["ward"].to_pylist() == ["a", None]
