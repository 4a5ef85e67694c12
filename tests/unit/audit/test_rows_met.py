"""What a fit would meet is counted by column and reference, with what may be written; words only where many people hold them."""

from __future__ import annotations

import pandas as pd
import pytest

import mare
from mare.audit.rows_met import Met, meet_rows
from mare.cli.commands.check import met_lines
from mare.cli.notes import left_out_lines
from mare.fitting import LocalNotes
from mare.schema.loading import load_schema

SCHEMA = """
mare: 1
entity: p
tables:
  p:
    key: id
    columns: {X}
  v:
    key: vid
    parent: {table: p, column: id, max_rows: 2}
    columns: {at: {type: date, min: 2000-01-01, max: 2009-12-31}, out: {type: date, after: at, within: 9d}}
    references:
      ward: {kind: public, table: w}
  b:
    key: bid
    parent: {table: p, column: id, max_rows: 2}
    references:
      vid: {kind: same_entity, table: v, by: position, nullable: true}
  w: {public: true, key: ward}
"""


def met(declared: str, values: list[object]) -> dict[tuple[str, str], Met]:
    people = pd.DataFrame({"id": [str(n) for n in range(len(values))], "x": pd.Series(values, dtype=object)})
    visits = pd.DataFrame({name: pd.Series(dtype=object) for name in ("vid", "id", "at", "out", "ward")})
    wards, bills = pd.DataFrame({"ward": ["A", "B"]}), pd.DataFrame({"bid": ["1"], "id": ["0"], "vid": [None]})
    schema = load_schema(SCHEMA.replace("{X}", f"{{x: {declared}}}"))
    return {(m.column, m.kind): m for m in meet_rows(schema, {"p": people, "v": visits, "b": bills, "w": wards}).met}


@pytest.mark.parametrize(
    ("declared", "values", "kind", "rows", "write"),
    [
        ("{type: number, min: 0, max: 9}", ["1,5"] * 30, "unreadable", 30, 'decimal: ","'),
        ("{type: number, min: 0, max: 9}", ["1,5", "1.234,5"] * 20, "unreadable", 40, 'decimal: ",", thousands: "."'),
        ("{type: integer, min: 0, max: 9}", ["1,234", "7"] * 20, "unreadable", 20, 'decimal: ".", thousands: ","'),
        ("{type: date, min: 1990-01-01, max: 2020-01-01}", ["31.12.2001", "2001-12-31"] * 9, "unreadable", 9,
         'format: ["%d.%m.%Y", "%Y-%m-%d"]'),
        ("{type: date, min: 1990-01-01, max: 2020-01-01, format: '%m/%d/%Y'}", ["31.12.2001"] * 9, "unreadable", 9,
         'format: "%d.%m.%Y"'),
        ("{type: date, min: 1990-01-01, max: 2020-01-01, format: ['%m/%d/%Y', '%Y-%m-%d'], nulls: ['-'], nullable: true}",
         ["31.12.2001", "2001-12-31", "-"] * 9, "unreadable", 9, 'format: ["%Y-%m-%d", "%d.%m.%Y"]'),
        ("{type: datetime, min: 1990-01-01, max: 2020-01-01}", ["31.12.2001 04:30"] * 9, "unreadable", 9,
         'format: "%d.%m.%Y %H:%M"'),
        ("{type: date, min: 1990-01-01, max: 2020-01-01}", ["31.12.01", "01.02.19"] * 9, "unreadable", 18, 'format: "%d.%m.%y"'),
        ("{type: date, min: 1990-01-01, max: 2020-01-01}", ["31DEC2001"] * 9, "unreadable", 9, 'format: "%d%b%Y"'),
        ("{type: time}", ["4.30"] * 9, "unreadable", 9, 'format: "%H.%M"'),
        ("{type: category, values: [M, F]}", ["m", "f", "M"] * 9, "outside", 18, "case: ignore"),
        ("{type: category, values: [M, F]}", ["M ", "F"] * 9, "outside", 9, "trim: true"),
        ("{type: number, min: 0, max: 9000}", ["5 mg", "1 g"] * 15, "unreadable", 30, 'unit: g, units: {mg: …}'),
        ("{type: number, min: 0, max: 9000, unit: mg}", ["5,5 mg", "1 g"] * 15, "unreadable", 30,
         'decimal: ",", unit: mg, units: {g: …}'),
        ("{type: number, min: 0, max: 100}", ["5%", "12.5 %"] * 15, "unreadable", 30, 'unit: "%"'),
        ("{type: number, min: 0, max: 100}", ["$5", "$12.50", "7"] * 10, "unreadable", 20, 'unit: "$"'),
        ("{type: number, min: 0, max: 100}", ["5,10 €", "7,00 €"] * 10, "unreadable", 20, 'decimal: ",", unit: "€"'),
        ("{type: number, min: -9, max: 9}", ["9-", "7"] * 15, "unreadable", 15, 'unit: "+", units: {"-": -1}'),
        ("{type: number, min: 0, max: 9}", ["5 H", "7", "3"] * 15, "unreadable", 15, ""),
        ("{type: number, min: 0, max: 9}", ["<5", "7", "3"] * 15, "unreadable", 15, ""),
        ("{type: number, min: 0, max: 9}", [5.0, 10.0, -1.0], "outside", 2, ""),
        ("{type: number, min: 0, max: 9, specials: [low]}", ["low", "high", "3"], "unreadable", 1, ""),
        ("{type: boolean}", [True, None], "null", 1, ""),
        ("{type: number, min: 0, max: 9}", [1.5, float("nan")], "null", 1, ""),
    ],
)  # fmt: skip
def test_what_a_column_holds_that_it_cannot_take(declared: str, values: list[object], kind: str, rows: int, write: str) -> None:
    (only,) = met(declared, values).values()
    assert (only.column, only.kind, only.rows) == ("x", kind, rows)
    assert only.guess.write == write


