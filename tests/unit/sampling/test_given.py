"""`given`: rows of one's own come out as they are, and everything that belongs to them is drawn; what cannot be is said."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mare.errors import PlanError, SourceError
from mare.fitting import FitOptions, fit, run_fit
from mare.planning.planning import plan
from mare.ports import WorkStep
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.release import Release
from mare.sampling import SampleOptions, sample, start
from mare.sampling.given import STEPS
from mare.schema import Schema
from mare.schema.loading import load_schema
from tests.datasets import dataset
from tests.every_type import fitted_every_type
from tests.fitted_hospital import fitted_hospital
from tests.integrity import faults
from tests.relations import EVERY_KIND, givable, related

Frames = dict[str, pd.DataFrame]


@cache
def fitted(kind: str) -> Release:
    return fitted_schema(related(kind))


def fitted_schema(schema: Schema) -> Release:
    return run_fit(plan(schema, Budget(200.0, 1e-6)), dataset(schema, 1, 60), FitOptions(bits=SeededBits(1)))


def drawn(release: Release, **wishes: object) -> Frames:
    found = sample(release, **wishes)  # type: ignore[arg-type]
    assert found is not None
    return found


def same_rows(one: pd.DataFrame, two: pd.DataFrame) -> bool:
    columns = list(one.columns)
    return bool(
        one.astype(str)
        .sort_values(columns)
        .reset_index(drop=True)
        .equals(two[columns].astype(str).sort_values(columns).reset_index(drop=True))
    )


@pytest.mark.parametrize("write", [str, int, lambda key: f" {key}.0 "], ids=["text", "number", "with decimals"])
def test_long_keys_come_out_to_the_last_digit(write: Callable[[int], object]) -> None:
    """Keys of 19 digits are common (numbers of messages, hashes), and no double holds them."""
    keys = [1_600_000_000_000_000_001, 1_600_000_000_000_000_002, 2**63 - 1, -(2**63) + 1, 12]
    people = pd.DataFrame({"pid": list(map(write, keys)), "sex": "F"})
    after = drawn(fitted("independent"), given={"people": people})
    assert after["people"]["pid"].tolist() == keys
    assert set(after["notes"]["pid"]) <= set(keys)


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_what_was_sampled_is_sound_and_can_be_given_back(kind: str) -> None:
    release = fitted(kind)
    before = drawn(release, entities=40, seed=5)
    assert faults(release.schema, before) == []
    assert all(len(frame) for frame in before.values())
    possible = givable(release.schema)
    # Owners of one table are given together.
    fewest = {"rows of one's own": 2, "rows of an association's own": 3}.get(kind, 1)
    for number in range(fewest, len(possible) + 1):
        given = {table: before[table] for table in possible[:number]}
        after = drawn(release, given=given, seed=9)
        assert faults(release.schema, after) == []
        assert all(same_rows(before[table], after[table]) for table in given)
        parts: dict[str, list[pa.RecordBatch]] = {}
        for some in start(release, SampleOptions(seed=9, given=given, chunk=7, threads=2)).batches():
            for table, batch in some.items():
                parts.setdefault(table, []).append(batch)
        for table, frame in after.items():
            pd.testing.assert_frame_equal(pa.Table.from_batches(parts[table]).to_pandas(), frame, check_dtype=False)


def test_what_is_drawn_hangs_on_what_is_given() -> None:
    """The models look at the given rows: children of F and of M are drawn as the release has them for each."""
    schema = load_schema(
        """
mare: 1
entity: people
model: privbayes
tables:
  people: {key: pid, columns: {sex: {type: category, values: [F, M]}}}
  notes:
    key: nid
    parent: {table: people, column: pid, max_rows: 3}
    columns: {kind: {type: category, values: [a, b]}}
