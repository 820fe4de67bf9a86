"""From labelled Parquet files to a ranker with honest figures, on a Dask cluster.

Does what `toprank.workflow.training` does on one machine, but rows stay on the workers. They count
their rows by bucket, and each part is made of whole buckets. One ranker learns from train.
Validation calibrates its probabilities and test gives the figures: scores, labels and days of at
most a million rows each are sent to the client. Then the same trees are grown on all rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from toprank.cluster import cluster_fit
from toprank.cluster.bucket_split import BucketCounts, BucketSplit, Counted, period, split_buckets
from toprank.cluster.buckets import PartCounts, SplitColumns, Wanted, chosen_rows, counted_buckets
from toprank.cluster.dask_client import import_dask
from toprank.cluster.parquet import parquet_frame
from toprank.cluster.partition_tasks import computed, for_each_partition
from toprank.data import checks, tables
from toprank.data.tables.labels import positive_and_negative
from toprank.rankers.auto.boosted import BoostedTrees
from toprank.rankers.boosted.boosted_ranker import BoostedRanker
from toprank.rankers.progress import Progress, renamed
from toprank.workflow.backtest import ScoredWindow, backtested, newest_calibration
from toprank.workflow.evaluation import evaluate
from toprank.workflow.promise import Promise
from toprank.workflow.task import class_names, feature_names
from toprank.workflow.training import Candidate

_TEXT_TABLES = (".csv", ".tsv", ".txt")


@dataclass(frozen=True, eq=False)
class ClusterTask:
    """Rows on a cluster, ready to learn from.

    Counts have the names that they have in a `Task` on one machine: `summary` reads both. `time`
    has the first and the last moment only.
    """

    frame: Any
    features: list[str]
    roles: SplitColumns
    positive: Any
    negative: Any
    is_positive: Counted
    time: NDArray[np.datetime64] | None
    split: BucketSplit
    n_unlabelled: int

    def counts(self) -> tuple[int, int]:
        """Return the number of rows and of positives."""
        return self.is_positive.size, int(self.is_positive.sum())

    def remarks(self) -> list[str]:
        """Return what is worth knowing before the training."""
        said = []
        if self.n_unlabelled:
            said.append(f"{self.n_unlabelled:,} rows without a label were left out.")
        n_scored, n_rows = self.split.scored_rows["test"].size, self.split.rows["test"].size
        if n_scored < n_rows:
            drawn = "drawn at random" if self.time is None else "in whole days drawn at random"
            said.append(f"the figures are based on {n_scored:,} of {n_rows:,} test rows, {drawn}.")
        return said


@dataclass(frozen=True)
class ClusterTrained:
    """The ranker that a cluster trained, and its figures before it learned from all rows."""

    task: ClusterTask
    ranker: BoostedRanker
    chosen: Candidate
    promise: Promise | None
    usual: None = None  # no worker has seen all rows
    account: None = None  # one recipe is trained, without others to compare it with

    @property
    def candidates(self) -> list[Candidate]:
        return [self.chosen]

    @property
    def is_refitted(self) -> bool:
        return self.ranker is not self.chosen.ranker


def prepare(
    client: Any,
    source: str | Path,
    label: str,
    *,
    time: str | None = None,
    positive_label: Any = None,
    drop: Iterable[str] = (),
    gap: np.timedelta64 | None = None,
    random_state: int = 0,
    progress: Progress | None = None,
) -> ClusterTask:
    """Return the task of ranking the positives of column `label` in Parquet files.

    `source` is a file, a folder or a pattern that all workers can read. With `time`, the parts
    are whole days and `gap` is rounded up to days; without, the rows are drawn at random.
    """
    roles = SplitColumns(label, time, checks.whole_number(random_state, "random_state", 0))
    frame, features = _opened(source, roles, list(drop))
    tasks = for_each_partition(frame, counted_buckets, roles, features)
    found: list[PartCounts] = computed(client, tasks, "counting rows", progress)
    positive, negative = positive_and_negative(label, _label_counts(found), positive_label)
    counts = BucketCounts.of(found, positive)
    is_positive = counts.inside(counts.buckets)
    return ClusterTask(
        frame,
        features,
        roles,
        positive,
        negative,
        is_positive,
        None if time is None else np.array(period(counts.buckets)),
        split_buckets(counts, roles, gap),
        n_unlabelled=sum(part.n_rows for part in found) - is_positive.size,
    )


def train(
    client: Any,
    task: ClusterTask,
    budget: int,
    *,
    loss: str = "log",
    n_estimators: int = 300,
    refit: bool = True,
    random_state: int = 0,
    progress: Progress | None = None,
) -> ClusterTrained:
    """Return the ranker that the workers of `client` train on the task, and its figures.

    It learns from all rows in the end; without `refit`, from train alone.
    """
    checks.whole_number(budget, "budget", 1)
    positive, negative = class_names(task.positive, task.negative)
    ranker = BoostedRanker(
        loss, n_estimators=n_estimators, positive_label=positive, random_state=random_state
    )
    names = np.array([negative, positive])
    _fit(client, task, ranker, task.split.buckets["train"], names, progress)
    scores = _scores(client, task, ranker, progress)
    windows = [_window(task, scores.of(each)) for each in task.split.scored.values()]
    ranker.calibration_ = newest_calibration(windows[:1])
    test = scores.of(task.split.scored["test"])
    probability = ranker.calibration_.probability(test.suspicion)
    day = None if task.time is None else test.buckets
    figures = evaluate(test.is_positive, test.suspicion, probability, budget, day)
    chosen = Candidate(BoostedTrees(loss).name, ranker, figures)
    until = windows[0].until
    if refit:
        ranker = clone(ranker)
        again = renamed(progress, "learning from all rows")
        _fit(client, task, ranker, task.split.everything, names, again)
        ranker.calibration_ = newest_calibration(windows)
        until = None if task.time is None else task.time[-1]
    promise = None
    if until is not None:
        promise = backtested(windows, newest_calibration(windows), until, budget)
    return ClusterTrained(task, ranker, chosen, promise)


def _fit(
    client: Any,
    task: ClusterTask,
    ranker: BoostedRanker,
    buckets: NDArray[np.int64],
    names: NDArray,
    progress: Progress | None,
) -> None:
    """Let the ranker learn from the rows of these buckets."""
    rows = _training_rows(task, buckets, names)
    cluster_fit.fit(
        ranker, rows[task.features], rows[task.roles.label], client=client, progress=progress
    )


def _window(task: ClusterTask, scores: _Scores) -> ScoredWindow:
    """Return rows as scored by the ranker that learned from train."""
    if task.split.periods is None:
        return ScoredWindow(scores.is_positive, scores.suspicion)
    noon = scores.buckets.astype("datetime64[D]") + np.timedelta64(12, "h")
    time = noon.astype("datetime64[us]")
    until = task.split.periods["train"][1]
    return ScoredWindow(scores.is_positive, scores.suspicion, time, until)


def _opened(source: str | Path, roles: SplitColumns, drop: list[str]) -> tuple[Any, list[str]]:
    """Return the files as a Dask frame, no row read yet, and the names of its features."""
    if str(source).lower().removesuffix(".gz").endswith(_TEXT_TABLES):
        raise tables.TableError(
            f"{source} must be Parquet, so that every worker can read its own part; write the "
            "rows to Parquet files, or train without a cluster, which also reads CSV."
        )
    names = [str(name) for name in parquet_frame(source).columns]
    others = [roles.label] if roles.time is None else [roles.label, roles.time]
    tables.check_columns([*others, *drop], names, str(source))
    features = feature_names(names, roles.label, roles.time, drop)
    return parquet_frame(source, [*features, *others]), features


def _label_counts(found: list[PartCounts]) -> Counter[Any]:
    totals: Counter[Any] = Counter()
    for part in found:
        for value, (_, n_rows) in part.by_label.items():
            totals[value] += int(n_rows.sum())
    return totals


def _training_rows(task: ClusterTask, buckets: NDArray[np.int64], names: NDArray) -> Any:
    """Return a Dask frame of the buckets' rows, the label written as one of two names."""
    columns = [*task.features, task.roles.label]
    wanted = Wanted(task.roles, task.positive, buckets)
    return import_dask().dataframe.from_delayed(
        for_each_partition(task.frame, _named_rows, wanted, columns, names),
        meta=task.frame._meta[columns],
        verify_meta=False,
    )


