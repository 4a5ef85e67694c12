"""Section IV of the paper: patients, lines, cycles, prescriptions × drugs."""

from __future__ import annotations

import networkx as nx
import pytest

from mare.graph.dag import DatasetDag
from mare.graph.pdag import correlation_pdag
from mare.schema.layout import link_memory
from tests.graph_edges import Node, directed, undirected
from tests.unit.graph.examples import groups, history, names, section_iv

PATIENT = ["patients.gender", "patients.cancer"]
LINE = ["lines.context.count", "lines.plan", "lines.outcome"]
CYCLE = ["cycles.context.count", "cycles.context.first(day)", "cycles.day", "cycles.toxicity"]


def test_the_five_tables_and_their_relationships() -> None:
    # "This example consists of five tables … R_lines→patients and R_cycles→lines which are sequential, and the relationship
    # R_prescriptions→cycles,drugs which is associative. The table drugs is considered public" (IV)
    schema = section_iv(derived=True)
    dag = DatasetDag.of(schema)
    assert {(e.child, e.parent, e.kind) for e in dag.edges} == {
        ("lines", "patients", "parent"),
        ("cycles", "lines", "parent"),
        ("prescriptions", "cycles", "parent"),
        ("prescriptions", "drugs", "via"),
    }
    assert dag.node("drugs").role == "public"
    # "we choose Markov-chain orders of 1 for R_cycles→lines and 2 for R_lines→patients"
    assert {e.child: link_memory(schema, e.child) for e in dag.edges if e.kind == "parent"} == {
        "lines": 2,
        "cycles": 1,
        "prescriptions": 0,
    }


@pytest.mark.parametrize("derived", [True, False])
def test_groups_in_the_order_in_which_they_are_sampled(derived: bool) -> None:
    # "The order of sampling is derived from the CPDAG by topological sorting." (IV.B) The entity has no context; "drugs is
    # considered public so only the foreign key column in prescriptions is kept".
    assert list(groups(section_iv(derived))) == [
        "patients.rows",
        "lines.context",
        "lines.rows",
        "cycles.context",
        "cycles.rows",
        "prescriptions.context",
        "prescriptions.rows",
    ]


def test_patients_look_at_nothing() -> None:
    # "Models without parent relationships (e.g., the “patients” table) are sampled once to produce n rows" (IV.B)
    found = groups(section_iv(derived=True))
    assert names(found["patients.rows"]) == ["gender", "cancer"]
    assert history(found["patients.rows"]) == []


def test_lines_look_at_the_two_lines_before() -> None:
    # "Begin with a history table that consists of the parent tables and a FIFO queue with n table slots" (IV.B), n = 2.
    found = groups(section_iv(derived=True))
    assert names(found["lines.context"]) == ["count"]
    assert history(found["lines.context"]) == PATIENT
    assert names(found["lines.rows"]) == ["plan", "outcome"]
    previous = ["lines.plan[-1]", "lines.outcome[-1]", "lines.plan[-2]", "lines.outcome[-2]"]
    free = ["lines.free.position", "lines.free.remaining"]
    assert history(found["lines.rows"]) == [*PATIENT, "lines.context.count", *previous, *free]


def test_the_first_date_is_in_the_context_of_cycles_and_offsets_in_its_rows() -> None:
    # "given a date, we may define a custom encoding that places the first column value in the context table and keeps an
    # offset in the child rows" (III.C); "we select a date encoding that only maintains a day offset between cycle dates" (IV)
    found = groups(section_iv(derived=True))
    assert [(c.name, c.role, c.column) for c in found["cycles.context"].columns] == [
        ("count", "count", None),
        ("first(day)", "first", "day"),
    ]
    assert names(found["cycles.rows"]) == ["day", "toxicity"]


def test_cycles_look_at_the_cycle_before() -> None:
    found = groups(section_iv(derived=True))
    previous = ["cycles.day[-1]", "cycles.toxicity[-1]"]
    free = ["cycles.free.position", "cycles.free.remaining", "cycles.free.elapsed(day)"]
    assert history(found["cycles.rows"]) == [*PATIENT, *LINE, *CYCLE[:2], *previous, *free]
    assert history(found["cycles.rows"], "context") == CYCLE[:2]