"""
    )
    people = pd.DataFrame({"pid": range(2000), "sex": ["F", "M"] * 1000})
    notes = pd.DataFrame({"nid": range(2000), "pid": range(2000), "kind": ["a", "b"] * 1000})
    release = fit(plan(schema, Budget(200, 1e-6)), {"people": people, "notes": notes}, unsafe_seed=1)
    women = drawn(release, given={"people": pd.DataFrame({"pid": range(500, 700), "sex": "F"})})
    assert (women["notes"]["kind"] == "a").mean() > 0.95
    assert women["notes"]["pid"].between(500, 699).all()
    assert women["people"]["pid"].tolist() == list(range(500, 700))


@pytest.mark.parametrize(
    "form", ["csv", "parquet", "frame", *(pytest.param(form, marks=pytest.mark.slow) for form in ("csv.gz", "arrow"))]
)
def test_rows_come_from_files_and_frames(form: str, tmp_path: Path) -> None:
    before = drawn(fitted_every_type(), entities=60, seed=3)
    given: dict[str, object] = {}
    for table in ("people", "stays"):
        frame, path = before[table], tmp_path / f"{table}.{form}"
        if form.startswith("csv"):
            columns = {name: _as_written(frame[name]) for name in frame}
            pd.DataFrame(columns).to_csv(path, index=False)
            given[table] = str(path)
        elif form == "parquet":
            frame.to_parquet(path)
            given[table] = path
        else:
            given[table] = frame if form == "frame" else pa.Table.from_pandas(frame)
    if form.startswith("csv"):
        # pandas writes the empty text as it writes NULL; what is left out is filled in.
        given = {table: _without_texts(Path(str(path))) for table, path in given.items()}
    after = drawn(fitted_every_type(), given=given, seed=4)
    assert faults(fitted_every_type().schema, after) == []
    for table in ("people", "stays"):
        assert same_rows(before[table].drop(columns="memo", errors="ignore"), after[table])
    assert len(after["labs"])


def _as_written(values: pd.Series) -> pd.Series:
    return values.dt.total_seconds() if str(values.dtype).startswith("timedelta") else values


def _without_texts(path: Path) -> Path:
    pd.read_csv(path, dtype=str, keep_default_na=False).drop(columns="memo", errors="ignore").to_csv(path, index=False)
    return path


def test_columns_that_can_be_worked_out_may_be_left_out() -> None:
    before = drawn(fitted_every_type(), entities=30, seed=3)["people"]
    few = before.drop(columns=["bmi", "double", "note", "remark", "memo", "uid", "diagnosis"])
    after = drawn(fitted_every_type(), given={"people": few})["people"]
    assert after["double"].tolist() == before["double"].tolist()
    assert after["diagnosis"].fillna("").tolist() == before["diagnosis"].fillna("").tolist()
    assert after["uid"].is_unique


def test_values_outside_their_domain_stay_and_a_word_is_said() -> None:
    given = pd.DataFrame({"pid": [7, 5], "sex": ["X", "F"], "age": [30, 900]})
    sampling = start(fitted_hospital(), SampleOptions(given={"patients": given}))
    for column in ("sex", "age"):
        assert any(f"patients.{column}: 1 values outside its domain stay" in note for note in sampling.notes)
    assert any("guarantee is not about them" in note for note in sampling.notes)
    after = drawn(fitted_hospital(), given={"patients": given})
    assert after["patients"]["pid"].tolist() == [7, 5]
    assert after["patients"]["sex"].tolist() == ["X", "F"]
    assert after["patients"]["age"].tolist() == [30, 900]


def test_a_list_may_be_longer_than_the_cap() -> None:
    release = fitted("context of a sequence")
    before = drawn(release, entities=3, seed=1)
    stays = pd.concat([drawn(release, entities=30, seed=s)["stays"] for s in range(3)]).head(9)
    stays = stays.assign(pid=before["people"]["pid"][0], sid=range(9)).sort_values("begins").reset_index(drop=True)
    after = drawn(release, given={"people": before["people"], "stays": stays})
    assert after["stays"]["sid"].tolist() == stays["sid"].tolist()
    assert set(after["notes"]["sid"]) <= set(range(9))


def test_nobody_may_be_given() -> None:
    none = drawn(fitted_hospital(), entities=0)["patients"]
    after = drawn(fitted_hospital(), given={"patients": none})
    assert [len(frame) for frame in after.values()] == [0, 0]


def _with(table: str, change: Callable[[pd.DataFrame], pd.DataFrame]) -> Callable[[Frames], dict[str, object]]:
    return lambda frames: {**frames, table: change(frames[table])}


FAULTS: dict[str, tuple[str, Callable[[Frames], dict[str, object]], str]] = {
    "unknown table": (
        "independent",
        lambda f: {"persons": f["people"]},
        "no table 'persons' to be given. There are: people, notes",
    ),
    "public table": ("association", lambda f: {"drugs": f["drugs"]}, "drugs cannot be given: it comes with the release"),
    "pool": ("pools", lambda f: {"staff": f["staff"]}, "it is made anew"),
    "owned table": ("rows of one's own", lambda f: {"homes": f["homes"]}, "its rows come with their owners'"),
    "parents not given": ("independent", lambda f: {"notes": f["notes"]}, "belong to rows of people, so give those too"),
    "missing column": ("independent", _with("people", lambda p: p.drop(columns="sex")), "sex is missing"),
    "missing key": ("independent", _with("people", lambda p: p.drop(columns="pid")), "pid is missing"),
    "duplicate key": ("independent", _with("people", lambda p: p.assign(pid=1)), "pid is a key, but 39 rows repeat"),
    "NULL key": (
        "independent",
        _with("people", lambda p: p.assign(pid=p["pid"].astype("Int64").mask(p["pid"] == 3))),
        "pid: 1 values are missing, and none may be",
    ),
    "NULL parent": ("independent", _with("notes", lambda n: n.assign(pid=None)), "values are missing, and none may be"),
    "broken parent": ("independent", _with("notes", lambda n: n.assign(pid=999)), "is not among the rows given for people"),
    "no whole number": (
        "pools",
        lambda f: {"people": f["people"].assign(pid=[*range(1, 40), 0.5])},
        "1 values cannot be read as",
    ),
    "too long a number": (
        "pools",
        lambda f: {"people": f["people"].assign(pid=[*map(str, range(1, 40)), "9223372036854775808"])},
        "1 values cannot be read as integer",
    ),
    "no number": ("pools", lambda f: {"people": f["people"].assign(pid="x")}, "40 values cannot be read as integer"),
    "broken public key": (
        "public references",
        _with("takes", lambda t: t.assign(drug_id=999)),
        "a key of the public table drugs",
    ),
    "broken public key of several columns": (
        "public keys of several columns",
        lambda f: {"people": f["people"], "visits": f["visits"].assign(at_number=range(len(f["visits"])))},
        "a key of the public table stations",
    ),
    "broken association": (
        "association",
        _with("gives", lambda g: g.assign(drug_id=range(900, 900 + len(g)))),
        "a key of the public table drugs",
    ),
    "outside the pool": (
        "pools",
        _with("notes", lambda n: n.assign(staff_id=range(77, 77 + len(n)))),
        "a row of staff, which is made anew",
    ),
    "table referred to not given": (
        "same entity, by position",
        lambda f: {name: f[name] for name in ("people", "labs")},
        "leads to stays, which is not given",
    ),
    "another's row": (
        "same entity, by position",
        _with("labs", lambda labs: labs.assign(sid=np.roll(labs["sid"].to_numpy(), 7))),
        "leads to a row of stays that is another's",
    ),
    "broken partner": (
        "other entities",
        _with("people", lambda p: p.assign(partner_id=999)),
        "a row of people that is given too",
    ),
    "copy that says otherwise": (
        "composite keys",
        _with("notes", lambda n: n.assign(p2=n["p2"] + 1)),
        "is not that of the row of people they belong to",
    ),
    "one row owned twice": (
        "rows of one's own",
        _with("people", lambda p: p.assign(home_id=1)),
        "refer to the same row of homes",
    ),
    "owners that are not given": ("rows of one's own", lambda f: {"people": f["people"]}, "Give jobs too"),
    "no rows at all": ("independent", lambda f: {"people": 7}, "neither a frame nor the path of a file"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_cannot_be_is_said(fault: str) -> None:
    kind, change, says = FAULTS[fault]
    release = fitted(kind)
    before = drawn(release, entities=40, seed=5)
    frames = {table: before[table] for table in givable(release.schema)}
    given = change({**before, **frames} if fault in ("public table", "pool", "owned table") else frames)
    with pytest.raises(SourceError, match=re.escape(says)):
        drawn(release, given=given)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("none.csv", None, "there is no file"),
        ("people.txt", b"pid,sex\n", "neither .csv, .csv.gz nor .parquet"),
        ("people.parquet", b"pid,sex\n", "cannot be read"),
        ("people.csv", b"pid,sex\n1,F,3\n", "cannot be read"),
        ("people.csv", b"pid,sex\n1,\xff\n", "cannot be read"),
        ("people.csv.gz", b"pid,sex\n", "cannot be read"),
        ("people.csv", b"", "cannot be read"),
        ("people.csv", b"pid;sex;pid\n1;F;2\n", "pid are there more than once"),
    ],
)
def test_a_file_that_is_none_is_said(name: str, content: bytes | None, says: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(SourceError, match=re.escape(says)):
        drawn(fitted("independent"), given={"people": tmp_path / name})


def test_no_value_gets_into_a_message() -> None:
    people = pd.DataFrame({"pid": ["secret-1", "secret-1"], "sex": ["F", "M"]})
    with pytest.raises(SourceError) as refused:
        drawn(fitted("independent"), given={"people": people})
    assert "secret" not in str(refused.value)


def test_the_given_rows_say_how_many_there_are() -> None:
    people = drawn(fitted("independent"), entities=3)["people"]
    for wish in ({"entities": 5}, {"where": "sex = 'F'"}):
        with pytest.raises(PlanError, match="leave out one of the two"):
            drawn(fitted("independent"), given={"people": people}, **wish)


def test_columns_that_the_table_does_not_have_are_left_out_with_a_word() -> None:
    people = drawn(fitted("independent"), entities=3)["people"].assign(shoe=42)
    sampling = start(fitted("independent"), SampleOptions(given={"people": people}))
    assert any("shoe is left out" in note for note in sampling.notes)
    assert "shoe" not in drawn(fitted("independent"), given={"people": people})["people"]


def test_every_step_of_every_table_is_told_as_it_begins() -> None:
    made = sample(fitted_hospital(), entities=50, seed=2)
    assert made is not None
    given = {name: made[name] for name in ("patients", "stays")}
    told: list[WorkStep] = []
    start(fitted_hospital(), SampleOptions(given=given), told.append)
    assert sorted(step.what for step in told) == sorted(f"{step} {table}" for step in STEPS for table in given)
    assert [step.before for step in told] == list(range(8))
    assert {step.total for step in told} == {8}