def _named_rows(part: Any, number: int, wanted: Wanted, columns: list[str], names: NDArray) -> Any:
    rows, is_positive, _ = chosen_rows(part, number, wanted)
    labels = names[is_positive.astype(int)]
    return part.iloc[rows][columns].assign(**{wanted.roles.label: labels})


class _Scores(NamedTuple):
    """Labels, suspicions and buckets of rows that were scored."""

    is_positive: NDArray[np.bool_]
    suspicion: NDArray[np.float64]
    buckets: NDArray[np.int64]

    def of(self, buckets: NDArray[np.int64]) -> _Scores:
        """Return the scores of the rows in these buckets."""
        here = np.isin(self.buckets, buckets)
        return _Scores(self.is_positive[here], self.suspicion[here], self.buckets[here])


def _scores(
    client: Any, task: ClusterTask, ranker: BoostedRanker, progress: Progress | None
) -> _Scores:
    """Return the scores of the chosen validation and test rows."""
    buckets = np.concatenate(list(task.split.scored.values()))
    wanted = Wanted(task.roles, task.positive, buckets)
    tasks = for_each_partition(task.frame, _scored, wanted, ranker)
    found = computed(client, tasks, "scoring", progress)
    return _Scores(*map(np.concatenate, zip(*found, strict=True)))


def _scored(part: Any, number: int, wanted: Wanted, ranker: BoostedRanker) -> _Scores:
    from distributed import get_worker

    rows, is_positive, buckets = chosen_rows(part, number, wanted)
    if not rows.size:
        return _Scores(is_positive, np.empty(0), buckets)
    ranker.booster_.set_param({"nthread": get_worker().state.nthreads})
    return _Scores(is_positive, ranker.suspicion(part.iloc[rows]), buckets)
