"""The graphs as a picture: what is in it, and that nothing lies on anything else."""

from __future__ import annotations

from itertools import combinations, pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mare.graph.drawing.boxes import MONO, cells, cut, flowing, wrapped
from mare.graph.drawing.picture import Picture, Wire, lanes_used, lay_out, route
from mare.graph.drawing.svg import draw_svg
from mare.graph.pdag import column_groups
from mare.schema import Schema
from mare.schema.loading import load_schema
from tests.unit.graph.examples import child, columns, schema, section_iii, section_iv

TWENTY = Path(__file__).parents[2] / "fixtures" / "schemas" / "twenty-tables.yaml"
SVG = "{http://www.w3.org/2000/svg}"


def wide() -> Schema:
    """Forty tables of thirty columns: a chain, many siblings, references across layers."""
    tables: dict[str, object] = {"patients": {"key": "id", "columns": columns(*(f"c{n}" for n in range(30)))}}
    for n in range(39):
        of = "patients" if n % 3 == 0 else f"t{n - 1}"
        table = child(of, *(f"column_number_{n}_{m}" for m in range(30)), type="sequential", order_by="id", memory=2)
        if n in (7, 20, 33):
            table["references"] = {
                "far": {"kind": "same_entity", "table": f"t{n - 6}"},
                "near": {"kind": "same_entity", "table": "t0"},
            }
        tables[f"t{n}"] = table
    return schema(tables)


def far_references() -> Schema:
    """Lines that have to cross a layer, in both directions."""
    deep = child("b", "x")
    deep["references"] = {"up": {"kind": "same_entity", "table": "z"}}
    flat = child("patients", "y")
    flat["references"] = {"down": {"kind": "same_entity", "table": "c2"}}
    chain = {"a": child("patients", "p"), "b": child("a", "q"), "c": deep, "c2": child("b", "r")}
    return schema({"patients": {"key": "id", "columns": columns("g")}, "z": child("patients", "s"), **chain, "last": flat})


EVERY = {
    "twenty": lambda: load_schema(TWENTY),
    "wide": wide,
    "far": far_references,
    "paper": lambda: section_iv(derived=True),
    "one": lambda: schema({"patients": {"key": "id", "columns": columns("g")}}),
}


@pytest.fixture(params=EVERY)
def drawn(request: pytest.FixtureRequest) -> Schema:
    found: Schema = EVERY[request.param]()
    return found


def segments(picture: Picture) -> list[tuple[float, float, float, float]]:
    """Every straight piece of every line between tables."""
    found = []
    for placed in picture.tables.values():
        if placed.parent is not None:
            parent, x = picture.tables[placed.parent], picture.trunk_x(placed.layer)
            points = [(parent.right, parent.y + 16), (x, parent.y + 16), (x, placed.y + 16), (placed.x, placed.y + 16)]
            found += [(*a, *b) for a, b in pairwise(points)]
    for drawn_route in picture.routes:
        wire = drawn_route.wire
        source, target = picture.tables[wire.source], picture.tables[wire.target]
        points = [(source.right if wire.source_layer < wire.target_layer else source.x, wire.source_y)]
        for run in drawn_route.runs:
            x = picture.lane_x(run.gutter, run.lane)
            points += [(x, run.start), (x, run.end)]
        points.append((target.right if wire.source_layer > wire.target_layer else target.x, wire.target_y))
        found += [(*a, *b) for a, b in pairwise(points)]
    return found


def test_no_box_lies_on_another(drawn: Schema) -> None:
    picture = lay_out(drawn)
    boxes = [(name, p.x, p.y, p.right, p.bottom) for name, p in picture.tables.items()]
    boxes += [(a.name, picture.aside_x, a.y, picture.aside_x + 1, a.y + a.height) for a in picture.asides]
    for (a, left, top, right, bottom), (b, x0, y0, x1, y1) in combinations(boxes, 2):
        assert right <= x0 or x1 <= left or bottom <= y0 or y1 <= top, f"{a} and {b} overlap"
    assert max(right for *_, right, _ in boxes) < picture.width
    assert max(bottom for *_, bottom in boxes) < picture.height


def test_no_line_runs_through_a_box(drawn: Schema) -> None:
    picture = lay_out(drawn)
    for x0, y0, x1, y1 in segments(picture):
        assert x0 == x1 or y0 == y1, "lines are upright or level"
        for name, placed in picture.tables.items():
            outside = max(x0, x1) <= placed.x or min(x0, x1) >= placed.right
            outside = outside or max(y0, y1) <= placed.y or min(y0, y1) >= placed.bottom
            assert outside, f"a line runs through {name}"


def test_lines_between_other_places_do_not_share_a_lane(drawn: Schema) -> None:
    picture = lay_out(drawn)
    upright = [
        ((wire.source, wire.source_y, wire.kind), run.gutter, run.lane, min(run.start, run.end), max(run.start, run.end))
        for found in picture.routes
        for wire in [found.wire]
        for run in found.runs
    ]
    for (who, gutter, lane, low, high), (other, gutter2, lane2, low2, high2) in combinations(upright, 2):
        if (gutter, lane) == (gutter2, lane2) and who != other:
            assert high < low2 or high2 < low


def test_names_stay_inside_their_group(drawn: Schema) -> None:
    for placed in lay_out(drawn).tables.values():
        for group in placed.box.groups:
            assert group.y + group.height <= placed.box.height
            for line in group.lines:
                start = 84 if group.beside else 7
                assert start + line[-1].x + cells(line[-1].shown) * MONO <= group.width


