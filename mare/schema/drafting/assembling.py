"""From a reflection to a draft: survey, entity, roles, families, then table by table.

Guesses are made one by one; together they may contradict each other (a key that nothing makes unique, a second owner). So there
is a net under them: what the checks of `mare.schema` refuse is taken out, with a word, so that a draft always loads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import networkx as nx

from mare.errors import InternalError, SourceError
from mare.schema.checks import find_faults
from mare.schema.faults import Fault
from mare.schema.reflection import Reflection
from mare.schema.structure import build_schema

from .draft_text import gathered, plain_draft
from .drafted import Draft, DraftedTable, EntityGuess, Entry, Note, PublicFacts, RoleGuess, review
from .entity import guess_entity, guess_roles, with_nothing_below
from .families import Family, guess_families, with_doubted_links
from .peeking import Peeks, peeked_kinds, with_marks, with_peeks
from .people import fake_kind
from .survey import Link, Survey, take_survey
from .tables import draft_member, draft_outsider


def make_draft(reflection: Reflection, facts: PublicFacts, entity: str | None = None, peeks: Peeks | None = None) -> Draft:
    """The draft as a value. ``peeks`` holds what was read from columns on the user's explicit request."""
    if not reflection.tables:
        left_out = "; ".join(f"{left.name}: {left.reason}" for left in reflection.left_out[:5])
        raise SourceError(
            f"{reflection.label} holds no table that can be drafted{f' ({left_out})' if left_out else ''}. "
            "Check that it is the right database or folder, and that this user may read its tables."
        )
    peeks = peeks or {}
    typed = peeked_kinds(reflection, peeks)
    repeats = {place: peek.repeats for place, peek in peeks.items() if peek.repeats is not None}
    missing = {place for place, peek in peeks.items() if peek.missing}
    survey = take_survey(typed, facts, entity, repeats, {place: peek.compared for place, peek in peeks.items()}, missing)
    guess = guess_entity(survey, entity)
    survey = with_doubted_links(_with_entity_links(survey, guess), guess)
    roles = guess_roles(survey, guess)
    guess = with_nothing_below(survey, guess, roles)
    if guess.node is not None:
        survey = _without_links_left_out(survey, roles)
    families = guess_families(survey, guess, roles)
    tables: list[DraftedTable] = []
    rows: dict[str, int] = {guess.node: 1} if guess.node is not None else {}
    for table in _down(survey, guess, families):
        family = families[table]
        above = rows[family.parent.target] if family.parent is not None else 1
        drafted, rows[table] = draft_member(survey, table, guess, family, roles, above)
        tables.append(drafted)
    for role in ("owned", "pool", "unsettled", "public"):
        outside = [table.name for table in typed if roles[table.name].role == role]
        tables += [draft_outsider(survey, name, roles[name], roles) for name in outside]
    seeing, unseen = with_siblings(tables, guess.node)
    filled, kind = with_peeks(seeing, reflection, peeks)
    guess = replace(guess, doubts=(*guess.doubts, *_strangers(tables, guess, peeks)))
    header = (*_header(survey, tables), *unseen, *_looked_at(peeks))
    made = Draft(reflection.label, guess, tuple(filled), facts, header, kind, roles, reflection.what_was_read)
    made = gathered(mend(made))
    return made if typed == reflection else with_marks(made, make_draft(reflection, facts, entity), reflection, peeks)


def _with_entity_links(survey: Survey, entity: EntityGuess) -> Survey:
    """An entity by column is a node of its own: every table that holds the column leads to it."""
    if entity.by is None:
        return survey
    links = list(survey.links)
    for table in survey.reflection:
        column = table.column(entity.by)
        if column is not None:
            links.append(
                Link(
                    table.name,
                    (column.name,),
                    entity.node or entity.by,
                    (),
                    False,
                    declared=table.name == entity.table,
                    why="names the entity",
                )
            )
    return survey.with_links(tuple(links))


def _without_links_left_out(survey: Survey, roles: Mapping[str, RoleGuess]) -> Survey:
    """What leads to a table that is left out is an id or a code like any other."""
    kept = (link for link in survey.links if roles[link.table].role == "unsettled" or roles[link.target].role != "unsettled")
    return survey.with_links(tuple(kept))


