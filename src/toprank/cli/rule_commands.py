"""`toprank rules`: write rules, try them, and bring them into use, in a desk."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from toprank.cli import desk_actor
from toprank.cli.rule_trials import backtest, suggest

EXAMPLES = """
\b
Examples:
  toprank rules check desk "amount > 2 * card_max_amount_7d_before"
  toprank rules backtest desk "amount > 500 AND country <> 'FR'"
  toprank rules add desk large-abroad "amount > 500 AND country <> 'FR'" --kind block --by anna
  toprank rules stage desk large-abroad --by anna        # evaluated, does nothing
  toprank rules approve desk large-abroad --by ben       # live; needs a second person
  toprank rules snooze desk card-042 --rule large-abroad --days 30 --reason "on holiday" --by ben
  toprank rules retire desk large-abroad --by anna
"""

_FOLDER = click.argument("folder", type=click.Path(path_type=Path))
_NAME = click.argument("name")
_VERSION = click.option("--version", type=int, help="Version.  [default: the newest]")
_BY = click.option("--by", help="Person who does it, for the audit.  [default: your login name]")
_KIND = click.option(
    "--kind", type=click.Choice(["block", "alert"]), default="alert", show_default=True,
    help="What a match does: block the payment, or put its card on the list.",
)  # fmt: skip
_JSON = click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")


@click.group(epilog=EXAMPLES, short_help="Write, test and approve rules of a desk.")
def rules() -> None:
    """Write rules in the language of SQL conditions, backtest them, and bring them into use.

    A rule is a draft first, then in shadow (evaluated on every payment, but without effect), then
    live, which needs a second person, and retired in the end. A server that is running follows at
    once. The language is described in docs/rules.md.
    """


rules.add_command(backtest)
rules.add_command(suggest)


@rules.command(short_help="Check the text of a rule.")
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("text")
@_KIND
@_JSON
def check(source: Path, text: str, kind: Any, as_json: bool) -> None:
    """Check the condition TEXT against the fields of SOURCE: a desk's folder or a model's file."""
    from toprank.cli import desk_extra, paths, screen

    desk_extra.check_installed()
    from toprank.live.rules.desk_rules import DeskRules
    from toprank.live.rules.model_fields import rule_fields
    from toprank.live.rules.rule_language import parse

    if source.is_dir():
        with DeskRules.open(source) as desk:
            fields = desk.fields
    else:
        paths.check_inputs(source)
        with paths.opened_model(source, None) as model:
            fields = rule_fields(model)
    types = fields.of_kind(kind)
    used = {name: types[name] for name in parse(text, fields, kind).names}
    if as_json:
        screen.print_json({"text": text, "kind": kind, "fields": used})
    else:
        named = ", ".join(f"{name} ({each})" for name, each in used.items())
        screen.show(f"The rule can be used; it reads {named or 'no field'}.")


@rules.command(short_help="Store a rule as a draft.")
@_FOLDER
@_NAME
@click.argument("text")
@_KIND
@click.option("--description", default="", help="What it is for, for those who read it.")
@_BY
@_JSON
def add(
    folder: Path, name: str, text: str, kind: Any, description: str, by: str | None, as_json: bool
) -> None:
    """Store the condition TEXT as a draft of rule NAME; a rule that exists gets a new version."""
    from toprank.cli import desk_extra

    desk_extra.check_installed()
    from toprank.live.rules.desk_rules import DeskRules

    with DeskRules.open(folder) as desk:
        rule = desk.add(_actor(by), name, text, kind, description)
    _print([rule], as_json)


@rules.command("list", short_help="Print the rules.")
@_FOLDER
@click.option("--all", "with_retired", is_flag=True, help="Include retired versions.")
@_JSON
def list_rules(folder: Path, with_retired: bool, as_json: bool) -> None:
    """Print the rules of the desk in FOLDER with their state, author and approver."""
    states: list[Any] = ["draft", "shadow", "live", *(["retired"] if with_retired else [])]

    def found(connection: Any, _: int) -> Any:
        from toprank.live.store import rule_table

        return rule_table.in_states(connection, states)

    _print(_read(folder, found), as_json)


@rules.command(short_help="Print all versions of a rule.")
@_FOLDER
@_NAME
@_JSON
def show(folder: Path, name: str, as_json: bool) -> None:
    """Print every version of rule NAME, the newest first."""

    def found(connection: Any, _: int) -> Any:
        from toprank.live.rules import rule_life

        return rule_life.versions(connection, name)

    _print(_read(folder, found), as_json)


@rules.command(short_help="Move a draft to shadow.")
@_FOLDER
@_NAME
@_VERSION
@_BY
@_JSON
def stage(folder: Path, name: str, version: int | None, by: str | None, as_json: bool) -> None:
    """Move a draft of rule NAME to shadow: it is evaluated on every payment, without effect."""
    _print([_step("stage", folder, by, name, version)], as_json)


@rules.command(short_help="Make a rule live, as a second person.")
@_FOLDER
@_NAME
@_VERSION
@_BY
@_JSON
def approve(folder: Path, name: str, version: int | None, by: str | None, as_json: bool) -> None:
    """Move rule NAME from shadow to live; the person must not be its author."""
    _print([_step("approve", folder, by, name, version)], as_json)


@rules.command(short_help="Take a rule out of use.")
@_FOLDER
@_NAME
@click.option("--version", type=int, help="Version.  [default: all that are in use or drafts]")
@_BY
@_JSON
def retire(folder: Path, name: str, version: int | None, by: str | None, as_json: bool) -> None:
    """Retire rule NAME: one version, or all that are not retired yet."""
    _print(_step("retire", folder, by, name, version), as_json)


@rules.command(short_help="Keep rules from a card for some days.")
@_FOLDER
@click.argument("card")
@click.option("--rule", help="Rule to snooze.  [default: all rules]")
@click.option("--days", type=float, required=True, help="Days until it ends, at most 180.")
@click.option("--reason", required=True, help="Why, for the audit.")
@click.option(
    "--card-key", type=click.Path(path_type=Path),
    help="File of the key of cards, if the model was fitted with one.",
)  # fmt: skip
@_BY
@_JSON
def snooze(
    folder: Path,
    card: str,
    rule: str | None,
    days: float,
    reason: str,
    card_key: Path | None,
    by: str | None,
    as_json: bool,
) -> None:
    """Keep one rule, or all rules, from the payments of CARD for some days."""
    from toprank.cli import desk_extra, screen

    desk_extra.check_installed()
    from toprank.live.rules.desk_rules import DeskRules

    with DeskRules.open(folder, card_key) as desk:
        made = desk.snooze(_actor(by), card, rule, reason, days)
    if as_json:
        screen.print_json(made._asdict() | {"at": _moment(made.at), "until": _moment(made.until)})
    else:
        what = "all rules" if rule is None else f"rule {rule!r}"
        screen.show(f"Snoozed {what} for card {card} until {_moment(made.until)} UTC.")


def _step(step: str, folder: Path, by: str | None, name: str, version: int | None) -> Any:
    """Take a step in the life of a rule."""

    def take(connection: Any, at: int) -> Any:
        from toprank.live.rules import rule_life

        return getattr(rule_life, step)(connection, at, _actor(by), name, version)

    return _run(folder, take, is_writing=True)


def _read(folder: Path, work: Callable[[Any, int], Any]) -> Any:
    return _run(folder, work, is_writing=False)


def _run(folder: Path, work: Callable[[Any, int], Any], is_writing: bool) -> Any:
    """Return what `work` does with the database of a desk and the time."""
    from toprank.cli import desk_extra

    desk_extra.check_installed()
    from toprank.live.desk import Desk

    with Desk.open(folder) as desk:
        database = desk.database
        with database.writing() if is_writing else database.reading() as connection:
            return work(connection, desk.wall_time())


def _print(rules: list[Any], as_json: bool) -> None:
    from toprank.cli import screen
    from toprank.wording import aligned

    if as_json:
        screen.print_json(
            [each._asdict() | {"created_at": _moment(each.created_at)} for each in rules]
        )
        return
    names = ("name", "version", "kind", "state", "author", "approver", "text")
    rows = [[str(getattr(each, name) or "-") for name in names] for each in rules]
    screen.show(aligned([list(names), *rows], n_left=len(names)))


def _actor(by: str | None) -> str:
    if by is not None and not by.strip():
        raise click.UsageError("--by must name a person; it is empty.")
    return desk_actor.actor(by)


def _moment(microseconds: int) -> str:
    """Return a time to the minute."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)
    return f"{moment:%Y-%m-%d %H:%M}"
