"""The card: what it says, of which column, and that it says it from the release alone."""

from __future__ import annotations

import json
from dataclasses import replace

import pandas as pd
import pytest

import mare
from mare.errors import ReleaseError
from mare.planning import Warned
from mare.verdicts.card import COARSE, MARGIN, TRUST, VERDICTS
from mare.verdicts.card_text import short_lines
from mare.verdicts.expected import ALONG, ENDED, ORDER, ROWS, Expected
from tests.fitted_hospital import fitted_hospital


def test_every_column_of_the_schema_is_on_it_once() -> None:
    release = fitted_hospital(private=False)
    card = mare.card(release)
    names = [column.name for column in card.columns]
    assert len(names) == len(set(names))
    assert {f"{t}.{c}" for t, table in release.schema.tables.items() for c in table.columns} <= set(names)


def test_what_is_made_up_has_no_verdict_and_what_is_learned_has_one() -> None:
    for column in mare.card(fitted_hospital(private=False)).columns:
        assert (column.verdict is None) == (column.origin == "made up"), column


def test_a_verdict_follows_from_the_figure_beside_it() -> None:
    for epsilon in (0.5, 5.0, 50.0):
        for column in mare.card(fitted_hospital(epsilon, private=False)).columns:
            if column.verdict is None or column.expected is None or column.at_most is None:
                continue
            wanted = "trust" if column.at_most <= TRUST else "coarse" if column.at_most <= COARSE else "do not use"
            assert column.verdict == wanted
            assert column.at_most == pytest.approx(min(1.0, MARGIN * column.expected), abs=2e-4)


def test_noise_moves_columns_from_trust_to_do_not_use() -> None:
    low, high = (mare.card(fitted_hospital(epsilon, private=False)) for epsilon in (0.1, 500.0))
    assert not low.of("trust")
    assert {column.column for column in high.of("trust")} >= {"sex", "ward"}


def test_what_the_fit_found_nothing_of_is_not_to_be_used() -> None:
    release = fitted_hospital(500.0, private=False)
    doubt = Warned("patients.sex", "no value stood clear of the noise, so nothing is known of it", "Declare them")
    card = mare.card(replace(release, plan=replace(release.plan, doubts=(doubt,))))
    (sex,) = (column for column in card.columns if column.name == "patients.sex")
    assert (sex.verdict, sex.at_most, sex.why) == ("do not use", 1.0, doubt.what)
    assert (sex.clear, sex.cells) == (0, 2)
    assert str(doubt) in card.render(400)


def test_of_a_time_that_follows_the_row_before_the_distance_is_judged_apart() -> None:
    column = next(c for c in mare.card(fitted_hospital(500.0, private=False)).columns if c.name == "stays.begins")
    assert column.verdict == "do not use"
    assert "; its distance from what it follows: " in column.why


def test_the_short_form_counts_and_names_the_worst() -> None:
    card = mare.card(fitted_hospital(0.1, private=False))
    first, *rest = short_lines(card, 200)
    for verdict in VERDICTS:
        assert f"{verdict} {len(card.of(verdict))}" in first
    assert card.of("do not use")[0].name in " ".join(rest)
    assert [line.strip("- ") for line in rest[: len(card.purposes())]] == list(card.purposes())
    assert len(rest) <= 6


def test_what_it_is_good_for_follows_the_noise() -> None:
    low, high = (mare.card(fitted_hospital(epsilon, private=False)).purposes() for epsilon in (0.1, 500.0))
    assert low[0].startswith("Good for building and testing")
    assert "figures" not in low[0]
    assert "relating columns" in low[-1]
    assert low[-1].startswith("Not for figures of single columns (0 of ")
    trusted = len(mare.card(fitted_hospital(500.0, private=False)).of("trust"))
    assert trusted >= 2
    assert f"figures of single columns ({trusted} of 5 are to be trusted)" in " ".join(high)


