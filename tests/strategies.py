"""Random schemas that are valid and settled, for property tests of every room: `@given(schemas())`.

They are built so that they hold: parents before children, anchors before what depends on them. The tables of an entity,
public vocabularies, an owned lookup and a pool of staff, with most column types, kinds of keys and kinds of references.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from mare.schema import Schema
from tests.strategies_columns import columns, times_of

Fields = dict[str, Any]
"""A part of a schema as YAML would hold it."""

_PUBLIC = ("drugs", "icd")
_PRIVATE = ("stays", "events", "orders", "lines")


@st.composite
def schemas(draw: st.DrawFn, *, max_tables: int = 7, by_column: bool | None = None) -> Schema:
    """A schema without faults: 1 to ``max_tables`` tables, the entity among them or (``by_column``) told apart by a column."""
    entity_by_column = draw(st.booleans()) if by_column is None else by_column
    publics = {name: draw(_public(name)) for name in _PUBLIC[: draw(st.integers(0, min(2, max_tables - 1)))]}
    room = max_tables - len(publics)
    lookups: dict[str, Fields] = {}
    if room > 2 and draw(st.booleans()):
        lookups["staff"] = draw(_pool())
        room -= 1
    owns = room > 2 and draw(st.booleans())
    private: dict[str, Fields] = {}
    first = "stays" if entity_by_column else "people"
    private[first] = draw(_first_table(first, publics, lookups, entity_by_column))
    for name in draw(st.permutations([n for n in _PRIVATE if n != first]))[
        : draw(st.integers(0, max(0, min(3, room - 1 - owns))))
    ]:
        private[name] = draw(_child(name, private, publics, lookups, entity_by_column))
    if owns:
        # Sometimes two references own rows of one table: each row is made for one of them.
        for place, owner in enumerate(draw(st.lists(st.sampled_from(sorted(private)), min_size=1, max_size=2))):
            private[owner].setdefault("references", {})[f"home{place}_id"] = {
                "kind": "owned",
                "table": "homes",
                "nullable": draw(st.booleans()),
            }
        lookups["homes"] = {"key": "home_id", "columns": draw(columns({}, most=2))}
    tables = {**private, **lookups, **publics}
    order = draw(st.permutations(list(tables)))
    entity: Any = {"table": first, "by": "person_no"} if entity_by_column else first
    fields = {"mare": 1, "entity": entity, "tables": {name: tables[name] for name in order}}
    return Schema.model_validate(fields)


@st.composite
def _public(draw: st.DrawFn, name: str) -> Fields:
    return {"public": True, "key": f"{name}_id", "rows": draw(st.integers(1, 20))}


@st.composite
def _pool(draw: st.DrawFn) -> Fields:
    shape = {"type": "category", "values": ["nurse", "doctor"]}
    return {"pool": {"rows": draw(st.integers(1, 50))}, "key": "staff_id", "columns": {"job": shape}}


@st.composite
def _first_table(
    draw: st.DrawFn, name: str, publics: Mapping[str, Fields], lookups: Mapping[str, Fields], by_column: bool
) -> Fields:
    table: Fields = {"key": f"{name}_id", "columns": draw(columns(publics))}
    if draw(st.booleans()):
        table["columns"] = {f"{name}_id": draw(_identifiers()), **table["columns"]}
    if by_column:
        table["parent"] = {"max_rows": draw(st.integers(1, 9))}
        if draw(st.booleans()):
            _make_sequence(draw, table, first_relative=None)
    elif draw(st.booleans()):
        fill = draw(st.sampled_from(["none", "random"]))
        table["references"] = {"partner_id": {"kind": "other_entity", "table": name, "nullable": True, "fill": fill}}
    _refer_to_lookups(draw, table, publics, lookups)
    return table


def _identifiers() -> st.SearchStrategy[Fields]:
    return st.sampled_from(
        [
            {"type": "identifier"},
            {"type": "identifier", "start": 1000},
            {"type": "identifier", "generate": "uuid"},
            {"type": "identifier", "generate": "pattern", "pattern": "P{n:08d}"},
        ]
    )


@st.composite
def _child(
    draw: st.DrawFn,
    name: str,
    private: dict[str, Fields],
    publics: Mapping[str, Fields],
    lookups: Mapping[str, Fields],
    by_column: bool,
) -> Fields:
    above = draw(st.sampled_from(list(private)))
    link: Fields = {"table": above, "column": f"{above}_id", "max_rows": draw(st.integers(1, 12))}
    table: Fields = {"parent": link, "columns": draw(columns(publics))}
    kinds = ["independent", "sequential", *(["associative"] if publics else [])]
    kind = draw(st.sampled_from(kinds))
    if kind == "sequential":
        anchors = [f"parent.{c}" for c in times_of(private[above]["columns"])]
        _make_sequence(draw, table, first_relative=draw(st.sampled_from(anchors)) if anchors and draw(st.booleans()) else None)
    elif kind == "associative":
        _make_association(draw, table, publics)
    elif draw(st.booleans()):
        link["keep"] = "random"
    if draw(st.booleans()):
        link["max_per_entity"] = link["max_rows"] * draw(st.integers(1, 4))
    if draw(st.integers(0, 3)) == 0:
        link["orphans"] = "entity"
    _give_key(draw, name, table)
    _refer_within(draw, name, table, private, by_column)
    _refer_to_lookups(draw, table, publics, lookups)
    siblings = [n for n, other in private.items() if other.get("parent", {}).get("table") == above]
    if siblings and draw(st.booleans()):
        table["sees"] = [draw(st.sampled_from(siblings))]
    return table


def _make_sequence(draw: st.DrawFn, table: Fields, first_relative: str | None) -> None:
    link, described = table["parent"], table["columns"]
    link["type"] = "sequential"
    if draw(st.booleans()):
        link["memory"] = draw(st.integers(1, 4))
    how = draw(st.sampled_from(["position", "absolute", "gap", "interval"]))
    if how == "position":
        described["seq"] = {"type": "position", "start": draw(st.integers(0, 1))}
        if draw(st.booleans()):
            link["order_by"] = "seq"
    elif how == "absolute":
        described["at"] = {"type": "date", "min": "2100-01-01", "max": "2150-12-31"}
        link["order_by"] = "at"
    else:
        first = {"min": "2100-01-01", "max": "2150-12-31"}
        if first_relative is not None:
            first = {"after": first_relative, "within": "30d"}
        follows = "previous.until" if how == "interval" else "previous.at"
        described["at"] = {"type": "datetime", "after": follows, "within": "20y", "first": first, "strict": draw(st.booleans())}
        link["order_by"] = "at"
        if how == "interval":
            described["until"] = {"type": "datetime", "after": "at", "within": "365d", "scale": "log"}
            if draw(st.booleans()):
                described["days"] = {"type": "number", "determined": {"elapsed": {"since": "at", "until": "until"}}}
    categories = [c for c, says in described.items() if says["type"] == "category" and "determined" not in says]
    if categories and draw(st.booleans()):
        link["history_by"] = categories[0]
    link["keep"] = draw(st.sampled_from(["first", "last"]))


def _make_association(draw: st.DrawFn, table: Fields, publics: Mapping[str, Fields]) -> None:
    link, public = table["parent"], draw(st.sampled_from(sorted(publics)))
    link |= {"type": "associative", "via": public, "column_via": f"{public}_id", "multiplicity": draw(st.integers(1, 2))}
    modelled = [c for c, says in table["columns"].items() if says["type"] in ("category", "number") and "determined" not in says]
    if modelled and draw(st.booleans()):
        link["derived"] = [modelled[0]]
    elif publics[public]["rows"] > 3 and draw(st.booleans()):
        link["vocabulary"] = {"select": 2, "rest": draw(st.sampled_from(["rows", "drop"]))}


def _give_key(draw: st.DrawFn, name: str, table: Fields) -> None:
    link, described = table["parent"], table["columns"]
    foreign = link["column"]
    ways = ["none", "fresh", "described"]
    if "seq" in described:
        ways.append("position")
    if described.get("at", {}).get("strict") and described["at"].get("after") == "previous.at":
        ways.append("strict")
    if link.get("column_via") and link["multiplicity"] == 1:
        ways.append("associative")
    if link.get("type") is None:
        ways.append("foreign")
    wide = [c for c, says in described.items() if says["type"] == "category" and len(says.get("values", ())) >= link["max_rows"]]
    if wide:
        ways.append("modelled")
    way = draw(st.sampled_from(ways))
    if way == "fresh":
        table["key"] = f"{name}_id"
    elif way == "described":
        table["key"] = f"{name}_id"
        table["columns"] = {f"{name}_id": draw(_identifiers()), **described}
    elif way == "foreign":
        table["key"] = foreign
        link["max_rows"] = 1
    elif way != "none":
        part = {"position": "seq", "strict": "at", "associative": link.get("column_via"), "modelled": wide[0] if wide else None}[
            way
        ]
        table["key"] = [foreign, part]
        if way == "modelled":
            described[wide[0]].pop("nullable", None)
    if table.get("key") != f"{name}_id":
        # Other tables refer to this one by an identifier of its own, whatever its key is.
        described[f"{name}_id"] = {"type": "identifier"}
        if "key" in table:
            table["unique"] = [[f"{name}_id"]]
        else:
            table["key"] = f"{name}_id"


def _refer_within(draw: st.DrawFn, name: str, table: Fields, private: Mapping[str, Fields], by_column: bool) -> None:
    references = table.setdefault("references", {})
    above = _chain(table["parent"]["table"], private)
    link = table["parent"]
    link["references"] = f"{link['table']}_id"
    if len(above) > 1 and draw(st.booleans()):
        far = above[-1]
        references[f"{far}_id"] = {"kind": "ancestor", "table": far, "column": f"{far}_id"}
    others = [n for n in private if n not in above]
    if others and draw(st.booleans()):
        other = draw(st.sampled_from(others))
        says: Fields = {"kind": "same_entity", "table": other, "column": f"{other}_id", "columns": "other_id", "nullable": True}
        begin_end, own = times_of(private[other]["columns"]), times_of(table["columns"])
        if len(begin_end) > 1 and own and draw(st.booleans()):
            says |= {"by": "interval", "time": own[0], "interval": begin_end[:2]}
        references["other"] = says
    if link.get("type") == "sequential" and draw(st.booleans()):
        says = {"kind": "earlier", "table": name, "column": f"{name}_id", "back": draw(st.integers(1, 3))}
        references["earlier_id"] = {**says, **draw(st.sampled_from([{"nullable": True}, {"itself": True}]))}
    if not by_column and draw(st.booleans()):
        references["left_id"] = {"kind": "broken", "table": above[-1], "nullable": True}


def _chain(name: str, private: Mapping[str, Fields]) -> list[str]:
    chain = [name]
    while (up := private[chain[-1]].get("parent", {}).get("table")) is not None:
        chain.append(up)
    return chain


def _refer_to_lookups(draw: st.DrawFn, table: Fields, publics: Mapping[str, Fields], lookups: Mapping[str, Fields]) -> None:
    taken = {table.get("parent", {}).get("column_via")}
    references = table.setdefault("references", {})
    for public in publics:
        if f"{public}_id" not in taken and draw(st.integers(0, 3)) == 0:
            references[f"{public}_id"] = {"kind": "public", "table": public, "nullable": draw(st.booleans())}
    if "staff" in lookups and draw(st.booleans()):
        references["staff_id"] = {"kind": "pool", "table": "staff"}
    if not references:
        del table["references"]
