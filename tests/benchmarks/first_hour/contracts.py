"""Worlds of customers and their contracts: a shop, an insurance, loans in German, one wide file of a telecom."""

from __future__ import annotations

import string
from datetime import date

import numpy as np
from numpy.random import Generator

from .world import FIRST, LAST, Tables, World, at, clipped, days, later, names, numbered, partly, rows, zipf

_SHOP = """
CREATE TABLE Categories(CategoryID INTEGER PRIMARY KEY, CategoryName TEXT, Description TEXT);
CREATE TABLE Suppliers(SupplierID INTEGER PRIMARY KEY, CompanyName TEXT NOT NULL, Country TEXT);
CREATE TABLE Products(ProductID INTEGER PRIMARY KEY, ProductName TEXT NOT NULL, SupplierID INTEGER REFERENCES Suppliers,
  CategoryID INTEGER REFERENCES Categories, QuantityPerUnit TEXT, UnitPrice NUMERIC DEFAULT 0, Discontinued TEXT NOT NULL);
CREATE TABLE Employees(EmployeeID INTEGER PRIMARY KEY, LastName TEXT, FirstName TEXT, Title TEXT, BirthDate DATE, HireDate DATE,
  ReportsTo INTEGER REFERENCES Employees);
CREATE TABLE Shippers(ShipperID INTEGER PRIMARY KEY, CompanyName TEXT NOT NULL, Phone TEXT);
CREATE TABLE Customers(CustomerID TEXT PRIMARY KEY, CompanyName TEXT, ContactName TEXT, ContactTitle TEXT, Address TEXT,
  City TEXT, Region TEXT, PostalCode TEXT, Country TEXT, Phone TEXT, Fax TEXT);
CREATE TABLE Orders(OrderID INTEGER PRIMARY KEY NOT NULL, CustomerID TEXT REFERENCES Customers,
  EmployeeID INTEGER REFERENCES Employees, OrderDate DATETIME, RequiredDate DATETIME, ShippedDate DATETIME,
  ShipVia INTEGER REFERENCES Shippers, Freight NUMERIC DEFAULT 0, ShipName TEXT, ShipAddress TEXT, ShipCity TEXT,
  ShipRegion TEXT, ShipPostalCode TEXT, ShipCountry TEXT);
CREATE TABLE "Order Details"(OrderID INTEGER NOT NULL REFERENCES Orders, ProductID INTEGER NOT NULL REFERENCES Products,
  UnitPrice NUMERIC NOT NULL DEFAULT 0, Quantity INTEGER NOT NULL DEFAULT 1, Discount REAL NOT NULL DEFAULT 0,
  PRIMARY KEY(OrderID, ProductID));
"""
_NATIONS = ["USA", "Germany", "France", "Brazil", "UK", "Mexico", "Spain", "Venezuela", "Italy", "Canada", "Argentina", "Austria"]
_JOBS = ["Owner", "Sales Manager", "Accounting Manager", "Marketing Assistant", "Sales Representative"]


