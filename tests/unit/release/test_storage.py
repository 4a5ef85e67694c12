"""The types that come out where the source tells none, or only such as were inferred from values."""

from __future__ import annotations

import pandas as pd
import pytest

from mare.finding import open_source
from mare.release.storage import output_tables
from mare.schema.loading import load_schema


@pytest.mark.parametrize(
    ("says", "kind"),
    [
        ('{type: boolean, "true": 1, "false": 0}', "integer"),
        ('{type: boolean, "true": Y, "false": N}', "string"),
        ("{type: boolean}", "boolean"),
        ("{type: category, values: [1, 2]}", "integer"),
        ('{type: category, values: ["1", "2"]}', "string"),
        ("{type: integer, min: 0, max: 9}", "integer"),
    ],
)
def test_a_type_comes_from_the_schema_whatever_pandas_inferred(says: str, kind: str) -> None:
    schema = load_schema(f"mare: 1\nentity: t\ntables: {{t: {{key: id, columns: {{c: {says}}}}}}}")
    for values in ([1, 0], [1, None], [1, "odd"]):
        with open_source({"t": pd.DataFrame({"id": [1, 2], "c": values})}) as source:
            (table,) = output_tables(schema, source.reflect())
        assert [(column.name, column.kind, column.sql_type) for column in table.columns] == [
            ("id", "integer", ""),
            ("c", kind, ""),
        ]


def test_a_key_of_several_columns_is_a_foreign_key_though_each_column_is_drawn_by_itself() -> None:
    schema = load_schema(
        """
        mare: 1
        entity: people
        tables:
          people: {key: id, rows: 100, columns: {}}
          centres: {key: [country, number], public: true}
          stays:
            key: stay
            parent: {table: people, column: id, type: independent, max_rows: 3}
            references: {centre: {kind: public, table: centres, columns: [country, number], learn: true}}
        """
    )
    frames = {
        "people": pd.DataFrame({"id": [1]}),
        "centres": pd.DataFrame({"country": ["AT"], "number": [1]}),
        "stays": pd.DataFrame({"stay": [1], "id": [1], "country": ["AT"], "number": [1]}),
    }
    with open_source(frames) as source:
        made = {table.name: table for table in output_tables(schema, source.reflect())}
    keys = {(key.columns, key.table, key.references) for key in made["stays"].foreign_keys}
    assert (("country", "number"), "centres", ("country", "number")) in keys
