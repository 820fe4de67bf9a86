"""The log run again, with the versions of then: features, decisions and scores must be equal."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from toprank.live.desk import Desk, stored_payments
from toprank.live.engine.live_history import LiveHistory
from toprank.live.engine.live_rules import LiveRules
from toprank.live.engine.payment_scores import Scorer
from toprank.live.messages import Payment
from toprank.live.store import payment_log
from toprank.live.store.payment_log import LoggedPayment, json_text
from toprank.payments.model_files import read_version
from toprank.payments.payment_model import PaymentModel

MOST_DIFFERENCES = 20
"""Differences that are described; more are only counted."""


@dataclass
class Replayed:
    """How many payments were run again, and where the results differ from those of then."""

    n_before: int = 0  # run to reach the first that is compared
    n_payments: int = 0
    n_scores: int = 0
    n_different: int = 0
    differences: list[str] = field(default_factory=list)

    @property
    def sentence(self) -> str:
        """The result in words."""
        if not self.n_payments:
            return "there are no payments to compare."
        counts = f"{self.n_payments:,} payments and {self.n_scores:,} scores were run again"
        if self.n_different:
            return f"{counts}; {self.n_different:,} results differ."
        return f"{counts}: features, decisions and scores are equal."

    def differ(self, row: LoggedPayment, what: str) -> None:
        """Note a difference."""
        self.n_different += 1
        if len(self.differences) < MOST_DIFFERENCES:
            self.differences.append(f"payment {row.id} (position {row.position}): {what}")


def replay(
    desk: Desk, since: int | None = None, on_progress: Callable[[int], None] | None = None
) -> Replayed:
    """Run the log again and compare it, from the first payment received at or after `since`.

    `since` is in microseconds. The history begins at the last snapshot before that payment; what
    is older than the first snapshot cannot be replayed.
    """
    result = Replayed()
    with desk.database.reading() as connection:
        first = payment_log.first_received(connection, since)
        if first is None:
            return result
        # what came before the oldest snapshot cannot be run again
        first = max(first, desk.snapshots.all()[0].position + 1)
        snapshot = desk.snapshots.before(first - 1)[-1]
        model = desk.load_model(snapshot)
        stored, scorers = stored_payments(model), _Scorers(desk, model)
        live = LiveHistory(model, snapshot)
        rules: dict[int, LiveRules] = {}
        for rows, features in live.catch_up(connection, stored):
            n_before = sum(row.position < first for row in rows)
            result.n_before += n_before
            rows, features = rows[n_before:], features[n_before:]
            for number in {row.rule_set for row in rows} - set(rules):
                rules[number] = LiveRules(connection, model, desk.settings, number)
            payments = [stored.read(row) for row in rows]
            _compare_features(result, live.names, rows, features)
            _compare_decisions(result, rules, rows, payments, features)
            scores = payment_log.scores_between(connection, rows)
            _compare_scores(result, scorers, rows, payments, features, scores)
            result.n_payments += len(rows)
            if on_progress is not None:
                on_progress(len(rows) + n_before)
    return result


def _compare_features(
    result: Replayed, names: list[str], rows: list[LoggedPayment], features: NDArray[np.float64]
) -> None:
    for row, again in zip(rows, features, strict=True):
        then = row.feature_values
        if not np.array_equal(then, again, equal_nan=True):
            place = int(np.flatnonzero(~((then == again) | (np.isnan(then) & np.isnan(again))))[0])
            result.differ(row, f"{names[place]} was {then[place]}, is {again[place]}")


def _compare_decisions(
    result: Replayed,
    rules: dict[int, LiveRules],
    rows: list[LoggedPayment],
    payments: list[Payment],
    features: NDArray[np.float64],
) -> None:
    for number in sorted({row.rule_set for row in rows}):
        places = [place for place, row in enumerate(rows) if row.rule_set == number]
        times = [rows[place].received_at for place in places]
        some = [payments[place] for place in places]
        judged = rules[number].judge_at(some, features[places], times)
        for place, judgement in zip(places, judged, strict=True):
            row = rows[place]
            decision = "block" if judgement.blocking else "accept"
            if (decision, json_text(judgement.matched)) != (row.decision, row.matched):
                then, again = f"{row.decision} {row.matched}", f"{decision} {judgement.matched}"
                result.differ(row, f"decision was {then}, is {again}")


class _Scorers(dict[str, Scorer]):
    """What scores by each model of a desk, by the name of its file; loaded when it is needed."""

    def __init__(self, desk: Desk, model: PaymentModel) -> None:
        super().__init__()
        self._desk, self._model = desk, model

    def __missing__(self, name: str) -> Scorer:
        self[name] = Scorer(read_version(self._model, self._desk.path_of(name)))
        return self[name]


def _compare_scores(
    result: Replayed,
    scorers: dict[str, Scorer],
    rows: list[LoggedPayment],
    payments: list[Payment],
    features: NDArray[np.float64],
    scores: dict[int, payment_log.StoredScore],
) -> None:
    """Compare scores with those of the model that each names."""
    by_model: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        if row.position in scores:
            by_model.setdefault(scores[row.position].model, []).append(place)
    for name, places in by_model.items():
        found = scorers[name].score([payments[place] for place in places], features[places])
        assert found.probability is not None
        for place, suspicion, probability in zip(
            places, found.suspicion.tolist(), found.probability.tolist(), strict=True
        ):
            then = scores[rows[place].position]
            if (suspicion, probability) != (then.suspicion, then.probability):
                result.differ(rows[place], f"suspicion was {then.suspicion}, is {suspicion}")
        result.n_scores += len(places)
