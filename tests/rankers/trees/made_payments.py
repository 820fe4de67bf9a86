"""Payments of which some are frauds, for trees to rank: numbers, a category, a flag, gaps."""

import numpy as np
import pandas as pd


def payments(n=400, seed=0):
    """Return the table and which of its rows are frauds; `noise` says nothing about them."""
    generator = np.random.default_rng(seed)
    amount = generator.gamma(2.0, 40.0, n)
    country = generator.choice(["FR", "DE", "US", "JP"], n, p=[0.5, 0.25, 0.15, 0.1])
    online = generator.random(n) < 0.4
    hours = np.where(generator.random(n) < 0.15, np.nan, generator.exponential(10, n))
    odds = 3.0 * (amount > 110) + 2.5 * np.isin(country, ["US", "JP"]) + 2.0 * (hours < 3) - 5.5
    is_fraud = generator.random(n) < 1 / (1 + np.exp(-odds))
    frame = pd.DataFrame({"amount": amount, "country": country, "online": online, "hours": hours})
    return frame.assign(noise=generator.normal(size=n)), is_fraud


def numbers(n=200, n_columns=3, seed=0):
    """Return features without gaps or categories and labels that depend on the first two."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, n_columns))
    return X, X[:, 0] + np.abs(X[:, 1]) + generator.normal(size=n) > 2
