"""Backtests and suggestions: started by a button, shown when they are finished."""

from typing import Any

from starlette.responses import Response

from toprank.live.pages.bar_plot import BarCount, bar_plot
from toprank.live.pages.check_requests import number_in
from toprank.live.pages.page_kit import PageError, PageRequest, PageRoute
from toprank.live.pages.rule_editor import draft_of, editor, fields_in
from toprank.live.pages.rules_pages import sentence
from toprank.live.rules.rule_fields import KINDS, RuleError
from toprank.live.rules.rule_language import parse
from toprank.live.rules.rule_trial_runs import TrialBusyError, check_days
from toprank.live.store import rule_table, rule_trial_table
from toprank.live.store.rule_trial_table import RuleTrial
from toprank.wording import percent

_SECONDS = 2  # after which a page of a trial that is running is loaded again


async def backtest_version(page: PageRequest) -> Response:
    """Start the backtest of a stored version."""
    name, version = page.request.path_params["name"], page.field("version")

    def stored() -> tuple[str, str]:
        with page.desk.database.reading() as connection:
            for each in rule_table.versions_of(connection, name):
                if str(each.version) == version:
                    return each.text, each.kind
        raise PageError(404, "There is no such version of a rule.")

    text, kind = await page.desk.run(stored)
    try:
        return await _start(page, "backtest", text, kind, name)
    except RuleError as error:
        raise PageError(400, sentence(error)) from None


async def backtest_text(page: PageRequest) -> Response:
    """Start the backtest of what somebody has written; a mistake is shown beside it."""
    draft = draft_of(page)

    def is_stored() -> bool:
        with page.desk.database.reading() as connection:
            return bool(rule_table.versions_of(connection, draft.name))

    rule = draft.name if await page.desk.run(is_stored) else None
    try:
        return await _start(page, "backtest", draft.text, draft.kind, rule)
    except RuleError as error:
        return editor(page, draft, error=str(error), status=400)


async def start_suggestions(page: PageRequest) -> Response:
    """Start to look for rules."""
    kind = page.field("kind", "alert")
    if kind not in KINDS:
        raise PageError(400, f"A rule is of kind {' or '.join(KINDS)}.")
    try:
        return await _start(page, "suggest", "", kind, None)
    except RuleError as error:
        raise PageError(400, sentence(error)) from None


async def _start(page: PageRequest, task: Any, text: str, kind: Any, rule: str | None) -> Response:
    if task == "backtest":
        parse(text, fields_in(page.desk), kind)
    options: dict[str, Any] = dict(check_days(page.field("since"), page.field("until")))
    if page.field("allow_immature"):
        options["allow_immature"] = True
    start, who = page.desk.trials.start, page.person.actor
    try:
        number = await page.desk.run(start, task, who, text, kind, rule, options)
    except TrialBusyError as error:
        raise PageError(409, sentence(error)) from None
    return page.redirect(f"/trials/{number}")


async def trial_page(page: PageRequest) -> Response:
    """Return how a trial is doing; while it is running, the page loads itself again."""
    trial = await page.desk.run(page.desk.trials.find, number_in(page))
    if trial is None:
        raise PageError(404, "There is no such backtest.")
    response = page.render(
        "trial.html", trial=trial, plot=_plot(trial), share=percent, seconds=_SECONDS
    )
    if trial.state == "running":
        response.headers["refresh"] = str(_SECONDS)
    return response


async def suggestions_page(page: PageRequest) -> Response:
    """Return what was suggested last, and a button to look again."""

    def read() -> tuple[list[RuleTrial], list[RuleTrial]]:
        with page.desk.database.reading() as connection:
            return (
                rule_trial_table.newest(connection, "suggest"),
                rule_trial_table.newest(connection, "backtest"),
            )

    suggested, tested = await page.desk.run(read)
    return page.render("trials.html", suggested=suggested, tested=tested, kinds=KINDS)


def _plot(trial: RuleTrial) -> Any:
    """Return the matches by day, frauds filled; None without a backtest."""
    if trial.task != "backtest" or trial.state != "done":
        return None
    days = trial.result["days"][-60:]
    counts = [
        BarCount(each["day"][5:], sum(each["matches"].values()), each["matches"]["fraud"])
        for each in days
    ]
    n_matches, n_frauds = (sum(getattr(each, of) for each in counts) for of in ("total", "part"))
    text = f"{n_matches:,.0f} matches of {len(days)} days, {n_frauds:,.0f} of them fraud."
    return bar_plot(counts, text)


TRIAL_PAGES = [
    PageRoute("GET", "/trials", "rules.view", suggestions_page),
    PageRoute("GET", "/trials/{number:int}", "rules.view", trial_page, is_use=False),
    PageRoute("POST", "/rules/{name}/backtest", "rules.edit", backtest_version),
    PageRoute("POST", "/trials/backtest", "rules.edit", backtest_text),
    PageRoute("POST", "/trials/suggest", "rules.edit", start_suggestions),
]
