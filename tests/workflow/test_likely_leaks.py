"""A column that gives the label away is found, whatever it looks like; honest ones are not."""

import numpy as np
import pytest

from toprank.data.tables import Column, Schema
from toprank.workflow.likely_leaks import likely_leaks

RNG = np.random.default_rng(0)
N_ROWS = 2000
IS_POSITIVE = np.arange(N_ROWS) % 40 == 0
NOISE = RNG.normal(size=N_ROWS)
CATEGORY = Column("x", "category", ("blocked", "checked", "ok"))


def found(values, column=None):
    """The AP of the one column, where it is reported."""
    schema = Schema((column or Column("x", "number"),))
    features = np.asarray(values, dtype=np.float32)[:, None]
    half = N_ROWS // 2
    parts = [(features[rows], IS_POSITIVE[rows]) for rows in (slice(0, half), slice(half, None))]
    return likely_leaks(schema, *parts)


@pytest.mark.parametrize(
    ("values", "column"),
    [
        (IS_POSITIVE * 10 + NOISE, None),
        (NOISE - IS_POSITIVE * 10, None),
        (np.where(IS_POSITIVE, NOISE, np.nan), None),
        (np.where(IS_POSITIVE, np.nan, NOISE), None),
        (np.where(IS_POSITIVE, 5, RNG.choice([3, 4, 6, 7], N_ROWS)), None),  # a code in between
        (np.where(IS_POSITIVE, 1, RNG.choice([0, 2], N_ROWS)), CATEGORY),
    ],
    ids=["high", "low", "present", "missing", "code", "category"],
)
def test_a_leak_is_found(values, column):
    assert found(values, column)["x"] >= 0.98


@pytest.mark.parametrize(
    ("values", "column"),
    [(NOISE + 3 * IS_POSITIVE, None), (RNG.integers(0, 3, N_ROWS), CATEGORY), (NOISE * 0, None)],
    ids=["good", "category", "constant"],
)
def test_an_honest_column_is_no_leak(values, column):
    assert found(values, column) == {}


def test_a_few_positives_prove_nothing():
    few = np.arange(N_ROWS) % 400 == 0
    schema = Schema((Column("x", "number"),))
    features = few.astype(np.float32)[:, None]
    assert likely_leaks(schema, (features, few), (features[:1200], few[:1200])) == {}
