"""AnomalyRanker: any ranker, trained to rank uniform points ahead of the rows."""

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from toprank.data import checks, inputs
from toprank.files import Saved
from toprank.files.nested import kept_of, restored
from toprank.metrics import roc_auc
from toprank.rankers.anomaly import density_scoring
from toprank.rankers.anomaly.box import BOUNDS, some_inside
from toprank.rankers.anomaly.detector import Detector
from toprank.rankers.anomaly.uniform_points import (
    SAMPLERS,
    RotatedSpace,
    Space,
    UprightSpace,
    as_input,
)
from toprank.rankers.base import Ranker, seed_of
from toprank.rankers.boosted.boosted_ranker import BoostedRanker

_SPACES: dict[str, type[UprightSpace | RotatedSpace]] = {
    "box": UprightSpace,
    "rotated": RotatedSpace,
}
_LEAST_POINTS = 5_000
_BYTES_A_VALUE = 12  # a point's values in one matrix with the rows, and in the ranker's own form
_MOST_HELD_OUT = 1_000
_FRESH_POINTS = 10_000
_FEW_AMONG_ROWS = 10
_BASE = "base"


class HopelessSampling(UserWarning):
    """Hardly a point fell among the rows, so that the ranker learned at most their outline."""


class AnomalyRanker(Detector):
    """A ranker of two classes turned into a detector: rows against points drawn uniformly.

    Where the ranker finds points more likely than rows, rows are rare. So a ranker with a high
    area under the ROC curve is a detector with a low area under the mass-volume curve. It works
    as long as points fall among the rows: up to about ten columns, more if the columns are
    correlated and `sampler` is "rotated". A `HopelessSampling` warning is given where they do not.

    Parameters
    ----------
    base : BoostedRanker, RankBoost, TreeRank, RankRLS, RankSVM or any other ranker; or None
        The ranker to train; None is BoostedRanker("log").
    n_points : int or None
        Points to draw. None is as many as rows and at least 5,000, or fewer if they would need
        more than `memory_limit`.
    sampler : "box" or "rotated"
        Where points come from: the box along the columns, or the one along their principal axes,
        which takes numbers only and none missing.
    bounds : "range", "robust" or array of shape (n_columns, 2)
        The box: around all training rows; around most, where a few extreme values would blow it
        up; or the lowest and the highest value of every column, for the sampler "box". Rows
        outside are the most suspicious.
    memory_limit : float
        Megabytes that points may take, at 12 bytes per value.
    contamination : float
        The share of training rows that `predict` calls anomalies.
    random_state : int, RandomState or None
        Random seed of the points and of the held-out rows; the base has its own.

    Attributes
    ----------
    base_ : the fitted ranker; its positives are the points
    space_ : where points came from, with its bounds
    n_points_ : the number of points
    separation_ : the area under the ROC curve for points against rows, both new to the ranker;
        NaN where there were fewer than 100 rows
    decision_scores_, labels_, threshold_ : suspicion of the training rows, 1 for those called
        anomalies and 0 for others, and where they begin
    offset_ : scikit-learn's threshold of `score_samples`
    schema_ : the columns it was fitted on, with their kinds and categories

    Notes
    -----
    Points have whole numbers where all rows do, every known category with the same probability,
    and missing values in a tenth of a column where rows have some. A row is outside if it misses
    a value that no training row misses.

    One row in ten, and 1,000 at most, is held out to measure how well the ranker separates rows
    from points. The points it finds less suspicious than a row are those among the rows, on
    average 1 - `separation_` of all. If these are fewer than 10 of the points it learned from,
    rows are separated from points too easily: it learned where rows are, but little about their
    order. With a base too simple to find the rows, such as a line, this cannot be detected.

    Examples
    --------
    >>> import numpy as np
    >>> from toprank import AnomalyRanker
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> detector = AnomalyRanker().fit(X)
    >>> usual, unusual, outside = detector.suspicion([[0.0, 0.0], [2.5, 2.5], [9.0, 0.0]])
    >>> bool(usual < unusual < outside)
    True
    """

    def __init__(
        self,
        base: Ranker | None = None,
        *,
        n_points: int | None = None,
        sampler: str = "box",
        bounds: str | ArrayLike = "range",
        memory_limit: float = 500.0,
        contamination: float = 0.01,
        random_state: Any = 0,
    ) -> None:
        self.base = base
        self.n_points = n_points
        self.sampler = sampler
        self.bounds = bounds
        self.memory_limit = memory_limit
        self.contamination = contamination
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn to separate points from rows; `y` is ignored, as scikit-learn expects."""
        self._check_parameters()
        features = self._read(X)
        generator = np.random.default_rng(seed_of(self.random_state))
        self.space_: Space = _SPACES[self.sampler].around(features, self.schema_, self.bounds)
        inside = some_inside(features, np.all(self.space_.outside(features) <= 0, axis=1))
        self.n_points_ = self._n_points(len(inside))
        kept, held_out = _split_rows(inside, generator)
        self._teach(kept, self.space_.drawn(inside, self.n_points_, generator))
        self._measure(held_out, inside, generator)
        return self._judge(self._raw(features))

    def contributions(self, X: Any) -> NDArray[np.float64]:
        """Return what each feature adds to each row's suspicion, and last the baseline.

        The columns of a row add up to its suspicion: those of the base, or what values outside add
        to the highest suspicion inside.
        """
        check_is_fitted(self)
        features = inputs.read_features(self, X)
        parts = self.base_.contributions(as_input(features, self.schema_))
        terms = self.space_.outside(features)
        is_outside = (terms > 0).any(axis=1)
        # the base knows nothing outside: the baseline there is the highest suspicion inside
        parts[is_outside] = 0.0
        parts[is_outside, -1] = self._top
        parts[:, :-1] += terms
        inside = parts[~is_outside]
        raw = inside.sum(axis=1)
        inside[:, -1] += self._capped(raw) - raw
        parts[~is_outside] = inside
        return parts

    def _raw(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        terms = self.space_.outside(features).sum(axis=1)
        raw = self.base_.suspicion(as_input(features, self.schema_))
        return np.where(terms > 0, self._top + terms, self._capped(raw))

    def _capped(self, raw: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return suspicions in their order, all below those of rows outside."""
        above = np.maximum(raw - self._top, 0.0)
        return np.minimum(raw, self._top) + density_scoring.OUTSIDE * above / (1 + above)

    def _n_points(self, n_rows: int) -> int:
        """Return how many points to draw."""
        affordable = int(1e6 * self.memory_limit / (_BYTES_A_VALUE * self.n_features_in_))
        if self.n_points is None:
            return max(min(max(n_rows, _LEAST_POINTS), affordable), 1)
        if self.n_points > affordable:
            raise ValueError(
                f"n_points must be at most {affordable:,} for {self.n_features_in_} columns in "
                f"{self.memory_limit:g} MB; got {self.n_points:,}. Raise memory_limit."
            )
        return self.n_points

    def _teach(self, rows: NDArray[np.float32], points: NDArray[np.float32]) -> None:
        """Fit the base, and learn how high its suspicion gets."""
        both = as_input(np.concatenate([points, rows]), self.schema_)
        is_point = np.arange(len(points) + len(rows)) < len(points)
        self.base_ = self._unfitted_base().set_params(positive_label=True).fit(both, is_point)
        self._top = float(self.base_.suspicion(both).max())

    def _unfitted_base(self) -> Ranker:
        return BoostedRanker("log") if self.base is None else clone(self.base)

    def _measure(
        self,
        held_out: NDArray[np.float32],
        like: NDArray[np.float32],
        generator: np.random.Generator,
    ) -> None:
        """Measure how well points and rows are separated, and warn if that is too easy."""
        self.separation_ = np.nan
        if not len(held_out):
            return
        fresh = self.space_.drawn(like, min(self.n_points_, _FRESH_POINTS), generator)
        both = as_input(np.concatenate([fresh, held_out]), self.schema_)
        is_point = np.arange(len(fresh) + len(held_out)) < len(fresh)
        self.separation_ = roc_auc(is_point, self.base_.suspicion(both))
        n_among = (1 - self.separation_) * self.n_points_
        if n_among < _FEW_AMONG_ROWS:
            warnings.warn(_hopeless(n_among, self), HopelessSampling, stacklevel=3)

    def _check_parameters(self) -> None:
        if self.base is not None and not isinstance(self.base, Ranker):
            raise TypeError(
                "base must be a ranker, for example BoostedRanker() or RankRLS(), or None; got "
                f"{self.base!r}."
            )
        if self.base is not None and self.base.positive_label is not None:
            raise ValueError(
                "base must leave positive_label at None, since its positives are the points; got "
                f"{self.base.positive_label!r}."
            )
        if self.n_points is not None:
            checks.whole_number(self.n_points, "n_points", 1)
        checks.one_of(self.sampler, "sampler", SAMPLERS)
        if isinstance(self.bounds, str):
            checks.one_of(self.bounds, "bounds", BOUNDS)
        checks.number_above(self.memory_limit, "memory_limit", 0)

    def _to_saved(self) -> Saved:
        """Return what a model file keeps of a fitted detector."""
        facts, base = kept_of(self.base_, _BASE)
        state = {
            **self._common_state(),
            "n_points": self.n_points_,
            "separation": self.separation_,
            "top": self._top,
            "base": facts,
        }
        parameters = self.get_params(deep=False)
        # its parameters are those of the fitted base
        parameters["base"] = None if self.base is None else type(self.base).__name__
        if not isinstance(self.bounds, str):
            parameters["bounds"] = np.asarray(self.bounds).tolist()
        return Saved(state, {**self.space_.arrays(), **base.arrays}, base.boosters, parameters)

    @classmethod
    def _from_saved(cls, parameters: dict[str, Any], saved: Saved) -> Self:
        """Return the detector that `_to_saved` described; ValueError if it is not valid."""
        base_ = restored(saved.state["base"], saved, _BASE, Ranker, name="base")
        base = None
        if parameters["base"] is not None:
            base = clone(base_).set_params(positive_label=None)
        detector = cls(**{**parameters, "base": base})
        detector._check_parameters()
        detector._restore_common(saved.state)
        detector.base_ = base_
        detector._check_base()
        space = _SPACES[detector.sampler]
        detector.space_ = space.from_arrays(saved.arrays, detector.schema_)
        detector._check_columns(detector.space_.n_columns, "box")
        detector.n_points_ = checks.whole_number(saved.state["n_points"], "n_points", 1)
        detector.separation_ = float(saved.state["separation"])
        (detector._top,) = checks.finite_vector([saved.state["top"]], "top").tolist()
        return detector

    def _check_base(self) -> None:
        """Raise a ValueError if the base in a file reads other columns than the detector."""
        self._check_columns(self.base_.n_features_in_, "base")
        has_names = hasattr(self.base_, "feature_names_in_")
        if has_names != bool(self.schema_.n_categories.any()) or (
            has_names and self.base_.schema_.names != self.schema_.names
        ):
            raise ValueError("base must read the columns of the detector.")


def _split_rows(
    rows: NDArray[np.float32], generator: np.random.Generator
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the rows to learn from and those to measure with: none of these if rows are few."""
    n_held_out = min(len(rows) // 10, _MOST_HELD_OUT) if len(rows) >= 100 else 0
    is_held_out = np.zeros(len(rows), dtype=bool)
    is_held_out[generator.choice(len(rows), n_held_out, replace=False)] = True
    return rows[~is_held_out], rows[is_held_out]


def _hopeless(n_among: float, detector: AnomalyRanker) -> str:
    ways = "use fewer columns, raise n_points"
    if isinstance(detector.bounds, str) and detector.bounds == "range":
        ways += ", set bounds='robust'"
    if detector.sampler == "box" and not detector.schema_.n_categories.any():
        ways += ", set sampler='rotated'"
    return (
        f"only {n_among:.1f} effective points of {detector.n_points_:,} fall among the rows (AUC "
        f"of points against rows: {detector.separation_:.4f}), too few to learn the order of the "
        f"rows; {ways}, or use AnomalyForest(), which draws no points."
    )
