"""One table of the draft: key, parent, columns and references put together from the guesses about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mare.schema.reflection import ReflectedColumn

from .column_types import draft_column, draft_key_part, draft_pool_column, names_their_own, shared_in_runs
from .drafted import DraftedTable, EntityGuess, Entry, FieldValue, Note, RoleGuess, review, written_days
from .families import Family, draft_references, guessed
from .keys import BARE
from .name_words import (
    counts_rows,
    id_stem,
    is_beside_calendar,
    is_money,
    is_place,
    is_position,
    is_time,
    is_vocabulary,
    numbers_lines,
    words,
)
from .names_of_codes import code_meant, is_name, with_codes
from .people import fake_kind, is_birth, is_contact, is_free_text, names_person, numbers_people, personal_traits
from .relationships import (
    EVENTS,
    Relationship,
    guess_relationship,
    is_of_item,
    item_column,
    value_columns,
)
from .repeats import with_repeats
from .survey import Survey
from .table_times import tied_times
from .time_order import (
    days_that_never_come,
    endures,
    main_interval,
    relative_times,
)

LARGE, MANY = 1000, 300
"""More rows of one entity than this, of events or of other lists, are capped: caps multiply down the tree, and the noise with
them."""
_POOL_ROWS = 20


def draft_member(
    survey: Survey, table: str, entity: EntityGuess, family: Family, roles: Mapping[str, RoleGuess], rows_above: int
) -> tuple[DraftedTable, int]:
    """The entity or a table below it, and how many of its rows an entity may have by the caps so far."""
    if family.parent is None:
        references = draft_references(survey, table, family, roles, None)
        drafted = _table(survey, table, "entity", draft_columns(survey, table, roles, None, None), references)
        return replace(drafted, rows=survey.facts.entities), 1
    relationship = guess_relationship(survey, table, family, roles)
    order = relationship.order_by[0] if relationship.order_by else None
    references = draft_references(survey, table, family, roles, order)
    columns = draft_columns(survey, table, roles, family, relationship)
    rows = rows_above * relationship.max_rows
    parent = _parent(survey, table, entity, family, relationship, rows)
    return _table(survey, table, "private", columns, references, parent=parent), min(rows, _most(relationship))


def _most(relationship: Relationship) -> int:
    return LARGE if relationship.max_rows >= EVENTS else MANY


def draft_outsider(survey: Survey, table: str, guess: RoleGuess, roles: Mapping[str, RoleGuess]) -> DraftedTable:
    """A table that is not below the entity."""
    references = draft_references(survey, table, None, roles, None)
    if guess.role == "public":
        return _public(survey, table, guess, roles, references)
    if guess.role == "pool":
        made_up = (
            Note(guess.why),
            review(f"{_POOL_ROWS} made-up rows are referred to at random; how many are plausible?", "pools"),
        )
        # They are as made up as the rest, but nobody leaves before they came.
        tied = relative_times(survey.table(table), None, 1, survey.facts)
        times = {name: to for name, to in tied.items() if "after" in to[0] and not is_birth(str(to[0]["after"]))}
        names = [column.name for column in survey.table(table).columns]
        alone = _unique_alone(survey, table)
        free = free_columns(survey, table)
        made = [draft_pool_column(column, survey.facts, names, unique=column.name in alone) for column in free]
        made = [_tied(entry, *times[entry.name]) if entry.name in times else entry for entry in made]
        entries = (*key_columns(survey, table), *(spelled(survey, table, entry) for entry in made))
        drafted = _table(survey, table, "pool", entries, references, notes=made_up, pool=_POOL_ROWS)
        own = [link for link in survey.links_of(table) if roles[link.target].role in ("entity", "private")]
        lost = tuple(dict.fromkeys(name for link in own for name in link.columns if name not in survey.keys[table]))
        said = tuple(Note(f"{link.label}: nothing made up is tied to somebody") for link in own)
        return replace(drafted, ignored=(*drafted.ignored, *lost), ignored_notes=(*drafted.ignored_notes, *said))
    columns = draft_columns(survey, table, roles, None, None)
    if guess.role == "owned":
        return _table(survey, table, "owned", columns, references, notes=(review(f"{guess.why}: regenerated with it", "owned"),))
    left_out = any(other.role == "entity" for other in roles.values())
    unsettled = [link.label for link in survey.links_of(table) if roles[link.target].role == "unsettled"]
    notes = (
        review(f"{guess.why}{': left out' if left_out else ''}. {_offer(survey, table, roles)}", "left out"),
        *(Note(f"{label} is not drafted as long as this is open") for label in unsettled),
    )
    return _table(survey, table, "unsettled", columns, references, notes=notes, ignore=left_out)


def _offer(survey: Survey, table: str, roles: Mapping[str, RoleGuess]) -> str:
    """What could be written instead. Copying is never offered for what may be about people: dates, sums, traits, made-up rows."""
    described = survey.table(table)
    names = [c.name for c in described.columns if not is_beside_calendar(c.name)]
    facts = any(is_time(name) or is_money(name) or names_person(name) for name in names) or personal_traits(names)
    kinds = {c.kind for c in described.columns if c.name in names}
    made_up = any(roles[link.target].role not in ("public", "unsettled") for link in survey.links_of(table))
    # As long as nobody knows who the people are, any table may be theirs.
    unknown = all(other.role != "entity" for other in roles.values())
    if facts or made_up or unknown or kinds & {"date", "datetime", "number"}:
        return "It may hold facts about people: to keep it, say whom its rows belong to (parent:), or pool: {rows: 20}"
    return "Is it about nobody? Then public: true copies it verbatim; or say whom its rows belong to (parent:)"


def _table(
    survey: Survey, table: str, role: str, columns: tuple[Entry, ...], references: tuple[Entry, ...], **more: object
) -> DraftedTable:
    described = survey.table(table)
    key = survey.keys[table]
    reason = survey.key_reasons.get(table)
    ignored = left_out_columns(survey, table)
    ignored_notes = tuple(
        Note(f"{c.name} is computed by the database" if c.generated else f"{c.name} ({c.sql_type or c.kind}) cannot be modelled")
        for c in ignored
    )
    return DraftedTable(
        name=table,
        role=role,  # type: ignore[arg-type]
        key=key,
        key_notes=(review(f"guessed: {reason}", "keys"),) if reason and key else (),
        unique=tuple(u for u in described.uniques if set(u) != set(key)),
        columns=columns,
        references=references,
        ignored=tuple(c.name for c in ignored),
        ignored_notes=ignored_notes,
        **more,  # type: ignore[arg-type]
    )


def _parent(survey: Survey, table: str, entity: EntityGuess, family: Family, relationship: Relationship, rows: int) -> Entry:
    link = family.parent
    assert link is not None
    fields: dict[str, FieldValue] = {}
    if not (entity.by is not None and table == entity.table):
        fields |= {"table": link.target, "column": link.columns if len(link.columns) > 1 else link.columns[0]}
        if link.references and link.references != survey.keys.get(link.target, ()):
            fields["references"] = link.references if len(link.references) > 1 else link.references[0]
    fields["type"] = relationship.type
    if relationship.order_by:
        fields["order_by"] = relationship.order_by if len(relationship.order_by) > 1 else relationship.order_by[0]
    if relationship.history_by:
        fields["history_by"] = (relationship.history_by,)
    fields["max_rows"] = relationship.max_rows
    notes = [Note(relationship.why)] if relationship.why else []
    if relationship.max_rows > 1:
        notes.append(
            review(
                f"max_rows: {relationship.max_rows} is a round guess: more rows are cut, and more than anybody has costs little",
                "caps",
                str(relationship.max_rows),
            )
        )
    if rows > (most := _most(relationship)):
        fields["max_per_entity"] = most
        caps = f"{rows:,}".replace(",", " ")
        notes.append(
            review(
                f"max_per_entity is a guess too: by the caps above, one entity could have {caps} rows here",
                "per entity",
                str(most),
            )
        )
    return Entry(
        "parent",
        fields,
        (*notes, *relationship.notes, *family.notes, *guessed(link)),
    )


def _public(
    survey: Survey, table: str, guess: RoleGuess, roles: Mapping[str, RoleGuess], references: tuple[Entry, ...]
) -> DraftedTable:
    described = survey.table(table)
    linked = linked_columns(survey, table)
    notes = [Note(guess.why), review("copied verbatim: make sure that it holds nothing about anybody", "public")]
    free = [column for column in described.columns if column.name not in (*survey.keys[table], *linked)]
    texts = [column.name for column in free if column.kind == "string" and is_free_text(column.name)]
    if (names := [name for name in texts if fake_kind(name) is not None]) and not is_vocabulary(table):
        doubt = f"are these names of people ({', '.join(names)})? Names of people are never copied: pool: {{rows: {_POOL_ROWS}}}"
        notes.append(review(f"{doubt} makes up fresh rows instead", "names", ", ".join(names)))
    if numbers := [column.name for column in free if column.kind in ("integer", "number") and id_stem(column.name) is None]:
        doubt = "may be an aggregate over people; ignore_columns leaves it out"
        notes.append(review(f"{', '.join(numbers)} {doubt}", "aggregates", ", ".join(numbers)))
    if untyped := [column.name for column in free if column.kind == "unknown"]:
        doubt = "if one of them is a number, it may be an aggregate over people"
        notes.append(review(f"{doubt}: {', '.join(untyped)}", "aggregates", ", ".join(untyped)))
    own = survey.keys[table]
    others = (link.references for link in survey.links_to(table) if not set(link.references) <= set(own))
    referred = tuple(dict.fromkeys(others))
    if undeclared := [", ".join(columns) for columns in referred if columns not in described.uniques]:
        notes.append(review(f"others refer to {', '.join(undeclared)}: is it unique?", "keys", ", ".join(undeclared)))
    private = [link for link in survey.links_of(table) if roles[link.target].role in ("pool", "owned")]
    contacts = [column.name for column in free if is_contact(column.name) and not is_vocabulary(table)]
    lost = tuple(dict.fromkeys((*(name for link in private for name in link.columns), *contacts)))
    ignored_notes = tuple(review(f"{link.label} would lead to rows that are made up") for link in private)
    if contacts:
        ignored_notes += (review("how somebody is reached there: not copied; if it is nobody in person, keep it"),)
    kept = tuple(entry for entry in references if entry.fields["kind"] == "public" and not _uses(entry, lost))
    drafted = _table(survey, table, "public", (), kept, notes=tuple(notes))
    return replace(drafted, unique=referred, ignored=lost, ignored_notes=ignored_notes)


def _uses(reference: Entry, columns: tuple[str, ...]) -> bool:
    own = reference.fields.get("columns", (reference.name,))
    return bool(set(own if isinstance(own, tuple) else (str(own),)) & set(columns))


_UNMODELLED = ("binary", "json", "other")


def left_out_columns(survey: Survey, table: str) -> list[ReflectedColumn]:
    """Columns that the database computes itself, or that no model can read; keys and links are neither."""
    used = {*survey.keys[table], *linked_columns(survey, table)}
    return [c for c in survey.table(table).columns if (c.generated or c.kind in _UNMODELLED) and c.name not in used]


def linked_columns(survey: Survey, table: str) -> set[str]:
    return {name for link in survey.links_of(table) for name in link.columns}


def free_columns(survey: Survey, table: str) -> list[ReflectedColumn]:
    """Columns that are neither a single key, nor a foreign key, nor left out."""
    taken = linked_columns(survey, table) | {column.name for column in left_out_columns(survey, table)}
    key = survey.keys[table]
    return [column for column in survey.table(table).columns if column.name not in taken and (column.name,) != key]


def key_columns(survey: Survey, table: str) -> tuple[Entry, ...]:
    key = survey.keys[table]
    column = survey.table(table).column(key[0]) if len(key) == 1 else None
    entry = draft_key_part(column) if column is not None and column.name not in linked_columns(survey, table) else None
    return (entry,) if entry is not None else ()


def draft_columns(
    survey: Survey, table: str, roles: Mapping[str, RoleGuess], family: Family | None, relationship: Relationship | None
) -> tuple[Entry, ...]:
    order = relationship.order_by[0] if relationship and relationship.order_by else None
    times = tied_times(survey, table, family, order)
    item = item_column(survey, table) if relationship is not None else None
    described = survey.table(table)
    names = [column.name for column in described.columns]
    alone = _unique_alone(survey, table)
    alone |= {c.name for c in described.columns if numbers_people(c.name) and survey.repeats.get((table, c.name)) is False}
    sequential = relationship is not None and relationship.type == "sequential"
    entries: list[Entry] = []
    for column in free_columns(survey, table):
        if relationship is not None and column.kind == "integer" and _is_position(survey, table, column.name, order):
            entry = _position(column, survey.keys[table], order, next((e.name for e in entries if "runs" in e.fields), None))
        else:
            sole, part = column.name in alone, column.name in survey.keys[table]
            entry = draft_column(column, survey.facts, beside=names, of_people=family is None, unique=sole, in_key=part)
        meant = code_meant(described, column) if relationship is not None and entry.fields["type"] == "text" else None
        if meant is not None or (column.name == item and entry.fields["type"] == "identifier"):
            notes = (Note(f"what {meant} means, by its name"),) if meant is not None else ()
            may_be_missing = {"nullable": True} if column.nullable else {}
            entry = Entry(entry.name, {"type": "category", "learn": True, **may_be_missing}, notes)
        if sequential and "learn" in entry.fields and entry.fields["type"] == "category" and survey.seen(table, column.name).own:
            entry = names_their_own(entry)
        shared = entry.fields["type"] == "identifier" and not (
            _tells_apart(survey, table, column.name) or counts_rows(column.name)
        )
        if sequential and shared:
            entry = shared_in_runs(entry)
        # Two results of one test may lie in any order, whatever was seen.
        scaled = item is not None and column.kind in ("integer", "number") and column.name in value_columns(survey, table)
        if column.name in times and not scaled:
            entry = _tied(entry, *times[column.name])
        told_apart = column.name == order or _tells_apart(survey, table, column.name)
        if (
            endures(table, column, family.depth if family else 0)
            and not told_apart
            and entry.fields.keys() & {"after", "learn", "min"}
        ):
            entry = entry.with_fields({"specials": days_that_never_come(column, survey.facts)})
        if not survey.tells_nullability and (column.name == order or column.name in survey.keys[table]):
            # Everything may be NULL in such a source; what orders rows or tells them apart hardly is.
            entry = entry.without("nullable")
        entries.append(entry)
    entries = [_suggested(survey, table, entry, roles) for entry in entries]
    entries = [_during(survey, entry, family, order) for entry in entries]
    entries = [with_repeats(survey, table, entry, family, relationship) for entry in entries]
    ordered = () if relationship is None else (*relationship.order_by, relationship.history_by or "", item or "")
    apart = {*ordered, *survey.keys[table], *(name for names in described.uniques for name in names)}
    entries = with_codes(entries, apart, {name: survey.seen(table, name).told_by for name in names})
    return (*key_columns(survey, table), *(spelled(survey, table, entry) for entry in entries))


def _unique_alone(survey: Survey, table: str) -> set[str]:
    """Columns of which no two rows have the same value, as the catalogue says."""
    return {names[0] for names in survey.table(table).uniques if len(names) == 1}


def _tells_apart(survey: Survey, table: str, column: str) -> bool:
    """Whether a column is a part of what is unique, or only counts rows."""
    return words(column) in BARE or any(column in names for names in (survey.keys[table], *survey.table(table).uniques))


def spelled(survey: Survey, table: str, entry: Entry) -> Entry:
    """How a date is written that is stored as text."""
    written = survey.formats.get((table, entry.name))
    if written is None or entry.fields["type"] not in ("date", "datetime"):
        return entry
    note = review("a date stored as text, by its name: written in this form?", "texts")
    return entry.with_fields(
        {"format": written, **written_days(entry, written if isinstance(written, str) else written[0])}
    ).with_notes(note)


def _is_position(survey: Survey, table: str, column: str, order: str | None) -> bool:
    """Its number among the rows of one parent. A `rank` is one where it orders them, or where nothing else does."""
    if (counts := survey.seen(table, column).counts) or (counts is False and is_place(column)):
        return bool(counts)
    key = survey.keys[table]
    if is_place(column) and order not in (None, column) and column not in key:
        return False
    return is_position(column) or (len(key) > 1 and column in key and numbers_lines(column))


def _position(column: ReflectedColumn, key: tuple[str, ...], order: str | None, within: str | None) -> Entry:
    """``within``: what rows before it in the table say they share, the number of an order."""
    sure = column.name in key or column.name == order
    if within is not None and not sure:
        counted = review(f"taken for the row's number within its {within}", "positions")
        return Entry(column.name, {"type": "position", "within": within}, (counted,))
    notes = (
        () if sure else (review("taken for the row's number within its parent; does it count anew? within: […]", "positions"),)
    )
    return Entry(column.name, {"type": "position"}, notes)


def _tied(entry: Entry, fields: Mapping[str, FieldValue], notes: tuple[Note, ...]) -> Entry:
    """Tie a time to another. What is a gap of known length from its anchor has nothing left to learn."""
    if entry.fields["type"] not in ("date", "datetime", "integer", "number"):
        if entry.fields["type"] == "position":
            return entry
        return entry.with_notes(*(Note(f"probably {side}: {fields[side]}") for side in ("after", "around") if side in fields))
    if "determined" in fields:
        may_be_missing = {"nullable": True} if "nullable" in entry.fields else {}
        return Entry(entry.name, {"type": entry.fields["type"], **fields, **may_be_missing}, notes)
    kept = dict(entry.fields)
    nullable = kept.pop("nullable", None)
    learned = kept.pop("learn", None)
    kept |= fields
    if learned and "within" not in fields:
        kept["learn"] = True
    if nullable:
        kept["nullable"] = True
    own_notes = [note for note in entry.notes if not any(note.text in other.text for other in notes)]
    return Entry(entry.name, kept, (*own_notes, *notes))


def _suggested(survey: Survey, table: str, entry: Entry, roles: Mapping[str, RoleGuess]) -> Entry:
    """What another column of the row says about this one."""
    described = survey.table(table)
    same = _looked_up(survey, table, entry, roles)
    if same is not None and "determined" in same.fields:
        return same
    if entry.name in value_columns(survey, table) and entry.fields["type"] in ("integer", "number"):
        item = item_column(survey, table)
        if item is not None and "learn" in entry.fields:
            note = review(f"its scale depends on {item}; ranges: {{…}} declares some of them", "ranges")
            return entry.with_fields({"by": item}).with_notes(note)
    if same is not None:
        return same
    names = {column.name.casefold() for column in described.columns}
    if entry.fields["type"] == "identifier" and entry.name not in survey.keys[table]:
        shared = [t.name for t in survey.reflection if t.name != table and t.column(entry.name) is not None]
        if not shared:
            return entry
        return entry.with_notes(Note(f"also in {', '.join(shared[:4])}: does one of them own it?"))
    if entry.name.casefold() == "bmi" and {"weight", "height"} <= names:
        return entry.with_notes(
            review('worked out from weight and height? determined: {expression: "weight / (height / 100) ** 2"}', "worked out")
        )
    return entry


def _looked_up(survey: Survey, table: str, entry: Entry, roles: Mapping[str, RoleGuess]) -> Entry | None:
    """What a public table that the row refers to has under the same name: what something is called, the unit of what was
    measured. A price may have been another one then."""
    if entry.fields["type"] in ("text", "category", "integer", "number") and "values" not in entry.fields:
        for link in survey.links_of(table):
            target = survey.reflection.table(link.target) if roles[link.target].role == "public" else None
            source = target.column(entry.name) if target is not None else None
            one_row = not link.references or not set(link.references) < set(survey.keys.get(link.target, ()))
            if len(link.columns) == 1 and one_row and source is not None and source.name not in survey.keys[link.target]:
                found: dict[str, FieldValue] = {"table": link.target, "column": source.name, "by": link.columns[0]}
                measured = link.columns[0] == item_column(survey, table) and is_of_item(entry.name)
                if (
                    (measured or is_name(entry.name))
                    and "learn" in entry.fields
                    and ("nullable" in entry.fields or not (source.nullable or survey.may_be_null(link)))
                ):
                    why = review(f"what {link.target} {'says of it' if measured else 'calls it'}, by its name?", "worked out")
                    kept = {field: value for field, value in entry.fields.items() if field in ("type", "nullable")}
                    return Entry(entry.name, kept, (why,)).with_fields({"determined": {"lookup": found}})
                lookup = f"{{table: {link.target}, column: {source.name}, by: {link.columns[0]}}}"
                note = review(f"the same as in {link.target}? determined: {{lookup: {lookup}}}", "worked out")
                return Entry(entry.name, entry.fields, (note,))
    return None


def _during(survey: Survey, entry: Entry, family: Family | None, order: str | None) -> Entry:
    """The time of a child within its parent's interval: a suggestion, since labs may precede the admission."""
    if family is None or family.parent is None or entry.name != order or entry.fields["type"] not in ("date", "datetime"):
        return entry
    if survey.reflection.table(family.parent.target) is None or str(entry.fields.get("before", "")).startswith("parent."):
        return entry
    interval = main_interval(survey.table(family.parent.target))
    if interval is None:
        return entry
    return entry.with_notes(Note(f"never outside {family.parent.target}? during: [parent.{interval[0]}, parent.{interval[1]}]"))
