"""Ways of learning from checks over 60 days, with and without a pattern of fraud that is new.

Simulated payments of 150 days, two terminals per customer; the last 60 days are replayed with one
check a day per 50 customers. With `terminal fraud appears`, no terminal is compromised before the
eighth of these days, so that no model has seen this pattern when they begin; with `card fraud
appears`, no card is.
"""

from pathlib import Path

from toprank_bench.protocols.protocol import TrialOutcome

METRICS = ("card_precision", "cards_found", "money_caught", "training_seconds")
PATTERNS = {
    "no new pattern": None,
    "terminal fraud appears": "terminal",
    "card fraud appears": "card",
}
WARM_UP_DAYS, NEW_ON_DAY, CUSTOMERS_PER_CHECK = 90, 7, 50


def feedback_ways(
    data: str,
    seed: int,
    folder: Path | None,
    *,
    way: str,
    customers: int = 1000,
    days: int = 60,
    trees: int = 50,
) -> TrialOutcome:
    """Return what one way of learning finds within the days replayed."""
    import pyarrow as pa

    from toprank import BoostedRanker
    from toprank.simulator import Simulation, tables_by_day
    from toprank.simulator.feedback import facts_of, replay

    pattern = PATTERNS[data]
    simulation = Simulation(
        n_cards=customers,
        n_terminals=2 * customers,
        n_days=WARM_UP_DAYS + days,
        random_state=seed,
        claims=True,
        starts={pattern: WARM_UP_DAYS + NEW_ON_DAY} if pattern else {},
    )
    facts = facts_of(
        replay(
            pa.concat_tables(tables_by_day(simulation)),
            BoostedRanker(
                "ap-exp", n_estimators=trees, learning_rate=0.1, random_state=seed, n_jobs=1
            ),
            time="paid_at",
            card="card",
            terminal="terminal",
            amount="amount",
            label="is_fraud",
            claimed="claimed_on",
            budget=max(1, customers // CUSTOMERS_PER_CHECK),
            days=days,
            strategies=(way,),
            random_state=seed,
        )
    )
    found = facts["strategies"][way]
    return TrialOutcome(
        {
            "card_precision": found["card_precision"]["value"],
            "cards_found": found["found"],
            "money_caught": found["money"],
            "training_seconds": found["training_seconds"],
        },
        {"way": way, "customers": customers, "days": days, "trees": trees},
        {"train": round(found["training_seconds"], 3)},
        {
            "checks_per_day": facts["budget"],
            "payments": facts["n_payments"],
            "frauds": facts["n_positive"],
            "ceiling": facts["ceiling"]["mean"],
            "interval": [found["card_precision"][end] for end in ("low", "high")],
            "found_by_day": found["by_day"]["found"],
        },
    )
