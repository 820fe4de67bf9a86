"""Detectors by id, ours and the rivals one would pick instead: how each is made.

All learn by `fit(rows)` from numbers without labels and rank by `suspicion(rows)`. Each runs on
one thread, and its seed is that of the cell. Ours get the box of the rows where there is one;
`rank-boost`, `rank-svm`, `rank-rls` and `boosted` are those rankers in an `AnomalyRanker`, against
points drawn evenly. Rivals take `most_rows`, as many as they learn from, drawn by the seed, and
`standardised`, which brings every column to mean 0 and deviation 1 first.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from toprank import registry
from toprank.data import checks
from toprank_bench.experiment import Method

Bounds = NDArray[np.float64]
"""The lowest and the highest value of every column."""


class RowDetector(Protocol):
    """What every detector here is."""

    def fit(self, rows: NDArray[np.floating]) -> Any: ...
    def suspicion(self, rows: NDArray[np.floating]) -> NDArray[np.float64]: ...


@dataclass(frozen=True)
class DetectorKind:
    """How a detector is made from a seed, bounds and parameters.

    `install` is what pip takes where its package is missing, `shortest` are parameters of a fit
    that is over at once. Where `is_relative`, the score of a row depends on the rows scored with
    it: then there is no place that is suspicious, and no volume to measure.
    """

    make: Callable[..., RowDetector]
    install: str = ""
    shortest: Mapping[str, Any] = field(default_factory=dict)
    is_relative: bool = False


def make_detector(
    name: str, seed: int, parameters: Mapping[str, Any], bounds: Bounds | None = None
) -> RowDetector:
    """Return the detector of this id, ready to fit.

    >>> make_detector("anomaly-tree", 1, {"global_depth": 2})
    AnomalyTreeRank(global_depth=2, random_state=1)
    """
    kind = DETECTORS[name]
    try:
        return kind.make(seed, bounds, **parameters)
    except ImportError as error:
        raise ImportError(
            f"detector {name!r} needs a package that is not installed ({error}); "
            f"install it with: pip install {kind.install or _XGBOOST}"
        ) from error
    except TypeError as error:
        raise ValueError(f"detector {name!r} cannot be made: {error}.") from error


def why_not_detector(method: Method) -> str | None:
    """Return which package a method lacks, or which of its parameters is wrong; None if none."""
    try:
        make_detector(method.learner, 0, method.parameters)
    except (ImportError, ValueError) as error:
        return f"method {method.name!r} is left out: {error}"
    return None


def compile_kernels(name: str, parameters: Mapping[str, Any]) -> None:
    """Let the detector learn from a few rows, once per process: compiling is not its time."""
    # texts, unlike the parameters themselves, can be keys of a cache
    texts = {key: value for key, value in parameters.items() if isinstance(value, str)}
    _compile_once(name, tuple(texts.items()))


class Rival:
    """A detector of another library; `score` is how its suspicion is computed."""

    def __init__(
        self,
        detector: Any,
        score: Callable[[Any, NDArray], NDArray],
        seed: int,
        most_rows: int | None = None,
        standardised: bool = False,
    ) -> None:
        self.detector, self.score, self.seed = detector, score, seed
        self.most_rows = most_rows and checks.whole_number(most_rows, "most_rows", 1)
        self.standardised = standardised

    def fit(self, rows: NDArray[np.floating]) -> Self:
        """Learn from the rows, or from as many of them as it may."""
        if self.most_rows is not None:
            rows = rows[np.random.default_rng(self.seed).permutation(len(rows))[: self.most_rows]]
        self.centre_, self.scale_ = np.zeros(rows.shape[1]), np.ones(rows.shape[1])
        if self.standardised:
            deviation = rows.std(axis=0, dtype=np.float64)
            self.centre_ = rows.mean(axis=0, dtype=np.float64)
            self.scale_ = np.where(deviation > 0, deviation, 1.0)
        self.detector.fit(self._seen(rows))
        return self

    def suspicion(self, rows: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return one score per row, higher for what is more suspicious."""
        return np.asarray(self.score(self.detector, self._seen(rows)), dtype=np.float64)

    def _seen(self, rows: NDArray[np.floating]) -> NDArray[np.floating]:
        if not self.standardised:
            return rows
        return ((rows - self.centre_) / self.scale_).astype(rows.dtype)