def _down(survey: Survey, entity: EntityGuess, families: Mapping[str, Family]) -> Iterator[str]:
    """The entity and what is below it, each table right after its parent, in the order of the source."""
    if entity.node is None:
        return
    queue = [entity.node]
    while queue:
        table = queue.pop(0)
        if entity.by is None or table != entity.node:
            yield table
        children = [t.name for t in survey.reflection if t.name in families and t.name != table]
        queue = [t for t in children if (link := families[t].parent) is not None and link.target == table] + queue


def _header(survey: Survey, tables: Sequence[DraftedTable]) -> Iterator[Note]:
    """What the draft cannot show next to a table, or need not show at each."""
    if any("specials" in entry.fields for table in tables for entry in table.columns):
        yield Note("specials of an end are days that mean: no end yet. Those that do not occur do not come out")
    if not survey.facts.fakes and any(_is_made_up_elsewhere(table, entry) for table in tables for entry in table.columns):
        yield Note(
            "names, addresses and the like come out empty, because nothing here makes them up: pip install 'mare-synth[fake]', "
            "then draft again, or write fill: fake"
        )
    for left in survey.reflection.left_out:
        yield Note(f"left out: {left.name}: {left.reason}{f'. {left.remedy}' if left.remedy else ''}")
    for table in survey.reflection:
        for check in table.unread_checks:
            yield review(f"a constraint of {table.name} was not understood and is not kept: {check}")
    if not survey.tells_nullability:
        yield Note("the source does not say which columns may be NULL, so nearly all of them are drafted as if they might be")


def _looked_at(peeks: Peeks) -> Iterator[Note]:
    """Tables of which only the beginning was compared."""
    for table, rows in {table: peek.compared.rows for (table, _), peek in peeks.items()}.items():
        if rows is not None:
            seen = f"in the first {rows:,} rows alone, of it or of the table above"
            yield review(f"what the rows of {table} show together (copies, orders, what never changes) was looked for {seen}")


def _strangers(tables: Sequence[DraftedTable], entity: EntityGuess, peeks: Peeks) -> Iterator[Note]:
    """Tables that are about other people than those they were hung on: a fit would pay, and leave their rows out."""
    parts = {table: peek.compared.strangers for (table, _), peek in peeks.items() if peek.compared.strangers > _MOSTLY}
    for table in tables:
        if table.name in parts and table.parent is not None:
            column, above = table.parent.fields.get("column", entity.by), table.parent.fields.get("table", entity.node)
            some = "none" if parts[table.name] == 1 else "less than half"
            yield review(
                f"{some} of the rows of {table.name} have a {column} that stands in {above}: the others would not come out. Are "
                f"they about other people? Then another --entity, another parent, or a draft of {table.name} alone",
                about=table.name,
            )


def _is_made_up_elsewhere(table: DraftedTable, entry: Entry) -> bool:
    """What comes out empty, and would not where names can be made up."""
    empty = entry.fields["type"] == "text" and "fill" not in entry.fields
    return empty and not table.ignore and fake_kind(entry.name) is not None


_MOSTLY = 0.5
"""Of a table's rows, who leads nowhere: fewer are some that nobody has cleaned up."""
_MOST_ROUNDS = 50
"""Every round takes something out, so this many mean that nothing was."""
_LONG = 200
"""A remedy that lists every column of a table is not worth its lines in the draft; `mare check` gives it again."""
_ESSENTIAL = ("table", "column", "references", "type", "order_by")
"""Fields without which a parent is none."""


def mend(draft: Draft) -> Draft:
    """The same draft, without what the checks refuse, and without what they would ask though nobody has to answer."""
    for _ in range(_MOST_ROUNDS):
        schema, faults = build_schema(plain_draft(draft))
        if schema is not None:
            faults = list(find_faults(schema))
        errors = [fault for fault in faults if fault.severity == "error"] or [f for f in faults if _need_not_be_asked(draft, f)]
        if not errors:
            return draft
        draft = _without(draft, errors)
    # Where, not what: a peeked draft holds values, and an error may not carry one.
    raise InternalError(f"the draft cannot be mended ({', '.join(fault.where for fault in errors)})")


