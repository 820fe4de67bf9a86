"""Events per key in order of time, and what windows over them hold.

All keys share one pool; a key's events lie together in order of time, those of equal time in the
order they came, with room for more behind them:

    pool = [key 0: event event event room room | key 1: event room | ... | free]

Sums are differences of running totals. A total is two floats, the second what rounding took from
the first, so a difference is right to the last bit or two however long the stream has been. What
is purged stays in the totals a key begins with.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

# what a window gives
COUNT, SUM, MEAN, SHARE, RATIO, LARGEST, DISTINCT, SINCE, FIRST = range(9)
ALL = -1  # the window over everything before

# a query is a row of whole numbers for each window that is asked:
# what it gives; of which column of values, or of codes for DISTINCT; its length in microseconds
# or ALL; how long before the row it ends; whether it holds the row itself, and of other rows of
# that moment those that came before; and where the answer goes
N_QUERY_FIELDS = 6
_WHAT, _COLUMN, _WINDOW, _DELAY, _IS_OWN, _OUT = range(N_QUERY_FIELDS)

# what a row tells by itself: what, its column or the first hour, the hour of the end, out
VALUE, WEEKEND, NIGHT = range(3)
N_OWN_FIELDS = 4

_SECOND = 1_000_000  # microseconds
_HOUR = 3600 * _SECOND
_DAY = 24 * _HOUR


class Events(NamedTuple):
    """The arrays of the pool: by key, then by place in the pool."""

    start: NDArray[np.int64]
    size: NDArray[np.int64]
    room: NDArray[np.int64]
    purged: NDArray[np.int64]  # how many events the key has lost at its old end
    base_total: NDArray[np.float64]  # value, key: the totals before the first event kept
    base_rest: NDArray[np.float64]
    base_known: NDArray[np.int64]
    time: NDArray[np.int64]
    values: NDArray[np.float64]  # value, place: NaN where missing
    total: NDArray[np.float64]  # value, place: up to and with this event
    rest: NDArray[np.float64]
    known: NDArray[np.int64]  # how many values are not missing
    codes: NDArray[np.int32]  # coded column, place: -1 where missing


class Incoming(NamedTuple):
    """Rows that come in, a place each; `rows` of a kernel says which and in what order."""

    key: NDArray[np.int64]
    time: NDArray[np.int64]
    numbers: NDArray[np.float64]  # column, row
    codes: NDArray[np.int32]  # column, row


@njit(cache=True)
def insert(events, used, incoming, rows, value_columns, code_columns, places):
    """Put rows, grouped by key and in order of time, among the events; fill their places.

    Returns how much of the pool is used then; or minus how much room is needed at the end of the
    pool, and nothing has changed.
    """
    needed, begin = 0, 0
    while begin < rows.size:
        key, end = _run(incoming.key, rows, begin)
        size = events.size[key] + end - begin
        if size > events.room[key]:
            needed += roomy(size)
        begin = end
    if used + needed > events.time.size:
        return -needed
    begin = 0
    while begin < rows.size:
        key, end = _run(incoming.key, rows, begin)
        size = events.size[key] + end - begin
        if size > events.room[key]:
            _move(events, events, key, used)
            events.start[key], events.room[key] = used, roomy(size)
            used += events.room[key]
        _merge(events, key, incoming, rows[begin:end], value_columns, code_columns, places)
        _accumulate(events, key, places[rows[begin]])
        begin = end
    return used


@njit(cache=True)
def learn(events, used, query, incoming, rows, value_columns, code_columns, held, places, out):
    """Insert rows and look back from them; what comes back is that of `insert`."""
    used = insert(events, used, incoming, rows, value_columns, code_columns, places)
    if used >= 0:
        look_back(events, query, incoming, rows, value_columns, places, held, out)
    return used


@njit(cache=True)
def roomy(size):
    """Return how much room so many events are given: as many again by half, and two."""
    return size + size // 2 + 2


@njit(cache=True)
def repack(events, packed):
    """Copy all events to a pool that has room for them; `packed` shares what is by key."""
    used = 0
    for key in range(events.size.size):
        _move(events, packed, key, used)
        events.start[key] = used
        events.room[key] = roomy(events.size[key]) if events.size[key] else 0
        used += events.room[key]
    return used


@njit(cache=True)
def accumulate(events):
    """Fill the running totals of all keys."""
    for key in range(events.size.size):
        _accumulate(events, key, 0)


@njit(cache=True)
def purge(events, cut):
    """Let go of events before `cut`, but for the last of them, which tells when a key was seen."""
    for key in range(events.size.size):
        start = events.start[key]
        n_gone = _until(events.time, start, events.size[key], cut - 1) - 1
        if n_gone <= 0:
            continue
        last = start + n_gone - 1
        for v in range(events.values.shape[0]):
            events.base_total[v, key] = events.total[v, last]
            events.base_rest[v, key] = events.rest[v, last]
            events.base_known[v, key] = events.known[v, last]
        events.start[key] += n_gone
        events.size[key] -= n_gone
        events.room[key] -= n_gone
        events.purged[key] += n_gone


@njit(cache=True)
def look_back(events, query, incoming, rows, value_columns, places, held, out):
    """Fill what each window of the query holds for each row: `out` has a row for each.

    `rows` are grouped by key and in order of time; `held` is all zeros, and is so again after.
    """
    time, place = np.empty(rows.size, np.int64), np.empty(rows.size, np.int64)
    first, stop = np.empty(rows.size, np.int64), np.empty(rows.size, np.int64)
    begin = 0
    while begin < rows.size:
        key, end = _run(incoming.key, rows, begin)
        run = rows[begin:end]
        for r in range(run.size):
            time[r] = incoming.time[run[r]]
            place[r] = places[run[r]] if places.size else 0
        for q in range(query.shape[0]):
            what, column, answer = query[q, _WHAT], query[q, _COLUMN], out[:, query[q, _OUT]]
            if what == SINCE:
                _since_last(events, key, run, time, place, answer)
                continue
            if what == FIRST:
                for r in range(run.size):
                    answer[run[r]] = place[r] == 0 and events.purged[key] == 0
                continue
            if q == 0 or not _same_window(query, q, q - 1):
                _fill_bounds(events, key, query, q, run.size, time, place, first, stop)
            if what == COUNT:
                n_before = events.purged[key] if query[q, _WINDOW] == ALL else 0
                for r in range(run.size):
                    answer[run[r]] = stop[r] - first[r] + n_before
            elif what == LARGEST:
                _largest(events, key, column, run, first, stop, answer)
            elif what == DISTINCT:
                _distinct(events, key, column, run, first, stop, held, answer)
            else:
                is_all = query[q, _WINDOW] == ALL
                _sums(events, key, what, column, is_all, run, first, stop, answer)
            if what == RATIO:  # the mean so far
                numbers = incoming.numbers[value_columns[column]]
                for row in run:
                    usual = answer[row]
                    answer[row] = numbers[row] / usual if usual != 0.0 else np.nan
        begin = end


@njit(cache=True)
def fill_own(own, time, numbers, out):
    """Fill the features that need no other row; hours and days are those of UTC."""
    for what, first, last, column in own:
        for row in range(time.size):
            if what == VALUE:
                out[row, column] = numbers[first, row]
            elif what == WEEKEND:
                out[row, column] = (time[row] // _DAY + 3) % 7 >= 5  # 1970 began on a Thursday
            else:
                hour = time[row] % _DAY // _HOUR
                is_after, is_before = hour >= first, hour < last
                is_night = is_after and is_before if first <= last else is_after or is_before
                out[row, column] = is_night


# Where events are


@njit(cache=True)
def _run(keys, rows, begin):
    """Return the key of the row at `begin`, and where rows of the next key begin."""
    key, end = keys[rows[begin]], begin + 1
    while end < rows.size and keys[rows[end]] == key:
        end += 1
    return key, end


@njit(cache=True)
def _until(time, start, size, moment):
    """Return how many of a key's events are at or before a moment."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if time[start + middle] <= moment:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True)
