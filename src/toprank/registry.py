"""The table of learners: where each one is, and how it is made, fitted and saved.

Everything that depends on the learner reads it from here: the public names of `toprank`, model
files, `toprank fit --learner`, `toprank compare` and the experiments. A new learner is one file
and one row. Nothing is imported before a learner is used, so `toprank --help` is quick.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_ONE_TREE: Mapping[str, Any] = MappingProxyType({"n_estimators": 1})
_ONE_NETWORK: Mapping[str, Any] = MappingProxyType({"n_learners": 1, "n_buckets": 1})


class LearnerRow(NamedTuple):
    """What the rest of the package needs to know about one learner."""

    home: str
    """Where its class is: "module:Class"."""
    command: str = ""
    """Its name on the command line; empty if no command offers it."""
    title: str = ""
    """What reports call it; by default the name of its class."""
    settings: Mapping[str, Any] = _NOTHING
    """Parameters that commands and comparisons give it in place of its defaults."""
    in_fit: bool = False
    """Whether `toprank fit --learner` offers it."""
    in_compare: bool = False
    """Whether `toprank compare` offers it."""
    in_stream: bool = False
    """Whether `toprank stream --learner` offers it."""
    compared_by: tuple[str, str] | None = None
    """A parameter, and the table ("module:TABLE") of its values: the learner is compared once with
    each of them, under the name of the value in place of `command`."""
    trees: Literal["one", "many"] | None = None
    """One tree that can be read, `n_estimators` of them, or none."""
    takes_progress: bool = False
    """Whether `fit` takes `progress` and calls it as it goes."""
    judges_itself: bool = False
    """Whether `fit` takes `eval_set` and `progress`, chooses among recipes by the former within
    `budget` and `time_limit`, learns from all rows at the end and reports in `account_`."""
    needs: str = ""
    """A package without which it can be constructed, but not fitted."""
    shortest: Mapping[str, Any] = _NOTHING
    """Parameters of a very short fit, to compile kernels and to try the learner."""
    is_saved: bool = True
    """Whether a model file may contain it."""

    @property
    def name(self) -> str:
        """The name of its class, by which model files and `toprank` know it."""
        return self.home.partition(":")[2]

    def load(self) -> Any:
        """Return the class."""
        return named(self.home)

    def default(self, parameter: str) -> Any:
        """Return the default of one of its parameters."""
        from inspect import signature

        return signature(self.load()).parameters[parameter].default


class OfferedLearner(NamedTuple):
    """A learner as a command offers it: its row, and the parameters that belong to the name."""

    row: LearnerRow
    settings: Mapping[str, Any]

    def make(self, **offered: Any) -> Any:
        """Return the learner, not fitted yet, with those of the offered parameters that it has.

        A deterministic learner has no `random_state`, a single-threaded one no `n_jobs`.
        """
        from inspect import signature

        learner = self.row.load()
        known = signature(learner).parameters
        own = {name: value for name, value in offered.items() if name in known}
        return learner(**{**self.settings, **own})


LEARNERS: tuple[LearnerRow, ...] = (
    LearnerRow(
        "toprank.rankers.auto.auto_ranker:AutoRanker",
        command="auto",
        in_fit=True,
        in_compare=True,
        trees="many",
        takes_progress=True,
        judges_itself=True,
        needs="xgboost",
        shortest=MappingProxyType({"n_estimators": 1, "time_limit": 1e-9}),
    ),
    LearnerRow(
        "toprank.rankers.boosted.boosted_ranker:BoostedRanker",
        in_compare=True,
        compared_by=("loss", "toprank.losses:LOSSES"),
        trees="many",
        takes_progress=True,
        needs="xgboost",
        shortest=_ONE_TREE,
    ),
    LearnerRow(
        "toprank.rankers.boosted.rank_boost:RankBoost",
        command="rank-boost",
        in_compare=True,
        trees="many",
        takes_progress=True,
        needs="xgboost",
        shortest=_ONE_TREE,
    ),
    LearnerRow(
        "toprank.rankers.boosted.non_linear_boost:NonLinearBoost",
        command="non-linear",
        # trees as BoostedRanker has them, so that only the latents make a difference
        settings=MappingProxyType({"max_depth": 4, "learning_rate": 0.05}),
        in_compare=True,
        trees="many",
        takes_progress=True,
        needs="xgboost",
        shortest=_ONE_TREE,
    ),
    LearnerRow(
        "toprank.rankers.trees.meta_ap:MetaAP",
        command="metaap",
        title="MetaAP, one tree",
        settings=MappingProxyType({"depth": "cv"}),
        in_fit=True,
        in_compare=True,
        trees="one",
    ),
    LearnerRow(
        "toprank.rankers.trees.tree_rank:TreeRank",
        command="treerank",
        title="TreeRank, one tree",
        settings=MappingProxyType({"depth": "cv"}),
        in_fit=True,
        in_compare=True,
        trees="one",
    ),
    LearnerRow(
        "toprank.rankers.trees.rank_forest:RankForest",
        command="rank-forest",
        title="forest of ranking trees",
        in_fit=True,
        in_compare=True,
        trees="many",
        shortest=_ONE_TREE,
    ),
    LearnerRow("toprank.rankers.trees.geometric_tree:GeometricTree", trees="one"),
    LearnerRow("toprank.rankers.pairwise.rank_rls:RankRLS"),
    LearnerRow("toprank.rankers.pairwise.rank_svm:RankSVM"),
    LearnerRow("toprank.decisions.balance_cascade:BalanceCascade"),
    LearnerRow(
        "toprank.decisions.cost_boost:CostBoost",
        trees="many",
        takes_progress=True,
        needs="xgboost",
        shortest=_ONE_TREE,
    ),
    LearnerRow("toprank.decisions.sampled_ranker:SampledRanker"),
    # around any classifier, also one of scikit-learn's, which no model file can contain
    LearnerRow("toprank.decisions.thresholded:ThresholdedRanker", is_saved=False),
    LearnerRow(
        "toprank.rankers.anomaly.anomaly_forest:AnomalyForest", trees="many", shortest=_ONE_TREE
    ),
    LearnerRow("toprank.rankers.anomaly.anomaly_ranker:AnomalyRanker"),
    LearnerRow("toprank.rankers.anomaly.anomaly_tree_rank:AnomalyTreeRank", trees="one"),
    LearnerRow(
        "toprank.rankers.stream.stream_ranker:StreamRanker",
        command="stream-ranker",
        in_stream=True,
        needs="xgboost",
        shortest=MappingProxyType({"n_estimators": 1, "least_refit": 10, "background": False}),
    ),
    *(
        LearnerRow(
            f"toprank.rankers.online.{home}",
            command=command,
            in_stream=True,
            shortest=_ONE_NETWORK,
        )
        for home, command in (
            ("online_non_linear:OnlineNonLinearBoost", "onlb"),
            ("linear:OnlineLinearBoost", "online-linear-boost"),
            ("boost_by_majority:OnlineBBM", "online-bbm"),
            ("ada_boost:AdaBoostOL", "ada-boost-ol"),
            ("ada_boost:AdaBoostOLW", "ada-boost-ol-w"),
            ("gradient_boost:OnlineGradientBoost", "online-gradient-boost"),
            ("gradient_boost:StreamBoost", "stream-boost"),
        )
    ),
)

ALSO_SAVED: tuple[str, ...] = (
    "toprank.rankers.online.event_stream:EventStream",
    "toprank.payments.features.history:History",
    "toprank.files.saved_pipeline:SavedPipeline",
)
"""What model files may contain in addition to learners."""


def row_of(learner: Any) -> LearnerRow:
    """Return the row of a learner or of its class.

    >>> from toprank import MetaAP
    >>> row_of(MetaAP()).command
    'metaap'
    """
    kind = learner if isinstance(learner, type) else type(learner)
    home = f"{kind.__module__}:{kind.__qualname__}"
    for row in LEARNERS:
        if row.home == home:
            return row
    raise LookupError(f"{kind.__name__} must have a row in toprank.registry; {home!r} has none.")


def row_named(name: str) -> LearnerRow:
    """Return the row of the class of this name.

    >>> row_named("RankForest").home
    'toprank.rankers.trees.rank_forest:RankForest'
    """
    return next(row for row in LEARNERS if row.name == name)


def fit_choices() -> dict[str, OfferedLearner]:
    """Return what `toprank fit --learner` offers, by name.

    >>> list(fit_choices())
    ['auto', 'metaap', 'treerank', 'rank-forest']
    """
    return {row.command: OfferedLearner(row, row.settings) for row in LEARNERS if row.in_fit}


def compare_choices() -> dict[str, OfferedLearner]:
    """Return what `toprank compare` offers, by name: among others, boosted trees on every loss.

    >>> [name for name in compare_choices() if name.startswith("ap")]
    ['ap-exp', 'ap-sigmoid', 'ap-lambda']
    """
    return dict(pair for row in LEARNERS if row.in_compare for pair in _compared(row))


def stream_choices() -> dict[str, OfferedLearner]:
    """Return what `toprank stream --learner` offers, by name, the default first.

    >>> list(stream_choices())[:2]
    ['stream-ranker', 'onlb']
    """
    return {row.command: OfferedLearner(row, row.settings) for row in LEARNERS if row.in_stream}


def saved_homes() -> dict[str, str]:
    """Return the home ("module:Class") of everything that a model file may contain, by name."""
    homes = [*(row.home for row in LEARNERS if row.is_saved), *ALSO_SAVED]
    return dict(sorted((home.partition(":")[2], home) for home in homes))


def named(home: str) -> Any:
    """Return what "module:name" names.

    >>> named("toprank.losses:LOSSES")["log"].__name__
    'Log'
    """
    module, _, name = home.partition(":")
    return getattr(import_module(module), name)


def _compared(row: LearnerRow) -> Iterator[tuple[str, OfferedLearner]]:
    if row.compared_by is None:
        yield row.command, OfferedLearner(row, row.settings)
        return
    parameter, table = row.compared_by
    for value in named(table):
        yield value, OfferedLearner(row, {**row.settings, parameter: value})
