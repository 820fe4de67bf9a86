"""From labelled Parquet files to a ranker with honest figures, on a Dask cluster.

As `training` has it on one machine, but rows stay with the workers. They count their rows by
lots: the days where there are times, else lots drawn at random. Whole lots make up the parts:

    lots ->   [ train | validation | gap | test ]

One ranker learns from train. Validation calibrates its probabilities and test gives the figures:
of these rows the scores, labels and days come here, of a million rows each at most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank import checks, splits, summary, tables, training
from toprank.auto.boosted import BoostedTrees
from toprank.boosting import cluster
from toprank.boosting.ranker import BoostedRanker
from toprank.evaluation import evaluate
from toprank.imbalance.calibration import fit_sigmoid
from toprank.tables import labels as label_values
from toprank.tables.columns import required_frame
from toprank.tables.values import decoded, kind_of
from toprank.training import Candidate, Progress

_SECONDS_TO_CONNECT = 10
_DRAWN_LOTS = 1000
_VALIDATION_SHARE, _TEST_SHARE = 0.15, 0.25
_MOST_SCORED = 1_000_000
_TEXT_TABLES = (".csv", ".tsv", ".txt")
_MICROSECOND = np.timedelta64(1, "us")


class Counted(NamedTuple):
    """How many rows there are and how many positives: what is known here of labels elsewhere.

    `size` and `mean` are those that an array of the labels would have.
    """

    size: int
    n_positive: int

    def mean(self) -> float:
        """Return the share of the positives."""
        return self.n_positive / self.size


class Roles(NamedTuple):
    """What workers must know to find the label and the lot of a row."""

    label: str
    time: str | None
    seed: int


@dataclass(frozen=True, eq=False)
class LotSplit:
    """The lots of each part, with the rows in them.

    `scored` has the lots whose scores are fetched: all of validation and test, or a sample.
    `periods` gives the first and the last moment of each part's days.
    """

    lots: dict[str, NDArray[np.int64]]
    scored: dict[str, NDArray[np.int64]]
    rows: dict[str, Counted]
    scored_rows: dict[str, Counted]
    periods: dict[str, tuple[np.datetime64, np.datetime64]] | None

    def parts(self) -> dict[str, Counted]:
        """Return the rows of train, validation and test under their names."""
        return self.rows


@dataclass(frozen=True, eq=False)
class ClusterTask:
    """Rows on a cluster made ready to learn from.

    What is counted has the names that a `Task` has on one machine: `summary` reads both. `time`
    holds the first and the last moment only.
    """

    frame: Any
    features: list[str]
    roles: Roles
    positive: Any
    negative: Any
    is_positive: Counted
    time: NDArray[np.datetime64] | None
    split: LotSplit
    n_unlabelled: int

    def remarks(self) -> list[str]:
        """Return what is worth knowing before the training."""
        said = []
        if self.n_unlabelled:
            said.append(f"{self.n_unlabelled:,} rows without a label were left out.")
        n_scored, n_rows = self.split.scored_rows["test"].size, self.split.rows["test"].size
        if n_scored < n_rows:
            drawn = "drawn at random" if self.time is None else "in whole days drawn at random"
            said.append(f"the figures are of {n_scored:,} of {n_rows:,} test rows, {drawn}.")
        return said


@dataclass(frozen=True)
class ClusterTrained:
    """The ranker that a cluster trained, with its figures on the test rows."""

    task: ClusterTask
    chosen: Candidate


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Give a client of the Dask scheduler at `address`, such as tcp://host:8786."""
    cluster.import_dask()
    from distributed import Client

    _check_address(address)
    try:
        client = Client(address, timeout=_SECONDS_TO_CONNECT)
    except OSError:
        raise ConnectionError(
            f"no Dask scheduler answers at {address} within {_SECONDS_TO_CONNECT} seconds; start "
            "one there with: dask scheduler, or name the address that its log shows."
        ) from None
    with client:
        if not client.nthreads():
            raise ValueError(
                f"the cluster must have workers; {address} has none. "
                f"Start some with: dask worker {address}"
            )
        yield client


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
    roles = Roles(label, time, checks.whole_number(random_state, "random_state", 0))
    frame, features = _opened(source, roles, list(drop))
    tasks = _for_each_partition(frame, _counted, roles, features)
    found: list[_PartCounts] = _computed(client, tasks, "counting rows", progress)
    positive, negative = _classes(found, label, positive_label)
    counts = _joined(found, positive)
    n_rows, n_positive = int(counts.n_rows.sum()), int(counts.n_positive.sum())
    return ClusterTask(
        frame,
        features,
        roles,
        positive,
        negative,
        Counted(n_rows, n_positive),
        None if time is None else np.array(_period(counts.lots)),
        _split(counts, roles, gap),
        n_unlabelled=sum(part.n_rows for part in found) - n_rows,
    )


