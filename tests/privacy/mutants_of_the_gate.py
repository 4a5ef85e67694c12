"""Planted bugs in the gate: noise, price and payment of every answer."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import mare.privacy.answers.counts as counts_module
import mare.privacy.till as till_module
from mare.errors import BudgetError
from mare.privacy.accountant import Accountant
from mare.privacy.bits import OsBits, SeededBits
from mare.privacy.noise import Noise
from mare.privacy.till import Till
from tests.privacy import checks
from tests.privacy.planting import planted


@planted("wrong adjacency: half the sensitivity", checks.hospital_passes_the_tape, "one entity moves it by")
def replaced_not_removed(patch: pytest.MonkeyPatch) -> None:
    """An entity is thought to be replaced by another at the same cost on both sides; it is added or removed (the promise)."""
    original = Till.quote

    def halved(self: Till, sensitivity_squared: int, *args: Any, **named: Any) -> object:
        return original(self, max(1, sensitivity_squared // 4), *args, **named)

    patch.setattr(Till, "quote", halved)


@planted("cells at zero get no noise", checks.empty_cells_get_noise, "cells at zero")
@planted("cells at zero get no noise, seen by the canary", checks.one_count_passes_the_canary, "THE NOISE IS TOO SMALL")
def unnoised_zeros(patch: pytest.MonkeyPatch) -> None:
    """A zero that is surely zero tells that nobody is there (leak 4)."""
    original = Till.release

    def release(self: Till, query: Any, exact: list[NDArray[np.int64]], draw: Any) -> Any:
        return original(self, query, exact, lambda: [np.where(c == 0, 0, n) for c, n in zip(exact, draw(), strict=True)])

    patch.setattr(Till, "release", release)


@planted("small true counts are cut before the noise", checks.hospital_passes_the_tape, "one entity moves it by")
def small_counts_cut(patch: pytest.MonkeyPatch) -> None:
    """The one entity that lifts a cell over the cut moves it by the whole cut (leak 4)."""
    original = counts_module.checked_table

    def cut(till: Till, counts: NDArray[np.int64], *args: Any) -> NDArray[np.int64]:
        return np.where(original(till, counts, *args) < 5, 0, counts)

    patch.setattr(counts_module, "checked_table", cut)


@planted("halved noise", checks.sessions_pass_the_canary, "THE NOISE IS TOO SMALL")
@planted("halved noise, one count", checks.one_count_passes_the_canary, "THE NOISE IS TOO SMALL")
def halved_noise(patch: pytest.MonkeyPatch) -> None:
    """The noise is drawn at half the scale that the ledger reports."""
    original = Noise.draw
    patch.setattr(Noise, "draw", lambda self, bits: original(replace(self, scale=self.scale / 2), bits))


@planted("floating-point noise, rounded", checks.draws_follow_their_distribution, "not drawn from its distribution")
def rounded_noise(patch: pytest.MonkeyPatch) -> None:
    """Continuous noise rounded to integers is another distribution than the one that was accounted for (leak 6)."""

    def continuous(self: Noise, bits: Any) -> NDArray[np.int64]:
        rng = np.random.default_rng(int(bits.words(1)[0]))
        sampler = rng.laplace if self.mechanism == "discrete laplace" else rng.normal
        return np.rint(sampler(scale=self.scale, size=self.cells)).astype(np.int64)

    patch.setattr(Noise, "draw", continuous)


@planted("seeded noise presented as private", checks.a_seeded_release_says_so, "seeded noise was released as PRIVATE")
def seed_kept_quiet(patch: pytest.MonkeyPatch) -> None:
    """Who knows the seed takes the noise off; the release does not say that there is one (leak 5)."""
    patch.setattr(SeededBits, "private", property(lambda self: True))


@planted("a fixed seed in the product", checks.two_fits_draw_their_own_noise, "two fits have")
def fixed_seed(patch: pytest.MonkeyPatch) -> None:
    """Every fit draws the same noise: two releases, or the source code, take it off (leak 5)."""
    patch.setattr(OsBits, "words", lambda self, count: SeededBits(20240229).words(count))


@planted("double use of one charge", checks.sessions_pass_the_tape, "charges are in the ledger")
def one_charge_for_many(patch: pytest.MonkeyPatch) -> None:
    """The first answer is paid for, the others ride on its payment (one gate)."""
    original = Till.pay

    def pay(self: Till, *args: Any) -> None:
        if not self.ledger.charges:
            original(self, *args)

    patch.setattr(Till, "pay", pay)


@planted("a budget that is spent again", checks.what_is_spent_is_gone, "DID NOT RAISE")
def overdrawn(patch: pytest.MonkeyPatch) -> None:
    """Nobody asks whether the answer can still be paid for, so the budget never runs out (one gate)."""
    charge = Accountant.charge

    def lenient(self: Accountant, *args: Any) -> None:
        with suppress(BudgetError):
            charge(self, *args)

    patch.setattr(Accountant, "charge", lenient)
    patch.setattr(till_module, "portion_of", lambda share, whole, left, where: Fraction(share) * whole)


@planted("charge after the answer", checks.a_breakdown_has_been_paid_for, "before it was paid for")
def charge_afterwards(patch: pytest.MonkeyPatch) -> None:
    """What breaks down, or is refused, between answer and charge was seen for nothing (one gate)."""
    pay, release = Till.pay, Till.release

    def later(self: Till, *payment: Any) -> None:
        self.__dict__["owed"] = payment

    def released(self: Till, *args: Any) -> Any:
        answer = release(self, *args)
        pay(self, *self.__dict__.pop("owed"))
        return answer

    patch.setattr(Till, "pay", later)
    patch.setattr(Till, "release", released)
