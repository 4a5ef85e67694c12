"""What looking at files tells of their keys and codes (`mare init --peek-types`): an id that repeats is no key, and one of which
there are few is a code."""

from __future__ import annotations

import re
from dataclasses import replace

import pandas as pd

import mare
from mare.schema.columns import Category, Integer
from mare.schema.drafting import draft
from mare.schema.loading import load_document
from mare.schema.reflection import Peek
from tests.reflections import SIX_YEARS, drafted, reflect, table

PLAYERS = table("players", "player_id unknown?, birth_day unknown?, death_month unknown?")
CLUBS = table("clubs", "season unknown?, league_id unknown?, club_id unknown?, wins unknown?")
CONTRACTS = table(
    "contracts", "player_id unknown?, season unknown?, club_id unknown?, league_id unknown?, rank unknown?, pay unknown?"
)
ONCE, AGAIN = (Peek(kind="string", repeats=repeats) for repeats in (False, True))
NUMBER = Peek(kind="integer", repeats=True)
PEEKS = {
    ("players", "player_id"): ONCE, ("players", "birth_day"): NUMBER, ("players", "death_month"): NUMBER,
    ("clubs", "season"): NUMBER, ("clubs", "league_id"): Peek(kind="string", repeats=True, few=True), ("clubs", "club_id"): AGAIN,
    ("clubs", "wins"): NUMBER,
    ("contracts", "player_id"): AGAIN, ("contracts", "season"): NUMBER, ("contracts", "club_id"): AGAIN,
    ("contracts", "league_id"): Peek(kind="string", repeats=True, few=True), ("contracts", "rank"): NUMBER,
    ("contracts", "pay"): NUMBER,
}  # fmt: skip


def test_an_id_that_was_seen_to_repeat_is_a_key_with_what_stands_before_it_or_none() -> None:
    schema = drafted(PLAYERS, CLUBS, CONTRACTS, peeks=PEEKS, facts=SIX_YEARS)
    assert schema.tables["players"].key == ("player_id",)
    assert schema.tables["clubs"].key == ("season", "league_id", "club_id")
    alone = table("clubs", "city unknown?, club_id unknown?")
    peeks = {("clubs", "city"): AGAIN, ("clubs", "club_id"): AGAIN, **PEEKS}
    assert drafted(PLAYERS, alone, CONTRACTS, peeks=peeks, facts=SIX_YEARS).tables["clubs"].key is None


def test_what_a_table_tells_of_each_season_lists_what_others_hold_without_it() -> None:
    clubs = replace(CLUBS, columns=tuple(c for c in CLUBS.columns if c.name != "wins"))
    schema = drafted(PLAYERS, clubs, CONTRACTS, peeks=PEEKS, facts=SIX_YEARS)
    club = schema.tables["contracts"].references["club_id"]
    assert (club.kind, club.table, club.column) == ("public", "clubs", ("club_id",))
    assert schema.tables["clubs"].public
    assert schema.tables["clubs"].unique == ()
    frames = {
        "players": pd.DataFrame({"player_id": ["a", "b"], "birth_day": [1, 2], "death_month": [1, 2]}),
        "clubs": pd.DataFrame({"season": [2019, 2020] * 2, "league_id": ["x"] * 4, "club_id": ["p", "p", "q", "q"]}),
        "contracts": pd.DataFrame({"player_id": ["a", "a", "b"], "season": [2019, 2020, 2020], "club_id": ["p", "q", "z"],
                                   "league_id": ["x"] * 3, "rank": [1, 2, 3], "pay": [1, 2, 3]}),
    }  # fmt: skip
    text = re.sub("(?m)^peeked: .*$", "", draft(reflect(PLAYERS, clubs, CONTRACTS), SIX_YEARS, None, PEEKS))
    settled = mare.plan(load_document(text).schema, mare.Budget(epsilon=10, delta=1e-9))
    made = mare.sample(mare.fit(settled, frames, unsafe_seed=1), entities=200, seed=1)
    assert len(made["clubs"]) == 4
    assert set(made["contracts"].club_id.dropna()) <= {"p", "q"}


def test_an_id_of_which_there_are_few_is_a_code() -> None:
    column = drafted(PLAYERS, CLUBS, CONTRACTS, peeks=PEEKS, facts=SIX_YEARS).tables["contracts"].columns["league_id"]
    assert isinstance(column, Category)
    assert column.learn
    many = {
        place: Peek(kind="string", repeats=True) if place == ("contracts", "league_id") else peek for place, peek in PEEKS.items()
    }
    elsewhere = drafted(PLAYERS, CLUBS, CONTRACTS, peeks=many, facts=SIX_YEARS).tables["contracts"]
    assert isinstance(elsewhere.columns["league_id"], Category)
    assert elsewhere.references["club_id"].table == "clubs"


def test_a_year_orders_rows_and_a_rank_beside_it_is_a_fact() -> None:
    contracts = drafted(PLAYERS, CLUBS, CONTRACTS, peeks=PEEKS, facts=SIX_YEARS).tables["contracts"]
    assert contracts.parent is not None
    assert contracts.parent.order_by == ("season",)
    rank = contracts.columns["rank"]
    assert isinstance(rank, Integer)
    assert rank.after is None


def test_a_month_of_a_death_is_a_month() -> None:
    month = drafted(PLAYERS, CLUBS, CONTRACTS, peeks=PEEKS, facts=SIX_YEARS).tables["players"].columns["death_month"]
    assert isinstance(month, Integer)
    assert (month.min, month.max) == (1, 12)