def _move(events, other, key, to):
    """Copy a key's events to a place in another pool, or further on in the same."""
    start, size = events.start[key], events.size[key]
    other.time[to : to + size] = events.time[start : start + size]
    for v in range(events.values.shape[0]):
        other.values[v, to : to + size] = events.values[v, start : start + size]
        other.total[v, to : to + size] = events.total[v, start : start + size]
        other.rest[v, to : to + size] = events.rest[v, start : start + size]
        other.known[v, to : to + size] = events.known[v, start : start + size]
    for c in range(events.codes.shape[0]):
        other.codes[c, to : to + size] = events.codes[c, start : start + size]


@njit(cache=True)
def _merge(events, key, incoming, run, value_columns, code_columns, places):
    """Merge rows from the newest back, so that each event moves once; the rest stays put."""
    start, old = events.start[key], events.size[key] - 1
    new = run.size - 1
    events.size[key] += run.size
    place = events.size[key] - 1
    while new >= 0:
        row = run[new]
        at = start + place
        if old >= 0 and events.time[start + old] > incoming.time[row]:
            events.time[at] = events.time[start + old]
            for v in range(value_columns.size):
                events.values[v, at] = events.values[v, start + old]
            for c in range(code_columns.size):
                events.codes[c, at] = events.codes[c, start + old]
            old -= 1
        else:
            events.time[at] = incoming.time[row]
            for v in range(value_columns.size):
                events.values[v, at] = incoming.numbers[value_columns[v], row]
            for c in range(code_columns.size):
                events.codes[c, at] = incoming.codes[code_columns[c], row]
            places[row] = place
            new -= 1
        place -= 1


