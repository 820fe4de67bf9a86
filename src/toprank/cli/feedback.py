"""`toprank feedback`: strategies for learning from checks, replayed day by day."""

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from toprank.cli.data_place import DataPlace
from toprank.cli.existing_files import force_option
from toprank.cli.table_options import data_argument, source_options

EXAMPLES = """
\b
Examples:
  toprank feedback
  toprank feedback --drift
  toprank feedback --customers 2000 --days 90 --seed 7 -o feedback.html
  toprank feedback payments.parquet --label is_fraud --time paid_at --card card
    --terminal terminal --amount amount --claimed claimed_on --budget 100
  toprank feedback --strategies static,feedback --json
  toprank feedback --live --drift --drift-day 20        # through a real server
"""

WARM_UP_DAYS = 90
_CUSTOMERS_PER_CHECK = 50  # as with the Handbook's 100 checks for 5,000 customers
_BUDGET = 100
_LEARNING_RATE = 0.1
_ROLES = ("label", "time", "card", "terminal", "amount")
_SIMULATED = {
    "label": "is_fraud", "time": "paid_at", "card": "card", "terminal": "terminal",
    "amount": "amount", "claimed": "claimed_on",
}  # fmt: skip


@click.command(epilog=EXAMPLES, short_help="Compare learning strategies on replayed days.")
@data_argument
@click.option("--label", help="Column that says which payments are frauds, for all of them.")
@click.option("--time", help="Column of times.")
@click.option("--card", help="Column of cards.")
@click.option("--terminal", help="Column of terminals or merchants.")
@click.option("--amount", help="Column of amounts.")
@click.option(
    "--claimed",
    help="Column with the date on which a fraud is claimed, empty if never.  [default: drawn at "
    "random, about a week later; one in ten never]",
)
@click.option(
    "--budget", "-k", type=click.IntRange(1),
    help="Cards to check per day.  [default: 100; without DATA, one per 50 customers]",
)  # fmt: skip
@click.option(
    "--days", default=60, show_default=True, type=click.IntRange(1), help="Days to replay."
)
@click.option(
    "--strategies",
    help="Comma-separated: static, nightly, feedback, weighted, online.  [default: all; with "
    "--live: static, nightly, online]",
)
@click.option(
    "--random-share", default=0.05, show_default=True, type=click.FloatRange(0, 1),
    help="Share of the checks that are of cards drawn at random, as at a desk.",
)  # fmt: skip
@click.option(
    "--customers", default=1_000, show_default=True, type=click.IntRange(1),
    help="Without DATA: number of simulated cards.",
)  # fmt: skip
@click.option(
    "--drift", is_flag=True,
    help="Without DATA: no terminal is compromised before --drift-day, so that no model has seen "
    "such frauds before.",
)  # fmt: skip
@click.option(
    "--drift-day", default=8, show_default=True, type=click.IntRange(1),
    help="With --drift: replayed day on which the new frauds start, counted from 1.",
)  # fmt: skip
@click.option(
    "--live", is_flag=True,
    help="Also send the payments to two served desks, one of them retrained every night, whose "
    "queues are worked on through their pages (minutes to an hour; toprank[desk]).",
)  # fmt: skip
@click.option(
    "--trees", default=50, show_default=True, type=click.IntRange(1), help="Trees per model."
)
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(0, 2**31 - 1),
    help="Random seed.",
)  # fmt: skip
@click.option("--jobs", type=click.IntRange(1), help="Threads.  [default: all cores]")
@click.option(
    "-o", "--output", default="feedback.html", show_default=True,
    type=click.Path(path_type=Path), help="HTML page to write.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print every figure as JSON.")
