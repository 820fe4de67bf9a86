"""Made payments as files of a folder, and their features as one history computes them."""

from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from payments.payment_days import joined, made_days
from toprank.payments.feature_folder import FolderSettings
from toprank.payments.roles import Roles

N_DAYS = 12
SETTINGS = FolderSettings(
    Roles("paid_at", "card", "terminal", "amount", "tx"), "is_fraud", delay="2d"
)


@cache
def payments():
    """Twelve days of payments; some cards are missing."""
    table = joined(made_days()[:N_DAYS])
    cards = table["card"].to_pylist()
    cards[3::50] = [None] * len(cards[3::50])
    return table.set_column(table.column_names.index("card"), "card", pa.array(cards))


def write_files(folder, table, n_files=5, seed=0, name="part"):
    """Write a table as several files, rows in any order."""
    folder.mkdir(exist_ok=True)
    order = np.random.default_rng(seed).permutation(table.num_rows)
    for number, rows in enumerate(np.array_split(order, n_files)):
        pq.write_table(table.take(pa.array(rows)), folder / f"{name}-{number}.parquet")
    return folder


def write_days(folder, table):
    """Write a table as a file per day, rows in order of time."""
    folder.mkdir(exist_ok=True)
    days = table["paid_at"].to_numpy().astype("datetime64[D]")
    for day in np.unique(days):
        pq.write_table(table.filter(pa.array(days == day)), folder / f"{day}.parquet")
    return folder


def features_in_memory(table, settings=SETTINGS):
    """Return the features of a table as one history computes them, as models take them."""
    features = settings.history().batch(table)
    return {name: features[name].to_numpy().astype(np.float32) for name in features.column_names}


def rows_in(folder):
    """Return all rows of a feature folder."""
    return pa.concat_tables(folder.batches([each.day for each in folder.days]))


def check_equal(folder, table, settings=SETTINGS):
    """Check that a folder has the features of a table, whose rows are in order of time."""
    found = rows_in(folder)
    assert found["tx"].to_pylist() == table["tx"].to_pylist()
    for name, expected in features_in_memory(table, settings).items():
        values = found[name].to_numpy().astype(np.float32)
        np.testing.assert_array_equal(values, expected, name)
