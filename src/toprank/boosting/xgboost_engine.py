"""Boosting by XGBoost: its histograms and trees, our gradients."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.boosting.early_stopping import RoundVote
from toprank.boosting.objective import Objective

if TYPE_CHECKING:
    from xgboost import Booster

Progress = Callable[[int, int], None]
"""Told how many trees are grown, of how many."""


class Rows(NamedTuple):
    """Encoded features and their labels, ready for an engine."""

    features: NDArray[np.float32]
    is_positive: NDArray[np.bool_]
    weight: NDArray[np.float64] | None


class Training(NamedTuple):
    """A trained booster and the validation AP after each round (empty without validation)."""

    booster: Booster
    history: list[float]


def import_xgboost() -> ModuleType:
    """Return the xgboost module, or say how to install it."""
    try:
        import xgboost
    except ImportError:
        raise ImportError(
            "the boosting engine XGBoost is not installed; "
            'install it with: pip install "toprank[cpu]" (or "toprank[gpu]" for CUDA).'
        ) from None
    return xgboost


def across_machines(vector: NDArray[np.float64], how: str) -> NDArray[np.float64]:
    """Return the sum or maximum of `vector` over the machines of this training."""
    from xgboost import collective

    operation = collective.Op.SUM if how == "sum" else collective.Op.MAX
    return collective.allreduce(vector, operation)


def train(
    rows: Rows,
    objective: Objective,
    *,
    settings: dict[str, Any],
    feature_types: list[str],
    max_bins: int,
    binning: str,
    n_estimators: int,
    validation: Rows | None = None,
    patience: int | None = None,
    progress: Progress | None = None,
) -> Training:
    """Return the booster grown on `rows`, cut where the validation rows say."""
    xgboost = import_xgboost()
    matrix = xgboost.QuantileDMatrix(
        rows.features,
        weight=_bin_weight(rows, binning),
        feature_types=feature_types,
        enable_categorical=True,
        max_bin=max_bins,
    )
    vote, watched = None, []
    if validation is not None and patience is not None:
        vote = RoundVote(validation.is_positive, validation.weight, patience, objective.seed)
        watched = [(_plain_matrix(validation.features, feature_types), "validation")]
    rounds = iter(range(n_estimators))
    booster = xgboost.train(
        {
            "base_score": objective.start(),
            "max_bin": max_bins,
            "disable_default_eval_metric": True,
            **settings,
        },
        matrix,
        n_estimators,
        evals=watched,
        obj=lambda raw, _: objective.gradient_curvature(raw, next(rounds)),
        callbacks=[
            _watcher(xgboost, n_estimators, objective.warm_start_trees, watched, vote, progress)
        ],
    )
    if vote is None:
        return Training(booster, [])
    return Training(booster[: vote.n_rounds], vote.history)


def predict_raw(booster: Booster, features: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the raw score of every row."""
    raw = booster.inplace_predict(features, predict_type="margin", validate_features=False)
    return raw.astype(np.float64)


def contributions(
    booster: Booster, features: NDArray[np.float32], feature_types: list[str]
) -> NDArray[np.float64]:
    """Return each feature's exact share of each raw score, the score of no feature at all last.

    A row's shares add up to its raw score.
    """
    matrix = _plain_matrix(features, feature_types)
    shares = booster.predict(matrix, pred_contribs=True, validate_features=False)
    return shares.astype(np.float64)


def total_gain(booster: Booster, n_features: int) -> NDArray[np.float64]:
    """Return the gain of all cuts of each feature."""
    gain = np.zeros(n_features)
    for name, value in booster.get_score(importance_type="total_gain").items():
        gain[int(name[1:])] = value
    return gain


def load_booster(raw: bytes) -> Booster:
    """Return the booster of an XGBoost model in UBJSON that was checked before."""
    booster = import_xgboost().Booster()
    booster.load_model(bytearray(raw))
    return booster


def _plain_matrix(features: NDArray[np.float32], feature_types: list[str]) -> Any:
    xgboost = import_xgboost()
    return xgboost.DMatrix(features, feature_types=feature_types, enable_categorical=True)


def _bin_weight(rows: Rows, binning: str) -> NDArray[np.float64] | None:
    """Return the weights that place the bins; our objective keeps them out of the loss.

    Balanced bins give the positives half of the mass, so that cuts exist where they lie: with
    one positive in a thousand, plain quantiles may put every one of them into a single bin.
    """
    if binning == "quantile":
        return None
    n_positive = np.count_nonzero(rows.is_positive)
    share = rows.is_positive.size / 2
    return np.where(
        rows.is_positive, share / n_positive, share / (rows.is_positive.size - n_positive)
    )


def _watcher(
    xgboost: ModuleType,
    n_estimators: int,
    n_warm: int,
    watched: list[tuple[Any, str]],
    vote: RoundVote | None,
    progress: Progress | None,
) -> Any:
    """Return the callback that reports each tree and ends training when the vote is over."""

    class Watcher(xgboost.callback.TrainingCallback):  # type: ignore[name-defined]
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            if progress is not None:
                progress(epoch + 1, n_estimators)
            if vote is None:
                return False
            vote.see(model.predict(watched[0][0], output_margin=True))
            # the loss itself gets its turn before the vote may end training
            return vote.is_over and epoch >= n_warm

    return Watcher()
