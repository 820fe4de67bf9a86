"""Refits: trees grown on the rows of a reservoir, in a thread that gives way to others."""

import os
import sys
import threading
from collections.abc import Callable

import numpy as np

from toprank.calibration import fit_sigmoid
from toprank.data.inputs import TrainingRows
from toprank.losses import Log, make_loss
from toprank.rankers.boosted import flat_trees, xgboost_engine
from toprank.rankers.boosted.boosted_ranker import BoostedRanker
from toprank.rankers.boosted.flat_trees import FlatTrees
from toprank.rankers.stream.leaf_corrections import CorrectedTrees, curvatures
from toprank.rankers.stream.reservoir import ReservoirSample
from toprank.rankers.stream.row_features import RowFeatures

_NICENESS = 10
_MOST_JUDGED = 20_000  # of either class; the curvature of leaves needs no more
_LEAST_CURVATURE = 1.0  # of a leaf: XGBoost's own penalty on its value


class Refit:
    """Trees that are being grown; `result` waits for them."""

    def __init__(self, grow: Callable[[], CorrectedTrees | None], in_background: bool) -> None:
        self._grow = grow
        self._error: Exception | None = None
        self._trees: CorrectedTrees | None = None
        self._thread: threading.Thread | None = None
        if in_background:
            self._thread = threading.Thread(target=self._run, name="toprank-refit")
            self._thread.start()

    def wait(self) -> None:
        """Wait until the trees are grown, if a thread is growing them."""
        if self._thread is not None:
            self._thread.join()

    def result(self) -> CorrectedTrees | None:
        """Return the trees; raises the error by which growing them failed."""
        if self._thread is None:
            return self._grow()
        self.wait()
        if self._error is not None:
            raise self._error
        return self._trees

    def _run(self) -> None:
        if sys.platform == "linux":  # where a thread has a niceness of its own
            thread = threading.get_native_id()
            nice = max(os.getpriority(os.PRIO_PROCESS, thread), _NICENESS)
            os.setpriority(os.PRIO_PROCESS, thread, nice)
        try:
            self._trees = self._grow()
        except Exception as error:  # raised where the trees are asked for
            self._error = error


def grown(sample: ReservoirSample, ranker: BoostedRanker, n_buckets: int) -> CorrectedTrees | None:
    """Return the trees of a ranker's settings, grown on a sample; None if it has no features.

    Their raw scores are log-odds: those of log-loss are so by themselves, those of other losses by
    a sigmoid through the sample.
    """
    features = RowFeatures.of(sample.rows, n_buckets)
    if not features.column.size:
        return None
    encoded = features.of_rows(sample.rows)
    rows = TrainingRows(encoded, sample.is_positive, sample.weight)
    training = xgboost_engine.train(
        rows,
        ranker._plan(None),
        None,
        settings=ranker._settings(),
        feature_types=features.types,
        max_bins=ranker.max_bins,
        binning=ranker.binning,
    )
    trees = flat_trees.of(training.booster)
    judged = rows.thinned(_MOST_JUDGED)
    if not isinstance(make_loss(ranker.loss, ranker.loss_options), Log):
        trees = _in_log_odds(trees, judged)
    assert judged.weight is not None
    own = curvatures(trees, judged.features, judged.weight)
    return CorrectedTrees(trees, features, own + _LEAST_CURVATURE)


def _in_log_odds(trees: FlatTrees, judged: TrainingRows) -> FlatTrees:
    """Return trees whose raw scores are the log-odds of these rows."""
    line = fit_sigmoid(judged.is_positive, trees.raw(judged.features), judged.weight)
    cut = np.where(trees.nodes.child < 0, line.slope * trees.nodes.cut, trees.nodes.cut)
    start = np.float32(line.log_odds(float(trees.start)))
    nodes = trees.nodes._replace(cut=cut.astype(np.float32))
    return FlatTrees(start, trees.first, nodes, trees.cover, trees.n_features)
