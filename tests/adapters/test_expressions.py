"""Which words of a source may become part of a statement. A release file may come from anywhere."""

from __future__ import annotations

import pytest

from mare.schema.reflection import ReflectedColumn, ReflectedTable
from mare_adapters.sinks.wording import default_words, is_harmless


@pytest.mark.parametrize(
    "text",
    [
        "'it''s; -- no'",
        "1.75",
        "CURRENT_TIMESTAMP",
        "now()",
        "(id * 2)",
        "lower(email) DESC",
        "USING gin (tags)",
        "USING btree (country, created DESC) INCLUDE (height) WHERE (active IS TRUE)",
        "coalesce(\"Email\", 'x'::text)",
        "ARRAY['a'::text]",
        "current_timestamp() ON UPDATE current_timestamp()",
    ],
)
def test_constants_columns_and_functions_that_compute_are_taken_over(text: str) -> None:
    assert is_harmless(text, ["id", "Email", "email", "tags", "country", "created", "height", "active"], "postgresql")


def test_names_of_mysql_and_lengths_of_its_prefixes() -> None:
    assert is_harmless("(`id` + 1)", ["id"], "mysql")
    assert is_harmless("(`id`(10))", ["id"], "mysql")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1; DROP TABLE x",
        "1) ; (2",
        "1)",
        "(1",
        "1 -- rest",
        "1 /* rest */",
        "pg_read_file('/etc/passwd')",
        "public.own('x')",
        '"own"(id)',
        "(SELECT 1)",
        "load_file('x')",
        "'a\\'b'",
        "other",
        "x'; DROP TABLE y; --",
        "$$text$$",
        "1 /*",
        "*/ 1",
        "1 #",
        "id # 2",
        "'a' /* 'b'",
        "1 --",
        "lo_import('/etc/passwd')",
        "[id] + 1",
        "id INTO OUTFILE 'x'",
    ],
)
def test_anything_else_is_not(text: str) -> None:
    assert not is_harmless(text, ["id", "lo_import"], "postgresql")
    assert not is_harmless(text, ["id", "lo_import"], "mysql")


@pytest.mark.parametrize(
    ("kind", "default", "words"),
    [
        ("boolean", "true", "1"),
        ("integer", "-3", "-3"),
        ("string", "'DE'", "'DE'"),
        ("datetime", "now()", "CURRENT_TIMESTAMP"),
        ("date", "('now'::text)::date", "CURRENT_DATE"),
        ("date", "'infinity'", None),
        ("uuid", "gen_random_uuid()", None),
    ],
)
def test_between_kinds_of_databases_go_constants_and_the_moment(kind: str, default: str, words: str | None) -> None:
    column = ReflectedColumn("c", kind, default=default)  # type: ignore[arg-type]
    table = ReflectedTable("t", (column,), dialect="postgresql")
    assert default_words(column, table, "sqlite", ("0", "1")) == words


@pytest.mark.parametrize(("text", "dialect"), [("`id` + 1", "postgresql"), ('"id" + 1', "mysql"), ('"i\\" + 1', "mysql")])
def test_the_quotes_of_another_family_quote_nothing(text: str, dialect: str) -> None:
    assert not is_harmless(text, ["id", "i\\"], dialect)
