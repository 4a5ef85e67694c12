"""What is read from the text of a CHECK, in the words of each database; what is not understood is kept, never guessed."""

from __future__ import annotations

from contextlib import suppress
from datetime import date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mare.schema.reflection import Check, ColumnOrder, ReflectedColumn, ReflectedTable
from mare_adapters.sources.check_grammar import Unreadable, parse
from mare_adapters.sources.checks import apply_checks
from mare_adapters.sources.sql import named_checks

TABLE = ReflectedTable(
    "t",
    (
        ReflectedColumn("age", "integer"),
        ReflectedColumn("sex", "string"),
        ReflectedColumn("price", "number", precision=2),
        ReflectedColumn("x", "number"),
        ReflectedColumn("begun", "datetime"),
        ReflectedColumn("ended", "datetime"),
        ReflectedColumn("day", "date"),
        ReflectedColumn("ok", "boolean"),
        ReflectedColumn("Odd name", "integer"),
    ),
)


def told(text: str) -> dict[str, tuple[object, ...]]:
    """(values, min, max, nullable) of each column that a check changes; it must be understood wholly."""
    table = apply_checks(TABLE, [Check(text)])
    assert table.unread_checks == ()
    return {
        after.name: (after.values, after.min, after.max, after.nullable)
        for after, before in zip(table.columns, TABLE.columns, strict=True)
        if after != before
    }


@pytest.mark.parametrize(
    "text",
    [
        "sex IN ('F', 'it''s')",
        "((sex)::text = ANY ((ARRAY['F'::character varying, 'it''s'::character varying])::text[]))",
        "sex = ANY (ARRAY['F'::text, 'it''s'::text])",
        "`sex` in (_utf8mb4'F',_utf8mb4'it''s')",
        "(`sex` in (_utf8mb4'F',_utf8mb4'it\\'s'))",
        "CHECK((sex IN ('F', 'it''s')))",
        "CAST(sex AS VARCHAR) IN ('F', 'it''s')",
        "[sex] IN ('F','it''s')",
        "t.sex = 'F' OR t.sex = 'it''s'",
        "sex IS NULL OR sex IN ('F', 'it''s')",
        "/* both */ sex IN ('F', -- one\n 'it''s')",
    ],
)
def test_a_list_of_values_in_every_databases_words(text: str) -> None:
    assert told(text) == {"sex": (("F", "it's"), None, None, True)}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("age >= 0 AND age <= 120", {"age": (None, 0, 120, True)}),
        ("((age >= 0) AND (120 >= age))", {"age": (None, 0, 120, True)}),
        ("age BETWEEN 0 AND 120", {"age": (None, 0, 120, True)}),
        ("age > 0 AND age < 120", {"age": (None, 1, 119, True)}),
        ("age > 0.5", {"age": (None, 1, None, True)}),
        ("age >= '-5'::integer", {"age": (None, -5, None, True)}),
        ("AGE >= (- 5)", {"age": (None, -5, None, True)}),
        ('"Odd name" <= 3', {"Odd name": (None, None, 3, True)}),
        ("price > (0)::numeric", {"price": (None, 0.01, None, True)}),
        ("x >= 1.5e1 AND x <= 20", {"x": (None, 15.0, 20, True)}),
        ("day >= '1900-01-01'::date AND day < DATE '2100-01-01'", {"day": (None, date(1900, 1, 1), date(2099, 12, 31), True)}),
        ("begun >= '2000-01-01 10:00:00'::timestamp without time zone", {"begun": (None, datetime(2000, 1, 1, 10), None, True)}),
        ("x IS NULL OR (x >= 0 AND x <= 1)", {"x": (None, 0, 1, True)}),
        ("age IS NOT NULL", {"age": (None, None, None, False)}),
        ("NOT age IS NULL", {"age": (None, None, None, False)}),
        ("age IN (1, 2, 3) AND age IN (2, 3, 4)", {"age": ((2, 3), None, None, True)}),
        ("age >= 0 AND age >= 5 AND age <= 9 AND age <= 7", {"age": (None, 5, 7, True)}),
        ("ok IN (0, 1)", {"ok": ((False, True), None, None, True)}),
        ("NOT (age IS NULL)", {"age": (None, None, None, False)}),
        ("public.t.age >= 5", {"age": (None, 5, None, True)}),
        ("x BETWEEN (- (1)::numeric) AND .5", {"x": (None, -1, 0.5, True)}),
        ("day > cast(_utf8mb4'2000-01-01' as date)", {"day": (None, date(2000, 1, 2), None, True)}),
        ("sex in (_utf8mb4'a\\\\b', _utf8mb4'c\\nd')", {"sex": (("a\\b", "c\nd"), None, None, True)}),
        (f"age IN ({', '.join(map(str, range(9000)))})", {"age": (tuple(range(9000)), None, None, True)}),
    ],
)
def test_bounds_and_values(text: str, wanted: dict[str, tuple[object, ...]]) -> None:
    assert told(text) == wanted


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("begun <= ended", ColumnOrder("begun", "ended")),
        ("ended > begun", ColumnOrder("begun", "ended", strict=True)),
        ("(begun IS NULL) OR (ended >= begun)", ColumnOrder("begun", "ended")),
        ("begun < ended OR ended IS NULL", ColumnOrder("begun", "ended", strict=True)),
    ],
)
def test_the_order_of_two_columns(text: str, order: ColumnOrder) -> None:
    table = apply_checks(TABLE, [Check(text)])
    assert (table.orders, table.unread_checks, table.columns) == ((order,), (), TABLE.columns)


