"""What goes with a code comes out beside it: a name that stood there, in proportion, and no list of codes is worse for it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mare.fitting import FitOptions, run_fit
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.release import Release
from mare.sampling import sample
from mare.schema.loading import load_schema
from tests.integrity import faults
from tests.memory_source import MemorySource

SCHEMA = """
mare: 1
entity: people
tables:
  people: {key: pid, columns: {sex: {type: category, values: [F, M]}}}
  ills:
    key: iid
    parent: {table: people, column: pid, max_rows: 3}
    columns:
      code: {type: category, learn: true}
      name: {type: category, nullable: true, determined: {goes_with: code}}
"""
PEOPLE = 800


def source(names: list[str | None], codes: list[object]) -> MemorySource:
    rows = {"iid": range(len(codes)), "pid": [place // 3 for place in range(len(codes))]}
    return MemorySource(
        {
            "people": pa.table({"pid": range(PEOPLE), "sex": ["F", "M"] * (PEOPLE // 2)}),
            "ills": pa.table({**rows, "code": codes, "name": pa.array(names, type=pa.string())}),
        }
    )


def released(text: str, rows: MemorySource, epsilon: float) -> Release:
    return run_fit(plan(load_schema(text), Budget(epsilon, 1e-6)), rows, FitOptions(bits=SeededBits(1)))


def drawn(text: str, rows: MemorySource, epsilon: float) -> pd.DataFrame:
    release = released(text, rows, epsilon)
    made = sample(release, entities=PEOPLE, seed=1)
    assert made is not None
    assert faults(release.schema, made) == []
    ills: pd.DataFrame = made["ills"]
    return ills


def thirty() -> list[int]:
    """Codes of all rows, the first of thirty the most frequent."""
    drawn: list[int] = (30 * np.random.default_rng(1).random(3 * PEOPLE) ** 2).astype(int).tolist()
    return drawn


@pytest.mark.parametrize("epsilon", [1.0, 1000.0])
@pytest.mark.parametrize("numbered", [False, True], ids=["texts", "numbers"])
def test_every_name_is_that_of_its_code(epsilon: float, numbered: bool) -> None:
    """At any noise; each on its own, at ε = 1 hardly any fitted."""
    codes = thirty()
    made = drawn(
        SCHEMA, source([f"ill {code}" for code in codes], codes if numbered else [f"C{code:02}" for code in codes]), epsilon
    )
    named = made[made["name"].notna()]
    assert len(named) > 0.9 * len(made)
    assert (
        named["name"].str.removeprefix("ill ").astype(int) == named["code"].astype(str).str.removeprefix("C").astype(int)
    ).all()
    assert named["code"].nunique() > 3


def test_a_code_of_several_names_has_them_in_proportion() -> None:
    codes = thirty()
    names = [f"ill {code}" if place % 4 else f"Ill {code}" for place, code in enumerate(codes)]
    made = drawn(SCHEMA, source(names, [f"C{code:02}" for code in codes]), 1000.0)
    assert made["name"].str.startswith("Ill").mean() == pytest.approx(0.25, abs=0.05)


def test_a_name_that_is_sometimes_missing_is_so_in_proportion() -> None:
    codes = thirty()
    names = [None if code % 2 else f"ill {code}" for code in codes]
    made = drawn(SCHEMA, source(names, [f"C{code:02}" for code in codes]), 1000.0)
    assert (made["name"].isna() == made["code"].str[1:].astype(int).mod(2).astype(bool)).all()


def test_a_text_that_is_written_anew_leaves_the_list_of_codes_as_it_is() -> None:
    """No pair stands clear of the noise: nothing goes with the code, and nothing of the texts comes out."""
    codes = thirty()
    rows = source([f"note {place}" for place in range(len(codes))], [f"C{code:02}" for code in codes])
    made = drawn(SCHEMA, rows, 3.0)
    assert made["name"].isna().all()
    assert made["code"].nunique() >= 6


def test_what_is_listed_in_the_schema_has_names_too() -> None:
    codes = [place % 3 for place in range(3 * PEOPLE)]
    text = SCHEMA.replace("{type: category, learn: true}", "{type: category, values: [C0, C1, C2]}")
    made = drawn(text, source([f"ill {code}" for code in codes], [f"C{code}" for code in codes]), 1.0)
    assert (made["name"].str[4:] == made["code"].str[1:]).all()


def test_given_codes_get_their_names() -> None:
    codes = thirty()
    release = released(SCHEMA, source([f"ill {code}" for code in codes], [f"C{code:02}" for code in codes]), 1000.0)
    people = pd.DataFrame({"pid": [1, 2], "sex": ["F", "M"]})
    made = sample(
        release, seed=1, given={"people": people, "ills": pd.DataFrame({"iid": [7, 8], "pid": [1, 2], "code": ["C00", "C05"]})}
    )
    assert made is not None
    assert made["ills"]["name"].tolist() == ["ill 0", "ill 5"]