def test_every_group_is_in_the_picture_with_its_number(drawn: Schema) -> None:
    picture = lay_out(drawn)
    numbered = {box.number: box.group for placed in picture.tables.values() for box in placed.box.groups}
    assert numbered == dict(enumerate(column_groups(drawn), start=1))


def texts(svg: str) -> list[str]:
    return ["".join(element.itertext()) for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def titles(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}title")]


def test_the_picture_holds_tables_groups_loops_and_what_is_public() -> None:
    svg = draw_svg(section_iv(derived=True))
    found = texts(svg)
    for name in ("patients", "lines", "cycles", "prescriptions", "drugs", "first(day)", "dose(drug_id) ×12", "entity"):
        assert name in found
    assert "Public tables, kept as they are" in found
    assert (
        "lines.rows looks at patients.rows (2), lines.context (1), lines.rows[-1,-2] (2), lines: position and remaining (free)"
        in (titles(svg))
    )
    # Loops say how many rows back: lines 2, cycles 1, the contexts below them inherit theirs; and one in the legend.
    small = [element.text for element in ElementTree.fromstring(svg).iter(f"{SVG}text") if element.get("class") == "part"]
    assert [text for text in small if text in ("1", "2")] == ["2", "2", "1", "1", "2"]


def test_only_marks_that_occur_are_explained() -> None:
    plain = texts(draw_svg(section_iii(child("C", "d1"))))
    assert "looks at so many previous rows" not in plain
    assert "sees a sibling" not in plain
    twenty = texts(draw_svg(load_schema(TWENTY)))
    assert "looks at so many previous rows" in twenty
    assert "sees a sibling" in twenty
    assert "looks at the row it refers to, and has its time inside of it" in twenty


def test_names_are_escaped_and_long_ones_are_cut_with_a_tooltip() -> None:
    nasty, long = '<script>&"\x00', "a_very_" + "long_" * 20 + "name"
    svg = draw_svg(schema({nasty: {"key": "id", "columns": columns(nasty, long)}, long: child(nasty, "x")}, entity=nasty))
    found = texts(svg)  # parsing it at all says that it is well-formed
    assert ElementTree.fromstring(svg).find(f".//{SVG}script") is None
    assert '<script>&"\ufffd' in [text.removesuffix('<script>&"\ufffd') or text for text in found]
    assert long not in [text for text in found if "…" not in text]
    assert long in titles(svg)


def test_a_picture_needs_nothing_from_outside(drawn: Schema) -> None:
    svg = draw_svg(drawn)
    assert svg.count("http") == 1  # the name of the namespace
    assert "<script" not in svg
    assert "href" not in svg


def test_the_same_schema_gives_the_same_picture(drawn: Schema) -> None:
    assert draw_svg(drawn) == draw_svg(drawn)


def test_an_entity_by_column_is_drawn_above_its_table() -> None:
    stays = {"key": "id", "parent": {"max_rows": 4}, "columns": columns("unit")}
    picture = lay_out(schema({"stays": stays}, entity={"table": "stays", "by": "person"}))
    assert {name: placed.layer for name, placed in picture.tables.items()} == {"person": 0, "stays": 1}


def test_a_second_owner_gets_a_line_of_its_own() -> None:
    visits = {**child("patients", "ward"), "references": {"place": {"kind": "owned", "table": "addresses"}}}
    patients = {"key": "id", "columns": columns("g"), "references": {"home": {"kind": "owned", "table": "addresses"}}}
    picture = lay_out(schema({"patients": patients, "visits": visits, "addresses": {"columns": columns("city")}}))
    assert picture.tables["addresses"].parent == "patients"
    assert [(found.wire.source, found.wire.target, found.wire.kind) for found in picture.routes] == [
        ("visits", "addresses", "owned")
    ]


def test_text_is_cut_and_wrapped_by_its_width() -> None:
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abcdefg", 6) == "abcde…"
    assert cut("患者患者", 6) == "患者…"
    assert wrapped("one two three", 7, 2) == ("one two", "three")
    assert wrapped("one two three four", 7, 2) == ("one two", "three …")
    assert [[word.shown for word in line] for line in flowing(["aa", "bb", "cc"], 6)] == [["aa", "bb"], ["cc"]]


def test_a_line_crosses_a_layer_in_a_gap_between_boxes() -> None:
    boxes = {1: [(0.0, 100.0), (130.0, 200.0)]}
    (above,) = route([Wire("a", 0, 50.0, "c", 2, 40.0, "sees", "")], boxes)
    assert [(run.gutter, run.start, run.end) for run in above.runs] == [(1, 50.0, -9.0), (2, -9.0, 40.0)]
    (between,) = route([Wire("c", 2, 190.0, "a", 0, 90.0, "sees", "")], boxes)
    assert [(run.gutter, run.start, run.end) for run in between.runs] == [(2, 190.0, 109.0), (1, 109.0, 90.0)]
    assert lanes_used([above, between]) == {1: 1, 2: 1}


def test_lines_that_would_lie_on_each_other_get_lanes_and_those_from_one_place_share_one() -> None:
    same = [Wire("a", 1, 50.0, name, 1, y, "sees", "") for name, y in (("b", 150.0), ("c", 250.0))]
    other = Wire("b", 1, 160.0, "c", 1, 255.0, "sees", "")
    assert [[run.lane for run in found.runs] for found in route([*same, other], {})] == [[0], [0], [1]]
