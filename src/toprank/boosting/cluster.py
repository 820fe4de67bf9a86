"""Training on a Dask cluster: the rows stay with the workers, only totals travel.

One look at every partition learns the schema and counts the classes; a second encodes the rows,
which stay where they are. Then each worker grows the same trees on its own rows: XGBoost adds up
the histograms over the workers, and `Gather` the sums of the loss.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from toprank import reasons
from toprank.boosting import partitions, xgboost_engine
from toprank.boosting.plan import Phase, Plan
from toprank.imbalance.calibration import SigmoidCalibration, fit_sigmoid
from toprank.inputs import Rows
from toprank.losses import Gather
from toprank.tables import Schema, TableError, TableWarning, check_columns

if TYPE_CHECKING:
    from xgboost import Booster

_LOCK = "toprank-training"
_TOPIC = "toprank-progress"
_SECONDS_TO_MEET = 300  # for all workers to begin: each may have another task to end first
_SECONDS_TO_MISS_A_WORKER = 5
_SECONDS_TO_END = 5
_ROWS_FOR_USUAL = 100_000  # as on one machine
_ROWS_FOR_CALIBRATION = 500_000  # of either class


class LostWorkerError(RuntimeError):
    """A worker went away during the training, and its rows with it."""


class ClusterTraining(NamedTuple):
    """What a ranker keeps of a training on a cluster; `n_workers` held rows."""

    schema: Schema
    classes: NDArray
    positive: Any
    booster: Booster
    usual: list[reasons.Usual]
    calibration: SigmoidCalibration
    n_workers: int


def import_dask() -> Any:
    """Return the dask module with its data frames, or say how to install it."""
    try:
        import dask.dataframe
        import distributed  # noqa: F401
    except ImportError:
        raise ImportError(
            "training on a cluster needs Dask, which is not installed; "
            'install it with: pip install "toprank[cpu,dask]".'
        ) from None
    return dask


def read_parquet(
    source: str | Path, label: str, *, weight: str | None = None, drop: Sequence[str] = ()
) -> tuple[Any, Any, Any]:
    """Return features, labels and weights of Parquet files as Dask collections, no row read yet.

    `source` is a file, a folder or a pattern such as "payments/*.parquet", in a place that every
    worker can read. Rows without a label are left out. Weights are None unless their column is
    named.

    >>> import pyarrow as pa
    >>> import pyarrow.parquet as pq
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     table = pa.table({"amount": [9.5, 3.0], "is_fraud": [True, False]})
    ...     pq.write_table(table, Path(folder, "2025-01.parquet"))
    ...     features, labels, weight = read_parquet(folder, "is_fraud")
    >>> list(features.columns), labels.name
    (['amount'], 'is_fraud')
    """
    names = [str(name) for name in parquet_frame(source).columns]
    others = [label] if weight is None else [label, weight]
    check_columns([*others, *drop], names, str(source))
    frame = parquet_frame(source, [name for name in names if name not in drop])
    frame = frame.dropna(subset=[label])
    return frame.drop(columns=others), frame[label], None if weight is None else frame[weight]


def parquet_frame(source: str | Path, columns: list[str] | None = None) -> Any:
    """Return Parquet files as one Dask data frame, all columns or some, no row read yet."""
    frames = import_dask().dataframe
    _check_there(source)
    try:
        # as on one machine, what pandas wrote as an index is a column like others; and Arrow's
        # own types: in pandas', one missing value turns whole numbers into floats
        return frames.read_parquet(
            str(source), columns=columns, index=False, dtype_backend="pyarrow"
        )
    except ValueError as error:
        raise TableError(
            f"{source} must be whole Parquet files, in a folder named *.parquet; some are not, or "
            "there is none; write them again, or name others."
        ) from error


def train(
    client: Any,
    features: Any,
    labels: Any,
    weight: Any = None,
    *,
    plan: Plan,
    settings: dict[str, Any],
    max_bins: int,
    binning: str,
    positive_label: Any = None,
) -> ClusterTraining:
    """Return what the workers of `client` learn from a Dask frame and the series of its labels.

    Labels and weights have the partitions of the features. The trees are those of one machine up
    to where XGBoost's sketch of all workers' values puts the bins. Batches (`batch_fraction`)
    are drawn on each worker: as large as on one machine, but not the same rows.
    """
    _check_input(client, features, labels, weight, plan)
    parts = _partitions(features, labels, weight)
    with _lost_workers_named():
        schema, label_facts = _look_at_all(client, parts)
        classes, positive = partitions.classes_of(label_facts, positive_label)
        counts = _Counts.of(label_facts, positive)
        work = _Work(plan, settings, schema.feature_types, max_bins, counts.bin_weights(binning))
        with _encoded(client, parts, schema, positive, counts) as encoded:
            trees, n_workers = _grow(client, encoded, counts, work)
            calibration = _calibration(client, encoded, trees, counts)
            usual = _usual_values(client, encoded, schema, counts)
    booster = xgboost_engine.load_booster(trees)
    return ClusterTraining(schema, classes, positive, booster, usual, calibration, n_workers)


class _Counts(NamedTuple):
    """How many rows of either class each partition holds."""

    positives: NDArray[np.int64]
    negatives: NDArray[np.int64]

    @classmethod
    def of(cls, facts: list[partitions.LabelFacts], positive: Any) -> _Counts:
        positives = [int(part.counts[part.values == positive].sum()) for part in facts]
        rows = [int(part.counts.sum()) for part in facts]
        return cls(np.array(positives), np.array(rows) - np.array(positives))

    def held(self) -> _Counts:
        """Return those of the partitions that hold rows."""
        some = self.positives + self.negatives > 0
        return _Counts(self.positives[some], self.negatives[some])

    def bin_weights(self, binning: str) -> tuple[float, float] | None:
        """Return the weights of a positive and a negative when bins are placed; None for equal."""
        if binning == "quantile":
            return None
        half = (self.positives.sum() + self.negatives.sum()) / 2
        return float(half / self.positives.sum()), float(half / self.negatives.sum())


class _Work(NamedTuple):
    """What every worker is asked to grow."""

    plan: Plan
    settings: dict[str, Any]
    feature_types: list[str]
    max_bins: int
    bin_weights: tuple[float, float] | None


def _check_there(source: str | Path) -> None:
    from fsspec.core import get_fs_token_paths

    filesystem, _, paths = get_fs_token_paths(str(source))
    if not paths or not filesystem.exists(paths[0]):
        raise FileNotFoundError(
            f"there is no Parquet file at {source}; name a file, a folder or a pattern such as "
            "payments/*.parquet."
        )


def _check_input(client: Any, features: Any, labels: Any, weight: Any, plan: Plan) -> None:
    frames = import_dask().dataframe
    if plan.patience is not None:
        raise ValueError(
            "early_stopping_rounds must be None on a cluster, where each worker would stop by its "
            f"own rows; got {plan.patience}. Choose n_estimators instead."
        )
    _check_collection(features, "X", frames.DataFrame, features)
    _check_collection(labels, "y", frames.Series, features)
    if weight is not None:
        _check_collection(weight, "sample_weight", frames.Series, features)
    if not client.nthreads():
        address = client.scheduler.address
        raise ValueError(
            f"the cluster must have workers; {address} has none. "
            f"Start some with: dask worker {address}"
        )


def _check_collection(given: Any, name: str, kind: Any, features: Any) -> None:
    if not isinstance(given, kind):
        raise TypeError(
            f"{name} must be a Dask {kind.__name__} when a client is given; got "
            f"{type(given).__name__}. Make it one, or leave the client out to train here."
        )
    if given.npartitions != features.npartitions:
        raise ValueError(
            f"{name} must have the {features.npartitions} partitions of X; got "
            f"{given.npartitions}. Take both from one frame."
        )


def _partitions(features: Any, labels: Any, weight: Any) -> list[tuple[Any, Any, Any]]:
    """Return features, labels and weights of each partition, not computed yet."""
    given = [features, labels] if weight is None else [features, labels, weight]
    # Optimised one by one, columns read from the same files may join files differently; as they
    # are, they share one reading of each.
    columns = [collection.to_delayed(optimize_graph=False) for collection in given]
    if weight is None:
        columns.append([None] * features.npartitions)
    return list(zip(*columns, strict=True))


@contextmanager
def _lost_workers_named() -> Iterator[None]:
    """Put Dask's word for a task that took several workers down with it into ours."""
    from distributed import KilledWorker

    try:
        yield
    except KilledWorker as error:
        raise LostWorkerError(
            f"workers were lost over one partition, {error.last_worker.address} the last of them; "
            "no model was made. They most likely ran out of memory: make partitions smaller or "
            "give workers more, then call fit again."
        ) from None


