"""The report as a file: it says what it is, loads nothing, holds what it draws, stays small, and runs nobody's script."""

from __future__ import annotations

import json
import re
from functools import cache
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

import mare
from mare.audit.report import audit_document
from mare.evaluation.evaluation import Evaluation
from mare.evaluation.fidelity.common_bins import as_dates
from mare.evaluation.measured import Closeness, ColumnFidelity, PairFidelity, PairKind, PairMeans
from mare.evaluation.report.figures import LETTERS, as_json, edges_and_words, packed, packed_counts
from mare.evaluation.verdict import verdict
from tests.clinic import Frames, changed, clinic, clinic_schema
from tests.fitted_hospital import fitted_hospital
from tests.page_tags import Balanced

EVIL = "</script><script>document.title='mine'</script><img src=x onerror=\"document.title='mine'\">"


@cache
def evaluation() -> Evaluation:
    return mare.evaluate(clinic_schema(), clinic(120, 1), clinic(120, 2, first=900), holdout=clinic(120, 3, first=5000))


def embedded(page: str) -> dict[str, object]:
    found = re.search(r'<script type="application/json" id="numbers">(.*?)</script>', page)
    assert found is not None
    numbers = json.loads(found[1])
    assert isinstance(numbers, dict)
    return numbers


def test_it_says_on_top_what_it_is() -> None:
    page = evaluation().to_html()
    assert page.index("internal, not private") < page.index("<style>")
    assert "not to be handed over" in page.partition('<div role="tablist"')[0]


def test_it_says_so_on_every_printed_page() -> None:
    """A page of paper is handed over on its own. The margins of every page are one rule of the style."""
    every_page = re.search(r"@page \{(.*?)\n\}", evaluation().to_html(), re.DOTALL)
    assert every_page is not None
    assert re.search(r'@top-right \{ content: "internal, not private: not to be handed over with a release"', every_page[1])


