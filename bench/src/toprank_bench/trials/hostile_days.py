"""What a hostile person costs: the same days with an honest team, and with one liar in five.

The world of `served_days`, replayed in this process with the way of learning of a desk: retrained
every night on all payments, known frauds weighted. The hostile person says the opposite of the
truth: frauds are called genuine, until their holders claim them, and honest cards are called fraud
and blocked.
"""

import time
from pathlib import Path

from toprank_bench.protocols.protocol import TrialOutcome
from toprank_bench.trials.served_days import CUSTOMERS_PER_CHECK, payments_of

METRICS = ("card_precision", "card_precision_hostile", "fall", "fall_of_honest_checks")
WAY = "weighted"


def hostile_days(
    data: str,
    seed: int,
    folder: Path | None,
    *,
    hostile_share: float = 0.2,
    customers: int = 500,
    days: int = 60,
    trees: int = 50,
) -> TrialOutcome:
    """Return how far the share of checks that find a fraud falls, in all and of honest people."""
    from toprank import BoostedRanker
    from toprank.simulator.feedback import replay

    begin = time.perf_counter()
    payments = payments_of(seed, customers, days)
    found = []
    for share in (0.0, hostile_share):
        replayed = replay(
            payments,
            BoostedRanker(n_estimators=trees, learning_rate=0.1, random_state=seed, n_jobs=1),
            time="paid_at",
            card="card",
            terminal="terminal",
            amount="amount",
            label="is_fraud",
            claimed="claimed_on",
            budget=max(1, customers // CUSTOMERS_PER_CHECK),
            days=days,
            strategies=(WAY,),
            claims_block=True,
            hostile_share=share,
            random_state=seed,
        )
        found.append(replayed.strategies[WAY].found)
    honest, hostile = (int(each.sum()) for each in found)
    n_checks = days * replayed.budget
    ratio = hostile / max(honest, 1)
    return TrialOutcome(
        {
            "card_precision": honest / n_checks,
            "card_precision_hostile": hostile / n_checks,
            "fall": 1 - ratio,
            "fall_of_honest_checks": 1 - ratio / (1 - hostile_share),
        },
        {
            "hostile_share": hostile_share,
            "customers": customers,
            "days": days,
            "trees": trees,
        },
        {"all days": round(time.perf_counter() - begin, 1)},
        {
            "checks_per_day": replayed.budget,
            "found_by_day": found[0].tolist(),
            "found_by_day_hostile": found[1].tolist(),
        },
    )
