"""What is seen of columns beside each other, on request: the same for a person, a copy, never before another."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pytest

from mare.schema.reflection import Compared
from mare_adapters.sources.comparing import compare_columns

NOTHING = Compared()
ROWS = 600


def seen(columns: Mapping[str, object], by: str | None = None) -> Mapping[str, Compared]:
    texts = {
        name: pa.array([None if v is None else str(v) for v in np.asarray(held, dtype=object)]) for name, held in columns.items()
    }
    table = pa.table(texts)
    return compare_columns(table.to_batches(max_chunksize=250), by)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(2)


def test_times_to_events_follow_each_other_and_what_has_nothing_to_do_with_them_does_not(rng: np.random.Generator) -> None:
    relapse = rng.integers(1, 3000, ROWS)
    death = relapse + np.where(rng.random(ROWS) < 0.6, 0, rng.integers(1, 900, ROWS))
    told = seen({"age": rng.integers(20, 90, ROWS), "relapse": relapse, "death": death, "nodes": rng.integers(0, 20, ROWS)})
    assert told["death"] == Compared(follows="relapse")
    assert {told["age"], told["nodes"], told["relapse"]} == {NOTHING}


def test_of_several_the_nearest_is_followed(rng: np.random.Generator) -> None:
    day = np.datetime64("2020-01-01") + rng.integers(0, 700, ROWS)
    told = seen({"screened": day, "dosed": day + 14, "left": day + 14 + rng.integers(1, 99, ROWS)})
    assert (told["dosed"].follows, told["left"].follows) == ("screened", "dosed")


def test_one_exception_is_enough_to_say_nothing(rng: np.random.Generator) -> None:
    first = rng.integers(1, 3000, ROWS)
    second = first.copy()
    second[7] = first[7] - 1
    assert seen({"first": first, "second": second})["second"] == NOTHING


def test_a_column_that_holds_what_another_does_is_a_copy_of_the_first(rng: np.random.Generator) -> None:
    term = rng.choice(["a", "b", "c"], ROWS)
    other = np.where(np.arange(ROWS) == 5, "d", term)
    told = seen({"term": term, "decoded": term, "other": other, "empty": [None] * ROWS, "void": [None] * ROWS})
    assert told["decoded"].repeats == "term"
    assert {told[name].repeats for name in ("term", "other", "empty", "void")} == {None}


def test_what_never_changes_for_a_person_is_told_and_what_never_changes_at_all_is_not(rng: np.random.Generator) -> None:
    who = np.repeat(np.arange(ROWS // 3), 3)
    sex, weight = rng.choice(["m", "f"], ROWS // 3)[who], rng.integers(40, 99, ROWS)
    told = seen({"who": who, "sex": sex, "weight": weight, "study": ["S1"] * ROWS}, by="who")
    assert {name for name, column in told.items() if column.same} == {"sex"}
    assert "who" not in told


def test_few_rows_say_nothing() -> None:
    told = seen({"a": range(30), "b": range(30), "c": range(1, 31)})
    assert set(told.values()) == {NOTHING}


def test_what_the_row_above_says_is_a_copy_and_what_never_comes_before_it_follows(rng: np.random.Generator) -> None:
    who = np.repeat(np.arange(ROWS // 3), 3)
    screened = np.datetime64("2020-01-01") + rng.integers(0, 700, ROWS // 3)
    people = {
        "id": np.arange(ROWS // 3),
        "study": ["S1"] * (ROWS // 3),
        "born": screened - 20000,
        "screened": screened,
        "left": screened + 99,
    }
    above = pa.table({name: pa.array([str(v) for v in held]) for name, held in people.items()})
    rows = {"who": who, "study": ["S1"] * ROWS, "first": screened[who], "seen": screened[who] + rng.integers(0, 90, ROWS)}
    below = pa.table({name: pa.array([str(v) for v in held]) for name, held in rows.items()})
    told = compare_columns(below.to_batches(), "who", (above.to_batches(), "id"))
    assert {name: column.copies for name, column in told.items()} == {"study": "study", "first": "screened", "seen": None}
    assert (told["seen"].begins, told["seen"].ends) == ("screened", "left")


def test_an_infinite_value_is_no_distance_from_another(rng: np.random.Generator) -> None:
    first = rng.integers(1, 3000, ROWS).astype(float)
    second = first + rng.integers(0, 9, ROWS)
    first[3] = second[3] = np.inf
    assert seen({"first": first, "second": second})["second"] == Compared(follows="first")


def test_intervals_that_never_overlap_are_told_and_those_that_do_are_not(rng: np.random.Generator) -> None:
    who, steps = np.repeat(np.arange(ROWS // 3), 3), rng.integers(1, 90, (ROWS // 3, 3))
    stop = np.cumsum(steps, axis=1).ravel()
    start = stop - steps.ravel()
    told = seen({"who": who, "visit": np.tile([1, 2, 3], ROWS // 3), "start": start, "stop": stop}, by="who")
    assert (told["start"].apart, told["visit"].counts, told["start"].counts) == ("stop", True, False)
    assert seen({"who": who, "start": start, "stop": stop + 30}, by="who")["start"].apart is None
    assert seen({"who": who, "start": start, "again": start}, by="who")["start"].apart is None


def test_where_only_the_beginning_was_read_it_is_told_of_how_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mare_adapters.sources.comparing._CELLS", 600)
    columns = {"a": range(ROWS), "b": range(ROWS)}
    assert {told.rows for told in seen(columns).values()} == {500}
    monkeypatch.setattr("mare_adapters.sources.comparing._CELLS", 2 * ROWS)
    assert {told.rows for told in seen(columns).values()} == {None}


def test_what_rows_of_one_person_share_and_those_of_two_never_names_something_of_theirs(rng: np.random.Generator) -> None:
    person = np.repeat(np.arange(100), 6)
    stay = [f"F{n // 2}" for n in range(ROWS)]
    told = seen({"person": person, "stay": stay, "ward": rng.choice(["a", "b"], ROWS), "row": np.arange(ROWS)}, by="person")
    assert [name for name, column in told.items() if column.own] == ["stay"]
    shared = [*stay[:-1], stay[0]]
    assert not seen({"person": person, "stay": shared}, by="person")["stay"].own


def test_moments_as_people_write_them_follow_each_other_too(rng: np.random.Generator) -> None:
    taken = np.datetime64("2022-01-01T08:00") + rng.integers(0, 900_000, ROWS)
    told = [day + rng.integers(20, 300) for day in taken]
    written = {
        name: [f"{m.item():%d.%m.%Y %H:%M}" for m in np.asarray(moments)] for name, moments in (("taken", taken), ("told", told))
    }
    assert seen(written)["told"].follows == "taken"


def test_what_each_value_of_another_column_has_one_of_is_told_by_it(rng: np.random.Generator) -> None:
    number = rng.integers(0, 5, ROWS)
    visit = np.array(["screening", "week 1", "week 2", "week 4", "end"])[number]
    place = np.where(number < 3, "clinic", "phone")
    told = seen({"number": number, "visit": visit, "place": place, "arm": rng.choice(["a", "b"], ROWS)})
    assert told["visit"].told_by == ("number",)
    assert told["number"].told_by == ("visit",)
    assert set(told["place"].told_by) == {"number", "visit"}
    assert told["arm"].told_by == ()
    place[3] = "phone" if place[3] == "clinic" else "clinic"
    assert seen({"number": number, "place": place})["place"].told_by == ()


def test_a_long_list_tells_no_short_one(rng: np.random.Generator) -> None:
    """Two hundred terms in six hundred rows: the class of a term is learned by itself, the terms are not."""
    term = rng.integers(0, 200, ROWS)
    assert seen({"term": [f"t{n}" for n in term], "class": [f"c{n % 7}" for n in term]})["class"].told_by == ()


def test_rows_that_lead_to_nobody_above_are_told() -> None:
    above = pa.table({"id": [str(v) for v in range(50)], "sex": ["f"] * 50})
    for shift, part in ((0, 0.0), (1000, 1.0), (25, 0.5)):
        below = pa.table({"who": [str(v + shift) for v in range(50)] + [None], "test": ["x"] * 51})
        assert compare_columns(below.to_batches(), "who", (above.to_batches(), "id"))["test"].strangers == part