@njit(cache=True)
def _accumulate(events, key, begin):
    """Fill the running totals of a key from one of its events on."""
    start, size = events.start[key], events.size[key]
    for v in range(events.values.shape[0]):
        total, rest, known = _before(events, key, v, begin)
        for p in range(start + begin, start + size):
            value = events.values[v, p]
            if value == value:
                total, rest = _added(total, rest, value)
                known += 1
            events.total[v, p], events.rest[v, p], events.known[v, p] = total, rest, known


@njit(cache=True)
def _before(events, key, v, place):
    """Return the totals of a key before one of its events."""
    if place == 0:
        return events.base_total[v, key], events.base_rest[v, key], events.base_known[v, key]
    p = events.start[key] + place - 1
    return events.total[v, p], events.rest[v, p], events.known[v, p]


@njit(cache=True)
def _added(total, rest, value):
    new = total + value
    back = new - total
    rest += (total - (new - back)) + (value - back)
    whole = new + rest
    return whole, rest - (whole - new)


@njit(cache=True)
def _subtracted(total, rest, other_total, other_rest):
    new = total - other_total
    back = new - total
    lost = (total - (new - back)) - (other_total + back)
    return new + (lost + (rest - other_rest))


# What windows hold


@njit(cache=True)
def _same_window(query, q, other):
    return (
        query[q, _WINDOW] == query[other, _WINDOW]
        and query[q, _DELAY] == query[other, _DELAY]
        and query[q, _IS_OWN] == query[other, _IS_OWN]
        and query[other, _WHAT] != SINCE
        and query[other, _WHAT] != FIRST
    )


@njit(cache=True)
def _fill_bounds(events, key, query, q, n_rows, time, place, first, stop):
    """Fill which of the key's events each window holds: (t - delay - window, t - delay]."""
    start, size = events.start[key], events.size[key]
    window, delay = query[q, _WINDOW], query[q, _DELAY]
    high = time[0] - delay
    i = 0 if window == ALL else _until(events.time, start, size, high - window)
    j = 0 if query[q, _IS_OWN] else _until(events.time, start, size, high)
    for r in range(n_rows):
        high = time[r] - delay
        if query[q, _IS_OWN]:
            j = place[r] + 1
        else:
            while j < size and events.time[start + j] <= high:
                j += 1
        if window != ALL:
            while i < j and events.time[start + i] <= high - window:
                i += 1
        first[r], stop[r] = i, j


@njit(cache=True)
def _since_last(events, key, run, time, place, answer):
    for r in range(run.size):
        if place[r] > 0:
            before = events.time[events.start[key] + place[r] - 1]
            answer[run[r]] = (time[r] - before) / _SECOND


@njit(cache=True)
def _sums(events, key, what, v, is_all, run, first, stop, answer):
    for r in range(run.size):
        total, rest, known = _before(events, key, v, stop[r])
        if is_all:
            value = total + rest
        else:
            other_total, other_rest, other_known = _before(events, key, v, first[r])
            known -= other_known
            value = _subtracted(total, rest, other_total, other_rest)
        if what == SUM:
            answer[run[r]] = value
        elif known == 0:
            answer[run[r]] = 0.0 if what == SHARE else np.nan
        else:
            answer[run[r]] = value / known


@njit(cache=True)
def _largest(events, key, v, run, first, stop, answer):
    """Slide along with a queue of falling values, whose head is the largest in the window."""
    start = events.start[key]
    queue = np.empty(stop[run.size - 1] - first[0], np.int64)
    head, tail, j = 0, 0, first[0]
    for r in range(run.size):
        while j < stop[r]:
            value = events.values[v, start + j]
            if value == value:
                while tail > head and events.values[v, start + queue[tail - 1]] <= value:
                    tail -= 1
                queue[tail] = j
                tail += 1
            j += 1
        while head < tail and queue[head] < first[r]:
            head += 1
        if head < tail:
            answer[run[r]] = events.values[v, start + queue[head]]


@njit(cache=True)
def _distinct(events, key, c, run, first, stop, held, answer):
    """Slide along and count how often each code is in the window."""
    start = events.start[key]
    i, j, n_distinct = first[0], first[0], 0
    for r in range(run.size):
        while j < stop[r]:
            code = events.codes[c, start + j]
            if code >= 0:
                n_distinct += held[code] == 0
                held[code] += 1
            j += 1
        while i < first[r]:
            code = events.codes[c, start + i]
            if code >= 0:
                held[code] -= 1
                n_distinct -= held[code] == 0
            i += 1
        answer[run[r]] = n_distinct
    for p in range(start + i, start + j):
        if events.codes[c, p] >= 0:
            held[events.codes[c, p]] = 0
