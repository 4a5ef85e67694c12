"""How a source writes a column's values, where it does not write them as mare would: `NA`, `m` for M, 3,5.

    **a text of the source** ─► trimmed, mapped, in plain form ─► `read_sql` of its type ─► the stage

All of it is SQL on one text and gives another text, so it holds for every source and for each value alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from mare.schema.faults import Fault, Path, listed
from mare.schema.strict import Strict, Value

from .ticks import PLAIN, NumberForm

BLANKS = " \t\r\n\u00a0\u2009\u202f\ufeff"
"""What may stand around a value and is none of it: blanks of all widths, and the mark at the beginning of a file."""

MISSING = frozenset(("", "na", "n/a", "n.a.", "<na>", "#n/a", "nan", "nat", "null", "(null)", "\\n", "."))
"""What programs write where there is no value, in small letters: R, pandas, SAS, spreadsheets, a dump by MySQL (`\\N`), whoever
quotes every field. However many there are, they say nothing of what the others are, and nothing of anybody."""

Case = Literal["ignore", "lower", "upper"]


class Written(Strict):
    """How the source writes values, where it does not write them as they are meant."""

    nulls: tuple[Value, ...] = ()
    """Values that mean NULL, as the source writes them: `[NA, "-", 999]`."""
    map: dict[str, Value] = {}
    """What a text of the source stands for: `{m: M, f: F, yes: true}`."""

    @property
    def is_rewritten(self) -> bool:
        """Whether its texts become others before they are read."""
        return bool(self.nulls or self.map)

    def plain_sql(self, text: str, *, stored_text: bool) -> str | None:
        return replaced_sql(trimmed_sql(text), self.words, text) if self.is_rewritten else None

    @property
    def words(self) -> dict[str, str | None]:
        """Whole texts that stand for another, or for NULL."""
        return {canonical(value): None for value in self.nulls} | {text: canonical(value) for text, value in self.map.items()}

    def word_faults(self, path: Path, known: Sequence[Value] = (), allowed: Sequence[Value] | None = None) -> Iterator[Fault]:
        """What is wrong with the words: of values that are ``known``, none is NULL; only those ``allowed`` are mapped to."""
        texts = {canonical(value) for value in known}
        for i, value in enumerate(self.nulls):
            if canonical(value) in texts:
                remedy = "Remove it from `nulls`, or from the values"
                yield Fault((*path, "nulls", i), f"{canonical(value)} is a value of the column, so it cannot mean NULL", remedy)
            if canonical(value) in self.map:
                yield Fault(
                    (*path, "map", canonical(value)), f"{canonical(value)} is mapped, and means NULL", "Keep `nulls` or `map`"
                )
        for text, value in self.map.items():
            if allowed is not None and canonical(value) not in {canonical(other) for other in allowed}:
                remedy = f"Its values: {listed(canonical(other) for other in allowed)}"
                yield Fault(
                    (*path, "map", text), f"{text} is mapped to {canonical(value)}, which is no value of the column", remedy
                )


class WrittenWord(Written):
    """Words that the source writes in several ways."""

    trim: bool = False
    """Leave out blanks around a value."""
    case: Case | None = None
    """`ignore`: a value is the one of the list that differs in case alone. `lower`, `upper`: all values in such letters."""

    @property
    def is_rewritten(self) -> bool:
        return bool(self.nulls or self.map or self.trim or self.case)

    def rewritten_sql(self, text: str, spellings: Mapping[str, Value]) -> str | None:
        """As `plain_sql`, with the texts that stand for a value of the list."""
        if not self.is_rewritten:
            return None
        held = trimmed_sql(text) if self.trim else text
        folded = f"{self.case}({held})" if self.case in ("lower", "upper") else held
        same = {known: canonical(value) for known, value in spellings.items()} if self.case == "ignore" else {}
        return replaced_sql(trimmed_sql(text), same | self.words, folded, folds=self.case is not None)


def canonical(value: object) -> str:
    """The text by which values are compared: a 1 is a 1, whether the source stores it as text, integer or 1.0."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def trimmed_sql(text: str) -> str:
    """Without blanks around it. To look for some first is several times as fast as to take them off."""
    return f"CASE WHEN regexp_matches({text}, '^[{BLANKS}]|[{BLANKS}]$') THEN trim({text}, {quoted(BLANKS)}) ELSE {text} END"


def replaced_sql(key: str, words: Mapping[str, str | None], otherwise: str, *, folds: bool = False) -> str:
    """The text that a word stands for, by ``key``; ``otherwise`` where it is none of them."""
    fold = "lower({})" if folds else "{}"
    compared = fold.format(key)
    cases = [
        f"WHEN {compared} = {fold.format(quoted(text))} THEN {'NULL' if meant is None else quoted(meant)}"
        for text, meant in words.items()
    ]
    return f"CASE {' '.join(cases)} ELSE {otherwise} END" if cases else otherwise


def quoted(text: str) -> str:
    """As SQL writes a text."""
    return "'" + text.replace("'", "''") + "'"


