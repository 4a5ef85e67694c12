"""Questions of one's own, answered on both sides."""

from __future__ import annotations

from pathlib import Path

import pytest

from mare.errors import MareError
from mare.evaluation.evaluate import evaluate
from mare.evaluation.measured import Answer, SetName
from mare.evaluation.questions import read_questions, relative_error
from tests.clinic import clinic, clinic_schema

REAL, MADE = clinic(120, 1), clinic(100, 2)
ASKED = """
-- how many women
SELECT count(*) FROM patients WHERE sex = 'F';
-- stays
-- by ward
SELECT ward, count(*) AS stays FROM stays JOIN patients USING (pid) WHERE pid < 50 GROUP BY ward ORDER BY ward;
SELECT name FROM drugs;
SELECT nothing FROM nowhere;
"""


def test_answers_are_those_of_each_side_and_compared(tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text(ASKED)
    women, wards, drugs, fault = evaluate(clinic_schema(), REAL, MADE, questions=tmp_path / "q.sql").answers
    counted = [int((frames["patients"]["sex"] == "F").sum()) for frames in (REAL, MADE)]
    assert (women.name, women.real, women.synthetic) == ("how many women", ((counted[0],),), ((counted[1],),))
    assert women.error == pytest.approx(abs(counted[0] - counted[1]) / counted[0])
    assert wards.name == "stays by ward"
    assert wards.columns == ("ward", "stays")
    plain = REAL["stays"][REAL["stays"]["pid"] < 50]["ward"].value_counts(dropna=False)
    assert dict(wards.real)["a"] == plain["a"]
    assert (drugs.error, drugs.rows) == (None, {"real": 4, "synthetic": 4})
    assert "nowhere" in fault.fault
    assert fault.error is None


def test_rows_are_matched_by_what_is_no_number() -> None:
    assert relative_error([("a", 10), ("b", 10)], [("b", 10), ("a", 5)]) == pytest.approx(0.25)
    assert relative_error([("a", 10)], [("c", 10)]) == pytest.approx(2)
    assert relative_error([(2001, 10), (2002, 30)], [(2002, 30), (2001, 20)]) == pytest.approx(0.25)
    assert relative_error([(4,)], [(None,)]) == 1
    assert relative_error([("x",)], [("y",)]) is None
    assert relative_error([(0,)], [(0,)]) == 0
    assert relative_error([], []) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [("DELETE FROM patients;", "is a SELECT"), ("", "holds no question"), ("SELEC 1", "no SQL that DuckDB understands")],
)
def test_what_is_no_question_is_refused_before_anything_is_read(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "q.sql").write_text(text)
    with pytest.raises(MareError, match=words):
        read_questions(tmp_path / "q.sql")
    with pytest.raises(MareError, match="cannot be read"):
        read_questions(tmp_path / "missing.sql")


def test_a_question_cannot_reach_files(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("a\n1\n")
    (tmp_path / "q.sql").write_text(f"SELECT * FROM read_csv('{tmp_path / 'secret.csv'}');")
    (answer,) = evaluate(clinic_schema(), REAL, MADE, questions=tmp_path / "q.sql").answers
    assert answer.fault
    assert answer.real == ()


def test_what_no_real_row_has_is_told() -> None:
    """Visits after the death: none in the real rows."""
    rows: dict[SetName, int] = {"real": 1, "synthetic": 1}
    assert Answer("late", "", ("n",), ((0,),), ((2509,),), rows, relative_error([(0,)], [(2509,)])).apart == (
        "none in the real rows, some here"
    )
    assert (
        Answer("names", "", ("n",), (("a",),), (("b",),), rows, relative_error([("a",)], [("b",)])).apart == "nothing to compare"
    )
    assert Answer("off", "", ("n",), ((2,),), ((3,),), rows, relative_error([(2,)], [(3,)])).apart == "off by 50.0%"


def test_a_message_that_quotes_a_value_moves_no_cursor(tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text("SELECT CAST('\x1b[2J' AS INTEGER);")
    answer = evaluate(clinic_schema(), clinic(20, 1), clinic(20, 2), questions=tmp_path / "q.sql").answers[0]
    assert answer.fault
    assert answer.fault.isprintable()


def test_a_hold_out_answers_beside_and_groups_that_one_side_lacks_are_named(tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text("-- wards\nSELECT ward, count(*) AS n FROM stays WHERE ward IS NOT NULL GROUP BY ward;")
    made = {**MADE, "stays": MADE["stays"].replace({"ward": {"c": "d"}})}
    other = clinic(110, 3)
    (wards,) = evaluate(clinic_schema(), REAL, made, holdout=other, questions=tmp_path / "q.sql").answers
    assert dict(wards.holdout) == other["stays"]["ward"].value_counts().to_dict()
    real, held = list(wards.real), list(wards.holdout)
    assert wards.holdout_error == min(relative_error(real, held) or 0, relative_error(real, held, 120 / 110) or 0)
    assert (wards.lacking, wards.invented) == (("c",), ("d",))
    assert wards.rows["holdout"] == 3
    assert (
        f"(other real rows: {wards.holdout_error:.1%}); 1 group missing (c); 1 group that the real rows do not have (d)"
        in wards.apart
    )
