"""A model that learns from each label once, when it becomes known, and scores in shadow.

It is stored with the place in the log up to which it has learned. So after a restart it goes on
from there, and becomes what it would have been without: the order of lessons is that of the log.
"""

import json
import logging
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from toprank import files
from toprank.live.engine.shadow_model import LONGEST_LAG
from toprank.live.messages import Payment, PaymentField
from toprank.live.store.lesson_reads import Lesson, LessonPlace
from toprank.live.store.shadow_score_table import ONLINE, ShadowScore
from toprank.rankers.online import OnlineNonLinearBoost
from toprank.rankers.online.online_learner import OnlineLearner
from toprank.rankers.stream.stream_ranker import StreamRanker

FILE = "online.toprank"
LEAST_FRAUDS = 10
"""Frauds that it has learned from before its first score."""

LEARNERS: dict[str, Callable[[], OnlineLearner]] = {
    "onlb": lambda: OnlineNonLinearBoost(random_state=0),  # as `toprank feedback` has it
    "stream-ranker": lambda: StreamRanker(random_state=0),
}
"""The learners by their names in the settings, as they are before the first lesson."""

_log = logging.getLogger("toprank.live")

_PLACE = "lessons"  # where the file has the place and the counts


class OnlineLessons(NamedTuple):
    """How many payments an online model has learned from."""

    n_genuine: int
    n_frauds: int


def saved_lessons(path: Path) -> OnlineLessons | None:
    """Return what the online model in a file has learned from; None without one."""
    try:
        known = files.read_manifest(path)["facts"][_PLACE]
        return OnlineLessons(known["n_genuine"], known["n_frauds"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


class OnlineModel:
    """The learner, and where in the log it is.

    Parameters
    ----------
    fields, features
        The fields of payments, and the names of the features in the order of the log.
    place
        Up to where it has learned.
    learner
        The name of what learns, one of `LEARNERS`.

    Attributes
    ----------
    n_genuine, n_frauds
        What it has learned from.
    n_skipped
        Payments that it did not score.
    """

    def __init__(
        self,
        fields: Sequence[PaymentField],
        features: Sequence[str],
        place: LessonPlace,
        learner: str = "onlb",
    ) -> None:
        self._learner = LEARNERS[learner]()
        self._names, self._features = _learned_fields(fields), list(features)
        self.place, self.n_genuine, self.n_frauds, self.n_skipped = place, 0, 0, 0
        self._turn = threading.Lock()  # it is not scored with while it learns

    @classmethod
    def read(
        cls,
        path: Path,
        fields: Sequence[PaymentField],
        features: Sequence[str],
        learner: str = "onlb",
    ) -> Self | None:
        """Return the model as it was saved; None if it was not, or cannot be read."""
        try:
            saved = files.load(path)
            known = files.read_manifest(path)["facts"][_PLACE]
            found = cls(fields, features, LessonPlace(*known["place"]), learner)
            found.n_genuine, found.n_frauds = known["n_genuine"], known["n_frauds"]
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            _log.error("the online model cannot be read, and learns anew: %s", error)
            return None
        if type(saved) is not type(found._learner):
            _log.warning("the online model is of another learner now, and learns anew.")
            return None
        found._learner = saved
        return found

    def save(self, path: Path) -> None:
        """Write the model and its place, in one step; not before it has learned anything."""
        if self.n_genuine + self.n_frauds == 0:
            return
        counts = {"n_genuine": self.n_genuine, "n_frauds": self.n_frauds}
        files.save(self._learner, path, {_PLACE: {"place": list(self.place), **counts}})
        path.chmod(0o600)

    def learn(self, lesson: Lesson) -> None:
        """Learn from one lesson, and go on to the place after it."""
        row = lesson.payment
        if row is not None:
            self.learn_row(self._row(json.loads(row.body), row.feature_values), lesson.is_fraud)
        self.place = lesson.place

    def learn_row(self, row: Mapping[str, Any], is_fraud: bool) -> None:
        """Learn from a payment's values by name, those that are missing left out."""
        try:
            self._learner.wait_for_refit()  # before its turn: payments are scored meanwhile
            with self._turn:
                self._learner.learn_one(row, is_fraud)
        except (TypeError, ValueError) as error:
            _log.error("the online model cannot learn from a payment: %s", error)
            return
        self.n_frauds += is_fraud
        self.n_genuine += not is_fraud

    def values_of(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return those of a row's values that it learns from."""
        names = [*self._names, *self._features]
        return {name: row[name] for name in names if _is_known(row.get(name))}

    def warm_up(self) -> None:
        """Score an empty row: what is slow once is slow now, and in no turn of the engine."""
        with self._turn:
            self._learner.probability_one({})

    def scores(
        self,
        positions: Sequence[int],
        payments: Sequence[Payment],
        features: NDArray[np.float64],
        lag: float,
    ) -> list[ShadowScore]:
        """Return what it says of payments; nothing if they have waited for too long."""
        if lag > LONGEST_LAG or self.n_frauds < LEAST_FRAUDS or not self.n_genuine:
            self.n_skipped += len(positions)
            return []
        found = []
        try:
            with self._turn:
                for position, payment, values in zip(positions, payments, features, strict=True):
                    suspicion = self._learner.score_one(self._row(payment.body, values))
                    chance = self._learner.probability_at(suspicion)
                    found.append(ShadowScore(position, ONLINE, suspicion, chance))
        except Exception:
            _log.exception("the online model could not score payments.")
            self.n_skipped += len(positions)
            return []
        return found

    def _row(self, body: Mapping[str, Any], features: NDArray[np.float64]) -> dict[str, Any]:
        """Return a payment's fields and features by name, those that are missing left out."""
        own = {name: body[name] for name in self._names if _is_known(body.get(name))}
        values = zip(self._features, features.tolist(), strict=True)
        return own | {name: value for name, value in values if math.isfinite(value)}


def _learned_fields(fields: Sequence[PaymentField]) -> list[str]:
    """Return the fields to learn from: numbers, texts and flags that name nobody."""
    return [each.name for each in fields if each.kind != "time" and each.role in (None, "amount")]


def _is_known(value: Any) -> bool:
    return value is not None and not (isinstance(value, float) and not math.isfinite(value))