def _need_not_be_asked(draft: Draft, fault: Fault) -> bool:
    """Open questions that a draft answers by leaving something away. Whose privacy it is and what a type is, a person says."""
    if fault.severity != "unsettled" or draft.entity.table is None or not fault.path or fault.path[0] != "tables":
        return False
    return len(fault.path) == 2 or fault.path[2] == "unique" or (fault.path[2] == "columns" and fault.path[-1] != "type")


def _without(draft: Draft, errors: Iterable[Fault]) -> Draft:
    tables = {table.name: table for table in draft.tables}
    header, entity = list(draft.header), draft.entity
    for fault in errors:
        where = str(fault.path[0]) if fault.path else ""
        name = str(fault.path[1]) if len(fault.path) > 1 else ""
        if where == "entity":
            entity = replace(entity, table=None, by=None, why=fault.what, rivals=entity.rivals)
        elif name not in tables:
            continue
        elif len(fault.path) == 2 and fault.severity == "unsettled":
            left_out = review(f"left out: {fault.what}", "left out")
            tables[name] = replace(
                tables[name], role="unsettled", parent=None, ignore=True, notes=(*tables[name].notes, left_out)
            )
        elif len(fault.path) == 2:
            del tables[name]
            header.append(review(f"{name} is not drafted: {fault.what}"))
        else:
            tables[name] = _mended(tables[name], fault)
    if not tables:
        raise InternalError("the draft has no table left")
    return replace(draft, tables=tuple(tables.values()), header=tuple(header), entity=entity)


def _mended(table: DraftedTable, fault: Fault) -> DraftedTable:
    remedy = f". {fault.remedy}" if len(fault.remedy) <= _LONG else ""
    note = review(f"left open: {fault.what}{remedy}")
    match fault.path[2:]:
        case ("key", *_):
            return replace(
                table, key=(), notes=(*table.notes, review(f"key: [{', '.join(table.key)}] {note.text}")), key_notes=()
            )
        case ("sees", *_):
            return replace(table, sees=(), notes=(*table.notes, note))
        case ("unique", int(place), *_):
            kept = tuple(names for i, names in enumerate(table.unique) if i != place)
            return replace(table, unique=kept, notes=(*table.notes, review(f"not kept: {fault.what}", "unique")))
        case ("unique", *_):
            return replace(table, unique=(), notes=(*table.notes, note))
        case ("ignore_columns", int(place), *_):
            ignored = tuple(c for i, c in enumerate(table.ignored) if i != place)
            # Why columns are ignored is said where they are listed, so it goes with the last of them.
            reasons = table.ignored_notes if ignored else ()
            return replace(table, ignored=ignored, ignored_notes=reasons, notes=(*table.notes, note))
        case ("parent", str(field), *_) if table.parent is not None and field not in _ESSENTIAL and field in table.parent.fields:
            return replace(table, parent=table.parent.without(field).with_notes(note))
        case ("parent", *_):
            return replace(table, parent=None, role="unsettled", notes=(*table.notes, note))
        case ("columns", str(column), *_) if fault.severity == "unsettled":
            return replace(table, columns=tuple(_answered(table, e, note) if e.name == column else e for e in table.columns))
        case ("columns", str(column), *fields):
            return replace(table, columns=_plainer(table.columns, column, fields, note.text))
        case ("references", str(reference), *_):
            others = tuple(entry for entry in table.references if entry.name != reference)
            return replace(table, references=others, notes=(*table.notes, review(f"{reference}: {note.text}")))
    return replace(table, columns=(), references=(), notes=(*table.notes, note))


