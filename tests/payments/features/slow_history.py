"""The obvious twin of a history: every feature looks at every row and every label there is."""

import math

import numpy as np

from toprank.payments.features import (
    FirstTime,
    KnownPositives,
    LabelRisk,
    Night,
    Recent,
    SinceLast,
    ToUsual,
    Value,
    Weekend,
)
from toprank.payments.ledger import SOURCES

START = np.datetime64("2025-03-01T00:00:00", "us")
SECOND = 1_000_000
PAIR = ("card", "terminal")
EVERY_KIND = (
    Value("amount"),
    Weekend(),
    Night(22, 6),
    Recent("count", "card", "10s"),
    Recent("count", "card", None),
    Recent("count", "card", "5s", until="before"),
    Recent("count", "terminal", "10s", until="4s"),
    Recent("sum", "card", "10s", of="amount"),
    Recent("sum", "terminal", None, of="amount", until="3s"),
    Recent("mean", "card", "5s", of="amount", until="before"),
    Recent("mean", PAIR, "20s", of="amount"),
    Recent("max", "card", "5s", of="amount"),
    Recent("max", "terminal", "20s", of="amount", until="before"),
    Recent("distinct", "card", "10s", of="terminal"),
    Recent("distinct", "terminal", "20s", of="card", until="before"),
    Recent("distinct", "terminal", "10s", of="card", until="3s"),
    SinceLast("card"),
    SinceLast(PAIR),
    ToUsual("card", "amount", "20s"),
    ToUsual("terminal", "amount"),
    FirstTime(PAIR),
    FirstTime("terminal"),
    LabelRisk("count", "terminal", "10s", "4s"),
    LabelRisk("share", "terminal", "10s", "4s"),
    LabelRisk("share", "card", None, "2s"),
    KnownPositives("terminal", "10s", "4s"),
    KnownPositives("card", None, "2s"),
)