@source_options(required=False)
@force_option
def feedback(
    data: DataPlace | None,
    label: str | None,
    time: str | None,
    card: str | None,
    terminal: str | None,
    amount: str | None,
    claimed: str | None,
    budget: int | None,
    days: int,
    strategies: str | None,
    random_share: float,
    customers: int,
    drift: bool,
    drift_day: int,
    live: bool,
    trees: int,
    seed: int,
    jobs: int | None,
    output: Path,
    as_json: bool,
) -> None:
    """Replay days of checking on payments whose labels are all known, for each strategy.

    On each day the most suspicious cards are checked. Verdicts are known the same day, claims come
    late, and after 30 days without either a payment counts as genuine. The strategies are a model
    trained once, a model retrained each night, two models retrained on verdicts and on older
    labels, a model retrained on all payments with weighted frauds, and an online learner. With
    --live, the same days also pass at real servers, as `toprank serve` starts them.

    DATA (CSV or Parquet) needs --label, --time, --card, --terminal and --amount. Without DATA,
    payments are simulated.
    """
    from toprank.cli import paths, screen

    columns = _columns(
        data, label=label, time=time, card=card, terminal=terminal, amount=amount, claimed=claimed
    )
    paths.check_inputs(data)
    if live:
        from toprank.cli import desk_extra

        desk_extra.check_installed()
    from toprank import BoostedRanker
    from toprank.simulator.feedback import facts_of, text_of

    chosen = _strategy_names(strategies, live)
    if drift and drift_day > days:
        raise click.UsageError(f"--drift-day must be one of the {days} --days; got {drift_day}.")
    if budget is None:
        budget = _BUDGET if data else max(1, customers // _CUSTOMERS_PER_CHECK)
    paths.check_output(output, data, "page")
    new_on = drift_day - 1 if drift else None
    payments = _simulated(customers, days, new_on, seed) if data is None else _read(data, columns)
    learner = BoostedRanker(
        n_estimators=trees,
        learning_rate=_LEARNING_RATE,
        random_state=seed,
        n_jobs=-1 if jobs is None else jobs,
    )
    with screen.progress_bar() as progress:
        options = {
            **columns, "budget": budget, "days": days, "strategies": chosen,
            "random_share": random_share, "random_state": seed, "progress": progress,
        }  # fmt: skip
        replayed = _replayed(payments, learner, options, live, trees, new_on)
    if as_json:
        screen.print_json(facts_of(replayed))
    else:
        screen.show(text_of(replayed))
    title = f"{data.name}: days of checking" if data else "Simulated payments: days of checking"
    parameters = {
        **({"data": data.name} if data else {"customers": customers, "drift": drift}),
        **({"drift day": drift_day} if drift else {}),
        "live": live,
        **{f"column of {role}": name for role, name in columns.items()},
        "budget": budget, "days": days, "strategies": ", ".join(chosen),
        "random share": random_share, "seed": seed,
        **{f"learner: {name}": value for name, value in learner.get_params().items()},
    }  # fmt: skip
    _write(output, replayed, title, parameters)


def _columns(data: DataPlace | None, **given: str | None) -> dict[str, Any]:
    """Return the column of each role; raise for missing ones, and for columns without DATA."""
    named = [role for role, name in given.items() if name is not None]
    if data is None:
        if named:
            raise click.UsageError(
                f"--{named[0]} must come with DATA, the file it is a column of."
            )
        return dict(_SIMULATED)
    for name in ("customers", "drift", "drift_day"):
        if click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(
                f"--{name.replace('_', '-')} must come without DATA: it is for simulated payments."
            )
    missing = [role for role in _ROLES if given[role] is None]
    if missing:
        options = ", ".join(f"--{role}" for role in missing)
        raise click.UsageError(f"DATA must come with the names of its columns; give {options}.")
    return given


def _strategy_names(strategies: str | None, live: bool) -> list[str]:
    from toprank.simulator.feedback import STRATEGIES, checked_strategies

    if strategies is None and live:
        from toprank.live.served_days.live_replay import BESIDE

        return list(BESIDE)
    if strategies is None:
        return list(STRATEGIES)
    try:
        return checked_strategies(name.strip() for name in strategies.split(","))
    except ValueError as error:
        raise click.UsageError(f"--{error}") from error


def _replayed(
    payments: Any,
    learner: Any,
    options: dict[str, Any],
    live: bool,
    trees: int,
    new_on: int | None,
) -> Any:
    """Return the replay of strategies, and of served desks with `live`."""
    if not live:
        from toprank.simulator.feedback import replay

        return replay(payments, learner, **options)
    from toprank.live.served_days.live_replay import live_replay

    return live_replay(payments, learner, **options, n_trees=trees, new_on=new_on)


def _simulated(customers: int, days: int, new_on: int | None, seed: int) -> Any:
    import pyarrow as pa

    from toprank.cli import screen
    from toprank.simulator import Simulation, tables_by_day

    simulation = Simulation(
        n_cards=customers,
        n_terminals=2 * customers,
        n_days=WARM_UP_DAYS + days,
        random_state=seed,
        starts={} if new_on is None else {"terminal": WARM_UP_DAYS + new_on},
        claims=True,
    )
    new = (
        ""
        if new_on is None
        else f"; frauds at compromised terminals start on day {new_on + 1} of these"
    )
    screen.remark(
        f"Simulating {WARM_UP_DAYS + days:,} days of payments of {customers:,} customers at "
        f"{2 * customers:,} terminals, claims about a week late; the last {days:,} are replayed"
        f"{new}."
    )
    with screen.busy("simulating payments"):
        return pa.concat_tables(tables_by_day(simulation))


def _read(data: DataPlace, columns: dict[str, Any]) -> Any:
    from toprank.cli import screen

    with screen.busy(f"reading {data.name}"):
        names = list(dict.fromkeys(name for name in columns.values() if name is not None))
        return data.source.table(names)


def _write(output: Path, replayed: Any, title: str, parameters: dict[str, Any]) -> None:
    from toprank.cli import screen
    from toprank.present.report.feedback_report import feedback_report_of, write_feedback_report

    report = feedback_report_of(replayed, title=title, parameters=parameters)
    write_feedback_report(report, output)
    screen.remark(f"Wrote {output}")
