"""Trees of our losses against those of XGBoost's own log-loss, and against half the rows.

All grow trees of the same depth on the same bins of the same rows. Measured are the trees
alone, since the binning is the same for all.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.losses import Gather, make_loss
from toprank.rankers.boosted.objective import Objective
from toprank.rankers.boosted.xgboost_engine import across_machines, import_xgboost
from toprank_bench.speed.race import Measured, Race, Setting
from toprank_bench.speed.speed_rows import SEED, rare_positives
from toprank_bench.speed.timing import times_as_long

_TREES = {"max_depth": 6, "learning_rate": 0.1, "max_bin": 256, "tree_method": "hist"}
_RIVAL = "binary:logistic"


class _BinnedRows(NamedTuple):
    matrix: Any
    is_positive: NDArray[np.bool_]


def _against_log_loss(loss: str, setting: Setting) -> Measured:
    shape = setting.shape
    rows = _binned(shape["rows"], shape["columns"])
    return times_as_long(
        _growing(loss, rows, setting),
        _growing(_RIVAL, rows, setting),
        shape["rounds"],
    )


def _against_half_the_rows(loss: str, setting: Setting) -> Measured:
    shape = setting.shape
    all_rows = _binned(shape["rows"], shape["columns"])
    half = _binned(shape["rows"] // 2, shape["columns"])
    return times_as_long(
        _growing(loss, all_rows, setting), _growing(loss, half, setting), shape["rounds"]
    )


def _growing(loss: str, rows: _BinnedRows, setting: Setting) -> Callable[[], Any]:
    settings = {**_TREES, "nthread": setting.n_threads}
    grow = _grow_rival if loss == _RIVAL else partial(_grow, loss)
    return partial(grow, rows, setting.shape["trees"], settings)


def _grow_rival(rows: _BinnedRows, n_trees: int, settings: Mapping[str, Any]) -> None:
    import_xgboost().train({**settings, "objective": _RIVAL}, rows.matrix, n_trees)


def _grow(loss: str, rows: _BinnedRows, n_trees: int, settings: Mapping[str, Any]) -> None:
    """Grow trees with the objective as `BoostedRanker` sets it up."""
    gather = Gather(across_machines, settings["nthread"])
    objective = Objective(make_loss(loss), rows.is_positive, None, 1.0, SEED, gather)
    numbers = iter(range(n_trees))
    import_xgboost().train(
        {**settings, "base_score": 0.0, "disable_default_eval_metric": True},
        rows.matrix,
        n_trees,
        obj=lambda raw, _: objective.gradient_curvature(raw, next(numbers)),
    )


@lru_cache(maxsize=2)  # the next race takes the same rows
def _binned(n_rows: int, n_columns: int) -> _BinnedRows:
    features, is_positive, _ = rare_positives(n_rows, n_columns)
    matrix = import_xgboost().QuantileDMatrix(features, is_positive, max_bin=_TREES["max_bin"])
    return _BinnedRows(matrix, is_positive)


_MOST_TIMES = {"ap-exp": 1.15, "ap-sigmoid": 1.5, "ap-lambda": 1.5, "auc-hinge": 1.5}

RACES = (
    *(
        Race(
            name=f"tree-{loss}",
            what=f"BoostedRanker, trees of {loss}",
            against=f"XGBoost {_RIVAL}",
            unit="times as long",
            measure=partial(_against_log_loss, loss),
            shape={"rows": 2_000_000, "columns": 40, "trees": 20, "rounds": 7},
            quick={"rows": 250_000, "rounds": 5},
            minutes=(1, 0.15),
            at_most=at_most,
            is_threaded=True,
            needs="xgboost",
        )
        for loss, at_most in _MOST_TIMES.items()
    ),
    *(
        Race(
            name=f"doubling-{loss}",
            what=f"BoostedRanker, trees of {loss}",
            against="itself on half the rows",
            unit="times as long",
            measure=partial(_against_half_the_rows, loss),
            shape={"rows": 4_000_000, "columns": 40, "trees": 10, "rounds": 5},
            quick={"rows": 500_000},
            minutes=(0.8, 0.15),
            at_most=2.2,
            is_threaded=True,
            needs="xgboost",
        )
        for loss in ("ap-sigmoid", "ap-lambda", "auc-hinge")
    ),
)
