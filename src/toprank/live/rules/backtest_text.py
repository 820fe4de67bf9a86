"""A backtest in words."""

from toprank.live.rules.rule_backtest import Outcomes, RuleBacktest
from toprank.wording import aligned, percent, plural


def backtest_text(found: RuleBacktest, n_days: int = 7) -> str:
    """Return the figures as lines, with the newest days as a table."""
    first, last = found.days[0].day, found.days[-1].day
    lines = [
        found.text,
        "",
        aligned(
            [
                ["payments", f"{found.payments.total:,}, {first} to {last}"],
                ["maturity", f"{percent(found.payments.maturity)} of the labels are known"],
                ["matches", _outcomes(found.matches)],
                ["precision", _precision(found)],
                ["detection rate", f"{percent(found.detection_rate)} of the frauds"],
                ["false alerts", f"{percent(found.false_alert_rate)} of the genuine payments"],
                ["found alone", f"{found.only_fraud:,} {plural('fraud', found.only_fraud)}"],
                *_capacity(found),
            ],
            n_left=2,
        ),
        "",
        aligned(_days(found, n_days)),
    ]
    if found.examples:
        cards = [
            [each.outcome, each.card, each.payment, f"{each.paid_at:%Y-%m-%d %H:%M}"]
            for each in found.examples
        ]
        lines += ["", aligned([["example", "card", "payment", "paid at"], *cards], n_left=4)]
    return "\n".join(lines)


def _precision(found: RuleBacktest) -> str:
    mature = f"{percent(found.mature.precision)} on mature days"
    if not found.provisional.total:
        return mature
    return f"{mature}, {percent(found.provisional.precision)} (provisional) on the others"


def _capacity(found: RuleBacktest) -> list[list[str]]:
    at = found.at_capacity
    if at is None:
        return [["at capacity", "not known: no payment of the period was scored by the model"]]
    checks = f"at {at.k} {plural('check', at.k)} per day"
    return [
        [checks, f"precision {percent(at.model)} by the model, {percent(at.rule_first)} with the "
                 "rule first"],
        ["overlap", f"{percent(at.overlap)} of the rule's cards are on the model's list; of the "
                    f"other {at.n_extra:,}, {percent(at.extra_precision)} are fraud"],
    ]  # fmt: skip


def _days(found: RuleBacktest, n_days: int) -> list[list[str]]:
    rows = [
        [
            str(each.day), f"{each.payments.total:,}", f"{each.matches.total:,}",
            *(f"{count:,}" for count in each.matches), percent(each.payments.maturity),
        ]
        for each in found.days[-n_days:]
    ]  # fmt: skip
    return [["day", "payments", "matches", "fraud", "genuine", "not known", "maturity"], *rows]


def _outcomes(counts: Outcomes) -> str:
    return (
        f"{counts.total:,}: {counts.fraud:,} fraud, {counts.genuine:,} genuine, "
        f"{counts.unknown:,} not known yet"
    )