def train(
    client: Any,
    task: ClusterTask,
    budget: int,
    *,
    loss: str = "log",
    n_estimators: int = 300,
    random_state: int = 0,
    progress: Progress | None = None,
) -> ClusterTrained:
    """Return the ranker that the workers of `client` train on the task, and its figures."""
    checks.whole_number(budget, "budget", 1)
    positive, negative = training._class_names(task.positive, task.negative)
    ranker = BoostedRanker(
        loss, n_estimators=n_estimators, positive_label=positive, random_state=random_state
    )
    rows = _training_rows(task, np.array([negative, positive]))
    told = None if progress is None else partial(progress, "growing trees")
    ranker.fit(rows[task.features], rows[task.roles.label], client=client, progress=told)

    scores = _scores(client, task, ranker, progress)
    apart = scores.of(task.split.scored["validation"])
    ranker.calibration_ = fit_sigmoid(apart.is_positive, apart.suspicion)
    test = scores.of(task.split.scored["test"])
    probability = ranker.calibration_.probability(test.suspicion)
    day = None if task.time is None else test.lots
    figures = evaluate(test.is_positive, test.suspicion, probability, budget, day)
    return ClusterTrained(task, Candidate(BoostedTrees(loss).name, ranker, figures))


def text_of(trained: Any, noun: str) -> str:
    """Return the account of a training on a cluster, as `toprank fit` prints it."""
    chosen = trained.chosen
    return "\n".join(
        (
            summary.size_line(trained, noun),
            summary.periods_line(trained.task),
            summary.aligned(summary.figures_rows([(chosen.name, chosen.test)], noun)),
            summary.headline(chosen.test, noun),
            *summary.cautions(chosen.test, noun),
        )
    )


def facts_of(trained: ClusterTrained) -> dict[str, Any]:
    """Return the same account in plain values, as the model file and `--json` keep it."""
    task, chosen = trained.task, trained.chosen
    periods = task.split.periods or {}
    return {
        "label": task.roles.label,
        "time": task.roles.time,
        "budget": chosen.test.budget,
        "rows": task.is_positive.size,
        "positives": task.is_positive.n_positive,
        "periods": {name: [str(begin), str(end)] for name, (begin, end) in periods.items()},
        "chosen": chosen.name,
        "test": {chosen.name: summary.evaluation_facts(chosen.test)},
    }


# Files and tasks --------------------------------------------------------------------------------


def _check_address(address: str) -> None:
    try:
        parts = urlsplit(address)
        is_whole = bool(
            parts.scheme in ("tcp", "tls", "ws", "wss") and parts.hostname and parts.port
        )
    except ValueError:
        is_whole = False
    if not is_whole:
        raise ValueError(
            f"the address of a cluster must be such as tcp://host:8786; got {address!r}."
        )


def _opened(source: str | Path, roles: Roles, drop: list[str]) -> tuple[Any, list[str]]:
    """Return the files as a Dask frame, no row read yet, and the names of its features."""
    if str(source).lower().removesuffix(".gz").endswith(_TEXT_TABLES):
        raise tables.TableError(
            f"{source} must be Parquet, of which every worker reads its own part; write its rows "
            "to Parquet files, or train without a cluster, where a CSV will do."
        )
    names = [str(name) for name in cluster.parquet_frame(source).columns]
    named = [name for name in (roles.label, roles.time, *drop) if name is not None]
    tables.check_columns(named, names, str(source))
    no_rows = pa.schema([(name, pa.null()) for name in names]).empty_table()
    features = training._features(no_rows, roles.label, roles.time, drop).column_names
    others = [roles.label] if roles.time is None else [roles.label, roles.time]
    return cluster.parquet_frame(source, [*features, *others]), features


