"""Alerts as they are stored: every column comes back, and only what should change does."""

import pytest
import sqlalchemy as sa

from live import databases
from toprank.live.store import alert_table
from toprank.live.store.alert_table import CardAlert

FIRST = CardAlert(
    1, "A", "open", 10, 11, 0.5, 2.25, 7, ["much"], ["little"], ["large"], "m1", ["amount"], 0.6,
    0.7, 3, 99.5, 12, "anna", 13, 14, "ben",
)  # fmt: skip
LATER = CardAlert(
    1, "other", "unsure", 20, 21, 0.25, 4.5, 17, ["é", "odd"], [], ["a", "b"], "m2", ["", "x"],
    0.1, 0.2, 4, 100.5, 22, "carl", 23, 24, "dora",
)  # fmt: skip


@pytest.fixture
def connection(tmp_path):
    database = databases.create(tmp_path)
    with database.writing() as connection:
        yield connection
    database.close()


def test_an_alert_is_read_as_it_was_stored(connection):
    alert_table.open_new(connection, [FIRST])
    assert alert_table.open_of(connection, ["A", "B"]) == {"A": FIRST}
    assert alert_table.by_number(connection, 1) == FIRST
    assert alert_table.next_number(connection) == 2


def test_an_update_changes_all_but_who_has_it_and_where_it_is_in_its_life(connection):
    alert_table.open_new(connection, [FIRST, FIRST._replace(number=2, card="B")])
    alert_table.update(connection, [LATER])
    kept = ("card", "state", "opened_at", "held_by", "lease_until", "hidden_until", "escalated_by")
    expected = LATER._replace(**{name: getattr(FIRST, name) for name in kept})
    assert alert_table.by_number(connection, 1) == expected
    assert alert_table.by_number(connection, 2) == FIRST._replace(number=2, card="B")


def test_a_closed_alert_is_neither_open_nor_updated(connection):
    alert_table.open_new(connection, [FIRST._replace(state="closed")])
    alert_table.update(connection, [LATER])
    assert alert_table.open_of(connection, ["A"]) == {}
    assert alert_table.by_number(connection, 1) == FIRST._replace(state="closed")


def test_only_alerts_that_someone_was_unsure_of_are_reopened(connection):
    states = ("unsure", "taken", "unsure")
    found = [
        FIRST._replace(number=number, card=f"card {number}", state=state)
        for number, state in enumerate(states)
    ]
    alert_table.open_new(connection, found)
    alert_table.reopen(connection, [0, 1])
    alerts = alert_table.alerts
    stored = connection.execute(sa.select(alerts.c.state).order_by(alerts.c.number)).scalars()
    assert list(stored) == ["open", "taken", "unsure"]
