"""`evaluate`: hold a synthetic database against the real one. Internal, not private: it reads true rows without the gate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from mare.audit.report import AuditPart, read_audit
from mare.errors import PlanError, SourceError
from mare.finding import Location
from mare.release import Release, load_release
from mare.schema import Schema
from mare.schema.loading import load_schema
from mare.stage.kernel import THREADS
from mare.verdicts import Card, card
from mare.verdicts.card import VERDICTS

from .evaluation import Evaluation, Part, small_tables
from .fidelity.broken import broken
from .fidelity.calendar import calendar
from .fidelity.coded_sets import Coded, Sides, code_sides
from .fidelity.exact_copies import copies, same_rows
from .fidelity.pairs import TooFew, compare_pairs, pair_means
from .fidelity.sequences import lengths, stickiness, together, transitions
from .fidelity.trajectories import trajectories
from .key_places import matched
from .measured import FEWEST_ROWS, KINDS, ColumnFidelity, Note, SetName
from .questions import answer_all, read_questions
from .risk.assess import assess_risk
from .sides import Side, read_side
from .timelines import timelines
from .utility.assess import assess_utility


def evaluate(
    schema: Schema | str | Path,
    real: Location,
    synthetic: Location,
    *,
    holdout: Location | None = None,
    questions: str | Path | None = None,
    utility: bool = False,
    risk: bool = False,
    audit: str | Path | None = None,
    release: Release | str | Path | None = None,
    seed: int = 0,
    watch: Callable[[str], None] | None = None,
) -> Evaluation:
    """How close ``synthetic`` comes to ``real``: internal, not private.

    ``holdout`` holds other real entities that the fit has not seen (`mare.split`): what could be reached at best. ``questions``
    is a file of SELECT statements that are answered on both sides. ``utility`` tries what the rows are good for, ``risk`` attacks
    the people in them; both learn with scikit-learn where it is installed. ``audit`` is the JSON of an audit, ``release`` the
    release that the synthetic rows were drawn from: what they say is told beside. ``seed`` shuffles the baselines.
    """
    if isinstance(schema, str | Path):
        schema = load_schema(schema)
    if not isinstance(schema, Schema):
        raise PlanError(f"schema is a {type(schema).__name__}. Give what mare.load_schema returns, or the path of its YAML file.")
    if seed < 0:
        raise PlanError(f"the seed is {seed}; it is a whole number from 0 on.")
    tell = watch or (lambda step: None)
    asked = read_questions(Path(questions)) if questions is not None else ()
    audited = None if audit is None else AuditPart(read_audit(audit))
    parts: dict[str, Part] = {} if release is None else {"release": released(release)}
    places: dict[SetName, Location] = {"real": real, "synthetic": synthetic}
    places |= {"holdout": holdout} if holdout is not None else {}
    tell(f"reading the {' and the '.join(_WORDS[name] for name in places)}")
    sides = _read(schema, places)
    _refuse_nothing(sides)
    tell("coding columns")
    coded = code_sides(sides)
    tell("counting pairs")
    pairs, steps, too_few = compare_pairs(coded, seed)
    tell("following sequences")
    with ThreadPoolExecutor(THREADS) as threads:
        copied = threads.submit(copies, coded)
        followed = threads.submit(lambda: tuple(trajectories(coded, seed)))
        dated = threads.submit(lambda: tuple(calendar(sides)))
        wrong = threads.submit(broken, sides)
        shares, whole = copied.result()
    if utility:
        tell("learning from both sides")
        parts["utility"] = assess_utility(schema, sides["real"], sides["synthetic"], sides.get("holdout"), seed=seed)
    if risk:
        tell("attacking")
        holdout_side = sides.get("holdout")
        inside = _shared(sides["real"], holdout_side) if holdout_side is not None else ()
        parts["risk"] = assess_risk(schema, sides["real"], sides["synthetic"], holdout_side, seed=seed, inside=inside)
    if audited is not None:
        parts["audit"] = audited
    small = small_tables({table: len(rows) for table, rows in sides["real"].entity.items() if table in sides["real"].tables})
    return Evaluation(
        name=schema.name or "",
        labels={name: side.label for name, side in sides.items()},
        entities={name: side.entities for name, side in sides.items()},
        rows={table: {name: len(side.entity[table]) for name, side in sides.items()} for table in sides["real"].tables},
        warnings=tuple(_warnings(coded)),
        notes=(*_notes(sides), *_not_compared(too_few)),
        means=pair_means([p for p in pairs if p.table not in small], (*coded.others, "shuffled", "independent")),
        one_way=_one_way(coded, small),
        columns=_with_cards((*coded.columns, *dated.result()), parts.get("release")),
        pairs=pairs,
        lengths=tuple(lengths(sides)),
        stickiness=tuple(stickiness(coded, steps)),
        transitions=tuple(transitions(coded, steps)),
        trajectories=followed.result(),
        together=tuple(together(coded)),
        broken=wrong.result()[0],
        looked_at=wrong.result()[1],
        copies=shares,
        copied_entities=whole,
        answers=answer_all(asked, sides) if asked else (),
        timelines=timelines(sides["synthetic"]),
        schema=schema,
        parts=parts,
    )


def _read(schema: Schema, places: Mapping[SetName, Location]) -> dict[SetName, Side]:
    """All sides at once, unless two of them are one source that is open once. Meanwhile Arrow takes its memory from where
    it goes back to: its usual store would keep a quarter of a gigabyte that nobody needs afterwards."""
    usual, alone = pa.default_memory_pool(), len({id(place) for place in places.values()}) == len(places)
    pa.set_memory_pool(pa.jemalloc_memory_pool() if "jemalloc" in pa.supported_memory_backends() else pa.system_memory_pool())
    try:
        with ThreadPoolExecutor(THREADS if alone else 1) as threads:
            return dict(zip(places, threads.map(partial(read_side, schema), places.values()), strict=True))
    finally:
        pa.set_memory_pool(usual)


@dataclass(frozen=True)
class Released:
    """The card as a part of an evaluation: public, also among figures that are not."""

    card: Card

    def words(self) -> Iterator[str]:
        columns = ", ".join(f"{len(self.card.of(verdict))} {verdict}" for verdict in VERDICTS)
        yield f"The release (ε = {self.card.epsilon:g}, δ = {self.card.delta:g}) says of its columns: {columns}."

    def to_json(self) -> Mapping[str, object]:
        return self.card.to_dict()


def released(release: Release | str | Path) -> Released:
    """Of a release or its file, which is refused, where it is none, before any row is read."""
    return Released(card(load_release(release) if isinstance(release, str | Path) else release))


_NAMED = 8
"""Columns that one warning names."""
_WORDS: Mapping[SetName, str] = {"real": "real rows", "synthetic": "synthetic rows", "holdout": "hold-out"}


def _with_cards(columns: tuple[ColumnFidelity, ...], release: Part | None) -> tuple[ColumnFidelity, ...]:
    """Each with what the card says of it, where there is one."""
    cards = {(c.table, c.column): c.verdict or "" for c in release.card.columns} if isinstance(release, Released) else {}
    return tuple(replace(column, card=cards.get((column.table, column.name), "")) for column in columns)


def _one_way(coded: Coded, small: frozenset[str]) -> dict[SetName, float]:
    """Of all that a row holds, points in time too: that they are in no pair does not make them right."""
    own = [column for column in coded.columns if column.part == "row" and column.table not in small]
    return {name: float(np.mean([column.distance[name] for column in own])) if own else 0.0 for name in coded.others}


def _notes(sides: Sides) -> Iterator[Note]:
    """A line for each kind of note, and one for all sides of which it is true."""
    whose = dict[tuple[str, tuple[str, ...]], list[str]]()
    for name, side in sides.items():
        for what, listed in side.notes.items():
            whose.setdefault((what, tuple(listed)), []).append(_WORDS[name])
    for (what, names), sides_of in whose.items():
        yield Note(" and ".join(sides_of), what, names)


def _not_compared(too_few: TooFew) -> Iterator[Note]:
    for kind, tables in too_few.items():
        yield Note(
            _WORDS["real"], f"not compared {KINDS[kind]}, which fewer than {FEWEST_ROWS} of them have", tuple(sorted(tables))
        )


def _refuse_nothing(sides: Sides) -> None:
    """Two sides of which one has no rows at all cannot be held against each other."""
    for name, side in sides.items():
        if not any(len(rows) for rows in side.entity.values()):
            missing = sorted(side.missing)
            why = f" It lacks the tables of the schema: {', '.join(missing)}." if missing else ""
            raise SourceError(f"among the {_WORDS[name]} ({side.label}) is not one row of the schema's tables.{why}")


def _warnings(coded: Coded) -> list[str]:
    """What makes the figures mean something else than they seem to."""
    warnings, sets = list[str](), coded.sets
    sides = {name: held.side for name, held in sets.items()}
    real, holdout = sides["real"], sides.get("holdout")
    if same_rows(sets["real"], sets["synthetic"]):
        warnings.append("the synthetic rows are the real rows: everything below says how far the data is from itself")
    if holdout is not None:
        if same_rows(sets["holdout"], sets["synthetic"]):
            warnings.append("the synthetic rows are the hold-out")
        shared = len(_shared(real, holdout))
        if shared:
            warnings.append(
                f"the hold-out shares {shared:,} of its {holdout.entities:,} entities with the real rows, so it is not "
                "one: it looks closer than rows that were never seen. Split at the entity: mare split"
            )
    for table in real.tables:
        warnings += [
            f"the table {table!r} of the {_WORDS[name]} is not there: it counts as empty"
            for name in sides
            if table in sides[name].missing
        ]
        empty = [name for name, side in sides.items() if not len(side.entity[table]) and table not in side.missing]
        if empty:
            warnings.append(f"the table {table!r} of the {' and the '.join(_WORDS[name] for name in empty)} is empty")
    return [*warnings, *(line for name in sides for line in _lacking(sides, name))]


def _lacking(sides: Sides, name: SetName) -> Iterator[str]:
    """Columns that a side lacks, and another has; columns of which it has nothing that can be read."""
    side, others = sides[name], [other for other in sides.values() if other is not sides[name]]
    not_there = [c for c in side.missing if "." in c and not all(c in other.missing for other in others)]
    unread = [c for c, count in side.unread.items() if count >= max(1, len(side.entity.get(c.partition(".")[0], ())))]
    for what, columns in (("are not there", not_there), ("hold nothing that can be read as the schema says", unread)):
        if columns:
            more = f" and {len(columns) - _NAMED} more" if len(columns) > _NAMED else ""
            listed = ", ".join(sorted(columns)[:_NAMED]) + more
            yield f"columns of the {_WORDS[name]} {what}, and count as NULL: {listed}"


def _shared(real: Side, holdout: Side) -> np.ndarray:
    """The entities of the hold-out who are among the real ones."""
    if real.keys is None or holdout.keys is None:
        return np.arange(0)
    return np.flatnonzero(matched([holdout.keys], [real.keys]) >= 0)