def _for_each_partition(frame: Any, function: Callable[..., Any], *shared: Any) -> list[Any]:
    """Return the tasks `function(partition, its number, *shared)`."""
    delayed = cluster.import_dask().delayed
    # not optimised, or files might be joined in another way each time: lots are drawn by number
    partitions = frame.to_delayed(optimize_graph=False)
    once = [delayed(each, traverse=False) for each in shared]
    return [delayed(function)(part, number, *once) for number, part in enumerate(partitions)]


def _computed(client: Any, tasks: list[Any], what: str, progress: Progress | None) -> list[Any]:
    """Return what came of the tasks; it should be small."""
    from distributed import as_completed

    with cluster._lost_workers_named(), client.as_current():
        futures = client.compute(tasks)
        with cluster._released(client, futures):
            for n_done, future in enumerate(as_completed(futures), start=1):
                if future.status == "error":
                    _raise_of(future)
                if progress is not None:
                    progress(what, n_done, len(futures))
            return client.gather(futures)


def _raise_of(future: Any) -> None:
    try:
        future.result()
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"a worker cannot read {error.filename or error}; put the files where every worker "
            "finds them under the same name."
        ) from None


# Counting, on the workers -----------------------------------------------------------------------


class _PartCounts(NamedTuple):
    """The rows of one partition: how many in all, and of each label how many in which lots."""

    n_rows: int
    by_label: dict[Any, tuple[NDArray[np.int64], NDArray[np.int64]]]


def _counted(part: Any, number: int, roles: Roles, features: list[str]) -> _PartCounts:
    if not len(part):
        return _PartCounts(0, {})
    # in all parts now, rather than in the test rows once the trees are grown
    tables.check_finite_columns(pa.Table.from_pandas(part[features], preserve_index=False))
    rows = _rows_by_label(part, roles.label)
    lots = _lots(part, number, roles, rows)
    counts = {value: np.unique(lots[each], return_counts=True) for value, each in rows.items()}
    return _PartCounts(len(part), counts)


def _rows_by_label(part: Any, label: str) -> dict[Any, NDArray[np.intp]]:
    """Return which rows hold each of the label's values; rows without a label are in none."""
    values = required_frame(part).column(label)
    kind_of(values, label)
    values = decoded(values)
    counts = label_values._value_counts(values)
    if len(counts) > 2:
        label_values._check_two(label, counts)
    return {
        value: np.flatnonzero(label_values._equal_to(value, values)) for value in sorted(counts)
    }


def _lots(
    part: Any, number: int, roles: Roles, rows_by_label: dict[Any, NDArray[np.intp]]
) -> NDArray[np.int64]:
    """Return the lot of each row: its day since 1970, or one drawn, labels spread evenly."""
    if roles.time is not None:
        return tables.time_column(part, roles.time).astype("datetime64[D]").astype(np.int64)
    generator = np.random.default_rng([roles.seed, number])
    lots = np.zeros(len(part), dtype=np.int64)
    for rows in rows_by_label.values():
        place = (generator.permutation(rows.size) + generator.random()) / rows.size
        lots[rows] = _DRAWN_LOTS * place
    return lots


class _Wanted(NamedTuple):
    """The rows that are wanted of every partition: those in some lots."""

    roles: Roles
    positive: Any
    lots: NDArray[np.int64]


class _Chosen(NamedTuple):
    """Rows of one partition by their place, with label and lot."""

    rows: NDArray[np.intp]
    is_positive: NDArray[np.bool_]
    lots: NDArray[np.int64]


