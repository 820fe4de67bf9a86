import json
from collections import defaultdict
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa

from live import databases, desks
from live.monitor import board_desk
from toprank.live.monitor import log_digest
from toprank.live.rules.desk_rules import DeskRules
from toprank.live.rules.rule_backtest import Outcomes
from toprank.live.rules.rule_board import BoardPeriod, BoardRow, rule_board
from toprank.live.store import alert_table, digest_tables, label_table, payment_log
from toprank.live.store.digest_tables import DAY
from toprank.live.store.rule_table import StoredRule

SILENCE = 2 * DAY


def counted_board(live, n_days=5, **options):
    log_digest.catch_up(live.desk.database, live.settings.alert_from, **options)
    with live.desk.database.reading() as connection:
        return rule_board(connection, live.now(), SILENCE, live.settings.alert_from, n_days)


def slow_figures(live, n_days=5):
    """The figures of the board, from log, scores, labels and alerts, one row at a time."""
    since = (live.now() // DAY - n_days + 1) * DAY
    mature_until = (live.now() - SILENCE) // DAY * DAY
    with live.desk.database.reading() as connection:
        rows = list(payment_log.scored_after(connection, 0))
        held = label_table.holding(label_table.after(connection, 0))
        alerts = [each for state in alert_table.STATES
                  for each in alert_table.in_order(connection, state, 10**6)]  # fmt: skip
    rows = [(row, score) for row, score in rows if row.received_at >= since]
    matched, live_finders = defaultdict(list), {}
    for row, score in rows:
        both = json.loads(row.matched) + json.loads(score.matched)
        if score.probability >= live.settings.alert_from:
            both.append([score.model, 0, "live"])
        live_finders[row.id] = {name for name, _, state in both if state == "live"}
        for name, version, _ in both:
            matched[name, version].append(row)
    is_fraud = {row.id: held[row.id].is_fraud for row, _ in rows if row.id in held}
    fraud_cards = {row.card for row, _ in rows if is_fraud.get(row.id)}
    figures = {}
    for key, found in matched.items():
        name = key[0]
        mature = [row for row in found if row.received_at < mature_until]
        newer = [row for row in found if row.received_at >= mature_until]
        frauds = [row for row in found if is_fraud.get(row.id)]
        n_frauds = sum(is_fraud.get(row.id, False) for row in mature)
        by_rule = [each for each in alerts if each.opened_at >= since and (
            each.probability >= live.settings.alert_from if name == live.model_name
            else name in each.rules)]  # fmt: skip
        figures[key] = (
            Outcomes(n_frauds, len(mature) - n_frauds, 0),
            Outcomes(*(sum(is_fraud.get(row.id) is each for row in newer)
                       for each in (True, False, None))),
            len(by_rule),
            len({row.card for row in frauds}) / len(fraud_cards),
            sum(not live_finders[row.id] - {name} for row in frauds),
        )  # fmt: skip
    return figures


def figures_of(board):
    return {
        (row.name, row.version): (
            row.mature, row.provisional, row.n_alerts, row.detection_rate.value, row.n_only
        )
        for row in board.rows
    }  # fmt: skip


def test_the_board_has_the_figures_that_reading_the_whole_log_gives(counted):
    board = counted_board(counted)
    found = figures_of(board)
    assert found == slow_figures(counted)
    assert set(found) == {*((name, 1) for name in board_desk.RULES), (counted.model_name, 0)}
    everything = found["all", 1]
    assert everything[0].fraud and everything[0].genuine and everything[1].unknown
    assert any(figures[4] for figures in found.values())


def test_a_backtest_of_the_mature_days_counts_as_the_board_does(counted):
    board = counted_board(counted)
    days = [
        datetime.fromtimestamp(each / 1e6, UTC).date()
        for each in (board.period.since, board.period.mature_until - DAY)
    ]
    # the board is by when payments were received, a backtest by when they were paid
    with counted.desk.database.reading() as connection:
        n_moved = sum(
            (row.received_at < board.period.mature_until)
            - (row.paid_at < board.period.mature_until)
            - (row.received_at < board.period.since)
            + (row.paid_at < board.period.since)
            for row in payment_log.after(connection, 0)
        )
    (row,) = (row for row in board.rows if row.name == "all")  # a rule that matches everything
    rules = DeskRules(counted.desk)
    found = rules.backtest("all", since=days[0], until=days[1])
    rules.model.close()
    assert found.matches == found.payments and found.payments.unknown == 0
    assert found.payments.total + n_moved == row.mature.total
    assert found.payments.genuine > 20 * found.payments.fraud, "most have no label at all"
    assert found.matches.precision == pytest.approx(row.mature_precision.value, abs=0.01)


@databases.only_sqlite
def test_the_frauds_of_the_board_are_read_from_an_index_of_frauds_alone(counted):
    columns = digest_tables.rule_matches.c
    query = sa.select(columns.card).where(columns.position >= 7, digest_tables.IS_FRAUD)
    text = query.compile(counted.desk.database.engine, compile_kwargs={"literal_binds": True})
    with counted.desk.database.reading() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}").all()
    assert [row.detail for row in plan] == [
        "SEARCH rule_matches USING INDEX rule_matches_of_frauds (position>?)"
    ]


