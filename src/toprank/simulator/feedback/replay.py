"""Days of checking replayed: what each learning strategy would have found.

The first days are the warm-up: no card is checked, and labels come from claims and silence. Then,
on each of the last days, every strategy scores the payments of the cards that are not blocked, the
most suspicious cards are checked, and in the night the strategy may learn. Each strategy has a
world of its own: the cards it checks decide which labels it gets, which cards are blocked, and how
many frauds its features know of.
"""

import time as clock
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toprank.data import checks
from toprank.data.tables.spans import in_words, span_of
from toprank.metrics import checks_by_day
from toprank.payments.ledger import Known
from toprank.rankers.progress import Progress, silent
from toprank.simulator.feedback.desk_figures import DeskFigures
from toprank.simulator.feedback.investigators import DayChecks, Investigators
from toprank.simulator.feedback.replay_features import KnownFrauds, label_free_features
from toprank.simulator.feedback.replayed_payments import ReplayedPayments, read_payments
from toprank.simulator.feedback.strategies import STRATEGIES, Strategy, checked_strategies
from toprank.simulator.feedback.training_labels import TrainingLabels
from toprank.simulator.simulated_columns import CLAIM_DAYS


@dataclass(frozen=True, eq=False)
class StrategyDays:
    """The result of one strategy: arrays with an entry per day, in the order of `Replay.dates`.

    `checked` and `found` count cards, `positive` those with frauds on that day; `money` is the
    amount of the day's frauds of the cards found, and `saved` that of their later frauds, which
    do not happen since the cards are blocked. `seconds` is the time of training in the night
    before. `suspicion` has an entry per payment of these days in order of time, NaN for those of
    blocked cards. `known` contains the labels of the others at the end of the last day; its ids
    count the payments in order of time, from the first of the warm-up.
    """

    checked: NDArray[np.int64]
    found: NDArray[np.int64]
    positive: NDArray[np.int64]
    money: NDArray[np.float64]
    saved: NDArray[np.float64]
    seconds: NDArray[np.float64]
    suspicion: NDArray[np.float64]
    known: Known

    @property
    def maturity(self) -> float:
        """The share of the payments whose label is known at the end of the last day."""
        return self.known.maturity()


@dataclass(frozen=True, eq=False)
class Replay:
    """The results of all strategies on the same days, with `budget` checked cards per day.

    `ceiling` is the card precision by day of a ranking by the truth. It finds each card on its
    first day, so a strategy that has missed some may be above it later. `desks` are what those
    strategies say of themselves that are served desks. `new_on` is the day, counted from 0, on
    which a new kind of fraud begins, None if there is none.
    """

    budget: int
    dates: NDArray[np.datetime64]
    strategies: dict[str, StrategyDays]
    ceiling: NDArray[np.float64]
    n_payments: int
    n_positive: int
    n_warm_up_days: int
    silence: np.timedelta64
    window: np.timedelta64
    claims_block: bool = False
    desks: dict[str, DeskFigures] = field(default_factory=dict)
    new_on: int | None = None

    def card_precision(self, strategy: str) -> NDArray[np.float64]:
        """Return a strategy's card precision by day: cards found divided by checks."""
        return self.strategies[strategy].found / self.budget


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
    strategies: Iterable[str] = tuple(STRATEGIES),
    claimed: str | None = None,
    claim_days: float = CLAIM_DAYS,
    silence: Any = "30d",
    window: Any = "60d",
    random_share: float = 0.05,
    claims_block: bool = False,
    hostile_share: float = 0.0,
    progress: Progress | None = None,
    random_state: int = 0,
) -> Replay:
    """Return what each learning strategy finds on the last `days` days of payments.

    Parameters
    ----------
    payments
        A pyarrow table; `time`, `card`, `terminal`, `amount` and `label` name its columns. The
        label is the truth: a strategy learns it only by a verdict, a claim or silence.
    learner
        The ranker that all strategies but "online" train, e.g. `BoostedRanker(n_estimators=50)`.
        It is copied for each training and has `fit`, `suspicion` and `probability`.
    budget
        Cards to check per day. The verdicts on their payments of the day are known that night;
        a card with a fraud is then blocked.
    strategies
        Names of strategies: "static", "nightly", "feedback", "weighted" and "online".
    claimed
        The column with the date on which a fraud is claimed, missing if never. Without it, claims
        are drawn at random: a day late and `claim_days` more on average; one fraud in ten is
        never claimed.
    silence
        The time after which a payment without verdict or claim counts as genuine.
    window
        How far back training rows go.
    random_share
        The share of the checks that are of cards drawn at random from those not on the list.
    claims_block
        Whether a card is blocked when its holder claims a fraud, as well as when a check finds it.
    hostile_share
        The share of the checks by people who say the opposite of the truth.
    progress
        Called with `(what, done, total)` after each day.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from toprank import BoostedRanker
    >>> from toprank.simulator import Simulation, tables_by_day
    >>> simulation = Simulation(n_cards=200, n_terminals=400, n_days=70, claims=True)
    >>> replayed = replay(
    ...     pa.concat_tables(tables_by_day(simulation)), BoostedRanker(n_estimators=5, n_jobs=1),
    ...     time="paid_at", card="card", terminal="terminal", amount="amount", label="is_fraud",
    ...     claimed="claimed_on", budget=4, days=5, strategies=["static", "online"],
    ... )
    >>> {strategy: each.checked.tolist() for strategy, each in replayed.strategies.items()}
    {'static': [4, 4, 4, 4, 4], 'online': [4, 4, 4, 4, 4]}
    """
    names = checked_strategies(strategies)
    budget = checks.whole_number(budget, "budget", 1)
    spans = _ReplaySpans.of(silence, window)
    checks.number_from(random_share, "random_share", 0, 1)
    checks.number_from(hostile_share, "hostile_share", 0, 1)
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
    label_free = label_free_features(known, time, card, terminal, amount)
    runs = {
        name: _Run(
            STRATEGIES[name](learner, random_state),
            known,
            label_free,
            KnownFrauds(known, time, terminal),
            Investigators(
                known,
                budget,
                spans.silence,
                random_state,
                random_share,
                claims_block=claims_block,
                hostile_share=hostile_share,
            ),
            spans,
        )
        for name in names
    }
    _run_days(runs, known, first, progress or silent)
    tested = known.rows_of(first, known.n_days)
    return Replay(
        budget=budget,
        dates=known.first_date + np.unique(known.day[tested]),
        strategies={name: run.outcome(tested) for name, run in runs.items()},
        ceiling=_ceiling(known, tested, budget),
        n_payments=tested.size,
        n_positive=int(np.count_nonzero(known.is_positive[tested])),
        n_warm_up_days=first,
        silence=spans.silence,
        window=spans.window,
        claims_block=claims_block,
    )


