"""Keys that a database takes for the same although they are spelled otherwise: NOCASE of SQLite, _ci of MySQL, blanks at the end.

A row is read as it is spelled, or as a rule that looks at that row alone would have it; never as a row of somebody else has it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mare.finding import Location
from tests.privacy.physical_formats import SQLITE, write_sqlite
from tests.privacy.physical_hospital import ODD, SCHEMA, Rows, hospital, own, planned, with_text_keys, without
from tests.privacy.physical_servers import MysqlWriter
from tests.privacy.test_physical_neighbours import folders, nobody_shows, others_are_read_alike, read
from tests.servers import MysqlServer

Write = Callable[[Path, Rows], Location]
ME, OTHER = f"P{ODD}", f"P{ODD + 1}"
TEXT_KEYS = {**SQLITE, "key": "TEXT"}


def nocase(path: Path, rows: Rows) -> Location:
    """Texts that are compared without regard to case, and a unique index that looks at every letter."""
    special = {
        "patients.pid": "TEXT COLLATE NOCASE",
        "stays.pid": 'TEXT COLLATE NOCASE REFERENCES "patients" (pid)',
        "stays.sid": "TEXT COLLATE NOCASE",
        "stays.ward": 'TEXT COLLATE NOCASE REFERENCES "patients" (pid)',
        "events.sid": 'TEXT COLLATE NOCASE REFERENCES "stays" (sid)',
    }
    unique = [
        "CREATE UNIQUE INDEX whole_pid ON patients (pid COLLATE BINARY)",
        "CREATE UNIQUE INDEX whole_sid ON stays (sid COLLATE BINARY)",
    ]
    return write_sqlite(path, rows, special, TEXT_KEYS, unique)


def nocase_key(path: Path, rows: Rows) -> Location:
    """Without regard to case throughout: the key is one, too."""
    special = {
        "patients.pid": "TEXT COLLATE NOCASE PRIMARY KEY",
        "stays.pid": 'TEXT REFERENCES "patients" (pid)',
        "stays.ward": 'TEXT REFERENCES "patients" (pid)',
    }
    return write_sqlite(path, rows, special, TEXT_KEYS)


def respelled(name: str) -> tuple[Rows, Rows]:
    """D and D′ in which keys are spelled in two ways."""
    rows = with_text_keys(hospital())
    theirs = own(rows, ME)
    if name == "a key that is another's in other letters":
        theirs["patients"][0]["pid"] = OTHER.lower()
        for stay in theirs["stays"]:
            stay["pid"] = OTHER.lower()
    elif name == "a stay's key that is another's in other letters":
        theirs["stays"][0]["sid"] = own(rows, OTHER)["stays"][0]["sid"].lower()
    elif name == "their own stays in other letters":
        for stay in theirs["stays"]:
            stay["pid"] = ME.lower()
    elif name == "others name them in other letters":
        for stay in rows["stays"]:
            if stay["pid"] != ME:
                stay["ward"] = ME.lower()
    elif name == "blanks at the end":
        for stay in theirs["stays"]:
            stay["pid"] = f"{ME}  "
    return rows, without(rows, theirs)


NAMED = SCHEMA.replace("ward: {type: category, values: [a, b, c]", f"ward: {{type: category, values: [{ME}, {ME.lower()}]")
BOTH_UNIQUE = ("a key that is another's in other letters", "a stay's key that is another's in other letters")
SPELLED = ("their own stays in other letters", "others name them in other letters", "blanks at the end")


@pytest.mark.parametrize("name", [*BOTH_UNIQUE, *SPELLED])
@pytest.mark.parametrize("write", [nocase, pytest.param(nocase_key, marks=pytest.mark.slow)])
def test_a_key_in_another_spelling_is_nobody_elses(write: Write, name: str, tmp_path: Path) -> None:
    if write is nocase_key and name == BOTH_UNIQUE[0]:
        pytest.skip("such a key is one key there: the database refuses the row")
    rows, rest = respelled(name)
    there, gone = (write(folder, content) for folder, content in zip(folders(tmp_path), (rows, rest), strict=True))
    made = planned(NAMED)
    others_are_read_alike(read(there, made), read(gone, made), own(with_text_keys(hospital()), ME))
    nobody_shows(there, gone, planned(NAMED))


@pytest.mark.slow
@pytest.mark.parametrize("name", SPELLED)
def test_a_key_that_mysql_takes_for_the_same_is_nobody_elses(name: str, either_server: MysqlServer) -> None:
    rows, rest = respelled(name)
    write = MysqlWriter(either_server, text_keys=True)
    there, gone = write(rows), write(rest)
    made = planned(NAMED)
    others_are_read_alike(read(there, made), read(gone, made), own(with_text_keys(hospital()), ME))
    nobody_shows(there, gone, planned(NAMED))
