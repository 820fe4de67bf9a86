"""Days replayed at a served desk: payments come in, its queue is worked on, it may learn at night.

The desk is a folder and a server of its own, asked over HTTP as everybody would: payments and
claims by the API, verdicts and promotions by the pages. Its database is only looked at, to know
when something is done and what a page is about.
"""

import re
import time as clock
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from toprank.live.api_sender import Sender
from toprank.live.checks import filled_list
from toprank.live.desk import Desk
from toprank.live.desk_clock import Moment, wall_time
from toprank.live.learning.model_comparison import ModelComparison
from toprank.live.learning.nightly_retrain import ACTOR
from toprank.live.learning.retraining import OnProgress, retrain, spare_cores
from toprank.live.monitor import log_digest, verdict_guard
from toprank.live.served_days.desk_outcome import DeskOutcome, outcome_of
from toprank.live.served_days.desk_process import DeskProcess
from toprank.live.served_days.desk_team import CheckedCard, DeskTeam
from toprank.live.served_days.replayed_desk import DeskPlan, PaymentBodies, make_desk
from toprank.live.store import check_table, random_check_table, verdict_outcomes
from toprank.live.store.digest_tables import DAY
from toprank.live.store.model_table import StoredModel
from toprank.simulator.feedback.investigators import DayChecks
from toprank.simulator.feedback.replayed_payments import NEVER, ReplayedPayments

_BATCH = 1_000  # payments or labels per request
_PATIENCE = 120.0  # seconds for the server to do what is due
_BETWEEN = 0.05  # seconds between two looks
_LONGEST_LIST = 3.0  # seconds in which a desk fills its list and draws its random checks
_UNSCORED = re.compile(r"^toprank_unscored_payments (\S+)$", re.M)
_MODEL = re.compile(r'^toprank_engine_info\{[^}]*model="([^"]*)"', re.M)


def replay_desk(
    payments: ReplayedPayments,
    plan: DeskPlan,
    folder: Path,
    *,
    is_learning: bool,
    progress: OnProgress,
) -> DeskOutcome:
    """Return what a desk finds in the days from `plan.first` on; its folder is left behind.

    If `is_learning`, it is retrained every night, and the approver lets the new model rank unless
    it is significantly worse on the days that both can be judged on. People whose verdicts raise
    an alarm check no more, and models learn without them.
    """
    days = _DeskDays(payments, plan, folder)
    with Desk.open(folder) as desk, DeskProcess(folder) as process:
        days.open(desk, process.address)
        n_days = payments.n_days - plan.first
        for day in range(plan.first, payments.n_days):
            days.pay(day)
            days.check(day)
            days.claim(day)
            days.watch(day)
            if is_learning and day + 1 < payments.n_days:
                days.learn()
            progress(f"{folder.name}: days", day + 1 - plan.first, n_days)
    return days.outcome()


