"""The least a learner must do to be kept in a file."""

import math

import numpy as np
import xgboost
from sklearn.base import BaseEstimator

from toprank.files import Saved

N_FEATURES = 3
ROWS = np.random.default_rng(5).normal(size=(10, N_FEATURES)).astype(np.float32)
ROWS[:, 2] = [0, 1, 2, 3, 4, 5, 6, np.nan, 700, 2]


class TinyRanker(BaseEstimator):
    """Two trees and a center, to be kept in a file."""

    def __init__(self, n_estimators=2, missing=math.nan, random_state=0):
        self.n_estimators = n_estimators
        self.missing = missing
        self.random_state = random_state

    def fit(self, X, y):
        matrix = self._matrix(X, y)
        settings = {"max_depth": 3, "max_cat_to_onehot": 1, "nthread": 1, "base_score": 0.0}
        self.booster_ = xgboost.train(settings, matrix, self.n_estimators)
        self.center_ = np.nanmean(X, axis=0)
        return self

    def suspicion(self, X):
        return self.booster_.predict(self._matrix(X))

    def contributions(self, X):
        return self.booster_.predict(self._matrix(X), pred_contribs=True)

    def _matrix(self, X, y=None):
        return xgboost.DMatrix(
            X, y, feature_types=["q", "q", "c"], enable_categorical=True, missing=self.missing
        )

    def _to_saved(self):
        trees = bytes(self.booster_.save_raw("ubj"))
        return Saved({"n_features": N_FEATURES}, {"center": self.center_}, {"trees": trees})

    @classmethod
    def _from_saved(cls, parameters, saved):
        model = cls(**parameters)
        model.center_ = saved.arrays["center"]
        model.booster_ = xgboost.Booster({"nthread": 1})
        model.booster_.load_model(bytearray(saved.boosters["trees"]))
        if model.booster_.num_features() != saved.state["n_features"]:
            raise ValueError("trees have another number of features.")
        model.suspicion(ROWS)  # parameters it cannot work with show here
        return model


def fitted(**parameters):
    generator = np.random.default_rng(1)
    X = generator.normal(size=(200, N_FEATURES))
    X[:, 2] = generator.integers(0, 7, 200)
    return TinyRanker(**parameters).fit(X, (X[:, 0] > 0) | (X[:, 2] == 3))
