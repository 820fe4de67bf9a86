import numpy as np
import pytest
import sqlalchemy as sa

from live import databases
from live.checks.listed_cards import DAY, NOW, SETTINGS, add_alert, later
from toprank.live.checks import check_verdicts, claims, queue
from toprank.live.engine.card_chance import card_chance

ANNA = "person:anna"


def test_the_queue_is_by_expected_frauds_never_by_amount_and_of_equal_cards_by_age(connection):
    add_alert(connection, 0.2, amount=9_000.0)
    first = add_alert(connection, 0.7, amount=1.0)
    older, younger = add_alert(connection, 0.4), add_alert(connection, 0.4)
    rows = queue.queue(connection)
    assert [row.alert for row in rows] == [first, older, younger, 1]
    assert (rows[0].why, rows[0].raised_by) == ("a reason", ["model"])


def test_pages_of_the_queue_together_are_the_queue(connection):
    rng = np.random.default_rng(0)
    for chance in rng.choice([0.1, 0.2, 0.5, 0.7], 60):  # many ties
        add_alert(connection, float(chance), 1)
    pages = [queue.queue(connection, 7)]
    while pages[-1]:
        pages.append(queue.queue(connection, 7, pages[-1][-1].cursor))
    assert [row for page in pages for row in page] == queue.queue(connection, 100)
    with pytest.raises(ValueError, match="cursor"):
        queue.queue(connection, 7, "nonsense")


def test_a_card_that_someone_holds_is_in_the_queue_with_their_name_and_decided_ones_are_not(
    connection,
):
    held, decided = add_alert(connection, 0.5), add_alert(connection, 0.4)
    for number in (held, decided):
        claims.claim(connection, number, ANNA, NOW, SETTINGS)
    check_verdicts.decide(connection, decided, ANNA, "genuine", [3], "", "", NOW, SETTINGS)
    (row,) = queue.queue(connection)
    assert (row.alert, row.held_by) == (held, ANNA)


def test_the_header_says_what_the_next_checks_are_expected_to_find(connection):
    for chance in np.linspace(0.06, 0.9, 18):
        add_alert(connection, float(chance), 1)
    add_alert(connection, 0.01, 1)
    found = queue.header(connection, NOW, SETTINGS)
    next_ten = np.linspace(0.06, 0.9, 18)[8:]
    assert (found.n_checked, found.capacity, found.next_n) == (0, 20, 10)
    # before any outcome, chances may be off either way
    assert found.next_expected == pytest.approx(next_ten.sum(), rel=0.02)
    assert 0 < found.next_low < found.next_expected < found.next_high <= 10
    assert found.worth_until == 18
    checks = [point.checks for point in found.curve]
    assert len(checks) == 12 and checks == sorted(set(checks)) and checks[-1] == 19
    expected = [point.expected for point in found.curve]
    assert expected == sorted(expected)


def test_the_range_of_the_header_contains_what_is_found_in_as_many_cases_as_it_says(connection):
    chances = np.array([0.9, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.1, 0.05])
    for chance in chances:
        add_alert(connection, float(chance), 1)
    found = queue.header(connection, NOW, SETTINGS)
    frauds = (np.random.default_rng(1).random((20_000, 10)) < chances).sum(axis=1)
    share = np.mean((frauds >= found.next_low) & (frauds <= found.next_high))
    assert 0.72 < share < 0.92  # counts are whole: no range contains just 80 %


def test_the_header_counts_today_and_compares_what_was_expected_with_what_was_found(connection):
    for chance, verdict in ((0.5, "fraud"), (0.25, "genuine")):
        number = add_alert(connection, chance, 1)
        claims.claim(connection, number, ANNA, NOW, SETTINGS)
        check_verdicts.decide(connection, number, ANNA, verdict, [number], "", "", NOW, SETTINGS)
    for check in check_verdicts.due(connection, later(31)):
        check_verdicts.finish(connection, check, later(31))
    found = queue.header(connection, NOW, SETTINGS)
    assert (found.n_checked, found.n_found, found.n_expected_so_far) == (2, 1, 0.75)
    (day,) = found.days
    assert day[:5] == (NOW.day, 2, 1, 0.75, 0.25 + 0.1875)
    assert found.maturity == 1.0
    tomorrow = NOW._replace(desk=NOW.desk + DAY)
    assert queue.header(connection, tomorrow, SETTINGS).n_checked == 0


@databases.only_sqlite
def test_the_queue_and_its_header_are_read_from_indexes_alone(database):
    plans = []

    def explain(connection, _, statement, values, *__):
        raw = connection.connection.dbapi_connection
        found = raw.execute(f"EXPLAIN QUERY PLAN {statement}", values).fetchall()
        plans.extend(step for *_, step in found if "alerts" in step or "ORDER BY" in step)

    with database.writing() as connection:
        number = add_alert(connection, 0.125)
    sa.event.listen(database.engine, "before_cursor_execute", explain)
    with database.reading() as connection:
        queue.queue(connection)
        queue.queue(connection, 50, str(number))
        queue.header(connection, NOW, SETTINGS)
        claims.n_over(connection, NOW)
    assert len(plans) > 5
    # the alert that a cursor names is one row, by its number
    one_row = "SEARCH alerts USING INTEGER PRIMARY KEY (rowid=?)"
    assert plans.count(one_row) == 1
    others = [step for step in plans if step != one_row]
    assert all("INDEX alerts_" in step for step in others), plans  # no sorting, nor all rows


def test_an_empty_queue_has_a_header(connection):
    found = queue.header(connection, NOW, SETTINGS)
    assert (found.next_n, found.next_expected, found.curve, found.maturity) == (0, 0.0, [], None)


def test_the_chance_of_a_card_is_between_that_of_its_worst_payment_and_independent_ones():
    chances = [0.1, 0.4, 0.3]
    assert card_chance([]) == 0 and card_chance([0.2, 1.0]) == 1
    assert 0.4 < card_chance(chances) < 1 - 0.9 * 0.6 * 0.7
    assert card_chance([*chances, 0.01]) > card_chance(chances)
