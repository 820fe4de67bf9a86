"""The state of an online booster: columns, classes and weights."""

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from toprank.data import checks
from toprank.rankers.online import online_kernel
from toprank.rankers.online import weights as all_weights
from toprank.rankers.online.classes import Classes
from toprank.rankers.online.steps import Scores, Steps
from toprank.rankers.online.stream_columns import EncodedEvent, StreamColumns, checked_names

_NOT_SCORED = np.empty(0, dtype=np.int64)
_COPIES_AT_ONCE = 256
_MOST_WEIGHTS = 2**27  # a gigabyte
_LARGEST_WEIGHT = 1e30  # steps are at most the learning rate, itself at most a million
_SEEN_PER_COLUMN = ("n_values", "mean", "spread", "is_flag", "n_next", "mean_next", "spread_next")


class Model:
    """Columns, classes and weights, which grow as new columns and classes appear."""

    weights: online_kernel.Weights
    seen: online_kernel.SeenValues

    def __init__(
        self,
        shape: online_kernel.Shape,
        classes: Classes,
        class_weight: Mapping[Any, float] | None = None,
    ):
        self.shape = shape
        self.classes = classes
        self.class_weight = class_weight
        self.columns = StreamColumns(shape.n_buckets)
        self.scale = 0.0
        self.n_renewed = 0
        self._has_weights = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickle; read-only (memory-mapped) arrays are copied, so that it can learn."""
        vars(self).update(state)
        self.weights = online_kernel.Weights(*map(_writeable, self.weights))
        self.seen = online_kernel.SeenValues(*map(_writeable, self.seen))

    @property
    def n_rows(self) -> int:
        """How many rows have been learned from."""
        return int(self.seen.averaging[1]) if self._has_weights else 0

    def add_columns(self, names: Iterable[Any]) -> None:
        """Add the new ones among these columns."""
        new = self.columns.new_among(names)
        _check_size(self.shape, len(self.columns) + len(new))
        self.columns.add(new)
        if not self._has_weights:
            self._has_weights = True
            self.scale = all_weights.unit_scale(len(self.columns))
            self.weights = all_weights.fresh(self.shape, self.columns.names, self.scale)
            self.seen = _nothing_seen(self.shape, len(self.columns))
        elif new:
            self.weights = all_weights.with_columns(self.weights, self.shape, new, self.scale)
            self.seen = _with_columns(self.seen, len(new))

    def learn(
        self, rows: EncodedEvent, places: NDArray[np.int64], row_weights: NDArray[np.float64]
    ) -> None:
        """Learn from rows in their order; a class is added at the row where it first appears."""
        rows = self.padded(rows)
        for part in self._slices_of_same_outputs(places):
            self.add_outputs(int(places[part][0]))
            self._run(rows.take(part), places[part], row_weights[part])

    def score_and_learn(
        self,
        rows: EncodedEvent,
        places: NDArray[np.int64],
        row_weights: NDArray[np.float64],
        n_known: NDArray[np.int64],
    ) -> Scores:
        """Learn from rows in their order; return the scores they got on the way.

        For each row, `n_known` says how many of the first rows are learned before it is scored.
        If new classes appear on the way, these must be all rows before it.
        """
        rows = self.padded(rows)
        n_outputs = max(int(places.max(initial=0)), self.shape.n_outputs)
        # a class not seen yet has probability 0: exp(-inf)
        scores = Scores(np.full((len(places), n_outputs), -np.inf), np.zeros(len(places)))
        n_slow = self._rows_until_all_classes_known(places)
        for i in range(n_slow):
            own = slice(i, i + 1)
            raw = self.raw(rows.take(own)) if self.n_rows else 0.0
            scores.raw[i, : self.shape.n_outputs] = raw
            self.learn(rows.take(own), places[own], row_weights[own])
        rest = slice(n_slow, None)
        last, known = rows.take(rest), n_known[rest] - n_slow
        fast = Scores(np.empty((known.size, self.shape.n_outputs)), np.empty(known.size))
        self._run(last, places[rest], row_weights[rest], last, known, fast)
        scores.raw[rest], scores.log_odds[rest] = fast
        return scores

    def take_steps(self, steps: Steps, scores: Scores, first: int, highest: float) -> int:
        """Score rows and learn from others in turn, from scored row `first` on.

        See `online_kernel.learn` for where it stops and what it returns. All classes of the steps
        are known.
        """
        row_weights = np.ones(steps.places.size)
        scored = self.padded(steps.scored)
        return self._run(
            steps.learned, steps.places, row_weights, scored, steps.n_known, scores, first, highest
        )

    def raw(self, rows: EncodedEvent, left_out: int = -1) -> NDArray[np.float64]:
        """Return the raw scores of rows, (row, output); one weak learner may be left out."""
        rows = self.padded(rows)
        raw = np.empty((len(rows.values), self.shape.n_outputs))
        online_kernel.score(*rows, self.shape, self.weights, self.seen, left_out, raw)
        return raw

    def scoring_head(self) -> NDArray[np.float64]:
        """Return the head that scores: as it is now, or its average over the rows."""
        head = np.empty_like(self.weights.head)
        online_kernel.fill_head(self.shape, self.weights, self.seen, head)
        return head

    def weak_outputs(self, rows: EncodedEvent) -> NDArray[np.float64]:
        """Return each weak learner's output for each row, (row, learner, output)."""
        rows = self.padded(rows)
        sizes = (len(rows.values), self.shape.n_learners, self.shape.n_outputs)
        outputs = np.empty(sizes)
        online_kernel.weak_outputs(*rows, self.shape, self.weights, self.seen, outputs)
        return outputs

    def log_loss(self, rows: EncodedEvent, places: NDArray[np.int64], left_out: int = -1) -> float:
        """Return the mean log-loss of the raw scores of labelled rows."""
        raw = self.raw(rows, left_out)
        against = np.column_stack([np.zeros(len(raw)), raw])
        return float(np.mean(logsumexp(against, axis=1) - against[np.arange(len(raw)), places]))

    def raise_rate(self, times: float) -> None:
        """Make the next steps larger: Adagrad forgets part of its sums of gradients."""
        weights = self.weights
        for squares in (weights.units_squares, weights.head_squares, weights.wide_squares):
            squares /= times * times

    def renew_worst(self, rows: EncodedEvent, places: NDArray[np.int64]) -> int:
        """Reset the weak learner without which these rows have the least loss; return it."""
        losses = [self.log_loss(rows, places, t) for t in range(self.shape.n_learners)]
        worst = int(np.argmin(losses))
        self.n_renewed += 1
        all_weights.renew_learner(self.weights, self.shape, worst, self.scale, self.n_renewed)
        return worst

    def padded(self, rows: EncodedEvent) -> EncodedEvent:
        """Return rows with the columns added since they were encoded, as missing values."""
        n_new = len(self.columns) - rows.values.shape[1]
        if n_new == 0:
            return rows
        missing = self.columns.encode_one({})
        later = EncodedEvent(missing.values[:, -n_new:], missing.buckets[:, -n_new:])
        later = later.take(np.zeros(len(rows.values), dtype=np.int64))
        return EncodedEvent(
            np.hstack([rows.values, later.values]), np.hstack([rows.buckets, later.buckets])
        )

    def _run(
        self,
        rows: EncodedEvent,
        places: NDArray[np.int64],
        row_weights: NDArray[np.float64],
        scored: EncodedEvent | None = None,
        n_known: NDArray[np.int64] = _NOT_SCORED,
        scores: Scores | None = None,
        first: int = 0,
        highest: float = np.inf,
    ) -> int:
        """Learn from rows whose classes are all known, and fill the scores of others."""
        labels = online_kernel.LabelTally(places, row_weights, self._class_weights())
        scores = scores or Scores(np.empty((0, self.shape.n_outputs)), np.empty(0))
        return online_kernel.learn(
            rows, labels, rows if scored is None else scored, n_known, first, highest,
            self.shape, self.weights, self.seen, *scores,
        )  # fmt: skip

    def _class_weights(self) -> NDArray[np.float64]:
        """Return the weight of each class, by place."""
        weights = np.ones(1 + self.shape.n_outputs)
        for label, weight in (self.class_weight or {}).items():
            place = self.classes.places.get(label)
            if place is not None and place < weights.size:  # others are added at a later row
                weights[place] = weight
        return weights

    def _rows_until_all_classes_known(self, places: NDArray[np.int64]) -> int:
        """Return the number of rows up to the one where the last new class appears."""
        if places.max(initial=0) <= self.shape.n_outputs:
            return 0
        return max(part.start for part in self._slices_of_same_outputs(places)) + 1

    def _slices_of_same_outputs(self, places: NDArray[np.int64]) -> Iterator[slice]:
        """Yield slices of rows, each new one starting where a new class appears."""
        if not places.size:
            return
        if places.size == 1 or places.max() <= self.shape.n_outputs:
            yield slice(0, places.size)
            return
        n_outputs = np.maximum.accumulate(np.maximum(places, self.shape.n_outputs))
        starts = np.flatnonzero(np.diff(n_outputs, prepend=self.shape.n_outputs))
        for start, stop in pairwise([0, *starts.tolist(), places.size]):
            if start < stop:
                yield slice(start, stop)

    def raw_without_each_column(self, row: EncodedEvent) -> NDArray[np.float64]:
        """Return the raw scores of a row, each without one of the columns, in their order."""
        row = self.padded(row)
        raw = []
        for start in range(0, len(self.columns), _COPIES_AT_ONCE):
            left_out = np.arange(start, min(start + _COPIES_AT_ONCE, len(self.columns)))
            copies = row.take(np.zeros(left_out.size, dtype=np.int64))
            own = np.arange(left_out.size), left_out
            # neither a number nor a bucket: the kernel ignores the column
            copies.values[own], copies.buckets[own] = np.nan, -1
            raw.append(self.raw(copies))
        return np.concatenate(raw)

    def add_outputs(self, n_outputs: int) -> None:
        """Add outputs for new classes."""
        if n_outputs <= self.shape.n_outputs:
            return
        before = self.shape
        grown = before._replace(n_outputs=n_outputs, is_calibrated=False)
        _check_size(grown, len(self.columns))
        self.weights = all_weights.with_outputs(self.weights, before, grown)
        self.shape = grown
        new = np.zeros(n_outputs - before.n_outputs)
        fresh = _nothing_seen(self.shape, 0).calibration
        self.seen = self.seen._replace(rows=np.append(self.seen.rows, new), calibration=fresh)

    # To and from files

    def arrays(self) -> dict[str, NDArray]:
        """Return the arrays a file keeps."""
        return {**self.weights._asdict(), **self.seen._asdict()}

    def state(self) -> dict[str, Any]:
        """Return what a file keeps in addition to the arrays."""
        return {
            "columns": self.columns.names,
            "classes": [list(pair) for pair in self.classes.places.items()],
            "positive": self.classes.positive_label,
            "scale": self.scale,
            "seed": self.shape.seed,
            "n_renewed": self.n_renewed,
        }

    @classmethod
    def restored(
        cls,
        shape: online_kernel.Shape,
        classes: Classes,
        class_weight: Mapping[Any, float] | None,
        state: dict[str, Any],
        arrays: Mapping[str, Any],
    ) -> Self:
        """Return the model of a file; raises ValueError if its parts do not fit together."""
        model = cls(shape, classes, class_weight)
        model.add_columns(checked_names(state["columns"]))
        model.scale = checks.number_above(state["scale"], "scale", 0, 2)
        model.n_renewed = checks.whole_number(state["n_renewed"], "n_renewed", 0)
        model.add_outputs(classes.n_outputs)
        arrays = _with_later_arrays(arrays, model)
        model.weights = online_kernel.Weights(*_matching(model.weights, arrays))
        model.seen = online_kernel.SeenValues(*_matching(model.seen, arrays))
        _check_seen(model.seen, arrays)
        return model


