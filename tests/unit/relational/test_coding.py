"""Place and encode: what models look at follows from places, values and links alone, whoever has found them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mare.codec import Points, table_codec
from mare.relational.coding import Links, Uncoded, code_rows, points_above, read_rows, siblings_in, uncoded_rows
from mare.relational.placing import NOWHERE, Placed, PlacedTables
from mare.relational.relations import TableRelations
from mare.schema.loading import load_schema

SCHEMA = load_schema(
    """
mare: 1
entity: p
tables:
  p: {key: id, columns: {born: {type: date, min: 1900-01-01, max: 2000-01-01, bins: 10}}}
  c:
    parent: {table: p, column: p_id, type: sequential, order_by: seen, max_rows: 2}
    columns:
      seen: {type: date, after: p.born, within: 36500d, bins: 4}
      kind: {type: category, values: [a, b]}
"""
)
PARENT, POSITION = np.array([0, 0, 0, 2]), np.array([0, 1, 2, 0])


def index(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


def around() -> PlacedTables:
    people = uncoded_rows(index(0, 1, 2), index(0, 0, 0), index(1, 1, 1))
    return PlacedTables({"p": (), "c": ("p",)}, {"p": people, "c": uncoded_rows(PARENT, POSITION, index(3, 0, 1))})


def coded(most: int | None, related: TableRelations, links: Links) -> Placed:
    born = table_codec(SCHEMA, "p", ["born"])
    codec = table_codec(SCHEMA, "c", ["seen", "kind"])
    days = pa.array([0, 10_000, 20_000], type=pa.int32()).cast(pa.date32())
    people = read_rows(Uncoded(born, TableRelations(), Links(), around()), {"born": days}, {})
    seen: dict[str, dict[str, Points]] = {"p": dict(people.points)}
    rows = Uncoded(codec, related, links, around())
    values = {
        "seen": pa.array([0, 400, 500, 20_100], type=pa.int32()).cast(pa.date32()),
        "kind": pa.array(["a", "b", "a", "nobody"]),
    }
    placed, outside = code_rows(rows, read_rows(rows, values, points_above(codec, around(), seen.__getitem__)), most)
    assert outside["kind"] == 1
    return placed


def test_rows_keep_their_places_and_the_context_counts_up_to_its_end() -> None:
    placed = coded(2, TableRelations(), Links({"by": np.array([1, 0, 0, 1], dtype=np.uint8)}, {"by": index(2, NOWHERE, 0, 1)}))
    assert placed.siblings.tolist() == [3, 3, 3, 1]
    assert placed.codes["context"]["count"].tolist() == [2, 0, 1]
    assert placed.codes["rows"]["kind"].tolist()[:3] == [0, 1, 0]
    assert placed.codes["rows"]["by"].tolist() == [1, 0, 0, 1]
    assert placed.codes["head"] == placed.codes["rows"]
    assert placed.targets["by"].tolist() == [2, NOWHERE, 0, 1]
    assert placed.same_item is None


def test_a_table_without_a_context_has_none_and_items_look_back_within_their_parent() -> None:
    placed = coded(None, TableRelations(items=("kind",)), Links())
    assert placed.codes["context"] == {}
    assert placed.same_item is not None
    assert placed.same_item.tolist() == [NOWHERE, NOWHERE, 0, NOWHERE]


def test_rows_of_several_owners_stand_alone() -> None:
    people = around().tables["p"]
    owned = uncoded_rows(index(0, 1, 1), index(0, 0, 0), index(1, 2), owner=index(0, 0, 1))
    tables = PlacedTables({"p": (), "q": (), "c": ("p", "q")}, {"p": people, "q": people, "c": owned})
    assert owned.siblings.tolist() == [1, 1, 1]
    assert siblings_in(tables, "c").parent.tolist() == [0, 1, 2]
    assert siblings_in(tables, "p").parents == 3
