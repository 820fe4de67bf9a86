"""Detectors compared without labels, by how tightly they enclose ordinary rows.

Detectors learn from one half of the rows and are judged on the other, all in one box, which
reaches around the rows of both, and by the same points: volumes mean the same for all of them.
"""

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.ensemble import IsolationForest
from sklearn.svm import OneClassSVM

from toprank import metrics
from toprank.data import checks
from toprank.metrics import HopelessVolume, Interval
from toprank.rankers.anomaly.anomaly_forest import AnomalyForest
from toprank.rankers.anomaly.anomaly_ranker import AnomalyRanker
from toprank.rankers.anomaly.anomaly_tree_rank import AnomalyTreeRank
from toprank.rankers.anomaly.borrowed import BorrowedDetector, as_detector
from toprank.rankers.anomaly.detector import Detector
from toprank.rankers.anomaly.held_out import N_POINTS, Halves, has_exact_volumes
from toprank.rankers.base import seed_of
from toprank.rankers.boosted.boosted_ranker import BoostedRanker
from toprank.wording import aligned, decimal

_MOST_COLUMNS_FOR_RANKER = 10
_MOST_ROWS_FOR_SVM = 5_000
_LEAST_ROWS = 4


@dataclass(frozen=True)
class JudgedDetector:
    """The results of one detector.

    `area` is the area under the mass-volume curve, lower is better; its interval allows for the
    points that volumes are measured with and has no width if they are exact. `is_guess` says
    that hardly a point fell where ordinary rows are, `is_exact` that no points were needed.
    `excess_mass` is the area under the excess-mass curve, higher is better, infinite if no
    point fell among nine rows in ten. `seconds` is the time of fitting one half and measuring the
    other. `average_precision` and `roc_auc` are those of labelled rows, None without labels of
    both kinds.
    """

    name: str
    area: Interval
    excess_mass: float
    seconds: float
    average_precision: float | None = None
    roc_auc: float | None = None
    is_guess: bool = False
    is_exact: bool = False


def judge_detectors(
    detectors: Mapping[str, Any],
    X: Any,
    *,
    y: ArrayLike | None = None,
    n_points: int = N_POINTS,
    random_state: Any = 0,
) -> list[JudgedDetector]:
    """Return the results of each detector, the best first.

    Volumes are exact where a detector has `mass_volume` and learns its bounds by "range".
    Otherwise they are measured with `n_points` points: uniform ones up
    to six columns of numbers, beyond that weighted points near the rows. Categories are drawn
    uniformly, and a tenth of a column with missing values is missing.

    `y` may label some of the rows: 1 is a positive, 0 a negative, missing not labelled. No
    detector sees it. With both kinds, the best is the one with the highest average precision on
    all labelled rows, including those it learned from. Ties, and everything without such labels,
    are decided by area.

    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> detectors = {"tree": AnomalyTreeRank(), "forest": AnomalyForest(n_estimators=50)}
    >>> best, other = judge_detectors(detectors, X, n_points=2000)
    >>> best.name, best.area.value < other.area.value
    ('forest', True)
    """
    contest = _Contest.of(X, y, n_points, seed_of(random_state))
    if not detectors:
        raise ValueError("detectors must contain at least one detector; got none.")
    judged = [contest.judge(name, detector) for name, detector in detectors.items()]
    _warn_of_guesses([each.name for each in judged if each.is_guess], n_points)
    return sorted(judged, key=_rank)


def as_text(judged: list[JudgedDetector]) -> str:
    """Return a table to print, one line per detector.

    >>> one = JudgedDetector("forest", Interval(0.0312, 0.0305, 0.032), 4.07, 0.25)
    >>> other = JudgedDetector("tree", Interval(0.05, 0.05, 0.05), 2.5, 0.1, is_exact=True)
    >>> print(as_text([one, other]))
    detector  area under MV        excess mass  seconds
    forest    .0312 (.0305-.0320)         4.07      0.2
    tree      .0500 exact                  2.5      0.1
    """
    lines = [["detector", "area under MV", "excess mass", "AP", "AUC", "seconds"]]
    lines += [_cells(each) for each in judged]
    if not any(each.average_precision is not None for each in judged):
        lines = [[*line[:3], *line[5:]] for line in lines]
    return aligned(lines, n_left=2)


def default_detectors(
    n_columns: int, n_rows: int | None = None, random_state: Any = 0, n_jobs: int | None = None
) -> dict[str, Detector]:
    """Return detectors worth comparing on this many columns, by name.

    A ranker against points is among them up to ten columns, a one-class SVM up to 5,000 rows.

    >>> list(default_detectors(30))
    ['AnomalyForest', 'AnomalyTreeRank', 'IsolationForest']
    """
    found: dict[str, Detector] = {
        "AnomalyForest": AnomalyForest(random_state=random_state, n_jobs=n_jobs),
        "AnomalyTreeRank": AnomalyTreeRank(),
    }
    if n_columns <= _MOST_COLUMNS_FOR_RANKER:
        base = BoostedRanker(n_jobs=n_jobs)
        found["AnomalyRanker"] = AnomalyRanker(base, random_state=random_state)
    forest = IsolationForest(random_state=random_state, n_jobs=n_jobs)
    found["IsolationForest"] = BorrowedDetector(forest)
    if n_rows is not None and n_rows <= _MOST_ROWS_FOR_SVM:
        found["OneClassSVM"] = BorrowedDetector(OneClassSVM(nu=0.1))
    return found


