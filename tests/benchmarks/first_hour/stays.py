"""Worlds of people who come again and again: a hotel's guests, a library's members, a gym's."""

from __future__ import annotations

from datetime import date

import numpy as np
from numpy.random import Generator

from .world import COUNTRIES, FIRST, LAST, Tables, World, at, clipped, days, later, names, numbered, partly, rows, zipf

_HOTEL = """
CREATE TABLE hotels(hotel_id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL, stars INTEGER NOT NULL);
CREATE TABLE room_types(room_type_code CHAR(3) PRIMARY KEY, description VARCHAR(30) NOT NULL, base_price DECIMAL(8,2) NOT NULL);
CREATE TABLE rooms(room_id INTEGER PRIMARY KEY, hotel_id INTEGER NOT NULL REFERENCES hotels,
  room_type_code CHAR(3) NOT NULL REFERENCES room_types, floor SMALLINT NOT NULL);
CREATE TABLE guests(guest_id INTEGER PRIMARY KEY, first_name VARCHAR(40) NOT NULL, last_name VARCHAR(40) NOT NULL,
  email VARCHAR(80) NOT NULL UNIQUE, phone VARCHAR(20), date_of_birth DATE NOT NULL, country CHAR(2) NOT NULL,
  postcode VARCHAR(10) NOT NULL, vip CHAR(1) NOT NULL, loyalty_level VARCHAR(10), newsletter BOOLEAN NOT NULL,
  registered_on DATE NOT NULL, currency CHAR(3) NOT NULL);
CREATE TABLE bookings(booking_id INTEGER PRIMARY KEY, guest_id INTEGER NOT NULL REFERENCES guests,
  room_id INTEGER NOT NULL REFERENCES rooms, booked_at TIMESTAMP NOT NULL, check_in DATE NOT NULL, check_out DATE NOT NULL,
  nights SMALLINT NOT NULL, adults SMALLINT NOT NULL, children SMALLINT NOT NULL, rate DECIMAL(8,2) NOT NULL,
  total_amount DECIMAL(10,2) NOT NULL, status VARCHAR(12) NOT NULL, channel VARCHAR(20) NOT NULL, cancel_reason VARCHAR(40),
  discount DECIMAL(4,2) NOT NULL, breakfast SMALLINT NOT NULL);
CREATE TABLE payments(payment_id INTEGER PRIMARY KEY, booking_id INTEGER NOT NULL REFERENCES bookings, paid_on DATE NOT NULL,
  amount DECIMAL(10,2) NOT NULL, method VARCHAR(10) NOT NULL, transaction_ref VARCHAR(20) NOT NULL);
CREATE TABLE reviews(booking_id INTEGER PRIMARY KEY REFERENCES bookings, rating SMALLINT NOT NULL, review_date DATE NOT NULL,
  comment TEXT);
"""


