"""The payments of cards that were drawn at random, with the chance of the draw."""

import sqlalchemy as sa

from toprank.live.store.alert_table import alert_payments
from toprank.live.store.random_check_table import random_checks


def chances(connection: sa.Connection) -> dict[int, float]:
    """Return by position, for each payment in an alert of a draw, the chance of that draw."""
    query = sa.select(alert_payments.c.position, random_checks.c.propensity).join(
        random_checks, random_checks.c.alert == alert_payments.c.alert
    )
    return {row.position: row.propensity for row in connection.execute(query)}
