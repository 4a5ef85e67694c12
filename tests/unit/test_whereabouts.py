"""Where things are, by what the operating system knows; and which of them overlap."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mare.errors import SinkError
from mare.finding import file_place, folder_place, refuse_files_in, refuse_overlap
from mare.ports import Place
from mare.sampling.given_columns import refuse_given_in
from mare_adapters.dialects.mysql import Mysql
from mare_adapters.dialects.postgres import Postgres
from mare_adapters.locations import sql_location
from tests.memory_source import MemorySource


def test_a_file_is_one_whatever_it_is_called(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("x")
    os.link(file, tmp_path / "hard")
    (tmp_path / "soft").symlink_to("a")
    for other in ("hard", "soft", "./a", f"../{tmp_path.name}/a"):
        assert file_place(file).overlaps(file_place(tmp_path / other, within_folder=False)), other
    (tmp_path / "b").write_text("x")
    assert not file_place(file).overlaps(file_place(tmp_path / "b", within_folder=False))


def test_what_is_not_there_yet_is_known_by_its_folder_and_name(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    new = file_place(tmp_path / "new", within_folder=False)
    assert new.overlaps(file_place(tmp_path / "link" / "new", within_folder=False))
    assert not new.overlaps(file_place(tmp_path / "newer", within_folder=False))
    assert file_place(tmp_path / "new.db", beside=("-wal",)).overlaps(file_place(tmp_path / "new.db-wal", within_folder=False))
    assert file_place(tmp_path / "nowhere" / "new", within_folder=False) == Place(frozenset())


def test_folders_overlap_within_and_around_but_not_beside(tmp_path: Path) -> None:
    outer, inner, beside = tmp_path / "outer", tmp_path / "outer" / "inner", tmp_path / "beside"
    for folder in (outer, inner, beside):
        folder.mkdir()
    assert folder_place(outer).overlaps(folder_place(inner))
    assert folder_place(inner).overlaps(folder_place(outer))
    assert not folder_place(outer).overlaps(folder_place(beside))
    assert folder_place(outer).overlaps(file_place(inner / "f"))
    assert not folder_place(outer).overlaps(file_place(inner / "f", within_folder=False))


class Somewhere(MemorySource):
    """A source, or a sink, that tells where it is."""

    def __init__(self, place: Place) -> None:
        super().__init__({})
        self._place = place

    def place(self) -> Place:
        return self._place


def test_what_does_not_tell_where_it_is_is_not_refused(tmp_path: Path) -> None:
    here = Somewhere(file_place(tmp_path / "a"))
    with pytest.raises(SinkError, match=r"the target memory is the source memory.*Give another target"):
        refuse_overlap(here, here)  # type: ignore[arg-type]
    refuse_overlap(MemorySource({}), here)  # type: ignore[arg-type]
    refuse_overlap(here, MemorySource({}))  # type: ignore[arg-type]
    refuse_files_in(MemorySource({}), [("x", tmp_path / "a")])  # type: ignore[arg-type]


def test_a_given_file_within_the_target_is_refused_by_its_table(tmp_path: Path) -> None:
    target = Somewhere(folder_place(tmp_path / "out"))
    (tmp_path / "out").mkdir()
    refuse_given_in(target, {"patients": tmp_path / "p.csv"})  # type: ignore[arg-type]
    target = Somewhere(folder_place(tmp_path / "out"))
    with pytest.raises(SinkError, match=r"p\.csv \(given for patients\) is the target memory, or lies within it"):
        refuse_given_in(target, {"patients": str(tmp_path / "out" / "p.csv")})  # type: ignore[arg-type]


def _postgres(system: str | None, started: str, schemas: list[str], database: str = "5") -> Place:
    answers = {True: [[database, started, system is not None]], False: [[system]]}
    return Postgres().place(lambda query: answers["pg_database" in query], sql_location("postgresql://h/d"), schemas)


def test_a_postgresql_place_is_a_schema_of_a_database_of_a_cluster() -> None:
    here = _postgres("17", "1.000001", ["public", "hosp"])
    assert here.overlaps(_postgres("17", "9.5", ["hosp"]))  # a standby, which started later
    assert here.overlaps(_postgres(None, "1.000001", ["public"]))  # a user who may not ask for the system
    assert not here.overlaps(_postgres("18", "9.5", ["public"]))
    assert not here.overlaps(_postgres("17", "1.000001", ["other"]))
    assert not here.overlaps(_postgres("17", "1.000001", ["public"], database="6"))


def _mysql(database: str, **told: str) -> Place:

    def ask(query: str) -> list[tuple[str, ...]]:
        return list(told.items()) if query.strip().startswith("SHOW") else [(database,)]

    return Mysql().place(ask, sql_location("mysql://h/d"), ())


def test_a_mysql_place_is_a_database_of_a_server_in_its_own_case() -> None:
    assert _mysql("ehr", server_uuid="u", hostname="a").overlaps(_mysql("ehr", server_uuid="u", hostname="b"))
    assert not _mysql("ehr", server_uuid="u").overlaps(_mysql("ehr", server_uuid="v"))
    assert not _mysql("ehr", hostname="a", port="1").overlaps(_mysql("ehr", hostname="a", port="2"))
    for setting, one in (("0", False), ("1", True), ("2", True)):
        told = {"hostname": "a", "port": "1", "datadir": "/d", "lower_case_table_names": setting}
        assert _mysql("Ehr", **told).overlaps(_mysql("ehr", **told)) is one
