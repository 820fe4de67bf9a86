"""The base of all online boosters of small networks: their parameters and their model."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from toprank.data import checks
from toprank.data.tables.columns import shortened
from toprank.files.saved_learners import Saved
from toprank.rankers.base import seed_of
from toprank.rankers.online import online_kernel
from toprank.rankers.online.classes import Classes
from toprank.rankers.online.model import Model
from toprank.rankers.online.online_learner import OnlineLearner
from toprank.rankers.online.steps import Effects, Scores, Steps

_VOTING = (online_kernel.MAJORITY, online_kernel.ADAPTIVE, online_kernel.IMPORTANCE)


@dataclass(eq=False, repr=False)
class OnlineBooster(OnlineLearner):
    """A booster of small networks that learns from one row at a time.

    A booster supplies the kernel's rule. All of them keep running means and spreads of the
    columns, accept text and missing values, and use as much memory after a billion rows as
    after a thousand.

    It is a dataclass: common parameters are declared here once, a booster adds its own, and
    `__init__` stores all of them as scikit-learn requires.
    """

    n_learners: int = 20
    _: KW_ONLY
    width: int = 2
    learning_rate: float = 0.1
    class_weight: str | dict[Any, float] | None = None
    averaged: bool = False
    n_buckets: int = 4096
    positive_label: Any = None
    random_state: Any = 0

    def _rule(self) -> dict[str, Any]:
        """Return this booster's own fields of the kernel's `Shape`, parameters checked."""
        raise NotImplementedError

    def predict(self, X: Any) -> NDArray:
        """Return the most probable class; with rare positives, mostly the negative one.

        With `class_weight`, the class with the highest weighted probability: probabilities say
        what is likely, predictions what to decide if mistakes cost as much as the weights.
        """
        raw = self._raw(X)
        if self.class_weight is None:
            return self.classes_[np.argmax(self._probabilities(raw), axis=1)]
        by_place = np.column_stack([np.zeros(len(raw)), raw])
        return self.classes_[np.argmax(by_place[:, self._places_in_order()], axis=1)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # by value alone: tags are read before parameters are checked
        takes_many = self._most_classes is None and getattr(self, "loss", "log") == "log"
        tags.classifier_tags.multi_class = takes_many
        return tags

    # Learning

    def _begin(self, positive_label: Any = None) -> None:
        """Check the parameters and create an empty model; later calls do nothing."""
        if hasattr(self, "model_"):
            return
        named = self.positive_label if positive_label is None else positive_label
        shape = self._shape(seed_of(self.random_state))
        classes = Classes(named, self._classes_taken(shape))
        self.model_ = Model(shape, classes, self._weights_given())

    def _shape(self, seed: int) -> online_kernel.Shape:
        """Return the kernel's settings for two classes, all parameters checked."""
        _check_class_weight(self.class_weight)
        general = {
            "update": online_kernel.FULL,
            "loss": online_kernel.LOG,
            "n_latents": 0,
            "step": 1.0,
            "edge": 0.0,
            "is_wide": False,
        }
        shape = online_kernel.Shape(
            **(general | self._rule()),
            n_learners=checks.whole_number(self.n_learners, "n_learners", 1, 10_000),
            width=checks.whole_number(self.width, "width", 1, 10_000),
            n_outputs=1,
            n_buckets=checks.whole_number(self.n_buckets, "n_buckets", 1, 2**24),
            rate=checks.number_above(self.learning_rate, "learning_rate", 0, 1e6),
            seed=seed,
            is_averaged=bool(self.averaged),
            is_balanced=isinstance(self.class_weight, str),
            is_calibrated=False,
        )
        is_log_odds = shape.rule not in _VOTING and shape.loss == online_kernel.LOG
        return shape._replace(is_calibrated=not is_log_odds or self.class_weight is not None)

    def _weights_given(self) -> dict[Any, float] | None:
        return self.class_weight if isinstance(self.class_weight, dict) else None

    def _classes_taken(self, shape: online_kernel.Shape) -> int | None:
        return self._most_classes if shape.loss == online_kernel.LOG else 2

    def take_steps(self, steps: Steps, highest: float) -> tuple[Scores, Effects]:
        """Score rows and learn from others in turn, all of them in one call of the kernel.

        It is left for the rows whose log-odds are `highest` or more, to see their effects.
        """
        scores, effects = Scores.of(steps, self.model_.shape.n_outputs), {}
        after = 0
        while (after := self.model_.take_steps(steps, scores, after, highest)) >= 0:
            row = steps.scored.take(slice(after - 1, after))
            effects[after - 1] = self.effects_encoded(row)
        return scores, effects

    def _log_odds(self, raw: Any) -> Any:
        """Return the calibrated log-odds of one or several raw scores."""
        slope, start = self.model_.seen.calibration[:2].tolist()
        return slope * raw + start

    def _saved_parameters(self) -> dict[str, Any]:
        parameters = self.get_params(deep=False)
        if isinstance(self.class_weight, dict):
            # JSON keys are always text
            parameters["class_weight"] = [list(pair) for pair in self.class_weight.items()]
        return parameters

    @classmethod
    def _from_parameters(cls, parameters: dict[str, Any]) -> Self:
        """Return the learner that `_saved_parameters` described, before it has learned."""
        given = parameters["class_weight"]
        weight = dict(given) if isinstance(given, list) else given
        return cls(**{**parameters, "class_weight": weight})

    @classmethod
    def _from_saved(cls, parameters: dict[str, Any], saved: Saved) -> Self:
        """Return the learner that `_to_saved` described; raises ValueError if it does not fit."""
        learner, state = cls._from_parameters(parameters), saved.state
        shape = learner._shape(checks.whole_number(state["seed"], "seed", 0, 2**31 - 1))
        classes = Classes.restored(
            state["positive"], learner._classes_taken(shape), state["classes"]
        )
        weights = learner._weights_given()
        learner.model_ = Model.restored(shape, classes, weights, state, saved.arrays)
        learner.n_features_in_ = len(learner.model_.columns)
        if state["named_columns"] is True:
            learner._add_columns([])
        return learner


def _check_class_weight(class_weight: Any) -> None:
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return
    if not isinstance(class_weight, dict):
        raise ValueError(
            "class_weight must be None, 'balanced' or a dict of labels and weights; "
            f"got {shortened(class_weight)}."
        )
    for label, weight in class_weight.items():
        checks.number_from(weight, f"class_weight of {label!r}", 0)