def _answered(table: DraftedTable, entry: Entry, note: Note) -> Entry:
    """What a column may hold is learned where that is possible, and dropped in a pool, where nothing is. Near another one that
    may be NULL it would lie nowhere then: it is learned by itself."""
    if "around" in entry.fields and table.role != "pool":
        alone = {field: value for field, value in entry.fields.items() if field not in ("around", "within")}
        return Entry(entry.name, {**alone, "learn": True}, entry.notes)
    if table.role == "pool" or "learn" in entry.fields:
        return Entry(entry.name, {"type": "text", "nullable": True}, (note,))
    return entry.with_fields({"learn": True})


def _plainer(entries: tuple[Entry, ...], column: str, fields: Sequence[str | int], text: str) -> tuple[Entry, ...]:
    """Without the field that is refused; without a type where the column itself is; without the column where that is no help."""
    plainer: list[Entry] = []
    for entry in entries:
        if entry.name != column:
            plainer.append(entry)
        elif fields and fields[0] in entry.fields and fields[0] != "type":
            plainer.append(entry.without(str(fields[0])).with_notes(review(text)))
        elif entry.fields != {"type": "unknown"}:
            plainer.append(Entry(entry.name, {"type": "unknown"}, (*entry.notes, review(text))))
    return tuple(plainer)


_CAUSES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (
        ("diagnos", "condition", "problem"),
        ("drug", "medic", "prescri", "procedure", "treat", "therap", "lab", "measure", "exposure", "surger", "operation"),
    ),
    (
        ("order", "rental", "booking", "invoice", "loan", "contract", "policy"),
        ("payment", "claim", "reminder", "refund", "return"),
    ),
    (("enrol", "registration"), ("grade", "exam", "attendance", "mark", "result")),
    (("visit", "encounter", "admission", "stay"), ("claim", "bill", "charge", "payment")),
)
"""What comes first, and what follows from it: beginnings of words."""


_FEW = 4
"""Tables of one parent that all look at each other; of more, only those that follow from another by their names."""


def with_siblings(tables: Sequence[DraftedTable], entity: str | None) -> tuple[list[DraftedTable], tuple[Note, ...]]:
    """The same tables, each with the siblings that it looks at; and what is to be said of those that look at none."""
    listed: dict[str, list[DraftedTable]] = {}
    for table in tables:
        if table.parent is not None and table.role == "private":
            listed.setdefault(str(table.parent.fields.get("table", entity)), []).append(table)
    seen = {name: names for siblings in listed.values() for name, names in _seen(siblings).items()}
    notes = tuple(
        Note(
            f"the {len(siblings)} tables of one {above} know how many rows the others have; sees: [other] under one of them lets "
            "it look at these rows"
        )
        for above, siblings in listed.items()
        if len(siblings) > _FEW
    )
    return [replace(table, sees=seen.get(table.name, ())) for table in tables], notes


def _seen(siblings: Sequence[DraftedTable]) -> dict[str, tuple[str, ...]]:
    """By table, those before it: what it refers to, what it follows from by its name, what has fewer rows, what stands first."""
    place = {t.name: (int(str(t.parent.fields["max_rows"])) if t.parent else 0, i) for i, t in enumerate(siblings)}
    follows = {(a.name, b.name) for a in siblings for b in siblings if _follows(a.name, b.name) and not _follows(b.name, a.name)}
    before: nx.DiGraph[str] = nx.DiGraph()
    before.add_nodes_from(place)
    for table in siblings:
        before.add_edges_from((str(r.fields["table"]), table.name) for r in table.references if str(r.fields["table"]) in place)
    for after, first in sorted(follows):
        if not nx.has_path(before, after, first):
            before.add_edge(first, after)
    before.remove_edges_from(list(nx.selfloop_edges(before)))
    if not nx.is_directed_acyclic_graph(before):
        return {}
    order = list(nx.lexicographical_topological_sort(before, key=lambda name: place[name]))
    if len(siblings) > _FEW:
        return {name: tuple(other for other in order if (name, other) in follows) for name in order}
    return {name: tuple(order[:number]) for number, name in enumerate(order)}


def _follows(table: str, other: str) -> bool:
    def called(name: str, words: tuple[str, ...]) -> bool:
        return any(word in name.casefold() for word in words)

    return any(called(other, causes) and called(table, effects) and not called(table, causes) for causes, effects in _CAUSES)
