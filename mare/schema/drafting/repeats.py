"""Columns that say again what is known elsewhere, by their names: a fact about the person in every row, a running value, a total.

A fact is proposed in the draft itself, for it changes from row to row otherwise, and so is what the columns of one row come to;
what other rows add up to is a remark.
"""

from __future__ import annotations

from collections.abc import Mapping

from .drafted import Entry, FieldValue, review
from .families import Family
from .name_words import as_set, counts_nights, is_age, singular, stem, words
from .people import NAMES, is_being, is_birth, is_of_another
from .relationships import Relationship, order_column
from .survey import Survey
from .time_order import intervals

_TRAITS = as_set(
    "sex gender race ethnicity ethnic dob yob birthdate birthday birthyear sexe geschlecht sexo sesso geslacht kjonn kon plec"
)
_OF_BIRTH = frozenset(("date", "year", "month", "day", "dt", "place", "country", "fecha", "data", "annee", "lieu"))
_OWN_NAMES = tuple((*before, name) for before in ((), ("call",), ("nick",), ("pet",), ("given",)) for name in NAMES)
"""What visits are not called by."""
_DRAWN = ("category", "boolean", "integer", "number", "date", "datetime")
_RUNNING = frozenset(("balance", "cumulative", "running", "cum"))
_AMOUNTS = ("amount", "amt", "charge", "cost", "points")
_TOTALS = frozenset(("total", "sum"))
_COUNTS = frozenset(("n", "num", "count", "number"))
_QUANTITIES = as_set("quantity qty quantities menge quantite cantidad quantita antal aantal")
_PRICES = as_set("price preis prix precio prezzo prijs pris unitprice einzelpreis")
_NETS = as_set("net netto subtotal nett")
_TAXES = as_set("tax vat mwst ust iva tva gst btw moms")
_GROSS = as_set("total gross brutto grandtotal totaal totale")
_LINES = as_set("line item row position extended ext")
_MONEY = as_set("amount amt sum cost charge fee discount rebate shipping freight surcharge deposit tip refund credit payable due")
_RATES = as_set("rate pct percent percentage code class id number count")
"""Words of what is no amount, whatever it is a rate of."""


def with_repeats(survey: Survey, table: str, entry: Entry, family: Family | None, relationship: Relationship | None) -> Entry:
    """The same column, with what its name tells of other rows, or what was seen of them."""
    seen = survey.seen(table, entry.name)
    order = relationship.order_by[0] if relationship is not None and relationship.order_by else None
    if entry.name != order and entry.name not in survey.keys[table]:
        if seen.copies is not None and family is not None:
            return _copied(entry, f"{family.ancestors[0]}.{seen.copies}", "as there, in all rows that were looked at")
        if seen.repeats is not None:
            return _copied(entry, seen.repeats, "holds the same in all rows that were looked at")
        if seen.same and family is not None:
            return _the_same(entry, "entity" if family.depth == 1 else "parent")
    if family is not None and relationship is not None and relationship.max_rows > 1:
        if entry.name not in survey.keys[table]:
            entry = _fact(survey, table, entry, family, relationship)
        if relationship.type == "sequential":
            entry = _running(survey, table, entry)
    return _total(survey, table, _sum_of_row(survey, table, _nights(survey, table, entry)))


def _fact(survey: Survey, table: str, entry: Entry, family: Family, relationship: Relationship) -> Entry:
    """Something about the person: a copy where a table above says it, else the same in all of their rows."""
    order = relationship.order_by[0] if relationship.order_by else None
    if entry.fields["type"] not in _DRAWN or entry.name == order:
        return entry
    if (dated := _date_above(survey, entry, family)) is not None:
        return _copied(entry, dated, "the same as there, by its name?")
    if "after" in entry.fields:
        return entry
    seen = survey.seen(table, entry.name)
    if seen.counts is not None and seen.missing and not seen.same:  # told in one row of a person, and not in the others
        return entry
    somebody = _somebody_above(survey, table, family)
    whose = ("entity" if somebody == family.ancestors else "parent" if len(somebody) == 1 else somebody[-1]) if somebody else None
    above = _said_above(survey, entry.name, somebody) if is_trait(entry.name) or is_age(entry.name) else None
    if is_age(entry.name) and not is_of_another(entry.name) and entry.fields["type"] == "integer":
        ordering = survey.table(table).column(order) if order is not None else None
        if above is not None or whose is None or ordering is None or ordering.kind not in ("date", "datetime"):
            return entry
        drift: dict[str, FieldValue] = {"same_for": whose, "drift": {"by": ordering.name, "unit": "years"}}
        return entry.with_fields(drift).with_notes(review(f"one person, whose age follows {ordering.name}?", "facts"))
    above = above or _prefixed(survey, entry.name, family)
    if not is_trait(entry.name) and above is None:
        return entry
    if above is None and whose is None:
        return entry
    if above is not None:
        return _copied(entry, above, "the same as there, by its name?")
    return entry.with_fields({"same_for": str(whose)}).with_notes(review("never changes for one person, by its name?", "facts"))


