"""What a rule would have matched: on stored payments, by what became known of them.

Payments come with the features they had then and the labels that hold now. A payment without a
label is not known yet; the share of those with one is the maturity of a day or of the period.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date, datetime
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from toprank.data import checks
from toprank.live.rules.rule_fields import RuleError, RuleFields
from toprank.live.rules.rule_language import Condition
from toprank.live.rules.rule_rows import typed_columns
from toprank.metrics.cards import checks_by_day
from toprank.wording import percent

LEAST_MATURITY = 0.8
N_EXAMPLES = 5

_CARDS = 2**32  # more than there are


class Outcomes(NamedTuple):
    """Payments by what is known of them."""

    fraud: int
    genuine: int
    unknown: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.fraud + self.genuine + self.unknown

    @property
    def maturity(self) -> float:
        """The share whose label is known; NaN without any."""
        return _share(self.fraud + self.genuine, self.total)

    @property
    def precision(self) -> float:
        """The share of frauds among those known; NaN without any."""
        return _share(self.fraud, self.fraud + self.genuine)


class DayMatches(NamedTuple):
    """A day's payments, and those that the rule matches."""

    day: date
    payments: Outcomes
    matches: Outcomes


class AtCapacity(NamedTuple):
    """Checks of `k` cards per day, on days and payments that are scored and known.

    Each precision is the mean over days of cards found per check. `rule_first` checks the cards
    that the rule matches before the model's; `overlap` is the share of the rule's cards that the
    model's own list contains; the others are `n_extra`, of which `extra_precision` are fraud.
    """

    k: int
    n_days: int
    model: float
    rule_first: float
    overlap: float
    n_extra: int
    extra_precision: float


class ExampleCard(NamedTuple):
    """A card that the rule matches: one of its payments."""

    card: str
    payment: str
    paid_at: datetime
    outcome: str


@dataclass(frozen=True)
class RuleBacktest:
    """The figures of one rule on a period.

    `only_fraud` counts the frauds that the other rules given do not match.
    """

    text: str
    payments: Outcomes
    matches: Outcomes
    mature: Outcomes
    provisional: Outcomes
    only_fraud: int
    days: list[DayMatches] = field(repr=False)
    at_capacity: AtCapacity | None
    examples: list[ExampleCard] = field(repr=False)

    @property
    def detection_rate(self) -> float:
        """The share of the known frauds that the rule matches."""
        return _share(self.matches.fraud, self.payments.fraud)

    @property
    def false_alert_rate(self) -> float:
        """The share of the payments known as genuine that the rule matches."""
        return _share(self.matches.genuine, self.payments.genuine)

    def to_json(self) -> dict[str, Any]:
        """Return all figures in plain values, NaN where there is nothing to divide by."""
        capacity = None if self.at_capacity is None else self.at_capacity._asdict()
        return {
            **asdict(self),
            "payments": self.payments._asdict(),
            "matches": self.matches._asdict(),
            "mature": {**self.mature._asdict(), "precision": self.mature.precision},
            "provisional": {**self.provisional._asdict(), "precision": self.provisional.precision},
            "maturity": self.payments.maturity,
            "detection_rate": self.detection_rate,
            "false_alert_rate": self.false_alert_rate,
            "days": [
                {
                    "day": each.day.isoformat(),
                    "payments": each.payments._asdict(),
                    "matches": each.matches._asdict(),
                }
                for each in self.days
            ],
            "at_capacity": capacity,
            "examples": [
                {**each._asdict(), "paid_at": each.paid_at.isoformat()} for each in self.examples
            ],
        }


def backtest(
    payments: pl.LazyFrame,
    condition: Condition,
    fields: RuleFields,
    k: int = 100,
    *,
    others: Sequence[Condition] = (),
    least_maturity: float = LEAST_MATURITY,
) -> RuleBacktest:
    """Return what a rule would have matched among stored payments.

    `payments` has the columns of the fields and features that the rules use, and `id`, `card`,
    `paid_at`, `is_fraud` (null if not known yet) and, where it was scored, `suspicion`. A period
    that is less mature than `least_maturity` is refused: what is not known yet is mostly fraud
    that nobody has reported.

    >>> from toprank.live.rules.rule_language import parse
    >>> fields = RuleFields({"amount": "number"})
    >>> rows = pl.LazyFrame({
    ...     "id": ["1", "2", "3"], "card": ["a", "b", "b"], "paid_at": [datetime(2025, 3, 1)] * 3,
    ...     "amount": [900.0, 800.0, 5.0], "is_fraud": [True, False, False],
    ... })
    >>> found = backtest(rows, parse("amount > 500", fields, "block"), fields)
    >>> found.matches, found.detection_rate, found.false_alert_rate
    (Outcomes(fraud=1, genuine=1, unknown=0), 1.0, 0.5)
    """
    checks.whole_number(k, "k", 1)
    rows = _evaluated(payments, condition, fields, others)
    days = _days(rows)
    whole = _sum(each.payments for each in days)
    if not whole.total:
        raise RuleError("a backtest needs payments; there are none in this period.")
    if whole.maturity < least_maturity:
        raise RuleError(
            f"a backtest needs a period with at least {percent(least_maturity)} of the labels "
            f"known; {percent(whole.maturity)} are: choose an earlier end, or allow it."
        )
    is_mature = [each.payments.maturity >= LEAST_MATURITY for each in days]
    matched = rows.filter("match")
    return RuleBacktest(
        condition.text,
        whole,
        _sum(each.matches for each in days),
        _sum(each.matches for each, is_known in zip(days, is_mature, strict=True) if is_known),
        _sum(each.matches for each, is_known in zip(days, is_mature, strict=True) if not is_known),
        matched.filter(pl.col("is_fraud") & ~pl.col("other")).height,
        days,
        _at_capacity(rows, k),
        _examples(matched),
    )


