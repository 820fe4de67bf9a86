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
        stored, scorer = stored_payments(model), Scorer(model)
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
            _compare_scores(result, scorer, rows, payments, features, scores)
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


def _compare_scores(
    result: Replayed,
    scorer: Scorer,
    rows: list[LoggedPayment],
    payments: list[Payment],
    features: NDArray[np.float64],
    scores: dict[int, payment_log.StoredScore],
) -> None:
    places = [place for place, row in enumerate(rows) if row.position in scores]
    if not places:
        return
    found = scorer.score([payments[place] for place in places], features[places])
    assert found.probability is not None
    for place, suspicion, probability in zip(
        places, found.suspicion.tolist(), found.probability.tolist(), strict=True
    ):
        then = scores[rows[place].position]
        if (suspicion, probability) != (then.suspicion, then.probability):
            result.differ(rows[place], f"suspicion was {then.suspicion}, is {suspicion}")
    result.n_scores += len(places)
