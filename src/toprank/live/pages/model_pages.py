"""The models of the desk: what each learned from, how it compares, and who lets it rank."""

from collections.abc import Callable
from typing import Any, NamedTuple

import sqlalchemy as sa
from starlette.responses import Response

from toprank.live.desk import MODELS
from toprank.live.desk_clock import wall_time
from toprank.live.engine.online_model import FILE, OnlineLessons, saved_lessons
from toprank.live.learning import model_life
from toprank.live.learning.live_comparison import live_comparison
from toprank.live.learning.model_life import ModelLifeError
from toprank.live.learning.model_shadow import shadow_summary
from toprank.live.learning.model_words import (
    comparison_lines,
    day_range,
    learned_line,
    live_lines,
    online_line,
    shadow_line,
    training_words,
)
from toprank.live.learning.retraining import is_training
from toprank.live.pages.page_kit import PageRequest, PageRoute
from toprank.live.pages.rules_pages import catch_up, sentence
from toprank.live.store import model_table
from toprank.live.store.model_table import StoredModel
from toprank.live.store.shadow_score_table import ONLINE

_MOST = 100  # models that the page shows


class ShownModel(NamedTuple):
    """A model with what the page says of it."""

    model: StoredModel
    days: str
    lines: list[str]
    is_yours: bool  # so that a second person has to decide on it


class _Found(NamedTuple):
    models: list[StoredModel]
    shadow: list[str]
    online: list[str]  # what there is to know of the online model
    is_training: bool


async def models_page(page: PageRequest) -> Response:
    """Return the models of the desk, the newest first."""
    return await _models_page(page)


async def _models_page(page: PageRequest, error: str = "", status: int = 200) -> Response:
    found = await page.desk.run(_read, page)
    shown = [_shown(each, found, page.person.actor) for each in found.models]
    return page.render(
        "models.html",
        status,
        shown=shown,
        in_use=page.desk.engine.facts().get("model") if page.desk.engine else None,
        retrain_hour=page.desk.settings.retrain_hour,
        online=found.online,
        error=error,
    )


def _read(page: PageRequest) -> _Found:
    database, settings = page.desk.database, page.desk.settings
    catch_up(page.desk)
    with database.reading() as connection:
        models = model_table.newest(connection, _MOST)
        champion = model_table.in_state(connection, "champion")
        challenger = model_table.in_state(connection, "challenger")
        shadow, online = [], []
        if champion is not None and settings.online:
            online = _online_lines(connection, page, champion)
        if challenger is not None:
            number = challenger.number
            shadow = [shadow_line(shadow_summary(connection, number, page.now, settings))]
            if champion is not None:
                found = live_comparison(connection, champion, number, page.now, settings)
                shadow = live_lines(found) + shadow
    return _Found(models, shadow, online, is_training(database.folder))


def _online_lines(
    connection: sa.Connection, page: PageRequest, champion: StoredModel
) -> list[str]:
    """Return what the online model has learned from, and how it compares."""
    lessons = saved_lessons(page.desk.database.folder / MODELS / FILE)
    now, settings = page.now, page.desk.settings
    return [
        online_line(lessons or OnlineLessons(0, 0)),
        *live_lines(live_comparison(connection, champion, ONLINE, now, settings)),
        shadow_line(shadow_summary(connection, ONLINE, now, settings)),
    ]


def _shown(model: StoredModel, found: _Found, actor: str) -> ShownModel:
    lines = []
    if model.n_rows is not None:
        lines.append(learned_line(model))
    lines += comparison_lines(model)
    if model.state == "challenger":
        lines += found.shadow
    if model.state == "training":
        lines.append(f"{training_words(model, found.is_training).capitalize()}.")
    return ShownModel(
        model,
        day_range(model.first_day, model.last_day),
        lines,
        not model_life.may_approve(model, actor),
    )


Step = Callable[..., StoredModel]


def _step(step: Step, says: str) -> Callable[[PageRequest], Any]:
    """Return the handler of a button that takes a step in the life of a model."""

    async def handler(page: PageRequest) -> Response:
        number = page.request.path_params.get("number")
        arguments = [] if number is None else [int(number)]

        def take() -> StoredModel:
            with page.desk.database.writing() as connection:
                return step(connection, wall_time(), page.person.actor, *arguments)

        try:
            model = await page.desk.run(take)
        except ModelLifeError as error:
            return await _models_page(page, sentence(error), 409)
        return page.redirect("/models", says.format(number=model.number))

    return handler


MODEL_PAGES = [
    PageRoute("GET", "/models", "models.view", models_page),
    PageRoute(
        "POST", "/models/{number:int}/promote", "models.promote",
        _step(model_life.promote, "Model {number} ranks from now on."),
    ),
    PageRoute(
        "POST", "/models/{number:int}/reject", "models.reject",
        _step(model_life.reject, "Model {number} is retired."),
    ),
    PageRoute(
        "POST", "/models/rollback", "models.rollback",
        _step(model_life.rollback, "Model {number} ranks again."),
    ),
]  # fmt: skip
