"""`toprank rules backtest` and `suggest`: what rules would have done on stored payments."""

from datetime import datetime
from pathlib import Path
from typing import Any

import click

_FOLDER = click.argument("folder", type=click.Path(path_type=Path))
_DAY = click.DateTime(["%Y-%m-%d"])
_SINCE = click.option("--from", "since", type=_DAY, help="First day.  [default: the first stored]")
_UNTIL = click.option("--until", type=_DAY, help="Last day.  [default: the last stored]")
_CAPACITY = click.option(
    "--capacity", type=click.IntRange(1), help="Cards checked per day.  [default: the desk's]"
)
_KIND = click.option(
    "--kind", type=click.Choice(["block", "alert"]), default="alert", show_default=True,
    help="What a match does; only alerts can use suspicion.",
)  # fmt: skip
_IMMATURE = click.option(
    "--allow-immature", is_flag=True, help="Also use a period with under 80 % of labels known."
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")


@click.command(short_help="Print what a rule would have matched.")
@_FOLDER
@click.argument("rule")
@_KIND
@_SINCE
@_UNTIL
@_CAPACITY
@_IMMATURE
@_JSON
def backtest(folder: Path, rule: str, as_json: bool, **options: Any) -> None:
    """Print what RULE, a stored one by name or a condition, would have matched in FOLDER.

    Payments have the features they had then and the labels that hold now.
    """
    from toprank.cli import desk_extra, screen

    desk_extra.check_installed()
    from toprank.live.rules.backtest_text import backtest_text
    from toprank.live.rules.desk_rules import DeskRules

    with DeskRules.open(folder) as desk, screen.busy("reading the stored payments"):
        found = desk.backtest(rule, **_period(**options))
    if as_json:
        screen.print_json(found.to_json())
    else:
        screen.show(backtest_text(found))


@click.command(short_help="Suggest rules, read off trees.")
@_FOLDER
@click.option("-n", "most", type=click.IntRange(1), default=10, show_default=True,
              help="Rules at most.")  # fmt: skip
@_KIND
@_SINCE
@_UNTIL
@_CAPACITY
@_IMMATURE
@_JSON
def suggest(folder: Path, most: int, as_json: bool, **options: Any) -> None:
    """Print rules that find frauds in FOLDER which the rules in use do not.

    They are grown on the earlier 70 % of the payments and tested on the days after.
    """
    from toprank.cli import desk_extra, screen

    desk_extra.check_installed()
    from toprank.live.rules.desk_rules import DeskRules

    with DeskRules.open(folder) as desk, screen.busy("growing trees"):
        found = desk.suggest(most=most, **_period(**options))
    if as_json:
        screen.print_json([{"text": each.text, "grown_precision": each.grown_precision,
                            "later": each.later.to_json()} for each in found])  # fmt: skip
    else:
        screen.show(_lines(found))


def _period(
    since: datetime | None,
    until: datetime | None,
    capacity: int | None,
    allow_immature: bool,
    kind: Any,
) -> dict[str, Any]:
    """Return the options as the library takes them."""
    from toprank.live.rules.rule_backtest import LEAST_MATURITY

    return {
        "kind": kind,
        "k": capacity,
        "since": None if since is None else since.date(),
        "until": None if until is None else until.date(),
        "least_maturity": 0.0 if allow_immature else LEAST_MATURITY,
    }


def _lines(found: list[Any]) -> str:
    from toprank.wording import percent

    if not found:
        return "No rule holds on the later days beyond those in use."
    return "\n".join(
        f"{each.text}\n  later days: {each.later.matches.fraud:,} frauds and "
        f"{each.later.matches.genuine:,} genuine, precision "
        f"{percent(each.later.matches.precision)} (earlier {percent(each.grown_precision)}), "
        f"detection rate {percent(each.later.detection_rate)}"
        for each in found
    )
