"""What texts are, though they are written as people write them: days in two formats, decimal commas, a few words for nothing."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest

from mare.schema.reflection import Peek
from mare_adapters.sources.peeking import peek_batches

CASES: dict[str, tuple[Sequence[str | None], str, dict[str, object]]] = {
    "days in two formats": (["17.05.2020", "2020-05-18"] * 20 + ["19.05.2020", "n/a"], "date",
                            {"format": ("%d.%m.%Y", "%Y-%m-%d"), "nulls": ("n/a",)}),
    "days of one format": (["17/05/2020", "01/02/2020"] * 9, "date", {"format": ("%d/%m/%Y",)}),
    "moments with the time of day": (["24.05.2024 17:47", "01.06.2024 09:30"] * 9, "datetime", {"format": ("%d.%m.%Y %H:%M",)}),
    "moments by the half of the day": (["05/24/2024 05:47 PM", "06/01/2024 09:30 AM"] * 9, "datetime",
                                       {"format": ("%m/%d/%Y %I:%M %p",)}),
    "days of which some are partial": (["17.05.2020"] * 30 + ["05.2020", "2020"] * 9, "date",
                                       {"format": ("%d.%m.%Y", "%m.%Y", "%Y")}),
    "decimal commas": (["1,5", "12,50", "7"] * 9, "number", {"decimal": ","}),
    "thousands": (["1.234,50", "12,5"] * 9, "number", {"decimal": ",", "thousands": "."}),
    "plain numbers and a word": (["12", "13"] * 20 + ["NA"], "integer", {"nulls": ("NA",)}),
    "a word that is none of those for nothing": ([f"{n}.5" for n in range(99)] + ["low"] * 10, "number", {"specials": ("low",)}),
    "words that nine rows hold, or one": ([f"{n}.5" for n in range(99)] + ["low"] * 9 + ["Frau Mayer"], "number", {}),
    "days with a word of one row": ([f"{day:02}.05.2020" for day in range(1, 32)] + ["Tante Erna fragen"], "date",
                                 {"format": ("%d.%m.%Y",)}),
    "codes": (["A12", "B7", "C1"] * 9, "string", {}),
    "codes with zeros": (["0012", "0713"] * 9, "string", {}),
    "words and numbers": (["12", "many", "few"] * 9, "string", {}),
    "too many words": (["12"] * 90 + ["a", "b", "c", "d", "e", "f"], "string", {}),
    "versions": (["1.2.0", "1.3.1"] * 9, "string", {}),
    "numbers mostly missing, as R writes it": (["NA"] * 30 + ["12", "13"] * 5, "integer", {"nulls": ("NA",)}),
    "numbers missing, as MySQL dumps them": (["\\N"] * 30 + ["1.5", "13"] * 5, "number", {"nulls": ("\\N",)}),
    "days missing, where every field is quoted": ([""] * 30 + ["2020-05-17"], "date", {"nulls": ("",)}),
    "days of one format, mostly missing": (["NA"] * 30 + ["17.05.2020"] * 9, "date",
                                          {"format": ("%d.%m.%Y",), "nulls": ("NA",)}),
    "yes, no and missing": (["TRUE", "FALSE", "NA"], "boolean", {"nulls": ("NA",)}),
    "times of day, missing": (["10:30:00", "\\N"] * 9, "time", {"nulls": ("\\N",)}),
    "words, missing": (["low", "high", "NA"] * 9, "string", {}),
    "nothing but missing": (["NA"] * 9, "string", {}),
    "what people write half of the time means something": (["1", "2", "unknown", "unknown"] * 9, "string", {}),
    "plain": (["12", "13"], "integer", {}),
    "yes and no": (["true", "false"], "boolean", {}),
    "one letter of two": (["F", "F"], "string", {}),
    "nothing at all": ([None, None], "string", {}),
}  # fmt: skip


def test_a_word_among_a_few_numbers_is_one_of_a_list_and_among_many_a_value_of_its_own() -> None:
    few = peek_batches([pa.record_batch({"x": pa.array([*"1234" * 25, *["5+"] * 8])})], "unknown", 9)
    assert (few.kind, few.values, dict(few.reading)) == ("string", ("1", "2", "3", "4", "5+"), {})
    many = peek_batches(
        [pa.record_batch({"x": pa.array([*map(str, range(20, 90)), *map(str, range(20, 90)), *["> 89"] * 10, "n/a"])})],
        "unknown",
        9,
    )
    assert (many.kind, dict(many.reading)) == ("integer", {"nulls": ("n/a",), "specials": ("> 89",)})


@pytest.mark.parametrize(("texts", "kind", "reading"), CASES.values(), ids=CASES.keys())
def test_nearly_all_values_tell(texts: Sequence[str | None], kind: str, reading: dict[str, object]) -> None:
    peek = told(texts)
    assert (peek.kind, dict(peek.reading)) == (kind, reading)


def test_bounds_are_those_of_what_they_mean() -> None:
    peek = peek_batches([pa.record_batch({"x": pa.array(["1.234,5", "2,5", "n/a", *["3,0"] * 20])})], "unknown", 3)
    assert (peek.min, peek.max) == (2.5, 1234.5)


def told(texts: Sequence[str | None]) -> Peek:
    return peek_batches([pa.record_batch({"x": pa.array(texts, pa.string())})], "unknown", 3)


@pytest.mark.parametrize(("full", "kind"), [("2012-07-{:02d}", "date"), ("2012-07-{:02d}T10:45", "datetime")])
def test_dates_of_which_a_few_are_partial_are_dates(full: str, kind: str) -> None:
    """SDTM allows 2012-07 and 2012 where the day is not known: such a value reads as NULL."""
    days = [full.format(day) for day in range(1, 29)]
    assert told([*days, "2012-07", "2012"]).kind == kind
    assert told([*days, *(f"2012-{month:02d}" for month in range(1, 13))]).kind == "string"
    assert told(["1999", "2012", "2013"]).kind == "integer"


def test_numbers_that_are_all_whole_are_integers_however_they_are_written() -> None:
    """A column of whole numbers with NULLs, written by pandas."""
    assert told(["28.0", "-3.0", None, "120.0"]).kind == "integer"
    assert told(["28.0", "-3.5"]).kind == "number"


def test_words_that_duckdb_takes_for_days_are_words() -> None:
    peek = peek_batches([pa.record_batch({"x": pa.array(["epoch"] * 30)})], "unknown", 3)
    assert peek.kind == "string"


def test_a_result_that_is_mostly_below_what_can_be_measured_is_a_number() -> None:
    texts = [*["<BLQ"] * 400, *(f"{number / 100}" for number in range(1, 180))]
    peek = peek_batches([pa.record_batch({"x": pa.array(texts)})], "unknown", 3)
    assert (peek.kind, peek.reading) == ("number", {"specials": ("<BLQ",)})


@pytest.mark.parametrize(("texts", "missing"), [(["1", "2"], False), (["1", None], True), (["1,5", "2"] * 20 + ["n/a"], True)])
def test_what_is_missing_or_cannot_be_read_is_told(texts: Sequence[str | None], missing: bool) -> None:
    assert peek_batches([pa.record_batch({"x": pa.array(texts)})], "unknown", 9).missing is missing


def test_what_is_missing_again_and_again_is_no_value_that_repeats() -> None:
    """A line list of which some rows have no number yet."""
    assert told(["1", "2", None, None, "", "NA", "NA"]).repeats is False
    assert told(["1", "2", "2"]).repeats is True


def test_of_many_words_among_many_numbers_those_that_many_rows_hold_are_told() -> None:
    """A feed of a laboratory: what is below the limit of each test, what went wrong, and what somebody typed once."""
    words = ["<0,5", "<0,01", "negativ", "s.u.", "siehe Befund", "Material fehlt"]
    peek = told([*(f"{n},5" for n in range(300)), *words * 10, "Frau Mayer angerufen"])
    assert (peek.kind, peek.reading["decimal"], set(peek.reading["specials"])) == ("number", ",", set(words))


@pytest.mark.parametrize(("rows", "unread"), [(0, False), (1, True), (9, True), (10, False)])
def test_that_rare_words_are_left_out_is_told_without_them(rows: int, unread: bool) -> None:
    peek = told([*(f"{n}.5" for n in range(100)), "n/a", "NA", *["Frau Mayer"] * rows])
    assert (peek.kind, peek.unread) == ("number", unread)