def _chosen(part: Any, number: int, wanted: _Wanted) -> _Chosen:
    """Return the labelled rows that are wanted."""
    none = np.empty(0, dtype=np.intp)
    if not len(part):
        return _Chosen(none, none.astype(bool), none.astype(np.int64))
    by_label = _rows_by_label(part, wanted.roles.label)
    lots = _lots(part, number, wanted.roles, by_label)
    labelled = np.sort(np.concatenate([none, *by_label.values()]))
    rows = labelled[np.isin(lots[labelled], wanted.lots)]
    return _Chosen(rows, np.isin(rows, by_label.get(wanted.positive, none)), lots[rows])


# Splitting --------------------------------------------------------------------------------------


class _LotCounts(NamedTuple):
    """All lots that hold rows, rising, with their rows and positives."""

    lots: NDArray[np.int64]
    n_rows: NDArray[np.int64]
    n_positive: NDArray[np.int64]

    def inside(self, lots: NDArray[np.int64]) -> Counted:
        """Return how many rows some of the lots hold together."""
        here = np.isin(self.lots, lots)
        return Counted(int(self.n_rows[here].sum()), int(self.n_positive[here].sum()))


def _classes(found: list[_PartCounts], label: str, positive_label: Any) -> tuple[Any, Any]:
    """Return the positive and the negative value of the label, or say why there are not two."""
    totals: Counter[Any] = Counter()
    for part in found:
        for value, (_, n_rows) in part.by_label.items():
            totals[value] += int(n_rows.sum())
    label_values._check_two(label, totals)
    rarest = min(totals.values())
    # two of the more frequent and one of the rarer tell the same as all rows
    few = [value for value, n_rows in totals.items() for _ in range(1 + (n_rows > rarest))]
    labels = tables.split_label(pa.table({label: few}), label, positive_label)
    return labels.positive, labels.negative


def _joined(found: list[_PartCounts], positive: Any) -> _LotCounts:
    rows: Counter[int] = Counter()
    positives: Counter[int] = Counter()
    for part in found:
        for value, (lots, n_rows) in part.by_label.items():
            here = dict(zip(lots.tolist(), n_rows.tolist(), strict=True))
            rows.update(here)
            if value == positive:
                positives.update(here)
    order = sorted(rows)
    columns = (order, [rows[lot] for lot in order], [positives[lot] for lot in order])
    return _LotCounts(*(np.array(column, dtype=np.int64) for column in columns))


def _split(counts: _LotCounts, roles: Roles, gap: np.timedelta64 | None) -> LotSplit:
    n_days = 0 if roles.time is None else _gap_days(counts.lots, gap)
    lots = _parted(counts.lots, counts.n_rows, n_days)
    generator = np.random.default_rng(roles.seed)
    scored = {part: _sample(lots[part], counts, generator) for part in ("validation", "test")}
    split = LotSplit(
        lots,
        scored,
        {part: counts.inside(each) for part, each in lots.items()},
        {part: counts.inside(each) for part, each in scored.items()},
        None if roles.time is None else {part: _period(each) for part, each in lots.items()},
    )
    _check_classes("train", split.rows["train"])
    for part, rows in split.scored_rows.items():
        _check_classes(part, rows)
    return split


def _gap_days(days: NDArray[np.int64], gap: np.timedelta64 | None) -> int:
    """Return the days that a gap takes up: as on one machine, but whole ones."""
    span = (days[-1] - days[0]) * splits.DAY.astype("timedelta64[us]")
    gap = splits._default_gap(span) if gap is None else splits._checked_gap(gap)
    return int(np.ceil(gap / splits.DAY))


def _parted(
    lots: NDArray[np.int64], n_rows: NDArray[np.int64], gap: int
) -> dict[str, NDArray[np.int64]]:
    """Return the lots of each part, by the rule of `splits.chronological`.

    >>> lots = np.arange(100)
    >>> parts = _parted(lots, np.full(100, 5), gap=7)
    >>> {part: (int(lots[0]), int(lots[-1])) for part, lots in parts.items()}
    {'train': (0, 52), 'validation': (53, 67), 'test': (75, 99)}
    """
    total = n_rows.sum()
    test = _first_lot(n_rows, (1 - _TEST_SHARE) * total, "test", gap)
    validation_end = int(np.searchsorted(lots, lots[test] - gap))
    before = n_rows[:validation_end]
    emptied = "train" if before.size else "validation"
    validation = _first_lot(before, before.sum() - _VALIDATION_SHARE * total, emptied, gap)
    return {
        "train": lots[:validation],
        "validation": lots[validation:validation_end],
        "test": lots[test:],
    }


