"""`Card`: what a release is good for, column by column, and who is protected how far. `card` makes it, from the release alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from mare.errors import ReleaseError
from mare.planning import Warned
from mare.privacy.budget import factor, plainly
from mare.privacy.ledger import Charge, Ledger
from mare.relational.filling import Origin, column_origins
from mare.release import Release

from .expected import CLEAR, MEAN_NOISE, ExpectedErrors

Verdict = Literal["trust", "coarse", "do not use"]
VERDICTS: tuple[Verdict, ...] = ("trust", "coarse", "do not use")
TRUST, COARSE = 0.08, 0.25
"""What the error of a column that is called so stays below, in at least 95 of 100 columns (docs/guides/the-card.md)."""
MARGIN = 1.6
"""Times the expected error: what 19 of 20 columns stay below."""
MEANING: Mapping[Verdict, str] = {
    "trust": f"at most {TRUST:.0%} of its rows would have to get another value to be spread as the real ones are",
    "coarse": f"at most {COARSE:.0%} would have to: good for the rough shape, for building and testing; not for figures",
    "do not use": "nothing shows that it is better than noise: its type and its keys are right, its values may say little",
}
_FORMAT = 1
_DROWNED = 0.5
"""Expected error from which a cross-tab holds more noise than rows."""


@dataclass(frozen=True)
class ColumnCard:
    """One column that the schema names."""

    table: str
    column: str
    origin: Origin
    verdict: Verdict | None
    """None where there is nothing to judge: what is made up, constant, copied or dropped."""
    expected: float | None = None
    """Expected error, as a total-variation distance in 20 quantiles."""
    at_most: float | None = None
    """What the error stays below, for 19 of 20 columns."""
    why: str = ""
    """What most of it comes from."""
    cells: int = 0
    clear: int = 0
    """Of its codes, how many stood clear of the noise."""
    help: str = ""
    """What would make it better; none where it is to be trusted, or nothing would."""

    @property
    def name(self) -> str:
        return f"{self.table}.{self.column}"


@dataclass(frozen=True)
class TableCard:
    """One table that is modelled."""

    table: str
    rows: float
    """Noisily."""
    per: str | None
    """The table above."""
    verdict: Verdict | None
    """Of how many rows each row of that has."""
    expected: float | None
    at_most: float | None


@dataclass(frozen=True)
class CrossTab:
    """Columns that were counted together: what they have to do with each other is drawn from it."""

    group: str
    columns: tuple[str, ...]
    cells: int
    expected: float
    """Expected error by its noise alone, before smoothing: from 0.5 on it holds more noise than rows."""
    stood: Literal["clear", "partly", "drowned"]


@dataclass(frozen=True)
class Asked:
    """What a part of the budget was spent on."""

    part: str
    choices: int
    answers: int
    numbers: int
    noise: tuple[float, float] | None
    """Least and largest standard deviation of the noise on its numbers."""
    share: float


@dataclass(frozen=True)
class Card:
    """All that can be told of a release without looking at any data. Public, as the release is."""

    name: str
    status: str
    reasons: tuple[str, ...]
    unit: str
    epsilon: float
    delta: float
    promise: str
    entities: int
    made: Mapping[str, str]
    asked: tuple[Asked, ...]
    tables: tuple[TableCard, ...]
    columns: tuple[ColumnCard, ...]
    crosstabs: tuple[CrossTab, ...]
    """Worst first."""
    doubts: tuple[Warned, ...]
    public: tuple[str, ...]
    limits: tuple[str, ...]

    def of(self, verdict: Verdict) -> tuple[ColumnCard, ...]:
        """The columns of that verdict, worst first."""
        return tuple(sorted((c for c in self.columns if c.verdict == verdict), key=lambda c: -(c.at_most or 0.0)))

    def purposes(self) -> tuple[str, ...]:
        """What it is good for, for what with care, and for what not: the first thing that anybody wants to know."""
        judged = [column.verdict for column in self.columns if column.verdict is not None]
        stood = [table.stood for table in self.crosstabs]
        kinds = {"building and testing (types, keys and rules are right)": 0}
        single = _grade(judged.count("trust"), judged.count("coarse"), len(judged))
        if judged:
            kinds[f"figures of single columns ({judged.count('trust')} of {len(judged)} are to be trusted)"] = single
        if stood:
            # What stands on columns is no better than they are; and what was counted is clear, but not all pairs were counted.
            related = max(1, single, _grade(stood.count("clear"), stood.count("partly"), len(stood)))
            kinds[f"relating columns ({stood.count('clear')} of {len(stood)} cross-tabs stood clear of the noise)"] = related
        named = [", ".join(kind for kind, graded in kinds.items() if graded == grade) for grade in range(len(_GRADES))]
        return tuple(f"{word} {listed}" for word, listed in zip(_GRADES, named, strict=True) if listed)

    def helps(self) -> Mapping[str, tuple[ColumnCard, ...]]:
        """What would help, and which columns: what helps most of them first."""
        helped = dict[str, tuple[ColumnCard, ...]]()
        for column in (*self.of("do not use"), *self.of("coarse")):
            if column.help:
                helped[column.help] = (*helped.get(column.help, ()), column)
        return dict(sorted(helped.items(), key=lambda item: -len(item[1])))

    def to_dict(self) -> dict[str, Any]:
        """In lists and mappings, as JSON has them."""
        bounds = {"trust": TRUST, "coarse": COARSE, "held_by": 0.95}
        counts = {verdict: len(self.of(verdict)) for verdict in VERDICTS}
        return {"card": _FORMAT, **asdict(self), "bounds": bounds, "counts": counts, "purposes": list(self.purposes())}

    def to_html(self) -> str:
        """One page that needs nothing else."""
        from .card_page import render_page

        return render_page(self)

    def render(self, width: int = 100) -> str:
        """For a terminal."""
        from .card_text import render_text

        return render_text(self, width)

    def _repr_html_(self) -> str:
        """For notebooks."""
        from mare.notebook import page

        judged = [column for verdict in reversed(VERDICTS) for column in self.of(verdict)]
        rows = [(c.name, c.verdict, f"{c.at_most:.2f}", c.why) for c in judged]
        return page(f"Card of {self.name}", ("column", "verdict", "error, at most", "mainly"), rows, map(str, self.doubts))


def card(release: Release) -> Card:
    """What a release is good for: trust, coarse or do not use, column by column. Free, and public: it needs no data."""
    if not isinstance(release, Release):
        raise ReleaseError(f"card takes a release, not a {type(release).__name__}. Write mare.card(mare.load_release(path)).")
    ledger, errors = release.ledger, ExpectedErrors(release)
    budget = ledger.budget
    return Card(
        name=release.schema.name or "a release",
        status=release.status,
        reasons=ledger.reasons,
        unit=ledger.unit,
        epsilon=budget.epsilon,
        delta=budget.delta,
        promise=_promise(ledger),
        entities=release.plan.entities,
        made=asdict(ledger.occasion),
        asked=tuple(_asked(part, charges, float(ledger.total)) for part, charges in ledger.parts.items()),
        tables=tuple(_tables(release, errors)),
        columns=tuple(_columns(release, errors)),
        crosstabs=tuple(sorted(_crosstabs(release), key=lambda table: -table.expected)),
        doubts=release.doubts,
        public=ledger.public,
        limits=tuple(_limits(release)),
    )


_GRADES = ("Good for", "With care for", "Not for")


def _grade(good: int, fair: int, of: int) -> int:
    """Which of them half of all deserve, or more."""
    return 0 if 2 * good >= of else 1 if 2 * (good + fair) >= of else 2


def _at_most(error: float) -> float:
    return round(min(1.0, MARGIN * error), 4)


def _verdict(error: float) -> Verdict:
    return "trust" if _at_most(error) <= TRUST else "coarse" if _at_most(error) <= COARSE else "do not use"


def _promise(ledger: Ledger) -> str:
    budget = ledger.budget
    but = "" if budget.pure else f", but for an event of probability {budget.delta:.3g}"
    promise = (
        f"Whatever anyone sees in this release would have been seen with a chance at most {factor(budget.epsilon)} times higher "
        f"or lower had any one of them been left out{but}."
    )
    word = plainly(budget.epsilon, budget.delta)
    return promise if word is None else f"{promise} What that is worth: {word}."


def _asked(part: str, charges: list[Charge], total: float) -> Asked:
    choices = [charge for charge in charges if charge.mechanism == "exponential choice"]
    scales = [charge.scale for charge in charges if charge.mechanism != "exponential choice"]
    numbers = sum(charge.cells for charge in charges if charge.mechanism != "exponential choice")
    noise = (min(scales), max(scales)) if scales else None
    return Asked(part, len(choices), len(scales), numbers, noise, sum(charge.cost for charge in charges) / total)


def _tables(release: Release, errors: ExpectedErrors) -> Iterator[TableCard]:
    rows = {settled.group.table: settled.rows for settled in release.plan.groups if settled.group.part == "rows"}
    rows |= {table: errors.unrolled(table) for table in release.schema.tables if table not in rows}
    contexts = {settled.group.table for settled in release.plan.groups if settled.group.part == "context"}
    for name, table in release.schema.tables.items():
        if table.public or table.ignore or (name not in rows and name not in contexts):
            continue
        per = release.schema.parent_name(name) if release.schema.parent(name) is not None else None
        if (children := errors.children(name)) is None:
            yield TableCard(name, rows.get(name, 0.0), per, None, None, None)
        else:
            error = children.error
            yield TableCard(name, rows.get(name, 0.0), per, _verdict(error), round(error, 4), _at_most(error))


def _columns(release: Release, errors: ExpectedErrors) -> Iterator[ColumnCard]:
    unknown = {doubt.where: doubt for doubt in release.doubts if "stood clear of the noise" in doubt.what}
    for table, origins in column_origins(release.schema, release.tables).items():
        for column, origin in origins.items():
            expected = errors.of(table, column) if origin.startswith("learned") or origin == "worked out" else None
            if expected is None:
                yield ColumnCard(table, column, origin, None)
                continue
            doubt = unknown.get(f"{table}.{column}")
            error = 1.0 if doubt is not None else expected.error
            figures = _verdict(error), round(error, 4), _at_most(error)
            apart = "" if expected.distance is None else f"; its distance from what it follows: {_verdict(expected.distance)}"
            clear = expected.clear if doubt is None else 0  # its own codes did not: what is left of it is the rest
            why, helps = (expected.mainly + apart, expected.help) if doubt is None else (doubt.what, _lower(doubt.remedy))
            better = "" if figures[0] == "trust" else helps
            yield ColumnCard(table, column, origin, *figures, why, expected.cells, clear, better)


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def _crosstabs(release: Release) -> Iterator[CrossTab]:
    for settled in release.plan.groups:
        clarity = getattr(release.model(settled.name), "clarity", None)
        for table in () if clarity is None else clarity.tables:
            if len(table.columns) < 2:
                continue
            expected = MEAN_NOISE / 2 * table.cells * table.deviation
            typical = 1 / (table.cells * max(table.deviation, 1e-12))
            stood: Literal["clear", "partly", "drowned"]
            stood = "clear" if typical >= CLEAR else "partly" if expected < _DROWNED else "drowned"
            yield CrossTab(settled.name, table.columns, table.cells, round(min(expected, 1.0), 4), stood)


def _limits(release: Release) -> Iterator[str]:
    yield (
        "A verdict is about one column on its own. Two columns together, and small groups of rows, are further off: "
        "the cross-tabs say which pairs were measured, and how clearly."
    )
    yield "Columns that share no cross-tab are related only by way of others: what they have to do with each other may be lost."
    capped = sorted({settled.group.table for settled in release.plan.groups if settled.sensitivity > 1})
    if capped:
        yield (
            "Rows beyond the caps of the schema were not looked at: an entity with very many rows has fewer here "
            f"({', '.join(capped)})."
        )
        yield (
            "How much lists of rows and long sequences lead astray cannot be seen in a release: the verdicts allow for what was "
            "usual on the databases that they were calibrated on."
        )
    if release.ledger.pledge is None:
        yield "No budget file counts other releases of the same data: each adds to what may be told of one entity."
