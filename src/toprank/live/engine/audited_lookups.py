"""What others ask of a desk, with an entry of the audit for each answer; from any thread."""

from typing import Any

import sqlalchemy as sa

from toprank.live.desk_clock import wall_time
from toprank.live.engine import lookups
from toprank.live.messages import BusyError
from toprank.live.store import audit_chain
from toprank.live.store.desk_database import Database


class AuditedLookups:
    """Payments and alerts of a desk in plain values.

    Parameters
    ----------
    database
        That of the desk.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def payment(self, payment_id: str, who: str = "") -> dict[str, Any] | None:
        """Return what is known of a payment, None if there is none.

        With `who`, the audit has that they have seen it.
        """
        with self._database.reading() as connection:
            found = lookups.payment(connection, payment_id)
        if who and found is not None:
            self._saw(who, "payment viewed", f"payment:{payment_id}", {})
        return found

    def alerts(
        self, state: str, limit: int, after: str | None, who: str = ""
    ) -> list[dict[str, Any]]:
        """Return alerts of a state, the most probable first; see `payment`."""
        with self._database.reading() as connection:
            found = lookups.alerts(connection, state, limit, after)
        if who and found:
            seen = [each["alert"] for each in found]
            self._saw(who, "alerts viewed", f"{len(seen)} {state}", {"alerts": seen})
        return found

    def _saw(self, who: str, action: str, subject: str, details: dict[str, Any]) -> None:
        try:
            with self._database.writing() as connection:
                audit_chain.add(connection, wall_time(), who, action, subject, details)
        except sa.exc.OperationalError:
            raise BusyError(1.0) from None
