"""The range of a day's checks follows what earlier days have found."""

import json

import pytest

from live.checks.listed_cards import NOW, SETTINGS, add_alert
from toprank.live.checks import kept_promise, queue
from toprank.live.store import check_day_table
from toprank.live.store.check_day_table import CheckDay, check_days


def add_days(connection, n_found, n_days=6, n_checks=40):
    """Days of checks before today, of cards with a chance of one half."""
    for day in range(NOW.day - n_days, NOW.day):
        row = CheckDay(
            day, n_checks, n_found, n_checks / 2, n_checks / 4, 0, 0, json.dumps([[0, n_checks]])
        )
        connection.execute(check_days.insert().values(row._asdict()))


def header(connection):
    for _ in range(12):
        add_alert(connection, 0.5, 1)
    return queue.header(connection, NOW, SETTINGS)


@pytest.mark.parametrize("n_found, least, most", [(20, 4.5, 5.5), (8, 1.5, 3.0), (32, 7.0, 8.5)])
def test_the_header_expects_what_the_last_days_have_found(connection, n_found, least, most):
    add_days(connection, n_found)
    found = header(connection)
    assert least < found.next_expected < most
    assert found.next_low <= found.next_expected <= found.next_high
    assert found.curve[-1].expected == pytest.approx(12 / 10 * found.next_expected)


def test_cards_are_worth_a_check_by_their_corrected_chance(connection):
    for _ in range(5):
        add_alert(connection, 0.07, 1)
    assert queue.header(connection, NOW, SETTINGS).worth_until == 5
    add_days(connection, 8)  # far fewer than expected: 0.07 is below 1 in 20 now
    assert queue.header(connection, NOW, SETTINGS).worth_until == 0


def test_the_range_of_a_day_is_that_of_what_was_known_before_it(connection):
    add_days(connection, 5)
    first, second, *_, last = kept_promise.day_ranges(connection, NOW.day - 6, NOW.day)
    assert first.expected.value == pytest.approx(20, abs=0.5) and not first.is_held
    assert second.expected.value < 15
    assert last.expected.value == pytest.approx(5, abs=2) and last.is_held


@pytest.mark.parametrize("n_checks, least, most", [(4, 0.85, 1.0), (400, 0.75, 0.85)])
def test_the_chance_of_a_range_is_larger_where_few_frauds_are_expected(
    connection, n_checks, least, most
):
    row = CheckDay(
        NOW.day - 1, n_checks, 0, 0.1 * n_checks, 0.09 * n_checks, 0, 0,
        json.dumps([[-22, n_checks]]),
    )  # fmt: skip
    connection.execute(check_days.insert().values(row._asdict()))
    (found,) = kept_promise.day_ranges(connection, NOW.day - 6, NOW.day)
    assert least < found.chance <= most


def test_the_chances_of_a_days_cards_are_kept_to_a_tenth_of_log_odds():
    stored = check_day_table._counted_chances([0.5, 0.5, 0.9, 0.0, 1.0])
    found = CheckDay(1, chances=stored).probabilities
    assert sorted(found)[1:4] == pytest.approx([0.5, 0.5, 0.9], abs=0.003)
    assert found[0] < 1e-4 and found[-1] > 1 - 1e-4
