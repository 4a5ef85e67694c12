"""Section III of the paper: tables A…E, and table D under each of the three relationship types."""

from __future__ import annotations

import networkx as nx
import pytest

from mare.graph.dag import DatasetDag
from mare.graph.pdag import correlation_pdag
from tests.graph_edges import Node, directed, nodes_of, undirected
from tests.unit.graph.examples import child, groups, history, names, section_iii

ABOVE_D = ["A.a1", "A.a2", "B.context.count", "B.b1", "B.b2", "C.context.count", "C.c1"]
"""Every column that a row of D, or its context, can be joined to, with the contexts on the way."""

INDEPENDENT = child("C", "d1", "d2")
ASSOCIATIVE = child("C", "d1", "d2", type="associative", via="P", column_via="p_id")
DERIVED = child("C", "d1", "d2", type="associative", via="P", column_via="p_id", derived=["d2"])


def sequential(memory: int) -> dict[str, object]:
    return child("C", "d1", "d2", type="sequential", order_by="id", memory=memory)


EVERY_CASE = [INDEPENDENT, sequential(1), sequential(2), ASSOCIATIVE, DERIVED]


def test_foreign_keys_are_the_edges_of_the_dataset_dag() -> None:
    # "tables of the Dataset are nodes and foreign key relationships are the edges. Consider a dataset with tables A, B, C,
    # D, E and relationships R_B→A, R_C→B, R_D→C and R_E→C." (III.A)
    dag = DatasetDag.of(section_iii(INDEPENDENT))
    assert {node.name for node in dag.nodes} == {"A", "B", "C", "D", "E", "P"}
    assert {(edge.child, edge.parent) for edge in dag.edges} == {("B", "A"), ("C", "B"), ("D", "C"), ("E", "C")}


def test_a_parent_is_generated_before_its_children() -> None:
    assert DatasetDag.of(section_iii(INDEPENDENT)).generation_order() == ("P", "A", "B", "C", "D", "E")


def test_independent_rows_look_at_every_table_above_and_at_their_context() -> None:
    # "given table X which can be recursively joined to table Y, we add directed edges from the columns of Y to the columns
    # of X" (III.C); "For relationships where the child rows are independent, after separating common information in the
    # context table, the parent table columns are referenced as history." (IV.A)
    found = groups(section_iii(INDEPENDENT))
    assert names(found["D.context"]) == ["count"]  # "we store a latent column in the context table with the number of child rows"
    assert names(found["D.rows"]) == ["d1", "d2"]
    assert history(found["D.context"]) == ABOVE_D
    assert history(found["D.rows"]) == [*ABOVE_D, "D.context.count"]


@pytest.mark.parametrize("memory", [1, 2])
def test_sequential_rows_also_look_at_the_previous_rows(memory: int) -> None:
    # "row i can only be potentially correlated to rows i-1 to i-n … this is expressed by adding directed edges to each row
    # from the columns of up to the previous n rows." (III.C)
    found = groups(section_iii(sequential(memory)))
    previous = [f"D.{column}[-{lag}]" for lag in range(1, memory + 1) for column in ("d1", "d2")]
    assert names(found["D.context"]) == ["count"]
    assert history(found["D.context"]) == ABOVE_D
    assert history(found["D.rows"]) == [*ABOVE_D, "D.context.count", *previous, "D.free.position", "D.free.remaining"]
    assert history(found["D.rows"], "previous") == previous
    # "Sequential relationships are an extension of the previous case": nothing else changes.
    assert history(found["D.rows"], "free") == ["D.free.position", "D.free.remaining"]


def test_associations_are_unrolled_into_one_context_column_per_public_key() -> None:
    # "we create a context table with one column per unique key of the public relationship. This column is a boolean
    # existence column if there are no derived columns" (III.C)
    found = groups(section_iii(ASSOCIATIVE))
    (exists,) = found["D.context"].columns
    assert (exists.name, exists.role, exists.column, exists.repeat) == ("exists(p_id)", "exists", "p_id", 7)
    assert history(found["D.context"]) == ABOVE_D
    # "Common columns remain as part of the child table." The key of the row at hand is known from the unrolling.
    assert names(found["D.rows"]) == ["d1", "d2"]
    assert history(found["D.rows"]) == [*ABOVE_D, "D.context.exists(p_id)", "D.free.p_id"]