def test_the_context_of_cycles_inherits_the_sequence_of_lines() -> None:
    # By the rule below, for the sequence of lines, whose order is 2.
    found = groups(section_iv(derived=True))
    carried = [
        *("lines.plan[-1]", "lines.outcome[-1]", "cycles.context.count[-1]", "cycles.context.first(day)[-1]"),
        *("lines.plan[-2]", "lines.outcome[-2]", "cycles.context.count[-2]", "cycles.context.first(day)[-2]"),
    ]
    free = ["lines.free.position", "lines.free.remaining"]
    assert history(found["cycles.context"]) == [*PATIENT, *LINE, *carried, *free]
    assert history(found["cycles.context"], "previous") == carried


@pytest.mark.parametrize(("derived", "column"), [(True, "dose(drug_id)"), (False, "exists(drug_id)")])
def test_the_sequence_of_cycles_is_carried_into_the_prescription_lists(derived: bool, column: str) -> None:
    # "We extend the sequentiality of table “cycles” to context table of “prescriptions”, allowing prescription lists to
    # maintain correlations between subsequent cycles." (IV) "they receive the parent table and its history as history" (IV.B)
    context = groups(section_iv(derived))["prescriptions.context"]
    assert names(context) == [column]
    assert context.columns[0].repeat == 12  # one per drug
    carried = ["cycles.day[-1]", "cycles.toxicity[-1]", f"prescriptions.context.{column}[-1]"]
    free = ["cycles.free.position", "cycles.free.remaining", "cycles.free.elapsed(day)"]
    assert history(context) == [*PATIENT, *LINE, *CYCLE, *carried, *free]


def test_prescriptions_fill_in_the_common_columns_of_the_unrolled_rows() -> None:
    # "the columns with true (if boolean) or non-null (if nullable) values are unrolled to create partial child rows containing
    # the public relationship and derived columns. Then, the child table model is sampled to fill in the missing common
    # columns." (IV.B)
    rows = groups(section_iv(derived=True))["prescriptions.rows"]
    assert names(rows) == ["route"]
    known = ["prescriptions.free.drug_id", "prescriptions.free.dose"]
    assert history(rows) == [*PATIENT, *LINE, *CYCLE, "prescriptions.context.dose(drug_id)", *known]


def test_without_derived_columns_only_the_key_is_known_of_a_partial_row() -> None:
    rows = groups(section_iv(derived=False))["prescriptions.rows"]
    assert names(rows) == ["route"]
    assert history(rows) == [*PATIENT, *LINE, *CYCLE, "prescriptions.context.exists(drug_id)", "prescriptions.free.drug_id"]


def test_the_public_table_is_nobodys_history() -> None:
    found = groups(section_iv(derived=True))
    assert "drugs" not in {group.table for group in found.values()}
    assert "drugs" not in {h.table for group in found.values() for h in group.history}


def test_every_edge_is_written_out_when_asked_for() -> None:
    pdag = correlation_pdag(section_iv(derived=True))
    assert set(undirected(pdag)) == {
        (Node("patients", "rows", "gender"), Node("patients", "rows", "cancer")),
        (Node("lines", "rows", "plan"), Node("lines", "rows", "outcome")),
        (Node("cycles", "context", "count"), Node("cycles", "context", "first(day)")),
        (Node("cycles", "rows", "day"), Node("cycles", "rows", "toxicity")),
    }
    arrows = list(directed(pdag))
    for group in pdag.groups():
        for column in group.columns:
            into = [
                (a.table, a.part, a.column, a.lag, kind)
                for a, b, kind in arrows
                if b == Node(group.table, group.part, column.name)
            ]
            assert into == [(h.table, h.part, h.name, h.lag, h.kind) for h in group.history]
    assert len(arrows) == sum(len(g.columns) * len(g.history) for g in pdag.groups())


def test_no_column_is_its_own_history_in_the_same_row() -> None:
    graph: nx.DiGraph[Node] = nx.DiGraph()
    graph.add_edges_from((a, b) for a, b, _ in directed(correlation_pdag(section_iv(derived=True))))
    assert nx.is_directed_acyclic_graph(graph)
