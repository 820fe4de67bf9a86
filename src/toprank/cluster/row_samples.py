"""What a ranker keeps in addition to its trees: calibration and usual values, from samples.

Samples are taken by counting through all partitions, so one machine would take the same rows.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from toprank.calibration import SigmoidCalibration, fit_sigmoid
from toprank.cluster.dask_client import import_dask, released
from toprank.cluster.label_facts import ClassCounts
from toprank.data.inputs import TrainingRows
from toprank.data.tables import Schema
from toprank.rankers import reasons
from toprank.rankers.boosted import xgboost_engine

_ROWS_FOR_USUAL = 100_000  # as on one machine
_ROWS_FOR_CALIBRATION = 500_000  # of each class


def calibration(
    client: Any, encoded: list[Any], counts: ClassCounts, trees: bytes
) -> SigmoidCalibration:
    """Return the calibration from the scores of the training rows, a limited number per class.

    Up to the limit, it is the same as on one machine. Beyond, every k-th row counts as k.
    """
    steps = [_step(each, _ROWS_FOR_CALIBRATION) for each in counts]
    places = zip(
        *(_every(each, step) for each, step in zip(counts, steps, strict=True)), strict=True
    )
    # a task can be repeated if the worker that has its result is lost
    with import_dask().config.set({"distributed.admin.large-graph-warning-threshold": "10GB"}):
        model = client.submit(bytes, trees, pure=False)
    futures = [
        client.submit(_scored, rows, model, place, steps, pure=False)
        for rows, place in zip(encoded, places, strict=True)
    ]
    with released(client, [model, *futures]):
        is_positive, raw, weights = zip(*client.gather(futures), strict=True)
    weight = None if weights[0] is None else np.concatenate(weights)
    return fit_sigmoid(np.concatenate(is_positive), np.concatenate(raw), weight)


def usual_values(
    client: Any, encoded: list[Any], counts: ClassCounts, schema: Schema
) -> list[reasons.Usual]:
    """Return the usual values of each column, from the negatives that one machine would use."""
    places = _every(counts.negatives, _step(counts.negatives, _ROWS_FOR_USUAL))
    samples = [
        client.submit(_ordinary, rows, place, pure=False)
        for rows, place in zip(encoded, places, strict=True)
    ]
    usual = client.submit(_usual_of, samples, schema, pure=False)
    with released(client, [*samples, usual]):
        return usual.result()


def _scored(
    rows: TrainingRows, trees: bytes, places: tuple[slice, slice], steps: list[int]
) -> tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64] | None]:
    """Return labels, raw scores and weights of some positives and some negatives."""
    from distributed import get_worker

    chosen = np.sort(
        np.concatenate(
            [
                np.flatnonzero(rows.is_positive)[places[0]],
                np.flatnonzero(~rows.is_positive)[places[1]],
            ]
        )
    )
    booster = xgboost_engine.load_booster(trees)
    booster.set_param({"nthread": get_worker().state.nthreads})
    is_positive = rows.is_positive[chosen]
    raw = xgboost_engine.predict_raw(booster, rows.features[chosen])
    weight = None if rows.weight is None else rows.weight[chosen]
    if max(steps) > 1:
        weight = (1.0 if weight is None else weight) * np.where(is_positive, *steps)
    return is_positive, raw, weight


def _ordinary(rows: TrainingRows, place: slice) -> NDArray[np.float32]:
    return rows.features[np.flatnonzero(~rows.is_positive)[place]]


def _usual_of(samples: list[NDArray[np.float32]], schema: Schema) -> list[reasons.Usual]:
    features = np.concatenate(samples)
    return reasons.usual_values(features, np.zeros(len(features), dtype=bool), schema)


def _step(counts: NDArray[np.int64], at_most: int) -> int:
    """Return the smallest k such that every k-th of all rows are at most `at_most`."""
    return max(-(-int(counts.sum()) // at_most), 1)


def _every(counts: NDArray[np.int64], step: int) -> list[slice]:
    """Return which rows of each partition are every `step`-th, counted through all of them."""
    before = np.cumsum(counts) - counts
    return [slice(int(start), None, step) for start in -before % step]
