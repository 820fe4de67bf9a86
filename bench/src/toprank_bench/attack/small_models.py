"""One small fitted model of every family that a model file can contain."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import toprank
from toprank.rankers.online.event_stream import EventStream

_N_ROWS, _N_COLUMNS = 80, 3


def rows() -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return rows of numbers and which of them are positive."""
    values = np.random.default_rng(0).normal(size=(_N_ROWS, _N_COLUMNS))
    return values, values[:, 0] > 0.8


def small_models() -> Iterator[Any]:
    """Yield the models, fitted on `rows`."""
    X, y = rows()
    labelled = (
        toprank.BoostedRanker("ap-exp", n_estimators=3, n_jobs=1),
        toprank.RankBoost(n_estimators=3),
        toprank.NonLinearBoost(n_estimators=3),
        toprank.MetaAP(),
        toprank.TreeRank(),
        toprank.RankForest(n_estimators=2),
        toprank.RankSVM(),
        toprank.RankRLS(),
        toprank.OnlineNonLinearBoost(n_buckets=8),
        toprank.StreamBoost(n_buckets=8),
        toprank.OnlineBBM(n_buckets=8),
        toprank.StreamRanker(n_estimators=3, n_buckets=8),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for ranker in labelled:
            yield ranker.fit(X, y)
        for detector in (toprank.AnomalyForest(n_estimators=2), toprank.AnomalyTreeRank()):
            yield detector.fit(X)
    yield _stream(X, y)


def _stream(X: NDArray[np.float64], y: NDArray[np.bool_]) -> EventStream:
    stream = EventStream(toprank.OnlineNonLinearBoost(n_buckets=8), window=50, budget=5)
    for number, (row, is_positive) in enumerate(zip(X, y, strict=True)):
        stream.score({"x": row[0], "shop": f"s{number % 3}"}, number)
        if number % 4:
            stream.label(number, bool(is_positive))
    return stream