def test_nothing_is_loaded_from_anywhere() -> None:
    page = evaluation().to_html().replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?:|url\((?!#)|@import|<link|\ssrc=", page)
    assert "default-src 'none'" in page


def test_tags_are_closed() -> None:
    parser = Balanced()
    parser.feed(evaluation().to_html("mare evaluate …"))
    assert not parser.open


def test_the_verdict_is_in_plain_words() -> None:
    page = evaluation().to_html()
    said = re.search(r'<ul class="said">(.*?)</ul>', page)
    assert said is not None
    assert "No rule of the schema is broken" in said[1]
    assert "Nobody is copied" in said[1]
    assert "What a row has to do with the rows before it" in said[1]


def test_bad_news_are_told_as_such() -> None:
    lonely = changed(clinic(120, 2, first=900), "stays", lambda frame: frame.assign(pid=-1))
    page = mare.evaluate(clinic_schema(), clinic(120, 1), lonely).to_html()
    assert '<li class="no">' in page
    assert "broken, most often: stays.parent leads to no row" in page


def test_every_column_and_pair_can_be_drawn() -> None:
    numbers = embedded(evaluation().to_html())
    tables = numbers["tables"]
    assert isinstance(tables, list)
    assert isinstance(numbers["crosstabs"], dict)
    assert sum(len(table["columns"]) for table in tables) == len(evaluation().columns)
    assert len(numbers["crosstabs"]) == len(evaluation().pairs)
    assert numbers["left_out"] == 0
    assert numbers["timelines"]
    assert numbers["survival"]


def test_timelines_are_of_synthetic_entities_alone() -> None:
    made = clinic(50, 2, first=900)
    of_women = {**made, "patients": made["patients"].assign(sex="F")}
    held = mare.evaluate(clinic_schema(), changed(clinic(50), "patients", lambda frame: frame.assign(sex="M")), of_women)
    assert {line.values["sex"] for line in held.timelines} == {"F"}
    for line in held.timelines:
        begun = [row.begins for row in line.happenings]
        assert begun[0] == 0
        assert begun == sorted(begun)  # type: ignore[type-var]
        assert line.rows == len(line.happenings)
        assert not any("id" in name for row in line.happenings for name in row.values if name.endswith("id"))


def test_groups_are_coloured_by_quality() -> None:
    spoiled = changed(clinic(120, 2, first=900), "takes", lambda frame: frame.assign(dose=9))
    page = mare.evaluate(clinic_schema(), clinic(120, 1), spoiled).to_html()
    assert re.search(r"<title>takes\.\w+ is poor", page)
    assert re.search(r"<title>patients\.rows is (close|fair)", page)


def test_values_of_the_data_cannot_run_a_script() -> None:
    def hostile(frames: Frames) -> Frames:
        named = {"x": EVIL, "a": EVIL}
        frames = changed(frames, "stays", lambda frame: frame.assign(ward=frame["ward"].replace(named)))
        return changed(frames, "drugs", lambda frame: frame.assign(name=frame["name"].replace(named)))

    schema = clinic_schema().model_dump(mode="json", exclude_unset=True)
    schema["tables"]["stays"]["columns"]["ward"]["values"] = [EVIL, "b", "c"]
    page = mare.evaluate(mare.Schema.model_validate(schema), hostile(clinic(80, 1)), hostile(clinic(80, 2, first=900))).to_html(
        EVIL
    )
    assert "<img" not in page
    assert "</script><script>document" not in page
    assert page.count("<script") == page.count("</script>") == 2
    assert "mine" in page


def test_what_a_release_and_an_audit_say_is_told_beside(tmp_path: Path) -> None:
    audit = tmp_path / "audit.json"
    canary = {"passed": True, "unit": "epsilon", "lower": 0.1, "claimed": 5.0, "reach": 4.0}
    audit.write_text(json.dumps({**audit_document(), "canary": canary}))
    released = fitted_hospital(5.0, private=False)
    held = mare.evaluate(clinic_schema(), clinic(60, 1), clinic(60, 2, first=900), audit=audit, release=released)
    page = held.to_html()
    assert "lower bound ε = 0.1, claimed ε = 5: no proof of a fault" in page
    assert "of the budget" in page
    written = held.to_json()["parts"]
    assert isinstance(written, dict)
    assert {"audit", "release"} <= written.keys()


def test_packed_numbers_are_those_that_went_in() -> None:
    shares = np.array([0.0, 0.5, 1.0, np.nan, 2.0, -1.0])
    text = packed(shares)
    read = [None if letter == " " else LETTERS.index(letter) / (len(LETTERS) - 1) for letter in text]
    assert read == pytest.approx([0.0, 0.5, 1.0, None, 1.0, 0.0], abs=0.006)


def test_zeros_of_a_cross_tab_take_no_room() -> None:
    counts = np.zeros((40, 40), dtype=np.int64)
    counts[3, 3], counts[20, 1] = 100, 25
    text, largest = packed_counts(counts)
    assert largest == pytest.approx(0.8)
    assert len(text) < 60
    cells: list[int] = []
    letters = iter(text)
    for letter in letters:
        cells += [0] * LETTERS.index(next(letters)) if letter == "~" else [LETTERS.index(letter)]
    assert len(cells) == counts.size
    assert np.flatnonzero(cells).tolist() == np.flatnonzero(counts.ravel()).tolist()
    assert cells[20 * 40 + 1] == pytest.approx((len(LETTERS) - 1) / 2, abs=1)


def test_labels_of_bins_are_told_by_their_edges() -> None:
    assert edges_and_words(("below 1", "1 to 2.5", "2.5 and more", "rare", "NULL")) == (["1", "2.5"], ["rare", "NULL"])
    assert edges_and_words(("below 1", "1 and more", "NULL")) == (["1"], ["NULL"])
    assert edges_and_words(("20 and more", "a to b", "other")) == ([], ["20 and more", "a to b", "other"])
    assert edges_and_words(("below a", "b to c", "c and more")) == ([], ["below a", "b to c", "c and more"])


def test_json_cannot_leave_its_element() -> None:
    assert "<" not in as_json({"</script>": "<!--"})
    assert json.loads(as_json({"</script>": "<!-- & \u2028"})) == {"</script>": "<!-- &  "}


# ------------------------------------------------------------------ a hundred tables


def _wide(tables: int, columns: int) -> Evaluation:
    """An evaluation of so many tables, all below the first: figures made up, as many as there would be."""
    rng = np.random.default_rng(0)
    names = [f"table_{place}" for place in range(tables)]
    labels = (*(f"{edge:.5f} to {edge + 1:.5f}" for edge in range(20)), "NULL")
    fields = [f"measurement_{place}" for place in range(columns)]
    close = {name: Closeness(0.2, 0.8, 0.5, 0.3, 0.1) for name in ("synthetic", "holdout", "shuffled", "independent")}
    column_counts = {name: rng.integers(0, 10**6, len(labels)) for name in ("real", "synthetic", "holdout")}
    counts = {name: rng.integers(0, 10**4, (len(labels), len(labels))) for name in ("real", "synthetic", "holdout")}
    tvd = {"synthetic": 0.1, "holdout": 0.05}

    def pair(table: str, here: str, other: str, there: str, kind: PairKind, back: int = 0) -> PairFidelity:
        return PairFidelity(table, here, other, there, kind, back, 0.4, close, None, counts)  # type: ignore[arg-type]

    pairs = [pair(t, a, t, b, "row") for t in names for a, b in combinations(fields, 2)]
    pairs += [pair(t, a, names[0], b, "ancestor") for t in names[1:] for a, b in product(fields, fields)]
    pairs += [pair(t, a, t, b, "previous", back) for t in names[1:] for back in (1, 2) for a, b in product(fields, fields)]
    means = PairMeans(0.2, 0.8, 0.5, 0.3, 0.3, 0.1, 0.1, 1)
    described = "{type: number, min: 0, max: 21}"
    listed = "".join(f"      {field}: {described}\n" for field in fields)
    text = f"mare: 1\nname: wide\nentity: {names[0]}\ntables:\n  {names[0]}:\n    key: id\n    columns:\n{listed}"
    for name in names[1:]:
        link = f"    parent: {{table: {names[0]}, column: of, type: sequential, order_by: measurement_0, max_rows: 9}}\n"
        text += f"  {name}:\n    key: id\n{link}    columns:\n{listed}"
    sides = ("real", "synthetic", "holdout")
    return Evaluation(
        name="wide",
        labels=dict.fromkeys(sides, "x"),  # type: ignore[arg-type]
        entities=dict.fromkeys(sides, 5),  # type: ignore[arg-type]
        rows={name: dict.fromkeys(sides, 10**6) for name in names},  # type: ignore[misc]
        warnings=(),
        notes=(),
        means={name: {"row": means, "ancestor": means, "previous": means} for name in close},  # type: ignore[misc]
        one_way=tvd,  # type: ignore[arg-type]
        columns=tuple(
            ColumnFidelity(name, field, "number", True, labels, column_counts, tvd, tvd)  # type: ignore[arg-type]
            for name in names
            for field in fields
        ),
        pairs=tuple(pairs),
        lengths=(),
        stickiness=(),
        transitions=(),
        trajectories=(),
        together=(),
        broken=(),
        copies=(),
        copied_entities={"synthetic": 0},
        schema=mare.load_schema(text),
    )


@pytest.mark.slow
def test_a_hundred_tables_of_thirty_columns_stay_below_5_mb() -> None:
    page = _wide(100, 30).to_html()
    assert len(page.encode()) < 5_000_000
    numbers = embedded(page)
    assert isinstance(numbers["tables"], list)
    assert all(len(table["blocks"]) == 4 for table in numbers["tables"][1:])
    assert isinstance(numbers["left_out"], int)
    assert numbers["left_out"] > 0


def test_dates_are_written_as_dates() -> None:
    begins = next(c for c in evaluation().columns if (c.table, c.name) == ("stays", "begins"))
    assert re.fullmatch(r"below \d{4}-\d\d-\d\d", begins.labels[0])
    assert re.fullmatch(r"\d{4}-\d\d-\d\d to \d{4}-\d\d-\d\d", begins.labels[1])
    assert "below 2001-" in evaluation().to_html() or "2001-" in evaluation().to_html()
    assert as_dates(np.array([0.25, 20.5])) == ["1970-01-01 06:00", "1970-01-21 12:00"]
    assert as_dates(np.array([-1e9, 1e9])) == ["-1e+09", "1e+09"]


def test_the_first_line_says_what_it_is_good_for() -> None:
    lead = "Good for single values, comparing columns of a row, relating tables to the ones above, courses along time"
    assert lead in evaluation().to_html()
    assert verdict(evaluation()).splitlines()[2].startswith("Good for single values")
    wrong = mare.evaluate(
        clinic_schema(), clinic(300, 1), changed(clinic(300, 2), "patients", lambda f: f.assign(age=99, weight=30))
    )
    assert "Not for " in verdict(wrong)


def test_every_attack_is_explained() -> None:
    risk = mare.evaluate(clinic_schema(), clinic(120, 1), clinic(120, 2), holdout=clinic(120, 3, first=5000), risk=True)
    page = risk.to_html()
    shown = {attack.kind for attack in risk.parts["risk"].attacks}  # type: ignore[attr-defined]
    assert len(shown) > 5
    assert shown <= set(re.findall(r"<dt>([^<]+)</dt>", page))
