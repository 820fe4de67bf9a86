"""`toprank demo`: from payments to alerts on made-up data, in under a minute."""

from functools import partial
from pathlib import Path
from typing import Any

import click

EXAMPLES = """
\b
Examples:
  toprank demo
  toprank demo --folder try --seed 7
"""
_TREES = 100  # a demo is to be short
_NAMES = {
    "merchant_type": "type of merchant",
    "night": "at night",
    "distance_from_home": "distance from home",
    "amount_to_usual": "amount compared with the card's usual one",
    "hours_since_last": "hours since the card's last payment",
    "payments_last_day": "payments of the card in the last 24 hours",
    "terminal_payments_last_day": "payments at the terminal in the last 24 hours",
    "terminal_foreign_share_last_week": "share of foreign cards at the terminal last week",
}


@click.command(epilog=EXAMPLES, short_help="Try it all on made-up payments with hidden frauds.")
@click.option(
    "--folder", default="demo-output", show_default=True, type=click.Path(path_type=Path),
    help="Folder to write to.",
)  # fmt: skip
@click.option(
    "--budget", "-k", default=20, show_default=True, type=click.IntRange(1), help="Checks per day."
)
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(0, 2**31 - 1),
    help="Random seed of the made-up payments.",
)  # fmt: skip
def demo(folder: Path, budget: int, seed: int) -> None:
    """Make payments with hidden frauds, learn from them, and list the alerts of the last day.

    Writes payments.parquet, last-day.parquet, the model, its report, and the list as alerts.csv
    and as a page, alerts.html.
    """
    from toprank.cli import screen
    from toprank.cli.data_place import DataPlace
    from toprank.cli.fit import fit_and_write
    from toprank.cli.rank import alert_page, write_list
    from toprank.data import tables
    from toprank.payments.payment_model import PaymentModel
    from toprank.present import summary
    from toprank.present.alert_page import write_alert_page
    from toprank.simulator import simulate

    folder.mkdir(parents=True, exist_ok=True)
    screen.remark("Making 100 days of card payments with hidden frauds ...")
    with screen.busy("making payments"):
        known, today = _last_day_apart(simulate(random_state=seed))
    tables.write_rows(known, folder / "payments.parquet")
    tables.write_rows(today.drop_columns(["is_fraud"]), folder / "last-day.parquet")

    model = PaymentModel(
        "is_fraud", time="paid_at", drop=("card", "terminal"), budget=budget,
        n_estimators=_TREES, effort="quick", random_state=seed, n_jobs=-1, names=_NAMES,
    )  # fmt: skip
    written = fit_and_write(
        model, partial(model.fit, known), folder / "payments.toprank", "Made-up card payments"
    )
    screen.show(summary.text_of(model.training_, "frauds"))

    alerts = model.rank(today.drop_columns(["is_fraud"]))
    write_list(alerts, folder / "alerts.csv")
    last_day, page = folder / "last-day.parquet", folder / "alerts.html"
    write_alert_page(
        alert_page(alerts, model, folder / "payments.toprank", DataPlace(str(last_day))), page
    )
    n_shown, n_listed = min(3, len(alerts.suspicion)), len(alerts.suspicion)
    screen.show(
        f"\nThe first {n_shown} of {n_listed:,} alerts of the last day, "
        f"{today.num_rows:,} payments:"
    )
    screen.show(screen.alert_lines(alerts, most=n_shown))
    truth = today["is_fraud"].to_numpy()
    assert alerts.expected is not None
    screen.show(
        f"\nExpected {summary.counted(alerts.expected)} frauds in the {n_listed:,}; "
        f"there were {truth[alerts.row_numbers - 1].sum()}, of {truth.sum()} that day."
    )
    screen.remark(f"Wrote {folder / 'alerts.csv'}, {page}, {written}")


def _last_day_apart(payments: Any) -> tuple[Any, Any]:
    """Return the payments of all days but the last, and those of the last."""
    import pyarrow.compute as pc

    day = pc.floor_temporal(payments["paid_at"], unit="day")
    is_last = pc.equal(day, pc.max(day))
    return payments.filter(pc.invert(is_last)), payments.filter(is_last)