class _DeskDays:
    """A desk under way."""

    def __init__(self, payments: ReplayedPayments, plan: DeskPlan, folder: Path) -> None:
        self._payments, self._plan, self._folder = payments, plan, folder
        self._bodies = PaymentBodies(payments)
        # a card is blocked after the day of its first claim, and after that on which it is found
        self._blocked_on = np.full(payments.n_cards, NEVER)
        np.minimum.at(self._blocked_on, payments.card, payments.claim_day)
        self._blocked_on[self._blocked_on >= plan.first] = NEVER
        self._has_verdict = np.zeros(payments.day.size, dtype=bool)
        self._days: list[DayChecks] = []
        self._seconds: list[float] = [0.0]
        self._accused: dict[str, int] = {}
        warm_up = self._present(payments.rows_of(0, plan.first))
        self._key = make_desk(folder, payments, warm_up, plan)

    def open(self, desk: Desk, address: str) -> None:
        """Begin: people log in, and recent claims that the model has not learned from are sent."""
        self._desk, self._sender = desk, Sender(address, self._key)
        self._team = DeskTeam(
            desk, address, self._is_fraud, self._plan.n_people, self._plan.n_hostile
        )
        payments, plan = self._payments, self._plan
        rows = self._present(payments.rows_of(0, plan.first))
        is_recent = payments.time[rows] + plan.silence >= payments.begin_of(plan.first)
        for day in range(plan.first):
            self._send_claims(rows[is_recent & (payments.claim_day[rows] == day)], day)

    def pay(self, day: int) -> None:
        """Send the payments of a day, and wait until all of them are scored."""
        rows = self._present(self._payments.rows_of(day))
        for start in range(0, rows.size, _BATCH):
            some = self._bodies.some(rows[start : start + _BATCH])
            _accepted(self._sender.ask("POST", "/v1/payments", {"payments": some}))
        self._wait(lambda: self._metric(_UNSCORED) == "0.0", "scores")
        self._await_list()

    def check(self, day: int) -> None:
        """Let the team work on as many cards as there is time for, and wait for the labels."""
        checked = self._team.check(self._plan.budget)
        self._wait(self._is_settled, "labels of verdicts")
        self._days.append(self._counted(day, checked))

    def claim(self, day: int) -> None:
        """Send the claims of a day: frauds that happened and that no check has found."""
        payments = self._payments
        claimed = np.flatnonzero(payments.claim_day == day)
        claimed = self._present(claimed[~self._has_verdict[claimed]])
        self._send_claims(claimed, day)
        self._block(payments.card[claimed], day)

    def watch(self, day: int) -> None:
        """Look once a day at what a server looks at every few minutes: odd verdicts of people."""
        settings = self._desk.settings
        log_digest.catch_up(self._desk.database, settings.alert_from)
        with self._desk.database.reading() as connection:
            first = self._desk.now(connection) // DAY - verdict_guard.N_DAYS
            verdicts = verdict_outcomes.verdicts_since(connection, first)
        for each in verdict_guard.of_verdicts(verdicts):
            who = verdict_guard.accused_in(each.name)
            if each.is_beyond and who is not None and who not in self._accused:
                self._accused[who] = day - self._plan.first
                self._team.dismiss(who)

    def learn(self) -> None:
        """Train a challenger, and let it rank if nothing speaks against it."""
        begin = clock.perf_counter()
        minutes = self._desk.settings.retrain_minutes
        people = set(self._accused)
        retrain(self._desk, ACTOR, minutes=minutes, n_jobs=spare_cores(), without=people)
        self._seconds.append(clock.perf_counter() - begin)
        promoted = self._team.promote(_is_no_worse)
        if promoted is not None:
            self._wait(lambda: self._metric(_MODEL) == promoted.file, "the new model")

    def outcome(self) -> DeskOutcome:
        """Return what the days have come to; the server has been stopped."""
        n_nights = len(self._days)
        seconds = np.zeros(n_nights)
        seconds[: len(self._seconds)] = self._seconds[:n_nights]
        return outcome_of(
            self._folder, self._payments, self._plan, self._days, seconds,
            self._present(self._payments.rows_of(self._plan.first, self._payments.n_days)),
            self._accused,
        )  # fmt: skip

    def _present(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows that happen: those of cards that are not blocked."""
        return rows[self._payments.day[rows] <= self._blocked_on[self._payments.card[rows]]]

    def _block(self, cards: NDArray[np.int64], day: int) -> None:
        """Block cards after a day, unless they are already."""
        self._blocked_on[cards] = np.minimum(self._blocked_on[cards], day)

    def _counted(self, day: int, checked: list[CheckedCard]) -> DayChecks:
        """Return what a day's checks have found, by the truth, and block cards called fraud."""
        payments = self._payments
        rows = [np.array([self._bodies.row_of(each) for each in one.ids]) for one in checked]
        for some, one in zip(rows, checked, strict=True):
            if one.is_fraud:  # otherwise the holder of the card will claim what was overlooked
                self._has_verdict[some] = True
                self._block(payments.card[some], day)
        is_found = [
            one.is_fraud and bool(payments.is_positive[some].any())
            for some, one in zip(rows, checked, strict=True)
        ]
        found = [some for some, each in zip(rows, is_found, strict=True) if each]
        seen = np.concatenate([*found, np.empty(0, dtype=np.int64)])
        on_day = self._present(payments.rows_of(day))
        return DayChecks(
            checked=len(checked),
            found=len(found),
            positive=np.unique(payments.card[on_day[payments.is_positive[on_day]]]).size,
            money=float(payments.amount[seen].sum()),
            saved=payments.money_saved(np.unique(payments.card[seen]), day, claims_block=True),
        )

    def _send_claims(self, rows: NDArray[np.int64], day: int) -> None:
        # the desk's clock is that of its newest payment, of a card that is not blocked
        last = self._present(self._payments.rows_of(0, day + 1))[-1]
        known_at = str(np.datetime_as_string(self._payments.time[last], unit="us"))
        labels = [
            {"id": self._bodies.id_of(row), "is_fraud": True, "known_at": known_at}
            for row in rows.tolist()
        ]
        for start in range(0, len(labels), _BATCH):
            some = {"labels": labels[start : start + _BATCH]}
            answer = _accepted(self._sender.ask("POST", "/v1/labels", some))
            if answer["unknown"]:
                raise ValueError(f"the desk must know every payment; got {answer['unknown'][0]}.")

    def _is_fraud(self, payment_id: str) -> bool:
        return bool(self._payments.is_positive[self._bodies.row_of(payment_id)])

    def _is_settled(self) -> bool:
        with self._desk.database.reading() as connection:
            return not check_table.in_state(connection, "pending")

    def _await_list(self) -> None:
        """Wait until the desk has filled its list and drawn the random checks of the day.

        A desk of less than a day's log draws none. A list that was filled within the last ten
        minutes of the day is left as it is, so that there may be nothing to wait for.
        """
        settings, is_drawing = self._desk.settings, bool(self._plan.random_share and self._days)

        def is_done() -> bool:
            with self._desk.database.reading() as connection:
                now = Moment(self._desk.now(connection), wall_time())
                is_drawn = random_check_table.last_day(connection) == now.day
                is_full = filled_list.planned(connection, now, settings) is None
                return is_full and (is_drawn or not is_drawing)

        give_up = clock.monotonic() + _LONGEST_LIST
        while not is_done() and clock.monotonic() < give_up:
            clock.sleep(_BETWEEN)

    def _metric(self, pattern: re.Pattern[str]) -> str:
        found = pattern.search(self._sender.text("GET", "/metrics"))
        return "" if found is None else found[1]

    def _wait(self, is_done: Callable[[], bool], what: str) -> None:
        give_up = clock.monotonic() + _PATIENCE
        while not is_done():
            if clock.monotonic() > give_up:
                raise TimeoutError(f"{what} must be there within {_PATIENCE:g} s; they are not.")
            clock.sleep(_BETWEEN)


def _is_no_worse(model: StoredModel) -> bool:
    """Return whether the comparison of a challenger, if there is one, speaks against it."""
    figures = model.figures or {}
    if "cards" not in figures:
        return True
    return ModelComparison.from_json(figures).cards.high >= 0


def _accepted(answer: dict) -> dict:
    """Return an answer that is no error; ValueError with what it says otherwise."""
    if "error" in answer:
        error = answer["error"]
        first = next(iter(error.get("errors", [])), error)
        raise ValueError(f"the desk must accept what is sent; it said: {first['message']}")
    return answer