class WrittenNumber(Written):
    """How the source writes numbers, where it stores them as text."""

    unit: str | None = None
    """What it is counted in: mg, mmol/L, %. Texts may end with it, or begin with it ($5)."""
    units: dict[str, float] = {}
    """Other units that stand there, and how many of `unit` one is (`{g: 1000}` where `unit: mg`). They come out in it."""
    decimal: Literal[".", ","] | None = None
    """What stands before the decimals, where numbers are stored as text."""
    thousands: Literal[".", ",", " ", "'"] | None = None
    """What stands between thousands there: `1.234,5` has `decimal: ","` and `thousands: "."`."""

    @property
    def form(self) -> NumberForm:
        """How texts write it."""
        return NumberForm(self.decimal or ".", self.thousands)

    @property
    def is_rewritten(self) -> bool:
        return super().is_rewritten or bool(self.units) or self.form != PLAIN

    def plain_sql(self, text: str, *, stored_text: bool) -> str | None:
        if not (self.is_rewritten or self.unit) or not (stored_text or self.words):
            return None
        trimmed = trimmed_sql(text)
        number = self._in_unit_sql(trimmed) if stored_text else text
        numbers = [f"{value!r}::DOUBLE" for value in self.nulls if isinstance(value, int | float)]
        if numbers:
            number = f"CASE WHEN TRY_CAST({number} AS DOUBLE) IN ({', '.join(numbers)}) THEN NULL ELSE {number} END"
        return replaced_sql(trimmed, {**self.left_as_written, **self.words}, number)

    @property
    def left_as_written(self) -> dict[str, str]:
        """Words that no form is looked for in: the comma of a `<0,5` among the values stays what it is."""
        return {}

    def kept_text_sql(self, plain: str) -> str:
        if self.form.decimal == ".":
            return plain
        written = f"replace({plain}, '.', {quoted(self.form.decimal)})"
        return f"CASE WHEN TRY_CAST({plain} AS DOUBLE) IS NULL THEN {plain} ELSE {written} END"

    def _in_unit_sql(self, text: str) -> str:
        """The plain text of a number that may have its unit. The longest unit first: a text that ends with mg ends with g."""
        known = {**self.units, **({self.unit: 1.0} if self.unit else {})}
        cases = []
        for unit, factor in sorted(known.items(), key=lambda item: -len(item[0])):
            for at, kept in (("ends", "left"), ("starts", "right")):
                number = self._plain_number_sql(trimmed_sql(f"{kept}({text}, -{len(unit)})"))
                converted = f"CAST(TRY_CAST({number} AS DOUBLE) * {factor!r} AS VARCHAR)"
                cases.append(f"WHEN {at}_with({text}, {quoted(unit)}) THEN coalesce({converted}, {text})")
        plain = self._plain_number_sql(text)
        return f"CASE {' '.join(cases)} ELSE {plain} END" if cases else plain

    def _plain_number_sql(self, text: str) -> str:
        """As DuckDB reads it. What is not written in the form may still be a plain number, and stays what it is."""
        form = self.form
        if form == PLAIN:
            return text
        mark = quoted(form.decimal)
        plain = (
            text if form.decimal == "." else f"CASE WHEN contains({text}, '.') THEN {text} ELSE replace({text}, {mark}, '.') END"
        )
        if form.thousands is None:
            return plain
        # Most numbers are below a thousand: only the others have to be looked at closely.
        bare = f"replace(regexp_replace({text}, {quoted(form.between)}, '', 'g'), {mark}, '.')"
        grouped = f"CASE WHEN regexp_full_match({text}, {quoted(form.pattern)}) THEN {bare} ELSE {text} END"
        return f"CASE WHEN regexp_matches({text}, {quoted(form.between)}) THEN {grouped} ELSE {plain} END"

    def number_faults(self, path: Path, specials: Sequence[Value]) -> Iterator[Fault]:
        """What is wrong with the form, the units and the words."""
        if self.thousands is not None and self.thousands == self.form.decimal:
            other = "," if self.thousands == "." else "."
            what = f"{self.thousands} is both the decimal mark and the thousands separator"
            yield Fault((*path, "thousands"), what, f'Write `decimal: "{other}"`, or another `thousands`')
        if self.units and self.unit is None:
            yield Fault((*path, "units"), "units of nothing", "Write `unit:` too: what all values are counted in")
        for unit, factor in self.units.items():
            if factor == 0 or not unit.strip() or unit == self.unit:
                remedy = "Write how many of `unit` one of it is, as in {unit: mg, units: {g: 1000}}"
                yield Fault((*path, "units", unit), f"{unit or 'no unit'} is not another unit with a factor", remedy)
        for text, value in self.map.items():
            if isinstance(value, bool) or not (isinstance(value, int | float) or value in specials):
                what = f"{text} is mapped to {value}, which is no number"
                yield Fault((*path, "map", text), what, "Write a number, or one of `specials`")
