"""What must hold in every synthetic database, whatever the schema: references, keys, order, NULLs, caps. Found, not assumed.

`faults(schema, frames)` lists everything that does not; an empty list is a sound database.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from mare.graph.dag import DatasetDag
from mare.schema import Schema
from mare.schema.columns import Date, Datetime, Integer, Number, Ordinal
from mare.schema.determined import PARENT_ROW, PREVIOUS_ROW, SAME_ROW
from mare.schema.layout import Layout, link_cap
from mare.schema.schema import EntityByColumn
from mare.schema.strict import parse_span

Frames = Mapping[str, pd.DataFrame]


def faults(schema: Schema, frames: Frames) -> list[str]:
    """Everything that is wrong with a synthetic database."""
    dag = DatasetDag.of(schema)
    found = [f"{name}: the table is missing" for name in dag.tables() if name not in frames]
    if found:
        return found
    whose = entities(schema, dag, frames)
    for name in dag.tables():
        if dag.node(name).role == "public":
            continue
        found += [*_keys(schema, name, frames), *_references(schema, name, frames, whose), *_nulls(schema, name, frames)]
        found += [*_parent(schema, name, frames), *_order(schema, name, frames), *_sequence(schema, name, frames)]
        found += _entity_cap(schema, name, whose)
    return found


def entities(schema: Schema, dag: DatasetDag, frames: Frames) -> dict[str, pd.Series]:
    """Of each row, whose it is: by the keys that came out, not by how they were made."""
    found: dict[str, pd.Series] = {}
    for name in dag.generation_order():
        role, frame = dag.node(name).role, frames[name]
        if role == "entity":
            found[name] = pd.Series(range(len(frame)), index=frame.index)
        elif role == "private":
            foreign, referred = link_columns(schema, name)
            above = schema.parent_name(name) or ""
            if above not in frames:
                found[name] = frame[foreign[0]].astype(str)
            else:
                found[name] = _lookup(frames[above], referred, found[above], frame, foreign)
        elif role == "owned":
            edges = [(edge.child, edge.name) for edge in dag.owners(name)]
            owners = {}
            for owner, reference in edges:
                columns = schema.tables[owner].reference_columns(reference)
                there = schema.tables[owner].references[reference].column or schema.tables[name].key or ()
                for key, entity in zip(_rows(frames[owner], columns), found[owner], strict=True):
                    if None not in key:
                        owners[key] = entity
            found[name] = pd.Series([owners.get(key) for key in _rows(frame, there)], index=frame.index, dtype=object)
    return found


def link_columns(schema: Schema, name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The foreign key to the parent, and the columns there."""
    link, entity = schema.parent(name), schema.entity
    own = (entity.by,) if isinstance(entity, EntityByColumn) else ()
    if link is None or link.table is None or link.table not in schema.tables:
        return schema.parent_columns(name) or own, own
    return schema.parent_columns(name), link.references or schema.tables[link.table].key or ()


def _rows(frame: pd.DataFrame, columns: tuple[str, ...]) -> list[tuple[Any, ...]]:
    return [tuple(None if pd.isna(v) else v for v in row) for row in frame[list(columns)].itertuples(index=False, name=None)]


def _lookup(
    there: pd.DataFrame, key: tuple[str, ...], values: pd.Series, here: pd.DataFrame, foreign: tuple[str, ...]
) -> pd.Series:
    known = dict(zip(_rows(there, key), values, strict=True))
    return pd.Series([known.get(row) for row in _rows(here, foreign)], index=here.index, dtype=object)


def _keys(schema: Schema, name: str, frames: Frames) -> list[str]:
    table, frame = schema.tables[name], frames[name]
    found = []
    for columns in [*([table.key] if table.key else []), *table.unique]:
        rows = _rows(frame, columns)
        whole = [row for row in rows if None not in row]
        if len(set(whole)) != len(whole):
            found.append(f"{name}: {columns} repeats")
        if columns == table.key and len(whole) != len(rows):
            found.append(f"{name}: a part of the key {columns} is NULL")
    return found


