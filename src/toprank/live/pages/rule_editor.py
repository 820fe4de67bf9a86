"""The page on which rules are written: the text, what it may name, and what is wrong with it."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from starlette.responses import Response

from toprank.live.desk import fields_of
from toprank.live.desk_clock import wall_time
from toprank.live.pages.page_kit import PageDesk, PageError, PageRequest, PageRoute
from toprank.live.rules import rule_life
from toprank.live.rules.model_fields import rule_fields
from toprank.live.rules.rule_fields import KINDS, SUSPICION, RuleError, RuleFields
from toprank.live.rules.rule_language import parse
from toprank.live.store import rule_table

_LONGEST = 20_000  # characters that a page shows again
_SAMPLE = "amount > 3 * card_mean_amount_30d_before"


class Draft(NamedTuple):
    """What somebody has written."""

    name: str = ""
    kind: Any = "alert"
    text: str = ""
    description: str = ""


class NamedField(NamedTuple):
    """Something that a rule may name."""

    name: str
    type: str
    says: str


async def editor_page(page: PageRequest) -> Response:
    """Return an empty form, or one with a text, or with the newest version of a rule."""
    name = page.query.get("name", "")
    kind = page.query.get("kind", "alert")
    draft = Draft("", kind if kind in KINDS else "alert", page.query.get("text", "")[:_LONGEST])
    if name:

        def read() -> Draft:
            with page.desk.database.reading() as connection:
                stored = rule_table.versions_of(connection, name)
            if not stored:
                raise PageError(404, f"There is no rule {name[:70]!r}.")
            newest = stored[0]
            return Draft(newest.name, newest.kind, newest.text, newest.description)

        draft = await page.desk.run(read)
    return editor(page, draft)


async def write_rule(page: PageRequest) -> Response:
    """Check what was written, look for fields, or store it as a draft."""
    draft = draft_of(page)
    step, fields = page.field("step"), fields_in(page.desk)
    if step == "search":
        return editor(page, draft)
    try:
        condition = parse(draft.text, fields, draft.kind)
        if step == "check":
            return editor(page, draft, used=sorted(condition.names))

        def store() -> int:
            with page.desk.database.writing() as connection:
                return rule_life.add_rule(
                    connection, wall_time(), page.person.actor, draft.name, draft.text,
                    draft.kind, fields, draft.description,
                ).version  # fmt: skip

        version = await page.desk.run(store)
    except RuleError as error:
        return editor(page, draft, error=str(error), status=400)
    return page.redirect(f"/rules/{draft.name}", f"Version {version} is stored as a draft.")


def draft_of(page: PageRequest) -> Draft:
    """Return what is in the fields of the form."""
    draft = Draft(*(page.field(name)[:_LONGEST] for name in Draft._fields))
    if draft.kind not in KINDS:
        raise PageError(400, f"A rule is of kind {' or '.join(KINDS)}.")
    return draft


def fields_in(desk: PageDesk) -> RuleFields:
    """Return what the rules of a desk may name."""
    if desk.live is None:
        raise PageError(503, "The desk is not running, so rules cannot be checked.")
    return rule_fields(desk.live.model)


def editor(
    page: PageRequest,
    draft: Draft,
    *,
    error: str = "",
    used: list[str] | None = None,
    status: int = 200,
) -> Response:
    """Return the page on which a rule is written, with what is wrong or which fields it uses."""
    search = (page.field("search") or page.query.get("search", "")).strip()[:100]
    named = list(_named(page.desk))
    words = search.casefold().split()
    found = [each for each in named if all(word in each.name.casefold() for word in words)]
    return page.render(
        "rule_editor.html", status, draft=draft, error=error, used=used, kinds=KINDS,
        fields=found, n_fields=len(named), search=search, sample=_SAMPLE,
    )  # fmt: skip


def _named(desk: PageDesk) -> Iterator[NamedField]:
    """Yield the fields of a payment, then the features, then the score."""
    types = fields_in(desk).types
    assert desk.live is not None
    own = {each.name for each in fields_of(desk.live.model)}
    for name in sorted(types, key=lambda name: (name not in own, name)):
        says = "field of the payment" if name in own else "from the past, before the payment"
        yield NamedField(name, types[name], says)
    yield NamedField(SUSPICION, "number", "score of the model; only in rules of kind alert")


EDITOR_PAGES = [
    PageRoute("GET", "/new-rule", "rules.edit", editor_page),
    PageRoute("POST", "/new-rule", "rules.edit", write_rule),
]