@cache
def _compile_once(name: str, texts: tuple[tuple[str, str], ...]) -> None:
    rows = np.random.default_rng(0).random((60, 2), dtype=np.float32)
    with suppress(Exception):  # what is wrong will show where it matters
        detector = make_detector(name, 0, {**dict(texts), **DETECTORS[name].shortest})
        detector.fit(rows).suspicion(rows)


def _tree(seed: int, bounds: Bounds | None, **parameters: Any) -> RowDetector:
    from toprank import AnomalyTreeRank

    return AnomalyTreeRank(**parameters, **_box(bounds), random_state=seed)


def _forest(
    seed: int, bounds: Bounds | None, tree: Mapping[str, Any] | None = None, **parameters: Any
) -> RowDetector:
    from toprank import AnomalyForest, AnomalyTreeRank

    # isolation trees, the default, take no box
    tree_of_all = None if tree is None else AnomalyTreeRank(**tree, **_box(bounds))
    return AnomalyForest(tree_of_all, **parameters, random_state=seed, n_jobs=1)


def _against_points(name: str, **always: Any) -> Callable[..., RowDetector]:
    """Return how a ranker of ours is trained to separate points from rows."""

    def make(seed: int, bounds: Bounds | None, **parameters: Any) -> RowDetector:
        toprank = import_module("toprank")
        base = getattr(toprank, name)(**always, **parameters)
        return toprank.AnomalyRanker(base, **_box(bounds), random_state=seed)

    return make


def _box(bounds: Bounds | None) -> dict[str, Any]:
    return {} if bounds is None else {"bounds": bounds}


def _scikit(module: str, name: str, *, has_seed: bool = False) -> Callable[..., RowDetector]:
    def score(detector: Any, rows: NDArray) -> NDArray:
        return -detector.score_samples(rows)

    return _rival(module, name, score, has_seed)


def _pyod(name: str, *, has_seed: bool = False) -> Callable[..., RowDetector]:
    def score(detector: Any, rows: NDArray) -> NDArray:
        return detector.decision_function(rows)

    return _rival(f"pyod.models.{name.lower()}", name, score, has_seed)


def _rival(
    module: str, name: str, score: Callable[[Any, NDArray], NDArray], has_seed: bool
) -> Callable[..., RowDetector]:
    def make(
        seed: int,
        bounds: Bounds | None,
        most_rows: int | None = None,
        standardised: bool = False,
        **parameters: Any,
    ) -> RowDetector:
        settings = {**parameters, **({"random_state": seed} if has_seed else {})}
        detector = getattr(import_module(module), name)(**settings)
        return Rival(detector, score, seed, most_rows, standardised)

    return make


def _shortest(name: str) -> Mapping[str, Any]:
    """Return the parameters of a learner of ours that is fitted at once."""
    return registry.row_named(name).shortest


_ONE_TREE = {"n_estimators": 1}
_XGBOOST = "xgboost-cpu"

DETECTORS: dict[str, DetectorKind] = {
    "anomaly-tree": DetectorKind(_tree),
    "anomaly-forest": DetectorKind(_forest, shortest=_shortest("AnomalyForest")),
    "boosted": DetectorKind(
        _against_points("BoostedRanker", n_jobs=1), _XGBOOST, _shortest("BoostedRanker")
    ),
    "rank-boost": DetectorKind(
        _against_points("RankBoost", n_jobs=1), _XGBOOST, _shortest("RankBoost")
    ),
    "rank-svm": DetectorKind(_against_points("RankSVM")),
    "rank-rls": DetectorKind(_against_points("RankRLS")),
    "isolation-forest": DetectorKind(
        _scikit("sklearn.ensemble", "IsolationForest", has_seed=True), shortest=_ONE_TREE
    ),
    "one-class-svm": DetectorKind(_scikit("sklearn.svm", "OneClassSVM")),
    "pyod-ecod": DetectorKind(_pyod("ECOD"), "pyod", is_relative=True),
    "pyod-copod": DetectorKind(_pyod("COPOD"), "pyod", is_relative=True),
    "pyod-hbos": DetectorKind(_pyod("HBOS"), "pyod"),
    "pyod-inne": DetectorKind(_pyod("INNE", has_seed=True), "pyod", _ONE_TREE),
    "pyod-knn": DetectorKind(_pyod("KNN"), "pyod"),
    "pyod-lof": DetectorKind(_pyod("LOF"), "pyod"),
}
