"""D and D′ are two databases, written by a user's own means and read through mare's adapters: does the odd patient show?

Whatever a format lets one patient's rows hold, neither is refused, the rows of everybody else are read as they are without
them, and the catalogue, the questions, the scales and the release are the same. Reading is compared for every oddity;
whole fits for some, and for all of them in `make test-all`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import duckdb
import pytest

from mare.audit import physical_audit
from mare.finding import Location, open_source
from mare.planning import Plan
from mare.privacy.tape import Moved
from mare.stage import needs
from mare.stage.loading import load_rows, reading_of
from tests.privacy.physical_formats import WRITERS, Write, write_parquet
from tests.privacy.physical_hospital import ODD, SCHEMA, Rows, hospital, odd_patient, own, planned, without
from tests.privacy.physical_oddities import BY_FORMAT, EVERYWHERE, Odd

QUICK = {
    "sqlite": {"nothing odd", "text in a date", "text in an order"},
    "frames": {"NULL keys"},
    "csv": {"text that is not UTF-8"},
    "parquet": {"text that is not UTF-8"},
    "duckdb": {"infinity for a date"},
}
"""Whole fits of `make test`; the others are slow."""
FORMS = [pytest.param(form, marks=[] if form == "sqlite" else [pytest.mark.slow]) for form in WRITERS]
"""For what does not depend on how a format spells its values: a database stands for the others in `make test`."""
CASES = [
    pytest.param(
        form,
        name,
        id=f"{form}: {name}",
        marks=[] if form == "sqlite" or name in QUICK[form] or (name not in EVERYWHERE and place % 2) else [pytest.mark.slow],
    )
    for form, oddities in BY_FORMAT.items()
    for place, name in enumerate(oddities)
]
"""For `make test` all that a database can hold, and every second thing that another format alone can."""
FITS = [
    pytest.param(form, name, id=f"{form}: {name}", marks=[] if name in QUICK[form] else [pytest.mark.slow])
    for form, oddities in BY_FORMAT.items()
    for name in oddities
    if name in {*QUICK[form], "nothing odd"} or name not in EVERYWHERE or form in ("sqlite", "csv")
]
"""What every format can hold is fitted from a database and from a folder: others are read alike, as `CASES` show."""


def nobody_shows(there: Location, gone: Location, made: Plan | None = None, moved: Moved = "paid for") -> None:
    report = physical_audit(made or planned(), there, gone, moved=moved)
    assert report.passed, report.render()
    assert report.queries


def folders(path: Path) -> tuple[Path, Path]:
    for name in ("with", "without"):
        (path / name).mkdir()
    return path / "with", path / "without"


def described(odd: Odd) -> Plan:
    usual = "sex: {type: category, values: [F, M], nullable: true}"
    return planned(SCHEMA.replace(usual, f"sex: {odd.described}") if odd.described else SCHEMA)


def writer(form: str, odd: Odd) -> Write:
    return partial(WRITERS[form], special=odd.special) if odd.special else WRITERS[form]


def written(form: str, name: str, path: Path) -> tuple[Location, Location, Plan]:
    odd = BY_FORMAT[form][name]
    write = writer(form, odd)
    there, gone = map(write, folders(path), odd_patient(odd.changes, odd.everybody))
    return there, gone, described(odd)


Read = dict[str, tuple[list[object], Counter[object]]]


def read(location: Location, made: Plan) -> Read:
    """Of each table, the types of its columns and the hashes of its rows, as staged: before anything is joined or cut."""
    found: Read = {}
    tables = needs(made.schema, [planned.group for planned in made.groups])
    connection = _database()
    with open_source(location) as source:
        for table in tables:
            reading = reading_of(table, tables, source.reflect(), {})
            connection.execute(f"DROP TABLE IF EXISTS {table.name}")
            load_rows(connection, table.name, table, source.read(table.name, reading.columns(table)), b"key", reading)
            rows = connection.execute(f"SELECT h FROM {table.name}").fetchall()  # of everything that is staged
            types = [described[:2] for described in connection.execute(f"DESCRIBE {table.name}").fetchall()]
            found[table.name] = types, Counter(rows)
    return found


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """One for all that is read here: to begin one takes longer than to read a dozen patients."""
    return duckdb.connect()


def others_are_read_alike(with_them: Read, without_them: Read, lost: Rows) -> None:
    for table, (types, rows) in without_them.items():
        assert with_them[table][0] == types, f"the types of {table} are others"
        assert not rows - with_them[table][1], f"rows of others in {table} are read in another way"
        assert with_them[table][1].total() - rows.total() == len(lost[table]), f"{table} has more or fewer rows than were written"


_RESTS: dict[str, Read] = {}


def an_odd_patient_changes_nothing_for_others(form: str, odd: Odd, written: Callable[[Rows], Location]) -> None:
    """The hospital without the odd patient is the same for most oddities of a format: it is written and read once for them."""
    rows, rest = odd_patient(odd.changes, odd.everybody)
    made, alike = described(odd), repr((form, odd.special, odd.described, rest))
    if alike not in _RESTS:
        _RESTS[alike] = read(written(rest), made)
    others_are_read_alike(read(written(rows), made), _RESTS[alike], own(hospital()))


@pytest.mark.parametrize(("form", "name"), CASES)
def test_everybody_else_is_read_as_without_the_odd_patient(form: str, name: str, tmp_path: Path) -> None:
    odd = BY_FORMAT[form][name]
    write, places = writer(form, odd), iter(folders(tmp_path))
    an_odd_patient_changes_nothing_for_others(form, odd, lambda rows: write(next(places), rows))


@pytest.mark.parametrize(("form", "name"), FITS)
def test_an_odd_patient_does_not_show_in_a_fit(form: str, name: str, tmp_path: Path) -> None:
    nobody_shows(*written(form, name, tmp_path))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("place", ["first", "last"])
def test_the_first_and_the_last_rows_of_a_file_are_like_any(form: str, place: str, tmp_path: Path) -> None:
    rows = hospital()
    theirs = own(rows)
    rest = without(rows, theirs)
    moved = {name: theirs[name] + rest[name] if place == "first" else rest[name] + theirs[name] for name in rows}
    there, gone = folders(tmp_path)
    nobody_shows(WRITERS[form](there, moved), WRITERS[form](gone, rest))


@pytest.mark.parametrize("form", FORMS)
def test_the_only_patient_with_stays(form: str, tmp_path: Path) -> None:
    """Without them two tables are empty."""
    rows = hospital()
    theirs = own(rows)
    rows["stays"], rows["events"] = theirs["stays"], theirs["events"]
    there, gone = folders(tmp_path)
    nobody_shows(WRITERS[form](there, rows), WRITERS[form](gone, without(rows, theirs)))


@pytest.mark.parametrize("form", FORMS)
def test_the_only_patient_at_all(form: str, tmp_path: Path) -> None:
    theirs = own(hospital())
    there, gone = folders(tmp_path)
    nobody_shows(WRITERS[form](there, theirs), WRITERS[form](gone, without(theirs, theirs)))


@pytest.mark.parametrize("form", FORMS)
def test_rows_that_are_there_twice(form: str, tmp_path: Path) -> None:
    rows = hospital()
    for table in ("stays", "events"):
        mine = own(rows)[table]
        rows[table] += [dict(row, **({"sid": None} if table == "stays" else {})) for row in mine for _ in range(3)]
    theirs = own(rows)
    there, gone = folders(tmp_path)
    nobody_shows(WRITERS[form](there, rows), WRITERS[form](gone, without(rows, theirs)))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("whose", ["another's", "their own"])
def test_a_stay_whose_key_somebody_else_has_too(form: str, whose: str, tmp_path: Path) -> None:
    """No database checked it. Whoever leaves, the rows of the other one stay what they are."""
    rows = hospital()
    theirs = own(rows)
    theirs["stays"][0]["sid"] = (theirs["stays"][1] if whose == "their own" else own(rows, ODD + 1)["stays"][0])["sid"]
    there, gone = folders(tmp_path)
    nobody_shows(WRITERS[form](there, rows), WRITERS[form](gone, without(rows, theirs)))


@pytest.mark.parametrize("form", FORMS)
def test_a_stay_that_says_it_is_somebody_elses(form: str, tmp_path: Path) -> None:
    """It is theirs then: it goes with them, with its events."""
    rows = hospital()
    for stay in own(rows)["stays"]:
        stay["pid"] = ODD + 1
    theirs = own(rows, ODD + 1)
    there, gone = folders(tmp_path)
    nobody_shows(WRITERS[form](there, rows), WRITERS[form](gone, without(rows, theirs)))


def many_events(odd: dict[str, object], at: int) -> tuple[Rows, Rows]:
    """More rows than a batch holds; the odd patient's event stands at this place."""
    rows = hospital()
    theirs = own(rows)
    sids = [stay["sid"] for stay in rows["stays"] if stay["pid"] != ODD]
    rest = [{"sid": sids[n % len(sids)], "seq": n, "value": float(n % 100)} for n in range(33_000)]
    event = {"sid": theirs["stays"][0]["sid"], "seq": 1, "value": 5.0, **odd}
    rows["events"] = [*rest[:at], event, *rest[at:]]
    theirs["events"] = [event]
    return rows, without(rows, theirs)