def _evaluated(
    payments: pl.LazyFrame, condition: Condition, fields: RuleFields, others: Sequence[Condition]
) -> pl.DataFrame:
    """Return the payments, by time, with whether they match the rule and any other rule."""
    columns = payments.collect_schema()
    names = {name for each in (condition, *others) for name in each.names}
    for name in sorted(names - set(columns)):
        raise RuleError(f"the stored payments must have a column {name!r}; they do not.")
    suspicion = pl.col("suspicion") if "suspicion" in columns else pl.lit(None, pl.Float64)
    own = [
        pl.col("id").alias("_id"),
        pl.col("card").cast(pl.String).alias("_card"),
        pl.col("paid_at").cast(pl.Datetime("us")).alias("_paid_at"),
        pl.col("is_fraud").alias("_is_fraud"),
        suspicion.cast(pl.Float64).fill_nan(None).alias("_suspicion"),
    ]
    any_other = reduce(pl.Expr.__or__, (_is_met(each) for each in others), pl.lit(False))
    rows = payments.select(own + typed_columns(fields, names)).select(
        *(pl.col(each.meta.output_name()).alias(each.meta.output_name()[1:]) for each in own),
        match=_is_met(condition),
        other=any_other,
    )
    return rows.collect().filter(pl.col("paid_at").is_not_null())


def _is_met(condition: Condition) -> pl.Expr:
    return condition.expression.fill_null(False)


def _days(rows: pl.DataFrame) -> list[DayMatches]:
    """Return the counts of each day, in order."""
    is_fraud, match = pl.col("is_fraud"), pl.col("match")
    parts = {"fraud": is_fraud, "genuine": ~is_fraud, "unknown": is_fraud.is_null()}
    counts = [part.sum().alias(name) for name, part in parts.items()]
    counts += [(part & match).sum().alias(f"matched_{name}") for name, part in parts.items()]
    by_day = rows.group_by(pl.col("paid_at").dt.date().alias("day")).agg(counts).sort("day")
    return [
        DayMatches(day, Outcomes(*numbers[:3]), Outcomes(*numbers[3:]))
        for day, *numbers in by_day.rows()
    ]


def _sum(outcomes: Iterable[Outcomes]) -> Outcomes:
    return Outcomes(*(sum(column) for column in zip((0, 0, 0), *outcomes, strict=True)))


def _at_capacity(rows: pl.DataFrame, k: int) -> AtCapacity | None:
    """Return how the list of `k` cards per day changes with the rule.

    None without scored cards of both kinds: there is nothing to rank then.
    """
    cards = _cards_by_day(rows)
    if cards["is_fraud"].n_unique() < 2:
        return None
    suspicion, match = cards["suspicion"].to_numpy(), cards["match"].to_numpy()
    facts = (cards["card"].to_numpy(), cards["day"].to_numpy(), k)
    is_fraud = cards["is_fraud"].to_numpy()
    by_model = checks_by_day(is_fraud, suspicion, *facts)
    by_rule = checks_by_day(is_fraud, suspicion + match * (np.ptp(suspicion) + 1), *facts)
    place = pl.col("suspicion").rank("ordinal", descending=True).over("day")
    matched = cards.with_columns(is_listed=place <= k).filter("match")
    extra = matched.filter(~pl.col("is_listed"))
    return AtCapacity(
        k,
        by_model.day.size,
        float(by_model.found.mean() / k),
        float(by_rule.found.mean() / k),
        _share(matched.height - extra.height, matched.height),
        extra.height,
        _share(extra["is_fraud"].sum(), extra.height),
    )


def _cards_by_day(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the cards of each day, as numbers, of payments that are scored and known."""
    is_known = pl.col("suspicion").is_not_null() & pl.col("is_fraud").is_not_null()
    day = pl.col("paid_at").dt.epoch("d").cast(pl.Int64)
    card = pl.col("card").cast(pl.Categorical).to_physical()
    # one key of both is grouped twice as fast
    joined = rows.filter(is_known).select(
        "suspicion", "is_fraud", "match", key=day * _CARDS + card
    )
    grouped = joined.group_by("key").agg(pl.all().max())
    return grouped.with_columns(day=pl.col("key") // _CARDS, card=pl.col("key") % _CARDS)


def _examples(matched: pl.DataFrame) -> list[ExampleCard]:
    """Return the newest cards that are fraud, genuine and not known yet, a few of each."""
    outcome = (
        pl.when(pl.col("is_fraud")).then(pl.lit("fraud"))
        .when(~pl.col("is_fraud")).then(pl.lit("genuine")).otherwise(pl.lit("unknown"))
    )  # fmt: skip
    newest = (
        matched.select("card", "id", "paid_at", outcome=outcome)
        .sort("paid_at", "id", descending=True)
        .unique(["card", "outcome"], keep="first", maintain_order=True)
        .group_by("outcome", maintain_order=True)
        .head(N_EXAMPLES)
        .sort("outcome", maintain_order=True)
    )
    return [ExampleCard(*row) for row in newest.select("card", "id", "paid_at", "outcome").rows()]


def _share(part: Any, whole: Any) -> float:
    return float(part) / float(whole) if whole else float("nan")