def test_derived_columns_take_the_place_of_existence() -> None:
    # "… or a nullable version of the derived columns" (III.C)
    found = groups(section_iii(DERIVED))
    (derived,) = found["D.context"].columns
    assert (derived.name, derived.role, derived.column, derived.repeat) == ("d2(p_id)", "derived", "d2", 7)
    assert names(found["D.rows"]) == ["d1"]
    assert history(found["D.rows"]) == [*ABOVE_D, "D.context.d2(p_id)", "D.free.p_id", "D.free.d2"]


@pytest.mark.parametrize("d", EVERY_CASE)
def test_of_an_earlier_sibling_only_the_number_of_rows_is_looked_at(d: dict[str, object]) -> None:
    # "It is harder to make a judgement about D and E, as they are both children of C, and that means they can have different
    # numbers of child rows referencing the same row in C." (III.A) So rows do not look at each other; their numbers may.
    found = groups(section_iii(d))
    counted = [f"D.context.{column.name}" for column in found["D.context"].columns if column.role == "count"]
    assert names(found["E.context"]) == ["count"]
    assert history(found["E.context"]) == [*ABOVE_D, *counted]
    assert history(found["E.rows"]) == [*ABOVE_D, *counted, "E.context.count"]
    assert not [h for g in found.values() if g.table == "D" for h in g.history if h.table == "E"]


@pytest.mark.parametrize("d", EVERY_CASE)
def test_the_tables_above_are_the_same_whatever_d_is(d: dict[str, object]) -> None:
    # "In truncated tables, columns have bidirectional edges between them and directional edges to all columns of tables
    # their table references." (III.C)
    found = groups(section_iii(d))
    assert list(found) == ["A.rows", "B.context", "B.rows", "C.context", "C.rows", "D.context", "D.rows", "E.context", "E.rows"]
    assert history(found["A.rows"]) == []
    assert history(found["B.context"]) == ["A.a1", "A.a2"]
    assert history(found["B.rows"]) == ["A.a1", "A.a2", "B.context.count"]
    assert history(found["C.context"]) == ["A.a1", "A.a2", "B.context.count", "B.b1", "B.b2"]
    assert history(found["C.rows"]) == ["A.a1", "A.a2", "B.context.count", "B.b1", "B.b2", "C.context.count"]
    assert names(found["A.rows"]) == ["a1", "a2"]
    assert names(found["B.rows"]) == ["b1", "b2"]
    assert names(found["C.rows"]) == ["c1"]


def test_columns_of_one_row_are_generated_together_and_all_others_in_order() -> None:
    # "If the edge is bidirectional, then i and j are generated together by a synthesis algorithm." (III.B)
    pdag = correlation_pdag(section_iii(sequential(2)))
    assert set(undirected(pdag)) == {
        (Node("A", "rows", "a1"), Node("A", "rows", "a2")),
        (Node("B", "rows", "b1"), Node("B", "rows", "b2")),
        (Node("D", "rows", "d1"), Node("D", "rows", "d2")),
    }
    # "If edge i → j is directional, it signifies that column j can reference i after i has been generated." All of D's:
    into_d = {(a, b) for a, b, _ in directed(pdag) if b.table == "D"}
    above = [Node("A", "rows", "a1"), Node("A", "rows", "a2"), Node("B", "context", "count"), Node("B", "rows", "b1")]
    above += [Node("B", "rows", "b2"), Node("C", "context", "count"), Node("C", "rows", "c1")]
    count = Node("D", "context", "count")
    expected = {(a, count) for a in above}
    previous = [Node("D", "rows", c, lag) for c in ("d1", "d2") for lag in (1, 2)]
    free = [Node("D", "rows", "position"), Node("D", "rows", "remaining")]
    for column in ("d1", "d2"):
        expected |= {(a, Node("D", "rows", column)) for a in [*above, count, *previous, *free]}
    assert into_d == expected


@pytest.mark.parametrize("d", EVERY_CASE)
def test_groups_are_the_components_of_the_undirected_edges(d: dict[str, object]) -> None:
    # "MARE topologically sorts the CPDAG and forms groups where nodes in each group have bidirectional edges to each other."
    pdag = correlation_pdag(section_iii(d))
    together: nx.Graph[Node] = nx.Graph()
    together.add_nodes_from(node for block in pdag.blocks for node in nodes_of(block))
    together.add_edges_from(undirected(pdag))
    components = {frozenset(component) for component in nx.connected_components(together)}
    found = groups(section_iii(d)).values()
    assert components == {frozenset(Node(g.table, g.part, c.name) for c in g.columns) for g in found}
    for component in components:  # not merely connected: every two of them
        assert nx.density(together.subgraph(component)) == 1 or len(component) == 1
