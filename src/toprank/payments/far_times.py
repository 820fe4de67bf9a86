"""Times that cannot be right: far after all other rows, or in the future.

What a history keeps and forgets follows its newest row, so one row with a wrong year must not
become that row. A time counts as wrong

- if it is far after the bulk of its table and after the end of the history: by more than 30 days,
  and by more than twice the longest pause among the other rows; at most 1 % of the rows can be;
- if it is more than a day after the clock of this computer, while the bulk of the rows is not.

Where the bulk itself is ahead of the clock, as in a simulated world, only the first rule applies.
"""

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.data.tables import TableError, TableWarning
from toprank.data.tables.spans import DAY
from toprank.data.tables.times import shown_moment
from toprank.wording import plural

Times = NDArray[np.datetime64]

FAR = 30 * DAY
AHEAD = DAY
"""What a clock may be wrong by: local times are taken as UTC, which is up to 14 hours away."""
_LEAST_ROWS = 20  # fewer do not show what is usual
_SHARE = 100  # one row of so many may be wrong
_SHOWN = 5


class Bulk(NamedTuple):
    """The time of the last row of the bulk, and how far after it a time cannot be right."""

    end: np.datetime64
    far: np.timedelta64


def bulk_of(times: Times) -> Bulk:
    """Return where the bulk of some rows ends; of fewer than 20 rows, half are the bulk.

    >>> days = np.datetime64("2025-03-01", "us") + np.arange(99) * DAY
    >>> str(bulk_of(np.append(days, np.datetime64("2099-01-01", "us"))).end)
    '2025-06-07T00:00:00.000000'
    """
    rising = np.sort(times)
    if rising.size < _LEAST_ROWS:
        return Bulk(rising[(rising.size - 1) // 2], np.timedelta64(np.iinfo(np.int64).max, "us"))
    rest = rising[: -max(1, rising.size // _SHARE)]
    return Bulk(rest[-1], max(FAR, 2 * np.diff(rest).max()))


def are_wrong(
    times: Times, until: np.datetime64 | None = None, now: np.datetime64 | None = None
) -> NDArray[np.bool_]:
    """Return which rows of a table have a time that cannot be right.

    `until` is the end of the history that the table would be added to, `now` the clock's time.
    """
    if not times.size:
        return np.zeros(0, dtype=bool)
    end, far = bulk_of(times)
    end = end if until is None else max(end, until)
    today = _today(now)
    is_far = times - end > far
    is_ahead = times > today
    return is_far | is_ahead if end <= today else is_far | (is_ahead & (times - end > FAR))


def without_wrong(
    times: Times, name: str, until: np.datetime64 | None = None, n_before: int = 0
) -> NDArray[np.bool_] | None:
    """Return which rows to keep, with a warning of the others; None if all are.

    `n_before` is the number of rows that came before this table in the same file.
    """
    is_wrong = are_wrong(times, until)
    n_wrong = int(is_wrong.sum())
    if times.size and np.median(times.view(np.int64)) > _today().view(np.int64):
        warnings.warn(
            f"most times of {name!r} are later than this computer's clock; they are taken as "
            "they are.",
            TableWarning,
            stacklevel=3,
        )
    if not n_wrong:
        return None
    rows = np.flatnonzero(is_wrong)[:_SHOWN]
    numbers = ", ".join(str(row + n_before + 1) for row in rows.tolist())
    others = ", ..." if n_wrong > _SHOWN else ""
    warnings.warn(
        f"{n_wrong:,} {plural('row', n_wrong)} ({numbers}{others}) set aside: {name!r} is "
        f"{shown_moment(times[rows[0]])}, in the future or far after the other rows; nothing was "
        "learned, listed or remembered from there; correct the times and try again.",
        TableWarning,
        stacklevel=3,
    )
    return ~is_wrong


def check_file(times: Times, name: str, until: np.datetime64 | None) -> None:
    """Raise if a table to remember is in the future as a whole, far after its history."""
    if until is None or not times.size:
        return
    middle = np.sort(times)[times.size // 2]
    if middle > _today() and middle - until > FAR:
        raise TableError(
            f"most rows to remember have a {name!r} in the future, such as "
            f"{shown_moment(middle)}, and the history ends at {shown_moment(until)}; nothing was "
            "remembered; correct the times, or rank without remembering (--remember)."
        )


def check_one(time: np.datetime64, name: str, until: np.datetime64 | None) -> None:
    """Raise if the time of one payment to remember is in the future, far after its history."""
    if until is None or time <= _today():
        return
    if until <= _today() or time - until > FAR:
        raise TableError(
            f"{name} must not be in the future; got {shown_moment(time)}, while the history ends "
            f"at {shown_moment(until)}; the payment was not remembered; correct its time."
        )


def _today(now: np.datetime64 | None = None) -> np.datetime64:
    """Return the latest moment that is not in the future."""
    return (np.datetime64("now", "us") if now is None else now) + AHEAD