def _hotel(fixed: Generator, rng: Generator) -> Tables:
    n, end = 2500, date(2023, 12, 31)
    hotels = rows(
        range(1, 13),
        [f"Hotel {x}" for x in "ABCDEFGHIJKL"],
        fixed.choice(["Berlin", "Wien", "Prag"], 12),
        fixed.integers(2, 6, 12),
    )
    words = ["Single", "Double", "Twin", "Suite", "Family"]
    codes, price = ["SGL", "DBL", "TWN", "STE", "FAM"], [69.0, 99.0, 95.0, 219.0, 139.0]
    kinds = fixed.integers(0, 5, 360)
    rooms = [(h * 100 + i, h, codes[kinds[30 * h - 30 + i]], 1 + i // 5) for h in range(1, 13) for i in range(30)]
    age = rng.gamma(9, 5, n).clip(18, 90)
    guests = rows(
        range(1, n + 1),
        rng.choice(FIRST, n),
        rng.choice(LAST, n),
        [f"g{i}@mail.test" for i in range(n)],
        partly(rng, numbered(rng, n, 10**6, 9 * 10**6, "+49 30 {}"), 0.7),
        days("2023-01-01", -age * 365.25),
        [COUNTRIES[i] for i in zipf(rng, n, 48)],
        numbered(rng, n, 1000, 1400, "{}0"),
        np.where(rng.random(n) < 0.05 + 0.1 * (age > 55), "Y", "N"),
        partly(rng, rng.choice(["Bronze", "Silver", "Gold"], n, p=[0.6, 0.3, 0.1]), 0.4),
        rng.random(n) < 0.4,
        days("2019-01-01", rng.integers(0, 1400, n)),
        "EUR",
    )
    bookings: Tables = {"bookings": [], "payments": [], "reviews": []}
    booked, paid, reviewed = bookings.values()
    for guest in guests:
        number, vip, booking_day = guest[0], guest[8] == "Y", guest[11]
        for _ in range(min(rng.geometric(0.2 if vip else 0.45), 25)):
            booking_day = later(booking_day, rng.gamma(1.5, 60))
            arrival, nights = later(booking_day, rng.gamma(1.2, 25)), 1 + rng.poisson(1.8)
            departure = later(arrival, nights)
            if departure > end:
                break
            room = rng.integers(0, 360)
            rate = round(price[kinds[room]] * rng.lognormal(0, 0.15) * (0.9 if vip else 1), 2)
            cancelled, key = rng.random() < 0.12, len(booked) + 1
            channel = rng.choice(["web", "phone", "agency", "walk-in", "portal"], p=[0.4, 0.1, 0.15, 0.05, 0.3])
            when, guests_of_it = at(booking_day, rng.integers(0, 1440)), rng.choice([1, 2, 3, 4], p=[0.4, 0.45, 0.1, 0.05])
            stay = (when, arrival, departure, nights, guests_of_it, rng.poisson(0.3), rate, round(rate * nights, 2))
            why = rng.choice(["changed plans", "illness"]) if cancelled else None
            ended = ("cancelled" if cancelled else "completed", channel, why)
            booked.append(
                (key, number, rooms[room][0], *stay, *ended, rng.choice([0, 0, 0, 0.05, 0.1, 0.15]), rng.random() < 0.3)
            )
            if cancelled:
                continue
            method = rng.choice(["card", "cash", "invoice"], p=[0.7, 0.1, 0.2])
            paid.append((len(paid) + 1, key, departure, round(rate * nights, 2), method, f"TX{rng.integers(10**8, 9 * 10**8)}"))
            if rng.random() < 0.15:
                extra = round(rng.gamma(2, 15), 2)
                paid.append((len(paid) + 1, key, departure, extra, "card", f"TX{rng.integers(10**8, 9 * 10**8)}"))
            if rng.random() < 0.35:
                rating = int(clipped(rng.normal(4, 1), 1, 5))
                reviewed.append((key, rating, later(departure, rng.integers(0, 14)), "nice" if rng.random() < 0.5 else None))
    return {"hotels": hotels, "room_types": rows(codes, words, price), "rooms": rooms, "guests": guests, **bookings}


_LIBRARY = """
books: isbn, title, author, genre, published_year, pages, price
branches: branch_id, branch_name, opened
members: member_id, name, birth_year, membership_type, joined, home_branch, plz, active, balance, fax
loans: loan_id, member_id, isbn, branch_id, loan_date, due_date, return_date, renewals, channel
fines: loan_id, amount, paid, fine_date
"""


def _library(fixed: Generator, rng: Generator) -> Tables:
    n, last = 1200, date(2023, 11, 30)
    books = rows(
        numbered(fixed, 600, 10**9, 10**10, "978{}"),
        [f"Book {i}" for i in range(600)],
        names(fixed, 600),
        fixed.choice(["novel", "crime", "science", "children", "history", "travel"], 600),
        fixed.integers(1950, 2015, 600),
        fixed.normal(320, 110, 600).clip(40, 900).astype(int),
        fixed.lognormal(2.8, 0.4, 600).round(2),
    )
    opened = ["1965-03-01", "1978-05-12", "1990-01-15", "2005-09-01"]
    kind = rng.choice(["adult", "child", "student", "senior"], n, p=[0.5, 0.2, 0.2, 0.1])
    lowest = {"adult": 1958, "child": 2008, "student": 1990, "senior": 1935}
    members = rows(
        [f"M{i:06d}" for i in range(n)],
        names(rng, n),
        [lowest[k] + g for k, g in zip(kind, rng.integers(0, 10, n), strict=True)],
        kind,
        days("2015-01-01", rng.integers(0, 2800, n)),
        rng.integers(1, 5, n),
        numbered(rng, n, 1000, 1300, "0{}"),
        rng.choice(["ja", "nein"], n, p=[0.8, 0.2]),
        np.where(rng.random(n) < 0.8, 0.0, rng.gamma(1, 6, n).round(2)),
        None,
    )
    lent: Tables = {"loans": [], "fines": []}
    loans, fines = lent.values()
    for member in members:
        day = member[4]
        for _ in range(rng.geometric(0.12)):
            day = later(day, rng.gamma(1, 40))
            if day > last:
                break
            due, returned, lost = later(day, 28), later(day, rng.gamma(4, 6)), rng.random() < 0.04
            branch = member[5] if rng.random() < 0.85 else rng.integers(1, 5)
            channel = "desk" if rng.random() < 0.4 else "self-service"
            book, key = books[zipf(rng, 1, 600, 0.6)[0]][0], len(loans) + 1
            loans.append((key, member[0], book, branch, day, due, None if lost else returned, rng.poisson(0.3), channel))
            if returned > due and not lost:
                fines.append((key, 0.25 * (returned - due).days, "Y" if rng.random() < 0.9 else "N", returned))
    return {
        "books": books,
        "branches": rows(range(1, 5), ["Central", "North", "South", "Harbour"], opened),
        "members": members,
        **lent,
    }


_GYM = """
CREATE TABLE Plans(PlanID INTEGER PRIMARY KEY, PlanName TEXT, MonthlyFee REAL);
CREATE TABLE Clubs(ClubID INTEGER PRIMARY KEY, ClubName TEXT, City TEXT, OpenedOn DATE);
CREATE TABLE Trainers(TrainerID INTEGER PRIMARY KEY, Name TEXT, Speciality TEXT, HourlyRate REAL);
CREATE TABLE Members(MemberID INTEGER PRIMARY KEY, FullName TEXT, Gender TEXT, DateOfBirth DATE, JoinDate DATE,
  PlanID INTEGER REFERENCES Plans, HomeClubID INTEGER REFERENCES Clubs, IsActive INTEGER, HeightCm INTEGER, WeightKg REAL,
  BodyFatPct REAL, ReferralSource TEXT, IBAN TEXT, Points INTEGER);
CREATE TABLE Visits(VisitID INTEGER PRIMARY KEY, MemberID INTEGER REFERENCES Members, ClubID INTEGER REFERENCES Clubs,
  CheckIn DATETIME, CheckOut DATETIME, Area TEXT);
CREATE TABLE Sessions(SessionID INTEGER PRIMARY KEY, MemberID INTEGER REFERENCES Members,
  TrainerID INTEGER REFERENCES Trainers, SessionDate DATE, Status TEXT, Price REAL, Rating INTEGER);
"""


def _gym(fixed: Generator, rng: Generator) -> Tables:
    n, end = 1800, date(2022, 12, 31)
    plans = rows(range(1, 5), ["Basic", "Plus", "Premium", "Student"], [19.9, 29.9, 49.9, 14.9])
    places = fixed.choice(["Lyon", "Paris", "Nice"], 8)
    clubs = rows(range(1, 9), [f"Club {i}" for i in range(8)], places, days("2005-01-01", fixed.integers(0, 4000, 8)))
    taught = fixed.choice(["Yoga", "Spinning", "Boxing", "Pilates"], 30)
    trainers = rows(range(1, 31), names(fixed, 30), taught, fixed.uniform(20, 60, 30).round(2))
    members = rows(
        range(5000, 5000 + n),
        names(rng, n),
        rng.choice(["Male", "Female", "Other"], n, p=[0.48, 0.5, 0.02]),
        days("2023-01-01", -rng.gamma(12, 3, n).clip(16, 85) * 365.25),
        days("2020-01-01", rng.integers(0, 1000, n)),
        rng.choice([1, 2, 3, 4], n, p=[0.4, 0.3, 0.15, 0.15]),
        rng.integers(1, 9, n),
        (rng.random(n) < 0.8).astype(int),
        rng.normal(172, 9, n).astype(int),
        rng.normal(76, 14, n).round(1),
        partly(rng, rng.normal(24, 7, n).clip(5, 50).round(1), 0.7),
        partly(rng, rng.choice(["Friend", "Ad", "Web", "Walk-in", "Company"], n), 0.8),
        numbered(rng, n, 10**12, 10**13, "FR76{}"),
        (rng.pareto(2, n) * 100).astype(int),
    )
    visits, sessions = [], []
    for member in members:
        day = later(member[4], rng.integers(0, 10))
        for _ in range(rng.poisson(12 if member[7] else 5)):
            day = later(day, rng.gamma(1, 6) + 1)
            if day > end:
                break
            enter = min(rng.choice([420, 1080], p=[0.3, 0.7]) + rng.normal(0, 60), 1320)
            leave, club = enter + 5 + rng.gamma(6, 12), member[6] if rng.random() < 0.9 else rng.integers(1, 9)
            area = rng.choice(["Cardio", "Weights", "Class", "Pool"], p=[0.3, 0.4, 0.2, 0.1])
            visits.append((len(visits) + 1, member[0], club, at(day, enter), at(day, min(leave, 1439)), area))
            if rng.random() < 0.15:
                status = rng.choice(["attended", "no-show", "cancelled"], p=[0.8, 0.08, 0.12])
                rating = rng.integers(1, 6) if rng.random() < 0.4 else None
                sessions.append(
                    (len(sessions) + 1, member[0], rng.integers(1, 31), day, status, rng.choice([25, 35, 45]), rating)
                )
    return {"Plans": plans, "Clubs": clubs, "Trainers": trainers, "Members": members, "Visits": visits, "Sessions": sessions}


HOTEL = World("hotel", "sqlite", _HOTEL, ("2019-01-01", "2023-12-31"), 2500, _hotel)
LIBRARY = World("library", "folder", _LIBRARY, ("2015-01-01", "2023-12-31"), 1200, _library)
GYM = World("gym", "sqlite", _GYM, ("2020-01-01", "2022-12-31"), 1800, _gym)
