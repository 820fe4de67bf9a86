"""The same days for strategies in this process and for served desks, side by side."""

import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from toprank.data import checks
from toprank.live.learning.retraining import OnProgress
from toprank.live.served_days.desk_days import replay_desk
from toprank.live.served_days.replayed_desk import DeskPlan, check_servable
from toprank.simulator.feedback import Replay
from toprank.simulator.feedback import replay as replay_strategies
from toprank.simulator.feedback.replayed_payments import read_payments
from toprank.simulator.simulated_columns import CLAIM_DAYS

DESKS = {"desk": True, "static desk": False}
"""The desks by name, and whether each is retrained every night."""

BESIDE = ("static", "nightly", "online")
"""Strategies that desks are compared with unless others are named."""


def live_replay(
    payments: Any,
    learner: Any,
    *,
    time: str,
    card: str,
    terminal: str,
    amount: str,
    label: str,
    claimed: str | None = None,
    budget: int = 100,
    days: int = 60,
    strategies: Iterable[str] = BESIDE,
    desks: Iterable[str] = tuple(DESKS),
    random_share: float = 0.05,
    n_trees: int = 50,
    n_people: int = 3,
    n_hostile: int = 0,
    new_on: int | None = None,
    progress: OnProgress | None = None,
    random_state: int = 0,
) -> Replay:
    """Return what strategies and served desks find on the last days of the same payments.

    Parameters are those of `toprank.simulator.feedback.replay`, and these; a claim blocks its card
    for all of them, as a desk lists no card whose fraud is known.

    Parameters
    ----------
    desks
        Names of desks: "desk", which is retrained every night, and "static desk".
    n_trees
        Trees of the desks' models.
    n_people, n_hostile
        Investigators of a desk, and how many of them say the opposite of the truth.
    new_on
        The replayed day, counted from 0, on which a new kind of fraud begins, if one does.
    """
    chosen = [checks.one_of(name, "desks", tuple(DESKS)) for name in desks]
    columns: dict[str, Any] = {
        "time": time, "card": card, "terminal": terminal, "amount": amount, "label": label,
        "claimed": claimed,
    }  # fmt: skip
    progress = progress or _silent
    known = read_payments(payments, **columns, claim_days=CLAIM_DAYS, random_state=random_state)
    check_servable(known)
    replayed = replay_strategies(
        payments, learner, **columns, budget=budget, days=days, strategies=strategies,
        random_share=random_share, claims_block=True, progress=progress,
        random_state=random_state,
    )  # fmt: skip
    plan = DeskPlan(
        known.n_days - days, budget, replayed.silence, random_share, n_trees, n_people, n_hostile,
        random_state,
    )  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="toprank-desks-") as folder:
        outcomes = {
            name: replay_desk(
                known, plan, Path(folder, name.replace(" ", "-")), is_learning=DESKS[name],
                progress=progress,
            )
            for name in chosen
        }  # fmt: skip
    return replace(
        replayed,
        strategies=replayed.strategies | {name: each.days for name, each in outcomes.items()},
        desks={name: each.figures for name, each in outcomes.items()},
        new_on=new_on,
    )


def _silent(what: str, done: int, total: int) -> None:
    pass
