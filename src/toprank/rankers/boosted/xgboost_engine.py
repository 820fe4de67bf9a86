"""Boosting by XGBoost: its histograms, trees and log-loss, our other gradients."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from toprank.data.accepted_rows import with_missing_zeros
from toprank.data.inputs import TrainingRows
from toprank.losses import Log
from toprank.losses.gather import HERE, Gather
from toprank.rankers.boosted import flat_trees
from toprank.rankers.boosted.early_stopping import RoundVote
from toprank.rankers.boosted.plan import Phase, Plan, Training

if TYPE_CHECKING:
    from xgboost import Booster

_LOG_LOSS = "binary:logitraw"  # XGBoost's own log-loss, whose base_score is a raw score
_ANY_LOSS = "reg:squarederror"  # what XGBoost writes for gradients that it is given
_FEW_ROWS = 64  # fewer are scored sooner by our own kernel than XGBoost starts


def import_xgboost() -> ModuleType:
    """Return the xgboost module; raises ImportError with installation instructions."""
    try:
        import xgboost
    except ImportError:
        raise ImportError(
            "XGBoost, which grows the trees, is not installed; "
            "install it with: pip install xgboost-cpu."
        ) from None
    return xgboost


def across_machines(vector: NDArray[np.float64], how: str) -> NDArray[np.float64]:
    """Return the sum or maximum of `vector` over the machines of this training."""
    from xgboost import collective

    operation = collective.Op.SUM if how == "sum" else collective.Op.MAX
    return collective.allreduce(vector, operation)


def gather_of(n_threads: int) -> Gather:
    """Return how losses sum over the rows of all machines in this training."""
    from xgboost import collective

    return Gather(
        across_machines,
        n_threads,
        rank=collective.get_rank(),
        n_machines=collective.get_world_size(),
    )


def train(
    rows: TrainingRows,
    plan: Plan,
    validation: TrainingRows | None,
    *,
    settings: dict[str, Any],
    feature_types: list[str],
    max_bins: int,
    binning: str,
    booster: Booster | None = None,
) -> Training:
    """Return the booster grown on `rows`, each phase cut where the validation rows say.

    Trees are added to a copy of `booster`, if there is one. On a cluster every machine calls this
    with its own rows, and all of them get the same booster.
    """
    matrix = binned_matrix(rows, feature_types, max_bins, binning, plan.gather)
    watched = None
    if validation is not None and plan.patience is not None:
        _check_one_machine()
        watched = _Watched(_plain_matrix(validation.features, feature_types), validation)
    settings = {"max_bin": max_bins, "disable_default_eval_metric": True, **settings}
    if booster is None:
        settings["base_score"] = plan.start(rows)
    history = []
    for phase in plan.phases():
        booster, seen = _grow(booster, matrix, settings, plan, phase, rows, watched)
        history += seen
    return Training(booster, history)


def binned_matrix(
    rows: TrainingRows,
    feature_types: list[str],
    max_bins: int,
    binning: str,
    gather: Gather = HERE,
) -> Any:
    """Return the rows as XGBoost's histograms take them: every value as the number of its bin.

    Matrices in `rows.bins` are reused; rows without it are binned anew.
    """
    known = {} if rows.bins is None else rows.bins
    key = binning, max_bins, tuple(feature_types)
    if key not in known:
        known[key] = import_xgboost().QuantileDMatrix(
            rows.features,
            weight=_bin_weight(rows, binning, gather),
            feature_types=feature_types,
            enable_categorical=True,
            max_bin=max_bins,
        )
        known[key].set_info(label=rows.is_positive)
        if rows.weight is not None or binning != "quantile":
            # the bins are placed: from here on, weights are those of the loss
            weight = np.ones(rows.is_positive.size) if rows.weight is None else rows.weight
            known[key].set_info(weight=weight)
    return known[key]


class _Watched(NamedTuple):
    """The validation rows, as XGBoost takes them and as arrays."""

    matrix: Any
    rows: TrainingRows


def _grow(
    booster: Booster | None,
    matrix: Any,
    settings: dict[str, Any],
    plan: Plan,
    phase: Phase,
    rows: TrainingRows,
    watched: _Watched | None,
) -> tuple[Booster, list[float]]:
    """Return the booster with the trees of one more phase, and the AP after each of them."""
    xgboost = import_xgboost()
    vote = None
    if watched is not None and plan.patience is not None:
        judged = watched.rows
        vote = RoundVote(
            judged.is_positive, judged.weight, plan.patience, plan.seed, judged.groups
        )
    n_before = 0 if booster is None else booster.num_boosted_rounds()
    is_own = isinstance(phase.loss, Log) and plan.batch_fraction == 1
    grown = xgboost.train(
        {**settings, "objective": _LOG_LOSS if is_own else _ANY_LOSS},
        matrix,
        phase.n_trees,
        evals=[] if watched is None else [(watched.matrix, "validation")],
        obj=None if is_own else _gradients(plan, phase, rows),
        xgb_model=booster,
        callbacks=[_watcher(plan, phase, watched, vote)],
    )
    grown.set_param({"objective": _ANY_LOSS})  # the same file whoever computed the gradients
    if vote is None:
        return grown, []
    # the first phase keeps at least one tree: XGBoost has no empty boosters
    return grown[: max(n_before + vote.best, 1)], vote.history[1:]


def _gradients(plan: Plan, phase: Phase, rows: TrainingRows) -> Any:
    """Return our gradients as XGBoost's training calls for them."""
    objective = plan.objective(phase, rows)
    rounds = iter(range(phase.first, phase.first + phase.n_trees))
    return lambda raw, _: objective.gradient_curvature(raw, next(rounds))


