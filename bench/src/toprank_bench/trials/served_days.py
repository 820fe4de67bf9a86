"""Sixty days through a real server, with a kind of fraud that appears on the twentieth.

Simulated payments of 150 days, two terminals per customer, as in `feedback_ways`; a claim blocks
its card. No terminal is compromised before the twentieth of the days replayed. Desks are served
by processes of their own; people work on their queues through the pages, and one of them learns
every night. The other methods are strategies of `toprank feedback` on the same payments.

    desk, static desk     five people who know the truth
    hostile desk          one of the five says the opposite of it until an alarm names them

Days 1 to 19 are before the change, 20 to 29 during it, the others after it.
"""

import time
from pathlib import Path
from typing import Any

from toprank_bench.protocols.protocol import TrialOutcome

NEW_ON, WARM_UP_DAYS, CUSTOMERS_PER_CHECK, N_PEOPLE = 19, 90, 50, 5
DATA = ("terminal fraud appears on day 20",)
METRICS = (
    "cards_found", "cards_found_after", "money_saved", "held_before", "held_during", "held_after",
    "recall_estimated", "recall_true",
)  # fmt: skip
HOSTILE = "hostile desk"


def served_days(
    data: str,
    seed: int,
    folder: Path | None,
    *,
    way: str,
    customers: int = 300,
    days: int = 60,
    trees: int = 50,
) -> TrialOutcome:
    """Return what one desk, or one strategy, finds within the days replayed."""
    from toprank import BoostedRanker
    from toprank.live.served_days.live_replay import DESKS, live_replay
    from toprank.simulator.feedback import facts_of

    begin = time.perf_counter()
    desk = "desk" if way == HOSTILE else way
    is_desk = desk in DESKS
    facts = facts_of(
        live_replay(
            payments_of(seed, customers, days),
            BoostedRanker(n_estimators=trees, learning_rate=0.1, random_state=seed, n_jobs=1),
            time="paid_at",
            card="card",
            terminal="terminal",
            amount="amount",
            label="is_fraud",
            claimed="claimed_on",
            budget=max(1, customers // CUSTOMERS_PER_CHECK),
            days=days,
            strategies=("static",) if is_desk else (way,),
            desks=(desk,) if is_desk else (),
            n_trees=trees,
            n_people=N_PEOPLE,
            n_hostile=int(way == HOSTILE),
            new_on=min(NEW_ON, days - 1),
            random_state=seed,
        )
    )
    found = facts["strategies"][desk]
    return TrialOutcome(
        {
            "cards_found": found["found"],
            "cards_found_after": sum(found["by_day"]["found"][NEW_ON:]),
            "money_saved": found["saved"],
            **_desk_figures(facts["desks"].get(desk)),
        },
        {"way": way, "customers": customers, "days": days, "trees": trees},
        {"all days": round(time.perf_counter() - begin, 1)},
        {
            "checks_per_day": facts["budget"],
            "payments": facts["n_payments"],
            "frauds": facts["n_positive"],
            "found_by_day": found["by_day"]["found"],
            "checked_by_day": found["by_day"]["checked"],
            "money_caught": found["money"],
            "training_seconds": found["training_seconds"],
            "desk": facts["desks"].get(desk),
        },
    )


def payments_of(seed: int, customers: int, days: int) -> Any:
    """Return the payments of a world, with the warm-up before the days that are replayed."""
    import pyarrow as pa

    from toprank.simulator import Simulation, tables_by_day

    simulation = Simulation(
        n_cards=customers,
        n_terminals=2 * customers,
        n_days=WARM_UP_DAYS + days,
        random_state=seed,
        claims=True,
        starts={"terminal": WARM_UP_DAYS + min(NEW_ON, days - 1)},
    )
    return pa.concat_tables(tables_by_day(simulation))


def _desk_figures(desk: dict[str, Any] | None) -> dict[str, float]:
    """Return how often the range of a day held, and recall; nothing of a strategy without one."""
    if desk is None:
        return {}
    held = {
        f"held_{phase}": each["held"] / each["days"]
        for phase, each in desk["held"].items()
        if each["days"]
    }
    recall = desk["recall"]
    if recall is None:
        return held
    return held | {"recall_estimated": recall["value"], "recall_true": recall["truth"]}
