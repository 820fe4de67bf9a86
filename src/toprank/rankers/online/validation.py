"""Progressive validation: every row is a test row first and a training row once its label comes.

A row is scored by what the learner knew at that moment, and that score counts. So one pass over a
stream gives the figures that the learner would have achieved in use, late labels included.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.utils import column_or_1d

from toprank import metrics
from toprank.data import checks
from toprank.data.tables.columns import shortened
from toprank.data.tables.spans import span_of
from toprank.rankers.online.classes import Classes
from toprank.rankers.online.drift import DriftWatch
from toprank.rankers.online.online_learner import OnlineLearner
from toprank.rankers.online.windows import Window, WindowSummary

_POINTS = 50  # of a curve, by default
_LEAST_PROBABILITY = 1e-15  # of the true class, so that no row has an infinite loss


class CurvePoint(NamedTuple):
    """The window that ends with row number `row`, counted from 1."""

    row: int
    window: WindowSummary


@dataclass(frozen=True, eq=False)
class Validation:
    """The result of progressive validation, over all rows and along the stream.

    An error is a row on the wrong side of a raw score of 0. The average precision is None if
    no row is positive.
    """

    suspicion: NDArray[np.float64]
    """The raw score of each row before its label was known."""
    error: float
    average_precision: float | None
    log_loss: float
    curve: tuple[CurvePoint, ...]

    def to_table(self) -> pa.Table:
        """Return the curve as a table, with columns for the bounds of approximate figures."""
        return pa.Table.from_pylist([_cells(point) for point in self.curve], _CURVE_SCHEMA)


def progressive_validation(
    learner: OnlineLearner,
    X: Any,
    y: ArrayLike,
    *,
    times: ArrayLike | None = None,
    delay: Any = 0,
    window: int = 10_000,
    budget: int = 100,
    every: int | None = None,
    watch: DriftWatch | None = None,
) -> Validation:
    """Return how well `learner` scored rows in their order while it learned from them.

    The learner learns from all rows and can be used afterwards. Rows count in the order of the
    stream, each with its score at arrival, however late its label was.

    Parameters
    ----------
    learner
        An online learner, new or not, for two classes.
    X, y
        A table or an array, and the labels.
    times
        Arrival time of each row: numbers or datetimes that never decrease.
    delay
        How long a label takes: a number of rows, or of the unit of `times`, or a span of time
        such as "7d" or a timedelta where these are datetimes. Before a row is scored, the labels
        due by then are learned in their order: of rows j with
        `times[j] + delay <= times[i]`, or without times `j + delay < i`.
    window, budget
        The size in rows of the windows of the curve, and how many rows per window can be
        checked.
    every
        Number of rows between points of the curve; by default there are about 50 points.
    watch
        A `DriftWatch` of the same learner; a raw score above 0 is an alert.

    Examples
    --------
    >>> from toprank import OnlineNonLinearBoost
    >>> X = np.random.default_rng(0).normal(size=(2000, 3))
    >>> validation = progressive_validation(OnlineNonLinearBoost(), X, X[:, 0] > 1, delay=10)
    >>> validation.error < 0.1, len(validation.curve)
    (True, 50)
    """
    if not isinstance(learner, OnlineLearner):
        raise TypeError(
            "learner must be an online learner such as OnlineNonLinearBoost(); "
            f"got {type(learner).__name__}."
        )
    if watch is not None and watch.learner is not learner:
        raise ValueError(
            "watch must be a DriftWatch of the validated learner; got one of another learner."
        )
    labels = column_or_1d(y)
    is_positive = positives_of(learner, labels)
    n_known = _labels_known(labels.size, times, delay)
    every = max(round(labels.size / _POINTS), 1) if every is None else every
    every = checks.whole_number(every, "every", 1)
    empty = Window(window, budget)  # fails on invalid settings before hours of work
    if watch is None:
        suspicion, probability = scored_and_learned(learner, X, labels, n_known)
    else:
        suspicion, probability = _in_turn(learner, X, labels, n_known, watch)
    is_error = errors_of(suspicion, is_positive)
    return Validation(
        suspicion,
        float(is_error.mean()),
        _average_precision(is_positive, suspicion),
        float(log_losses(probability, is_positive).mean()),
        _curve(empty, suspicion, is_positive, is_error, every),
    )


def scored_and_learned(
    learner: OnlineLearner, X: Any, labels: NDArray, n_known: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the suspicion and probability of each row when `n_known` labels were learned.

    By default, `n_known` counts all rows before it.
    """
    rows, places, row_weights = learner._prepared(X, labels)
    if n_known is None:
        n_known = np.arange(labels.size)
    scores = learner.model_.score_and_learn(rows.encode_all(), places, row_weights, n_known)
    return learner._suspicion(scores.raw), expit(scores.log_odds)


def positives_of(learner: OnlineLearner, labels: NDArray) -> NDArray[np.bool_]:
    """Return which labels are the learner's positive one.

    Raises ValueError unless there are two classes. The learner does not change.
    """
    known = learner.model_.classes if hasattr(learner, "model_") else None
    classes = Classes(learner.positive_label if known is None else known.positive_label, most=2)
    classes.places_of([] if known is None else known.places)
    if not labels.size:
        raise ValueError("y must contain at least one label; got none.")
    classes.places_of(labels.tolist())
    if classes.positive is None:
        raise ValueError(
            "the positive label must be named by `positive_label`, since none of the labels "
            f"{shortened(classes.sorted().tolist())} is positive by its name."
        )
    return np.asarray(labels == classes.positive)


