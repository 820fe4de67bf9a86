"""Stochastic gradient boosting as the SGBAP paper writes it (Algorithm 1).

Each round draws a batch, fits a regression tree to the batch's negative gradients and moves
along it by the step that minimises the batch's loss. It is the reference the XGBoost engine is
compared with: exact cuts, no penalty, and slow. The finished trees are handed over as an
XGBoost booster, so that both engines score, explain and save in the same way.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from sklearn.tree import DecisionTreeRegressor

from toprank.data.inputs import TrainingRows
from toprank.rankers.boosted import booster_trees
from toprank.rankers.boosted.early_stopping import RoundVote
from toprank.rankers.boosted.objective import Objective
from toprank.rankers.boosted.plan import Phase, Plan, Training
from toprank.rankers.boosted.xgboost_engine import import_xgboost

_LARGEST_STEP = 10.0
"""No score moves further than this in one round: a pure leaf's best step is infinite."""

_STEP_TOLERANCE = 1e-3  # of the valley's width: batches move the best step by far more

Step = tuple[DecisionTreeRegressor, float]


def train(
    rows: TrainingRows,
    plan: Plan,
    validation: TrainingRows | None,
    *,
    max_depth: int,
    learning_rate: float,
) -> Training:
    """Return the booster of Algorithm 1; the paper has a `learning_rate` of 1."""
    import_xgboost()  # it is needed at the end: better to fail now
    start = plan.start(rows)
    steps: list[Step] = []
    history: list[float] = []
    for phase in plan.phases():
        grown = _one_phase(rows, plan, phase, validation, start, steps, max_depth, learning_rate)
        steps += grown.kept
        history += grown.history
    return Training(_as_booster(steps, start, rows.features.shape[1]), history)


class _Grown(NamedTuple):
    kept: list[Step]
    history: list[float]


def _one_phase(
    rows: TrainingRows,
    plan: Plan,
    phase: Phase,
    validation: TrainingRows | None,
    start: float,
    before: list[Step],
    max_depth: int,
    learning_rate: float,
) -> _Grown:
    """Return the trees that one phase adds to those before it."""
    raw = start + _sum_of(before, rows.features)
    vote, held_out = None, np.empty(0)
    if validation is not None and plan.patience is not None:
        vote = RoundVote(validation.is_positive, validation.weight, plan.patience, plan.seed)
        held_out = start + _sum_of(before, validation.features)
        vote.see(held_out)
    objective, steps = plan.objective(phase, rows), []
    for round_ in range(phase.first, phase.first + phase.n_trees):
        tree, length, direction = _one_round(rows, objective, raw, round_, max_depth)
        step = (tree, learning_rate * length)
        steps.append(step)
        raw += step[1] * direction
        plan.report(round_ + 1)
        if vote is not None and validation is not None:
            held_out += _sum_of([step], validation.features)
            vote.see(held_out)
            if vote.is_over:
                break
    if vote is None:
        return _Grown(steps, [])
    # as with XGBoost, a model has at least one tree
    return _Grown(steps[: max(vote.best, 1 - len(before))], vote.history[1:])


def _sum_of(steps: list[Step], features: NDArray[np.float32]) -> NDArray[np.float64]:
    total = np.zeros(len(features))
    for tree, length in steps:
        total += length * _predicted(tree, features)
    return total


def _predicted(tree: DecisionTreeRegressor, features: NDArray[np.float32]) -> NDArray[np.float64]:
    return tree.tree_.predict(features)[:, 0]  # as tree.predict, which checks the rows each time


def _one_round(
    rows: TrainingRows, objective: Objective, raw: NDArray, round_: int, max_depth: int
) -> tuple[DecisionTreeRegressor, float, NDArray[np.float64]]:
    """Return the round's tree, its step, and what it predicts of every row.

    The step is 0 if the batch has a single class.
    """
    drawn = objective.batch_weight(round_)
    batch = np.arange(raw.size) if drawn is None else np.flatnonzero(drawn)
    weight = None if drawn is None or rows.weight is None else drawn[batch]
    tree = DecisionTreeRegressor(max_depth=max_depth, random_state=objective.seed + round_)
    labels = rows.is_positive[batch]
    if not labels.any() or labels.all():
        return tree.fit(rows.features[:1], [0.0]), 0.0, np.zeros(raw.size)
    loss, before = objective.loss, raw[batch]
    residual = -loss.gradient_curvature(labels, before, weight)[0]
    if weight is not None:  # a row of weight w represents w rows, each with its part
        residual /= weight
    # about 1 per row: scikit-learn does not cut where the variance is below its rounding error
    residual /= np.average(np.abs(residual), weights=weight) or 1.0
    tree.fit(rows.features[batch], residual, sample_weight=weight)
    direction = _predicted(tree, rows.features)
    along = direction[batch]
    reach = np.abs(along).max()

    def loss_after(length: float) -> float:
        return loss.value(labels, before + length * along, weight)

    length = best_step(loss_after, _LARGEST_STEP / reach) if reach > 0 else 0.0
    return tree, length, direction


def best_step(loss_after: Callable[[float], float], largest: float) -> float:
    """Return the step in [0, largest] with the lowest loss.

    The loss along a direction need not be convex, so a coarse grid over four orders of
    magnitude finds the valley before Brent's method refines it.
    """
    looks = np.concatenate([[0.0], largest * np.logspace(-4, 0, 17)])
    losses = [loss_after(step) for step in looks]
    lowest = int(np.argmin(losses))
    low, high = looks[max(lowest - 1, 0)], looks[min(lowest + 1, looks.size - 1)]
    close_enough = {"xatol": _STEP_TOLERANCE * (high - low)}
    found = minimize_scalar(loss_after, bounds=(low, high), method="bounded", options=close_enough)
    return float(found.x if found.fun < losses[lowest] else looks[lowest])


def _as_booster(steps: list[Step], start: float, n_features: int):
    """Return an XGBoost booster of these trees, each scaled by its step."""
    trees = [
        booster_trees.xgboost_tree(tree.tree_, step * tree.tree_.value[:, 0, 0], n_features)
        for tree, step in steps
    ]
    return booster_trees.booster_of(trees, start, n_features)
