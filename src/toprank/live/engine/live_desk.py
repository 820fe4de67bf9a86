"""A desk that decides: its model, history and rules in memory, every change in its database first.

Whatever is acknowledged is committed. If a commit fails, memory may be ahead of the log; then all
of it is read again from the folder, and until that has worked, nothing is taken in.
"""

import logging
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from toprank.live.checks import check_verdicts, claims, filled_list, random_checks
from toprank.live.checks.filled_list import PlannedFill
from toprank.live.checks.opened_cards import AlertFacts
from toprank.live.checks.random_checks import PlannedDraw
from toprank.live.desk import Desk, check_kept, clock_of, fields_of, stored_payments
from toprank.live.desk_clock import Moment, wall_time
from toprank.live.engine import alerting, rescoring
from toprank.live.engine.alerting import Sentences, Suspect
from toprank.live.engine.audited_lookups import AuditedLookups
from toprank.live.engine.decisions import decide
from toprank.live.engine.live_history import LiveHistory
from toprank.live.engine.live_rules import LiveRules
from toprank.live.engine.online_model import OnlineModel
from toprank.live.engine.payment_scores import Scorer
from toprank.live.engine.rule_evidence import read_evidence
from toprank.live.engine.served_model import ServedModel, made_up_payment
from toprank.live.engine.shadow_model import ShadowModel
from toprank.live.messages import Answer, BusyError, ConflictError, LabelGiven, Payment
from toprank.live.store import (
    alert_table,
    audit_chain,
    fraud_terminal_table,
    label_table,
    payment_log,
    payment_reads,
    purge_table,
    shadow_score_table,
    transactions,
)
from toprank.live.store.check_table import Check
from toprank.live.store.label_table import DeskLabel
from toprank.live.store.payment_log import LoggedPayment, StoredScore, matched_text
from toprank.live.store.purge_table import Purge
from toprank.live.store.transactions import QuickTransaction
from toprank.payments.features.past import LabelCounts
from toprank.payments.model_files import FORGET, LATE

_log = logging.getLogger("toprank.live")

_DAY = 86_400_000_000  # microseconds
_BETWEEN_RELOADS = 1.0  # seconds
_LONGEST_WAIT = 0.2  # seconds for another process to finish writing


Also = Callable[[sa.Connection, Sequence[Answer | ConflictError]], None]
"""Writes, in the commit of some payments, what else has to be stored with their answers."""


class _Unscored(NamedTuple):
    row: LoggedPayment
    payment: Payment
    features: NDArray[np.float64]
    since: float  # monotonic seconds


