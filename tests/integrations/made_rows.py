"""Rows with gaps, categories and values that lie on cuts, for other tools' scores to meet ours."""

import numpy as np
import pandas as pd

COUNTRIES = [f"{first}{second}" for first in "ABCDEFGH" for second in "WXYZ"]


def payments(n_rows, seed=0):
    """A table of payments and which of them are frauds."""
    random = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "amount": np.round(random.lognormal(3, 1, n_rows), 2),
            "hour": random.integers(0, 24, n_rows),
            "country": random.choice(COUNTRIES, n_rows),
            "online": random.random(n_rows) < 0.4,
            "gap": np.where(random.random(n_rows) < 0.3, np.nan, random.normal(size=n_rows)),
        }
    )
    log_odds = np.log(table["amount"]) + 2 * table["country"].isin(COUNTRIES[:3])
    log_odds += table["online"] + table["gap"].isna() - 8
    return table, random.random(n_rows) < 1 / (1 + np.exp(-log_odds))


def new_payments(n_rows, table, seed=1):
    """Rows like those of the table, with values of its own, unknown countries and empty ones."""
    random = np.random.default_rng(seed)
    rows = table.iloc[random.integers(0, len(table), n_rows)].reset_index(drop=True)
    changed = random.random(n_rows) < 0.5
    rows.loc[changed, "amount"] *= random.lognormal(0, 0.1, np.count_nonzero(changed))
    rows.loc[random.random(n_rows) < 0.02, "country"] = "never seen"
    rows.loc[random.random(n_rows) < 0.02, "country"] = None
    return rows