def _writeable(array: NDArray) -> NDArray:
    return np.require(np.asarray(array), requirements="W")


def _check_size(shape: online_kernel.Shape, n_columns: int) -> None:
    n_inputs, n_units = shape.n_buckets + n_columns, shape.n_learners * shape.width
    n_wide = n_inputs * shape.n_outputs if shape.is_wide else 0
    n_weights = n_inputs * n_units + all_weights.head_size(shape) + n_wide
    if n_weights > _MOST_WEIGHTS:
        raise ValueError(
            f"n_learners, width, n_latents and n_buckets must give at most {_MOST_WEIGHTS:,} "
            f"weights; got {n_weights:,}; lower one of them."
        )


def _nothing_seen(shape: online_kernel.Shape, n_columns: int) -> online_kernel.SeenValues:
    return online_kernel.SeenValues(
        n_values=np.zeros(n_columns),
        mean=np.zeros(n_columns),
        spread=np.zeros(n_columns),
        is_flag=np.ones(n_columns, dtype=bool),
        n_next=np.zeros(n_columns),
        mean_next=np.zeros(n_columns),
        spread_next=np.zeros(n_columns),
        rows=np.zeros(1 + shape.n_outputs),
        averaging=np.zeros(2),
        ranked=np.zeros((2, 2 * online_kernel.HALF_BINS)),
        calibration=np.array([1.0, 0.0, 0.0, 0.0]),
    )