def _parent(schema: Schema, name: str, frames: Frames) -> list[str]:
    above, frame = schema.parent_name(name), frames[name]
    if above is None:
        return []
    foreign, referred = link_columns(schema, name)
    rows, found = _rows(frame, foreign), []
    if above in frames and not set(rows) <= set(_rows(frames[above], referred)):
        found.append(f"{name}: a row has no parent in {above}")
    cap = link_cap(schema, name)
    most = max((rows.count(row) for row in set(rows)), default=0)
    if cap is not None and most > cap.rows:
        found.append(f"{name}: a parent has {most} rows, at most {cap.rows} may be")
    link = schema.parent(name)
    if link is not None and link.type == "associative" and link.via is not None:
        keys = set(_rows(frames[link.via], schema.tables[link.via].key or ()))
        via = _rows(frame, link.column_via or ())
        if not set(via) <= keys:
            found.append(f"{name}: a key is not in the public table {link.via}")
        pairs = list(zip(rows, via, strict=True))
        if any(pairs.count(pair) > link.multiplicity for pair in set(pairs)):
            found.append(f"{name}: a key occurs more than {link.multiplicity} times under one parent")
    return found


def _entity_cap(schema: Schema, name: str, whose: Mapping[str, pd.Series]) -> list[str]:
    link = schema.parent(name)
    if link is None or link.max_per_entity is None or name not in whose:
        return []
    most = int(whose[name].value_counts().max()) if len(whose[name]) else 0
    return [f"{name}: an entity has {most} rows, at most {link.max_per_entity} may be"] if most > link.max_per_entity else []


def _references(schema: Schema, name: str, frames: Frames, whose: Mapping[str, pd.Series]) -> list[str]:
    table, frame, found = schema.tables[name], frames[name], list[str]()
    for reference, says in table.references.items():
        columns = table.reference_columns(reference)
        if says.table not in frames or any(c not in frame for c in columns):
            continue
        there = says.column or schema.tables[says.table].key or ()
        known = {key: place for place, key in enumerate(_rows(frames[says.table], there))}
        rows = _rows(frame, columns)
        if not says.nullable and any(None in row for row in rows):
            found.append(f"{name}.{reference} is NULL, but may not be")
        whole = [(place, row) for place, row in enumerate(rows) if None not in row]
        if any(row not in known for _, row in whole):
            found.append(f"{name}.{reference} leads to no row of {says.table}")
            continue
        if says.kind in ("same_entity", "ancestor", "earlier", "owned"):
            mine, theirs = whose[name].tolist(), whose[says.table].tolist()
            if any(mine[place] != theirs[known[row]] for place, row in whole):
                found.append(f"{name}.{reference} leads to a row of somebody else")
        if says.kind == "owned" and len({row for _, row in whole}) != len(whole):
            found.append(f"{name}.{reference}: two rows own the same one")
        if says.kind == "earlier":
            foreign, _ = link_columns(schema, name)
            parents = _rows(frame, foreign)
            for place, row in whole:
                back = place - known[row]
                if parents[known[row]] != parents[place] or back > says.back or back < (0 if says.itself else 1):
                    found.append(f"{name}.{reference} does not lead to an earlier row of the same sequence")
                    break
    return found


def _nulls(schema: Schema, name: str, frames: Frames) -> list[str]:
    table, frame = schema.tables[name], frames[name]
    return [
        f"{name}.{column} is NULL, but may not be"
        for column, says in table.columns.items()
        if column in frame
        and not says.nullable
        and says.determined is None
        and says.type != "text"
        and frame[column].isna().any()
    ]