def test_a_column_that_can_take_everything_is_not_met() -> None:
    assert met("{type: number, min: 0, max: 9, decimal: ',', nulls: [NA], nullable: true}", ["1,5", "NA", None]) == {}


@pytest.mark.parametrize(
    ("written", "values"),
    [('unit: "%"', ["5%", "12.5 %", "7"]), ('unit: "$"', ["$5", "7", "$12.50"]),
     ('unit: "+", units: {"-": -1}', ["9-", "7", "5+"]),
     ('decimal: ",", unit: "€"', ["5,10 €", "7,00 €", "3"])],
)  # fmt: skip
def test_what_is_offered_for_units_reads_them(written: str, values: list[object]) -> None:
    assert met(f"{{type: number, min: -9, max: 100, {written}}}", values * 10) == {}


def test_a_unit_beside_a_word_is_the_words_own() -> None:
    column = '{type: integer, min: 0, max: 100, unit: "%", specials: ["trace %"]}'
    assert met(column, ["5%", "7 %", "trace %", "8"] * 10) == {}
    assert met(column, ["5%", "high %"] * 10)["x", "unreadable"].guess.words == (("high %", 10),)


def test_days_that_a_spreadsheet_has_counted_are_told_as_such() -> None:
    counted = met("{type: date, min: 1990-01-01, max: 2020-01-01}", ["43831", "36526", "2001-01-01"] * 10)["x", "unreadable"]
    assert (counted.rows, counted.guess.write, counted.guess.serial) == (20, "", True)
    assert not met("{type: date, min: 1990-01-01, max: 2020-01-01}", ["soon", "2001-01-01"] * 10)["x", "unreadable"].guess.serial


CALENDAR = """
mare: 1
entity: p
calendar: {min: 2019-01-01, max: 2024-12-31}
tables:
  p: {key: id, columns: {diagnosis: {type: date}}}
"""


def test_what_lies_before_the_calendar_is_told_with_the_line_to_write() -> None:
    schema = load_schema(CALENDAR)
    people = pd.DataFrame({"id": range(30), "diagnosis": ["1998-05-01"] * 20 + ["2020-01-01"] * 10})
    (line,) = list(met_lines(meet_rows(schema, {"p": people}), schema))[1:]
    assert line.startswith("  p.diagnosis: 20 of 30 are outside `calendar`; ")
    assert line.endswith("if they are meant, write min: of its own for it, wider")
    mended = load_schema(CALENDAR.replace("{type: date}", "{type: date, min: 1990-01-01}"))
    assert meet_rows(mended, {"p": people}).met == ()


def test_words_are_shown_where_many_people_hold_them() -> None:
    words = met("{type: number, min: 0, max: 9}", ["1"] * 5 + ["low"] * 10 + ["Ann"] * 9 + ["x" * 21] * 20)["x", "unreadable"]
    assert words.rows == 39
    assert words.guess.words == (("low", 10),)


@pytest.mark.parametrize(("owners", "shown"), [(10, True), (9, False)])
def test_a_word_that_few_people_hold_in_many_rows_is_not_shown(owners: int, shown: bool) -> None:
    """Twenty rows of one person are one person's word; so they are two tables further down."""
    schema = load_schema("""
mare: 1
entity: p
tables:
  p: {key: id, columns: {sex: {type: category, values: [F, M]}}}
  v: {key: vid, parent: {table: p, column: id, max_rows: 50}}
  l: {key: lid, parent: {table: v, column: vid, max_rows: 50}, columns: {x: {type: number, min: 0, max: 9}}}
""")
    people = pd.DataFrame({"id": range(30), "sex": "F"})
    visits = pd.DataFrame({"vid": range(60), "id": [n % 30 for n in range(60)]})
    words = pd.DataFrame({"lid": range(60), "vid": range(60), "x": ["hunter" if n % 30 < owners else "1.5" for n in range(60)]})
    (found,) = meet_rows(schema, {"p": people, "v": visits, "l": words}).met
    assert found.rows == 2 * owners
    assert found.guess.words == ((("hunter", 2 * owners),) if shown else ())