def _shop(fixed: Generator, rng: Generator) -> Tables:
    n, first, end = 200, date(1996, 7, 4), date(1998, 5, 6)
    sold = ["Beverages", "Condiments", "Confections", "Dairy", "Grains", "Meat", "Produce", "Seafood"]
    price = fixed.lognormal(3, 0.7, 77).round(2)
    made = fixed.integers(1, 30, 77), fixed.integers(1, 9, 77), "10 boxes", price, (fixed.random(77) < 0.1).astype(int)
    titles, born = fixed.choice(["Sales Rep", "Manager"], 9), days("1955-01-01", fixed.integers(0, 7000, 9))
    hired, above = days("1992-04-01", fixed.integers(0, 900, 9)), [None, 1, 1, 1, 1, 5, 5, 5, 5]
    staff = rows(range(1, 10), fixed.choice(LAST, 9), fixed.choice(FIRST, 9), titles, born, hired, above)
    nation = [_NATIONS[i] for i in zipf(rng, n, 12, 0.8)]
    customers = rows(
        ["".join(rng.choice(list(string.ascii_uppercase), 5)) for _ in range(n)],
        [f"Company {i}" for i in range(n)],
        names(rng, n),
        rng.choice(_JOBS, n),
        [f"Street {i}" for i in range(n)],
        [f"{c[:3]}-{k}" for c, k in zip(nation, rng.integers(0, 6, n), strict=True)],
        partly(rng, rng.choice(["SP", "WA", "BC", "OR", "RJ"], n), 0.35),
        numbered(rng, n, 10000, 99999),
        nation,
        numbered(rng, n, 100, 999, "({}) 555"),
        partly(rng, numbered(rng, n, 100, 999, "({}) 556"), 0.7),
    )
    orders, lines = [], []
    for customer in customers:
        day = later(first, rng.integers(0, 300))
        for _ in range(1 + rng.geometric(0.12)):
            if day > end:
                break
            key, shipped = 10248 + len(orders), later(day, rng.gamma(3, 3))
            sent = (at(day, 0), at(later(day, 28), 0), at(shipped, 0) if shipped <= end else None)
            freight = round(rng.lognormal(3.6, 1.1), 2)
            whither = (customer[1], customer[4], customer[5], customer[6], customer[7], customer[8])
            orders.append((key, customer[0], rng.integers(1, 10), *sent, rng.integers(1, 4), freight, *whither))
            for product in rng.choice(77, rng.integers(1, 5), replace=False):
                off = rng.choice([0, 0, 0, 0.05, 0.1, 0.15, 0.2, 0.25])
                lines.append((key, product + 1, price[product], int(rng.gamma(2, 12) + 1), off))
            day = later(day, rng.gamma(1.2, 45))
    return {
        "Categories": rows(range(1, 9), sold, "x"),
        "Suppliers": rows(range(1, 30), [f"Supplier {i}" for i in range(1, 30)], fixed.choice(["UK", "USA", "Japan"], 29)),
        "Products": rows(range(1, 78), [f"Product {i}" for i in range(1, 78)], *made),
        "Employees": staff,
        "Shippers": rows(range(1, 4), ["Speedy", "United", "Federal"], ["1", "2", "3"]),
        "Customers": customers,
        "Orders": orders,
        "Order Details": lines,
    }


_INSURANCE = """
CREATE TABLE products(product_code varchar(3) PRIMARY KEY, product_name varchar(40) NOT NULL, risk_class smallint NOT NULL);
CREATE TABLE agents(agent_id integer PRIMARY KEY, agent_name varchar(80) NOT NULL, region varchar(10) NOT NULL,
  commission_pct numeric(4,2) NOT NULL);
CREATE TABLE customers(customer_id integer PRIMARY KEY, salutation varchar(5) NOT NULL, full_name varchar(80) NOT NULL,
  birth_date date NOT NULL, gender char(1) NOT NULL, marital_status varchar(12) NOT NULL, occupation varchar(40) NOT NULL,
  annual_income numeric(12,2), smoker char(1) NOT NULL, postal_code varchar(8) NOT NULL, city varchar(40) NOT NULL,
  credit_score integer NOT NULL, created_at timestamp NOT NULL, email_opt_in boolean NOT NULL);
CREATE TABLE policies(policy_id integer PRIMARY KEY, policy_number varchar(12) NOT NULL UNIQUE,
  customer_id integer NOT NULL REFERENCES customers, product_code varchar(3) NOT NULL REFERENCES products,
  agent_id integer NOT NULL REFERENCES agents, start_date date NOT NULL, end_date date, annual_premium numeric(10,2) NOT NULL,
  sum_insured integer NOT NULL, payment_frequency varchar(10) NOT NULL, deductible integer NOT NULL,
  status varchar(10) NOT NULL, auto_renew boolean NOT NULL);
CREATE TABLE claims(claim_id integer PRIMARY KEY, policy_id integer NOT NULL REFERENCES policies, incident_date date NOT NULL,
  reported_date date NOT NULL, decision_date date, cause_code varchar(10) NOT NULL, estimated_amount numeric(12,2) NOT NULL,
  paid_amount numeric(12,2), status varchar(10) NOT NULL, fraud_suspected boolean NOT NULL, description text);
CREATE TABLE claim_payments(payment_id integer PRIMARY KEY, claim_id integer NOT NULL REFERENCES claims,
  payment_date date NOT NULL, amount numeric(12,2) NOT NULL, method varchar(10) NOT NULL);
"""


