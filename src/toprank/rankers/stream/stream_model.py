"""The state of a ranker of streams: columns, classes, the reservoir, the trees.

Everything is decided by the labels learned, never by the clock. While a refit is under way the
reservoir stays as it was, and the labels since then are put into it when the trees take over. So
the same rows and labels give the same scores however many come at a time, whether trees are
grown in a thread or not, and if the process is killed meanwhile: a refit that was under way starts
again from the same rows.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from toprank.data import checks
from toprank.files.state import part_of, parts_together, stored_vector
from toprank.rankers.online.classes import Classes
from toprank.rankers.online.steps import Scores
from toprank.rankers.online.stream_columns import EncodedEvent, StreamColumns, checked_names
from toprank.rankers.stream.leaf_corrections import CorrectedTrees
from toprank.rankers.stream.refit_counts import LEAST_OF_CLASS, RefitCounts, RefitPlan
from toprank.rankers.stream.refits import Refit, grown
from toprank.rankers.stream.reservoir import Reservoir, StoredRows, stored_rows

_SETTLED_EVERY = 1024  # labels: rows that come one by one go into the reservoir many at a time
_AT_ONCE = 4096  # rows whose leaves are found together
_LARGEST = float(np.finfo(np.float32).max)
_COUNTS = ("n_negatives", "n_positives", "n_refits")
_MOST_COUNTED = 2**52


class StreamShape(NamedTuple):
    """Outputs of the raw score, and hash buckets."""

    n_outputs: int
    n_buckets: int


class StreamModel:
    """Columns, classes, rows and trees of one ranker of streams."""

    def __init__(
        self, plan: RefitPlan, reservoir: Reservoir, classes: Classes, n_buckets: int, seed: int
    ) -> None:
        self.plan, self.reservoir, self.classes, self.seed = plan, reservoir, classes, seed
        self.shape = StreamShape(1, n_buckets)
        self.columns = StreamColumns(n_buckets)
        self.trees: CorrectedTrees | None = None
        self.n_negatives = self.n_positives = self.n_refits = 0
        self.counts = RefitCounts(plan)
        # labelled rows that are not in the reservoir yet, and which of them are positive
        self._recent: list[tuple[StoredRows, NDArray[np.bool_]]] = []
        self._n_recent = 0
        self._refit: Refit | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_refit": None}  # a copy starts a refit under way again

    @property
    def n_rows(self) -> int:
        """How many rows have been learned from."""
        return self.n_negatives + self.n_positives

    @property
    def is_refitting(self) -> bool:
        """Whether a refit is under way."""
        return self.counts.is_refitting

    def add_columns(self, names: Iterable[Any]) -> None:
        """Add the new ones among these columns."""
        self.columns.add(names)

    def add_outputs(self, n_outputs: int) -> None:
        """Do nothing: two classes have one raw score."""

    def padded(self, rows: EncodedEvent) -> EncodedEvent:
        """Return rows with the columns added since they were encoded, as missing values."""
        n_new = len(self.columns) - rows.values.shape[1]
        if n_new == 0:
            return rows
        missing = self.columns.encode_one({}).take(np.zeros(len(rows.values), dtype=np.int64))
        return EncodedEvent(
            np.hstack([rows.values, missing.values[:, -n_new:]]),
            np.hstack([rows.buckets, missing.buckets[:, -n_new:]]),
        )

    # Scoring

    def raw(self, rows: EncodedEvent) -> NDArray[np.float64]:
        """Return the log-odds of rows, (row, 1)."""
        if self.trees is None:
            return np.full((len(rows.values), 1), self._prior())
        return self.trees.raw(rows)[:, np.newaxis]

    def shares(self, row: EncodedEvent) -> NDArray[np.float64]:
        """Return by how much each column of one row raises its log-odds."""
        row = self.padded(row)
        return np.zeros(len(self.columns)) if self.trees is None else self.trees.shares(row)

    def _prior(self) -> float:
        """Return the log-odds of the share of positives so far, half a row of each class added."""
        return float(logit(self._priors(np.empty(0, dtype=np.bool_))[0]))

    def _priors(self, is_positive: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the share of positives before each of the next labels, and after the last."""
        n_positives = self.n_positives + np.append(0, np.cumsum(is_positive))
        n_rows = self.n_rows + np.arange(is_positive.size + 1)
        return (n_positives + 0.5) / (n_rows + 1)

    # Learning

    def learn(
        self, rows: EncodedEvent, places: NDArray[np.int64], row_weights: NDArray[np.float64]
    ) -> None:
        """Learn from rows in their order."""
        self.score_and_learn(rows.take(slice(0)), places, row_weights, places[:0], rows)

    def score_and_learn(
        self,
        rows: EncodedEvent,
        places: NDArray[np.int64],
        row_weights: NDArray[np.float64],
        n_known: NDArray[np.int64],
        labelled: EncodedEvent | None = None,
        highest: float = math.inf,
        shares: dict[int, NDArray[np.float64]] | None = None,
    ) -> Scores:
        """Learn from rows in their order; return the scores they got on the way.

        For each row, `n_known` says how many of the first rows are learned before it is scored.
        The rows that are learned are the scored ones, unless others are `labelled`. In `shares`
        are put those of the rows whose log-odds are `highest` or more, as of then.
        """
        labelled = rows if labelled is None else labelled
        counts = np.flatnonzero(row_weights > 0)
        if counts.size < row_weights.size:  # rows with zero weight are ignored
            n_known = np.searchsorted(counts, n_known)
            labelled, places = labelled.take(counts), places[counts]
            row_weights = row_weights[counts]
        raw = np.empty(n_known.size)
        scored = learned = 0
        while scored < n_known.size or learned < places.size:
            self._act_on_counts()
            coming = places[learned : learned + _AT_ONCE] == 1
            until = self.counts.labels_until_next(self.n_rows, self.n_positives, coming)
            until = min(until, _SETTLED_EVERY - self.n_rows % _SETTLED_EVERY)
            most = min(learned + until, places.size)
            # rows that all of these labels come before are scored by the trees after them
            before = np.searchsorted(n_known, most) if learned < most else n_known.size
            stop = min(int(before), scored + _AT_ONCE)
            if stop < n_known.size:
                most = min(most, int(n_known[stop]))
            new = slice(learned, most)
            own = rows.take(slice(scored, stop))
            raw[scored:stop], found = self._run(
                own,
                n_known[scored:stop] - learned,
                self._stored(labelled.take(new), row_weights[new]),
                places[new] == 1,
                highest,
            )
            if shares is not None:
                shares |= {scored + row: each for row, each in found.items()}
            scored, learned = stop, most
        self._act_on_counts()
        return Scores(raw[:, np.newaxis], raw)

    def _run(
        self,
        rows: EncodedEvent,
        n_known: NDArray[np.int64],
        labelled: StoredRows,
        is_positive: NDArray[np.bool_],
        highest: float,
    ) -> tuple[NDArray[np.float64], dict[int, NDArray[np.float64]]]:
        """Score and learn rows between two refits; `n_known` counts from the first of them.

        Returns the log-odds, and the shares of the rows with the `highest` ones.
        """
        values: dict[int, Any] = {}
        prior = self._priors(is_positive)
        if self.trees is None:
            raw, before = logit(prior[n_known]), logit(prior[:-1])
        elif self.plan.corrects_leaves:
            raw, before, values = self.trees.score_and_learn(
                self.trees.leaves(rows),
                n_known,
                self.trees.leaves(labelled),
                is_positive,
                labelled.weight,
                highest,
            )
        else:
            raw, before = self.trees.raw(rows), self.trees.raw(labelled)
        shares = {}
        for row in np.flatnonzero(raw >= highest).tolist():
            own = self.padded(rows.take(slice(row, row + 1)))
            none = np.zeros(len(self.columns))
            shares[row] = none if self.trees is None else self.trees.shares(own, values.get(row))
        if is_positive.size:
            favour = _favours(before, prior[:-1], is_positive)
            self._note(labelled._replace(favour=favour), is_positive)
        return raw, shares

    def _note(self, labelled: StoredRows, is_positive: NDArray[np.bool_]) -> None:
        self._recent.append((labelled, is_positive))
        self._n_recent += is_positive.size
        self.n_positives += int(np.count_nonzero(is_positive))
        self.n_negatives += int(np.count_nonzero(~is_positive))

    def _stored(self, rows: EncodedEvent, row_weights: NDArray[np.float64]) -> StoredRows:
        """Return rows as they are kept, numbered from the next label on."""
        values = np.clip(rows.values, -_LARGEST, _LARGEST).astype(np.float32)
        # columns may have been added since the rows were encoded
        missing = self.columns.encode_one({}).buckets[:, : rows.buckets.shape[1]]
        buckets = np.where(rows.buckets == missing, -1, rows.buckets).astype(np.int16)
        number = np.arange(self.n_rows + 1, self.n_rows + 1 + len(values))
        return StoredRows(values, buckets, row_weights, np.ones(len(values)), number)

    # Refits

    def refit_now(self) -> None:
        """Refit on all rows learned so far, and wait for the trees."""
        if self.is_refitting:
            self._take_over()
        self._begin_refit()
        if self.is_refitting:
            self._take_over()

    def wait_for_refit(self) -> None:
        """Wait for the trees of a refit that the next label needs; nothing changes."""
        if self.is_refitting and self.n_rows + 1 >= self.counts.takes_over_at:
            self._running_refit().wait()

    def raise_rate(self, times: float) -> None:
        """Answer a change: refit at once, and let new labels move the leaves more until then."""
        if self.trees is not None:
            self.trees.soften(times)
        self.counts.make_due(self.n_rows)
        self._act_on_counts()

    def renew_worst(self, rows: EncodedEvent, places: NDArray[np.int64]) -> None:
        """Answer a change by a refit: there is no single weak learner to renew."""
        self.counts.make_due(self.n_rows)
        self._act_on_counts()

    def fill(
        self, rows: EncodedEvent, places: NDArray[np.int64], row_weights: NDArray[np.float64]
    ) -> None:
        """Put labelled rows into the reservoir; the trees stay as they are."""
        counts = np.flatnonzero(row_weights > 0)
        labelled, is_positive = (
            self._stored(rows.take(counts), row_weights[counts]),
            places[counts] == 1,
        )
        prior = self._priors(is_positive)[:-1]
        raw = logit(prior) if self.trees is None else self.trees.raw(labelled)
        self._note(labelled._replace(favour=_favours(raw, prior, is_positive)), is_positive)
        self._settle()

    def forget_rows(self) -> None:
        """Forget all rows; the trees stay."""
        self.reservoir.clear()
        self._recent, self._n_recent = [], 0
        self.n_negatives = self.n_positives = 0
        self.counts = RefitCounts(self.plan)

    def _act_on_counts(self) -> None:
        """Begin a refit, or let its trees take over, if that is due."""
        if self.is_refitting:
            if self.n_rows >= self.counts.takes_over_at:
                self._take_over()
            else:
                self._running_refit()  # after a copy or a load it is not running yet
        if not self.is_refitting and self.counts.is_due(self.n_rows, self.n_positives):
            self._begin_refit()
        elif not self.is_refitting and self.n_rows % _SETTLED_EVERY == 0:
            self._settle()

    def _begin_refit(self) -> None:
        if min(self.n_positives, self.n_negatives) < LEAST_OF_CLASS:
            self.counts.postpone(self.n_rows)
            return
        self._settle()
        counted = self.reservoir.n_positives_counted(self.n_rows)
        self.counts.begin(self.n_rows, self.n_positives, counted)
        self._running_refit()

    def _take_over(self) -> None:
        refit, self._refit = self._running_refit(), None  # one that fails is tried again
        self.trees = refit.result()
        self.counts.end()
        self.n_refits += 1
        if self.trees is not None and self.plan.corrects_leaves:
            for rows, is_positive in self._recent:
                self.trees.learn(rows, is_positive, rows.weight)
        self._settle()

    def _running_refit(self) -> Refit:
        if self._refit is None:
            # no row has been put into the reservoir since the refit was due
            sample = self.reservoir.sample(self.n_rows - self._n_recent, len(self.columns))
            ranker, n_buckets = self.plan.ranker, self.shape.n_buckets
            self._refit = Refit(lambda: grown(sample, ranker, n_buckets), self.plan.in_background)
        return self._refit

    def _settle(self) -> None:
        """Put the recent rows into the reservoir."""
        for rows, is_positive in self._joined_recent():
            self.reservoir.add(rows, is_positive)
        self._recent, self._n_recent = [], 0

    def _joined_recent(self) -> list[tuple[StoredRows, NDArray[np.bool_]]]:
        """Return the recent rows as one block, or as none."""
        if len(self._recent) < 2:
            return self._recent
        n_columns = max(rows.values.shape[1] for rows, _ in self._recent)
        wide = [rows.with_columns(n_columns) for rows, _ in self._recent]
        joined = StoredRows(*(np.concatenate(parts) for parts in zip(*wide, strict=True)))
        return [(joined, np.concatenate([is_positive for _, is_positive in self._recent]))]

    # To and from files

    def arrays(self) -> dict[str, NDArray]:
        """Return the arrays a file keeps."""
        parts = {
            "positives": self.reservoir.positives.to_arrays(),
            "negatives": self.reservoir.negatives.to_arrays(),
        }
        for rows, is_positive in self._joined_recent():
            parts["recent"] = {**rows._asdict(), "is_positive": is_positive}
        if self.trees is not None:
            parts["trees"] = self.trees.to_arrays()
        return parts_together(parts)

    def state(self) -> dict[str, Any]:
        """Return what a file keeps in addition to the arrays."""
        return {
            "columns": self.columns.names,
            "classes": [list(pair) for pair in self.classes.places.items()],
            "positive": self.classes.positive_label,
            "seed": self.seed,
            "has_trees": self.trees is not None,
            "has_recent": bool(self._recent),
            "refits": self.counts.state(),
            **{name: getattr(self, name) for name in _COUNTS},
        }

    def restore(self, state: Mapping[str, Any], arrays: Mapping[str, NDArray]) -> None:
        """Take back what `state` and `arrays` gave; raises ValueError if it does not fit."""
        if "refits" not in state:
            raise ValueError(
                "it was written by an earlier form of StreamRanker, whose files are not read; "
                "start a new one and let it learn the labels again."
            )
        self.add_columns(checked_names(state["columns"]))
        for name in _COUNTS:
            setattr(self, name, checks.whole_number(state[name], name, 0, _MOST_COUNTED))
        self.counts.restore(state["refits"])
        n_columns, n_buckets = len(self.columns), self.shape.n_buckets
        for name in ("positives", "negatives"):
            pool = getattr(self.reservoir, name)
            pool.restore(part_of(arrays, name), n_columns, n_buckets)
        if state["has_recent"]:
            own = part_of(arrays, "recent")
            rows = stored_rows(own, n_columns, n_buckets)
            is_positive = stored_vector(own, "is_positive", np.bool_, rows.number.size)
            self._recent, self._n_recent = [(rows, is_positive)], is_positive.size
        if state["has_trees"]:
            self.trees = CorrectedTrees.restored(part_of(arrays, "trees"), n_columns, n_buckets)
        self._check_counts()

    def _check_counts(self) -> None:
        """Raise a ValueError if the rows of a file are not numbered as it counts them."""
        n_settled = self.n_rows - self._n_recent
        for rows, _ in self._recent:
            if not np.array_equal(rows.number, np.arange(n_settled + 1, self.n_rows + 1)):
                raise ValueError("numbers of recent rows must be those of the last labels.")
        for pool in (self.reservoir.positives, self.reservoir.negatives):
            if pool.rows.number[-1:].max(initial=0) > n_settled:
                raise ValueError(f"numbers of settled rows must be at most {n_settled}.")


def _favours(
    raw: NDArray[np.float64], prior: NDArray[np.float64], is_positive: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return how much rows are favoured where there is no room for all, by their log-odds.

    What a negative says of the border between the classes is in proportion to its probability p
    of being positive: that is the size of its gradient. Half of the places are for this, and half
    are for all alike, so that no row's weight is more than twice what it would be without favour.
    """
    return np.where(is_positive, 1.0, 1.0 + expit(raw) / prior)
