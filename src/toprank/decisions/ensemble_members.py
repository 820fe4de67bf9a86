"""The models inside an ensemble or a pipeline: rankers of ours, or scikit-learn's classifiers.

Both learn from encoded rows and return log-odds of being positive. A ranker knows which
columns are categories; to a classifier their codes are numbers.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags

from toprank.data.inputs import Encoded, LearnedColumns
from toprank.files import Saved
from toprank.files.nested import kept_of, restored
from toprank.rankers.base import Ranker

_SUREST = 1e-9  # a forest's votes may be unanimous; their log-odds must stay finite


def check_model(model: Any, name: str = "ranker") -> None:
    """Raise unless `model` is a ranker or classifier without a positive label of its own."""
    if isinstance(model, Ranker):
        if model.positive_label is not None:
            raise ValueError(
                f"{name} must have positive_label=None; set it on the outer ranker instead."
            )
    elif isinstance(model, type) or not (hasattr(model, "fit") and is_classifier(model)):
        raise TypeError(
            f"{name} must be a ranker such as BoostedRanker() or a classifier of scikit-learn; "
            f"got {model!r}."
        )


def fitted(
    model: Any,
    features: NDArray[np.float32],
    is_positive: NDArray[np.bool_],
    columns: LearnedColumns,
) -> Any:
    """Return a copy of the model that learned from encoded rows of these columns."""
    copy = clone(model)
    if isinstance(copy, Ranker):
        return copy.set_params(positive_label=True).fit(Encoded(features, columns), is_positive)
    return copy.fit(_as_float64(features), is_positive)


def log_odds(model: Any, features: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the log-odds of being positive that a fitted model gives encoded rows."""
    if isinstance(model, Ranker):
        # by the calibration's linear part, so that contributions stay additive
        return model.calibration_.line.log_odds(model.suspicion(Encoded(features)))
    if hasattr(model, "predict_proba"):
        share = model.predict_proba(_as_float64(features))[:, 1].astype(np.float64)
        return logit(np.clip(share, _SUREST, 1 - _SUREST))
    return np.asarray(model.decision_function(_as_float64(features)), dtype=np.float64)


def takes_gaps(model: Any) -> bool:
    """Return whether a model accepts missing values."""
    return isinstance(model, Ranker) or bool(get_tags(model).input_tags.allow_nan)


def _as_float64(features: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return rows in float64: in float32, classifiers' sums depend on the other rows."""
    return features.astype(np.float64)


def contributions(model: Any, features: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return what each feature adds to each row's log-odds, with the common start last."""
    if not hasattr(model, "contributions"):
        raise AttributeError(
            f"{type(model).__name__} has no contributions of features; use a ranker."
        )
    slope, intercept, *_ = model.calibration_.line
    shares = slope * model.contributions(Encoded(features))
    shares[:, -1] += intercept
    return shares


def importances(model: Any) -> NDArray[np.float64]:
    """Return each feature's importance; they add up to 1."""
    if not hasattr(model, "feature_importances_"):
        raise AttributeError(f"{type(model).__name__} has no feature importances.")
    return model.feature_importances_


def to_saved(outer: Ranker, models: list[Any], own: dict[str, Any]) -> Saved:
    """Return what a model file keeps of an estimator with inner rankers; `own` is its state."""
    kept = [kept_of(model, number) for number, model in enumerate(models)]
    state = {**outer._common_state(), **own, "rankers": [facts for facts, _ in kept]}
    arrays = {name: array for _, each in kept for name, array in each.arrays.items()}
    boosters = {name: raw for _, each in kept for name, raw in each.boosters.items()}
    parameters = outer.get_params(deep=False)
    if outer.ranker is not None:
        # the fitted rankers have its parameters, except for the seeds that an ensemble sets
        parameters["ranker"] = {"random_state": getattr(outer.ranker, "random_state", None)}
    return Saved(state, arrays, boosters, parameters)


def from_saved(kind: type, parameters: dict[str, Any], saved: Saved) -> tuple[Any, list[Ranker]]:
    """Return the estimator and the rankers that `to_saved` described; or raise ValueError."""
    described = saved.state.get("rankers")
    if not isinstance(described, list) or not all(isinstance(each, dict) for each in described):
        raise ValueError("rankers must be a list of inner rankers.")
    models = [restored(facts, saved, number, Ranker) for number, facts in enumerate(described)]
    if not models:
        raise ValueError("rankers must contain at least one ranker; got none.")
    unfitted = None
    if parameters["ranker"] is not None:
        unfitted = clone(models[0]).set_params(positive_label=None)
        if hasattr(unfitted, "random_state"):
            unfitted.set_params(random_state=parameters["ranker"]["random_state"])
    outer = kind(**{**parameters, "ranker": unfitted})
    outer._check_parameters()
    outer._restore_common(saved.state)
    for model in models:
        if model.schema_ != outer.schema_:
            raise ValueError("inner rankers must have the columns of the outer one.")
        if model.positive_label_ is not np.True_ and model.positive_label_ is not True:
            raise ValueError("inner rankers must rank True first.")
    return outer, models