@pytest.mark.parametrize("at", [32_768, *(pytest.param(at, marks=pytest.mark.slow) for at in (0, 32_767, 33_000))])
@pytest.mark.parametrize(
    ("form", "odd"), [("sqlite", {"value": "high"}), ("frames", {"value": "high"}), ("csv", {"value": "high"}), ("parquet", {})]
)
def test_an_odd_value_changes_no_other_of_its_batch(form: str, odd: dict[str, object], at: int, tmp_path: Path) -> None:
    rows, rest = many_events(odd, at)
    there, gone = folders(tmp_path)
    lost: Rows = {**own(hospital()), "events": [{}]}
    with_them, without_them = (read(WRITERS[form](*pair), planned()) for pair in ((there, rows), (gone, rest)))
    others_are_read_alike(with_them, without_them, lost)


@pytest.mark.parametrize("part", ["00", "05", "99"])
def test_a_part_of_a_file_that_is_one_patients_alone(part: str, tmp_path: Path) -> None:
    """A part for each patient, the odd one's first, in the middle or last. Without them, that part was never written."""
    rows = hospital()
    theirs = own(rows)
    sids = {row["sid"] for row in theirs["stays"]}

    def part_of(row: dict[str, object]) -> str:
        return part if row.get("pid") == ODD or row.get("sid") in sids else "03" if row.get("pid", 1) == 1 else "07"

    there, gone = folders(tmp_path)
    rest = without(rows, theirs)
    nobody_shows(write_parquet(there, rows, parts=part_of), write_parquet(gone, rest, parts=part_of))


@pytest.mark.parametrize("form", FORMS)
def test_rows_and_columns_in_another_order_change_nothing(form: str, tmp_path: Path) -> None:
    rows = hospital()
    turned: Rows = {name: [dict(reversed(row.items())) for row in content[::-1]] for name, content in reversed(rows.items())}
    there, gone = folders(tmp_path)
    nobody_shows(WRITERS[form](there, rows), WRITERS[form](gone, turned), moved="not at all")


def test_parts_under_other_names_and_in_another_order_change_nothing(tmp_path: Path) -> None:
    def numbered(row: dict[str, object], turned: bool) -> str:
        part = len(repr(sorted(row.items(), key=str))) % 3
        return str(9 - part if turned else part)

    there, gone = folders(tmp_path)
    straight = write_parquet(there, hospital(), parts=lambda row: numbered(row, False))
    nobody_shows(straight, write_parquet(gone, hospital(), parts=lambda row: numbered(row, True)), moved="not at all")