def predict_raw(booster: Booster, features: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the raw score of every row: identical, to the last bit, alone or among others.

    Rows may be sparse; what is not stored is missing.
    """
    if features.shape[0] <= _FEW_ROWS and (trees := flat_trees.of(booster)).is_exact:
        return trees.raw(_dense(features))
    raw = booster.inplace_predict(features, predict_type="margin", validate_features=False)
    return raw.astype(np.float64)


def contributions(booster: Booster, features: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return each feature's exact share of each raw score, with the mean score last.

    A row's shares add up to its raw score.
    """
    return flat_trees.of(booster).shares(features)


def path_contributions(booster: Booster, features: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return each feature's share of each raw score along the trees' paths, the start last.

    A cut's feature gets the change in mean from the node to its child: fast in deep trees,
    where exact shares are slow.
    """
    return flat_trees.of(booster).path_shares(features)


def total_gain(booster: Booster, n_features: int) -> NDArray[np.float64]:
    """Return the gain of all cuts of each feature."""
    gain = np.zeros(n_features)
    for name, value in booster.get_score(importance_type="total_gain").items():
        gain[int(name[1:])] = value
    return gain


def load_booster(raw: bytes) -> Booster:
    """Return the booster of an XGBoost model in UBJSON that has already been checked."""
    booster = import_xgboost().Booster()
    booster.load_model(bytearray(raw))
    return booster


def _dense(features: Any) -> NDArray[np.float32]:
    return with_missing_zeros(features.toarray()) if issparse(features) else features


def _check_one_machine() -> None:
    """Raise on a cluster: each machine would count its own votes and stop at its own round."""
    n_machines = import_xgboost().collective.get_world_size()
    if n_machines > 1:
        raise ValueError(
            f"early_stopping_rounds must be None when several machines train; got {n_machines}."
        )


def _plain_matrix(features: NDArray[np.float32], feature_types: list[str]) -> Any:
    return import_xgboost().DMatrix(features, feature_types=feature_types, enable_categorical=True)


def _bin_weight(rows: TrainingRows, binning: str, gather: Gather) -> NDArray[np.float64] | None:
    """Return the weights that place the bins; the loss does not see them.

    Balanced bins give the positives half of the mass, so that cuts exist among them: with
    one positive in a thousand, plain quantiles may put every one of them into a single bin.
    """
    if binning == "quantile":
        return None
    here = [rows.is_positive.size, np.count_nonzero(rows.is_positive)]
    n_rows, n_positive = gather.sums([here], 2)
    share = n_rows / 2
    return np.where(rows.is_positive, share / n_positive, share / (n_rows - n_positive))


def _watcher(plan: Plan, phase: Phase, watched: _Watched | None, vote: RoundVote | None) -> Any:
    """Return the callback that reports each tree and ends the phase once the vote is decided."""

    class Watcher(import_xgboost().callback.TrainingCallback):  # type: ignore[misc]
        def __init__(self) -> None:
            self.n_grown = phase.first

        def before_training(self, model: Any) -> Any:
            self._judge(model)
            return model

        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            self.n_grown += 1
            plan.report(self.n_grown)
            return self._judge(model)

        def _judge(self, model: Any) -> bool:
            if vote is None or watched is None:
                return False
            vote.see(model.predict(watched.matrix, output_margin=True))
            return vote.is_over

    return Watcher()