@contextmanager
def _released(client: Any, futures: list[Any]) -> Iterator[None]:
    """Make the workers forget the futures at the end, whoever else still holds them here.

    An error or an interrupt would otherwise keep them alive by its traceback.
    """
    try:
        yield
    finally:
        client.cancel(futures)


def _look_at_all(
    client: Any, parts: list[tuple[Any, Any, Any]]
) -> tuple[Schema, list[partitions.LabelFacts]]:
    """Return the schema of all partitions together, and the labels of each.

    The workers join their findings two by two: the texts of a column with many categories meet on
    one of them, not on the client.
    """
    delayed = import_dask().delayed
    columns = [delayed(partitions.facts_of_columns)(features) for features, _, _ in parts]
    while len(columns) > 1:
        odd = columns[len(columns) // 2 * 2 :]
        pairs = zip(columns[::2], columns[1::2], strict=False)
        columns = [delayed(partitions.joined)(*pair) for pair in pairs] + odd
    labels = [delayed(partitions.facts_of_labels)(*part) for part in parts]
    futures = client.compute([delayed(partitions.learned)(columns[0]), *labels])
    with _released(client, futures):
        (schema, remarks), *label_facts = client.gather(futures)
    for remark in remarks:
        warnings.warn(remark, TableWarning, stacklevel=4)
    return schema, label_facts


@contextmanager
def _encoded(
    client: Any, parts: list[tuple[Any, Any, Any]], schema: Schema, positive: Any, counts: _Counts
) -> Iterator[list[Any]]:
    """Give the encoded rows of each partition that holds any; they stay on the workers."""
    from distributed import wait

    delayed = import_dask().delayed
    shared = delayed(schema)
    holding = np.flatnonzero(counts.positives + counts.negatives)
    futures = client.compute(
        [delayed(partitions.encoded)(*parts[i], shared, positive) for i in holding]
    )
    with _released(client, futures):
        wait(futures)
        for future in futures:
            if future.status == "error":
                future.result()
        yield futures


# Growing ----------------------------------------------------------------------------------------


def _grow(client: Any, encoded: list[Any], counts: _Counts, work: _Work) -> tuple[bytes, int]:
    """Return the trees that the workers grow on their rows, and how many workers did."""
    from distributed import Lock

    plan = work.plan
    run = uuid4().hex
    # without progress, which can be anything and stays here
    work = work._replace(plan=replace(plan, progress=None))
    # two trainings at a time would wait for each other's workers for ever
    with client.as_current(), Lock(_LOCK):
        places = _places(client, encoded, counts)
        processes = client.run(os.getpid, workers=list(places))
        with _meeting(client, next(iter(places)), len(places), run) as tracker:
            futures = {
                place: client.submit(
                    _grow_here, rows, tracker, work, run, workers=[place], pure=False
                )
                for place, rows in places.items()
            }
            with _released(client, list(futures.values())), _told(client, plan, run):
                _wait_for(client, futures, processes)
                found = client.gather(list(futures.values()))
    plan.report(plan.n_estimators)
    return next(trees for trees in found if trees is not None), len(places)


def _places(client: Any, encoded: list[Any], counts: _Counts) -> dict[str, list[Any]]:
    """Return which worker trains on which partitions; a worker without any takes no part."""
    who_has = client.who_has(encoded)
    held_by = [min(who_has[part.key]) for part in encoded]
    held = counts.held()
    n_rows = (held.positives + held.negatives).tolist()
    chosen = _shared_out(held_by, n_rows, sorted(client.nthreads()))
    places: dict[str, list[Any]] = {}
    for part, place in zip(encoded, chosen, strict=True):
        places.setdefault(place, []).append(part)
    return dict(sorted(places.items()))


def _shared_out(held_by: list[str], n_rows: list[int], workers: list[str]) -> list[str]:
    """Return a worker for each partition: who holds it, unless that one has its fair share.

    The slowest worker sets the pace, and Dask likes to keep small tasks together.

    >>> _shared_out(["a", "a", "a", "b"], n_rows=[10, 10, 10, 10], workers=["a", "b"])
    ['a', 'a', 'b', 'b']
    """
    fair = sum(n_rows) / len(workers)
    load = dict.fromkeys(workers, 0)
    chosen = list(held_by)
    spare = []
    for i, worker in enumerate(held_by):
        if load[worker] < fair:
            load[worker] += n_rows[i]
        else:
            spare.append(i)
    for i in sorted(spare, key=n_rows.__getitem__, reverse=True):
        chosen[i] = min(workers, key=load.__getitem__)
        load[chosen[i]] += n_rows[i]
    return chosen


@contextmanager
def _meeting(client: Any, host: str, n_workers: int, run: str) -> Iterator[dict[str, Any]]:
    """Give the address at which the workers of a run find each other; one of them is host."""
    tracker = client.run(_start_tracker, n_workers, run, workers=[host])[host]
    try:
        yield tracker
    except Exception:
        # who still waits there for a worker that was lost is sent away
        if host in client.nthreads():
            client.run(_stop_tracker, run, workers=[host], on_error="ignore")
        raise


_TRACKERS: dict[str, Any] = {}
"""On a worker that is host: what each run meets at."""


def _start_tracker(n_workers: int, run: str, dask_worker: Any = None) -> dict[str, Any]:
    from distributed.comm import get_address_host
    from xgboost.tracker import RabitTracker

    tracker = RabitTracker(
        n_workers=n_workers,
        host_ip=get_address_host(dask_worker.address),
        sortby="task",
        timeout=_SECONDS_TO_MEET,
    )
    tracker.start()
    _TRACKERS[run] = tracker
    Thread(target=_attend, args=(tracker, run), daemon=True).start()
    return tracker.worker_args()


def _attend(tracker: Any, run: str) -> None:
    from xgboost.core import XGBoostError

    with suppress(XGBoostError):  # the workers that fail say more
        tracker.wait_for()
    _stop_tracker(run)


def _stop_tracker(run: str) -> None:
    from xgboost.core import XGBoostError

    tracker = _TRACKERS.pop(run, None)
    if tracker is not None:
        with suppress(XGBoostError):
            tracker.free()


@contextmanager
def _told(client: Any, plan: Plan, run: str) -> Iterator[None]:
    """Report every tree of the run while it grows."""
    if plan.progress is None:
        yield
        return

    def tell(event: tuple[float, dict[str, Any]]) -> None:
        _, told = event
        if told["run"] == run and told["n_grown"] < plan.n_estimators:
            plan.report(told["n_grown"])

    client.subscribe_topic(_TOPIC, tell)
    try:
        yield
    finally:
        client.unsubscribe_topic(_TOPIC)


def _wait_for(client: Any, futures: dict[str, Any], processes: dict[str, int]) -> None:
    """Return when all workers are done; raise when one is lost or fails."""
    from distributed import wait

    pending = set(futures.values())
    try:
        while pending:
            with suppress(TimeoutError):
                pending = wait(pending, timeout=1, return_when="FIRST_COMPLETED").not_done
            if any(future.status == "error" for future in futures.values()):
                _look_for_a_loss(client, processes)
                _raise_of(futures)
            _check_complete(processes, set(client.nthreads()))
    except Exception:
        # the others notice by themselves, and must take their leave before they can be forgotten
        there = client.nthreads()
        with suppress(TimeoutError):
            wait([futures[place] for place in there if place in futures], timeout=_SECONDS_TO_END)
        raise


def _look_for_a_loss(client: Any, processes: dict[str, int]) -> None:
    """Raise if it was a lost worker that made the others fail; Dask may not know of it yet."""
    until = monotonic() + _SECONDS_TO_MISS_A_WORKER
    while monotonic() < until:
        now = client.run(os.getpid, workers=list(client.nthreads()), on_error="ignore")
        # a worker that came back at the same address is another process, without the rows
        _check_complete(
            processes, {a for a, process in now.items() if processes.get(a) == process}
        )
        sleep(0.2)


def _check_complete(processes: dict[str, int], there: set[str]) -> None:
    lost = sorted(set(processes) - there)
    if lost:
        one = len(lost) == 1
        raise LostWorkerError(
            f"{'worker' if one else 'workers'} {', '.join(lost)} {'was' if one else 'were'} lost "
            f"while the trees grew, and {'its' if one else 'their'} rows too; no model was made. "
            "The log there says why; if memory ran out, give workers more or add some. Then call "
            "fit again."
        )


def _raise_of(futures: dict[str, Any]) -> None:
    """Raise what went wrong; that a neighbour broke off is the lesser news."""
    from xgboost.core import XGBoostError

    errors = [future.exception() for future in futures.values() if future.status == "error"]
    raise min(errors, key=lambda error: isinstance(error, XGBoostError))


def _grow_here(parts: list[Rows], tracker: dict[str, Any], work: _Work, run: str) -> bytes | None:
    """Return the trees grown on this worker's rows and those of all others; one returns them."""
    from distributed import get_worker
    from xgboost import collective, config_context
    from xgboost.dask import CommunicatorContext

    worker = get_worker()
    settings = {**work.settings, "nthread": worker.state.nthreads}
    with config_context(verbosity=0), CommunicatorContext(**tracker):
        rank = collective.get_rank()
        # each worker draws its own batch
        seed = int(np.random.SeedSequence([work.plan.seed, rank]).generate_state(1)[0])
        plan = replace(work.plan, gather=Gather(xgboost_engine.across_machines), seed=seed)
        booster = _grow_phases(
            _all_rows(parts),
            work._replace(plan=plan, settings=settings),
            _Watch(worker, worker.get_current_task(), run, rank == 0),
        )
        return bytes(booster.save_raw("ubj")) if rank == 0 else None


class _Watch(NamedTuple):
    """Who asked for the trees: told of each, and asked whether they are still wanted."""

    worker: Any
    task: str
    run: str
    is_speaker: bool

    def goes_on(self, n_grown: int) -> bool:
        """Return whether all workers are still to grow trees, after telling how many there are."""
        if self.is_speaker:
            self.worker.log_event(_TOPIC, {"run": self.run, "n_grown": n_grown})
        # Dask cannot end a task that runs: after an interrupt it only marks it
        task = self.worker.state.tasks.get(self.task)
        is_dropped = task is None or task.state == "cancelled"
        return not xgboost_engine.across_machines(np.array([float(is_dropped)]), "max")[0]


def _all_rows(parts: list[Rows]) -> Rows:
    if len(parts) == 1:
        return parts[0]
    features, is_positive, weights = zip(*parts, strict=True)
    weight = None if weights[0] is None else np.concatenate(weights)
    return Rows(np.concatenate(features), np.concatenate(is_positive), weight)


def _grow_phases(rows: Rows, work: _Work, watch: _Watch) -> Booster:
    """Return the booster of all phases, or of those begun when nobody wants it any more."""
    xgboost = xgboost_engine.import_xgboost()
    matrix = xgboost.QuantileDMatrix(
        rows.features,
        weight=None if work.bin_weights is None else np.where(rows.is_positive, *work.bin_weights),
        feature_types=work.feature_types,
        enable_categorical=True,
        max_bin=work.max_bins,
    )
    settings = {
        "base_score": work.plan.start(rows),
        "max_bin": work.max_bins,
        "disable_default_eval_metric": True,
        **work.settings,
    }
    booster = None
    for phase in work.plan.phases():
        watcher = _watcher(phase, watch)
        booster = xgboost.train(
            settings,
            matrix,
            phase.n_trees,
            obj=_gradients(work.plan, phase, rows),
            xgb_model=booster,
            callbacks=[watcher],
            verbose_eval=False,
        )
        if not watcher.goes_on:
            break
    return booster


def _gradients(plan: Plan, phase: Phase, rows: Rows) -> Any:
    """Return the phase's objective as XGBoost calls it, round by round."""
    objective = plan.objective(phase, rows)
    rounds = iter(range(phase.first, phase.first + phase.n_trees))
    return lambda raw, _: objective.gradient_curvature(raw, next(rounds))


def _watcher(phase: Phase, watch: _Watch) -> Any:
    """Return the callback that ends the phase when its trees are not wanted any more."""

    class Watcher(xgboost_engine.import_xgboost().callback.TrainingCallback):  # type: ignore[misc]
        def __init__(self) -> None:
            self.n_grown = phase.first
            self.goes_on = True

        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            self.n_grown += 1
            self.goes_on = watch.goes_on(self.n_grown)
            return not self.goes_on

    return Watcher()


# After growing ----------------------------------------------------------------------------------


def _calibration(
    client: Any, encoded: list[Any], trees: bytes, counts: _Counts
) -> SigmoidCalibration:
    """Return the calibration by the scores of the training rows, at most so many of a class.

    Few enough rows give the same as on one machine. Of more, every k-th of a class stands for k.
    """
    counts = counts.held()
    steps = [_step(each, _ROWS_FOR_CALIBRATION) for each in counts]
    places = zip(
        *(_every(each, step) for each, step in zip(counts, steps, strict=True)), strict=True
    )
    # as a task it can be done again, should the worker that holds it be lost
    with import_dask().config.set({"distributed.admin.large-graph-warning-threshold": "10GB"}):
        model = client.submit(bytes, trees, pure=False)
    futures = [
        client.submit(_scored, rows, model, place, steps, pure=False)
        for rows, place in zip(encoded, places, strict=True)
    ]
    with _released(client, [model, *futures]):
        is_positive, raw, weights = zip(*client.gather(futures), strict=True)
    weight = None if weights[0] is None else np.concatenate(weights)
    return fit_sigmoid(np.concatenate(is_positive), np.concatenate(raw), weight)


def _scored(
    rows: Rows, trees: bytes, places: tuple[slice, slice], steps: list[int]
) -> tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64] | None]:
    """Return labels, raw scores and weights of some positives and some negatives."""
    from distributed import get_worker

    chosen = np.sort(
        np.concatenate(
            [
                np.flatnonzero(rows.is_positive)[places[0]],
                np.flatnonzero(~rows.is_positive)[places[1]],
            ]
        )
    )
    booster = xgboost_engine.load_booster(trees)
    booster.set_param({"nthread": get_worker().state.nthreads})
    is_positive = rows.is_positive[chosen]
    raw = xgboost_engine.predict_raw(booster, rows.features[chosen])
    weight = None if rows.weight is None else rows.weight[chosen]
    if max(steps) > 1:
        weight = (1.0 if weight is None else weight) * np.where(is_positive, *steps)
    return is_positive, raw, weight


