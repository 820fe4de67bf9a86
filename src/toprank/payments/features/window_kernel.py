"""Events per key in order of time, and statistics of windows over them.

All keys share one pool; a key's events are adjacent in order of time, those of equal time in the
order they came, with room for more after them:

    pool = [key 0: event event event room room | key 1: event room | ... | free]

Sums are differences of running totals. A total is two floats, the second being what rounding took
from the first, so a difference is right to the last bit or two however long the stream is. Purged
events stay in the totals that a key starts with.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

# what a window gives
COUNT, SUM, MEAN, SHARE, RATIO, LARGEST, DISTINCT, SINCE, FIRST = range(9)
ALL = -1  # the window over everything before

# a query is a row of whole numbers for each window:
# what it gives; of which column of values, or of codes for DISTINCT; its length in microseconds
# or ALL; how long before the row it ends; whether it includes the row itself, and those of the
# same moment that came before; and where the answer goes
N_QUERY_FIELDS = 6
_WHAT, _COLUMN, _WINDOW, _DELAY, _IS_OWN, _OUT = range(N_QUERY_FIELDS)

# a feature of the row itself: what, its column or the first hour, the hour of the end, out
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
    """Incoming rows; the argument `rows` of a kernel says which of them and in what order."""

    key: NDArray[np.int64]
    time: NDArray[np.int64]
    numbers: NDArray[np.float64]  # column, row
    codes: NDArray[np.int32]  # column, row


class Runs(NamedTuple):
    """Rows of equal key, one run after the other, each in order of time."""

    rows: NDArray[np.int64]
    begin: NDArray[np.int64]  # of each run among `rows`, and at the end their number
    key: NDArray[np.int64]  # of each run


# The arrays of Events and Incoming are passed one by one: a call with tuples of them takes numba
# three times as long, and a single row makes a call for each key.


@njit(cache=True)
def insert(
    used, rows, key, time, numbers, codes, value_columns, code_columns, place, n_before, *arrays
):
    """Insert rows, grouped by key and in order of time, among the events.

    Fills the place of each among the events of its key, and how many events of its own moment
    are before it. Returns how much of the pool is used then; or minus how much room is needed at
    the end of the pool, and nothing has changed.
    """
    events, incoming = Events(*arrays), Incoming(key, time, numbers, codes)
    runs = _runs(key, rows)
    used = _insert(events, used, incoming, runs, value_columns, code_columns, place)
    if used >= 0:
        _count_before(events, incoming, runs, place, n_before)
    return used


@njit(cache=True)
def learn(
    used,
    query,
    rows,
    key,
    time,
    numbers,
    codes,
    value_columns,
    code_columns,
    held,
    out,
    is_kept,
    place,
    n_before,
    *arrays,
):
    """Insert rows and look back from them; remove them again unless they are kept.

    Returns what `insert` returns.
    """
    events, incoming = Events(*arrays), Incoming(key, time, numbers, codes)
    runs = _runs(key, rows)
    used = _insert(events, used, incoming, runs, value_columns, code_columns, place)
    if used >= 0:
        _count_before(events, incoming, runs, place, n_before)
        _look_back(events, query, incoming, runs, value_columns, place, held, out)
        if not is_kept:
            _take_out(events, runs, place)
    return used


@njit(cache=True)
def take_out(rows, key, place, *arrays):
    """Remove what `insert` or `learn` put at these places; rows are grouped as before."""
    _take_out(Events(*arrays), _runs(key, rows), place)


@njit(cache=True)
def remove(key, time, values, *arrays):
    """Remove one event of the first column's value for each given key, time and value.

    A purged event is only in the totals that its key starts with.
    """
    events = Events(*arrays)
    for i in range(key.size):
        start, size = events.start[key[i]], events.size[key[i]]
        p = _until(events.time[start : start + size], time[i] - 1)
        while p < size and events.time[start + p] == time[i]:
            if events.values[0, start + p] == values[i]:
                break
            p += 1
        if p < size and events.time[start + p] == time[i]:
            _drop(events, key[i], np.full(1, p))
        else:
            total, rest = events.base_total[0, key[i]], events.base_rest[0, key[i]]
            total, rest = _added(total, rest, -values[i])
            events.base_total[0, key[i]], events.base_rest[0, key[i]] = total, rest
            events.base_known[0, key[i]] -= 1
            events.purged[key[i]] -= 1
            _accumulate(events, key[i], 0)


@njit(cache=True)
def look_back(query, rows, key, time, numbers, codes, value_columns, held, out, *arrays):
    """Look back from rows that are not among the events: no window includes the row itself."""
    events, incoming = Events(*arrays), Incoming(key, time, numbers, codes)
    runs, place = _runs(key, rows), np.zeros(rows.size, np.int64)
    _look_back(events, query, incoming, runs, value_columns, place, held, out)


@njit(cache=True)
def look_again(
    query, rows, key, time, numbers, codes, value_columns, held, out, n_before, *arrays
):
    """Look back from rows that are among the events already.

    Rows are grouped by key, each group in order of time and of `n_before`, which is how many
    events of its own moment are before each.
    """
    events, incoming = Events(*arrays), Incoming(key, time, numbers, codes)
    runs, place = _runs(key, rows), np.empty(rows.size, np.int64)
    for r in range(runs.key.size):
        start, size = events.start[runs.key[r]], events.size[runs.key[r]]
        for g in range(runs.begin[r], runs.begin[r + 1]):
            first = _until(events.time[start : start + size], time[rows[g]] - 1)
            place[g] = min(first + n_before[g], size - 1)
    _look_back(events, query, incoming, runs, value_columns, place, held, out)


@njit(cache=True)
def look_past_ended(
    query,
    rows,
    key,
    time,
    numbers,
    codes,
    out,
    ended_key,
    ended_since,
    ended_until,
    ended_value,
    *arrays,
):
    """Look back at counts and shares as `look_back` does, without events that have ended.

    An event that ends is among the events from `since` on, and counts for rows before `until`;
    `ended_key` is sorted. Sums of 0 and 1 are exact, whatever is subtracted.
    """
    events, incoming = Events(*arrays), Incoming(key, time, numbers, codes)
    runs, place = _runs(key, rows), np.zeros(rows.size, np.int64)
    first, stop = np.empty(rows.size, np.int64), np.empty(rows.size, np.int64)
    for q in range(query.shape[0]):
        window, answer = query[q, _WINDOW], out[query[q, _OUT]]
        _fill_bounds(events, query[q], incoming, runs, place, first, stop)
        _sums(events, SUM, 0, window == ALL, runs, first, stop, answer)
        for r in range(runs.key.size):
            low = _until(ended_key, runs.key[r] - 1)
            high = _until(ended_key, runs.key[r])
            for g in range(runs.begin[r], runs.begin[r + 1]):
                moment = time[rows[g]]
                value, known = answer[rows[g]], stop[g] - first[g]
                for e in range(low, high):
                    is_inside = window == ALL or ended_since[e] > moment - window
                    if is_inside and ended_until[e] <= moment:
                        value -= ended_value[e]
                        known -= 1
                if query[q, _WHAT] == COUNT:
                    answer[rows[g]] = known
                else:
                    answer[rows[g]] = value / known if known > 0 else 0.0


@njit(cache=True)
def roomy(size):
    """Return the room for this many events: half as many again, and two."""
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
    """Forget events before `cut`, except for the last, which says when a key was seen."""
    for key in range(events.size.size):
        start, size = events.start[key], events.size[key]
        n_gone = _until(events.time[start : start + size], cut - 1) - 1
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
def note_codes(events, column, is_used):
    """Set which codes of a coded column the events hold, by their codes."""
    for key in range(events.size.size):
        start = events.start[key]
        for place in range(start, start + events.size[key]):
            code = events.codes[column, place]
            if code >= 0:
                is_used[code] = True


@njit(cache=True)
def fill_own(own, time, numbers, out):
    """Fill the features that need no other row; hours and days are those of UTC."""
    for what, first, last, column in own:
        for row in range(time.size):
            if what == VALUE:
                out[column, row] = numbers[first, row]
            elif what == WEEKEND:
                out[column, row] = (time[row] // _DAY + 3) % 7 >= 5  # 1970 began on a Thursday
            else:
                hour = time[row] % _DAY // _HOUR
                is_after, is_before = hour >= first, hour < last
                is_night = is_after and is_before if first <= last else is_after or is_before
                out[column, row] = is_night


# Where events are


@njit(cache=True)
def _runs(key, rows):
    """Return the runs of rows that are grouped by key."""
    begin, run_key = np.empty(rows.size + 1, np.int64), np.empty(rows.size, np.int64)
    n_runs = 0
    for g in range(rows.size):
        if g == 0 or key[rows[g]] != run_key[n_runs - 1]:
            begin[n_runs], run_key[n_runs] = g, key[rows[g]]
            n_runs += 1
    begin[n_runs] = rows.size
    return Runs(rows, begin[: n_runs + 1], run_key[:n_runs])


@njit(cache=True)
def _insert(events, used, incoming, runs, value_columns, code_columns, place):
    """Do what `insert` does, and fill the place of each row among the events of its key."""
    needed = 0
    for r in range(runs.key.size):
        size = events.size[runs.key[r]] + runs.begin[r + 1] - runs.begin[r]
        if size > events.room[runs.key[r]]:
            needed += roomy(size)
    if used + needed > events.time.size:
        return -needed
    for r in range(runs.key.size):
        key, begin, end = runs.key[r], runs.begin[r], runs.begin[r + 1]
        size = events.size[key] + end - begin
        if size > events.room[key]:
            _move(events, events, key, used)
            events.start[key], events.room[key] = used, roomy(size)
            used += events.room[key]
        run, run_place = runs.rows[begin:end], place[begin:end]
        _merge(events, key, incoming, run, value_columns, code_columns, run_place)
        _accumulate(events, key, run_place[0])
    return used


@njit(cache=True)
def _until(time, moment):
    """Return how many events are at or before a moment."""
    low, high = 0, time.size
    while low < high:
        middle = (low + high) // 2
        if time[middle] <= moment:
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
def _merge(events, key, incoming, run, value_columns, code_columns, run_place):
    """Merge rows from the newest to the oldest, so that each event moves at most once."""
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
            run_place[new] = place
            new -= 1
        place -= 1


@njit(cache=True)
def _count_before(events, incoming, runs, place, n_before):
    """Fill how many events of the same moment are before each row."""
    for r in range(runs.key.size):
        start = events.start[runs.key[r]]
        for g in range(runs.begin[r], runs.begin[r + 1]):
            moment = incoming.time[runs.rows[g]]
            if place[g] == 0 or events.time[start + place[g] - 1] < moment:
                n_before[g] = 0
            elif g > runs.begin[r] and incoming.time[runs.rows[g - 1]] == moment:
                n_before[g] = n_before[g - 1] + 1
            else:
                earlier = events.time[start : start + place[g]]
                n_before[g] = place[g] - _until(earlier, moment - 1)


@njit(cache=True)
def _take_out(events, runs, place):
    for r in range(runs.key.size):
        _drop(events, runs.key[r], place[runs.begin[r] : runs.begin[r + 1]])


@njit(cache=True)
def _drop(events, key, places):
    """Remove the events at some places, in ascending order, from those of a key."""
    start, size, n_gone = events.start[key], events.size[key], 0
    for p in range(places[0], size):
        if n_gone < places.size and p == places[n_gone]:
            n_gone += 1
            continue
        events.time[start + p - n_gone] = events.time[start + p]
        for v in range(events.values.shape[0]):
            events.values[v, start + p - n_gone] = events.values[v, start + p]
        for c in range(events.codes.shape[0]):
            events.codes[c, start + p - n_gone] = events.codes[c, start + p]
    events.size[key] -= n_gone
    _accumulate(events, key, places[0])


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


# Statistics of windows


@njit(cache=True)
def _look_back(events, query, incoming, runs, value_columns, place, held, out):
    """Fill the statistic of each window of the query for each row: `out` has a column per row.

    One window after the other, each for all rows: so the answers, which go to rows far apart, go
    to one row of `out` at a time. `held` is all zeros, and is so again after.
    """
    n_rows = runs.rows.size
    first, stop = np.empty(n_rows, np.int64), np.empty(n_rows, np.int64)
    for q in range(query.shape[0]):
        what, column, answer = query[q, _WHAT], query[q, _COLUMN], out[query[q, _OUT]]
        if what == SINCE:
            _since_last(events, incoming, runs, place, answer)
            continue
        if what == FIRST:
            _first_time(events, runs, place, answer)
            continue
        if q == 0 or not _same_window(query, q, q - 1):
            _fill_bounds(events, query[q], incoming, runs, place, first, stop)
        if what == COUNT:
            for g in range(n_rows):
                answer[runs.rows[g]] = stop[g] - first[g]
        elif what == LARGEST:
            _largest(events, column, runs, first, stop, answer)
        elif what == DISTINCT:
            _distinct(events, column, runs, first, stop, held, answer)
        else:
            is_all = query[q, _WINDOW] == ALL
            _sums(events, what, column, is_all, runs, first, stop, answer)
        if what == RATIO:  # the mean so far
            numbers = incoming.numbers[value_columns[column]]
            for row in runs.rows:
                usual = answer[row]
                answer[row] = numbers[row] / usual if usual != 0.0 else np.nan


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
def _fill_bounds(events, asked, incoming, runs, place, first, stop):
    """Fill which of the key's events are in each window: (t - delay - window, t - delay].

    The window over everything begins before the first event by as many as were purged.
    """
    window, delay, is_own = asked[_WINDOW], asked[_DELAY], asked[_IS_OWN]
    for r in range(runs.key.size):
        key, begin, end = runs.key[r], runs.begin[r], runs.begin[r + 1]
        start, size = events.start[key], events.size[key]
        time = events.time[start : start + size]
        high = incoming.time[runs.rows[begin]] - delay
        i = -events.purged[key] if window == ALL else _until(time, high - window)
        j = 0 if is_own else _until(time, high)
        for g in range(begin, end):
            high = incoming.time[runs.rows[g]] - delay
            if is_own:
                j = place[g] + 1
            else:
                while j < size and time[j] <= high:
                    j += 1
            if window != ALL:
                while i < j and time[i] <= high - window:
                    i += 1
            first[g], stop[g] = i, j


@njit(cache=True)
def _since_last(events, incoming, runs, place, answer):
    for r in range(runs.key.size):
        start = events.start[runs.key[r]]
        for g in range(runs.begin[r], runs.begin[r + 1]):
            if place[g] > 0:
                row = runs.rows[g]
                answer[row] = (incoming.time[row] - events.time[start + place[g] - 1]) / _SECOND


@njit(cache=True)
def _first_time(events, runs, place, answer):
    for r in range(runs.key.size):
        is_new = events.purged[runs.key[r]] == 0
        for g in range(runs.begin[r], runs.begin[r + 1]):
            answer[runs.rows[g]] = is_new and place[g] == 0


@njit(cache=True)
def _sums(events, what, v, is_all, runs, first, stop, answer):
    totals, rests, knowns = events.total[v], events.rest[v], events.known[v]
    for r in range(runs.key.size):
        key, start = runs.key[r], events.start[runs.key[r]]
        base_total, base_rest = events.base_total[v, key], events.base_rest[v, key]
        base_known = events.base_known[v, key]
        for g in range(runs.begin[r], runs.begin[r + 1]):
            total, rest, known = base_total, base_rest, base_known
            if stop[g] > 0:
                p = start + stop[g] - 1
                total, rest, known = totals[p], rests[p], knowns[p]
            if is_all:
                value = total + rest
            elif first[g] > 0:
                p = start + first[g] - 1
                value, known = _subtracted(total, rest, totals[p], rests[p]), known - knowns[p]
            else:
                value, known = _subtracted(total, rest, base_total, base_rest), known - base_known
            if what == SUM:
                answer[runs.rows[g]] = value
            elif known == 0:
                answer[runs.rows[g]] = 0.0 if what == SHARE else np.nan
            else:
                answer[runs.rows[g]] = value / known


@njit(cache=True)
def _largest(events, v, runs, first, stop, answer):
    """Slide along with a queue of decreasing values, whose head is the largest in the window."""
    values = events.values[v]
    for r in range(runs.key.size):
        begin, end, start = runs.begin[r], runs.begin[r + 1], events.start[runs.key[r]]
        queue = np.empty(stop[end - 1] - first[begin], np.int64)
        head, tail, j = 0, 0, first[begin]
        for g in range(begin, end):
            while j < stop[g]:
                value = values[start + j]
                if value == value:
                    while tail > head and values[start + queue[tail - 1]] <= value:
                        tail -= 1
                    queue[tail] = j
                    tail += 1
                j += 1
            while head < tail and queue[head] < first[g]:
                head += 1
            if head < tail:
                answer[runs.rows[g]] = values[start + queue[head]]


@njit(cache=True)
def _distinct(events, c, runs, first, stop, held, answer):
    """Slide along and count how often each code is in the window."""
    codes = events.codes[c]
    for r in range(runs.key.size):
        begin, start = runs.begin[r], events.start[runs.key[r]]
        i, j, n_distinct = first[begin], first[begin], 0
        for g in range(begin, runs.begin[r + 1]):
            while j < stop[g]:
                code = codes[start + j]
                if code >= 0:
                    n_distinct += held[code] == 0
                    held[code] += 1
                j += 1
            while i < first[g]:
                code = codes[start + i]
                if code >= 0:
                    held[code] -= 1
                    n_distinct -= held[code] == 0
                i += 1
            answer[runs.rows[g]] = n_distinct
        for p in range(start + i, start + j):
            if codes[p] >= 0:
                held[codes[p]] = 0
