"""The base of RankRLS and RankSVM: terms, kernel, scores, contributions, saving."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from toprank.calibration import fit_sigmoid
from toprank.data import checks, inputs
from toprank.data.inputs import TrainingRows
from toprank.files import Saved
from toprank.rankers import reasons
from toprank.rankers.base import Ranker, seed_of
from toprank.rankers.pairwise.design import PairwiseDesign, check_numbers
from toprank.rankers.pairwise.kernel_features import KernelFeatures, drawn_centres
from toprank.rankers.pairwise.score_functions import BumpScore, LineScore

_KERNELS = ("linear", "gaussian")
_MOST_CENTRES = 20_000
_ROWS_AT_ONCE = 10_000
_ROWS_FOR_CALIBRATION = 50_000
_ROWS_FOR_IMPORTANCE = 250


class Features:
    """The features in which a ranker is linear: the terms of rows, or those of a kernel."""

    def __init__(self, design: PairwiseDesign, kernel: KernelFeatures | None) -> None:
        self._design = design
        self._kernel = kernel

    def of(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the features of encoded rows."""
        terms = self._design.terms(features)
        return terms if self._kernel is None else self._kernel.of(terms)

    def matrix(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the same for many rows, in the precision of their input, block by block."""
        n_weights = self._design.owners.size
        if self._kernel is not None:
            n_weights = self._kernel.whitening.shape[1]
        matrix = np.empty((len(features), n_weights), dtype=np.float32)
        for block in blocks(len(features)):
            matrix[block] = self.of(features[block])
        return matrix

    def score(self, weights: NDArray[np.float64]) -> LineScore | BumpScore:
        """Return the score function with these weights."""
        if self._kernel is None:
            return LineScore(weights)
        kernel = self._kernel
        return BumpScore(kernel.centres, kernel.heights(weights), kernel.gamma)


class PairwiseRanker(Ranker):
    """A ranker that is linear in its features, learned from all pairs of both classes.

    A learner writes `__init__`, `_check_own_parameters`, `_line` and its own saved state.
    """

    kernel: str
    gamma: float | None
    n_centres: int
    random_state: Any

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn to rank the positives of `y` first; weights of a pair's rows are multiplied."""
        self._check_parameters()
        generator = np.random.default_rng(seed_of(self.random_state))
        rows = self._training_rows(X, y, sample_weight)
        self.usual_ = reasons.usual_values(rows.features, rows.is_positive, self.schema_)
        self.design_ = PairwiseDesign.of(rows, self.schema_)
        features = Features(self.design_, self._kernel_features(rows, generator))
        self.score_ = features.score(self._line(features, rows, generator))
        some = rows.thinned(_ROWS_FOR_CALIBRATION)
        self.calibration_ = fit_sigmoid(some.is_positive, self._raw(some.features), some.weight)
        self.feature_importances_ = self._importances(rows.thinned(_ROWS_FOR_IMPORTANCE))
        return self

    def contributions(self, X: Any) -> NDArray[np.float64]:
        """Return what each feature adds to each row's suspicion, with the common start last.

        A row's contributions add up to its suspicion. The start is the suspicion of the mean of
        the training rows. With a linear kernel a feature adds its weight times its distance from
        the mean; with a Gaussian one, the change in suspicion when the feature is set to its
        mean, averaged over the row itself and a row with all other features at their means.
        """
        check_is_fitted(self)
        return self._contributions(inputs.read_features(self, X))

    def _line(
        self, features: Features, rows: TrainingRows, generator: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return the weights of the features."""
        raise NotImplementedError

    def _check_own_parameters(self) -> None:
        raise NotImplementedError

    def _check_parameters(self) -> None:
        checks.one_of(self.kernel, "kernel", _KERNELS)
        if self.gamma is not None:
            checks.number_above(self.gamma, "gamma", 0, 1e6)
        checks.whole_number(self.n_centres, "n_centres", 1, _MOST_CENTRES)
        self._check_own_parameters()

    def _kernel_features(
        self, rows: TrainingRows, generator: np.random.Generator
    ) -> KernelFeatures | None:
        if self.kernel == "linear":
            return None
        chosen = drawn_centres(rows.is_positive, self.n_centres, generator)
        gamma = self.design_.usual_gamma if self.gamma is None else float(self.gamma)
        return KernelFeatures.around(self.design_.terms(rows.features[chosen]), gamma)

    def _raw(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        raw = np.empty(len(features))
        for block in blocks(len(features)):
            raw[block] = self.score_.raw(self.design_.terms(features[block]))
        return raw

    def _contributions(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        shares = np.empty((len(features), self.n_features_in_ + 1))
        for block in blocks(len(features)):
            terms = self.design_.terms(features[block])
            shares[block] = self.score_.contributions(
                terms, self.design_.owners, self.n_features_in_
            )
        return shares

    def _importances(self, some: TrainingRows) -> NDArray[np.float64]:
        """Return the mean size of each feature's contributions; they add up to 1."""
        sizes = np.abs(self._contributions(some.features)[:, :-1])
        means = np.average(sizes, axis=0, weights=some.weight)
        return means / (means.sum() or 1.0)

    def _to_saved(self) -> Saved:
        """Return what a model file keeps of a fitted ranker."""
        arrays = {
            **self.design_.arrays(),
            **self.score_.arrays(),
            "importances": self.feature_importances_,
        }
        return Saved(self._common_state(), arrays, {})

    @classmethod
    def _from_saved(cls, parameters: dict[str, Any], saved: Saved) -> Self:
        """Return the ranker that `_to_saved` described; raises ValueError if it does not fit."""
        ranker = cls(**parameters)
        ranker._check_parameters()
        ranker._restore_common(saved.state)
        ranker.design_ = PairwiseDesign.from_arrays(saved.arrays, ranker.schema_)
        kind = LineScore if ranker.kernel == "linear" else BumpScore
        ranker.score_ = kind.from_arrays(saved.arrays, ranker.design_.owners.size)
        ranker.feature_importances_ = saved.arrays["importances"]
        check_numbers("importances", ranker.feature_importances_, (ranker.n_features_in_,))
        return ranker


def blocks(n_rows: int) -> list[slice]:
    """Return blocks of rows whose features fit into memory.

    >>> blocks(15_000)
    [slice(0, 10000, None), slice(10000, 20000, None)]
    """
    return [slice(begin, begin + _ROWS_AT_ONCE) for begin in range(0, n_rows, _ROWS_AT_ONCE)]
