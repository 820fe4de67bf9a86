"""What alerts were raised for: the feature of the first reason of each."""

import json
from collections import Counter

import sqlalchemy as sa

from toprank.live.store.alert_table import alerts


def first_reasons(connection: sa.Connection, since: int, until: int) -> Counter[str]:
    """Return how many alerts that were opened in a span have each feature as first reason."""
    query = sa.select(alerts.c.reason_features).where(
        alerts.c.opened_at >= since, alerts.c.opened_at < until
    )
    found = (json.loads(text) for text in connection.execute(query).scalars())
    return Counter(features[0] for features in found if features)