@pytest.mark.parametrize(
    "text",
    [
        "length(sex) < 5",
        "age <> 5",
        "age % 2 = 0",
        "sex ~ '^[a-z]+$'",
        "sex LIKE 'a%'",
        "NOT (begun > ended)",
        "begun > now()",
        "begun::date <= ended::date",
        "sex IS NULL OR age > 4",
        "age > 4 OR x > 3",
        "age NOT IN (1, 2)",
        "age NOT BETWEEN 1 AND 5",
        "(age > 5) = ok",
        "CASE WHEN age > 1 AND x > 2 THEN true ELSE false END",
        "sex IN (SELECT code FROM codes)",
        "sex >= 'A'",
        "nowhere > 3",
        "sex IN ('N\\A', 'b')",
        "age = ",
        "",
        "((age > 1)",
        "age IN ('one')",
        "age = 1 OR sex = 'F'",
        "begun = ended",
        "age > 1; x > 2",
        "age > 1 _000",
        "age BETWEEN SYMMETRIC 9 AND 1",
        "age > 5 IS NOT NULL",
        "age IN (1, 2) IS TRUE",
        "age IN (1, NULL)",
        "age = NULL",
        "age IS 5",
        "age IS NOT DISTINCT FROM 5",
        "age = ALL (ARRAY[1, 2])",
        "age < ANY (ARRAY[1, 2])",
        "(age, x) = (1, 2)",
        "sex IN ()",
        "sex = 'a' 'b'",
        "sex = x'41'",
        "sex = 'F' COLLATE NOCASE",
        "TRY_CAST(sex AS TEXT) = 'F'",
        "begun >= '2000-01-01 00:00:00+00'::timestamp with time zone",
        pytest.param("(" * 5000 + "age > 1" + ")" * 5000, id="deep brackets"),
        pytest.param("NOT " * 5000 + "age IS NULL", id="deep NOT"),
        pytest.param("age > " + "- " * 5000 + "1", id="deep minus"),
        pytest.param("age > " + "9" * 5000, id="more digits than Python reads"),
        "age < 1e400",
        "x >= 'Infinity'::double precision",
        "x = 'NaN'::numeric",
        "sex::varchar(1) = 'F'",
    ],
)
def test_what_is_not_understood_changes_nothing_and_is_kept_as_written(text: str) -> None:
    table = apply_checks(TABLE, [Check(text)])
    assert table.columns == TABLE.columns
    assert table.orders == ()
    assert table.unread_checks == (text,)


def test_of_a_check_understood_in_part_the_bounds_hold_and_the_text_is_kept() -> None:
    text = "age >= 18 AND length(sex) < 5"
    table = apply_checks(TABLE, [Check(text)])
    assert table.columns[0].min == 18
    assert table.unread_checks == (text,)


def test_an_open_bound_of_a_number_without_decimals_is_taken_closed_and_kept() -> None:
    table = apply_checks(TABLE, [Check("x > 0")])
    assert (table.columns[3].min, table.unread_checks) == (0, ("x > 0",))


def test_checks_are_found_in_a_create_statement() -> None:
    statement = """CREATE TABLE t (a int CHECK (a > 0), -- CHECK (not this)
        [check] text CHECK([check] IN ('x)', 'y')), b text DEFAULT 'CHECK (nor this)',
        CONSTRAINT c CHECK (a < 5 AND (b IS NULL)))"""
    assert [check.text for check in named_checks(statement)] == ["a > 0", "[check] IN ('x)', 'y')", "a < 5 AND (b IS NULL)"]


@given(st.text(alphabet="ageINORANDT()<>=' 19:,.[]\"`\\-", max_size=40))
def test_no_text_breaks_the_parser(text: str) -> None:
    with suppress(Unreadable):
        parse(text)
    apply_checks(TABLE, [Check(text)])


@given(st.integers(-1000, 1000), st.integers(-1000, 1000))
def test_bounds_of_whole_numbers_say_what_the_check_says(low: int, high: int) -> None:
    column = apply_checks(TABLE, [Check(f"age > {low} AND age <= {high}")]).columns[0]
    assert (column.min, column.max) == (low + 1, high)
