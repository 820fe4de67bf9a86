"""The board of rules, the page of each rule, and the steps of its life."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import sqlalchemy as sa
from starlette.responses import Response

from toprank.data.tables.spans import in_words
from toprank.live.desk_clock import wall_time
from toprank.live.messages import BusyError
from toprank.live.monitor import log_digest
from toprank.live.pages import board_values
from toprank.live.pages.page_kit import PageDesk, PageError, PageRequest, PageRoute
from toprank.live.rules import rule_life
from toprank.live.rules.rule_board import BoardRow, RuleBoard, rule_board
from toprank.live.rules.rule_life import RuleLifeError
from toprank.live.store import (
    audit_chain,
    digest_tables,
    payment_log,
    rule_trial_table,
    snooze_table,
)
from toprank.live.store.audit_chain import AuditEntry
from toprank.live.store.rule_table import StoredRule
from toprank.live.store.rule_trial_table import RuleTrial
from toprank.live.store.snooze_table import Snooze

PERIODS = (30, 90, 180)
"""The days that a board can be about."""

_LONGEST_COUNT = 0.15  # seconds: a page does not wait for more
_ORDER = ("live", "shadow", "draft", "retired")


class CountedBoard(NamedTuple):
    """A board, how many payments are not in it yet, and why rules were paused, by name."""

    board: RuleBoard
    n_left: int
    pauses: dict[str, AuditEntry]


class _RuleFacts(NamedTuple):
    versions: list[StoredRule]
    rows: list[BoardRow]
    steps: list[AuditEntry]
    snoozes: list[Snooze]
    trials: list[RuleTrial]


async def board_page(page: PageRequest) -> Response:
    """Return what every rule and the model have done in a period."""
    n_days = _days(page)
    found = await page.desk.run(counted_board, page.desk, n_days)
    return page.render(
        "rules.html",
        groups=_groups(found.board.rows),
        period=found.board.period,
        n_left=found.n_left,
        pauses=found.pauses,
        n_days=n_days,
        periods=PERIODS,
        silence=in_words(page.desk.settings.silent),
        values=board_values,
    )


def counted_board(desk: PageDesk, n_days: int) -> CountedBoard:
    """Return the board of the last days, after counting what can be counted quickly."""
    settings = desk.settings
    catch_up(desk)
    silence = int(settings.silent.astype("timedelta64[us]").astype(int))
    with desk.database.reading() as connection:
        place = digest_tables.place(connection)
        n_left = payment_log.last_position(connection) - (0 if place is None else place.position)
        board = rule_board(connection, desk.now(), silence, settings.alert_from, n_days)
        shadow = [row.rule for row in board.rows if row.rule and row.state == "shadow"]
        pauses = {
            rule.name: pause
            for rule in shadow
            for pause in _pauses([rule], audit_chain.of_rule(connection, rule.name))
        }
    return CountedBoard(board, n_left, pauses)


def catch_up(desk: PageDesk) -> None:
    """Count what has been logged, as far as a page can wait for it."""
    with suppress(BusyError, sa.exc.OperationalError):  # the page says what is not counted yet
        log_digest.catch_up(desk.database, desk.settings.alert_from, _LONGEST_COUNT)


async def rule_page(page: PageRequest) -> Response:
    """Return all there is to know of a rule."""
    return await _rule_page(page)


async def _rule_page(page: PageRequest, error: str = "", status: int = 200) -> Response:
    name = page.request.path_params["name"]

    def read() -> _RuleFacts:
        board = counted_board(page.desk, PERIODS[1]).board
        with page.desk.database.reading() as connection:
            return _RuleFacts(
                rule_life.versions(connection, name),
                [row for row in board.rows if row.rule is not None and row.name == name],
                audit_chain.of_rule(connection, name),
                [
                    each
                    for each in snooze_table.active(connection, page.now)
                    if each.rule in (name, None)
                ],
                rule_trial_table.newest(connection, "backtest", name),
            )

    try:
        found = await page.desk.run(read)
    except RuleLifeError as unknown:
        raise PageError(404, sentence(unknown)) from None
    return page.render(
        "rule.html",
        status,
        name=name,
        facts=found,
        n_days=PERIODS[1],
        pauses=_pauses(found.versions, found.steps),
        may_approve=[
            each.version
            for each in found.versions
            if each.state == "shadow" and each.author != page.person.actor
        ],
        error=error,
        values=board_values,
    )


def _pauses(versions: list[StoredRule], steps: list[AuditEntry]) -> list[AuditEntry]:
    """Return why versions are in shadow that the circuit breaker has moved there."""
    newest: dict[str, AuditEntry] = {}
    for entry in steps:
        newest.setdefault(entry.subject.rpartition(":")[2], entry)
    shadow = [str(each.version) for each in versions if each.state == "shadow"]
    return [newest[each] for each in shadow if newest[each].action == "rule.trip"]


Step = Callable[[sa.Connection, int, str, str, int | None], Any]


def _step(step: Step, says: str) -> Callable[[PageRequest], Any]:
    """Return the handler of a button that takes a step in the life of a version."""

    async def handler(page: PageRequest) -> Response:
        name, version = page.request.path_params["name"], page.field("version")
        if not (version.isascii() and version.isdigit() and len(version) < 10):
            raise PageError(400, "A step needs the version of the rule.")

        def take() -> None:
            with page.desk.database.writing() as connection:
                step(connection, wall_time(), page.person.actor, name, int(version))

        try:
            await page.desk.run(take)
        except RuleLifeError as error:
            return await _rule_page(page, sentence(error), 409)
        return page.redirect(f"/rules/{name}", says.format(version=version))

    return handler


def _groups(rows: list[BoardRow]) -> list[tuple[str, list[BoardRow]]]:
    """Return the rows by state, the model before the rules."""
    return [
        (state, sorted(
            (row for row in rows if row.state == state),
            key=lambda row: (row.rule is not None, row.name, row.version),
        ))
        for state in _ORDER
    ]  # fmt: skip


def _days(page: PageRequest) -> int:
    text = page.query.get("days", str(PERIODS[1]))
    if text not in map(str, PERIODS):
        raise PageError(400, f"A board is about {', '.join(map(str, PERIODS))} days.")
    return int(text)


def sentence(error: Exception) -> str:
    """Return the message of an error as a sentence of a page."""
    text = str(error)
    return text[:1].upper() + text[1:]


RULES_PAGES = [
    PageRoute("GET", "/rules", "rules.view", board_page),
    PageRoute("GET", "/rules/{name}", "rules.view", rule_page),
    PageRoute(
        "POST", "/rules/{name}/stage", "rules.stage",
        _step(rule_life.stage, "Version {version} is in shadow: evaluated, without effect."),
    ),
    PageRoute(
        "POST", "/rules/{name}/approve", "rules.approve",
        _step(rule_life.approve, "Version {version} is live."),
    ),
    PageRoute(
        "POST", "/rules/{name}/retire", "rules.retire",
        _step(rule_life.retire, "Version {version} is retired."),
    ),
]  # fmt: skip
