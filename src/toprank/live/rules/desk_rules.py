"""Rules with the desk they belong to: its fields, its stored payments, its clock."""

import os
from datetime import date
from functools import cached_property
from typing import Self

import polars as pl
import sqlalchemy as sa

from toprank.live.desk import Desk, archive_of, clock_of
from toprank.live.rules import rule_life
from toprank.live.rules.model_fields import rule_fields
from toprank.live.rules.rule_backtest import LEAST_MATURITY, RuleBacktest, backtest
from toprank.live.rules.rule_fields import RuleFields, RuleKind
from toprank.live.rules.rule_language import Condition, parse
from toprank.live.rules.snoozed_cards import snooze
from toprank.live.rules.suggested_rules import SuggestedRule, suggest
from toprank.live.store import rule_table
from toprank.live.store.rule_table import StoredRule
from toprank.live.store.snooze_table import Snooze
from toprank.payments.payment_model import PaymentModel

_DAY = 86_400 * 1_000_000


class DeskRules:
    """The rules of a desk; the model is loaded when a step needs it. A context manager."""

    def __init__(self, desk: Desk, card_key: str | os.PathLike[str] | None = None) -> None:
        self.desk, self._card_key = desk, card_key

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str],
        card_key: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Return the rules of the desk in a folder."""
        return cls(Desk.open(folder), card_key)

    @cached_property
    def model(self) -> PaymentModel:
        """The model, with its newest history."""
        return self.desk.load_newest(self._card_key)[0]

    @cached_property
    def fields(self) -> RuleFields:
        """What rules may name."""
        return rule_fields(self.model)

    def add(
        self, actor: str, name: str, text: str, kind: RuleKind, description: str = ""
    ) -> StoredRule:
        """Store a rule as a draft."""
        fields, at = self.fields, self.desk.wall_time()
        with self.desk.database.writing() as connection:
            return rule_life.add_rule(connection, at, actor, name, text, kind, fields, description)

    def snooze(self, actor: str, card: str, rule: str | None, reason: str, days: float) -> Snooze:
        """Keep one rule, or with None every rule, from a card for some days."""
        column = str(self.model.card)
        stored = str(self.model.stored_cards_.in_row({column: card}, column)[column])
        with self.desk.database.writing() as connection:
            now = self._now(connection)
            until = now + round(days * _DAY)
            return snooze(connection, now, actor, stored, rule, reason, until)

    def backtest(
        self,
        rule: str,
        kind: RuleKind = "alert",
        k: int | None = None,
        since: date | None = None,
        until: date | None = None,
        least_maturity: float = LEAST_MATURITY,
        version_of: str | None = None,
    ) -> RuleBacktest:
        """Return what a rule would have matched: a stored one by name, or a condition.

        `version_of` names the rule that a condition is to be a version of.
        """
        with self.desk.database.reading() as connection:
            condition, others = self._condition(connection, rule, kind, version_of)
            return backtest(
                self._payments(connection, since, until), condition, self.fields,
                k or self.desk.settings.capacity, others=others, least_maturity=least_maturity,
            )  # fmt: skip

    def suggest(
        self,
        kind: RuleKind = "alert",
        most: int = 10,
        k: int | None = None,
        since: date | None = None,
        until: date | None = None,
        least_maturity: float = LEAST_MATURITY,
    ) -> list[SuggestedRule]:
        """Return rules that find frauds which those in use do not."""
        with self.desk.database.reading() as connection:
            return suggest(
                self._payments(connection, since, until), self.fields, kind,
                k or self.desk.settings.capacity, most=most, others=self._in_use(connection),
                least_maturity=least_maturity,
            )  # fmt: skip

    def close(self) -> None:
        """Close the desk."""
        if "model" in self.__dict__:
            self.model.close()
        self.desk.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _condition(
        self, connection: sa.Connection, rule: str, kind: RuleKind, version_of: str | None
    ) -> tuple[Condition, list[Condition]]:
        """Return the condition to test and those of the other rules in use."""
        stored = [] if version_of else rule_table.versions_of(connection, rule)
        if not stored:
            return parse(rule, self.fields, kind), self._in_use(connection, but=version_of)
        condition = parse(stored[0].text, self.fields, stored[0].kind)
        return condition, self._in_use(connection, but=rule)

    def _in_use(self, connection: sa.Connection, but: str | None = None) -> list[Condition]:
        rules = rule_life.load_rule_set(connection, self.fields).rules
        return [each.condition for each in rules if each.state == "live" and each.name != but]

    def _payments(
        self, connection: sa.Connection, since: date | None, until: date | None
    ) -> pl.LazyFrame:
        """Return the stored payments from one day to another, both included.

        As on the board, a payment of which nobody has said anything is genuine once its day is
        longer ago than the desk's silence.
        """
        found = archive_of(self.desk, self.model).scan(connection)
        silence = int(self.desk.settings.silent.astype("timedelta64[us]").astype(int))
        mature_until = (self._now(connection) - silence) // _DAY * _DAY
        is_silent = pl.col("is_fraud").is_null() & (
            pl.col("paid_at").dt.epoch("us") < mature_until
        )
        found = found.with_columns(
            is_fraud=pl.when(is_silent).then(pl.lit(False)).otherwise(pl.col("is_fraud"))
        )
        day = pl.col("paid_at").dt.date()
        if since is not None:
            found = found.filter(day >= since)
        return found if until is None else found.filter(day <= until)

    def _now(self, connection: sa.Connection) -> int:
        return clock_of(self.desk, self.model, connection).now()