def _insurance(fixed: Generator, rng: Generator) -> Tables:
    n, last, end = 3000, date(2023, 6, 30), date(2023, 12, 31)
    codes, risk = ["MOT", "HOM", "LIA", "TRV", "LIF", "PET"], [3, 2, 1, 1, 2, 2]
    products = rows(codes, ["Motor", "Home", "Liability", "Travel", "Life", "Pet"], risk)
    regions = fixed.choice(["North", "South", "East", "West"], 40)
    agents = rows(range(1, 41), names(fixed, 40), regions, fixed.uniform(3, 9, 40).round(2))
    age = rng.normal(45, 14, n).clip(18, 92)
    customers = rows(
        range(1000, 1000 + n),
        rng.choice(["Mr", "Mrs", "Dr"], n, p=[0.5, 0.45, 0.05]),
        names(rng, n),
        days("2024-01-01", -age * 365.25),
        rng.choice(["M", "F", "X"], n, p=[0.49, 0.5, 0.01]),
        rng.choice(["single", "married", "divorced", "widowed"], n, p=[0.35, 0.45, 0.15, 0.05]),
        [f"Occ{i:03d}" for i in zipf(rng, n, 500, 1.0)],
        partly(rng, (rng.lognormal(10.3, 0.45, n) * (1 + (age - 45) * 0.004)).round(2), 0.8),
        rng.choice(["Y", "N"], n, p=[0.2, 0.8]),
        numbered(rng, n, 1000, 9999),
        [f"City{i}" for i in zipf(rng, n, 50)],
        rng.normal(640, 80, n).clip(300, 850).astype(int),
        [at(day, rng.integers(0, 1440)) for day in days("2018-01-01", rng.integers(0, 1500, n))],
        rng.random(n) < 0.5,
    )
    policies, claims, payments = [], [], []
    for customer in customers:
        for _ in range(1 + rng.poisson(0.8)):
            kind, start = rng.choice(6, p=[0.35, 0.25, 0.15, 0.1, 0.1, 0.05]), later(customer[12].date(), rng.integers(0, 400))
            start = min(start, last)
            finish = later(start, 365) if rng.random() < 0.7 else None
            live = finish is None or finish > end
            status = "active" if live else rng.choice(["expired", "cancelled"], p=[0.85, 0.15])
            policy, premium = len(policies) + 1, round(rng.lognormal(5.5 + 0.2 * risk[kind], 0.4), 2)
            deductible, insured = rng.choice([0, 150, 300, 500, 1000]), rng.choice([10, 25, 50, 100, 250, 500]) * 1000
            paid_each = rng.choice(["monthly", "quarterly", "yearly"], p=[0.6, 0.15, 0.25])
            terms = (premium, insured, paid_each, deductible, status, rng.random() < 0.3)
            policies.append(
                (policy, f"P-{10**7 + 7919 * policy}", customer[0], codes[kind], rng.integers(1, 41), start, finish, *terms)
            )
            for _ in range(rng.poisson(0.175 * risk[kind] * (1.5 if customer[8] == "Y" else 1))):
                happened = min(later(start, rng.integers(0, 360)), date(2023, 12, 20))
                told = min(later(happened, rng.gamma(1, 6)), date(2023, 12, 30))
                estimate, found = round(rng.lognormal(7, 1.1), 2), rng.choice(["paid", "rejected", "open"], p=[0.65, 0.2, 0.15])
                decided = None if found == "open" else min(later(told, rng.gamma(2, 12)), end)
                paid = round(estimate * rng.uniform(0.5, 1), 2) if found == "paid" else None
                claim, cause = len(claims) + 1, f"CAUSE{zipf(rng, 1, 45)[0]:02d}"
                text = f"text of the claim {claim}" if rng.random() < 0.5 else None
                claims.append((claim, policy, happened, told, decided, cause, estimate, paid, found, rng.random() < 0.03, text))
                for _ in range((found == "paid") * (1 + (rng.random() < 0.2))):
                    method = rng.choice(["transfer", "cheque"], p=[0.9, 0.1])
                    payments.append((len(payments) + 1, claim, decided, round(estimate / 2, 2), method))
    below = {"policies": policies, "claims": claims, "claim_payments": payments}
    return {"products": products, "agents": agents, "customers": customers, **below}


