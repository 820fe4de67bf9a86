"""Draws, alerts, checks and labels written to the tables by hand, and the card-days they give."""

import pytest

from live import databases
from live.checks.listed_cards import DAY, NOW, add_alert
from toprank.live.monitor.drawn_days import drawn_days
from toprank.live.monitor.missed_frauds import DrawnDay
from toprank.live.store import (
    alert_table,
    check_table,
    digest_tables,
    label_table,
    random_check_table,
)
from toprank.live.store.check_table import Check
from toprank.live.store.digest_tables import known_frauds, log_hours
from toprank.live.store.label_table import DeskLabel
from toprank.live.store.random_check_table import RandomDraw

DRAW = NOW.desk + 3_600_000_000
HOUR = digest_tables.HOUR


@pytest.fixture
def connection(tmp_path):
    database = databases.create(tmp_path)
    with database.writing() as found:
        hour = {"hour": NOW.desk // HOUR * HOUR - HOUR, "first_position": 1, "n_payments": 1}
        found.execute(log_hours.insert().values(hour | {"n_blocked": 0, "n_labelled": 0}))
        yield found
    database.close()


def draw(connection, alerts, n_cards=100):
    drawn = RandomDraw(NOW.day, DRAW, DRAW - DAY, n_cards, len(alerts), "seed")
    random_check_table.add(connection, drawn, alerts)


def drawn_alert(connection):
    return add_alert(connection, 0.01, 1, opened_at=DRAW, updated_at=DRAW)


def fraud(connection, alert, at, source="claim"):
    """Say that the first payment of an alert is a fraud."""
    position = alert_table.positions_of(connection, alert)[0]
    card = alert_table.by_number(connection, alert).card
    number = label_table.last_number(connection) + 1
    row = DeskLabel(number, f"tx-{position}", card, True, at, source, "x", position, at)
    label_table.add(connection, [row])
    values = {"position": position, "at": NOW.desk, "card": card, "known_at": at, "source": source}
    connection.execute(known_frauds.insert().values(values))


def check(connection, alert, verdict="genuine", is_random=True, seen=None):
    positions = alert_table.positions_of(connection, alert)
    seen = positions[-1] if seen is None else seen
    check_table.add(
        connection,
        Check(0, alert, "person:anna", verdict, positions, "", "", "finished", DRAW + 1, NOW.day,
              0, 0, 0.5, is_random, seen),
    )  # fmt: skip


def found_day(connection):
    (day,) = drawn_days(connection, NOW.day, NOW.day)
    return day


def test_a_drawn_card_is_a_fraud_of_the_sample_once_it_is_known_as_one(connection):
    alerts = [drawn_alert(connection) for _ in range(4)]
    draw(connection, alerts)
    for each in alerts[:3]:
        check(connection, each)
    assert found_day(connection) == DrawnDay(NOW.day, 100, 4, 0, 0, 3, 0, 0, 0, 0)
    fraud(connection, alerts[0], DRAW + 5 * DAY)  # a claim after the verdict genuine
    assert found_day(connection) == DrawnDay(NOW.day, 100, 4, 0, 0, 3, 1, 0, 0, 1)


def test_a_claim_before_anyone_came_and_a_new_payment_settle_a_drawn_card(connection):
    claimed, raised, left = (drawn_alert(connection) for _ in range(3))
    draw(connection, [claimed, raised, left])
    fraud(connection, claimed, DRAW + 10)
    newer = add_alert(connection, 0.9, 1, state="closed")
    (position,) = alert_table.positions_of(connection, newer)
    connection.exec_driver_sql(
        f"UPDATE payments SET received_at = {DRAW + 50} WHERE position = {position}"
    )
    alert_table.add_payments(connection, [(raised, position)])
    check(connection, raised, seen=position)
    day = found_day(connection)
    assert (day.n_drawn, day.n_settled, day.n_settled_frauds, day.n_checked) == (3, 2, 1, 0)


def test_frauds_on_the_list_are_found_by_a_check_or_reported_and_never_drawn(connection):
    found, reported, closed = (add_alert(connection, 0.5) for _ in range(3))
    check(connection, found, "fraud", is_random=False)
    fraud(connection, found, DRAW + 2, "claim")  # confirmed later, and still found by the check
    fraud(connection, reported, DRAW - 5)
    values = {"updated_at": DRAW - 10}
    assert alert_table.change_state(connection, closed, "open", "closed", **values)
    fraud(connection, closed, DRAW + DAY)  # off the list when the draw was made
    draw(connection, [drawn_alert(connection)])
    day = found_day(connection)
    assert (day.n_found, day.n_reported, day.n_known) == (1, 1, 1)


def test_frauds_of_other_days_are_not_of_this_draw(connection):
    alert = add_alert(connection, 0.5)
    fraud(connection, alert, DRAW)
    random_check_table.add(
        connection, RandomDraw(NOW.day, DRAW + 2 * DAY, DRAW + DAY, 100, 1, ""), []
    )
    day = found_day(connection)
    assert (day.n_found, day.n_reported, day.n_known) == (0, 0, 0)


def test_without_draws_there_are_no_days(connection):
    assert drawn_days(connection, 0, 10**6) == []
