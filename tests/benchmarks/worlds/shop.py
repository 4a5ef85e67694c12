"""A shop with loyalty cards: customers, baskets (few have many), lines of articles with prices that recur.

Planted: the number of baskets is heavy-tailed and higher for gold cards; each customer has a home store, a usual weekday and
hour, and a habit of paying; the channel `online` comes with evening hours and bigger baskets; articles come from a public
list with a list price that ends in .49, .60, .90 or .99; an offer takes a fifth off and is more frequent on Mondays;
groceries are bought together and again; points are a tenth of the total, which is the sum of the lines.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from .tools import Frames, days

DEPARTMENTS = ["bakery", "dairy", "fruit", "meat", "drinks", "household", "baby", "toys", "textiles", "electronics"]
LEVELS = [2.6, 2.2, 3.0, 7.5, 4.0, 6.0, 9.0, 16.0, 24.0, 60.0]
STORES = ["Central", "Harbour", "Northgate", "Mill Lane", "Station"]
FIRST, LAST = np.datetime64("2022-01-03"), np.datetime64("2024-06-30")


def articles() -> pd.DataFrame:
    """The price list: 120 articles, the same in every draw."""
    rng = np.random.default_rng(20240607)
    department = np.repeat(np.arange(10), 12)
    price = np.floor(np.array(LEVELS)[department] * np.exp(rng.normal(0, 0.5, 120))) + rng.choice([0.49, 0.60, 0.90, 0.99], 120)
    names = [f"{DEPARTMENTS[d]} {k + 1}" for d in range(10) for k in range(12)]
    return pd.DataFrame(
        {
            "article": np.arange(1001, 1121),
            "name": names,
            "department": np.array(DEPARTMENTS)[department],
            "list_price": price.round(2),
        }
    )


def generate(entities: int, seed: int) -> Frames:
    rng = np.random.default_rng([seed, 2])
    goods = articles()
    prices = goods["list_price"].to_numpy()
    shelf = np.repeat(np.arange(10), 12)
    within = np.cumsum(1 / np.arange(1, 13) ** 0.9)
    within = within / within[-1]
    age = np.clip(rng.normal(47, 16, entities), 18, 95).astype(int)
    tier = rng.choice(["basic", "silver", "gold"], entities, p=[0.7, 0.22, 0.08])
    children = np.where((age > 24) & (age < 48), rng.choice([0, 1, 2, 3, 4], entities, p=[0.45, 0.2, 0.24, 0.08, 0.03]), 0)
    home = rng.choice(5, entities, p=[0.35, 0.25, 0.2, 0.12, 0.08])
    joined = FIRST - rng.integers(0, 365 * 9, entities)
    mail = rng.choice(["yes", "no"], entities, p=[0.6, 0.4]).astype(object)
    mail[rng.random(entities) < 0.1] = None
    customers = pd.DataFrame(
        {
            "card": [f"C{n:06d}" for n in range(1, entities + 1)],
            "age": age,
            "tier": tier,
            "children": children,
            "home_store": np.array(STORES)[home],
            "joined": days(joined),
            "newsletter": mail,
        }
    )
    level = np.exp(rng.normal(0.9, 1.1, entities)) * np.select([tier == "gold", tier == "silver"], [4.0, 2.0], 1.0)
    many = np.minimum(rng.poisson(level), 120)
    many[rng.random(entities) < 0.07] = 0
    baskets, lines = [], []
    for i in range(entities):
        habit = rng.choice(["card", "cash", "app"], p=[0.55, 0.3, 0.15] if age[i] < 60 else [0.45, 0.52, 0.03])
        hour, usual = rng.choice([9, 12, 17, 19], p=[0.3, 0.15, 0.4, 0.15]), rng.integers(0, 6)
        online = rng.random() < (0.35 if age[i] < 40 else 0.08)
        liking = rng.dirichlet(np.array([6, 6, 5, 3, 4, 3, 0.2 + 3 * (children[i] > 0), 1, 1, 0.4]) / 4)
        day = FIRST + int(rng.integers(0, 200))
        for _ in range(many[i]):
            day = day + int(1 + rng.gamma(1.2, 600 / (many[i] + 2) / 1.2))
            if day > LAST:
                break
            if rng.random() < 0.5:
                day = day + int((usual - (day - FIRST).astype(int)) % 7)
            channel = "online" if online and rng.random() < 0.5 else "store"
            clock = int(np.clip(rng.normal(21 if channel == "online" else hour, 1.2), 7, 23))
            when = day.astype("datetime64[m]") + clock * 60 + int(rng.integers(0, 60))
            store = None if channel == "online" else STORES[home[i] if rng.random() < 0.85 else rng.integers(0, 5)]
            paid = "app" if channel == "online" else habit if rng.random() < 0.88 else rng.choice(["card", "cash"])
            size = 1 + min(rng.poisson(5.0 if channel == "online" else 2.2), 14)
            total, number = 0.0, len(baskets) + 1
            departments = rng.choice(10, size, p=liking)
            for line, department in enumerate(departments, 1):
                article = int(department * 12 + np.searchsorted(within, rng.random()))
                offer = rng.random() < (0.3 if (day - FIRST).astype(int) % 7 == 0 else 0.1)
                price = round(float(prices[article]) * (0.8 if offer else 1.0), 2)
                quantity = int(1 + (shelf[article] < 5) * min(rng.geometric(0.6) - 1, 8))
                total += price * quantity
                lines.append((number, line, 1001 + article, quantity, price, "Y" if offer else "N"))
            baskets.append((number, f"C{i + 1:06d}", when, channel, store, paid, round(total, 2), int(total / 10)))
    listed = pd.DataFrame(baskets, columns=["basket", "card", "bought", "channel", "store", "paid_by", "total", "points"])
    listed["bought"] = days(listed["bought"])
    sold = pd.DataFrame(lines, columns=["basket", "line", "article", "quantity", "price", "offer"])
    return {"customers": customers, "baskets": listed, "lines": sold, "articles": goods}