_LOANS = """
CREATE TABLE kunden(kundennummer INTEGER PRIMARY KEY, anrede TEXT NOT NULL, nachname TEXT NOT NULL, geburtsdatum TEXT NOT NULL,
  familienstand TEXT NOT NULL, plz TEXT NOT NULL, beruf TEXT NOT NULL, nettoeinkommen REAL NOT NULL, schufa_score REAL NOT NULL,
  eigentum TEXT NOT NULL, kunde_seit TEXT NOT NULL);
CREATE TABLE kredite(kredit_id INTEGER PRIMARY KEY, kundennummer INTEGER NOT NULL REFERENCES kunden, betrag INTEGER NOT NULL,
  zinssatz REAL NOT NULL, laufzeit_monate INTEGER NOT NULL, monatsrate REAL NOT NULL, auszahlung TEXT NOT NULL,
  faelligkeit TEXT NOT NULL, verwendungszweck TEXT NOT NULL, status TEXT NOT NULL, waehrung TEXT NOT NULL);
CREATE TABLE raten(kredit_id INTEGER NOT NULL REFERENCES kredite, rate_nr INTEGER NOT NULL, faellig_am TEXT NOT NULL,
  soll_betrag REAL NOT NULL, bezahlt_am TEXT, mahnung TEXT NOT NULL, PRIMARY KEY(kredit_id, rate_nr));
"""


def _loans(fixed: Generator, rng: Generator) -> Tables:
    n, end = 2200, date(2023, 12, 31)
    customers = rows(
        range(1, n + 1),
        rng.choice(["Herr", "Frau"], n),
        rng.choice(LAST, n),
        days("2000-01-01", -rng.integers(0, 20000, n)),
        rng.choice(["ledig", "verheiratet", "geschieden"], n, p=[0.4, 0.45, 0.15]),
        numbered(rng, n, 10000, 99999),
        [f"Beruf{i}" for i in zipf(rng, n, 120)],
        rng.lognormal(7.7, 0.4, n).round(2),
        rng.normal(92, 6, n).clip(1, 99.9).round(2),
        rng.choice(["J", "N"], n, p=[0.35, 0.65]),
        days("2005-01-01", rng.integers(0, 4700, n)),
    )
    loans, rates = [], []
    for customer in customers:
        for _ in range((rng.random() < 0.55) * (1 + rng.poisson(0.3))):
            amount, months = rng.choice([5, 10, 15, 20, 30, 50]) * 1000, rng.choice([12, 24, 36, 48, 60, 84])
            interest = round(clipped(rng.normal(6 - 0.1 * (customer[8] - 92), 1), 1, 14), 2)
            paid_out, key = later(date(2018, 1, 1), rng.integers(0, 1500)), len(loans) + 1
            rate = round(amount * (1 + interest / 100 * months / 24) / months, 2)
            use = rng.choice(["Auto", "Möbel", "Umschuldung", "Reise", "Sonstiges"])
            status = rng.choice(["laufend", "getilgt", "gekündigt"], p=[0.6, 0.35, 0.05])
            due = _months_later(paid_out, months)
            loans.append((key, customer[0], amount, interest, months, rate, paid_out, due, use, status, "EUR"))
            for number in range(1, min(months, rng.integers(1, 14)) + 1):
                if (due := _months_later(paid_out, number)) > end:
                    break
                late = rng.random() < 0.06
                paid = None if rng.random() < 0.02 else min(later(due, late * rng.gamma(1, 20)), end)
                rates.append((key, number, due, rate, paid, "J" if late else "N"))
    return {"kunden": customers, "kredite": loans, "raten": rates}


