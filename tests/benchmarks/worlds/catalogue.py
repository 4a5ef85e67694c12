"""Which worlds there are, and how one becomes two sets that are alike: one to fit and one to compare with.

A real database is halved by a hash of the entity's key; a generated one is drawn twice. Both sets are cut to the caps of the
schema, the rows that it keeps, so that what a cap costs is not judged. What the schema says is public stays whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import mare

from . import cohort, practice, register, shop
from .tools import Frames

HERE = Path(__file__).resolve().parent
SHARED = HERE.parents[3] / "shared" / "data"
FIT, FRESH = 11, 12  # seeds of the two draws of a generated world
SHUFFLE = 7


@dataclass(frozen=True)
class World:
    """A schema, what the judge is told, and where the rows come from: a folder outside the repository, or a generator."""

    name: str
    schema: Path
    folder: str = ""
    generate: Callable[[int, int], Frames] | None = None
    entities: int = 0

    @property
    def spec(self) -> dict[str, dict[str, Any]]:
        told: dict[str, dict[str, Any]] = json.loads((HERE.parent / "specs" / f"{self.name}.json").read_text())["tables"]
        return told

    @property
    def there(self) -> bool:
        return self.generate is not None or (SHARED / self.folder).is_dir()

    def pair(self, half: bool) -> tuple[Frames, Frames]:
        """To fit, and to compare with: two halves, or two draws. Cut to the caps, rows in one order."""
        if self.generate is None:
            first, second = halves(self, self.read())
        elif half:
            first, second = halves(self, self.generate(self.entities, FIT))
        else:
            first, second = self.generate(self.entities, FIT), self.generate(self.entities, FRESH)
        return ordered(self.spec, cut(self, first)), ordered(self.spec, cut(self, second))

    def read(self) -> Frames:
        """The tables of the schema, as far as they are there; what is ignored is not read."""
        tables = mare.load_schema(self.schema).tables
        paths = {name: SHARED / self.folder / f"{name}.parquet" for name, table in tables.items() if not table.ignore}
        return {name: pd.read_parquet(path) for name, path in paths.items() if path.exists()}


WORLDS = {
    world.name: world
    for world in (
        World("berka", HERE / "berka.yaml", "berka"),
        World("sakila", HERE / "sakila.yaml", "sakila"),
        World("omop", HERE / "omop.yaml", "omop_synthea27nj"),
        World("nafld", HERE.parent / "nafld.yaml", "nafld"),
        World("practice", HERE / "practice.yaml", generate=practice.generate, entities=2000),
        World("shop", HERE / "shop.yaml", generate=shop.generate, entities=1500),
        World("cohort", HERE / "cohort.yaml", generate=cohort.generate, entities=4000),
        World("register", HERE / "register.yaml", generate=register.generate, entities=2500),
    )
}


def owners(spec: dict[str, dict[str, Any]], tables: Frames) -> dict[str, pd.Series]:
    """For each judged table, whose row each row is; NULL where it leads nowhere. The judge lists parents before children."""
    found: dict[str, pd.Series] = {}
    for name, told in spec.items():
        frame = tables[name]
        if "parent" not in told:
            found[name] = frame[told["key"][0]]
            continue
        here, above = next(iter(told["fk"].items()))
        lookup = pd.Series(found[told["parent"]].to_numpy(), index=tables[told["parent"]][above])
        found[name] = frame[here].map(lookup[~lookup.index.duplicated()])
    return found


def halves(world: World, tables: Frames) -> tuple[Frames, Frames]:
    """By a hash of the entity's key: the same halves every time."""
    whose = owners(world.spec, tables)
    first, second = dict(tables), dict(tables)
    for name, owner in whose.items():
        side = owner.map({key: _hash(world.name, key) % 2 for key in owner.dropna().unique()})
        first[name], second[name] = (tables[name][side == k].reset_index(drop=True) for k in (0, 1))
    return first, second


def cut(world: World, tables: Frames) -> Frames:
    """To max_rows and max_per_entity, as the schema keeps rows; with a parent row go the rows below it."""
    schema, kept = mare.load_schema(world.schema), dict(tables)
    for name, told in world.spec.items():
        if "parent" not in told:
            continue
        here, above = next(iter(told["fk"].items()))
        frame = kept[name]
        frame = frame[frame[here].isin(kept[told["parent"]][above])]
        parent = schema.tables[name].parent
        if parent is not None and parent.max_rows is not None:
            frame = _kept_rows(frame, parent, here)
            if parent.max_per_entity is not None:
                whose = owners(world.spec, kept | {name: frame})[name]
                frame = _whole_lists(frame, here, whose, parent.max_per_entity)
        kept[name] = frame.sort_index().reset_index(drop=True)
    return kept


def _kept_rows(frame: pd.DataFrame, parent: Any, column: str) -> pd.DataFrame:
    order = [parent.order_by] if isinstance(parent.order_by, str) else list(parent.order_by or ())
    mixed = frame.sample(frac=1, random_state=SHUFFLE)
    keep = parent.keep or ("last" if order else "random")
    if order and keep != "random":
        mixed = frame.sort_values(order, kind="stable")
    groups = mixed.groupby(column, sort=False)
    return groups.tail(parent.max_rows) if keep == "last" else groups.head(parent.max_rows)


def _whole_lists(frame: pd.DataFrame, column: str, owner: pd.Series, most: int) -> pd.DataFrame:
    lists = (
        pd.DataFrame({"list": frame[column], "owner": owner})
        .groupby("list")
        .agg(owner=("owner", "first"), rows=("owner", "size"))
    )
    lists = lists.sample(frac=1, random_state=SHUFFLE)
    fits = lists.groupby("owner")["rows"].cumsum() <= most
    return frame[frame[column].isin(fits.index[fits])]


def ordered(spec: dict[str, dict[str, Any]], tables: Frames) -> Frames:
    """Rows of one parent by the order that the judge is told, ties by their values: a file's order is no fact."""
    found = dict(tables)
    for name, told in spec.items():
        frame = tables[name]
        keys = set(told.get("key", ())) | set(told.get("fk", {}))
        rest = frame[[c for c in sorted(frame.columns) if c not in keys and c != told.get("order")]].astype(str)
        lead = frame[[*told.get("fk", {}), *([told["order"]] if "order" in told else [])]]
        by = pd.concat([lead, rest.add_prefix("tie ")], axis=1)
        found[name] = frame.loc[by.sort_values(list(by.columns), kind="stable").index].reset_index(drop=True)
    return found


def shuffled(spec: dict[str, dict[str, Any]], tables: Frames) -> Frames:
    """Every column on its own, keys aside: what a synthesizer of columns alone could reach at best."""
    rng = np.random.default_rng(SHUFFLE)
    keys = {c for told in spec.values() for c in (*told.get("key", ()), *told.get("fk", {}), *told.get("fk", {}).values())}
    mixed = {}
    for name in spec:
        frame = tables[name]
        mixed[name] = frame.assign(**{c: frame[c].to_numpy()[rng.permutation(len(frame))] for c in frame if c not in keys})
    return ordered(spec, mixed)


def _hash(world: str, key: object) -> int:
    return int.from_bytes(hashlib.sha256(f"{world} {key}".encode()).digest()[:4], "big")