def _first_lot(n_rows: NDArray[np.int64], n_before: float, part: str, gap: int) -> int:
    """Return the place of the lot with the nearest to `n_before` rows before it."""
    if n_before <= 0 or n_rows.size < 2:
        way_out = f"Choose a smaller gap (it is {gap} days), or bring rows of more days."
        raise ValueError(
            f"the {part} part would be empty. {way_out if gap else 'Bring more rows or days.'}"
        )
    rows_before = np.cumsum(n_rows)[:-1]
    return 1 + int(np.abs(rows_before - n_before).argmin())


def _sample(
    lots: NDArray[np.int64], counts: _LotCounts, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return the lots whose rows are scored: as many as the limit allows, one at least.

    They are whole: the top of a day is another one when some of its rows are left out.
    """
    n_rows = counts.n_rows[np.isin(counts.lots, lots)]
    order = generator.permutation(lots.size)
    fits = np.cumsum(n_rows[order]) <= _MOST_SCORED
    fits[0] = True
    return np.sort(lots[order[fits]])


def _period(days: NDArray[np.int64]) -> tuple[np.datetime64, np.datetime64]:
    """Return the first and the last moment of the days from the first to the last of these."""
    begin, end = days[[0, -1]].astype("datetime64[D]").astype("datetime64[us]")
    return begin, end + splits.DAY - _MICROSECOND


def _check_classes(part: str, rows: Counted) -> None:
    if rows.n_positive in (0, rows.size):
        raise ValueError(
            f"the {part} part must hold both classes; got {rows.n_positive} positives in "
            f"{rows.size} rows. Bring more data, or data of a longer period."
        )


# Learning and scoring ---------------------------------------------------------------------------


def _training_rows(task: ClusterTask, names: NDArray) -> Any:
    """Return a Dask frame of the training rows, the label written as one of two names."""
    columns = [*task.features, task.roles.label]
    wanted = _Wanted(task.roles, task.positive, task.split.lots["train"])
    return cluster.import_dask().dataframe.from_delayed(
        _for_each_partition(task.frame, _named_rows, wanted, columns, names),
        meta=task.frame._meta[columns],
        verify_meta=False,
    )


def _named_rows(
    part: Any, number: int, wanted: _Wanted, columns: list[str], names: NDArray
) -> Any:
    chosen = _chosen(part, number, wanted)
    labels = names[chosen.is_positive.astype(int)]
    return part.iloc[chosen.rows][columns].assign(**{wanted.roles.label: labels})


class _Scores(NamedTuple):
    """Labels, suspicions and lots of rows that were scored."""

    is_positive: NDArray[np.bool_]
    suspicion: NDArray[np.float64]
    lots: NDArray[np.int64]

    def of(self, lots: NDArray[np.int64]) -> _Scores:
        """Return those of the rows in these lots."""
        here = np.isin(self.lots, lots)
        return _Scores(self.is_positive[here], self.suspicion[here], self.lots[here])


def _scores(
    client: Any, task: ClusterTask, ranker: BoostedRanker, progress: Progress | None
) -> _Scores:
    """Return the scores of the validation and the test rows that are to be scored."""
    lots = np.concatenate(list(task.split.scored.values()))
    wanted = _Wanted(task.roles, task.positive, lots)
    tasks = _for_each_partition(task.frame, _scored, wanted, ranker)
    found = _computed(client, tasks, "scoring", progress)
    return _Scores(*map(np.concatenate, zip(*found, strict=True)))


def _scored(part: Any, number: int, wanted: _Wanted, ranker: BoostedRanker) -> _Scores:
    from distributed import get_worker

    rows, is_positive, lots = _chosen(part, number, wanted)
    if not rows.size:
        return _Scores(is_positive, np.empty(0), lots)
    ranker.booster_.set_param({"nthread": get_worker().state.nthreads})
    return _Scores(is_positive, ranker.suspicion(part.iloc[rows]), lots)