class SlowHistory:
    """Rows are dicts with times in microseconds since START, which may have an id."""

    def __init__(self, features, counts_silence=False):
        self.features, self.counts_silence = features, counts_silence
        self.seen, self.by_id = [], {}
        self.begin, self.n_repeated, self.n_too_late = -math.inf, 0, 0

    def batch(self, rows):
        found = [None] * len(rows)
        for i in self.in_order(rows):
            found[i] = self.one(rows[i])
        return found

    def in_order(self, rows):
        """The order in which a table is taken in: a row sent again at the time of the first."""
        by_time = sorted(range(len(rows)), key=lambda i: rows[i]["time"])
        first = {name: row["time"] for name, row in self.by_id.items()}
        counts_at = {}
        for i in by_time:
            row_id, time = rows[i].get("id"), rows[i]["time"]
            if row_id and time >= self.begin:
                first.setdefault(row_id, time)
            counts_at[i] = first.get(row_id, time)
        return sorted(by_time, key=counts_at.get)

    def one(self, row):
        seen = self.commit(row)
        own = row if seen is None else row | {"time": seen["time"]}
        return {each.name: self.feature(each, own, seen) for each in self.features}

    def look(self, row):
        return self.look_batch([row])[0]

    def look_batch(self, rows):
        kept = list(self.seen), dict(self.by_id), self.n_repeated, self.n_too_late
        labels = [list(each["labels"]) for each in self.seen]
        found = self.batch(rows)
        self.seen, self.by_id, self.n_repeated, self.n_too_late = kept
        for each, own in zip(self.seen, labels, strict=True):
            each["labels"] = own
        return found

    def commit(self, row):
        """Remember a row, and return it as it is remembered; None where it comes too late."""
        first = self.by_id.get(row.get("id"))
        if first is not None:
            self.n_repeated += 1
            if not first["labels"]:
                first["labels"] = self.own_labels(row)
            return first
        if row["time"] < self.begin:
            self.n_too_late += 1
            return None
        self.seen.append(row | {"arrival": len(self.seen), "labels": self.own_labels(row)})
        if row.get("id"):
            self.by_id[row["id"]] = self.seen[-1]
        return self.seen[-1]

    def own_labels(self, row):
        return [] if row["label"] is None else [(row["known_at"], "claim", row["label"])]

    def label(self, row_id, is_positive, known_at, source="claim"):
        """Add a label; return "new", "corrected", "known", "overruled" or "unknown"."""
        row = self.by_id.get(row_id)
        if row is None:
            return "unknown"
        before = self.label_at(row, math.inf, 0)
        row["labels"] = [*row["labels"], (known_at, source, is_positive)]
        if before is None:
            return "new"
        if self.label_at(row, math.inf, 0)[1] != before[1]:
            return "corrected"
        is_known = is_positive == before[1] or source == "silence"
        return "known" if is_known else "overruled"

    def label_at(self, row, moment, delay, *, at_once=False):
        """Since when the label that holds at a moment counts, and what it is; or None.

        `at_once` counts labels that have a time from then on, within the delay, too. One without a
        time is known before all others, so that no silence holds beside it.
        """
        counting = []
        spoken = [known for known, source, _ in row["labels"] if source != "silence"]
        for order, (known, source, value) in enumerate(row["labels"]):
            if at_once and source == "silence" and None in spoken:
                continue
            least = 1 if at_once and known is not None else max(delay, 1)
            known = -math.inf if known is None else known
            since = max(row["time"] + least, known)
            if since <= moment:
                claim = (source != "silence", known, -SOURCES.index(source), order)
                counting.append((claim, since, value))
        return max(counting)[1:] if counting else None

    def label_or_silence_at(self, row, moment, delay):
        """Since when a row has been what it is at a moment, negative where it has no label."""
        since = row["time"] + max(delay, 1)
        if since > moment:
            return None

        def value_at(at):
            holding = self.label_at(row, at, delay)
            return holding is not None and holding[1]

        value = value_at(since)
        times = [known for known, *_ in row["labels"] if known is not None]
        for at in sorted(at for at in times if since < at <= moment):
            if value_at(at) != value:
                since, value = at, not value
        return since, value

    def span(self, text):
        digits = text.rstrip("sh")
        return int(digits) * SECOND * {"s": 1, "h": 3600}[text[len(digits) :]]

    def key(self, row, key):
        cells = [row[name] for name in ([key] if isinstance(key, str) else key)]
        return None if None in cells else tuple(cells)

    def feature(self, each, row, seen):
        moment = (START + np.timedelta64(row["time"], "us")).item()
        if isinstance(each, Value):
            return math.nan if row[each.of] is None else row[each.of]
        if isinstance(each, Weekend):
            return float(moment.weekday() >= 5)
        if isinstance(each, Night):
            return float(moment.hour >= each.start or moment.hour < each.stop)
        if seen is None or seen["time"] < self.begin or self.key(seen, each.key) is None:
            return math.nan
        if isinstance(each, LabelRisk):
            return self.risk(each, seen)
        if isinstance(each, KnownPositives):
            return self.known_positives(each, seen)
        place = (seen["time"], seen["arrival"])
        same = [s for s in self.seen if self.key(s, each.key) == self.key(seen, each.key)]
        same = [s for s in same if (s["time"], s["arrival"]) <= place]
        same.sort(key=lambda s: (s["time"], s["arrival"]))
        if isinstance(each, FirstTime):
            return float(len(same) == 1)
        if isinstance(each, SinceLast):
            return (row["time"] - same[-2]["time"]) / SECOND if same[1:] else math.nan
        until = "before" if isinstance(each, ToUsual) else each.until
        chosen = self.window(same, row["time"], each.window, until)
        numbers = [s[each.of] for s in chosen if each.of is not None and s[each.of] is not None]
        if isinstance(each, ToUsual):
            usual = math.fsum(numbers) / len(numbers) if numbers else 0.0
            return math.nan if row[each.of] is None or usual == 0 else row[each.of] / usual
        if each.what == "count":
            return float(len(chosen))
        if each.what == "distinct":
            return float(len(set(numbers)))
        if each.what == "sum":
            return math.fsum(numbers)
        if not numbers:
            return math.nan
        return max(numbers) if each.what == "max" else math.fsum(numbers) / len(numbers)

    def window(self, rows, t, window, until):
        """(t - w, t], [t - w, t) or (t - delay - w, t - delay]"""
        width = math.inf if window is None else self.span(window)
        if until == "row":
            return [s for s in rows if t - width < s["time"] <= t]
        if until == "before":
            return [s for s in rows if t - width <= s["time"] < t]
        end = t - self.span(until)
        return [s for s in rows if end - width < s["time"] <= end]

    def risk(self, each, row):
        width = math.inf if each.window is None else self.span(each.window)
        labels = []
        for s in self.seen:
            if self.key(s, each.key) == self.key(row, each.key):
                label_at = self.label_or_silence_at if self.counts_silence else self.label_at
                holding = label_at(s, row["time"], self.span(each.delay))
                if holding is not None and holding[0] > row["time"] - width:
                    labels.append(holding[1])
        if each.what == "count":
            return float(len(labels))
        return sum(labels) / len(labels) if labels else 0.0

    def known_positives(self, each, row):
        width = math.inf if each.window is None else self.span(each.window)
        found = 0
        for s in self.seen:
            if self.key(s, each.key) == self.key(row, each.key):
                since = self.positive_since(s, row["time"], self.span(each.delay))
                found += since is not None and since > row["time"] - width
        return float(found)

    def positive_since(self, row, moment, delay):
        """Since when a row has been known as positive at a moment; None where it is not."""
        times = [known for known, *_ in row["labels"] if known is not None]
        turns = {max(at, row["time"] + 1) for at in times} | {row["time"] + max(delay, 1)}
        since = None
        for at in sorted(at for at in turns if at <= moment):
            holding = self.label_at(row, at, delay, at_once=True)
            is_positive = holding is not None and holding[1]
            since = (at if since is None else since) if is_positive else None
        return since


def assert_same(got, wanted, exactly=False):
    """Two lists of dicts of features are equal, NaN and missing being the same."""
    assert len(got) == len(wanted)
    for own, other in zip(got, wanted, strict=True):
        assert own.keys() == other.keys()
        for name in own:
            a = math.nan if own[name] is None else own[name]
            b = math.nan if other[name] is None else other[name]
            is_close = abs(a - b) <= 1e-12 * max(abs(a), abs(b))
            both_missing = math.isnan(a) and math.isnan(b)
            assert both_missing or a == b or (not exactly and is_close), (name, a, b)