class LiveDesk:
    """A desk in memory, for one process and one thread.

    Parameters
    ----------
    desk
        The folder.
    card_key
        The file of the key of cards, if the model was fitted with one.

    Attributes
    ----------
    n_changes
        How often something was noticed that others have written: pages or another process.
    """

    def __init__(self, desk: Desk, card_key: str | os.PathLike[str] | None = None) -> None:
        self.desk, self.settings, self._card_key = desk, desk.settings, card_key
        self._connection = desk.database.engine_connection(_LONGEST_WAIT)
        self._lookups = AuditedLookups(desk.database)
        self._unscored: deque[_Unscored] = deque()
        self.n_changes = 0
        self._tried, self._trouble = 0.0, ""  # the last time that all was read again
        self.online: OnlineModel | None = None
        self._load()

    def _load(self) -> None:
        """Read model, history, rules and what is not scored yet from the folder."""
        self.is_sound = False
        self._seen = self._n_changed()  # before what it is about, or a change would be missed
        path = self.desk.model_path
        self.model, snapshot = self.desk.load_newest(self._card_key, path)
        self.shadow: ShadowModel | None = None
        check_kept(self.model, self.settings)
        self._stored = stored_payments(self.model)
        self.fields = fields_of(self.model)
        self._scorer = Scorer(self.model)
        with self.desk.database.reading() as connection:
            self.history = LiveHistory.caught_up(self.model, snapshot, connection, self._stored)
            last_purge = purge_table.last(connection)
            self.clock = clock_of(self.desk, self.model, connection)
            self.rules = LiveRules(connection, self.model, self.settings)
            self._evidence = read_evidence(connection, self.settings.alert_from)
            rows = payment_log.unscored(connection)
        moment = time.monotonic()
        self._unscored = deque(
            _Unscored(row, self._stored.read(row), row.feature_values, moment) for row in rows
        )
        self._purged_on = _day(last_purge.before + _LATE if last_purge else self.now())
        self.model_name = path.name
        self._warm_up()
        self.is_sound = True

    def _warm_up(self) -> None:
        """Decide and score a made-up payment that is forgotten: what is slow once is slow now."""
        payment = made_up_payment(self.fields, self.now())
        features = self.history.warm_up(payment)
        self.rules.judge_at([payment], features, [0])
        found = self._scorer.score([payment], features)
        self.rules.judge_scored([payment], features, found.suspicion, [0])
        self._scorer.sentences(found.encoded)

    def close(self) -> None:
        """Write a snapshot, so that the next start is quick, and close the connection."""
        if self.is_sound and self.history.place != self.desk.snapshots.all()[-1]:
            self.desk.snapshots.write(self.history.history, self.history.place)
        transactions.close(self._connection)

    @property
    def n_unscored(self) -> int:
        """The number of payments that the model has not seen yet."""
        return len(self._unscored)

    def lag(self) -> float:
        """Return for how many seconds the first of them has been waiting."""
        return time.monotonic() - self._unscored[0].since if self._unscored else 0.0

    def now(self) -> int:
        """Return the desk's time, in microseconds."""
        return self.clock.now()

    def moment(self) -> Moment:
        """Return the time by the desk's clock and by that of the machine."""
        return Moment(self.now(), wall_time())

    # Payments

    def decide(
        self, payments: Sequence[Payment], also: Also | None = None
    ) -> list[Answer | ConflictError]:
        """Return the answers of payments, which are in the log by then.

        `also` is called with the connection and the answers, to write more in the same commit.
        """
        stored = [self._stored.stored(each) for each in payments]
        with self._writing() as connection:
            now = self.clock.after(each.paid_at for each in stored)
            decided = decide(connection, self.history, self.rules, stored, now)
            if also is not None:
                also(connection, decided.answers)
        for each in decided.payments:
            self.clock.see(each.paid_at)
        moment = time.monotonic()
        for row, payment in zip(decided.logged, decided.payments, strict=True):
            self._unscored.append(_Unscored(row, payment, row.feature_values, moment))
        if self.rules.tripped:
            # the payments are in the log: if another process writes, the next turn tries again
            with suppress(BusyError), self._writing() as connection:
                self.rules.pause_tripped(connection, wall_time())
        return decided.answers

    def score_some(self, most: int) -> int:
        """Score the payments that have waited longest, and raise alerts; return how many."""
        some = [self._unscored[place] for place in range(min(most, len(self._unscored)))]
        features = np.stack([each.features for each in some])
        payments = [each.payment for each in some]
        found = self._scorer.score(payments, features)
        assert found.probability is not None
        now = self.now()
        positions = [each.row.position for each in some]
        beside = self.shadow and self.shadow.scores(positions, payments, features, self.lag())
        online = self.online and self.online.scores(positions, payments, features, self.lag())
        times = [each.row.received_at for each in some]
        judged = self.rules.judge_scored(payments, features, found.suspicion, times)
        columns = zip(
            some, found.suspicion.tolist(), found.probability.tolist(), judged, strict=True
        )
        suspects, rows = [], []
        for place, (each, suspicion, probability, judgement) in enumerate(columns):
            rows.append(
                StoredScore(
                    each.row.position, suspicion, probability, matched_text(judgement.matched),
                    self.rules.number, self.model_name, now,
                )
            )  # fmt: skip
            if judgement.blocking or probability >= self.settings.alert_from:
                suspects.append(
                    Suspect(place, each.row, suspicion, probability, judgement.blocking)
                )
        with self._writing() as connection:
            payment_log.add_scores(connection, rows)
            shadow_score_table.add(connection, [*(beside or []), *(online or [])])
            alerting.raise_alerts(
                connection,
                suspects,
                lambda places: self._scorer.sentences(found.encoded.take(places)),
                self.model_name,
                now,
                self._amount,
                self._evidence,
            )
        for _ in some:
            self._unscored.popleft()
        return len(some)

    def score_one_by_one(self, most: int) -> int:
        """Score payments singly, and leave out those that the model fails on; return how many."""
        n_tried = min(most, len(self._unscored))
        for _ in range(n_tried):
            try:
                self.score_some(1)
            except (BusyError, sa.exc.SQLAlchemyError):
                raise
            except Exception:
                failed = self._unscored.popleft()
                _log.exception("payment %s could not be scored.", failed.row.id)
        return n_tried

    def label(
        self,
        labels: Sequence[LabelGiven],
        who: str,
        also: Callable[[sa.Connection, LabelCounts], None] | None = None,
    ) -> LabelCounts:
        """Add the labels of known payments; return what became of all of them.

        `also` is called with the connection and the counts, to write more in the same commit.
        """
        with self._writing() as connection:
            counts = self._label(connection, labels, who)
            if also is not None:
                also(connection, counts)
        return counts

    def unknown_of(self, ids: Sequence[str]) -> set[str]:
        """Return those of the ids that no payment has."""
        with self.desk.database.reading() as connection:
            return set(ids) - self._cards_of(connection, ids).keys()

    def _label(
        self, connection: sa.Connection, labels: Sequence[LabelGiven], who: str
    ) -> LabelCounts:
        now = self.now()
        cards = self._cards_of(connection, [each.id for each in labels])
        known = [each for each in labels if each.id in cards]
        rows = [
            DeskLabel(
                number, each.id, cards[each.id], each.is_fraud,
                now if each.known_at is None else each.known_at,
                each.source, who, self.history.position, now,
            )
            for number, each in enumerate(known, start=self.history.place.label_number + 1)
        ]  # fmt: skip
        label_table.add(connection, rows)
        fraud_terminal_table.add(connection, [row.id for row in rows if row.is_fraud])
        details = {"ids": [row.id for row in rows], "is_fraud": [row.is_fraud for row in rows]}
        if rows:
            audit_chain.add(connection, wall_time(), who, "labels added", f"{len(rows)}", details)
            affected = [card for card in cards.values() if card is not None]
            alerting.close_decided(connection, affected, now, who)
            alerting.rank_again(connection, affected, self._sentences_at, now, self._evidence)
        counts = self.history.label(rows) if rows else LabelCounts()
        unknown = tuple(place for place, each in enumerate(labels) if each.id not in cards)
        return counts._replace(n_unknown=len(unknown), unknown=unknown)

    def _cards_of(self, connection: sa.Connection, ids: Sequence[str]) -> dict[str, str | None]:
        """Return the cards of the payments that are known, by their ids."""
        found: dict[str, str | None] = dict(payment_log.cards_of(connection, ids))
        rest = [each for each in ids if each not in found]
        if rest:  # payments from before the desk was made
            history, card = self.history.history, str(self.model.card)
            known = history.knows(rest).tolist()
            cards = history.keys_of(rest, card) or [None] * len(rest)
            found |= {
                each: text for each, is_known, text in zip(rest, known, cards, strict=True)
                if is_known
            }  # fmt: skip
        return found

    # Checks

    def finish_checks(self) -> int:
        """Write the labels of verdicts that can no longer be undone, and end leases that are over.

        Return how many checks were finished.
        """
        now = self.moment()
        with self.desk.database.reading() as connection:
            if not check_verdicts.due(connection, now) and not claims.n_over(connection, now):
                return 0
        with self._writing() as connection:
            claims.expire(connection, now)
            found = check_verdicts.due(connection, now)
            for check in found:
                self._finish(connection, check, now)
            if found:
                self._evidence = read_evidence(connection, self.settings.alert_from)
        return len(found)

    def _finish(self, connection: sa.Connection, check: Check, now: Moment) -> None:
        """Write the labels of a check and end it, both or neither."""
        if check.verdict != "unsure":
            is_fraud = check.verdict == "fraud"
            ids = [row.id for row in payment_reads.at(connection, check.positions)]
            labels = [LabelGiven(each, is_fraud, None, "investigator") for each in ids]
            self._label(connection, labels, check.who)
        check_verdicts.finish(connection, check, now)

    def draw_random_checks(self, plan: PlannedDraw) -> int:
        """Open the alerts of a random draw, one per day; return how many."""
        now, facts = self.moment(), self._alert_facts()
        with self._writing() as connection:
            return random_checks.draw(connection, plan, facts, now, self.settings)

    def fill_list(self, plan: PlannedFill) -> int:
        """Let the best of the cards that nothing has listed fill the list; return how many."""
        now, facts = self.moment(), self._alert_facts()
        with self._writing() as connection:
            return filled_list.fill(connection, plan, facts, now, self.settings)

    def _alert_facts(self) -> AlertFacts:
        return AlertFacts(self._sentences_at, self.model_name, self._amount)

    # Models

    def use_model(self, loaded: ServedModel) -> bool:
        """Score with another model from the next turn on; return False if another process writes.

        It must share the history of the one in use, as `load_beside` has it.
        """
        assert loaded.model.state_ is self.model.state_
        details = {"model": loaded.name, "before": self.model_name}
        try:
            with self._writing() as connection:
                audit_chain.add(
                    connection, wall_time(), alerting.ACTOR, "model.use", "desk", details
                )
        except BusyError:
            return False
        self.model, self._scorer, self.model_name = loaded.model, loaded.scorer, loaded.name
        return True

    def rescore(self, numbers: Sequence[int]) -> None:
        """Rank alerts by the model in use."""
        with self._writing() as connection:
            rescoring.rescore(
                connection, numbers, self._scorer, self._stored, self.model_name, self.now(),
                self._evidence,
            )  # fmt: skip

    @property
    def _amount(self) -> str:
        """The field of a payment's amount."""
        return str(self.model.amount)

    def _sentences_at(self, connection: sa.Connection, position: int) -> Sentences:
        """Return the reasons of a payment of the log; none if the model fails on it."""
        (row,) = payment_reads.at(connection, [position])
        try:
            found = self._scorer.score([self._stored.read(row)], row.feature_values[np.newaxis])
            return self._scorer.sentences(found.encoded)[0]
        except Exception:
            _log.exception("there are no reasons for payment %s.", row.id)
            return Sentences([], [], [])

    # Looking up

    def payment(self, payment_id: str, who: str = "") -> dict[str, Any] | None:
        """Return what is known of a payment in plain values, None if there is none.

        With `who`, the audit has that they have seen it.
        """
        return self._lookups.payment(payment_id, who)

    def alerts(
        self, state: str, limit: int, after: str | None, who: str = ""
    ) -> list[dict[str, Any]]:
        """Return alerts of a state in plain values, the most probable first; see `payment`."""
        return self._lookups.alerts(state, limit, after, who)

    def n_open(self) -> int:
        """Return how many alerts are open or taken."""
        with self.desk.database.reading() as connection:
            return alert_table.n_open(connection)

    def facts(self) -> dict[str, Any]:
        """Return what the desk is at."""
        return {
            "position": self.history.position,
            "unscored": self.n_unscored,
            "lag": self.lag(),
            "model": self.model_name,
            "challenger": None if self.shadow is None else self.shadow.number,
            "shadow_skipped": 0 if self.shadow is None else self.shadow.n_skipped,
            "rule_set": self.rules.number,
            "now": self.now(),
        }

    # Forgetting

    def purge_if_due(self) -> None:
        """Forget what is too old, once a day after the hour of the settings.

        It may take seconds, so it is for moments when nobody waits.
        """
        now = self.now()
        is_late = now % _DAY >= self.settings.purge_hour * 3_600_000_000
        if _day(now) <= self._purged_on or not is_late:
            return
        midnight, place = _day(now) * _DAY, self.history.place
        kept = min(_span(self.settings.kept), _span(FORGET))
        purge = Purge(
            place.purge_number + 1, place.position, place.label_number, midnight - _LATE,
            midnight - kept,
        )  # fmt: skip
        with self._writing() as connection:
            alerting.close_old(connection, now - _span(self.settings.silent), now)
            purge_table.add(connection, purge)
            self.history.purge(purge)
        self._purged_on = _day(now)

    # Changes by others, and failures

    def notice_changes(self) -> None:
        """Read rules again if another process has changed the database.

        After a failure, try to read everything again.
        """
        if not self.is_sound:
            if time.monotonic() - self._tried > _BETWEEN_RELOADS:
                self._reload()
        elif (version := self._n_changed()) != self._seen:
            self._seen = version
            self.n_changes += 1
            with self.desk.database.reading() as connection:
                self.rules.reload(connection)

    def recover(self, error: Exception) -> None:
        """Read everything again after a failed change, since memory may be ahead of the log."""
        _log.error("a change could not be written, the desk is read again: %s", error)
        self.is_sound = False
        self._reload()

    def _reload(self) -> None:
        try:
            transactions.close(self._connection)
            self._connection = self.desk.database.engine_connection(_LONGEST_WAIT)
            self._load()
        except Exception as error:
            if str(error) != self._trouble:
                _log.error("the desk cannot be read, and takes in nothing until it can: %s", error)
            self._trouble = str(error)
        else:
            self._trouble = ""
            _log.warning("the desk has been read again, and takes in payments.")
        self._tried = time.monotonic()

    def _n_changed(self) -> int:
        """Return a number that changes when another connection has committed something."""
        return self.desk.database.n_changes(self._connection)

    @contextmanager
    def _writing(self) -> Iterator[sa.Connection]:
        """Yield the connection for a change; BusyError, before any, if someone else writes."""
        turn = self.desk.database.turn
        if not turn.acquire(timeout=_LONGEST_WAIT):
            raise BusyError(1.0)
        try:
            try:
                transaction = QuickTransaction(self._connection)
            except sa.exc.OperationalError:
                raise BusyError(1.0) from None
            try:
                yield self._connection
            except BaseException:
                transaction.rollback()
                raise
            transaction.commit()
        finally:
            turn.release()


def _day(moment: int) -> int:
    return moment // _DAY


def _span(span: np.timedelta64) -> int:
    return int(span / np.timedelta64(1, "us"))


_LATE = _span(LATE)
