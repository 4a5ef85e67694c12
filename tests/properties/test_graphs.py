"""The graphs of random schemas: acyclic, complete, and the same whatever the order of the tables."""

from __future__ import annotations

from itertools import combinations
from xml.etree import ElementTree

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from mare.graph.dag import UNORDERED, DatasetDag
from mare.graph.drawing.picture import lay_out
from mare.graph.drawing.svg import draw_svg
from mare.graph.drawing.text import draw_text
from mare.graph.pdag import column_groups, correlation_pdag
from mare.schema import Schema
from tests.graph_edges import Node, directed, nodes_of, paths_to_entity, undirected
from tests.strategies import schemas


@given(schemas())
def test_every_table_is_generated_after_what_it_needs(schema: Schema) -> None:
    dag = DatasetDag.of(schema)
    order = dag.generation_order()
    assert sorted(order) == sorted(name for name, table in schema.tables.items() if not table.ignore)
    for edge in dag.edges:
        if edge.kind not in UNORDERED and not dag.node(edge.before).by_column:
            assert order.index(edge.before) < order.index(edge.after)


@given(schemas())
def test_every_private_row_belongs_to_the_entity(schema: Schema) -> None:
    dag = DatasetDag.of(schema)
    for table in dag.tables("private", "owned"):
        assert paths_to_entity(dag, table)
        assert dag.ancestors(table)[-1] == dag.entity.name
        for path in paths_to_entity(dag, table):
            assert all(edge.cap is None or edge.cap >= 1 for edge in path)


@given(schemas())
def test_correlations_are_acyclic_and_groups_are_their_components(schema: Schema) -> None:
    pdag = correlation_pdag(schema)
    after: nx.DiGraph[Node] = nx.DiGraph()
    after.add_edges_from((a, b) for a, b, _ in directed(pdag))
    assert nx.is_directed_acyclic_graph(after)
    together: nx.Graph[Node] = nx.Graph()
    together.add_nodes_from(node for block in pdag.blocks for node in nodes_of(block))
    together.add_edges_from(undirected(pdag))
    found = {frozenset(Node(g.table, g.part, c.name) for c in g.columns) for g in column_groups(schema)}
    assert {frozenset(component) for component in nx.connected_components(together)} == found


@given(schemas())
def test_history_comes_from_earlier_groups_or_earlier_rows(schema: Schema) -> None:
    done: dict[tuple[str, str], set[str]] = {}
    for group in column_groups(schema):
        for h in group.history:
            if h.lag == 0 and h.kind != "free":
                assert h.name in done[h.table, h.part], f"{group.name} looks at {h}, which is not generated yet"
        names = [str(h) for h in group.history]
        assert len(set(names)) == len(names)
        done[group.table, group.part] = {column.name for column in group.columns}
    for group in column_groups(schema):
        for h in group.history:
            if h.lag > 0:
                assert h.name in done[h.table, h.part]


def unmodelled(schema: Schema, name: str) -> set[str]:
    """Columns that keys and references fill in."""
    table = schema.tables[name]
    filled = {*table.ignore_columns, *schema.parent_columns(name)}
    for reference in table.references:
        filled |= set(table.reference_columns(reference))
    if table.parent is not None and table.parent.type == "associative":
        filled |= set(table.parent.column_via or ())
    return filled


@given(schemas())
def test_every_modelled_column_is_generated_once_and_nothing_else_is(schema: Schema) -> None:
    generated: dict[str, list[str]] = {}
    for group in column_groups(schema):
        for column in group.columns:
            if column.role == "value" or column.role == "derived":
                generated.setdefault(group.table, []).append(column.column or "")
    for name, table in schema.tables.items():
        found = [c for c in generated.get(name, []) if c not in table.references and c in table.columns]
        if table.public or table.ignore or table.pool is not None:
            assert name not in generated
            continue
        expected = {
            column
            for column, described in table.columns.items()
            if column not in unmodelled(schema, name)
            and described.determined is None
            and described.type not in ("identifier", "position", "text")
        }
        twice = set(table.parent.derived) if table.parent is not None and table.parent.vocabulary is not None else set()
        assert {c for c in found if c not in unmodelled(schema, name)} == expected
        assert all(found.count(column) == 1 for column in expected - twice)


@given(schemas(), st.randoms(use_true_random=False))
def test_the_order_of_the_tables_changes_the_order_of_groups_at_most(schema: Schema, random: object) -> None:
    names = list(schema.tables)
    random.shuffle(names)  # type: ignore[attr-defined]
    shuffled = schema.model_copy(update={"tables": {name: schema.tables[name] for name in names}})
    assert {g.name: g for g in column_groups(shuffled)} == {g.name: g for g in column_groups(schema)}
    assert column_groups(schema) == column_groups(schema)


@given(schemas())
def test_the_drawings_hold_every_group_and_no_box_lies_on_another(schema: Schema) -> None:
    groups, drawn = column_groups(schema), draw_text(schema)
    for number, group in enumerate(groups, start=1):
        assert f"{number} {group.name}:" in drawn
    svg = ElementTree.fromstring(draw_svg(schema))
    tips = [title.text or "" for title in svg.iter("{http://www.w3.org/2000/svg}title")]
    assert all(any(tip.startswith(f"{group.name} looks at") for tip in tips) for group in groups)
    boxes = list(lay_out(schema).tables.values())
    for a, b in combinations(boxes, 2):
        assert a.right <= b.x or b.right <= a.x or a.bottom <= b.y or b.bottom <= a.y
