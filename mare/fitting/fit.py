"""`fit`: the only step that sees data. Its phases run in a fixed order, and nothing but the gate's answers gets out.

stage ─► sizes ─► learn domains ─► settle ─► encode ─► models ─► Release
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from getpass import getuser
from pathlib import Path
from typing import TYPE_CHECKING

from mare.errors import PlanError
from mare.finding import Location, open_source
from mare.graph.dag import DatasetDag
from mare.installed import __version__
from mare.models import get_model
from mare.planning import Plan, Warned
from mare.planning.domains import most_sequences, row_bounds
from mare.planning.learning import STRANGERS, needed, open_domains
from mare.planning.plan import phase_shares
from mare.ports import Source
from mare.privacy.bits import BitSource, OsBits, SeededBits
from mare.privacy.budget import Budget, Pledge
from mare.privacy.budget_file import BudgetFile
from mare.privacy.curator import Gate
from mare.privacy.ledger import LEARNING, MODELS, SIZES, Ledger
from mare.privacy.occasion import Occasion, utc
from mare.privacy.tape import Tape
from mare.relational.faking import check_fakes
from mare.relational.filling import fillings
from mare.relational.relations import relations
from mare.release import Release
from mare.release.storage import output_tables, without_links
from mare.schema.faults import listed
from mare.schema.yaml_writing import schema_hash
from mare.stage_door import LocalNotes, needs, open_stage

from .code_lists import code_lists
from .learning import Learning, count_lists, weight_of
from .noisy_sizes import measure_sizes
from .public_keys import choices, choose_keys, learn_strangers, may_be_strange
from .range_doubts import doubt_of_cap
from .rehearsal import Rehearsal
from .settling import adding_up, beginning_columns, doubtful_codes, group_levels, near_columns, open_codecs, settle
from .vocabularies import compared_keys, doubts_of_public, read_public, stage_vocabularies

if TYPE_CHECKING:
    from mare.schema import Schema

LOG = logging.getLogger("mare")
Listener = Callable[[str], None]
"""Told what the fit is doing: names of phases and groups, never a number from the data."""


@dataclass(frozen=True)
class FitOptions:
    """What a fit may be told beyond plan and source. The doors that cost the guarantee are called unsafe."""

    unsafe_peeked: bool = False
    """Fit although the schema was filled in by looking at the data. NOT PRIVATE."""
    bits: BitSource | None = None
    """Where noise comes from; the operating system unless a test says otherwise."""
    tape: Tape | None = None
    """For audits: records, or replays. NOT PRIVATE."""
    tell: Listener | None = None
    notes: Callable[[LocalNotes], None] | None = None
    """Handed the true numbers of dropped rows: internal, not private, for the screen of whoever runs the fit."""
    folder: Path | None = None
    """Where the temporary staging folder is made."""
    occasion: Occasion = field(default_factory=Occasion)
    """When, for what and by whom, for the ledger. The fit adds mare's version and the schema's hash."""
    reserve: Callable[[Budget, str], Pledge] | None = None
    """Takes the whole budget, for this unit, out of a budget file. Called before the first row is read; it may refuse."""


def fit(
    plan: Plan,
    source: Location | Source | object,
    *,
    budget_file: str | Path | None = None,
    purpose: str = "",
    by: str = "",
    progress: Listener | None = None,
    notes: Callable[[LocalNotes], None] | None = None,
    unsafe_seed: int | None = None,
    unsafe_peeked: bool = False,
) -> Release:
    """Fit the plan to a source, and pay for every answer.

    With a ``budget_file`` the plan's whole budget is first taken out of its cap, for good. ``purpose`` (what the release is for)
    and ``by`` (who makes it) are noted there, and in the ledger, which travels with the release; unless said, the file notes your
    login name and the ledger nobody's.
    ``source`` is a URL, a file, a folder, a dictionary of tables (pandas, polars, Arrow), or a connection that is open
    (SQLAlchemy, sqlite3, DuckDB). ``progress`` is told what the fit is doing; the logger ``mare`` too. ``notes`` is handed what
    was left out, in true numbers: internal, not private.
    ``unsafe_seed`` draws the noise from a seed, so that a test can repeat it; ``unsafe_peeked`` accepts a schema that was
    filled in by looking at the data. Either marks the release NOT PRIVATE, for good.
    """
    if not isinstance(plan, Plan):
        raise PlanError(
            f"fit takes a plan, not a {type(plan).__name__}. Write mare.fit(mare.plan(schema, mare.Budget(2)), source)."
        )
    bits: BitSource = OsBits() if unsafe_seed is None else SeededBits(unsafe_seed)
    at = datetime.now(UTC)
    reserve = None if budget_file is None else reserve_from(budget_file, purpose or "mare.fit", at, by or login_name())
    occasion = Occasion(utc(at), purpose, by)
    options = FitOptions(unsafe_peeked, bits, tell=progress, notes=notes, occasion=occasion, reserve=reserve)
    return run_fit(plan, source, options)


def reserve_from(budget_file: str | Path, purpose: str, at: datetime, by: str) -> Callable[[Budget, str], Pledge]:
    """For `FitOptions.reserve`: this file pays."""
    return lambda budget, unit: BudgetFile(Path(budget_file)).reserve(budget, purpose, unit, at, by)


def login_name() -> str:
    """Whose session this is, for the budget file, which stays in the house. A container may know no name: then its number."""
    try:
        return getuser()
    except (OSError, KeyError, ImportError):
        return f"user {os.getuid()}"


def run_fit(plan: Plan, source: Location | Source | object, options: FitOptions) -> Release:
    """As `fit`, with everything that the command line and the audit need to say."""
    tell = _listener_and_log(options.tell)
    schema = plan.schema
    _refuse_peeked(plan, options.unsafe_peeked)
    _refuse_tables(schema)
    tables = needs(schema, [planned.group for planned in plan.groups])
    unsettled = open_codecs(plan, tables)
    bounds, _ = row_bounds(schema, DatasetDag.of(schema))
    opened = open_source(source)
    tell("reading")
    with opened as reader:
        reflection = reader.reflect()
        output = output_tables(schema, reflection)
        public = read_public(schema, reader, reflection)
        wanted, codes = choices(schema, public), code_lists(schema, public, unsettled.values())
        # What can be refused without looking at a row has been. From here on the reservation is gone, come what may.
        pledge = None if options.reserve is None else options.reserve(plan.budget, _unit(schema))
        occasion = replace(options.occasion, mare=__version__, schema=schema_hash(schema))
        ledger = Ledger(plan.budget, _unit(schema), plan.public, pledge, occasion)
        if plan.peeked:
            ledger.mark_not_private(f"the schema was filled in by looking at the data: {listed(plan.peeked, 5)}")
        gate = Gate(plan.budget, ledger, options.bits, options.tape)
        ledger.declare(
            "the source's catalogue: names and types of the columns that come out, which may be NULL, their defaults and "
            "comments, and the keys, indexes, constraints and generated columns of their tables, as they are written there; "
            "names of columns that are left out"
        )
        keys, collations = compared_keys(stage_vocabularies(tables, schema, public), reader, reflection)
        with open_stage(reader, tables, gate, folder=options.folder, vocabularies=keys, collations=collations) as door:
            tell("measuring sizes")
            ledger.begin(SIZES)
            sizes = measure_sizes(door, tables, bounds, plan.phases.sizes)
            weight = weight_of(unsettled.values())
            unknown = open_domains(schema, [planned.group for planned in plan.groups], pure=plan.budget.pure)
            strange = [choice for choice in may_be_strange(wanted, plan.budget.pure) if choice.name not in collations]
            units = len(wanted) + len(strange) * STRANGERS + weight
            wants = needed(plan.budget, unknown, sizes.entities)
            phases = phase_shares(sizes.entities, learns=units > 0, sizes=sizes.share, needed=wants)
            unit_share = phases.learn / max(units, 1e-9)
            tell("learning domains")
            ledger.begin(LEARNING)
            chosen = choose_keys(door, wanted, bounds, unit_share * len(wanted))
            asked = [choice for choice in strange if choice.name in chosen.strange]
            lists = len(asked) + count_lists(unsettled.values())
            share = unit_share * STRANGERS
            chosen, strangers = learn_strangers(door, asked, chosen, bounds, sizes.rows_each, share, lists)
            # What was set aside for keys that public tables lack, and was not needed, goes to other domains, or to the models.
            spare = share * (len(strange) - len(asked))
            keys_learned = {**chosen.others, **strangers}
            related = relations(schema, public, chosen.keys, chosen.counts, keys_learned)
            for name, links in related.items():
                if links.unrolling is not None:
                    door.drop_rest(name, links.unrolling)
            columns = {name: tuple(codec.columns) for name, codec in unsettled.items()}
            learning_share = unit_share * weight + (spare if weight else 0.0)
            measured = sizes.rows_each, sizes.entities
            learning = Learning(schema, columns, door, bounds, learning_share, codes, related, *measured, len(asked))
            coded = learning.run()
            learned = {**keys_learned, **learning.learned}
            settled = settle(
                plan, tables, coded, sizes, related, chosen, learned, [*doubts_of_public(public), *sizes.doubts, *learning.doubts]
            )
            output = without_links(output, schema, strangers)
            models_share = phases.models + (0.0 if weight else spare)
            for table in tables:
                tell(f"encoding {table.name}")
                door.encode(table.name, coded[table.name], related.get(table.name))
            if options.notes is not None:
                door.note(options.notes)
            ledger.begin(MODELS)
            arrays, rehearsal, capped = {}, Rehearsal(sizes.parents), list[Warned]()
            # Sizes and domains are paid; whatever the models do not use is left over, never given to a later group.
            for group in settled.groups:
                tell(f"fitting {group.name}")
                levels = group_levels(group.group, group.columns, group.history, coded, sizes.lengths)
                sequences, share = most_sequences(schema, bounds, group.group.table, group.group.part), models_share * group.share
                curator = door.group(group.group, group.columns, group.history, group.sensitivity, sequences, levels, share)
                known, told_by = sizes.measured_rows(group.group.table, group.group.part), sizes.told_by(group)
                task = replace(group.task, rows=known, told_by=told_by, rehearsed=rehearsal.history(group))
                task = replace(
                    task,
                    length=sizes.length(group.group.table, group.group.part),
                    children=sizes.children(group),
                    children_in_cells=sizes.children_in_cells(group),
                    doubtful=doubtful_codes(schema, group),
                    begins=beginning_columns(group.group, coded[group.group.table]),
                    near=near_columns(group, coded[group.group.table]),
                    adds_up=adding_up(group.group, group.history, coded[group.group.table]),
                )
                fitted = get_model(group.model).fit(curator, task)
                rehearsal.know(group, fitted)
                arrays[group.name] = fitted.arrays()
                capped += doubt_of_cap(schema, group, getattr(fitted, "clarity", None))
    settled = replace(settled, doubts=(*settled.doubts, *capped))
    return Release(schema, settled, output, arrays, ledger, public)


def _listener_and_log(listener: Listener | None) -> Listener:
    """Whoever listens, and the log."""

    def tell(what: str) -> None:
        LOG.info(what)
        if listener is not None:
            listener(what)

    return tell


def _unit(schema: Schema) -> str:
    return f"one row of {schema.entity_name}, with every row that belongs to it in every table"


def _refuse_peeked(plan: Plan, allowed: bool) -> None:
    if plan.peeked and not allowed:
        places = "\n".join(f"  - {place}" for place in plan.peeked)
        raise PlanError(
            f"these parts of the schema were filled in by looking at the data:\n{places}\n"
            "Review each, and remove its `peeked` mark; or fit with --unsafe-peeked, and the release is NOT PRIVATE."
        )


def _refuse_tables(schema: Schema) -> None:
    """What the sampler could not write is refused before anything is read or paid."""
    for name, table in schema.tables.items():
        if not table.ignore and not table.public:
            fillings(schema, name)
    check_fakes(schema)
