"""Planted bugs, kept: mistakes that a reasonable person could make, each with the leak of privacy.md that it is.

A mutant changes the product's own code while a test runs. `test_planted_bugs.py` holds each against the part of the suite
that must turn red, and `says` what the failure has to be about, so that none is caught by accident.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import mare.privacy.answers.counts as counts_module
import mare.privacy.curator as curator_module
import mare.privacy.till as till_module
from mare.errors import BudgetError
from mare.fitting.sizes import Sizes
from mare.privacy.accountant import Accountant
from mare.privacy.answers.sizes import NoisySize
from mare.privacy.bits import OsBits, SeededBits
from mare.privacy.curator import Gate
from mare.privacy.noise import Noise
from mare.privacy.till import Till
from mare.stage import Staged, StagedView, truncation
from tests.privacy import checks

fit_module = import_module("mare.fitting.fit")  # the room offers the verb `fit` under the same name

Plant = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True)
class Mutant:
    """One planted bug."""

    name: str
    leak: str
    plant: Plant
    check: Callable[[], None]
    """The part of the suite that must turn red."""
    says: str
    """What the failure says: a regular expression."""


def _no_truncation(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        truncation, "truncate_rows", lambda c, owned, target, needs: c.execute(f"CREATE TABLE {target} AS FROM {owned}")
    )


def _no_truncation_unnoticed(patch: pytest.MonkeyPatch) -> None:
    _no_truncation(patch)
    patch.setattr(StagedView, "largest_entity", lambda self: 0)


def _unstable_truncation(patch: pytest.MonkeyPatch) -> None:
    def every_third(connection: Any, owned: str, target: str, needs: object) -> None:
        spread = f"SELECT *, row_number() OVER (ORDER BY entity, h) AS n FROM {owned}"
        connection.execute(f"CREATE TABLE {target} AS SELECT * EXCLUDE (n) FROM ({spread}) WHERE n % 3 = 0")

    patch.setattr(truncation, "truncate_rows", every_third)
    patch.setattr(StagedView, "largest_entity", lambda self: 0)


def _owners_for_orphans(patch: pytest.MonkeyPatch) -> None:
    def own(connection: Any, hashed: str, parent: str, target: str, needs: Any) -> None:
        join = " AND ".join(f"r.f{i} = p.k{i}" for i in range(len(needs.foreign)))
        connection.execute(
            f"CREATE TABLE {target} AS SELECT r.*, coalesce(p.entity, 0) AS entity, coalesce(p.place, 0) AS parent "
            f"FROM {hashed} r LEFT JOIN {parent} p ON {join}"
        )

    patch.setattr(truncation, "own_rows", own)


def _per_row_sensitivity(patch: pytest.MonkeyPatch) -> None:
    original = Staged.view
    patch.setattr(Staged, "view", lambda self, *args: replace(original(self, *args), max_rows_per_entity=1))
    patch.setattr(StagedView, "largest_entity", lambda self: 0)


def _replaced_not_removed(patch: pytest.MonkeyPatch) -> None:
    original = Till.quote

    def halved(self: Till, sensitivity_squared: int, *args: Any, **named: Any) -> object:
        return original(self, max(1, sensitivity_squared // 4), *args, **named)

    patch.setattr(Till, "quote", halved)


def _public_number_of_entities(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        curator_module, "answer_entities", lambda till, _: NoisySize(till.view.entities(), "discrete laplace", 1.0, 1.0, 0.0)
    )


def _true_sizes(patch: pytest.MonkeyPatch) -> None:
    original = fit_module.measure_sizes

    def measure(gate: Any, staged: Staged, *args: Any) -> Sizes:
        noisy = original(gate, staged, *args)
        return replace(noisy, tables={name: max(1.0, float(len(table.entity))) for name, table in staged.tables.items()})

    patch.setattr(fit_module, "measure_sizes", measure)


def _true_count_in_the_ledger(patch: pytest.MonkeyPatch) -> None:
    original = fit_module.measure_sizes

    def measure(gate: Gate, staged: Staged, *args: Any) -> Sizes:
        gate.ledger.declare(f"{staged.entities} patients were read")
        return original(gate, staged, *args)

    patch.setattr(fit_module, "measure_sizes", measure)


def _published_key(patch: pytest.MonkeyPatch) -> None:
    original = Gate.secret

    def secret(self: Gate, name: str) -> bytes:
        key = original(self, name)
        self.ledger.declare(f"rows were kept in the order of a hash with the key {key.hex()}")
        return key

    patch.setattr(Gate, "secret", secret)


def _data_driven_domain(patch: pytest.MonkeyPatch) -> None:
    original = Staged.view

    def seen(self: Staged, group: Any, columns: Any, history: Any, *args: Any) -> StagedView:
        view = original(self, group, columns, history, *args)
        sizes = [int(view._codes(name).max(initial=0)) + 1 for name in view.domain]
        return replace(view, domain=type(view.domain)(view.domain.names, tuple(sizes)))

    patch.setattr(Staged, "view", seen)


def _order_of_appearance(patch: pytest.MonkeyPatch) -> None:
    original = StagedView._codes

    def numbered(self: StagedView, name: str) -> Any:
        codes = original(self, name)
        _, first, place = np.unique(codes, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[place].astype(codes.dtype)

    patch.setattr(StagedView, "_codes", numbered)


def _fan_out(patch: pytest.MonkeyPatch) -> None:
    original = Staged.view

    def joined_down(self: Staged, group: Any, *args: Any) -> StagedView:
        view = original(self, group, *args)
        if group.table != "patients":
            return view
        stays = np.bincount(self.tables["stays"].entity, minlength=self.entities)
        rows = np.repeat(np.arange(len(view.owner)), np.maximum(1, stays[view.owner]))
        columns = {name: view._codes(name)[rows] for name in view.domain}
        return replace(view, owner=view.owner[rows], columns=columns, memory=0)

    patch.setattr(Staged, "view", joined_down)
    patch.setattr(StagedView, "largest_entity", lambda self: 0)


def _unnoised_zeros(patch: pytest.MonkeyPatch) -> None:
    original = Till.release

    def release(self: Till, query: Any, exact: list[NDArray[np.int64]], draw: Any) -> Any:
        return original(self, query, exact, lambda: [np.where(c == 0, 0, n) for c, n in zip(exact, draw(), strict=True)])

    patch.setattr(Till, "release", release)


def _small_counts_cut(patch: pytest.MonkeyPatch) -> None:
    original = counts_module.checked_table

    def cut(till: Till, counts: NDArray[np.int64], *args: Any) -> NDArray[np.int64]:
        return np.where(original(till, counts, *args) < 5, 0, counts)

    patch.setattr(counts_module, "checked_table", cut)


def _halved_noise(patch: pytest.MonkeyPatch) -> None:
    original = Noise.draw
    patch.setattr(Noise, "draw", lambda self, bits: original(replace(self, scale=self.scale / 2), bits))


def _rounded_noise(patch: pytest.MonkeyPatch) -> None:
    def continuous(self: Noise, bits: Any) -> NDArray[np.int64]:
        rng = np.random.default_rng(int(bits.words(1)[0]))
        sampler = rng.laplace if self.mechanism == "discrete laplace" else rng.normal
        return np.rint(sampler(scale=self.scale, size=self.cells)).astype(np.int64)

    patch.setattr(Noise, "draw", continuous)


def _seed_kept_quiet(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SeededBits, "private", property(lambda self: True))


def _fixed_seed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(OsBits, "words", lambda self, count: SeededBits(20240229).words(count))


def _one_charge_for_many(patch: pytest.MonkeyPatch) -> None:
    original = Till.pay

    def pay(self: Till, *args: Any) -> None:
        if not self.ledger.charges:
            original(self, *args)

    patch.setattr(Till, "pay", pay)


def _overdrawn(patch: pytest.MonkeyPatch) -> None:
    charge = Accountant.charge

    def lenient(self: Accountant, *args: Any) -> None:
        with suppress(BudgetError):
            charge(self, *args)

    patch.setattr(Accountant, "charge", lenient)
    patch.setattr(till_module, "portion_of", lambda share, whole, left, where: Fraction(share) * whole)


def _charge_afterwards(patch: pytest.MonkeyPatch) -> None:
    pay, release = Till.pay, Till.release

    def later(self: Till, *payment: Any) -> None:
        self.__dict__["owed"] = payment

    def released(self: Till, *args: Any) -> Any:
        answer = release(self, *args)
        pay(self, *self.__dict__.pop("owed"))
        return answer

    patch.setattr(Till, "pay", later)
    patch.setattr(Till, "release", released)


def _clip_not_applied(patch: pytest.MonkeyPatch) -> None:
    original = counts_module.weighed

    def unclipped(till: Till, marginals: Any, limit: Any) -> object:
        weights, mass = original(till, marginals, limit)
        if limit is None or weights is None:
            return weights, mass
        return np.full_like(weights, limit.one), int(till.view.rows_per_entity().sum()) * limit.one

    patch.setattr(counts_module, "weighed", unclipped)


def _clip_after_noise(patch: pytest.MonkeyPatch) -> None:
    _clip_not_applied(patch)
    original = Till.release_dense

    def cut(self: Till, query: Any, noise: Noise, exact: Any) -> Any:
        released = original(self, query, noise, exact)
        return released if query.clip is None else [np.minimum(cells, int(query.clip * query.denominator)) for cells in released]

    patch.setattr(Till, "release_dense", cut)


def _clip_each_table(patch: pytest.MonkeyPatch) -> None:
    original = curator_module.answer_counts

    def each(till: Till, marginals: Any, share: float, clip: Any, **named: Any) -> Any:
        if clip is None:
            return original(till, marginals, share, clip, **named)
        return [answer for m in marginals for answer in original(till, [m], share / len(marginals), clip, **named)]

    patch.setattr(curator_module, "answer_counts", each)


MUTANTS = (
    Mutant(
        "no truncation",
        "The cap is declared and not enforced: an entity moves the counts by as many rows as it has (leak 3).",
        _no_truncation,
        checks.hospital_passes_the_tape,
        "the cap does not hold",
    ),
    Mutant(
        "no truncation, and the view lies about it",
        "As above, with the gate's own assertion blinded: the tape is the second line.",
        _no_truncation_unnoticed,
        checks.hospital_passes_the_tape,
        "one entity moves it by",
    ),
    Mutant(
        "unstable truncation",
        "Which rows are kept depends on other entities, so one entity moves the rows of all that follow (leak 3).",
        _unstable_truncation,
        checks.hospital_passes_the_tape,
        "one entity moves it by",
    ),
    Mutant(
        "rows without an owner are counted",
        "A row with a NULL or dangling parent belongs to nobody, and is counted without protection (leak 7).",
        _owners_for_orphans,
        checks.rows_without_an_owner_change_nothing,
        "nobody protects them",
    ),
    Mutant(
        "per-row sensitivity",
        "The noise protects one row; an entity has up to S of them (sensitivities).",
        _per_row_sensitivity,
        checks.hospital_passes_the_tape,
        "one entity moves it by",
    ),
    Mutant(
        "wrong adjacency: half the sensitivity",
        "An entity is thought to be replaced by another at the same cost on both sides; it is added or removed (the promise).",
        _replaced_not_removed,
        checks.hospital_passes_the_tape,
        "one entity moves it by",
    ),
    Mutant(
        "wrong adjacency: the number of entities is public",
        "Under replacement n never changes, so it is told without noise; under add/remove it gives each entity away (leak 1).",
        _public_number_of_entities,
        checks.hospital_passes_the_tape,
        "scale was|is not the same",
    ),
    Mutant(
        "true n in the shares",
        "The budget is split by true row counts, so every noise scale tells them (leak 1).",
        _true_sizes,
        checks.hospital_passes_the_tape,
        "scale was",
    ),
    Mutant(
        "a true count in a released file",
        "A line meant for the screen ends up in the ledger (leak 10).",
        _true_count_in_the_ledger,
        checks.hospital_passes_the_tape,
        "ledger.json of the release is not the same",
    ),
    Mutant(
        "the truncation key is published",
        "Who has the key can work out which rows were kept (leak 3).",
        _published_key,
        checks.hospital_passes_the_tape,
        "the secret key 'truncation' of the fit stands in ledger.json",
    ),
    Mutant(
        "data-driven domain",
        "The categories are those that occur: one with a single patient comes and goes with that patient (leak 2).",
        _data_driven_domain,
        checks.hospital_passes_the_tape,
        "the answer was shaped",
    ),
    Mutant(
        "cells in the order of appearance",
        "Codes are numbered as they are met in the data, so the order of the cells tells who came first (leak 4).",
        _order_of_appearance,
        checks.hospital_passes_the_tape,
        "one entity moves it by",
    ),
    Mutant(
        "fan-out",
        "A patient's own columns are counted once per stay, with the patient's cap of one row (sensitivities).",
        _fan_out,
        checks.hospital_passes_the_tape,
        "one entity moves it by",
    ),
    Mutant(
        "cells at zero get no noise",
        "A zero that is surely zero tells that nobody is there (leak 4).",
        _unnoised_zeros,
        checks.empty_cells_get_noise,
        "cells at zero",
    ),
    Mutant(
        "cells at zero get no noise, seen by the canary",
        "The same bug from the outside: the releases themselves tell the canary better than was claimed.",
        _unnoised_zeros,
        checks.one_count_passes_the_canary,
        "THE NOISE IS TOO SMALL",
    ),
    Mutant(
        "small true counts are cut before the noise",
        "The one entity that lifts a cell over the cut moves it by the whole cut (leak 4).",
        _small_counts_cut,
        checks.hospital_passes_the_tape,
        "one entity moves it by",
    ),
    Mutant(
        "halved noise",
        "The noise is drawn at half the scale that the ledger reports.",
        _halved_noise,
        checks.sessions_pass_the_canary,
        "THE NOISE IS TOO SMALL",
    ),
    Mutant(
        "halved noise, one count",
        "The same for one count under each budget, pure ε too: the event-based bound.",
        _halved_noise,
        checks.one_count_passes_the_canary,
        "THE NOISE IS TOO SMALL",
    ),
    Mutant(
        "floating-point noise, rounded",
        "Continuous noise rounded to integers is another distribution than the one that was accounted for (leak 6).",
        _rounded_noise,
        checks.draws_follow_their_distribution,
        "not drawn from its distribution",
    ),
    Mutant(
        "seeded noise presented as private",
        "Who knows the seed takes the noise off; the release does not say that there is one (leak 5).",
        _seed_kept_quiet,
        checks.a_seeded_release_says_so,
        "seeded noise was released as PRIVATE",
    ),
    Mutant(
        "a fixed seed in the product",
        "Every fit draws the same noise: two releases, or the source code, take it off (leak 5).",
        _fixed_seed,
        checks.two_fits_draw_their_own_noise,
        "two fits have",
    ),
    Mutant(
        "double use of one charge",
        "The first answer is paid for, the others ride on its payment (one gate).",
        _one_charge_for_many,
        checks.sessions_pass_the_tape,
        "charges stand in the ledger",
    ),
    Mutant(
        "a budget that is spent again",
        "Nobody asks whether the answer can still be paid for, so the budget never runs out (one gate).",
        _overdrawn,
        checks.what_is_spent_is_gone,
        "DID NOT RAISE",
    ),
    Mutant(
        "charge after the answer",
        "What breaks down, or is refused, between answer and charge was seen for nothing (one gate).",
        _charge_afterwards,
        checks.a_breakdown_has_been_paid_for,
        "before it was paid for",
    ),
    Mutant(
        "the clip is not applied",
        "The noise follows C; the entities still add all their rows (sensitivities).",
        _clip_not_applied,
        checks.sessions_pass_the_tape,
        "one entity moves it by",
    ),
    Mutant(
        "the clip is applied after the noise",
        "Cutting what is released does not bound what an entity adds to it (sensitivities).",
        _clip_after_noise,
        checks.sessions_pass_the_tape,
        "one entity moves it by",
    ),
    Mutant(
        "each table has a clip factor of its own",
        "Tables that are raked together must estimate one distribution; with .90 in one and .75 in the other they do not.",
        _clip_each_table,
        checks.clipped_tables_agree,
        r"P\(A = 1\) is 0.75 in one table, 0.90 in the other",
    ),
)