def test_a_number_is_outside_the_range_of_its_item() -> None:
    text = "{type: number, by: y, ranges: {a: {min: 0, max: 9}, b: {min: 100, max: 900}}}"
    schema = load_schema(
        f"mare: 1\nentity: p\ntables:\n  p: {{key: id, columns: {{y: {{type: category, values: [a, b]}}, x: {text}}}}}\n"
    )
    people = pd.DataFrame({"id": ["1", "2", "3"], "y": ["a", "b", "b"], "x": [5.0, 5.0, 500.0]})
    assert [(m.column, m.kind, m.rows) for m in meet_rows(schema, {"p": people}).met] == [("x", "outside", 1)]


def test_rows_that_are_cut_and_keys_that_lead_nowhere() -> None:
    visits = pd.DataFrame(
        {
            "vid": ["1", "2", "3", "4", "5"],
            "id": ["0", "0", "0", "1", "9"],
            "at": ["2001-01-01"] * 5,
            "out": ["2001-01-02", "2001-01-02", "2001-01-02", "2000-01-01", "2001-01-02"],
            "ward": ["A", "B", "C", None, "A"],
        }
    )
    people = pd.DataFrame({"id": ["0", "1"], "x": [1, 2]})
    schema = load_schema(SCHEMA.replace("{X}", "{x: {type: integer, min: 0, max: 9}}"))
    bills = pd.DataFrame({"bid": ["1", "2", "3"], "id": ["0", "0", "1"], "vid": ["1", None, "7"]})
    found = meet_rows(schema, {"p": people, "v": visits, "b": bills, "w": pd.DataFrame({"ward": ["A", "B"]})})
    counted = {(m.column, m.kind): (m.rows, m.of) for m in found.met}
    assert counted["ward", "nowhere"] == (1, 4)
    assert counted["vid", "nowhere"] == (1, 2)
    assert counted["out", "outside"] == (1, 5)
    assert found.notes.orphans["v"] == 1
    assert found.notes.truncated["v"].max_rows == 1


def test_dates_past_the_calendar_are_met_wherever_they_stand() -> None:
    """Alone, after another date, first of a sequence and later in it. What stands in both bounds' way is one value."""
    schema = load_schema("""
mare: 1
entity: p
calendar: {min: 2022-01-01, max: 2022-12-31}
tables:
  p: {key: id, columns: {since: {type: date}, due: {type: date, after: since, within: 120d}}}
  v:
    key: vid
    parent: {table: p, column: id, type: sequential, order_by: at, max_rows: 9}
    columns: {at: {type: datetime, after: previous.at, within: 1y}}
""")
    people = pd.DataFrame(
        {"id": range(3), "since": ["2022-03-01", "2022-11-20", "2023-02-01"], "due": ["2022-04-01", "2023-01-10", "2024-02-02"]}
    )
    at = ["2022-05-01 10:00", "2022-12-31 23:00", "2023-01-01 00:00", "2021-12-31 23:00", "2022-01-01 00:00", "2023-06-01 08:00"]
    source = {"p": people, "v": pd.DataFrame({"vid": range(6), "id": [0, 0, 0, 1, 1, 2], "at": at})}
    found = meet_rows(schema, source)
    assert {m.column: (m.kind, m.rows) for m in found.met} == {
        "since": ("outside", 1),
        "due": ("outside", 2),
        "at": ("outside", 3),
    }
    lines = list(met_lines(found, schema))
    wider = "they would be moved into it: if they are meant, write within:, min:, max: of its own for it, wider"
    assert f"  p.due: 2 of 3 are outside `after`, `within`, `calendar`; {wider}" in lines
    notes: list[LocalNotes] = []
    mare.fit(mare.plan(schema, mare.Budget(2)), source, unsafe_seed=1, notes=notes.append)
    told = list(left_out_lines(notes[0], schema))
    assert "v.at: 3 values outside its domain (`after`, `within`, `calendar`) were moved into it (internal, not private)" in told


def test_days_that_many_hold_far_from_all_others_are_named() -> None:
    schema = load_schema(SCHEMA.replace("{X}", "{x: {type: category, values: [a]}}"))
    ends = ["9999-01-01"] * 12 + ["2001-01-05"] * 5 + ["8888-01-01"] * 9 + ["2001-09-01"] * 14
    people = pd.DataFrame({"id": [str(n) for n in range(40)], "x": "a"})
    visits = pd.DataFrame({"vid": [str(n) for n in range(40)], "id": people["id"], "at": "2001-01-01", "out": ends, "ward": "A"})
    frames = {"p": people, "v": visits, "b": pd.DataFrame({"bid": ["1"], "id": ["0"], "vid": [None]})}
    for out in (visits["out"], pd.to_datetime(visits["out"]).astype("datetime64[us]")):
        rows = {**frames, "v": visits.assign(out=out), "w": pd.DataFrame({"ward": ["A", "B"]})}
        found = next(m for m in meet_rows(schema, rows).met if m.column == "out")
        assert (found.kind, found.rows) == ("outside", 35)
        assert found.guess.days == (("9999-01-01", 12),)
        assert 'write specials: ["9999-01-01"]' in "".join(met_lines(meet_rows(schema, rows), schema))
