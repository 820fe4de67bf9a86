"""Learners by id, ours and the rivals one would pick instead: how each is made.

All learn by `fit(features, is_positive)` from an Arrow table and rank by `suspicion(features)`.
Ours take categories as they are; every rival gets the same one-hot columns. Each runs on one
thread, and its seed is that of the cell.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank import registry
from toprank.data import checks
from toprank_bench.experiment import Method
from toprank_bench.learners import early_stopping
from toprank_bench.learners.autogluon_rival import AutoGluonRival
from toprank_bench.learners.early_stopping import EarlyStopping
from toprank_bench.learners.one_hot import OneHotBoosted, OneHotRanker
from toprank_bench.learners.rpart_trees import RpartTree, rpart_tree


class TableRanker(Protocol):
    """What every learner here is."""

    def fit(self, features: pa.Table, is_positive: NDArray[np.bool_]) -> Any: ...
    def suspicion(self, features: pa.Table) -> NDArray[np.float64]: ...


@dataclass(frozen=True)
class Learner:
    """How a learner is made from a seed and parameters.

    `install` is the command that installs a missing package. Where `is_staged`, the
    first n trees of a fit are the fit of n trees: one fit then serves all n of a grid. `shortest`
    are parameters of a fit that is over at once. `booster` finds XGBoost's trees in a fitted one.
    `needs` is a package without which it can be made, but not fitted. `stopping` is how it finds
    the number of its trees on rows apart.
    """

    make: Callable[..., TableRanker]
    install: str = ""
    needs: str = ""
    is_staged: Callable[[Mapping[str, Any]], bool] = lambda parameters: False
    shortest: Mapping[str, Any] = field(default_factory=dict)
    booster: Callable[[Any], Any] | None = None
    stopping: EarlyStopping | None = None


def make_learner(name: str, seed: int, parameters: Mapping[str, Any]) -> TableRanker:
    """Return the learner of this id, ready to fit.

    >>> make_learner("boosted", 1, {"loss": "log", "n_estimators": 20})
    BoostedRanker(n_estimators=20, n_jobs=1, positive_label=True, random_state=1)
    """
    learner = LEARNERS[name]
    try:
        return learner.make(seed, **parameters)
    except ImportError as error:
        raise ImportError(
            f"learner {name!r} needs a package that is not installed ({error}); "
            f"install it with: {learner.install or _XGBOOST}"
        ) from error
    except TypeError as error:
        sentence = str(error).rstrip(".")
        raise ValueError(f"learner {name!r} cannot be made: {sentence}.") from error


def why_not_learner(method: Method) -> str | None:
    """Return which package a method lacks, or which of its parameters is wrong; None if none."""
    try:
        for candidate in method.candidates:
            make_learner(method.learner, 0, candidate)
    except (ImportError, ValueError) as error:
        return f"method {method.name!r} is left out: {error}"
    needs = LEARNERS[method.learner].needs
    if needs and find_spec(needs) is None:
        return (
            f"method {method.name!r} is left out: it needs {needs}, which is not installed; "
            f"install it with: {_XGBOOST}"
        )
    return None


def check_learner(name: str, learners: Iterable[str]) -> str:
    """Return the id of a learner that is there."""
    known = list(learners)
    if name not in known:
        hint = checks.nearest_name(name, known) or f"; known are {', '.join(known)}."
        raise ValueError(f"learner {name!r} is not known{hint}")
    return name


def compile_kernels(name: str, parameters: Mapping[str, Any]) -> None:
    """Let the learner learn from a few rows, once per process: compiling is not its time."""
    # texts, unlike the parameters themselves, can be keys of a cache
    texts = {key: value for key, value in parameters.items() if isinstance(value, str)}
    _compile_once(name, tuple(texts.items()))


def staged_suspicion(
    ranker: Any, features: pa.Table, tree_counts: Iterable[int]
) -> Iterator[NDArray[np.float64]]:
    """Yield what the first so many trees of a staged learner make of the rows."""
    if isinstance(ranker, OneHotRanker):
        yield from (ranker.suspicion(features, n_trees=count) for count in tree_counts)
    elif hasattr(ranker, "staged_suspicion"):  # its score is not the sum of its trees
        staged = ranker.staged_suspicion(features)
        yield from (staged[:, count - 1] for count in tree_counts)
    else:
        yield from _of_first_trees(ranker, features, tree_counts)


def n_cuts(name: str, ranker: Any) -> int:
    """Return how many cuts all trees of a fitted learner with a booster have: inner nodes."""
    from toprank.rankers.boosted import booster_trees

    booster = LEARNERS[name].booster
    assert booster is not None, name
    trees = booster_trees.trees_of(booster(ranker))
    return sum(child >= 0 for tree in trees for child in tree["left_children"])


def what_it_chose(ranker: Any) -> str | None:
    """Return in words what a learner that chooses for itself has chosen."""
    account = getattr(ranker, "account_", None)
    return getattr(account, "winner", None)


def _of_first_trees(
    ranker: Any, features: pa.Table, tree_counts: Iterable[int]
) -> Iterator[NDArray[np.float64]]:
    whole = ranker.booster_
    try:
        for count in tree_counts:
            ranker.booster_ = whole[: min(count, ranker.n_trees_)]
            yield ranker.suspicion(features)
    finally:
        ranker.booster_ = whole


@cache
def _compile_once(name: str, texts: tuple[tuple[str, str], ...]) -> None:
    if name not in LEARNERS:  # a protocol's own, which is made of these and of other libraries
        return
    x = np.arange(40.0)
    table = pa.table({"x": x, "category": np.where(x % 3, "a", "b")})
    with suppress(Exception):  # too few rows for some; what is wrong will show where it matters
        ranker = make_learner(name, 0, {**dict(texts), **LEARNERS[name].shortest})
        ranker.fit(table, x >= 30).suspicion(table)


def _own(name: str, make: Callable[..., TableRanker] | None = None, **experiments: Any) -> Learner:
    """Return a learner of ours: what it needs and its shortest fit are in its registry row."""
    row = registry.row_named(name)
    facts = {"needs": row.needs, "shortest": row.shortest, **experiments}
    return Learner(make or _ours(name), **facts)


def _ours(name: str, **always: Any) -> Callable[..., TableRanker]:
    """Return how a learner of ours is made; it takes the table as it is."""

    def make(seed: int, **parameters: Any) -> TableRanker:
        ranker = getattr(import_module("toprank"), name)(**{**always, **parameters})
        ranker.set_params(positive_label=True, random_state=seed)
        return ranker.set_params(n_jobs=1) if "n_jobs" in ranker.get_params() else ranker

    return make


def _meta_ap_forest(seed: int, tree: Mapping[str, Any], **parameters: Any) -> TableRanker:
    from toprank import MetaAP

    return _ours("RankForest", tree=MetaAP(**tree))(seed, **parameters)


def _published_tree(name: str) -> Callable[..., TableRanker]:
    """Return how the MetaAP paper has a tree: one depth, a column per category."""

    def make(seed: int, depth: int = 4, **parameters: Any) -> TableRanker:
        tree = getattr(import_module("toprank"), name)
        return OneHotRanker(tree.published(depth, positive_label=1, **parameters))

    return make


def _rival(
    module: str,
    name: str,
    *,
    queries: bool = False,
    threads: str | None = "n_jobs",
    also: Collection[str] = (),
    **always: Any,
) -> Callable[..., TableRanker]:
    """Return how an estimator of another library is made; `threads` is what it calls n_jobs.

    `also` are parameters that it takes without naming them.
    """

    def make(seed: int, **parameters: Any) -> TableRanker:
        estimator = getattr(import_module(module), name)
        _check_names(estimator, parameters, also)
        settings = {**always, **parameters, "random_state": seed}
        if threads:
            settings[threads] = 1
        return OneHotRanker(estimator(**settings), has_queries=queries)

    return make


def _check_names(
    estimator: Any, parameters: Mapping[str, Any], also: Collection[str] = ()
) -> None:
    """Raise where a parameter has a name that an estimator would pass on and nobody read."""
    known = {*signature(estimator).parameters, *estimator().get_params(), *also}
    for name in parameters:
        if name not in known:
            hint = checks.nearest_name(name, sorted(known)) or "."
            raise TypeError(f"{estimator.__name__} has no parameter {name!r}{hint}")


def _without_gaps(module: str, name: str, *, scaled: bool = False) -> Callable[..., TableRanker]:
    """Return how an estimator that takes no NaN is made: a column's mean replaces it."""

    def make(seed: int, **parameters: Any) -> TableRanker:
        from sklearn.impute import SimpleImputer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        estimator = getattr(import_module(module), name)(random_state=seed, **parameters)
        before = [SimpleImputer(keep_empty_features=True), *([StandardScaler()] if scaled else [])]
        return OneHotRanker(make_pipeline(*before, estimator))

    return make


