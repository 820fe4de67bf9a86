"""Small encoded training rows with ties, gaps and categories."""

import numpy as np

from toprank.data.inputs import TrainingRows
from toprank.data.tables import Column

AMOUNT, HOURS = Column("amount", "number"), Column("hours", "number")
ONLINE = Column("online", "boolean")
COUNTRY = Column("country", "category", ("DE", "FR", "IT", "US", "ZA"))
COLUMNS = (AMOUNT, HOURS, COUNTRY, ONLINE)


def payments(n=240, seed=0, missing=0.1, weighted=False):
    """Return rows of COLUMNS whose positives have large amounts or come from country 3."""
    generator = np.random.default_rng(seed)
    features = np.column_stack(
        [
            generator.normal(size=n).round(1),
            generator.normal(size=n).round(1),
            generator.integers(0, 5, n),
            generator.random(n) < 0.4,
        ]
    ).astype(np.float32)
    risk = features[:, 0] + (features[:, 2] == 3) + 0.5 * generator.normal(size=n)
    is_positive = risk > np.quantile(risk, 0.85)
    features[generator.random(features.shape) < missing] = np.nan
    weight = generator.integers(1, 5, n).astype(float) if weighted else None
    return TrainingRows(features, is_positive, weight)


def numbers(n, n_columns=3, n_positive=20, seed=0):
    """Return rows of numbers that have nothing to do with their labels."""
    generator = np.random.default_rng(seed)
    features = generator.normal(size=(n, n_columns)).astype(np.float32)
    is_positive = np.zeros(n, dtype=bool)
    is_positive[generator.choice(n, n_positive, replace=False)] = True
    return TrainingRows(features, is_positive, None)


def number_columns(n_columns):
    return tuple(Column(f"x{number}", "number") for number in range(n_columns))
