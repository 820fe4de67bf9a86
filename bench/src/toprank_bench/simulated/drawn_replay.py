"""Days of a desk replayed on its tables, with the truth: what lists catch, draws find, claims say.

Everything but the model is the desk's own code: alerts, random draws, claims of cards, verdicts
and labels. The model is a chance per payment, so that it is known what it misses. Fraudsters use
a card for some days, until it is known; of their payments the model finds a share suspicious.
"""

import random
from dataclasses import dataclass, field
from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.checks import check_verdicts, claims, random_checks
from toprank.live.checks.random_checks import AlertFacts
from toprank.live.desk_clock import Moment
from toprank.live.desk_settings import DeskSettings
from toprank.live.engine import alerting
from toprank.live.engine.alerting import Sentences, Suspect
from toprank.live.engine.rule_evidence import read_evidence
from toprank.live.monitor import log_digest
from toprank.live.store import alert_table, label_table, payment_log
from toprank.live.store.check_table import Check
from toprank.live.store.desk_database import Database
from toprank.live.store.label_table import DeskLabel
from toprank.live.store.payment_log import LoggedPayment, StoredScore

DAY = 86_400_000_000
FIRST_DAY = 20_000
_HOUR = DAY // 24
_NO_REASONS = Sentences([], [], [])
_COUNTED_AT_ONCE = 5_000


@dataclass(frozen=True)
class ReplayedWorld:
    """What happens at a desk per day; chances are those of each payment or card."""

    n_cards: int = 600
    n_days: int = 20
    share_active: float = 0.7
    new_frauds: float = 3.0  # cards taken over per day
    fraud_days: float = 3.0  # for which a fraudster uses a card, on average
    listed_frauds: float = 0.3  # share of fraudulent payments that the model finds suspicious
    listed_others: float = 0.004
    claimed: float = 0.9  # share of frauds that are claimed
    claim_days: float = 6.0
    capacity: int = 30
    random_share: float = 0.5
    reached: float = 0.8  # share of the capacity that is checked, on average


class TrueDay(NamedTuple):
    """The card-days with a fraud at a draw: those that could be drawn, and the others."""

    day: int
    missed: frozenset[str]
    excluded: frozenset[str]