def _order(schema: Schema, name: str, frames: Frames) -> list[str]:
    """`after` and `before`, wherever both sides are there. A date is neither before nor after what happens on its day."""
    table, frame, found = schema.tables[name], frames[name], list[str]()
    for column, says in table.columns.items():
        if not isinstance(says, Ordinal) or says.specials or says.determined is not None or column not in frame:
            continue
        for field, anchor in says.anchors.items():
            other = _anchored(schema, name, frames, anchor.scope, anchor.column)
            if other is None or field.startswith("first"):
                continue
            kind = _home(schema, name, anchor.scope).columns.get(anchor.column)
            left, right = _comparable(frame[column], says), _comparable(other, kind)
            if isinstance(says, Date) or isinstance(kind, Date):
                left, right = left.dt.floor("D"), right.dt.floor("D")
            both = left.notna() & right.notna()
            if field == "around":
                reach = parse_span(says.within) if isinstance(says.within, str) else says.within
                if ((left - right).abs() > reach)[both].any():
                    found.append(f"{name}.{column} is further from {anchor.column} than it may be")
                continue
            after = field in ("after", "during.0")
            wrong = (left < right) if after else (left > right)
            if (wrong & both).any():
                found.append(f"{name}.{column} is {'before' if after else 'after'} {anchor.scope or 'its own'} {anchor.column}")
            if says.strict and after and ((left == right) & both).any():
                found.append(f"{name}.{column} equals {anchor.column}, but strictly follows it")
    return found


def _sequence(schema: Schema, name: str, frames: Frames) -> list[str]:
    """Rows of sequences come in the order of the column that orders them, where it stands for itself or depends on rows above."""
    link, frame = schema.parent(name), frames[name]
    if link is None or link.type != "sequential" or not link.order_by or link.order_by[0] not in frame:
        return []
    column = link.order_by[0]
    says = schema.tables[name].columns.get(column)
    if not isinstance(says, Date | Datetime | Integer | Number) or says.specials or says.determined is not None:
        return []
    if (isinstance(says, Integer | Number) and says.by is not None) or any(a.scope == SAME_ROW for a in says.anchors.values()):
        return []
    foreign, _ = link_columns(schema, name)
    values = _comparable(frame[column], says)
    known = frame[values.notna()]
    back = values.dropna().groupby([known[f] for f in foreign], sort=False).diff()
    zero = pd.Timedelta(0) if isinstance(says, Date | Datetime) else 0
    return [f"{name}: rows do not come in the order of {column}"] if (back < zero).any() else []


def _home(schema: Schema, name: str, scope: str) -> Any:
    if scope in (SAME_ROW, PREVIOUS_ROW):
        return schema.tables[name]
    return schema.tables[Layout(schema).ancestors(name)[0] if scope == PARENT_ROW else scope]


def _comparable(values: pd.Series, says: object) -> pd.Series:
    if isinstance(says, Date | Datetime):
        return pd.Series(values.astype("datetime64[us]"), index=values.index)
    return pd.to_numeric(values) if isinstance(says, Integer | Number) else values


def _anchored(schema: Schema, name: str, frames: Frames, scope: str, column: str) -> pd.Series | None:
    frame = frames[name]
    if scope == SAME_ROW:
        return frame[column]
    if scope == PREVIOUS_ROW:
        foreign, _ = link_columns(schema, name)
        return frame.groupby(list(foreign), sort=False)[column].shift(1)
    above = Layout(schema).ancestors(name)
    wanted = above[0] if scope == PARENT_ROW else scope
    keys, here = frame, name
    index = pd.Series(range(len(frame)), index=frame.index)
    while here != wanted:
        parent = schema.parent_name(here)
        if parent is None or parent not in frames:
            return None
        foreign, referred = link_columns(schema, here)
        places = pd.Series(range(len(frames[parent])), index=frames[parent].index)
        up = _lookup(frames[parent], referred, places, keys, foreign)
        index = up if here == name else index.map(dict(enumerate(up)))
        here, keys = parent, frames[parent]
    values = dict(enumerate(frames[wanted][column]))
    return pd.Series([values.get(place) for place in index], index=frame.index, dtype=frames[wanted][column].dtype)
