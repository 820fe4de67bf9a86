from collections import Counter

import numpy as np
import pytest

from toprank.live.monitor import log_digest
from toprank.live.monitor.desk_monitor import DAY, N_DAYS, N_HOURS, WEEK, desk_monitor
from toprank.live.store import alert_table, check_day_table, label_table, payment_log
from toprank.live.store.check_day_table import CheckDay, check_days
from toprank.live.store.digest_tables import HOUR

SILENCE = 2 * DAY


@pytest.fixture(scope="module")
def found(counted):
    """The figures of a desk, with two days of checks."""
    log_digest.catch_up(counted.desk.database, counted.settings.alert_from)
    today = counted.now() // DAY
    chances = "[[-4,15],[0,5]]"  # 0.40 of 15 cards, 0.5 of 5
    days = [
        CheckDay(today - 1, 20, 6, 8.5, 4.9, 2, 1, chances),
        CheckDay(today, 0, 0, 0.0, 0.0, 1, 0),
    ]
    with counted.desk.database.writing() as connection:
        connection.execute(check_days.insert(), [each._asdict() for each in days])
        assert check_day_table.between(connection, today - 1, today) == days
    with counted.desk.database.reading() as connection:
        return desk_monitor(connection, counted.now(), SILENCE)


@pytest.fixture(scope="module")
def rows(counted):
    """The log, and the labels that hold, by payment."""
    with counted.desk.database.reading() as connection:
        logged = list(payment_log.after(connection, 0))
        return logged, label_table.holding(label_table.after(connection, 0))


def test_payments_are_counted_by_the_hour(counted, found, rows):
    by_hour = Counter(row.received_at // HOUR for row in rows[0])
    blocked = Counter(row.received_at // HOUR for row in rows[0] if row.decision == "block")
    assert len(found.hours) == N_HOURS and found.hours[-1].at // HOUR == counted.now() // HOUR
    for each in found.hours:
        assert (each.n_payments, each.n_blocked) == (
            by_hour[each.at // HOUR], blocked[each.at // HOUR]
        )  # fmt: skip
    assert sum(each.n_blocked for each in found.hours)


def test_alerts_are_counted_by_the_day_on_which_they_were_opened_and_closed(counted, found):
    with counted.desk.database.reading() as connection:
        alerts = [each for state in alert_table.STATES
                  for each in alert_table.in_order(connection, state, 10**6)]  # fmt: skip
    opened = Counter(each.opened_at // DAY for each in alerts)
    closed = Counter(each.updated_at // DAY for each in alerts if each.state == "closed")
    assert len(found.alert_days) == N_DAYS
    assert all(opened[each.day] == each.n_opened for each in found.alert_days)
    assert all(closed[each.day] == each.n_closed for each in found.alert_days)
    listed = [each for each in alerts if each.state in ("open", "taken")]
    assert found.n_listed == len(listed) > 0
    assert found.oldest == min(each.opened_at for each in listed)


def test_checks_have_their_precision_and_the_range_of_what_was_expected(found):
    first, second = found.checked_days
    assert first.precision.value == pytest.approx(0.3)
    assert first.precision.low < 0.3 < first.precision.high
    assert first.expected.value == pytest.approx(8.5, abs=0.1)
    assert 0 < first.expected.low < 8 and 9 < first.expected.high < 20
    assert first.is_held
    assert second.precision is None and second.expected.high == 0


def test_the_delay_of_labels_is_from_the_payment_to_when_its_fraud_was_known(found, rows):
    logged, held = rows
    by_source = {}
    for row in logged:
        label = held.get(row.id)
        if label is not None and label.is_fraud:
            by_source.setdefault(label.source, []).append(label.known_at - row.received_at)
    assert {each.source: each.n_frauds for each in found.delays} == {
        source: len(delays) for source, delays in by_source.items()
    }
    for each in found.delays:
        assert each.median == pytest.approx(np.median(by_source[each.source]) / DAY)


def test_a_label_is_final_when_it_was_given_or_the_payment_is_old(counted, found, rows):
    logged, held = rows
    now = counted.now()
    is_old = [row.received_at - row.received_at % HOUR < now - SILENCE for row in logged]
    is_final = [old or row.id in held for old, row in zip(is_old, logged, strict=True)]
    assert found.maturity == pytest.approx(np.mean(is_final))
    assert sum(each.n_final for each in found.weeks) == sum(is_final)
    last = found.weeks[-1]
    assert last.n_payments == len(logged) and last.at == now - WEEK  # all of them within a week
    assert last.n_labelled == sum(row.id in held for row in logged)
