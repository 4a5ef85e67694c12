"""`WrittenNumber`: numbers that a source stores as text in a form of its own: 1.234,5 and 3 g."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from mare.schema.faults import Fault, Path
from mare.schema.strict import Value

from .ticks import PLAIN, NumberForm
from .written import Written, quoted, replaced_sql, trimmed_sql


class WrittenNumber(Written):
    """How the source writes numbers, where it stores them as text."""

    unit: str | None = None
    """What it is counted in: mg, mmol/L. For people, and where texts say their unit (`units`)."""
    units: dict[str, float] = {}
    """Other units that texts may end with, and how many of `unit` one is (`{g: 1000}` where `unit: mg`). They come out in it."""
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
        if not self.is_rewritten or not (stored_text or self.words):
            return None
        trimmed = trimmed_sql(text)
        number = self._in_unit_sql(trimmed) if stored_text else text
        numbers = [f"{value!r}::DOUBLE" for value in self.nulls if isinstance(value, int | float)]
        if numbers:
            number = f"CASE WHEN TRY_CAST({number} AS DOUBLE) IN ({', '.join(numbers)}) THEN NULL ELSE {number} END"
        return replaced_sql(trimmed, self.words, number)

    def kept_text_sql(self, plain: str) -> str:
        if self.form.decimal == ".":
            return plain
        written = f"replace({plain}, '.', {quoted(self.form.decimal)})"
        return f"CASE WHEN TRY_CAST({plain} AS DOUBLE) IS NULL THEN {plain} ELSE {written} END"

    def _in_unit_sql(self, text: str) -> str:
        """The plain text of a number that may end with its unit. The longest unit first: a text that ends with mg ends with g."""
        known = {**self.units, **({} if self.unit is None or not self.units else {self.unit: 1.0})}
        cases = []
        for unit, factor in sorted(known.items(), key=lambda item: -len(item[0])):
            number = self._plain_number_sql(trimmed_sql(f"left({text}, -{len(unit)})"))
            converted = f"CAST(TRY_CAST({number} AS DOUBLE) * {factor!r} AS VARCHAR)"
            cases.append(f"WHEN ends_with({text}, {quoted(unit)}) THEN coalesce({converted}, {text})")
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
            what = f"{self.thousands} stands before decimals and between thousands"
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
