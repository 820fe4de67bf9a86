"""Drift detection: old patterns no longer hold, or the rows to score have changed.

Two signals are watched. The loss of labelled rows, taken before they were learned from, rises when
old patterns no longer hold. The share of alerts among scored rows needs no labels and moves when
the rows change. River's detectors read both in blocks of 100 rows:

    row row ... row | row row ... row | row row
    <--- block ---> | <--- block ---> | the open block

A row adds 0 to 1 to its block, the loss as a share of its cap, so no single row raises an alarm.
Since a block is a sum and not a mean, ADWIN's bound, which is for values between 0 and 1, stays
that of the rows themselves.
"""

import reprlib
from collections import deque
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from toprank.data import checks
from toprank.files.state import stored_vector
from toprank.rankers.online.model import Model
from toprank.rankers.online.online_learner import OnlineLearner
from toprank.rankers.online.stream_columns import EncodedEvent

ACTIONS = ("raise-rate", "renew-worst", "none")
MOST_ALARMS = 100

_SIGNALS = ("loss", "alerts")
_STATE = ("detector", "action", "alarms", *_SIGNALS)
_LARGEST_LOSS = 5.0  # of one row; a log-loss of 5 is a probability of 0.7 % for what happened
_BLOCK = 100  # rows
_MOST_BLOCKS = 2000
_KEPT_BLOCKS = 1000
_RATE_TIMES = 4.0
_RECENT = 200  # rows that decide which weak learner is the worst


class Alarm(NamedTuple):
    """An alarm of one signal, "loss" or "alerts", and which of its rows, from 1, raised it."""

    row: int
    signal: str


class DriftWatch:
    """A drift detector for one learner, which it can adapt when the loss of its rows rises.

    An alarm of the share of alerts is only reported: more alerts may be more frauds, which the
    learner is right about, and while labels are delayed the next ones are still of rows from
    before the change. The loss follows once the labels of later rows arrive. After an alarm, its
    signal starts afresh.

    Parameters
    ----------
    learner
        The online learner to watch.
    detector
        "adwin" compares the blocks before every possible moment of change with those after it.
        "page-hinkley" sums up how far blocks are beyond their mean, in units of their spread: it
        is faster for small changes, and needs 20 blocks before its first alarm.
    action
        What an alarm of the loss does. "raise-rate": the learner takes larger steps, as it did
        when it was younger. "renew-worst": the least useful weak learner on the last 200
        labelled rows is reset. "none": the alarm is only reported.

    Attributes
    ----------
    alarms : the last 100 alarms, the oldest first

    Examples
    --------
    >>> from toprank import OnlineNonLinearBoost
    >>> learner = OnlineNonLinearBoost()
    >>> watch = DriftWatch(learner)
    >>> row = learner.encode_one({"amount": 900.0})
    >>> watch.scored(is_alert=learner.score_encoded(row) > 0)
    False
    >>> learner.learn_encoded(row, True)
    >>> watch.labelled(row, True, loss=0.69)
    False
    """

    def __init__(
        self, learner: OnlineLearner, detector: str = "adwin", action: str = "raise-rate"
    ) -> None:
        self.learner = learner
        self.detector = checks.one_of(detector, "detector", tuple(_DETECTORS))
        self.action = checks.one_of(action, "action", ACTIONS)
        self.alarms: list[Alarm] = []
        # the share of alerts may move either way; a falling loss is normal learning
        self._signals = {name: _Signal(detector, only_rises=name == "loss") for name in _SIGNALS}
        self._recent: deque[tuple[EncodedEvent, int]] = deque(maxlen=_RECENT)

    def scored(self, is_alert: bool) -> bool:
        """Record a scored row; return whether it raised an alarm."""
        if is_alert not in (True, False):
            raise ValueError(f"is_alert must be True or False; got {is_alert!r}.")
        return self._is_alarm("alerts", float(is_alert))

    def labelled(self, row: EncodedEvent, label: Any, loss: float) -> bool:
        """Record a row that was learned from; return whether it raised an alarm (and acted).

        `loss` is that of the row before its label was known, usually the log-loss; values
        above 5 count as 5.
        """
        loss = checks.number_from(loss, "loss", 0)
        if self.action == "renew-worst":
            self._recent.append((row, self._place(label)))
        is_alarm = self._is_alarm("loss", min(loss, _LARGEST_LOSS) / _LARGEST_LOSS)
        if is_alarm:
            self._act()
        return is_alarm

    def n_labels_left(self) -> int:
        """Return how many labels may come, the last one included, until an action is possible."""
        return _BLOCK - self._signals["loss"].n_rows % _BLOCK

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray]]:
        """Return the settings and counts, which are JSON, and arrays for `from_state`."""
        state = {
            "detector": self.detector,
            "action": self.action,
            "alarms": [list(alarm) for alarm in self.alarms],
            **{name: signal.to_state() for name, signal in self._signals.items()},
        }
        arrays = {f"{name}_blocks": np.array(each.blocks) for name, each in self._signals.items()}
        if self._recent:
            rows, places = self._recent_rows()
            arrays |= {
                "recent_values": rows.values,
                "recent_buckets": rows.buckets,
                "recent_places": places,
            }
        return state, arrays

    @classmethod
    def from_state(
        cls, learner: OnlineLearner, state: dict[str, Any], arrays: Mapping[str, NDArray]
    ) -> Self:
        """Return the watch that `to_state` described; raises ValueError if the state is invalid.

        It resumes exactly where it stopped.
        """
        if not isinstance(state, dict) or set(state) != set(_STATE):
            names = ", ".join(_STATE)
            raise ValueError(f"state of a watch must be {names}; got {reprlib.repr(state)}.")
        try:
            watch = cls(learner, state["detector"], state["action"])
            watch.alarms = _checked_alarms(state["alarms"])
            for name, signal in watch._signals.items():
                signal.restore(name, state[name], arrays)
        except TypeError as error:
            raise ValueError(str(error)) from error
        if watch.action == "renew-worst" and "recent_values" in arrays:
            watch._recent.extend(_stored_recent(learner, arrays))
        return watch

    def _is_alarm(self, name: str, value: float) -> bool:
        signal = self._signals[name]
        if not signal.has_changed_by(value):
            return False
        self.alarms.append(Alarm(signal.n_rows, name))
        del self.alarms[:-MOST_ALARMS]
        return True

    def _act(self) -> None:
        if self.action == "raise-rate":
            self.learner.model_.raise_rate(_RATE_TIMES)
        elif self.action == "renew-worst":
            self.learner.model_.renew_worst(*self._recent_rows())

    def _place(self, label: Any) -> int:
        place = self.learner.model_.classes.places.get(label)
        if place is None:
            raise ValueError(
                f"label must be one that the learner has learned from; got {label!r}; call "
                "learn_encoded first."
            )
        return place

    def _recent_rows(self) -> tuple[EncodedEvent, NDArray[np.int64]]:
        # columns may have been added since a row was encoded
        rows = [self.learner.model_.padded(row) for row, _ in self._recent]
        places = np.array([place for _, place in self._recent], dtype=np.int64)
        return EncodedEvent(*(np.concatenate(cells) for cells in zip(*rows, strict=True))), places