def _with_columns(seen: online_kernel.SeenValues, n_new: int) -> online_kernel.SeenValues:
    new = {
        name: np.append(array, np.full(n_new, name == "is_flag", dtype=array.dtype))
        for name, array in seen._asdict().items()
        if name in _SEEN_PER_COLUMN
    }
    return seen._replace(**new)


def _with_later_arrays(arrays: Mapping[str, Any], model: Model) -> Mapping[str, Any]:
    """Return the arrays of a file; those of earlier versions do not have all of them."""
    nothing = np.zeros(len(model.columns))
    all_seen = np.full(len(model.columns), online_kernel.NEXT_VALUES)
    later = {"n_next": all_seen, "mean_next": nothing, "spread_next": nothing}
    if not model.shape.is_wide:
        later |= {name: array for name, array in model.arrays().items() if "wide" in name}
    missing = {name: array for name, array in later.items() if name not in arrays}
    return ChainMap(missing, arrays)  # type: ignore[arg-type]


def _matching(like: Any, arrays: Mapping[str, Any]) -> list[NDArray]:
    """Return the arrays named like the fields, checked to be of their sizes and kinds."""
    found = []
    for name, expected in like._asdict().items():
        array = arrays[name]
        if array.shape != expected.shape or array.dtype != expected.dtype:
            raise ValueError(
                f"{name} must be {expected.dtype} of sizes {expected.shape}; "
                f"got {array.dtype} of {array.shape}."
            )
        if not np.isfinite(array).all():
            raise ValueError(f"{name} must contain finite numbers.")
        found.append(np.ascontiguousarray(array))
    return found


