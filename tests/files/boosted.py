"""Boosted rankers worth keeping in a file, and what a loaded one must be able to do."""

import math

import numpy as np
import pyarrow as pa

from toprank import BoostedRanker
from toprank.rankers import reasons


def real_rankers():
    """Both engines; categories, booleans and missing values; text, whole and bool labels."""
    frame, labels = payments()
    numbers = frame.select(["amount", "online"])
    array = np.nan_to_num(np.column_stack([frame["amount"], frame["online"]]).astype(float))
    is_fraud = labels == "fraud"
    small = {"n_estimators": 4, "max_depth": 2, "n_jobs": 1}
    return [
        BoostedRanker("ap-exp", **small, early_stopping_rounds=2).fit(frame, labels),
        BoostedRanker("log", **small, loss_options={}, positive_label="genuine").fit(
            frame, labels
        ),
        BoostedRanker("ap-exp", **small, engine="paper").fit(numbers, is_fraud.astype(int)),
        BoostedRanker("ap-exp", **small, engine="paper", positive_label=True).fit(array, is_fraud),
    ]


def check_scores_and_reasons(ranker):
    """What a file became must score, explain and count like any fitted ranker."""
    rows = rows_for(ranker)
    scores = ranker.suspicion(rows)
    assert scores.shape == (10,)
    assert np.isfinite(scores).all()
    probability = ranker.predict_proba(rows)
    assert probability.shape == (10, 2)
    assert ((probability >= 0) & (probability <= 1)).all()
    assert set(ranker.predict(rows).tolist()) <= set(ranker.classes_.tolist())
    assert np.isfinite(ranker.decision_function(rows)).all()
    assert np.isfinite(ranker.calibration_.expected_positives(scores)).all()
    shares = ranker.contributions(rows)
    assert shares.shape == (10, len(ranker.schema_.columns) + 1)
    given = reasons.explain(ranker, rows)
    assert len(given) == 10
    for reason in (reason for row in given for reason in row):
        assert reason.feature in ranker.schema_.names
        assert math.isfinite(reason.contribution)
        assert len(str(reason)) < 1_000_000
    assert ranker.feature_importances_.shape == (len(ranker.schema_.columns),)


def rows_for(ranker, n=10):
    """Return rows of the columns the ranker says it has, with missing and unknown values."""
    columns = {}
    for column in ranker.schema_.columns:
        known = {
            "number": [0.0, -1e30, 1e30, 150.0, 7.5],
            "boolean": [True, False],
            "category": [*column.categories[:5], "not seen"],
        }[column.kind]
        columns[column.name] = ([None, *known] * n)[:n]
    table = pa.table(columns)
    if hasattr(ranker, "feature_names_in_"):
        return table
    return ranker.schema_.encode(table)


def payments(n=300):
    generator = np.random.default_rng(3)
    amount = np.where(generator.random(n) < 0.1, np.nan, generator.gamma(2, 40, n))
    country = generator.choice(["FR", "DE", "US", None], n).tolist()
    online = generator.random(n) < 0.5
    frame = pa.table({"amount": amount, "country": country, "online": online})
    return frame, np.where((amount > 100) & online, "fraud", "genuine")
