"""Random columns for `tests.strategies`: one strategy a type, and a dictionary of columns that fit together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

Fields = dict[str, Any]

_WORDS = st.text(alphabet=st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=6)
"""Values as they come: signs that YAML takes for its own, leading zeros, other alphabets."""
_TRICKY = st.sampled_from(
    ["no", "012", "null", "~", "1e5", "2100-01-01", "> 89", "a: b", "# x", "- y", "", " ", "é", "{", "12:30", "true"]
)
_VALUES = st.one_of(_WORDS, _TRICKY, st.integers(-5, 5), st.integers(-50, 50).map(lambda n: n / 8 + 0.0625))


def _category() -> st.SearchStrategy[Fields]:
    listed = st.lists(_VALUES, min_size=1, max_size=12, unique_by=str).map(lambda v: {"type": "category", "values": v})
    learned = st.integers(1, 40).map(lambda n: {"type": "category", "learn": True, "max_values": n})
    return st.one_of(listed, listed, learned)


@st.composite
def _ordered(draw: st.DrawFn, kind: str, bounds: st.SearchStrategy[Any]) -> Fields:
    if draw(st.integers(0, 4)) == 0:
        return {"type": kind, "learn": True}
    low, high = sorted([draw(bounds), draw(bounds)])
    return {"type": kind, "min": low, "max": high}


@st.composite
def _integer(draw: st.DrawFn) -> Fields:
    says = draw(_ordered("integer", st.integers(0, 500)))
    if draw(st.booleans()):
        says["specials"] = [-1, "> 89"]
    if draw(st.booleans()):
        says["scale"] = "log"
    return says


@st.composite
def _number(draw: st.DrawFn) -> Fields:
    says = draw(_ordered("number", st.floats(-1e6, 1e6, allow_nan=False)))
    if draw(st.booleans()):
        says["precision"] = draw(st.integers(0, 3))
    if draw(st.booleans()):
        says["bins"] = draw(st.integers(1, 30))
    if draw(st.booleans()):
        says |= {"decimal": ",", "thousands": ".", "nulls": draw(st.lists(_TRICKY, min_size=1, max_size=3, unique=True))}
    return says


def _boolean() -> st.SearchStrategy[Fields]:
    return st.sampled_from(
        [
            {"type": "boolean"},
            {"type": "boolean", "true": "Y", "false": "N"},
            {"type": "boolean", "true": 1, "false": 0},
            {"type": "boolean", "map": {"no": False, "ja": True, "~": True}, "case": "ignore", "trim": True},
        ]
    )


def _moments() -> st.SearchStrategy[Fields]:
    days = st.dates().map(str)
    clocks = st.times().map(lambda t: t.replace(microsecond=0).isoformat())
    moments = st.datetimes().map(lambda m: m.isoformat(sep=" "))
    spans = st.integers(0, 400).map(lambda n: f"{n:04d}h")
    return st.one_of(
        _ordered("date", days),
        _ordered("datetime", moments),
        _ordered("time", clocks),
        _ordered("duration", spans),
    )


def _code(publics: Mapping[str, Fields]) -> st.SearchStrategy[Fields]:
    listed = {"type": "code", "values": ["A00", "A01", "B20"], "hierarchy": {"prefix": [1, 3]}}
    learned = {"type": "code", "learn": True, "max_values": 30}
    vocabularies = [{"type": "code", "vocabulary": name} for name in publics]
    return st.sampled_from([listed, learned, *vocabularies])


def _text() -> st.SearchStrategy[Fields]:
    return st.sampled_from([{"type": "text"}, {"type": "text", "fill": "constant", "value": "…\nsecond line"}])


@st.composite
def columns(draw: st.DrawFn, publics: Mapping[str, Fields], *, most: int = 6) -> dict[str, Fields]:
    """Columns of one row, with some that depend on or are worked out from others."""
    described: dict[str, Fields] = {}
    kinds = [_category(), _boolean(), _integer(), _number(), _moments(), _code(publics), _text()]
    for i in range(draw(st.integers(1, most))):
        says = dict(draw(draw(st.sampled_from(kinds))))
        if says["type"] != "text" and draw(st.integers(0, 3)) == 0:
            says["nullable"] = True
        described[f"{says['type']}{i}"] = says
    if draw(st.integers(0, 3)) == 0:
        described["odd “name”: 2020"] = {"type": "boolean", "description": "a name that needs quotes"}
    _derived(draw, described, publics)
    return described


def _derived(draw: st.DrawFn, described: dict[str, Fields], publics: Mapping[str, Fields]) -> None:
    numbers = [c for c, says in described.items() if says["type"] in ("integer", "number")]
    categories = [c for c, says in described.items() if says["type"] == "category" and "values" in says]
    if numbers and draw(st.booleans()):
        described["ratio"] = {
            "type": "number",
            "determined": {"expression": f"round({numbers[0]} / (2 + abs({numbers[-1]})), 1)"},
        }
    if categories and draw(st.booleans()):
        ranges = {value: {"min": 0, "max": 10} for value in described[categories[0]]["values"][:3]}
        described["amount"] = {"type": "number", "by": categories[0], "ranges": ranges}
    if times_of(described) and draw(st.booleans()):
        described["year"] = {"type": "integer", "determined": {"part": {"of": times_of(described)[0], "unit": "year"}}}
    if publics and "code0" in described and draw(st.booleans()):
        lookup = {"table": next(iter(publics)), "column": "title", "by": "code0"}
        described["title"] = {"type": "text", "determined": {"lookup": lookup}}


def times_of(described: Mapping[str, Fields]) -> list[str]:
    """The dates and moments among these columns."""
    return [c for c, says in described.items() if says["type"] in ("date", "datetime")]