class _Signal:
    """Values of rows, each between 0 and 1, summed in blocks that a detector reads.

    The state of the detector is that of a new one that has read `blocks`, so a file needs to keep
    only these. When there are too many, a new detector reads the later half.
    """

    def __init__(self, detector: str, only_rises: bool) -> None:
        self.n_rows = 0
        self.blocks: list[float] = []
        self._open = 0.0
        self._new_detector = partial(_DETECTORS[detector], only_rises)
        self._read([])

    def has_changed_by(self, value: float) -> bool:
        """Record the value of a row; return whether the detector has found a change."""
        self.n_rows += 1
        self._open += value
        if self.n_rows % _BLOCK:
            return False
        block, self._open = self._open, 0.0
        if self._detector.has_changed_by(block):
            self._read([])
            return True
        self.blocks.append(block)
        if len(self.blocks) == _MOST_BLOCKS:
            self._read(self.blocks[-_KEPT_BLOCKS:])
        return False

    def to_state(self) -> dict[str, Any]:
        return {"n_rows": self.n_rows, "open": self._open}

    def restore(self, name: str, state: Any, arrays: Mapping[str, NDArray]) -> None:
        """Restore the stored state of the signal `name`; raises ValueError if it is invalid."""
        if not isinstance(state, dict) or set(state) != {"n_rows", "open"}:
            raise ValueError(f"{name} must have n_rows and open; got {reprlib.repr(state)}.")
        self.n_rows = checks.whole_number(state["n_rows"], f"n_rows of {name}", 0, 2**53)
        n_open = self.n_rows % _BLOCK
        self._open = checks.number_from(state["open"], f"open of {name}", 0, n_open)
        blocks = stored_vector(arrays, f"{name}_blocks", np.float64)
        most = min(_MOST_BLOCKS - 1, self.n_rows // _BLOCK)
        if blocks.size > most:
            raise ValueError(
                f"array '{name}_blocks' must have at most {most} values; got {blocks.size}."
            )
        if not ((blocks >= 0) & (blocks <= _BLOCK)).all():
            raise ValueError(f"array '{name}_blocks' must contain sums between 0 and {_BLOCK}.")
        self._read(blocks.tolist())

    def _read(self, blocks: list[float]) -> None:
        """Start afresh with these blocks; changes found among them are not reported again."""
        self.blocks, self._detector = blocks, self._new_detector()
        for block in blocks:
            self._detector.has_changed_by(block)


class _Adwin:
    """River's ADWIN; with `only_rises`, a falling mean raises no alarm."""

    def __init__(self, only_rises: bool) -> None:
        self._only_rises = only_rises
        # there are few blocks, so check after each; a single one is not a change; and the share
        # of alerts varies a little as the learner learns, which is not one either
        self._window = _river_drift().ADWIN(
            delta=0.002 if only_rises else 1e-4, clock=1, min_window_length=2, grace_period=10
        )

    def has_changed_by(self, block: float) -> bool:
        mean_before = self._window.estimation
        self._window.update(block)
        if not self._window.drift_detected:
            return False
        return not self._only_rises or self._window.estimation > mean_before


class _PageHinkley:
    """River's Page-Hinkley test, its settings in units of how much blocks differ by chance.

    River's defaults, 0.005 and 50, assume a certain scale. Here the first 20 blocks give it:
    the root of half the mean square of the differences of neighbours, on which steady improvement
    of the learner has little effect.
    """

    n_first = 20
    shift = 1.0  # blocks within this distance of the mean are ignored
    threshold = 10.0  # of the sum of the distances beyond that
    least_scale = 0.5  # in rows, if the first blocks hardly differ

    def __init__(self, only_rises: bool) -> None:
        self._mode = "up" if only_rises else "both"
        self._drift = _river_drift()
        self._first: list[float] = []
        self._test: Any = None

    def has_changed_by(self, block: float) -> bool:
        if self._test is not None:
            self._test.update(block)
            return bool(self._test.drift_detected)
        self._first.append(block)
        if len(self._first) == self.n_first:
            self._begin_test()
        return False

    def _begin_test(self) -> None:
        by_chance = float(np.sqrt(np.mean(np.diff(self._first) ** 2) / 2))
        scale = max(by_chance, self.least_scale)
        self._test = self._drift.PageHinkley(
            min_instances=1,
            delta=self.shift * scale,
            threshold=self.threshold * scale,
            mode=self._mode,
        )
        for block in self._first:
            self._test.update(block)


_DETECTORS: dict[str, type[_Adwin] | type[_PageHinkley]] = {
    "adwin": _Adwin,
    "page-hinkley": _PageHinkley,
}


def _river_drift() -> Any:
    try:
        from river import drift
    except ImportError:
        raise ImportError(
            "drift detection needs River, which is not installed; "
            "install it with: pip install 'toprank[river]'."
        ) from None
    return drift


def _checked_alarms(stored: Any) -> list[Alarm]:
    if not isinstance(stored, list) or len(stored) > MOST_ALARMS:
        raise ValueError(
            f"alarms must be a list of at most {MOST_ALARMS}; got {reprlib.repr(stored)}."
        )
    alarms = []
    for each in stored:
        if not isinstance(each, list) or len(each) != 2:
            raise ValueError(f"an alarm must be a row and a signal; got {reprlib.repr(each)}.")
        row = checks.whole_number(each[0], "row of an alarm", 1, 2**53)
        alarms.append(Alarm(row, checks.one_of(each[1], "signal of an alarm", _SIGNALS)))
    return alarms


def _stored_recent(
    learner: OnlineLearner, arrays: Mapping[str, NDArray]
) -> list[tuple[EncodedEvent, int]]:
    if not hasattr(learner, "model_"):
        raise ValueError("recent rows need the learner that has learned from them.")
    values, buckets = arrays["recent_values"], arrays.get("recent_buckets")
    if buckets is None or values.ndim != 2 or values.shape != buckets.shape:
        raise ValueError("recent_values and recent_buckets must be tables of the same size.")
    places = stored_vector(arrays, "recent_places", np.int64, len(values))
    _check_recent(learner.model_, values, buckets, places)
    values, buckets = np.ascontiguousarray(values), np.ascontiguousarray(buckets)
    rows = [EncodedEvent(values[i : i + 1], buckets[i : i + 1]) for i in range(len(values))]
    return list(zip(rows, places.tolist(), strict=True))


def _check_recent(model: Model, values: NDArray, buckets: NDArray, places: NDArray) -> None:
    """Raise for values that would break the compiled loop, which trusts its input."""
    n_columns = len(model.columns)
    if values.dtype != np.float64 or buckets.dtype != np.int32:
        raise ValueError(
            "recent_values must be float64 and recent_buckets int32; "
            f"got {values.dtype} and {buckets.dtype}."
        )
    if not 0 < len(values) <= _RECENT or values.shape[1] > n_columns:
        raise ValueError(
            f"recent_values must be 1 to {_RECENT} rows of at most {n_columns} columns; "
            f"got sizes {values.shape}."
        )
    if buckets.min(initial=-1) < -1 or buckets.max(initial=-1) >= model.shape.n_buckets:
        raise ValueError(
            f"recent_buckets must be between -1 and {model.shape.n_buckets - 1}; "
            f"got {buckets.min()} to {buckets.max()}."
        )
    if np.isinf(values).any():
        raise ValueError("recent_values must be finite numbers or NaN.")
    if places.min() < 0 or places.max() > model.shape.n_outputs:
        raise ValueError(
            f"recent_places must be between 0 and {model.shape.n_outputs}; "
            f"got {places.min()} to {places.max()}."
        )
