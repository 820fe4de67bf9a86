"""Days of checking replayed: what each way of learning would have found.

The first days are the warm-up: nobody is checked, holders claim, silence does the rest. Then, on
each of the last days, every way scores the payments of the cards that are still there, the most
suspicious cards are checked, and in the night the way may learn. A way lives in a world of its
own: which cards it checks decides which labels it gets, which cards have left, and how many frauds
its features know of.
"""

import time as clock
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toprank.data import checks
from toprank.data.tables.spans import in_words, span_of
from toprank.metrics import checks_by_day
from toprank.payments.ledger import Known
from toprank.rankers.progress import Progress, silent
from toprank.simulator.feedback.desk import DayChecks, Desk
from toprank.simulator.feedback.habits import KnownFrauds, habits_of
from toprank.simulator.feedback.night import NightlyModels
from toprank.simulator.feedback.replayed_payments import ReplayedPayments, read_payments
from toprank.simulator.feedback.ways import WAYS, Way, checked_ways
from toprank.simulator.simulated_columns import CLAIM_DAYS


@dataclass(frozen=True, eq=False)
class WayDays:
    """What one way came to: arrays with an entry per day, in the order of `Replay.dates`.

    `checked` and `found` count cards, `positive` those that were there to be found; `money` is the
    amount of the day's frauds of the cards found. `seconds` is how long it learned in the night
    before. `suspicion` has an entry per payment of these days in order of time, NaN for those of
    cards that had left. `known` holds the labels of the others when the last day is over; its ids
    count the payments in order of time, from the first of the warm-up.
    """

    checked: NDArray[np.int64]
    found: NDArray[np.int64]
    positive: NDArray[np.int64]
    money: NDArray[np.float64]
    seconds: NDArray[np.float64]
    suspicion: NDArray[np.float64]
    known: Known

    @property
    def maturity(self) -> float:
        """The share of the payments whose label is known when the last day is over."""
        return self.known.maturity()


@dataclass(frozen=True, eq=False)
class Replay:
    """What every way came to on the same days, with `budget` checked cards on each.

    `ceiling` is the card precision by day of an order that knows the truth. It finds each card on
    its first day, so a way that has missed some may be above it later.
    """

    budget: int
    dates: NDArray[np.datetime64]
    ways: dict[str, WayDays]
    ceiling: NDArray[np.float64]
    n_payments: int
    n_positive: int
    n_warm_up_days: int
    silence: np.timedelta64
    window: np.timedelta64

    def card_precision(self, way: str) -> NDArray[np.float64]:
        """Return a way's card precision by day: cards found divided by checks."""
        return self.ways[way].found / self.budget


def replay(
    payments: Any,
    learner: Any,
    *,
    time: str,
    card: str,
    terminal: str,
    amount: str,
    label: str,
    budget: int = 100,
    days: int = 60,
    ways: Iterable[str] = tuple(WAYS),
    claimed: str | None = None,
    claim_days: float = CLAIM_DAYS,
    silence: Any = "30d",
    window: Any = "60d",
    progress: Progress | None = None,
    random_state: int = 0,
) -> Replay:
    """Return what each way of learning finds on the last `days` days of payments.

    Parameters
    ----------
    payments
        A pyarrow table; `time`, `card`, `terminal`, `amount` and `label` name its columns. The
        label is the truth: a way learns of it by a verdict, a claim or silence only.
    learner
        The ranker that all ways but "online" train, such as `BoostedRanker(n_estimators=50)`. It
        is copied for each training and has `fit`, `suspicion` and `probability`.
    budget
        Cards to check each day. The verdicts on their payments of the day are known that night;
        a card found leaves.
    ways
        Which: "static", "nightly", "feedback" and "online".
    claimed
        The column with the date on which a fraud is claimed, missing if never. Without it, waits
        are drawn: a day and `claim_days` more in the mean; one fraud in ten is never claimed.
    silence
        After how long a payment of which nobody spoke counts as genuine.
    window
        How far back trainings look.
    progress
        Told of `(what, done, total)` after each day.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from toprank import BoostedRanker
    >>> from toprank.simulator import Simulation, tables_by_day
    >>> simulation = Simulation(n_cards=200, n_terminals=400, n_days=70, claims=True)
    >>> replayed = replay(
    ...     pa.concat_tables(tables_by_day(simulation)), BoostedRanker(n_estimators=5, n_jobs=1),
    ...     time="paid_at", card="card", terminal="terminal", amount="amount", label="is_fraud",
    ...     claimed="claimed_on", budget=4, days=5, ways=["static", "online"],
    ... )
    >>> {way: each.checked.tolist() for way, each in replayed.ways.items()}
    {'static': [4, 4, 4, 4, 4], 'online': [4, 4, 4, 4, 4]}
    """
    names = checked_ways(ways)
    budget = checks.whole_number(budget, "budget", 1)
    spans = _ReplaySpans.of(silence, window)
    known = read_payments(
        payments,
        time=time,
        card=card,
        terminal=terminal,
        amount=amount,
        label=label,
        claimed=claimed,
        claim_days=claim_days,
        random_state=random_state,
    )
    first = known.n_days - checks.whole_number(days, "days", 1)
    _check_warm_up(known, first, spans)
    habits = habits_of(known, time, card, terminal, amount)
    runs = {
        name: _Run(
            WAYS[name](learner, random_state),
            known,
            habits,
            KnownFrauds(known, time, terminal),
            Desk(known, budget, spans.silence, random_state),
            spans,
        )
        for name in names
    }
    _run_days(runs, known, first, progress or silent)
    tested = known.rows_of(first, known.n_days)
    return Replay(
        budget=budget,
        dates=known.first_date + np.unique(known.day[tested]),
        ways={name: run.outcome(tested) for name, run in runs.items()},
        ceiling=_ceiling(known, tested, budget),
        n_payments=tested.size,
        n_positive=int(np.count_nonzero(known.is_positive[tested])),
        n_warm_up_days=first,
        silence=spans.silence,
        window=spans.window,
    )