def partial_labels(y: ArrayLike | None, n_rows: int) -> NDArray[np.float64]:
    """Return 1 for positives, 0 for negatives and NaN for rows without a label.

    >>> partial_labels([True, None, 0], 3).tolist()
    [1.0, nan, 0.0]
    """
    if y is None:
        return np.full(n_rows, np.nan)
    try:
        labels = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{_LABEL_WORDS}; got values that are not numbers: {error}.") from error
    if labels.shape != (n_rows,):
        raise ValueError(f"y must have {n_rows} labels, one per row; got shape {labels.shape}.")
    strange = labels[~(np.isnan(labels) | (labels == 0) | (labels == 1))]
    if strange.size:
        raise ValueError(f"{_LABEL_WORDS}; got {strange[0]:g} in {strange.size} rows.")
    return labels


_LABEL_WORDS = "y must be 1 for positives, 0 for negatives and missing for rows without a label"


class _Contest(NamedTuple):
    """What all detectors share: two halves of the rows, and labels."""

    halves: Halves
    labels: NDArray[np.float64]

    @classmethod
    def of(cls, X: Any, y: ArrayLike | None, n_points: int, seed: int) -> "_Contest":
        checks.whole_number(n_points, "n_points", 1)
        halves = Halves.of(X, np.random.default_rng(seed), n_points=n_points)
        n_rows = halves.is_judged.size
        if n_rows < _LEAST_ROWS:
            raise ValueError(
                f"X must have at least {_LEAST_ROWS} rows, to learn from and to judge by; got "
                f"{n_rows}."
            )
        return cls(halves, partial_labels(y, n_rows))

    def judge(self, name: str, detector: Any) -> JudgedDetector:
        """Return the results of a detector."""
        begun = time.perf_counter()
        detector = as_detector(detector)
        fitted = self.halves.taught(detector)
        judged = self.halves.rows(self.halves.is_judged)
        if has_exact_volumes(detector):
            curve, is_guess = fitted.mass_volume(judged), False
            is_exact = True
            area, excess = Interval(*3 * (curve.area,)), curve.excess_mass().area()
        else:
            measured, is_exact = self.halves.measured(fitted), False
            area, is_guess = _area(*measured)
            excess = metrics.area_under_excess_mass(*measured)
        seconds = time.perf_counter() - begun
        labelled = self._by_labels(fitted)
        return JudgedDetector(name, area, excess, seconds, *labelled, is_guess, is_exact)

    def _by_labels(self, fitted: Detector) -> tuple[float | None, float | None]:
        is_labelled = ~np.isnan(self.labels)
        is_positive = self.labels[is_labelled] == 1
        if not is_positive.any() or is_positive.all():
            return None, None
        suspicion = fitted.suspicion(self.halves.rows(is_labelled))
        ap = metrics.average_precision(is_positive, suspicion)
        return ap, metrics.roc_auc(is_positive, suspicion)


def _area(
    suspicion: NDArray[np.float64],
    volume_suspicion: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
) -> tuple[Interval, bool]:
    """Return the area under the curve, and whether its volumes are a guess."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", HopelessVolume)
        area = metrics.mass_volume_interval(suspicion, volume_suspicion, weight)
    return area, any(issubclass(each.category, HopelessVolume) for each in caught)


def _warn_of_guesses(names: list[str], n_points: int) -> None:
    """Warn once for all detectors instead of once per detector."""
    if names:
        warnings.warn(
            f"hardly any of {n_points:,} points fell where ordinary rows are by "
            f"{', '.join(names)}, so the area is a guess there; raise n_points, use fewer "
            "columns, or give labels.",
            HopelessVolume,
            stacklevel=3,
        )


def _rank(judged: JudgedDetector) -> tuple[float, float]:
    return -(judged.average_precision or 0.0), judged.area.value


def _cells(judged: JudgedDetector) -> list[str]:
    area = f"{_exact_area(judged.area.value)} exact" if judged.is_exact else str(judged.area)
    is_known = not judged.is_guess and np.isfinite(judged.excess_mass)
    excess = f"{judged.excess_mass:.3g}" if is_known else "-"
    points = [judged.average_precision, judged.roc_auc]
    shown = ["" if point is None else decimal(point, 3) for point in points]
    note = " (a guess)" if judged.is_guess else ""
    return [judged.name, area + note, excess, *shown, f"{judged.seconds:.1f}"]


def _exact_area(area: float) -> str:
    """Return an exact area with four decimals, or three digits where that shows more."""
    decimals = 4 if area == 0 else int(np.clip(2 - np.floor(np.log10(area)), 4, 9))
    return decimal(area, decimals)