def test_relations_are_never_simply_good_because_not_all_pairs_were_counted() -> None:
    """On NAFLD nine of seventeen cross-tabs stood clear, and half of what rows have to do with those above was lost."""
    card = mare.card(fitted_hospital(500.0, private=False))
    sound = tuple(replace(column, verdict="trust") if column.verdict else column for column in card.columns)
    clear = tuple(replace(table, stood="clear") for table in card.crosstabs)
    good, care = replace(card, columns=sound, crosstabs=clear).purposes()
    assert "figures of single columns (5 of 5" in good
    assert care.startswith(f"With care for relating columns ({len(clear)} of {len(clear)} cross-tabs")


def test_what_would_help_is_said_of_each_column_that_is_not_to_be_trusted() -> None:
    card = mare.card(fitted_hospital(0.5, private=False))
    helped = {column.name for columns in card.helps().values() for column in columns}
    assert helped
    assert not helped & {column.name for column in card.of("trust")}
    assert all(help in card.render(4000) and help.replace("'", "&#x27;") in card.to_html() for help in card.helps())


def test_dates_along_a_sequence_are_helped_by_its_end_unless_the_schema_says_it() -> None:
    free, ended = Expected(((ORDER, ALONG), (ROWS, 0.03))), Expected(((ORDER, ENDED), (ROWS, 0.03)))
    assert "`max`" in free.help
    assert not ended.help


def test_rows_of_unrolled_keys_are_counted() -> None:
    schema = mare.load_schema("""
mare: 1
entity: people
tables:
  drugs: {public: true, key: drug, rows: 3, columns: {name: {type: category, values: [a, b, c]}}}
  people: {key: id, columns: {sex: {type: category, values: [f, m]}}}
  takes: {parent: {table: people, column: id, type: associative, via: drugs, column_via: drug}}
""")
    people = pd.DataFrame({"id": range(600), "sex": ["f", "m"] * 300})
    takes = pd.DataFrame({"id": [*range(600), *range(0, 600, 2)], "drug": [1] * 600 + [2] * 300})
    rows = {"people": people, "takes": takes, "drugs": pd.DataFrame({"drug": [1, 2, 3], "name": ["a", "b", "c"]})}
    release = mare.fit(mare.plan(schema, mare.Budget(50, 1e-9)), rows, unsafe_seed=1)
    (table,) = (table for table in mare.card(release).tables if table.table == "takes")
    assert table.rows == pytest.approx(900, rel=0.1)


def test_it_says_who_is_protected_and_that_a_seeded_fit_is_not() -> None:
    seeded, private = (mare.card(fitted_hospital(private=private)) for private in (False, True))
    assert "one row of patients" in seeded.unit
    assert seeded.status == "NOT PRIVATE"
    assert "does NOT hold" in seeded.render()
    assert private.status == "PRIVATE"
    assert "does NOT hold" not in private.render()


def test_the_budget_is_accounted_for() -> None:
    card = mare.card(fitted_hospital(private=False))
    assert sum(part.share for part in card.asked) == pytest.approx(1.0, abs=1e-3)
    assert all(part.noise is None or part.noise[0] > 0 for part in card.asked)


def test_it_is_json_and_a_saved_release_has_the_same(tmp_path) -> None:  # type: ignore[no-untyped-def]
    release = fitted_hospital(private=False)
    release.save(tmp_path / "r.mare")
    ours, theirs = (json.dumps(mare.card(one).to_dict()) for one in (release, mare.load_release(tmp_path / "r.mare")))
    assert ours == theirs
    told = json.loads(ours)
    assert told["bounds"] == {"trust": TRUST, "coarse": COARSE, "held_by": 0.95}
    assert sum(told["counts"].values()) == sum(column["verdict"] is not None for column in told["columns"])


def test_anything_but_a_release_is_refused_in_words() -> None:
    with pytest.raises(ReleaseError, match="load_release"):
        mare.card("r.mare")  # type: ignore[arg-type]
