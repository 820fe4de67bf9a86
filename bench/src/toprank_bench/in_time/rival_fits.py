"""Other libraries in time: settings by the latest labelled rows, then a fit on all of them."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank.metrics import average_precision
from toprank_bench.experiment import Method, Parameters
from toprank_bench.in_time.time_tables import TimeTable
from toprank_bench.learners.one_hot import OneHotRanker
from toprank_bench.learners.rankers import LEARNERS, TableRanker, make_learner


class FittedRival(NamedTuple):
    """A learner that has learned from all labelled rows, with these parameters."""

    ranker: TableRanker
    parameters: Parameters


def fitted_rival(method: Method, table: TimeTable, seed: int) -> FittedRival:
    """Return the learner with the candidate that has the highest AP on the judged rows.

    Where a library can stop early, the number of trees is what the judged rows were best with.
    """
    parameters = _chosen(method, table, seed)
    labelled = slice(0, table.n_labelled)
    ranker = make_learner(method.learner, seed, parameters)
    ranker.fit(table.features.slice(0, table.n_labelled), table.is_positive[labelled])
    return FittedRival(ranker, parameters)


class _JudgedSetting(NamedTuple):
    parameters: Parameters
    average_precision: float


def _chosen(method: Method, table: TimeTable, seed: int) -> Parameters:
    candidates = method.candidates
    if len(candidates) == 1 and LEARNERS[method.learner].stopping is None:
        return candidates[0]
    parts = table.earlier_and_judged(seed)
    earlier, judged = ((table.features.take(part), table.is_positive[part]) for part in parts)
    tried = [_judged(method.learner, seed, each, earlier, judged) for each in candidates]
    return max(tried, key=lambda each: each.average_precision).parameters


def _judged(
    learner: str,
    seed: int,
    parameters: Parameters,
    earlier: tuple[pa.Table, NDArray[np.bool_]],
    judged: tuple[pa.Table, NDArray[np.bool_]],
) -> _JudgedSetting:
    """Return the parameters, with the number of trees that was best, and their AP."""
    ranker, stopping = make_learner(learner, seed, parameters), LEARNERS[learner].stopping
    if stopping is not None and isinstance(ranker, OneHotRanker):
        n_trees = ranker.fit_judged(stopping, *earlier, *judged)
        parameters = {**parameters, stopping.trees: n_trees}
    else:
        ranker.fit(*earlier)
    features, is_positive = judged
    return _JudgedSetting(parameters, average_precision(is_positive, ranker.suspicion(features)))