def _adaboost_of_rpart_trees(seed: int, n_estimators: int = 200) -> TableRanker:
    make = _without_gaps("sklearn.ensemble", "AdaBoostClassifier")
    return make(seed, estimator=rpart_tree(seed), n_estimators=n_estimators)


def _grows_tree_by_tree(parameters: Mapping[str, Any]) -> bool:
    # otherwise the number of trees decides when log-loss ends, or how many are kept
    has_one_phase = parameters.get("warm_start_trees") == 0
    return has_one_phase and parameters.get("early_stopping_rounds") is None


def _drops_no_trees(parameters: Mapping[str, Any]) -> bool:
    return parameters.get("booster", "gbtree") == "gbtree"


def _own_booster(ranker: Any) -> Any:
    return ranker.booster_


def _rival_booster(ranker: Any) -> Any:
    return ranker.estimator.get_booster()


_OF_LIGHTGBM = (
    "extra_trees", "is_unbalance", "max_bin", "max_delta_step", "path_smooth", "scale_pos_weight",
)  # fmt: skip
_XGBOOST = "pip install xgboost-cpu"
_IMBALANCED = "pip install imbalanced-learn"

LEARNERS: dict[str, Learner] = {
    "auto": _own("AutoRanker"),
    "boosted": _own("BoostedRanker", is_staged=_grows_tree_by_tree, booster=_own_booster),
    "boosted-one-hot": _own(
        "BoostedRanker", OneHotBoosted, is_staged=_grows_tree_by_tree, booster=_own_booster
    ),
    "rank-boost": _own("RankBoost", is_staged=lambda parameters: True, booster=_own_booster),
    "non-linear-boost": _own(
        "NonLinearBoost", is_staged=lambda parameters: True, booster=_own_booster
    ),
    "metaap": _own("MetaAP"),
    "treerank": _own("TreeRank"),
    "metaap-published": _own("MetaAP", _published_tree("MetaAP")),
    "treerank-published": _own("TreeRank", _published_tree("TreeRank")),
    "geometric-tree": _own("GeometricTree"),
    "rank-forest": _own("RankForest"),
    "metaap-forest": _own("RankForest", _meta_ap_forest, shortest={"tree": {}, "n_estimators": 1}),
    "rank-rls": _own("RankRLS"),
    "rank-svm": _own("RankSVM"),
    "cost-boost": _own("CostBoost"),
    "xgboost-logistic": Learner(
        _rival("xgboost", "XGBClassifier"),
        _XGBOOST,
        is_staged=_drops_no_trees,
        booster=_rival_booster,
        stopping=early_stopping.XGBOOST,
    ),
    "xgboost-rank-map": Learner(
        _rival("xgboost", "XGBRanker", queries=True, objective="rank:map"),
        _XGBOOST,
        booster=_rival_booster,
    ),
    "xgboost-rank-pairwise": Learner(
        _rival("xgboost", "XGBRanker", queries=True, objective="rank:pairwise"),
        _XGBOOST,
        booster=_rival_booster,
    ),
    "lightgbm": Learner(
        _rival("lightgbm", "LGBMClassifier", also=_OF_LIGHTGBM, verbose=-1),
        "pip install lightgbm",
        stopping=early_stopping.LIGHTGBM,
    ),
    "catboost": Learner(
        _rival(
            "catboost",
            "CatBoostClassifier",
            threads="thread_count",
            verbose=False,
            allow_writing_files=False,
        ),
        "pip install catboost",
        stopping=early_stopping.CATBOOST,
    ),
    "autogluon": Learner(AutoGluonRival, "make bench-autogluon"),
    "sklearn-hgb": Learner(
        _rival("sklearn.ensemble", "HistGradientBoostingClassifier", threads=None),
        stopping=early_stopping.HISTOGRAM_BOOSTING,
    ),
    "sklearn-logistic-regression": Learner(
        _without_gaps("sklearn.linear_model", "LogisticRegression", scaled=True)
    ),
    "sklearn-tree": Learner(_rival("sklearn.tree", "DecisionTreeClassifier", threads=None)),
    "sklearn-adaboost": Learner(_without_gaps("sklearn.ensemble", "AdaBoostClassifier")),
    "rpart-tree": Learner(RpartTree),
    "adaboost-rpart": Learner(_adaboost_of_rpart_trees),
    "sklearn-random-forest": Learner(_rival("sklearn.ensemble", "RandomForestClassifier")),
    "sklearn-extra-trees": Learner(_rival("sklearn.ensemble", "ExtraTreesClassifier")),
    "imblearn-balanced-forest": Learner(
        _rival("imblearn.ensemble", "BalancedRandomForestClassifier"), _IMBALANCED
    ),
    "imblearn-easy-ensemble": Learner(
        _rival("imblearn.ensemble", "EasyEnsembleClassifier"), _IMBALANCED
    ),
}