def _usual_values(
    client: Any, encoded: list[Any], schema: Schema, counts: _Counts
) -> list[reasons.Usual]:
    """Return what is usual in each column, by the negatives that one machine would look at."""
    negatives = counts.held().negatives
    places = _every(negatives, _step(negatives, _ROWS_FOR_USUAL))
    samples = [
        client.submit(_ordinary, rows, place, pure=False)
        for rows, place in zip(encoded, places, strict=True)
    ]
    usual = client.submit(_usual_of, samples, schema, pure=False)
    with _released(client, [*samples, usual]):
        return usual.result()


def _ordinary(rows: Rows, place: slice) -> NDArray[np.float32]:
    return rows.features[np.flatnonzero(~rows.is_positive)[place]]


def _usual_of(samples: list[NDArray[np.float32]], schema: Schema) -> list[reasons.Usual]:
    features = np.concatenate(samples)
    return reasons.usual_values(features, np.zeros(len(features), dtype=bool), schema)


def _step(counts: NDArray[np.int64], at_most: int) -> int:
    """Return k such that every k-th of all rows are at most so many."""
    return max(-(-int(counts.sum()) // at_most), 1)


def _every(counts: NDArray[np.int64], step: int) -> list[slice]:
    """Return which rows of each partition are every `step`-th, counted through all of them."""
    before = np.cumsum(counts) - counts
    return [slice(int(start), None, step) for start in -before % step]
