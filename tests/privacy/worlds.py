"""Small worlds for audits, made by Hypothesis: a tree of tables under an entity, caps of every kind, rows that strain them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from mare.models import model_names
from mare.privacy.budget import Budget
from mare.schema import Schema
from tests.memory_source import MemorySource, Rows

_CHILDREN = ("c", "d", "e")
_BUDGETS = (Budget(2, 1e-9), Budget(2, delta=0))


@dataclass(frozen=True)
class World:
    schema: Schema
    rows: Rows
    budget: Budget

    def __repr__(self) -> str:
        return f"World({self.schema.model_dump(exclude_defaults=True)}, {self.rows}, {self.budget})"

    def source(self) -> MemorySource:
        text, number = pa.string(), pa.int64()
        types = {"p": {"id": number, "x": text, "y": text, "n": number, "m": number}}
        types |= {name: {**types["p"], "up": number} for name in _CHILDREN}
        return MemorySource.of(self.rows, {name: types[name] for name in self.rows})


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """1 to 4 tables, up to 12 entities. Some have far more rows than their caps; some rows have no owner, some come twice."""
    names = _CHILDREN[: draw(st.integers(0, 3))]
    parents = {name: draw(st.sampled_from(("p", *names[:i]))) for i, name in enumerate(names)}
    budget = draw(st.sampled_from(_BUDGETS))
    tables: dict[str, Any] = {"p": {"key": "id", "columns": _columns(draw, pure=budget.pure)}}
    for name in names:
        tables[name] = {"key": "id", "parent": _link(draw, parents[name]), "columns": _columns(draw, pure=budget.pure)}
    model = draw(st.sampled_from(model_names()))
    schema = Schema.model_validate({"mare": 1, "entity": "p", "model": model, "tables": tables})
    rows = _rows(np.random.default_rng(draw(st.integers(0, 2**32))), parents, draw(st.integers(1, 12)))
    return World(schema, rows, budget)


def _columns(draw: st.DrawFn, *, pure: bool) -> dict[str, Any]:
    nullable = draw(st.booleans())
    columns: dict[str, Any] = {
        "x": {"type": "category", "values": ["a", "b", "z"], "nullable": nullable},
        "n": {"type": "integer", "min": 0, "max": 9, "bins": draw(st.integers(2, 5))},
    }
    if draw(st.booleans()):
        # What is near to the row before is looked at where nobody has said where bins lie.
        columns["m"] = {"type": "integer", "min": 0, "max": 9999, "nullable": nullable}
    if draw(st.booleans()) and not pure:
        columns["y"] = {"type": "category", "nullable": True, "determined": {"goes_with": "x"}}
    return columns


def _link(draw: st.DrawFn, parent: str) -> dict[str, Any]:
    link: dict[str, Any] = {"table": parent, "column": "up", "max_rows": draw(st.integers(1, 3))}
    if draw(st.booleans()):
        link |= {"type": "sequential", "order_by": "n", "memory": draw(st.integers(1, 2))}
        link["keep"] = draw(st.sampled_from(["first", "last"]))
    if draw(st.booleans()):
        link["orphans"] = "entity"
    if draw(st.booleans()):
        link["max_per_entity"] = link["max_rows"] * draw(st.integers(1, 2))
    return link


def _rows(rng: np.random.Generator, parents: dict[str, str], entities: int) -> Rows:
    def values() -> dict[str, object]:
        # 12 is outside of the domain, and so is the text
        x = (None, "a", "a", "b", "z", "?")[int(rng.integers(6))]
        y = None if rng.random() < 0.3 else f"{x} {int(rng.integers(3))}"
        n, m = (None if rng.random() < 0.1 else int(rng.integers(0, most)) for most in (13, 12_000))
        return {"x": x, "y": y, "n": n, "m": m}

    rows: Rows = {"p": [{"id": i, **values()} for i in range(entities)]}
    for name, parent in parents.items():
        above = [row["id"] for row in rows[parent]]
        owners = [up for up in above for _ in range(int(rng.choice([0, 1, 2, 7])))]
        owners += [None, 10**6] if rng.random() < 0.5 else []
        rows[name] = [{"id": i, "up": up, **values()} for i, up in enumerate(owners)]
    return rows