@dataclass(frozen=True)
class _ReplaySpans:
    """How long silence takes, and how far back trainings look."""

    silence: np.timedelta64
    window: np.timedelta64

    @classmethod
    def of(cls, silence: Any, window: Any) -> "_ReplaySpans":
        spans = cls(span_of(silence, "silence"), span_of(window, "window"))
        if spans.window <= spans.silence:
            raise ValueError(
                f"window must be longer than silence, {in_words(spans.silence)}, since older "
                f"payments are what all labels are known of; got {in_words(spans.window)}."
            )
        return spans


class _Run:
    """One way at work, day after day."""

    def __init__(
        self,
        way: Way,
        payments: ReplayedPayments,
        habits: NDArray[np.float32],
        frauds: KnownFrauds,
        desk: Desk,
        spans: _ReplaySpans,
    ) -> None:
        self._way, self._payments, self._habits = way, payments, habits
        self._frauds, self._desk, self._spans = frauds, desk, spans
        self._suspicion = np.full(payments.day.size, np.nan)
        self._days: list[DayChecks] = []
        self._seconds: list[float] = []

    def watch(self, day: int) -> None:
        """Let a day of the warm-up pass: holders claim, nobody is checked."""
        self._frauds.take_rows(day, self._payments.rows_of(day))
        self._take_in(day)

    def check(self, day: int) -> None:
        """Score the payments of a day, check the most suspicious cards and note what is told."""
        on_day = self._payments.rows_of(day)
        if on_day.size:
            rows = self._desk.present(on_day)
            self._frauds.take_rows(day, rows)
            if rows.size:
                self._suspicion[rows] = self._way.suspicion(self._features(rows))
            self._days.append(self._desk.check(day, rows, self._suspicion[rows]))
        self._take_in(day)

    def learn(self, day: int, is_first: bool) -> None:
        """Let the way learn in the night after a day."""
        moment = self._payments.begin_of(day + 1)
        rows = self._payments.rows_since(moment - self._spans.window, day)
        rows = self._desk.present(rows)
        night = NightlyModels(
            self._desk.known(day, rows),
            self._payments.time[rows] + self._spans.silence < moment,
            None if is_first else self._payments.begin_of(day),
            self._features,
        )
        begin = clock.perf_counter()
        self._way.learn(night)
        if self._payments.rows_of(day + 1).size:
            self._seconds.append(clock.perf_counter() - begin)

    def outcome(self, tested: NDArray[np.int64]) -> WayDays:
        """Return what came of the days with payments."""
        rows = self._desk.present(tested)
        counts = np.array(self._days, dtype=np.float64).T
        checked, found, positive = counts[:3].astype(np.int64)
        return WayDays(
            checked=checked,
            found=found,
            positive=positive,
            money=counts[3],
            seconds=np.array(self._seconds),
            suspicion=self._suspicion[tested],
            known=self._desk.known(self._payments.n_days - 1, rows),
        )

    def _take_in(self, day: int) -> None:
        self._desk.take_claims(day)
        self._frauds.take_frauds(day, self._desk.frauds_told(day))

    def _features(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        return np.hstack([self._habits[rows], self._frauds.features[rows]])


def _run_days(
    runs: dict[str, _Run], payments: ReplayedPayments, first: int, progress: Progress
) -> None:
    n_days = payments.n_days - first
    for run in runs.values():
        for day in range(first):
            run.watch(day)
        run.learn(first - 1, is_first=True)
    for day in range(first, payments.n_days):
        for run in runs.values():
            run.check(day)
            if day + 1 < payments.n_days:
                run.learn(day, is_first=False)
        progress("replaying days", day + 1 - first, n_days)


def _check_warm_up(payments: ReplayedPayments, first: int, spans: _ReplaySpans) -> None:
    """Raise unless the first training has frauds and genuine payments to learn from."""
    if first < 1:
        raise ValueError(
            f"days must leave a warm-up before them; got {payments.n_days - first} of "
            f"{payments.n_days} days in all; replay fewer days."
        )
    begin = payments.begin_of(first)
    is_old = (payments.time >= begin - spans.window) & (payments.time + spans.silence < begin)
    frauds = is_old & payments.is_positive & (payments.claim_day < first)
    if not frauds.any() or payments.is_positive[is_old].all():
        raise ValueError(
            f"the warm-up must hold both claimed frauds and genuine payments that are more than "
            f"{in_words(spans.silence)} old when it ends; of its {first} days, {is_old.sum():,} "
            f"payments are, {frauds.sum():,} of them claimed; replay fewer days or bring more."
        )
    later = payments.is_positive[payments.rows_of(first, payments.n_days)]
    if not later.any() or later.all():
        raise ValueError(
            f"the days to replay must hold frauds and genuine payments; got {later.sum():,} "
            f"frauds in {later.size:,} payments; replay more days."
        )


def _ceiling(
    payments: ReplayedPayments, rows: NDArray[np.int64], budget: int
) -> NDArray[np.float64]:
    """Return the card precision by day of an order that knows the truth."""
    truth = payments.is_positive[rows]
    told = truth.astype(np.float64)
    best = checks_by_day(truth, told, payments.card[rows], payments.day[rows], budget)
    return best.found / budget