def _months_later(day: date, months: int) -> date:
    month = day.month - 1 + int(months)
    return date(day.year + month // 12, month % 12 + 1, min(day.day, 28))


_TELECOM = (
    "telecom: customerID, gender, SeniorCitizen, Partner, Dependents, tenure, PhoneService, MultipleLines, InternetService, "
    "OnlineSecurity, Contract, PaperlessBilling, PaymentMethod, MonthlyCharges, TotalCharges, Zip Code, Signup Date, "
    "Device Model, Country, Churn"
)
_PAID_BY = ["Electronic check", "Mailed check", "Bank transfer (automatic)", "Credit card (automatic)"]


def _telecom(fixed: Generator, rng: Generator) -> Tables:
    n = 4000
    tenure, net = rng.integers(1, 72, n), rng.choice(["DSL", "Fiber optic", "No"], n, p=[0.35, 0.44, 0.21])
    charge = (20 + 30 * (net != "No") + 30 * (net == "Fiber optic") + rng.normal(0, 6, n)).clip(18).round(2)
    contract = rng.choice(["Month-to-month", "One year", "Two year"], n, p=[0.55, 0.21, 0.24])
    gone = rng.random(n) < 0.4 * (contract == "Month-to-month") + 0.1 * (net == "Fiber optic")
    wide = rows(
        [f"{number}-{''.join(rng.choice(list(string.ascii_uppercase), 5))}" for number in rng.integers(1000, 9999, n)],
        rng.choice(["Male", "Female"], n),
        (rng.random(n) < 0.16).astype(int),
        rng.choice(["Yes", "No"], n),
        rng.choice(["Yes", "No"], n, p=[0.3, 0.7]),
        tenure,
        rng.choice(["Yes", "No"], n, p=[0.9, 0.1]),
        rng.choice(["Yes", "No", "No phone service"], n, p=[0.42, 0.48, 0.1]),
        net,
        np.where(net == "No", "No internet service", rng.choice(["Yes", "No"], n)),
        contract,
        rng.choice(["Yes", "No"], n),
        rng.choice(_PAID_BY, n),
        charge,
        np.where(tenure < 2, " ", (charge * tenure).round(2).astype(str)),
        rng.integers(90001, 96161, n),
        [f"{day:%m/%d/%Y}" for day in days("2023-06-01", -tenure * 30)],
        [f"Model-{i:03d}" for i in zipf(rng, n, 500, 0.9)],
        "United States",
        np.where(gone, "Yes", "No"),
    )
    return {"telecom": wide}


SHOP = World("shop", "sqlite", _SHOP, ("1996-07-04", "1998-05-06"), 200, _shop)
INSURANCE = World("insurance", "duckdb", _INSURANCE, ("2018-01-01", "2024-12-31"), 3000, _insurance)
LOANS = World("loans", "sqlite", _LOANS, ("2018-01-01", "2023-12-31"), 2200, _loans)
TELECOM = World("telecom", "csv", _TELECOM, ("2017-01-01", "2023-06-30"), 4000, _telecom)
