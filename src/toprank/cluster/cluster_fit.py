"""Training a ranker on a Dask cluster: the rows stay on the workers.

A first pass over the partitions learns the schema and counts the classes; a second encodes the
rows, which stay where they are. Then the workers grow the same trees together, each on its rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.calibration import SigmoidCalibration
from toprank.cluster import column_facts, label_facts, partition_rows, row_samples, tracker
from toprank.cluster.dask_client import check_workers, import_dask, lost_workers_named, released
from toprank.cluster.label_facts import ClassCounts, LabelFacts
from toprank.cluster.worker import Work
from toprank.data.tables import Schema, TableWarning
from toprank.rankers import reasons
from toprank.rankers.boosted import xgboost_engine
from toprank.rankers.boosted.boosted_ranker import BoostedRanker
from toprank.rankers.boosted.plan import Plan
from toprank.rankers.progress import Progress

if TYPE_CHECKING:
    from xgboost import Booster

_Partition = tuple[Any, Any, Any]
"""Features, labels and weights, not computed yet."""


class ClusterTraining(NamedTuple):
    """What a ranker keeps of a training on a cluster."""

    schema: Schema
    classes: NDArray
    positive: Any
    booster: Booster
    usual: list[reasons.Usual]
    calibration: SigmoidCalibration


def fit(
    ranker: BoostedRanker,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    client: Any,
    progress: Progress | None = None,
) -> BoostedRanker:
    """Return the ranker, fitted on rows that stay on the workers of `client`.

    X is a Dask data frame, y and the weights are Dask series. `progress(what, done, total)` is
    called after every tree. There is no early stopping on a cluster, and `n_jobs` is not used:
    workers have their own threads.
    """
    if not isinstance(ranker, BoostedRanker):
        raise TypeError(f"ranker must be a BoostedRanker on a cluster; got {ranker!r}.")
    ranker._check_parameters()
    if ranker.ranks_groups:
        raise ValueError(f"loss must be one of rows on a cluster; got {ranker.loss!r}.")
    if ranker.engine != "xgboost":
        raise ValueError(f"engine must be 'xgboost' on a cluster; got {ranker.engine!r}.")
    trained = train(
        client,
        X,
        y,
        sample_weight,
        plan=ranker._plan(progress),
        settings=ranker._settings(),
        max_bins=ranker.max_bins,
        binning=ranker.binning,
        positive_label=ranker.positive_label,
    )
    ranker.schema_ = trained.schema
    ranker.feature_names_in_ = np.array(trained.schema.names, dtype=object)
    ranker.n_features_in_ = len(trained.schema.names)
    ranker.classes_, ranker.positive_label_ = trained.classes, trained.positive
    ranker.usual_, ranker.calibration_ = trained.usual, trained.calibration
    ranker.booster_, ranker.history_ = trained.booster, []
    ranker.n_trees_ = trained.booster.num_boosted_rounds()
    return ranker


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

    Labels and weights have the same partitions as the features. The trees are those of one
    machine, except that XGBoost's sketch of all values may place bins differently. Batches
    (`batch_fraction`) are drawn on each worker: as large as on one machine, but other rows.
    """
    _check_input(client, features, labels, weight, plan)
    parts = _partitions(features, labels, weight)
    with lost_workers_named():
        schema, facts = _schema_and_labels(client, parts)
        classes, positive = label_facts.classes_of(facts, positive_label)
        counts = ClassCounts.of(facts, positive)
        parts, counts = list(compress(parts, counts.n_rows)), counts.with_rows()
        work = Work(plan, settings, schema.feature_types, max_bins, binning)
        with _encoded(client, parts, schema, positive) as encoded:
            trees = tracker.grow(client, encoded, counts.n_rows.tolist(), work)
            calibration = row_samples.calibration(client, encoded, counts, trees)
            usual = row_samples.usual_values(client, encoded, counts, schema)
    booster = xgboost_engine.load_booster(trees)
    return ClusterTraining(schema, classes, positive, booster, usual, calibration)


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
    check_workers(client)


def _check_collection(given: Any, name: str, kind: Any, features: Any) -> None:
    if not isinstance(given, kind):
        raise TypeError(
            f"{name} must be a Dask {kind.__name__} when a client is given; got "
            f"{type(given).__name__}. Convert it, or fit on this machine, without a client."
        )
    if given.npartitions != features.npartitions:
        raise ValueError(
            f"{name} must have the {features.npartitions} partitions of X; got "
            f"{given.npartitions}. Take both from one frame."
        )


def _partitions(features: Any, labels: Any, weight: Any) -> list[_Partition]:
    given = [features, labels] if weight is None else [features, labels, weight]
    # If optimised one by one, columns of the same files may be partitioned differently; without
    # that, they share one reading of each file.
    columns = [collection.to_delayed(optimize_graph=False) for collection in given]
    if weight is None:
        columns.append([None] * features.npartitions)
    return list(zip(*columns, strict=True))


def _schema_and_labels(client: Any, parts: list[_Partition]) -> tuple[Schema, list[LabelFacts]]:
    """Return the schema of all partitions together, and the labels of each.

    The workers join their findings in pairs: the texts of a column with many categories end up on
    one of the workers, not on the client.
    """
    delayed = import_dask().delayed
    columns = [delayed(column_facts.facts_of_columns)(features) for features, _, _ in parts]
    while len(columns) > 1:
        odd = columns[len(columns) // 2 * 2 :]
        pairs = zip(columns[::2], columns[1::2], strict=False)
        columns = [delayed(column_facts.joined)(*pair) for pair in pairs] + odd
    labels = [delayed(label_facts.facts_of_labels)(*part) for part in parts]
    futures = client.compute([delayed(column_facts.learned)(columns[0]), *labels])
    with released(client, futures):
        (schema, remarks), *found = client.gather(futures)
    for remark in remarks:
        warnings.warn(remark, TableWarning, stacklevel=4)
    return schema, found


@contextmanager
def _encoded(
    client: Any, parts: list[_Partition], schema: Schema, positive: Any
) -> Iterator[list[Any]]:
    """Give the encoded rows of each partition; they stay on the workers."""
    from distributed import wait

    delayed = import_dask().delayed
    shared = delayed(schema)
    futures = client.compute(
        [delayed(partition_rows.encoded)(*part, shared, positive) for part in parts]
    )
    with released(client, futures):
        wait(futures)
        for future in futures:
            if future.status == "error":
                future.result()
        yield futures
