"""The till: quote, pay, release. What is charged is what was asked, and nothing else is."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from mare.domain import Axis, Marginal
from mare.errors import InternalError
from mare.privacy.answers.asking import described
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.privacy.ledger import Ledger
from mare.privacy.till import Till, described_charge, described_query
from tests.unit.privacy.listed_view import visits


def till(budget: Budget) -> Till:
    ledger = Ledger(budget, "one patient")
    return Till(ledger, SeededBits(1), None, visits(), ledger.total)


@pytest.mark.parametrize("budget", [Budget(1.0, delta=0), Budget(1.0, 1e-9)])
def test_a_quote_charges_nothing(budget: Budget) -> None:
    one = till(budget)
    first, second = one.quote(9, 0.5), one.quote(9, 0.5)
    assert first == second
    assert (one.remaining, one.ledger.charges) == (1.0, ())


def test_a_charge_for_something_else_is_a_bug() -> None:
    one = till(Budget(1.0, delta=0))
    quote = one.quote(1, 0.5)
    query = described_query(one, quote, quote.scale, "number of entities", ())
    charge = described_charge(query, 1, 0.0)
    for wrong, portion in (
        (replace(charge, what="nothing"), quote.portion),
        (replace(charge, cost=0.25), quote.portion),
        (charge, Fraction(1, 4)),
    ):
        with pytest.raises(InternalError, match="something else was to be charged"):
            one.pay(query, wrong, portion)
    assert (one.remaining, one.ledger.charges) == (1.0, ())
    one.pay(query, charge, quote.portion)
    assert (one.remaining, one.ledger.charges) == (0.5, (charge,))


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        ((), "rows"),
        ((Axis("ward"), Axis("age")), "ward × age"),
        ((Axis("ward", lag=2), Axis("age", level=1)), "ward 2 back × age at level 1"),
        ((Axis("ward", same_as_lag=1),), "ward the same 1 before"),
        ((Axis("ward", new_since=1),), "ward where it is new since 1 before"),
    ],
)
def test_cross_tabs_are_told_in_words(axes: tuple[Axis, ...], words: str) -> None:
    assert described(Marginal(axes)) == words
