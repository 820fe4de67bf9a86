"""The audit: who did what, filtered, page by page, and whether its chain is whole."""

import threading
from typing import NamedTuple
from urllib.parse import urlencode

from starlette.responses import Response

from toprank.live.desk_clock import wall_time
from toprank.live.messages import BusyError
from toprank.live.pages.page_kit import PageError, PageRequest, PageRoute
from toprank.live.store import audit_chain
from toprank.live.store.audit_chain import AuditPage, BrokenChainError

_FILTERS = ("actor", "action", "subject")
_SHOWN = 100
_LONGEST_NUMBER = 18  # digits

_verifying = threading.Lock()


class Verification(NamedTuple):
    """What a look at the whole chain has found."""

    is_whole: bool
    says: str


async def audit_page(page: PageRequest) -> Response:
    """Return entries, the newest first."""
    return await _audit(page, None)


async def verify_audit(page: PageRequest) -> Response:
    """Check every entry of the chain, and return what was found."""

    def verify() -> Verification:
        # one at a time: it reads every entry
        if not _verifying.acquire(blocking=False):
            raise BusyError(5.0)
        try:
            with page.desk.database.reading() as connection:
                found = audit_chain.verify(connection)
        except BrokenChainError as error:
            return Verification(False, str(error))
        finally:
            _verifying.release()
        with page.desk.database.writing() as connection:
            details = {"entries": found.n_entries, "hash": found.hash}
            audit_chain.add(
                connection, wall_time(), page.person.actor, "audit verified", "audit", details
            )
        return Verification(
            True,
            f"All {found.n_entries:,} entries are as they were written. "
            f"The hash of the last one is {found.hash}",
        )

    return await _audit(page, await page.desk.run(verify))


async def _audit(page: PageRequest, verification: Verification | None) -> Response:
    filters = {name: page.query.get(name, "").strip()[:100] for name in _FILTERS}
    before = _number(page.query.get("before", ""))

    def read() -> AuditPage:
        with page.desk.database.reading() as connection:
            return audit_chain.page(connection, filters, before, _SHOWN)

    found = await page.desk.run(read)
    older = "" if found.next is None else f"/audit?{_query(filters, found.next)}"
    return page.render(
        "audit.html",
        entries=found.entries,
        n_read=found.n_read,
        filters=filters,
        before=before,
        newest=f"/audit?{_query(filters)}",
        older=older,
        verification=verification,
    )


def _number(text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER):
        raise PageError(400, "The page of the audit must begin at the number of an entry.")
    return int(text)


def _query(filters: dict[str, str], before: int | None = None) -> str:
    given = {name: value for name, value in filters.items() if value}
    return urlencode(given if before is None else {**given, "before": before})


AUDIT_PAGES = [
    PageRoute("GET", "/audit", "audit.view", audit_page),
    PageRoute("POST", "/audit/verify", "audit.view", verify_audit),
]
