"""Online learners by id, ours and the rivals one would pick instead: how each is made.

All learn by `score_then_learn(features, is_positive)`, which returns the score each row had before
its label was known, and score further rows by `suspicion(features)`; a score above 0 says
positive. Features are an Arrow table or, where all are numbers, a matrix. Each learner scales
numbers as they come, and its seed is that of the cell.
"""

import numbers
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank_bench.learners.vowpal_bbm import VowpalBBM

Features: TypeAlias = pa.Table | NDArray[np.float64]


class OnlineLearner(Protocol):
    """What every learner here is."""

    def score_then_learn(
        self, features: Features, is_positive: NDArray[np.bool_]
    ) -> NDArray[np.float64]: ...
    def suspicion(self, features: Features) -> NDArray[np.float64]: ...


def make_online_learner(name: str, seed: int, parameters: Mapping[str, Any]) -> OnlineLearner:
    """Return the learner of this id, which has learned nothing yet.

    >>> make_online_learner("bbm", 1, {"n_learners": 5, "edge": 0.2})
    OnlineBBM(edge=0.2, n_learners=5, positive_label=True, random_state=1)
    """
    make, install = ONLINE_LEARNERS[name]
    try:
        return make(seed, **parameters)
    except ImportError as error:
        raise ImportError(
            f"learner {name!r} needs a package that is not installed ({error}); "
            f"install it with: pip install {install}"
        ) from error
    except TypeError as error:
        raise ValueError(f"learner {name!r} cannot be made: {error}.") from error


def compile_online_kernels(name: str, parameters: Mapping[str, Any]) -> None:
    """Let the learner learn from a few rows, once per process: compiling is not its time."""
    # texts, unlike the parameters themselves, can be keys of a cache
    texts = {key: value for key, value in parameters.items() if isinstance(value, str)}
    _compile_once(name, tuple(texts.items()))


@cache
def _compile_once(name: str, texts: tuple[tuple[str, str], ...]) -> None:
    x = np.arange(8.0)[:, np.newaxis]
    with suppress(Exception):  # what is wrong will show where it matters
        learner = make_online_learner(name, 0, dict(texts))
        learner.score_then_learn(x, x[:, 0] > 4)
        learner.suspicion(x)


def _ours(name: str) -> Callable[..., OnlineLearner]:
    def make(seed: int, **parameters: Any) -> OnlineLearner:
        learner = getattr(import_module("toprank"), name)
        return learner(positive_label=True, random_state=seed, **parameters)

    return make


def _network(seed: int, n_learners: int = 1, **parameters: Any) -> OnlineLearner:
    """Return one network with as many units as so many weak learners of 2 have."""
    how = {"n_learners": 1, "width": 2 * n_learners, "update": "full", **parameters}
    return _ours("OnlineLinearBoost")(seed, **how)


def _river_logistic(
    seed: int, optimizer: str = "SGD", learning_rate: float = 0.01, l2: float = 0.0
) -> OnlineLearner:
    from river import compose, linear_model, optim, preprocessing

    from toprank.river import FromRiver

    scaled = compose.SelectType(numbers.Number) | preprocessing.StandardScaler()
    one_hot = compose.SelectType(str) | preprocessing.OneHotEncoder()
    rule = getattr(optim, optimizer)(learning_rate)
    model = (scaled + one_hot) | linear_model.LogisticRegression(rule, l2=l2)
    return FromRiver(model, positive_label=True)


def _river_tree(seed: int, **parameters: Any) -> OnlineLearner:
    from river import tree

    from toprank.river import FromRiver

    model = tree.HoeffdingAdaptiveTreeClassifier(seed=seed, **parameters)
    return FromRiver(model, positive_label=True)


class _Maker(NamedTuple):
    make: Callable[..., OnlineLearner]
    install: str


_OURS = "toprank"
_RIVER = "river"

ONLINE_LEARNERS: dict[str, _Maker] = {
    # the architecture of the thesis, whose tables these experiments are about
    "online-non-linear-boost": _Maker(partial(_ours("OnlineNonLinearBoost"), wide=False), _OURS),
    "online-linear-boost": _Maker(_ours("OnlineLinearBoost"), _OURS),
    "network": _Maker(_network, _OURS),
    "bbm": _Maker(_ours("OnlineBBM"), _OURS),
    "adaboost-ol": _Maker(_ours("AdaBoostOL"), _OURS),
    "adaboost-ol-w": _Maker(_ours("AdaBoostOLW"), _OURS),
    "online-gradient-boost": _Maker(_ours("OnlineGradientBoost"), _OURS),
    "stream-boost": _Maker(_ours("StreamBoost"), _OURS),
    "river-logistic": _Maker(_river_logistic, _RIVER),
    "river-hoeffding-tree": _Maker(_river_tree, _RIVER),
    "vowpal-bbm": _Maker(VowpalBBM, "vowpalwabbit"),
}
