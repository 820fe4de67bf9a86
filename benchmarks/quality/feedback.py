"""Ways of learning from checks over 60 days: card precision, with and without a new pattern.

    python -m benchmarks.quality.feedback [--customers 1000] [--seeds 0 1 2] [--report]

Simulated payments of 150 days, two terminals a customer; the last 60 days are replayed with one
check a day per 50 customers. In the world "terminal appears", no terminal is compromised before
the eighth of these days, so that no model has seen this pattern when they begin; in "card
appears", no card is. Worlds that are recorded are not run again. `--days` and `--trees` make a
short run to see that all works.
"""

import argparse
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from benchmarks.record import RESULTS, record

from toprank import BoostedRanker
from toprank.simulator import Simulation, tables_by_day
from toprank.simulator.feedback import STRATEGIES, facts_of, replay

NAME = "feedback"
WARM_UP_DAYS, NEW_ON_DAY, CUSTOMERS_A_CHECK = 90, 7, 50
WORLDS = {"as it was": None, "terminal appears": "terminal", "card appears": "card"}


def main() -> None:
    options = _options()
    if not options.report:
        for world in WORLDS:
            for seed in options.seeds:
                if not list(_recorded(options, world, [seed])):
                    _record(options, world, seed)
    _print_report(options)


def _record(options: argparse.Namespace, world: str, seed: int) -> None:
    facts = facts_of(_replayed(options, world, seed))
    for way, figures in facts["strategies"].items():
        by_day = figures.pop("by_day")
        record(
            NAME,
            **_key(options, world, seed),
            way=way,
            budget=facts["budget"],
            n_payments=facts["n_payments"],
            n_frauds=facts["n_positive"],
            **figures,
            ceiling=facts["ceiling"]["mean"],
            found_by_day=by_day["found"],
            positive_by_day=by_day["positive"],
            leads=[each for each in facts["leads"] if each["strategy"] == way],
        )


def _replayed(options: argparse.Namespace, world: str, seed: int) -> Any:
    pattern = WORLDS[world]
    simulation = Simulation(
        n_cards=options.customers,
        n_terminals=2 * options.customers,
        n_days=WARM_UP_DAYS + options.days,
        random_state=seed,
        claims=True,
        starts={pattern: WARM_UP_DAYS + NEW_ON_DAY} if pattern else {},
    )
    return replay(
        pa.concat_tables(tables_by_day(simulation)),
        BoostedRanker(
            "ap-exp", n_estimators=options.trees, learning_rate=0.1, random_state=seed, n_jobs=1
        ),
        time="paid_at",
        card="card",
        terminal="terminal",
        amount="amount",
        label="is_fraud",
        claimed="claimed_on",
        budget=max(1, options.customers // CUSTOMERS_A_CHECK),
        days=options.days,
        random_state=seed,
    )


def _key(options: argparse.Namespace, world: str, seed: int) -> dict[str, Any]:
    """Return what tells one run from another."""
    return {
        "world": world,
        "customers": options.customers,
        "days": options.days,
        "trees": options.trees,
        "seed": seed,
    }


def _recorded(
    options: argparse.Namespace, world: str, seeds: list[int]
) -> Iterator[dict[str, Any]]:
    path = RESULTS / f"{NAME}.jsonl"
    keys = [_key(options, world, seed) for seed in seeds]
    for row in map(json.loads, path.read_text().splitlines() if path.exists() else []):
        if {name: row[name] for name in _key(options, world, 0)} in keys:
            yield row


def _print_report(options: argparse.Namespace) -> None:
    budget = max(1, options.customers // CUSTOMERS_A_CHECK)
    print(f"\n{options.customers} customers, {options.days} days; CP@{budget}, means over seeds\n")
    for world in WORLDS:
        rows = list(_recorded(options, world, options.seeds))
        if not rows:
            continue
        seeds = sorted({row["seed"] for row in rows})
        ceiling = np.mean([row["ceiling"] for row in rows])
        print(f"{world}; ceiling {ceiling:.3f}; seeds {', '.join(map(str, seeds))}")
        for way in STRATEGIES:
            own = [row for row in rows if row["way"] == way]
            precision = [row["card_precision"]["value"] for row in own]
            first, last = (
                np.mean([row["found_by_day"][part] for row in own]) / budget
                for part in (slice(None, options.days // 2), slice(options.days // 2, None))
            )
            print(
                f"  {way:9} {np.mean(precision):.3f}  halves {first:.3f} {last:.3f}  "
                f"cards {np.mean([row['found'] for row in own]):6.1f}  "
                f"money {np.mean([row['money'] for row in own]):9,.0f}  "
                f"training {np.mean([row['training_seconds'] for row in own]):6.1f} s  by seed "
                + " ".join(f"{value:.3f}" for value in precision)
            )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--customers", type=int, default=1000)
    parser.add_argument("--days", type=int, default=60)
    parser.add_argument("--trees", type=int, default=50)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument(
        "--report", action="store_true", help="print what is recorded, run nothing"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
