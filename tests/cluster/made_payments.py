"""Payments with times, as a table and as Parquet files."""

import numpy as np
import pandas as pd

FIRST_DAY = np.datetime64("2024-01-01T00:00", "us")


def made_payments(n_rows=1200, n_days=60):
    generator = np.random.default_rng(0)
    seconds = generator.integers(0, n_days * 86_400, n_rows)
    amount = generator.gamma(2.0, 40.0, n_rows).round(2)
    country = generator.choice(["FR", "DE", "US"], n_rows)
    is_fraud = ((amount > 130) & (country == "US")) | (generator.random(n_rows) < 0.02)
    paid_at = FIRST_DAY + seconds * np.timedelta64(1, "s")
    columns = {"paid_at": paid_at, "amount": amount, "country": country, "is_fraud": is_fraud}
    return pd.DataFrame({**columns, "number": np.arange(n_rows) + 0.5})


def in_files(frame, folder, n_files=3):
    """Write the rows to Parquet files, each of which has rows of all days."""
    folder.mkdir(exist_ok=True)
    for i in range(n_files):
        frame.iloc[i::n_files].to_parquet(folder / f"{i}.parquet")
    return folder
