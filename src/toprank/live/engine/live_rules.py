"""The rules of a desk, as they are evaluated on its payments."""

import logging
import time
from collections.abc import Sequence

import numpy as np
import polars as pl
import sqlalchemy as sa
from numpy.typing import NDArray

from toprank.live.desk_settings import DeskSettings
from toprank.live.engine.decisions import Judgement
from toprank.live.messages import Payment
from toprank.live.rules.circuit_breaker import Breaker, TrippedRule
from toprank.live.rules.model_fields import rule_fields
from toprank.live.rules.rule_fields import SUSPICION, RuleError
from toprank.live.rules.rule_life import load_rule_set, trip
from toprank.live.rules.rule_rows import RuleRows
from toprank.live.rules.rule_set import RuleMatch, RuleSet
from toprank.live.rules.snoozed_cards import load_snoozed_cards
from toprank.live.store import rule_set_table
from toprank.payments.payment_model import PaymentModel

_log = logging.getLogger("toprank.live")

_FEW = 64  # payments: up to here, one by one is faster than a frame


class LiveRules:
    """The rules that hold now, or those of an earlier set.

    Parameters
    ----------
    connection
        Where rules and snoozes are read from.
    model
        The model whose fields and features rules use.
    settings
        The limits of the circuit breaker.
    number
        The rule set; by default the one that holds now.

    Attributes
    ----------
    number
        The number of the rule set.
    tripped
        The blocking rules that stopped too many payments, and must be paused.
    """

    def __init__(
        self,
        connection: sa.Connection,
        model: PaymentModel,
        settings: DeskSettings,
        number: int | None = None,
    ) -> None:
        assert model.state_ is not None
        self._fields, self._names = rule_fields(model), model.state_.history.names
        self._breaker = Breaker(
            settings.breaker_share, most_per_minute=settings.breaker_per_minute
        )
        self.tripped: list[TrippedRule] = []
        self._read(connection, number)

    def reload(self, connection: sa.Connection) -> None:
        """Read rules and snoozes again if they have changed; keep the old ones on an error."""
        if rule_set_table.newest_number(connection) == self.number:
            return
        try:
            self._read(connection, None)
        except RuleError as error:
            _log.error("the new rules cannot be used, the old ones hold: %s", error)

    def judge(
        self, payments: Sequence[Payment], features: NDArray[np.float64], now: int
    ) -> list[Judgement]:
        """Return what blocking rules say of payments that came now; count what they block."""
        found = self._matches(self._blocking, payments, features, [now] * len(payments))
        self.tripped += self._breaker.add(time.monotonic_ns() // 1_000, found)
        return [_judgement(each) for each in found]

    def judge_at(
        self, payments: Sequence[Payment], features: NDArray[np.float64], times: Sequence[int]
    ) -> list[Judgement]:
        """Return what blocking rules say of payments that came at these times."""
        found = self._matches(self._blocking, payments, features, times)
        return [_judgement(each) for each in found]

    def judge_scored(
        self,
        payments: Sequence[Payment],
        features: NDArray[np.float64],
        suspicion: NDArray[np.float64],
        times: Sequence[int],
    ) -> list[Judgement]:
        """Return what the rules that raise alerts say of scored payments."""
        found = self._matches(self._alerting, payments, features, times, suspicion)
        return [_judgement(each) for each in found]

    def pause_tripped(self, connection: sa.Connection, now: int) -> None:
        """Move the rules that tripped to shadow, and go on without them."""
        for each in self.tripped:
            if trip(connection, now, each.name, each.version, each.sentence):
                _log.warning("%s It is in shadow until it is approved again.", each.sentence)
        self.tripped = []
        self._read(connection, None)

    def _read(self, connection: sa.Connection, number: int | None) -> None:
        rules = load_rule_set(connection, self._fields, number)
        # ended snoozes count for payments of then, and cost nothing now
        self._snoozed = load_snoozed_cards(connection, 0, rules.number)
        self._blocking, self._alerting = rules.of_kind("block"), rules.of_kind("alert")
        self._rows = {
            each: RuleRows(self._names, self._fields, each.names)
            for each in (self._blocking, self._alerting)
        }
        self.number = rules.number

    def _matches(
        self,
        rules: RuleSet,
        payments: Sequence[Payment],
        features: NDArray[np.float64],
        times: Sequence[int],
        suspicion: NDArray[np.float64] | None = None,
    ) -> list[list[RuleMatch]]:
        if not len(rules) or not payments:
            return [[] for _ in payments]
        made, bodies = self._rows[rules], [each.body for each in payments]
        scored = [] if suspicion is None else [pl.Series(SUSPICION, suspicion)]
        if len(payments) > _FEW:
            matches = rules.matches(made.table(bodies, features).with_columns(scored))
        else:
            rows = made.records(bodies, features)
            if suspicion is not None:
                for row, score in zip(rows, suspicion.tolist(), strict=True):
                    row[SUSPICION] = score
            matches = rules.matches_of_rows(rows, lambda: made.frame(rows).with_columns(scored))
        return [
            self._snoozed.kept(payment.card, found, at)
            for payment, found, at in zip(payments, matches, times, strict=True)
        ]


def _judgement(matches: list[RuleMatch]) -> Judgement:
    return Judgement(
        [[each.name, each.version, each.state] for each in matches],
        [each.name for each in matches if each.state == "live"],
    )