@dataclass
class DrawnReplay:
    """A desk without a model, day by day; `truth` has the frauds at each draw."""

    database: Database
    world: ReplayedWorld
    seed: int
    truth: list[TrueDay] = field(default_factory=list)
    found: set[tuple[int, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._settings = DeskSettings(
            capacity=self.world.capacity, random_share=self.world.random_share, undo="0s"
        )
        self._position = 0
        self._stolen: dict[str, int] = {}  # until which day a fraudster has a card
        self._known: set[str] = set()
        self._frauds: dict[int, LoggedPayment] = {}
        self._claims: list[tuple[int, str, str]] = []  # day, payment and card

    def run(self) -> None:
        """Replay all days, wait for the claims, and count the log."""
        for day in range(FIRST_DAY, FIRST_DAY + self.world.n_days):
            self._pay(day)
            with self.database.writing() as connection:
                self._claim(connection, day)
                if day > FIRST_DAY:
                    self._draw(connection, day)
                self._check(connection, day)
        with self.database.writing() as connection:
            self._claim(connection, 10**6)
        n_rows = self._position + label_count(self.database)
        for _ in range(2 + n_rows // _COUNTED_AT_ONCE * 2):
            log_digest.count_some(self.database, self._settings.alert_from, _COUNTED_AT_ONCE)

    # payments and what the model says of them

    def _pay(self, day: int) -> None:
        drawn, world = self._random, self.world
        free = [f"card-{n:05}" for n in range(world.n_cards)]
        for card in drawn.sample(free, _poisson(drawn, world.new_frauds)):
            if card not in self._known:
                self._stolen[card] = day + int(drawn.expovariate(1 / world.fraud_days))
        paid = [
            (drawn.randrange(DAY - _HOUR), card, is_fraud)
            for card in free
            if card not in self._known
            for is_fraud in (False, True)
            if (drawn.random() < world.share_active)
            and (not is_fraud or self._stolen.get(card, 0) >= day)
        ]
        rows, scores = [], []
        suspects: list[Suspect] = []
        for at, card, is_fraud in sorted(paid):
            self._position += 1
            row = _payment(self._position, card, day * DAY + at)
            share = world.listed_frauds if is_fraud else world.listed_others
            chance = drawn.uniform(0.05, 0.9) if drawn.random() < share else 0.001
            rows.append(row)
            scores.append(StoredScore(row.position, chance, chance, "[]", 0, "m", row.paid_at))
            if chance >= self._settings.alert_from:
                suspects.append(Suspect(len(suspects), row, chance, chance, []))
            if is_fraud:
                self._frauds[row.position] = row
                if drawn.random() < world.claimed:
                    late = 1 + int(drawn.expovariate(1 / world.claim_days))
                    self._claims.append((day + late, row.id, card))
        with self.database.writing() as connection:
            payment_log.add(connection, rows)
            payment_log.add_scores(connection, scores)
            evidence = read_evidence(connection, self._settings.alert_from)
            for each in suspects:
                alerting.raise_alerts(
                    connection, [each._replace(place=0)], lambda _: [_NO_REASONS], "m",
                    each.row.received_at, "amount", evidence,
                )  # fmt: skip

    def _claim(self, connection: sa.Connection, day: int) -> None:
        due = [each for each in self._claims if each[0] <= day]
        self._claims = [each for each in self._claims if each[0] > day]
        at = min(day, FIRST_DAY + self.world.n_days + 60) * DAY + DAY - 2 * _HOUR
        for _, payment, card in due:
            self._label(connection, [(payment, True)], card, at, "claim", "key:claims")

    # the draw, in the last hour of a day, and what it is about

    def _draw(self, connection: sa.Connection, day: int) -> None:
        now = Moment((day + 1) * DAY - _HOUR, (day + 1) * DAY - _HOUR)
        listed = alert_table.cards_not_closed(connection) | self._known
        plan = random_checks.planned(connection, now, self._settings)
        if plan is None:
            return
        frauds = {
            row.card for row in self._frauds.values() if plan.since <= row.received_at < now.desk
        }
        self.truth.append(TrueDay(day, frozenset(frauds - listed), frozenset(frauds & listed)))
        facts = AlertFacts(lambda *_: _NO_REASONS, "m", "amount")
        random_checks.draw(connection, plan, facts, now, self._settings)

    # checks, in the half hour after the draw

    def _check(self, connection: sa.Connection, day: int) -> None:
        at = (day + 1) * DAY - _HOUR // 2
        now = Moment(at, at)
        n_checks = round(self.world.capacity * min(self._random.gauss(self.world.reached, 0.2), 1))
        for _ in range(max(n_checks, 0)):
            claim = claims.claim_next(connection, "person:anna", now, self._settings)
            if claim is None:
                return
            positions = alert_table.positions_of(connection, claim.alert)
            frauds = [each for each in positions if each in self._frauds]
            verdict = "fraud" if frauds else "genuine"
            check = check_verdicts.decide(
                connection, claim.alert, "person:anna", verdict, frauds or positions, "", "", now,
                self._settings,
            )  # fmt: skip
            self._finish(connection, check, now)

    def _finish(self, connection: sa.Connection, check: Check, now: Moment) -> None:
        alert = alert_table.by_number(connection, check.alert)
        assert alert is not None
        given = [(f"tx-{each}", check.verdict == "fraud") for each in check.positions]
        self._label(connection, given, alert.card, now.desk, "investigator", check.who)
        check_verdicts.finish(connection, check, now)
        if check.verdict == "fraud" and not check.is_random:
            days = {self._frauds[each].received_at // DAY for each in check.positions}
            self.found |= {(day, alert.card) for day in days}

    def _label(
        self,
        connection: sa.Connection,
        given: list[tuple[str, bool]],
        card: str,
        at: int,
        source: str,
        who: str,
    ) -> None:
        number = label_table.last_number(connection)
        rows = [
            DeskLabel(number + place, payment, card, is_fraud, at, source, who, self._position, at)
            for place, (payment, is_fraud) in enumerate(given, start=1)
        ]
        label_table.add(connection, rows)
        if any(is_fraud for _, is_fraud in given):
            self._known.add(card)
        alerting.close_decided(connection, [card], at, who)


def label_count(database: Database) -> int:
    """Return how many labels a desk has."""
    with database.reading() as connection:
        return label_table.last_number(connection)


def _payment(position: int, card: str, at: int) -> LoggedPayment:
    return LoggedPayment(
        position, f"tx-{position}", card, "shop", at, at, '{"amount":10.0}', b"", "accept", "[]", 0
    )


def _poisson(drawn: random.Random, mean: float) -> int:
    """Return a Poisson number: arrivals within a unit of time."""
    count, at = 0, drawn.expovariate(mean)
    while at < 1:
        count, at = count + 1, at + drawn.expovariate(mean)
    return count
