"""Decisions: what was decided of each payment, by which rules, and what became known of it."""

from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from typing import Any
from urllib.parse import urlencode

import sqlalchemy as sa
from starlette.responses import Response

from toprank.live.checks.day import DecisionRow, decisions
from toprank.live.desk_clock import wall_time
from toprank.live.engine.lookups import time_text
from toprank.live.pages.check_requests import change, field_names, look
from toprank.live.pages.csv_export import csv_response
from toprank.live.pages.page_kit import PageDesk, PageError, PageRequest, PageRoute
from toprank.live.pages.page_templates import masked
from toprank.live.store import audit_chain

_N_ROWS, _MOST_EXPORTED = 50, 10_000
_DAY = 86_400_000_000
_HEADER = ("payment", "card", "terminal", "paid_at", "amount", "decision", "rules", "label")


@dataclass(frozen=True)
class DecisionFilters:
    """Which decisions to show; an empty text does not filter."""

    decision: str = ""
    rule: str = ""
    since: str = ""
    until: str = ""

    @classmethod
    def read(cls, given: dict[str, str]) -> "DecisionFilters":
        """Return the filters in an address or a form; a page says what is wrong with them."""
        found = cls(**{name: given.get(name, "").strip()[:100] for name in cls.__annotations__})
        if found.decision not in ("", "accept", "block"):
            raise PageError(400, f"The decision must be accept or block; got {found.decision!r}.")
        return found

    def arguments(self) -> dict[str, Any]:
        """Return what `decisions` takes; the last day is included."""
        since, until = _moment(self.since), _moment(self.until)
        return {
            "decision": self.decision or None,
            "rule": self.rule or None,
            "since": since,
            "until": None if until is None else until + _DAY,
        }


async def decisions_page(page: PageRequest) -> Response:
    """Return decisions, the newest first."""
    filters = DecisionFilters.read(page.query)
    after = page.query.get("after", "")
    rows = await look(page, _read, page.desk, filters, int(after) if after.isdigit() else None)
    shown = {name: value for name, value in asdict(filters).items() if value}
    is_more = len(rows) == _N_ROWS
    more = f"/decisions?{urlencode(shown | {'after': rows[-1].position})}" if is_more else None
    return page.render(
        "decisions.html",
        rows=rows,
        filters=asdict(filters),
        more=more,
        may_export=page.person.may("decisions.export"),
    )


async def export(page: PageRequest) -> Response:
    """Return decisions as CSV; the audit has who took them, and which."""
    filters = DecisionFilters.read({name: page.field(name) for name in page.form})
    rows = await change(page, _export, page.desk, filters, page.person.actor)
    return csv_response("decisions", _HEADER, [_exported(each) for each in rows])


def _read(
    connection: sa.Connection,
    desk: PageDesk,
    filters: DecisionFilters,
    after: int | None = None,
    limit: int = _N_ROWS,
) -> list[DecisionRow]:
    amount = field_names(desk)["amount"]
    return decisions(
        connection, amount, after=after, limit=limit, blind_share=desk.settings.blind_share,
        **filters.arguments(),
    )  # fmt: skip


def _export(
    connection: sa.Connection, desk: PageDesk, filters: DecisionFilters, who: str
) -> list[DecisionRow]:
    rows = _read(connection, desk, filters, None, _MOST_EXPORTED)
    details = asdict(filters) | {"rows": len(rows)}
    audit_chain.add(connection, wall_time(), who, "decisions exported", "decisions", details)
    return rows


def _exported(row: DecisionRow) -> list[Any]:
    return [
        row.id, masked(row.card), row.terminal, time_text(row.paid_at), row.amount, row.decision,
        " ".join(row.rules), row.label,
    ]  # fmt: skip


def _moment(text: str) -> int | None:
    """Return the beginning of a day that a form gave, None if it gave none."""
    if not text:
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise PageError(400, f"A day must be like 2025-03-31; got {text[:20]!r}.") from None
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1_000_000


DECISIONS_PAGES = [
    PageRoute("GET", "/decisions", "decisions.view", decisions_page),
    PageRoute("POST", "/decisions/export", "decisions.export", export),
]
