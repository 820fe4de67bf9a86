"""`toprank models`: the models of a live system, and which of them ranks."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from toprank.cli import desk_actor

EXAMPLES = """
\b
Examples:
  toprank retrain desk --by anna                # trains a challenger
  toprank models list desk
  toprank models show desk 2                    # what it learned from, and how it compares
  toprank models promote desk 2 --by ben        # it ranks from now on; needs a second person
  toprank models rollback desk --by ben         # the model before ranks again
"""

_LONGEST_COUNT, _PAUSE = 10.0, 0.005  # seconds in all, and between two transactions

_FOLDER = click.argument("folder", type=click.Path(path_type=Path))
_NUMBER = click.argument("number", type=click.IntRange(1))
_BY = click.option("--by", help="Person who does it, for the audit.  [default: your login name]")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")


@click.group(epilog=EXAMPLES, short_help="Compare, promote and roll back models of a desk.")
def models() -> None:
    """Look at the models of a live system, and decide which of them ranks.

    The champion ranks; a challenger, which `toprank retrain` makes, only scores beside it until a
    person other than the one who asked for it promotes it. Every model is kept. A server that is
    running follows at once.
    """


@models.command("list", short_help="Print the models.")
@_FOLDER
@_JSON
def list_models(folder: Path, as_json: bool) -> None:
    """Print the models of the live system in FOLDER, the newest first."""
    from toprank.cli import screen

    def found(desk: Any, connection: Any) -> Any:
        from toprank.live.store import model_table

        return model_table.newest(connection), _online(desk, connection)

    rows, online = _run(folder, found, is_writing=False, before=_count_if_online)
    from toprank.live.learning.model_words import day_range, live_lines, model_facts, online_line
    from toprank.wording import aligned

    if as_json:
        screen.print_json([model_facts(each) for each in rows] + ([online[2]] if online else []))
        return
    heads = ["model", "state", "days learned from", "asked for by", "approved by", "ended"]
    table = [
        [
            str(each.number),
            each.state,
            day_range(each.first_day, each.last_day),
            each.who,
            each.approver or "-",
            each.why or "-",
        ]
        for each in rows
    ]
    screen.show(aligned([heads, *table], n_left=len(heads)))
    if online:
        lessons, live, _ = online
        lines = [f"Online model, in shadow. {online_line(lessons)}", *live_lines(live)]
        screen.show("\n".join(["", *lines]))


@models.command(short_help="Print what a model learned from, and how it compares.")
@_FOLDER
@_NUMBER
@_JSON
def show(folder: Path, number: int, as_json: bool) -> None:
    """Print what model NUMBER learned from and how it compares with the champion of then.

    Of the challenger, also how it compares on live payments since then, as far as their labels
    are known, and how its list of today differs from the champion's.
    """
    from toprank.cli import screen

    def found(desk: Any, connection: Any) -> Any:
        from toprank.live.learning import model_life

        model = model_life.model_of(connection, number)
        return model, _in_shadow(desk, connection, model) if model.state == "challenger" else None

    model, beside = _run(folder, found, is_writing=False, before=_count)
    from toprank.live.learning.model_words import (
        live_lines,
        model_facts,
        model_lines,
        shadow_line,
    )

    live, shadow = beside or (None, None)
    if as_json:
        facts = {"live": live and live.to_json(), "shadow": shadow and shadow.to_json()}
        screen.print_json(model_facts(model) | facts)
        return
    lines = [*live_lines(live), shadow_line(shadow)] if live and shadow else []
    screen.show("\n".join([*model_lines(model), *lines]))


@models.command(short_help="Let the challenger rank.")
@_FOLDER
@_NUMBER
@_BY
@_JSON
def promote(folder: Path, number: int, by: str | None, as_json: bool) -> None:
    """Make challenger NUMBER the champion; by a person other than the one who asked for it.

    A running server scores with it from now on, without stopping, and ranks open alerts again.
    """
    _step(folder, "promote", by, as_json, number)


@models.command(short_help="Let the model before rank again.")
@_FOLDER
@_BY
@_JSON
def rollback(folder: Path, by: str | None, as_json: bool) -> None:
    """Make the champion before the champion again.

    By a person other than the one who asked for the model that is rolled back.
    """
    _step(folder, "rollback", by, as_json)


@models.command(short_help="Retire the challenger.")
@_FOLDER
@_NUMBER
@_BY
@_JSON
def reject(folder: Path, number: int, by: str | None, as_json: bool) -> None:
    """Retire challenger NUMBER: it scores no longer, and is kept."""
    _step(folder, "reject", by, as_json, number)


def _in_shadow(desk: Any, connection: Any, model: Any) -> Any:
    """Return how a challenger compares on live payments, and its list of today."""
    from toprank.live.learning.live_comparison import live_comparison
    from toprank.live.learning.model_shadow import shadow_summary
    from toprank.live.store import model_table

    now, settings = desk.now(connection), desk.settings
    champion = model_table.in_state(connection, "champion")
    return (
        champion and live_comparison(connection, champion, model.number, now, settings),
        shadow_summary(connection, model.number, now, settings),
    )


def _online(desk: Any, connection: Any) -> Any:
    """Return what the online model learned from, how it compares, and both in plain values."""
    from toprank.live.engine.online_model import FILE, OnlineLessons, saved_lessons
    from toprank.live.learning.live_comparison import live_comparison
    from toprank.live.store import model_table
    from toprank.live.store.shadow_score_table import ONLINE

    champion = model_table.in_state(connection, "champion")
    if not desk.settings.online or champion is None:
        return None
    lessons = saved_lessons(desk.path_of(FILE)) or OnlineLessons(0, 0)
    live = live_comparison(connection, champion, ONLINE, desk.now(connection), desk.settings)
    facts = {"number": ONLINE, "state": "online", "file": FILE, "live": live.to_json()}
    return lessons, live, facts | lessons._asdict()


def _count_if_online(desk: Any) -> None:
    if desk.settings.online:
        _count(desk)


def _step(folder: Path, step: str, by: str | None, as_json: bool, *number: int) -> None:
    """Take a step in the life of a model, and print what became of it."""
    from toprank.cli import screen

    if by is not None and not by.strip():
        raise click.UsageError("--by must name a person; it is empty.")

    def take(desk: Any, connection: Any) -> Any:
        from toprank.live.learning import model_life

        actor = desk_actor.actor(by)
        return getattr(model_life, step)(connection, desk.wall_time(), actor, *number)

    model = _run(folder, take, is_writing=True)
    from toprank.live.learning.model_words import model_facts

    if as_json:
        screen.print_json(model_facts(model))
    elif model.state == "champion":
        screen.show(f"Model {model.number} is the champion: payments are ranked by it.")
    else:
        screen.show(f"Model {model.number} is retired; its file is kept.")


def _run(
    folder: Path,
    work: Callable[[Any, Any], Any],
    is_writing: bool,
    before: Callable[[Any], None] = lambda _: None,
) -> Any:
    """Return what `work` does with a desk, after `before`, and a connection to its database."""
    from toprank.cli import desk_extra

    desk_extra.check_installed()
    from toprank.live.desk import Desk

    with Desk.open(folder) as desk:
        database = desk.database
        before(desk)
        with database.writing() if is_writing else database.reading() as connection:
            return work(desk, connection)


def _count(desk: Any) -> None:
    """Count what is new in the log, as far as a command can wait for it."""
    from contextlib import suppress

    import sqlalchemy as sa

    from toprank.live.monitor import log_digest

    with suppress(sa.exc.OperationalError):  # another process writes: what is counted is shown
        log_digest.catch_up(desk.database, desk.settings.alert_from, _LONGEST_COUNT, _PAUSE)