def _check_seen(seen: online_kernel.SeenValues, arrays: Mapping[str, Any]) -> None:
    counted = ("n_values", "spread", "n_next", "spread_next", "rows", "averaging", "ranked")
    squared = ("units_squares", "head_squares", "wide_squares")
    for name in (*counted, *squared):
        if (arrays[name] < 0).any():
            raise ValueError(f"{name} must not be negative.")
    _check_bounded(seen, arrays)
    if seen.calibration[0] <= 0 or (seen.calibration[2:] < 0).any():
        raise ValueError("calibration must have a positive slope and sums that are not negative.")


def _check_bounded(seen: online_kernel.SeenValues, arrays: Mapping[str, Any]) -> None:
    """Raise for weights so large that products of them would overflow into infinite scores."""
    total, n_rows = seen.averaging
    if total < n_rows:
        raise ValueError("averaging must be the sum of whole powers; it is less than the rows.")
    for name in ("units", "head", "wide", "calibration"):
        if (np.abs(arrays[name]) > _LARGEST_WEIGHT).any():
            raise ValueError(f"{name} must be at most {_LARGEST_WEIGHT:g} in size.")
    for name in ("units_past", "head_past", "wide_past"):
        if (np.abs(arrays[name]) > _LARGEST_WEIGHT * max(total, 1.0)).any():
            raise ValueError(f"{name} must be at most {_LARGEST_WEIGHT:g} per row.")