def test_a_shorter_period_has_the_figures_of_its_payments_alone(counted):
    assert figures_of(counted_board(counted, 3)) == slow_figures(counted, 3)


def test_the_weeks_of_a_rule_add_up_to_its_matches(counted):
    for row in counted_board(counted, 20).rows:
        assert [week.weeks_ago for week in row.weeks] == [2, 1, 0]
        assert sum(week.matches.total for week in row.weeks) == row.matches.total
    assert max(week.matches.total for week in row.weeks[:1]) == 0


def test_the_period_counts_all_payments_and_those_that_are_mature(counted):
    period = counted_board(counted).period
    with counted.desk.database.reading() as connection:
        times = [row.received_at for row in payment_log.after(connection, 0)]
    assert period.n_payments == sum(at >= period.since for at in times)
    assert period.n_mature == sum(period.since <= at < period.mature_until for at in times)
    assert 0 < period.maturity < 1


def test_counting_in_small_steps_as_payments_and_labels_come_gives_the_same(
    model_file, later, tmp_path
):
    with desks.new_desk(tmp_path / "desk", model_file, silence="2d", breaker_share=1.0) as desk:
        board_desk.add_rules(desk)
        live = desks.live(desk)
        half = len(later) // 2
        board_desk.pay(live, later[:half])
        log_digest.count_some(desk.database, live.settings.alert_from, most=70)
        board_desk.give_labels(live, later[:half])
        counted_board(live)
        live.decide(later[half : half + 30])  # not scored when the others are counted
        counted_board(live)
        board_desk.pay(live, later[half + 30 :])
        for _ in range(9):
            log_digest.count_some(desk.database, live.settings.alert_from, most=41)
        board_desk.give_labels(live, later)
        assert figures_of(counted_board(live)) == slow_figures(live)
        with desk.database.reading() as connection:
            hours = connection.execute(digest_tables.log_hours.select()).all()
            labelled = label_table.holding(label_table.after(connection, 0))
            logged = {row.id for row in payment_log.after(connection, 0)}
        assert sum(each.n_labelled for each in hours) == len(set(labelled) & logged)
        assert sum(each.n_payments for each in hours) == len(later)
        live.close()


def test_counting_stops_when_its_time_is_over_and_says_so(desk, later):
    live = desks.live(desk)
    board_desk.pay(live, later[:60])
    assert not log_digest.catch_up(desk.database, 0.02, most_seconds=-1)
    assert log_digest.catch_up(desk.database, 0.02)
    live.close()


def row_with(n_fraud, n_genuine, n_cards=50, n_only=1, state="live"):
    period = BoardPeriod(0, 90 * DAY, 60 * DAY, 150_000, 100_000, 500, 1_000)
    rule = StoredRule("r", 1, "alert", "amount > 1", "", "person:anna", 0, state, None)
    return BoardRow("r", 1, rule, period, Outcomes(n_fraud, n_genuine, 0), Outcomes(0, 0, 0), 0,
                    n_cards, n_only, [])  # fmt: skip


@pytest.mark.parametrize(
    "row, said",
    [
        (row_with(30, 300), []),
        (row_with(1, 300), ["a check is worth it from 5 % on"]),
        (row_with(0, 20), []),  # too few to say
        (row_with(200, 900), ["0.9 % of the genuine payments"]),
        (row_with(3, 10, n_cards=2, n_only=0), ["2 of 1,000 cards"]),
        (row_with(3, 10, n_cards=2, n_only=1), []),  # nobody else found it
        (row_with(1, 300, state="retired"), []),
    ],
)
def test_a_rule_is_to_be_retired_when_a_threshold_is_passed_beyond_chance(row, said):
    assert len(row.retire_reasons) == len(said)
    assert all(part in reason for part, reason in zip(said, row.retire_reasons, strict=True))


def test_a_board_without_payments_has_no_figures(desk):
    with desk.database.reading() as connection:
        board = rule_board(connection, 10 * DAY, DAY, 0.02)
    assert board.rows == [] and board.period.n_payments == 0