def _copied(entry: Entry, of: str, why: str) -> Entry:
    """A copy of a column of the same row, or of one above. What has no values of its own stays as it is."""
    if entry.fields["type"] not in _DRAWN:
        return entry
    kept = {name: value for name, value in entry.fields.items() if name in ("type", "nullable", "true", "false")}
    return Entry(entry.name, kept).with_fields({"determined": {"copy_of": of}}).with_notes(review(why, "facts"))


def _the_same(entry: Entry, whose: str) -> Entry:
    """Drawn once for a person, by itself: what it follows in one row it need not follow in another."""
    if entry.fields["type"] not in _DRAWN:
        return entry
    alone = entry.without(*_TIES)
    if len(alone.fields) < len(entry.fields) and entry.fields["type"] in ("integer", "number") and "min" not in alone.fields:
        alone = alone.with_fields({"learn": True})
    notes = tuple(note for note in entry.notes if note.topic != "times")
    return (
        Entry(entry.name, alone.fields, notes)
        .with_fields({"same_for": whose})
        .with_notes(review("the same in all rows of one of them, as far as was looked at", "facts"))
    )


_TIES = ("after", "before", "during", "around", "within", "first", "strict", "scale", "drift")


def _somebody_above(survey: Survey, table: str, family: Family) -> tuple[str, ...]:
    """The tables up to the one that a fact in every row is about: the nearest that is no visit of somebody else's. None where the
    row is somebody of its own: a pet has a sex, and its owner another."""
    names = (table, *family.ancestors)
    # The last is the entity, which need not be a table.
    at = next(i for i, name in enumerate(names) if i == len(names) - 1 or not _is_encounter(survey, name, names[i + 1]))
    return family.ancestors[:at]


def _is_encounter(survey: Survey, table: str, above: str) -> bool:
    """Whether rows tell what happened to whoever is above: they have an order, or not even an id; and no name of their own."""
    if survey.reflection.table(above) is None:  # people without a table: who they are stands in these rows
        return True
    named = any(words(column.name) in _OWN_NAMES for column in survey.table(table).columns)
    single = len(survey.keys[table]) == 1
    return not (named or is_being(table)) and (not single or order_column(survey, table, ()) is not None)


def _prefixed(survey: Survey, name: str, family: Family) -> str | None:
    """`customer_segment` of an order is the segment of its customer."""
    for above in family.ancestors:
        parts, called = words(name), words(above)
        held = survey.reflection.table(above)
        if held is None or not called or len(parts) < 2 or singular(called[-1]) != parts[0]:
            continue
        same = [column for column in held.columns if words(column.name) == parts[1:] and column.name not in survey.keys[above]]
        if same:
            return f"{above}.{same[0].name}"
    return None


def _date_above(survey: Survey, entry: Entry, family: Family) -> str | None:
    """The date of a thing, in rows below it: its lines say again when it was ordered (`orderdate`)."""
    above = family.ancestors[0]
    held = survey.reflection.table(above)
    column = held.column(entry.name) if held is not None else None
    called = singular(words(above)[-1]) if words(above) else ""
    about = "".join(words(entry.name))
    named = len(called) > 2 and about != called and (about.startswith(called) or about.endswith(called))
    same = column is not None and column.kind in ("date", "datetime") and column.name not in survey.keys[above]
    return f"{above}.{entry.name}" if named and same else None


def _said_above(survey: Survey, name: str, tables: tuple[str, ...]) -> str | None:
    """A column of that name in one of these tables, as an anchor."""
    for above in tables:
        held = survey.reflection.table(above)
        for column in held.columns if held is not None else ():
            if column.name.casefold() == name.casefold():
                return f"{above}.{column.name}"
    return None


def _running(survey: Survey, table: str, entry: Entry) -> Entry:
    if entry.fields["type"] not in ("integer", "number") or not _RUNNING & set(words(entry.name)):
        return entry
    amount = _amount(survey, table, entry.name)
    if amount is None:
        return entry
    how = f'{{expression: "previous.{entry.name} + {amount}", first: {amount}}}'
    signs = f"if(type = 'debit', -{amount}, {amount}) tells signs apart"
    return entry.with_notes(review(f"goes on from row to row? determined: {how}; {signs}", "worked out"))


