"""The templates of the pages, what they can call, and the files that pages load."""

import hashlib
from collections.abc import Collection
from importlib.resources import files
from mimetypes import guess_type
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

from toprank.live.engine.lookups import time_text
from toprank.live.pages.shown_values import FILTERS

NAVIGATION = (
    ("/queue", "Queue", "queue.view"),
    ("/search", "Search", "search.view"),
    ("/day", "My day", "day.view"),
    ("/decisions", "Decisions", "decisions.view"),
    ("/rules", "Rules", "rules.view"),
    ("/models", "Models", "models.view"),
    ("/monitor", "Monitor", "monitor.view"),
    ("/alarms", "Alarms", "monitor.view"),
    ("/users", "Users", "users.view"),
    ("/keys", "Keys", "keys.view"),
    ("/audit", "Audit", "audit.view"),
)
"""Path, name and action of the pages in the header, in their order."""


class StaticFile(NamedTuple):
    """A file that pages load; `version` is in its address, so that browsers may keep it."""

    content: bytes
    media_type: str
    version: str


class PageTemplates:
    """Renders templates.

    Parameters
    ----------
    paths
        The paths of the pages that there are.
    """

    def __init__(self, paths: Collection[str]) -> None:
        self.static = _static_files()
        self._navigation = [each for each in NAVIGATION if each[0] in paths]
        self._templates = Environment(
            loader=PackageLoader("toprank.live.pages", "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters.update(FILTERS, masked=masked, moment=moment, sentence=sentence)
        self._templates.globals.update(static=self._static_path)

    def render(self, template: str, **values: Any) -> str:
        """Return the text of a page; without a person, its header leads nowhere."""
        person = values["person"]
        shown = [] if person is None else [e for e in self._navigation if person.may(e[2])]
        navigation = [(path, name) for path, name, _ in shown]
        return self._templates.get_template(template).render(navigation=navigation, **values)

    def home(self, person: Any) -> str:
        """Return the path of the first page that a person may see."""
        return next(
            (path for path, _, action in self._navigation if person.may(action)), "/account"
        )

    def _static_path(self, name: str) -> str:
        return f"/static/{name}?v={self.static[name].version}"


def masked(card: str) -> str:
    """Return a card as pages show it: by its last four characters.

    >>> masked("4d1f0b7a99c4")
    '•••• 99c4'
    """
    return f"•••• {card[-4:]}"


def moment(microseconds: int | None) -> str:
    """Return a time to the minute, in UTC; "-" for none.

    >>> moment(0)
    '1970-01-01 00:00'
    """
    if microseconds is None:
        return "-"
    return time_text(microseconds)[:16].replace("T", " ")


def sentence(text: str) -> str:
    """Return an error of the library with a capital letter, as pages begin sentences.

    >>> sentence("the name must be short.")
    'The name must be short.'
    """
    return text[:1].upper() + text[1:]


def _static_files() -> dict[str, StaticFile]:
    found = {}
    for each in files("toprank.live.pages").joinpath("static").iterdir():
        content = each.read_bytes()
        media_type = guess_type(each.name)[0] or "application/octet-stream"
        version = hashlib.sha256(content).hexdigest()[:12]
        found[each.name] = StaticFile(content, media_type, version)
    return found
