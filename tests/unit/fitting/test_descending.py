"""A public hierarchy is descended as far as the noise lets it: what stands clear is split, what does not shares one place."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from mare.audit import tape_audit
from mare.codec import LearnedValues
from mare.errors import MissingExtra, SourceError
from mare.fitting import FitOptions, run_fit
from mare.fitting.code_lists import CodeList
from mare.fitting.descending import descend
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.release import Release
from mare.sampling import sample
from mare.schema import Schema
from mare.schema.loading import load_schema
from tests.memory_source import MemorySource

CODES = tuple(f"{chapter}{block}{number}" for chapter in "ABC" for block in range(3) for number in range(4))
LISTED = CodeList(CODES, (tuple(code[0] for code in CODES),), (2,))
TRUE = {"A00": 600.0, "A01": 300.0, "A10": 40.0, "B20": 12.0, "B21": 9.0}


@dataclass
class Counts:
    """Answers of a table that nobody protects, with a deviation that somebody claims."""

    rows: NDArray[np.float64]
    rows_deviation: float


@dataclass
class Asked:
    deviation: float
    cells: list[int] = field(default_factory=list)

    def __call__(self, cell: NDArray[np.int64], part: float) -> Counts:
        counts = np.zeros(int(cell.max()) + 3)
        for code, where in zip(CODES, cell.tolist(), strict=True):
            counts[where] += TRUE.get(code, 0.0)
        self.cells.append(int(cell.max()) + 1)
        return Counts(counts, self.deviation)


def places(found: LearnedValues) -> set[frozenset[str]]:
    return {frozenset([code]) for code in found.values} | {frozenset(group) for group in found.shared}


def test_without_noise_every_code_that_occurs_has_a_place() -> None:
    found = descend(LISTED, 30, Asked(0.01)).values
    assert found.values == ("A00", "A01", "A10", "B20", "B21")
    assert sorted(code for place in places(found) for code in place) == sorted(CODES)
    assert found.counts[:2] == (600.0, 300.0)


def test_a_node_that_does_not_stand_clear_is_not_split() -> None:
    found = descend(LISTED, 30, Asked(7.0)).values
    # B as a whole stands clear (21 rows, a deviation of 7), neither of its codes does; of C nothing is there to stand clear.
    assert found.values == ("A00", "A01", "A10")
    (b2,) = (number for number, group in enumerate(found.shared) if "B20" in group)
    assert "B21" in found.shared[b2]
    weights = dict(zip(found.shared[b2], found.within[b2], strict=True))
    assert weights["B20"] > weights["B21"] > weights.get("C00", 0.0) == 0.0


@pytest.mark.parametrize("most", [1, 2, 4, 6])
def test_there_are_never_more_places_than_were_promised(most: int) -> None:
    found = descend(LISTED, most, Asked(0.01)).values
    assert len(places(found)) <= most
    assert sorted(code for place in places(found) for code in place) == sorted(CODES)


# ---------------------------------------------------------------------- vocabularies that are no table of the source


def fitted(vocabulary: str, codes: list[str | None], epsilon: float = 1e6) -> tuple[Release, pd.Series]:
    made, source = plan(schema(vocabulary), Budget(epsilon, 0)), people(codes)
    release = run_fit(made, source, FitOptions(bits=SeededBits(3)))
    return release, sample(release, entities=len(codes), seed=1)["people"]["icd"]


def schema(vocabulary: str) -> Schema:
    return load_schema(
        "mare: 1\nentity: people\nmodel: independent\ntables:\n  people:\n    key: pid\n    columns:\n"
        f"      icd: {{type: code, vocabulary: {vocabulary}, max_values: 12}}\n"
    )


def people(codes: list[str | None]) -> MemorySource:
    return MemorySource({"people": pa.table({"pid": list(range(len(codes))), "icd": pa.array(codes, type=pa.string())})})


def test_a_file_of_ones_own_brings_list_and_hierarchy_and_needs_no_delta(tmp_path) -> None:
    file = tmp_path / "atc.csv"
    file.write_text("code,group\n" + "".join(f"{code},{code[0]}\n" for code in CODES))
    vocabulary = f"{{file: '{file}', code: code, levels: [group]}}"
    release, drawn = fitted(vocabulary, ["A00"] * 500 + ["B11"] * 300 + ["elsewhere"] * 200)
    assert drawn.eq("A00").mean() == pytest.approx(5 / 8, abs=0.06)
    assert drawn.eq("B11").mean() == pytest.approx(3 / 8, abs=0.06)
    (doubt,) = release.doubts
    assert (doubt.where, doubt.what) == ("people.icd", "the vocabulary lacks the codes of about 20% of its rows")
    assert any("vocabularies of codes" in fact for fact in release.ledger.public)
    file.unlink()
    assert len(sample(release, entities=5, seed=2)["people"]) == 5  # a release needs no file
    with pytest.raises(SourceError, match="cannot be read as CSV"):
        fitted(vocabulary, ["A00"])


def test_a_column_that_a_file_does_not_have_is_named(tmp_path) -> None:
    file = tmp_path / "atc.csv"
    file.write_text("code\nA00\n")
    with pytest.raises(SourceError, match=r"has no column chapter. It has: code"):
        fitted(f"{{file: '{file}', code: code, levels: [chapter]}}", ["A00"])


@pytest.mark.slow
def test_icd10cm_is_found_code_by_code() -> None:
    pytest.importorskip("simple_icd_10_cm")
    release, drawn = fitted("icd10cm", ["I10"] * 500 + ["E11.9"] * 300 + ["E11.65"] * 200)
    learned = release.plan.learned["people.icd"]
    assert isinstance(learned, LearnedValues)
    assert learned.values == ("I10", "E11.9", "E11.65")
    assert drawn.eq("I10").mean() == pytest.approx(0.5, abs=0.05)
    assert set(fitted("icd10cm-without-dots", ["I10"] * 50 + ["E119"] * 50)[1]) == {"I10", "E119"}


def test_a_package_that_is_missing_is_named_before_anything_is_paid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "simple_icd_10_cm", None)
    with pytest.raises(MissingExtra, match=r"pip install 'mare-synth\[codes\]'"):
        fitted("icd10cm", ["I10"])


def test_nobody_shows_in_a_descent(tmp_path) -> None:
    file = tmp_path / "atc.csv"
    file.write_text("code,group\n" + "".join(f"{code},{code[0]}\n" for code in CODES))
    rng = np.random.default_rng(2)
    codes = rng.choice(["A00", "A01", "B10", "strange"], 40).tolist()
    made = plan(schema(f"{{file: '{file}', code: code, levels: [group]}}"), Budget(20, 0))
    report = tape_audit(made, people(codes), random=4)
    assert report.passed, report.render()
    assert sum(query.view == "people.icd" for query in report.queries) == 2