def errors_of(suspicion: NDArray[np.float64], is_positive: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which rows are on the wrong side of a raw score of 0."""
    return (suspicion > 0) != is_positive


def log_losses(
    probability: NDArray[np.float64], is_positive: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the log-loss of each row, 35 at most."""
    of_label = np.where(is_positive, probability, 1 - probability)
    return -np.log(np.maximum(of_label, _LEAST_PROBABILITY))


# Scoring and learning in the order of arrival


def _in_turn(
    learner: OnlineLearner,
    X: Any,
    labels: NDArray,
    n_known: NDArray[np.int64],
    watch: DriftWatch,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return suspicion and probability of rows, each scored when `n_known` labels were learned.

    One by one, since the watch may change the learner after any of them.
    """
    stream = _Stream(learner, X, labels, watch)
    start = n_learned = 0
    while start < labels.size:
        stream.learn(n_learned, n_known[start])
        n_learned = n_known[start]
        stop = int(np.searchsorted(n_known, n_learned, side="right"))
        stream.score(start, stop)
        start = stop
    stream.learn(n_learned, labels.size)
    return stream.suspicion, stream.probability


class _Stream:
    """Rows of a stream, encoded once, to be scored and learned from in runs."""

    def __init__(self, learner: OnlineLearner, X: Any, labels: NDArray, watch: DriftWatch) -> None:
        self._learner, self._watch, self._labels = learner, watch, labels.tolist()
        self._is_positive = positives_of(learner, labels)
        rows, self._places, self._weights = learner._prepared(X, labels)
        self._rows = rows.encode_all()
        self.suspicion = np.zeros(labels.size)
        self.probability = np.full(labels.size, 0.5)

    def score(self, start: int, stop: int) -> None:
        run = slice(start, stop)
        if self._learner._has_learned():
            raw = self._learner.model_.raw(self._rows.take(run))
            self.suspicion[run] = self._learner._suspicion(raw)
            self.probability[run] = self._learner._probability(self.suspicion[run])
        for raw_score in self.suspicion[run].tolist():
            self._watch.scored(raw_score > 0)

    def learn(self, start: int, stop: int) -> None:
        for row in range(
            start, stop
        ):  # one by one: an alarm may change the learner after any of them
            own = slice(row, row + 1)
            rows, places = self._rows.take(own), self._places[own]
            self._learner.model_.learn(rows, places, self._weights[own])
            self._report_label(self._watch, row)

    def _report_label(self, watch: DriftWatch, row: int) -> None:
        own = slice(row, row + 1)
        loss = log_losses(self.probability[own], self._is_positive[own])[0]
        watch.labelled(self._rows.take(own), self._labels[row], float(loss))


# Late labels


def _labels_known(n_rows: int, times: ArrayLike | None, delay: Any) -> NDArray[np.int64]:
    """Return how many labels are known when each row is scored, at most those of earlier rows."""
    rows = np.arange(n_rows)
    if times is None:
        return np.maximum(rows - checks.whole_number(delay, "delay", 0), 0)
    when = _checked_times(times, n_rows)
    due = when + _checked_delay(delay, when.dtype)
    return np.minimum(np.searchsorted(due, when, side="right"), rows)


def _checked_times(times: ArrayLike, n_rows: int) -> NDArray:
    """Return times as float64, or as datetime64 in microseconds."""
    when = np.asarray(times)
    if when.shape != (n_rows,):
        raise ValueError(f"times must have {n_rows} values, one per row; got shape {when.shape}.")
    if when.dtype.kind == "M" or isinstance(when[0], datetime):
        when = when.astype("datetime64[us]")
        is_sound = not np.isnat(when).any()
    elif when.dtype.kind in "iuf":
        when = checks.finite_vector(when, "times")
        is_sound = True
    else:
        is_sound = False
    if not is_sound:
        raise ValueError("times must be all numbers or all datetimes, without missing ones.")
    falls = np.flatnonzero(when[1:] < when[:-1])
    if falls.size:
        raise ValueError(
            f"times must not decrease; row {falls[0] + 1} is earlier than row {falls[0]}; "
            "sort the rows by time."
        )
    return when


def _checked_delay(delay: Any, kind: np.dtype) -> Any:
    """Return a delay in the unit of times that are numbers, or as a span of time."""
    if kind.kind == "f":
        return checks.number_from(delay, "delay", 0)
    if isinstance(delay, int | float) and delay == 0:  # the default, valid in any unit
        return np.timedelta64(0, "us")
    return span_of(delay, "delay")


# Figures


def _average_precision(
    is_positive: NDArray[np.bool_], suspicion: NDArray[np.float64]
) -> float | None:
    if not is_positive.any():
        return None
    return 1.0 if is_positive.all() else metrics.average_precision(is_positive, suspicion)


def _curve(
    window: Window,
    suspicion: NDArray[np.float64],
    is_positive: NDArray[np.bool_],
    is_error: NDArray[np.bool_],
    every: int,
) -> tuple[CurvePoint, ...]:
    """Return a point every `every` rows, and one at the last row."""
    points = []
    for start in range(0, suspicion.size, every):
        run = slice(start, start + every)
        window.add_batch(suspicion[run], is_positive[run], is_error[run])
        points.append(CurvePoint(min(run.stop, suspicion.size), window.summary()))
    return tuple(points)


def _cells(point: CurvePoint) -> dict[str, Any]:
    cells: dict[str, Any] = {"row": point.row}
    for name, value in point.window._asdict().items():
        if name not in _BOUNDED:
            cells[name] = value
        elif value is not None:
            cells |= {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}
    return cells


_BOUNDED = ("average_precision", "precision_at_budget", "recall_at_budget")
_CURVE_SCHEMA = pa.schema(
    [
        *((name, pa.int64()) for name in ("row", "n_rows", "n_positives", "n_alerts")),
        ("error", pa.float64()),
        *((f"{name}{end}", pa.float64()) for name in _BOUNDED for end in ("", "_low", "_high")),
    ]
)
