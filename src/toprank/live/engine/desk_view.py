"""A desk as its pages see it beside the process that decides: its model, and nothing that acts."""

import os
from typing import Any, Protocol

from toprank.live.desk import Desk, clock_of, fields_of
from toprank.live.engine.audited_lookups import AuditedLookups
from toprank.live.messages import Answer, LabelGiven, PagesOnlyError, PaymentField
from toprank.live.store import model_table, payment_log, rule_set_table
from toprank.payments.features.past import LabelCounts
from toprank.payments.payment_model import PaymentModel


class ModelledDesk(Protocol):
    """A desk with the model that says what its payments and features are called."""

    desk: Desk
    model: PaymentModel
    fields: list[PaymentField]


class DeskView:
    """What a server of pages knows of its desk, as of the last `look`.

    Parameters
    ----------
    desk
        The folder.
    card_key
        The file of the key of cards, if the model was fitted with one.
    """

    def __init__(self, desk: Desk, card_key: str | os.PathLike[str] | None = None) -> None:
        self.desk = desk
        self.model, _ = desk.load_newest(card_key)
        self.fields = fields_of(self.model)
        self._seen: int | None = None
        self.look()

    def look(self) -> bool:
        """Read what others have changed; return whether they have."""
        database = self.desk.database
        with database.engine.connect() as connection:
            n_changes = database.n_changes(connection)  # before what it is about
        if n_changes == self._seen:
            return False
        with database.reading() as connection:
            self._clock = clock_of(self.desk, self.model, connection)
            in_use = model_table.in_use(connection)
            self.facts = {
                "position": payment_log.last_position(connection),
                "model": in_use and in_use.champion,
                "rule_set": rule_set_table.newest_number(connection),
            }
        self._seen = n_changes
        return True

    def now(self) -> int:
        """Return the desk's time, in microseconds."""
        return self._clock.now()


class EngineElsewhere:
    """In place of the engine, where that is another process: looks things up, and decides nothing.

    Attributes
    ----------
    is_ready
        Whether the database could be reached at the last look.
    """

    def __init__(self, view: DeskView) -> None:
        self._view = view
        self._lookups = AuditedLookups(view.desk.database)
        self.is_ready = True

    async def decide(self, payments: list[Any]) -> list[Answer]:
        """Raise PagesOnlyError."""
        raise PagesOnlyError

    async def label(self, labels: list[LabelGiven], who: str) -> LabelCounts:
        """Raise PagesOnlyError."""
        raise PagesOnlyError

    def payment(self, payment_id: str, who: str) -> dict[str, Any] | None:
        """Return what is known of a payment, None if there is none of this id; audited."""
        return self._lookups.payment(payment_id, who)

    def alerts(self, state: str, limit: int, after: str | None, who: str) -> list[dict[str, Any]]:
        """Return alerts of a state, the most probable first; audited."""
        return self._lookups.alerts(state, limit, after, who)

    def facts(self) -> dict[str, Any]:
        """Return what is known of the engine."""
        return self._view.facts
