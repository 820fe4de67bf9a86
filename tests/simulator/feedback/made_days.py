"""Small tables of payments, and a ranker that learns from them quickly."""

import numpy as np
import pyarrow as pa
from scipy.special import expit
from sklearn.base import BaseEstimator

COLUMNS = {
    "time": "at",
    "card": "card",
    "terminal": "terminal",
    "amount": "amount",
    "label": "is_fraud",
}
SPANS = {"silence": "8d", "window": "20d"}


def made_payments(n_days=40, n_a_day=40, n_cards=60, n_terminals=12, seed=0):
    """Return payments in which large amounts and two of the terminals are often frauds."""
    generator = np.random.default_rng(seed)
    n_rows = n_days * n_a_day
    seconds = np.sort(generator.choice(n_days * 86_400, n_rows, replace=False))
    terminal = generator.integers(0, n_terminals, n_rows)
    amount = generator.gamma(2.0, 30.0, n_rows)
    chance = 0.01 + 0.4 * (amount > 150) + 0.2 * (terminal < 2)
    return pa.table(
        {
            "at": np.datetime64("2025-03-01T00:00:00", "us") + seconds.astype("timedelta64[s]"),
            "card": [f"c{each}" for each in generator.integers(0, n_cards, n_rows)],
            "terminal": terminal,
            "amount": amount,
            "is_fraud": generator.random(n_rows) < chance,
        }
    )


class MeanDifference(BaseEstimator):
    """Scores along the line between the means of the two classes; no two scores are equal."""

    def fit(self, X, y, sample_weight=None):
        values = np.nan_to_num(X.astype(np.float64))
        weight = np.ones(y.size) if sample_weight is None else sample_weight
        self.spread_ = values.std(axis=0) + 1e-9
        means = [np.average(values[rows], axis=0, weights=weight[rows]) for rows in (y, ~y)]
        self.weights_ = (means[0] - means[1]) / self.spread_
        return self

    def suspicion(self, X):
        return np.nan_to_num(X.astype(np.float64)) / self.spread_ @ self.weights_

    def probability(self, X):
        return expit(self.suspicion(X) / 10)