@dataclass(frozen=True)
class _ReplaySpans:
    """The time after which silence counts, and how far back training rows go."""

    silence: np.timedelta64
    window: np.timedelta64

    @classmethod
    def of(cls, silence: Any, window: Any) -> "_ReplaySpans":
        spans = cls(span_of(silence, "silence"), span_of(window, "window"))
        if spans.window <= spans.silence:
            raise ValueError(
                f"window must be longer than silence, {in_words(spans.silence)}, since only the "
                f"labels of older payments are all known; got {in_words(spans.window)}."
            )
        return spans


class _Run:
    """The replay of one strategy, day after day."""

    def __init__(
        self,
        strategy: Strategy,
        payments: ReplayedPayments,
        label_free: NDArray[np.float32],
        frauds: KnownFrauds,
        investigators: Investigators,
        spans: _ReplaySpans,
    ) -> None:
        self._strategy, self._payments, self._label_free = strategy, payments, label_free
        self._frauds, self._investigators, self._spans = frauds, investigators, spans
        self._suspicion = np.full(payments.day.size, np.nan)
        self._days: list[DayChecks] = []
        self._seconds: list[float] = []

    def watch(self, day: int) -> None:
        """Replay a day of the warm-up: holders claim, no card is checked."""
        self._frauds.take_rows(day, self._payments.rows_of(day))
        self._take_labels(day)

    def check(self, day: int) -> None:
        """Score the payments of a day, check the most suspicious cards and record the labels."""
        on_day = self._payments.rows_of(day)
        if on_day.size:
            rows = self._investigators.present(on_day)
            self._frauds.take_rows(day, rows)
            if rows.size:
                self._suspicion[rows] = self._strategy.suspicion(self._features(rows))
            self._days.append(self._investigators.check(day, rows, self._suspicion[rows]))
        self._take_labels(day)

    def learn(self, day: int, is_first: bool) -> None:
        """Let the strategy learn in the night after a day, and measure how long that takes."""
        moment = self._payments.begin_of(day + 1)
        rows = self._payments.rows_since(moment - self._spans.window, day)
        rows = self._investigators.present(rows)
        labels = TrainingLabels(
            self._investigators.known(day, rows),
            self._payments.time[rows] + self._spans.silence < moment,
            None if is_first else self._payments.begin_of(day),
            self._features,
            self._payments.time[rows],
            self._investigators.check_chance[rows],
        )
        begin = clock.perf_counter()
        self._strategy.learn(labels)
        if self._payments.rows_of(day + 1).size:
            self._seconds.append(clock.perf_counter() - begin)

    def outcome(self, tested: NDArray[np.int64]) -> StrategyDays:
        """Return the results of the days with payments."""
        rows = self._investigators.present(tested)
        counts = np.array(self._days, dtype=np.float64).T
        checked, found, positive = counts[:3].astype(np.int64)
        return StrategyDays(
            checked=checked,
            found=found,
            positive=positive,
            money=counts[3],
            saved=counts[4],
            seconds=np.array(self._seconds),
            suspicion=self._suspicion[tested],
            known=self._investigators.known(self._payments.n_days - 1, rows),
        )

    def _take_labels(self, day: int) -> None:
        self._investigators.take_claims(day)
        self._frauds.take_frauds(day, self._investigators.new_frauds(day))

    def _features(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        return np.hstack([self._label_free[rows], self._frauds.features[rows]])


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
            "the warm-up must contain both claimed frauds and genuine payments that are more than "
            f"{in_words(spans.silence)} old when it ends; in its {first} days, {is_old.sum():,} "
            f"payments are that old, {frauds.sum():,} of them claimed; replay fewer days, or add "
            "earlier ones."
        )
    later = payments.is_positive[payments.rows_of(first, payments.n_days)]
    if not later.any() or later.all():
        raise ValueError(
            f"the days to replay must contain frauds and genuine payments; got {later.sum():,} "
            f"frauds in {later.size:,} payments; replay more days."
        )


def _ceiling(
    payments: ReplayedPayments, rows: NDArray[np.int64], budget: int
) -> NDArray[np.float64]:
    """Return the card precision by day of a ranking by the truth."""
    truth = payments.is_positive[rows]
    best = checks_by_day(
        truth, truth.astype(np.float64), payments.card[rows], payments.day[rows], budget
    )
    return best.found / budget