def _sum_of_row(survey: Survey, table: str, entry: Entry) -> Entry:
    """What a row comes to: price times quantity, net and tax. Only where no other amount of the row may be part of it, and every
    part is known where the result is: drawn each on its own, they would never add up."""
    numbers = {c.name: words(c.name) for c in survey.table(table).columns if c.kind in ("integer", "number")}
    money = {name: name_words for name, name_words in numbers.items() if not _RATES & set(name_words)}
    if entry.fields["type"] not in ("integer", "number") or "determined" in entry.fields or entry.name not in money:
        return entry
    own = set(money.pop(entry.name))
    nets, taxes, others = (_named_after(money, about) for about in (_NETS, _TAXES, _MONEY | _GROSS))
    quantities, prices = _named_after(numbers, _QUANTITIES), _named_after(money, _PRICES)
    total = bool(own & _GROSS) or own == {"grand", "total"}
    formula, parts = "", [*nets, *taxes]
    if total and not own & (_NETS | _TAXES) and len(nets) == len(taxes) == 1 and set(others) <= set(parts):
        formula = " + ".join(parts)
    extended = bool(own & _LINES and own & {"total", "amount", "sum"}) or own >= {"extended", "price"} or own == {"total"}
    if extended and len(quantities) == len(prices) == 1 and not (nets or taxes or others):
        parts = [*quantities, *prices]
        formula = " * ".join(parts)
    missing = any(c.nullable for c in survey.table(table).columns if c.name in parts) and "nullable" not in entry.fields
    if not formula or missing or not all(part.isidentifier() for part in parts):
        return entry
    kept = {name: value for name, value in entry.fields.items() if name in ("type", "precision", "nullable")}
    note = review("by their names", "worked out")
    return Entry(entry.name, kept).with_fields({"determined": {"expression": formula}}).with_notes(note)


def _nights(survey: Survey, table: str, entry: Entry) -> Entry:
    """How many nights a guest stays follows from two days."""
    days = {c.name: c.nullable for c in survey.table(table).columns if c.kind == "date"}
    stay = next((pair for pair in intervals(survey.table(table)) if set(pair) <= set(days)), None)
    if stay is None or entry.fields["type"] != "integer" or not counts_nights(entry.name):
        return entry
    if any(days[day] for day in stay) and "nullable" not in entry.fields:
        return entry
    kept = {name: value for name, value in entry.fields.items() if name in ("type", "nullable")}
    since, until = stay
    worked_out: FieldValue = {"elapsed": {"since": since, "until": until, "unit": "days"}}
    return Entry(entry.name, kept).with_fields({"determined": worked_out}).with_notes(review("by their names", "worked out"))


def _named_after(columns: Mapping[str, tuple[str, ...]], about: frozenset[str]) -> list[str]:
    """The columns whose names have one of these words."""
    return [name for name, name_words in columns.items() if about & {*name_words, "".join(name_words)}]


def _total(survey: Survey, table: str, entry: Entry) -> Entry:
    """A number of a row that counts or adds up rows below it."""
    parts = words(entry.name)
    if entry.fields["type"] not in ("integer", "number") or not parts or "determined" in entry.fields:
        return entry
    for link in survey.links_to(table):
        if link.is_self:
            continue
        below = link.table
        if _COUNTS & {parts[0], parts[-1]} and stem(below).endswith(singular(parts[-1] if parts[0] in _COUNTS else parts[0])):
            return entry.with_notes(review(f"how many {below} there are? determined: {{count: {below}}}", "worked out"))
        amount = _amount(survey, below, "") if _TOTALS & set(parts) else None
        if amount is not None:
            return entry.with_notes(review(f"adds up {below}? determined: {{sum: {below}.{amount}}}", "worked out"))
    return entry


def _amount(survey: Survey, table: str, besides: str) -> str | None:
    """The number of a row that is most likely to be added up."""
    numbers = [c.name for c in survey.table(table).columns if c.kind in ("integer", "number") and c.name != besides]
    return next((name for word in _AMOUNTS for name in numbers if word in words(name)), None)


def is_trait(column: str) -> bool:
    """A fact about a person that hardly ever changes."""
    parts = set(words(column))
    dated = is_birth(column) and (parts & _OF_BIRTH or any(part.endswith(("datum", "dato")) for part in parts))
    return bool(parts & _TRAITS or "".join(words(column)) in _TRAITS or dated)
