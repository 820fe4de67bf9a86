"""What the features ask: of the events of each key, of labels, and of the row itself."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.payments.features import window_kernel
from toprank.payments.features.kinds import (
    OF_LABELS,
    Feature,
    FirstTime,
    Key,
    KnownPositives,
    LabelRisk,
    Night,
    Recent,
    SinceLast,
    ToUsual,
    Value,
    Weekend,
    microseconds,
)

LABEL = "label"  # the one column of the events that labels are

_WHAT = {
    "count": window_kernel.COUNT,
    "sum": window_kernel.SUM,
    "mean": window_kernel.MEAN,
    "max": window_kernel.LARGEST,
    "distinct": window_kernel.DISTINCT,
    "share": window_kernel.SHARE,
}


class Asked(NamedTuple):
    """One feature as the kernel takes it, except for the column, which is a name here."""

    what: int
    column: Any
    window: int
    delay: int
    is_own: bool
    out: int


class LabelTimes(NamedTuple):
    """From when on labels count, and which: microseconds after their row.

    No label counts before `least`. One that was given without a time counts from `assumed` on.
    """

    least: int
    assumed: int
    only_positives: bool = False


class Questions(NamedTuple):
    """All that a set of features asks, and the columns needed to answer it."""

    keys: list[Key]
    numbers: list[str]  # columns of numbers
    coded: list[str]  # columns whose distinct values are counted
    of_rows: dict[Key, list[Asked]]
    of_labels: dict[tuple[Key, LabelTimes], list[Asked]]
    own: NDArray[np.int64]  # features of the row itself, as `window_kernel.fill_own` takes them


def questions_of(features: Sequence[Feature]) -> Questions:
    """Return what features ask; the answer to each goes to its place among them.

    >>> questions = questions_of([Value("amount"), Recent("distinct", "card", "1d", of="shop")])
    >>> questions.keys, questions.numbers, questions.coded
    (['card'], ['amount'], ['shop'])
    """
    of_rows: dict[Key, list[Asked]] = {}
    of_labels: dict[tuple[Key, LabelTimes], list[Asked]] = {}
    for out, each in enumerate(features):
        if isinstance(each, OF_LABELS):
            what = _WHAT[each.what] if isinstance(each, LabelRisk) else window_kernel.COUNT
            asked = Asked(what, LABEL, _length(each.window), 0, False, out)
            of_labels.setdefault((each.key, _label_times(each)), []).append(asked)
        elif isinstance(each, Recent | ToUsual | SinceLast | FirstTime):
            of_rows.setdefault(each.key, []).append(_asked(each, out))
    coded = {_column_of(each) for each in features if _is_distinct(each)}
    numbers = {_column_of(each) for each in features if not _is_distinct(each)} - {""}
    keys = dict.fromkeys(each.key for each in features if hasattr(each, "key"))
    own = _own_of(features, sorted(numbers))
    return Questions(list(keys), sorted(numbers), sorted(coded), of_rows, of_labels, own)


def _asked(feature: Recent | ToUsual | SinceLast | FirstTime, out: int) -> Asked:
    if isinstance(feature, Recent):
        is_own = feature.until == "row"
        delay = 0 if is_own else 1  # the moment before is a microsecond earlier
        if feature.until not in ("row", "before"):
            delay = microseconds(feature.until, "until")
        what, window = _WHAT[feature.what], _length(feature.window)
        return Asked(what, feature.of, window, delay, is_own, out)
    if isinstance(feature, ToUsual):
        return Asked(window_kernel.RATIO, feature.of, _length(feature.window), 1, False, out)
    what = window_kernel.SINCE if isinstance(feature, SinceLast) else window_kernel.FIRST
    return Asked(what, None, 0, 0, True, out)


def _label_times(feature: LabelRisk | KnownPositives) -> LabelTimes:
    delay = microseconds(feature.delay, "delay")
    if isinstance(feature, KnownPositives):
        return LabelTimes(0, delay, only_positives=True)
    return LabelTimes(delay, delay)


def _own_of(features: Sequence[Feature], numbers: list[str]) -> NDArray[np.int64]:
    own = []
    for out, each in enumerate(features):
        if isinstance(each, Value):
            own.append((window_kernel.VALUE, numbers.index(each.of), 0, out))
        elif isinstance(each, Weekend):
            own.append((window_kernel.WEEKEND, 0, 0, out))
        elif isinstance(each, Night):
            own.append((window_kernel.NIGHT, each.start, each.stop, out))
    return np.array(own, dtype=np.int64).reshape(-1, window_kernel.N_OWN_FIELDS)


def _length(window: str | None) -> int:
    return window_kernel.ALL if window is None else microseconds(window, "window")


def _is_distinct(feature: Any) -> bool:
    return isinstance(feature, Recent) and feature.what == "distinct"


def _column_of(feature: Feature) -> str:
    return getattr(feature, "of", None) or ""
