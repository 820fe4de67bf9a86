"""What the routes need of a desk and its engine, and nothing else of them."""

from collections.abc import Awaitable
from typing import Any, Protocol

from toprank.live.messages import Answer, LabelGiven, Payment, PaymentField, TimeRange
from toprank.live.pages.page_kit import PageDesk
from toprank.live.store.api_keys import KeyRing
from toprank.payments.features.past import LabelCounts


class ServedEngine(Protocol):
    """Decides payments and takes labels; its methods are called in the event loop."""

    @property
    def is_ready(self) -> bool:
        """Whether payments can be decided."""

    def decide(self, payments: list[Payment]) -> Awaitable[list[Answer]]:
        """Decide payments; all are in the log when it returns.

        BusyError if too many wait; ConflictError if an id is known with other content.
        """

    def label(self, labels: list[LabelGiven], who: str) -> Awaitable[LabelCounts]:
        """Take labels, and count what became of them."""

    def payment(self, payment_id: str, who: str) -> dict[str, Any] | None:
        """Return what is known of a payment; called in a thread of its own.

        `who` is written to the audit, unless it is empty.
        """

    def alerts(self, state: str, limit: int, after: str | None, who: str) -> list[dict[str, Any]]:
        """Return alerts in the order of the queue; called in a thread of its own.

        `after` is the `cursor` of the alert after which to begin, ValueError if it is none.
        """

    def facts(self) -> dict[str, Any]:
        """Return what the engine is doing, for metrics."""


class ServedDesk(Protocol):
    """A desk that is being served."""

    @property
    def engine(self) -> ServedEngine:
        """What decides."""

    @property
    def keys(self) -> KeyRing:
        """Who may ask."""

    @property
    def pages(self) -> PageDesk:
        """What its pages are about."""

    @property
    def fields(self) -> list[PaymentField]:
        """The fields of its payments."""

    @property
    def is_tokenising(self) -> bool:
        """Whether cards are stored as keyed hashes, so that card numbers may be sent."""

    @property
    def times(self) -> TimeRange:
        """How far from now the time of a payment may be."""

    def now(self) -> int:
        """Return the desk's time in microseconds."""

    async def start(self) -> None:
        """Begin to decide; called once, in the event loop."""

    async def close(self) -> None:
        """Finish what was begun and close everything; called once, when no request is left."""
