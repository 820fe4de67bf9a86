"""`toprank warm-up`: compiles what the first use of each command would have to wait for."""

import warnings
from collections.abc import Callable
from typing import Any

import click

EXAMPLES = """
\b
Examples:
  toprank warm-up
  RUN pip install toprank && toprank warm-up        in a Dockerfile
"""


@click.command(
    "warm-up", epilog=EXAMPLES, short_help="Compile now what the first use would wait for."
)
def warm_up() -> None:
    """Compile the inner loops of toprank and keep them, which takes a minute or two, once.

    They are kept next to the package, or in the folder that NUMBA_CACHE_DIR names. Without this,
    each command compiles what it needs when it is first used.
    """
    from toprank.cli import compile_note, screen

    compile_note.stop()
    with screen.progress_bar() as progress:
        for done, (what, compile_part) in enumerate(PARTS.items()):
            progress("compiling", done, len(PARTS))
            screen.remark(f"compiling: {what}")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of rows that mean nothing
                compile_part()
        progress("compiling", len(PARTS), len(PARTS))
    screen.remark("All is compiled.")


def _fit_and_rank() -> None:
    """Fit, with a card and without, on a few payments, and rank some of them with reasons."""
    from toprank.payments.payment_model import PaymentModel
    from toprank.simulator import simulate

    payments = simulate(n_cards=60, n_days=70, random_state=0)
    model = PaymentModel(
        "is_fraud", time="paid_at", card="card", terminal="terminal", amount="amount", budget=5,
        effort="quick", n_estimators=5, n_jobs=1,
    )  # fmt: skip
    model.fit(payments)
    model.rank(payments.slice(payments.num_rows - 50))


def _trees() -> None:
    from toprank import MetaAP, TreeRank

    for ranker in (MetaAP(), TreeRank()):
        rows, is_positive = _rows()
        ranker.fit(rows, is_positive).contributions(rows)


def _anomalies() -> None:
    from toprank import AnomalyForest, AnomalyTreeRank

    for detector in (AnomalyForest(n_estimators=2), AnomalyTreeRank()):
        rows, _ = _rows()
        detector.fit(rows).contributions(rows)


def _stream() -> None:
    from toprank import OnlineNonLinearBoost

    learner = OnlineNonLinearBoost()
    for is_positive in (False, True):
        learner.learn_one({"x": 1.0}, is_positive)
    learner.score_one({"x": 1.0})


def _rows() -> tuple[Any, Any]:
    """Return 200 rows, the positives among them large in the first column."""
    import numpy as np

    rows = np.random.default_rng(0).normal(size=(200, 3))
    return rows, rows[:, 0] > 1.0


PARTS: dict[str, Callable[[], None]] = {
    "fit and rank": _fit_and_rank,
    "ranking trees": _trees,
    "anomalies": _anomalies,
    "stream": _stream,
}
