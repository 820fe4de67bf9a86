"""A ranker of streams that ranks as well as boosted trees fitted anew on all labels so far."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toprank.data import checks
from toprank.files.saved_learners import Saved
from toprank.rankers.base import seed_of
from toprank.rankers.boosted.boosted_ranker import BoostedRanker
from toprank.rankers.online.classes import Classes
from toprank.rankers.online.online_learner import OnlineLearner
from toprank.rankers.online.steps import Effects, Scores, Steps
from toprank.rankers.online.stream_columns import CheckedRows, EncodedEvent
from toprank.rankers.stream.memory import MEMORIES, Memory
from toprank.rankers.stream.refit_counts import RefitPlan
from toprank.rankers.stream.reservoir import Reservoir
from toprank.rankers.stream.stream_model import StreamModel

_MOST_ROWS = 20_000_000
_MOST_BUCKETS = 2**15  # the reservoir stores them in two bytes
_LAG = 0.1  # of the labels since the refit before


@dataclass(eq=False, repr=False)
class StreamRanker(OnlineLearner):
    """Boosted trees for streams: refitted on a sample of the past, corrected between refits.

    It keeps labelled rows in bounded memory: all positives while there is room, and a sample of
    the negatives with weights, so that probabilities are those of the whole stream. Boosted trees
    are refitted on them as labels arrive, and between two refits every label corrects the leaves
    it falls into. A raw score is the log-odds of being positive.

    Refits are counted in labels, not in time: the same rows and labels give the same scores,
    however many come at a time, with or without a thread, and after the process was killed.

    Parameters
    ----------
    loss : str
        What the trees minimise, as in `BoostedRanker`.
    n_estimators, max_depth, learning_rate, binning, max_bins, loss_options, engine_options, n_jobs
        Those of `BoostedRanker`.
    most_positives, most_negatives : int
        Most labelled rows of either class in memory.
    memory : "all", "window", "decay" or "by-age"
        How much rows count: all alike; those of the last `span` labels; half as much after every
        `span` labels; or, beyond `span` labels, in inverse proportion to their age.
    span : int
        The span of the memory, in labelled rows; "all" does not use it.
    keeps_positives : bool
        Whether old positives count as much as new ones among the positives, so that patterns of
        fraud are not forgotten, whatever the memory says of negatives.
    refit_share : float
        New positives that a refit waits for, as a share of those in memory, each as much as it
        counts.
    least_refit, most_refit : int
        New labels that a refit waits for at least and at most.
    corrects_leaves : bool
        Whether labels correct the trees between two refits.
    background : bool
        Whether trees are refitted in a thread. Scores are the same either way.
    n_buckets : int
        Hash buckets of the texts of a column.
    positive_label : label or None
        The class to rank first; None takes the one whose name says so (1, True, "fraud").
    random_state : int, RandomState or None
        Random seed; None uses another one each time.

    Examples
    --------
    >>> ranker = StreamRanker(n_estimators=20)
    >>> for amount, is_fraud in [(9.0, False), (12.0, False), (980.0, True)] * 60:
    ...     ranker.learn_one({"amount": amount, "country": "FR"}, is_fraud)
    >>> ranker.score_one({"amount": 10.0}) < 0 < ranker.score_one({"amount": 990.0})
    True
    """

    loss: str = "log"
    _: KW_ONLY
    n_estimators: int = 100
    max_depth: int = 4
    learning_rate: float = 0.1
    binning: str = "balanced"
    max_bins: int = 256
    loss_options: dict[str, Any] | None = None
    engine_options: dict[str, Any] | None = None
    most_positives: int = 10_000
    most_negatives: int = 10_000
    memory: str = "by-age"
    span: int = 50_000
    keeps_positives: bool = True
    refit_share: float = 0.1
    least_refit: int = 50
    most_refit: int = 50_000
    corrects_leaves: bool = True
    background: bool = True
    n_buckets: int = 4096
    positive_label: Any = None
    random_state: Any = 0
    n_jobs: int | None = 1

    def refit(self) -> Self:
        """Refit on all rows in memory at once; the trees are ready when this returns."""
        self._begin()
        self.model_.refit_now()
        return self

    def wait_for_refit(self) -> None:
        """Wait for a refit if the next label needs its trees; nothing changes.

        For a caller that holds a lock while it learns: if it waits before that, others can score
        meanwhile.
        """
        if self._has_learned():
            self.model_.wait_for_refit()

    def effects_encoded(self, row: EncodedEvent) -> dict[str, float]:
        """Return the effects of the columns of a row that `encode_one` gave.

        They are the columns' exact shares of the raw score, and add up to its distance from the
        mean.
        """
        return dict(zip(self.model_.columns.names, self.model_.shares(row).tolist(), strict=True))

    def take_steps(self, steps: Steps, highest: float) -> tuple[Scores, Effects]:
        """Score rows and learn from others in turn, all those between two refits at once."""
        shares: dict[int, NDArray[np.float64]] = {}
        scores = self.model_.score_and_learn(
            steps.scored,
            steps.places,
            np.ones(steps.places.size),
            steps.n_known,
            steps.learned,
            highest,
            shares,
        )
        names = self.model_.columns.names
        return scores, {
            row: dict(zip(names, each.tolist(), strict=True)) for row, each in shares.items()
        }

    def _learn_all(
        self, X: Any, y: ArrayLike, classes: ArrayLike, sample_weight: ArrayLike | None
    ) -> None:
        """Put all rows into memory, and refit; twice where there is no room for all of them."""
        rows, places, row_weights = self._prepared(X, y, classes, sample_weight)
        self._fill(rows, places, row_weights)
        self.refit()
        if self.model_.reservoir.is_full:  # again, with the rows that these trees find suspicious
            self.model_.forget_rows()
            self._fill(rows, places, row_weights)
            self.refit()

    def _fill(
        self, rows: CheckedRows, places: NDArray[np.int64], row_weights: NDArray[np.float64]
    ) -> None:
        for block in rows.blocks():
            self.model_.fill(rows.encode(block), places[block], row_weights[block])

    def _begin(self, positive_label: Any = None) -> None:
        """Check the parameters and create an empty model; later calls do nothing."""
        if hasattr(self, "model_"):
            return
        named = self.positive_label if positive_label is None else positive_label
        self.model_ = self._model(Classes(named, most=2), seed_of(self.random_state))

    def _model(self, classes: Classes, seed: int) -> StreamModel:
        """Return an empty model, all parameters checked."""
        span = checks.whole_number(self.span, "span", 1, 2**53)
        memory = Memory(checks.one_of(self.memory, "memory", MEMORIES), float(span))
        reservoir = Reservoir(
            checks.whole_number(self.most_positives, "most_positives", 10, _MOST_ROWS),
            checks.whole_number(self.most_negatives, "most_negatives", 10, _MOST_ROWS),
            memory,
            bool(self.keeps_positives),
            seed,
        )
        least = checks.whole_number(self.least_refit, "least_refit", 1, 2**53)
        plan = RefitPlan(
            self._ranker(seed),
            share=checks.number_above(self.refit_share, "refit_share", 0, 1e6),
            least=least,
            lag=_LAG,
            most=checks.whole_number(self.most_refit, "most_refit", least, 2**53),
            corrects_leaves=bool(self.corrects_leaves),
            in_background=bool(self.background),
        )
        n_buckets = checks.whole_number(self.n_buckets, "n_buckets", 1, _MOST_BUCKETS)
        return StreamModel(plan, reservoir, classes, n_buckets, seed)

    def _ranker(self, seed: int) -> BoostedRanker:
        """Return the ranker whose settings and loss every refit has."""
        ranker = BoostedRanker(
            self.loss,
            n_estimators=self.n_estimators,
            max_depth=self.max_depth,
            learning_rate=self.learning_rate,
            binning=self.binning,
            max_bins=self.max_bins,
            loss_options=self.loss_options,
            engine_options=self.engine_options,
            random_state=seed,
            n_jobs=self.n_jobs,
        )
        ranker._check_parameters()
        ranker._plan(None)  # checks the loss
        return ranker

    def _log_odds(self, raw: Any) -> Any:
        """Return the raw scores: they are log-odds."""
        return raw

    def _to_saved(self) -> Saved:
        """Return what a model file keeps of a learner; it contains rows of the data."""
        return super()._to_saved()._replace(is_private=True)

    @classmethod
    def _from_saved(cls, parameters: dict[str, Any], saved: Saved) -> Self:
        """Return the learner that `_to_saved` described; raises ValueError if it does not fit."""
        learner, state = cls._from_parameters(parameters), saved.state
        classes = Classes.restored(state["positive"], 2, state["classes"])
        seed = checks.whole_number(state["seed"], "seed", 0, 2**31 - 1)
        learner.model_ = learner._model(classes, seed)
        learner.model_.restore(state, saved.arrays)
        learner.n_features_in_ = len(learner.model_.columns)
        if state["named_columns"] is True:
            learner._add_columns([])
        return learner
