"""Readings of figures, and the alarms that they raise and end."""

import json
from collections import Counter

import pytest

from live import databases
from live.checks.listed_cards import DAY, NOW, later
from toprank.live.checks import outbox
from toprank.live.checks.outbox import Delivery
from toprank.live.desk_settings import DeskSettings
from toprank.live.monitor import alarm_readings, alarm_watch
from toprank.live.monitor.alarm_readings import AlarmReading, Answers
from toprank.live.monitor.blind_comparison import BlindComparison
from toprank.live.monitor.desk_monitor import CheckedDay, DeskMonitor, LabelDelay
from toprank.live.monitor.missed_frauds import MissedFrauds
from toprank.live.store import alarm_table, audit_chain, outbox_table
from toprank.live.store.blind_check_table import SaidOfCards
from toprank.live.store.check_day_table import CheckDay
from toprank.metrics.intervals import Interval

SETTINGS = DeskSettings(alarm_url="http://localhost:1/alarms")


@pytest.fixture
def database(tmp_path):
    found = databases.create(tmp_path)
    yield found
    found.close()


def reading(value, name="recall", limit=0.5):
    return AlarmReading(name, value, limit, value < limit, value >= 0.6, f"recall is {value}.")


def look(database, *readings, settings=SETTINGS, at=NOW):
    return alarm_watch.look(database, readings, at, settings)


def open_now(database):
    with database.reading() as connection:
        return alarm_table.open_now(connection)


def test_an_alarm_is_raised_once_and_ends_after_three_calm_looks_in_a_row(database):
    assert look(database, reading(0.55)) == []
    (raised,) = look(database, reading(0.4))
    assert look(database, reading(0.3)) == []
    (found,) = open_now(database)
    assert (found.number, found.value, found.raised_at) == (raised.number, 0.3, NOW.desk)
    # up and down around the limits: it stays one alarm
    for value in (0.7, 0.7, 0.55, 0.7, 0.45, 0.7, 0.7):
        assert look(database, reading(value)) == []
    assert [each.number for each in open_now(database)] == [raised.number]
    look(database, reading(0.7), at=later(9))
    assert open_now(database) == []
    with database.reading() as connection:
        (ended,) = alarm_table.last_ended(connection)
        audited = [each.action for each in audit_chain.entries(connection)]
    assert ended.ended_at == later(9).desk
    assert sorted(audited) == ["alarm ended", "alarm raised"]
    assert len(look(database, reading(0.1))) == 1


def test_only_alarms_of_the_settings_are_sent_and_each_of_them_once(database):
    look(database, reading(0.4), reading(9.0, "queue age", 99.0))
    look(database, reading(0.3))
    sent = []

    def send(message, settings):
        sent.append((message.key, json.loads(message.body)))
        return Delivery(None, "no answer") if len(sent) == 1 else Delivery(200, "accepted")

    with database.writing() as connection:
        (message,) = outbox_table.due(connection, NOW.wall, 10)
    for _ in range(3):
        with database.writing() as connection:  # as if the time for another try had come
            connection.execute(outbox_table.outbox.update().values(next_at=0))
        outbox.deliver(database, SETTINGS, send)
    assert len(sent) == 2 and sent[0][0] == sent[1][0] == message.key  # one try more, same key
    assert sent[0][1]["name"] == "recall" and sent[0][1]["text"] == "recall is 0.4."


def test_without_an_address_nothing_is_sent_and_an_unknown_alarm_is_named(database):
    assert len(look(database, reading(0.4), settings=DeskSettings())) == 1
    with database.reading() as connection:
        assert outbox_table.due(connection, NOW.wall, 10) == []
    with pytest.raises(ValueError, match=r"alarms_that_page.*'recal'"):
        DeskSettings(alarms_that_page="precision, recal")


def test_an_alarm_is_acknowledged_by_one_person(database):
    (raised,) = look(database, reading(0.4))
    with database.writing() as connection:
        assert alarm_table.acknowledge(connection, raised.number, "person:anna", 5)
        assert not alarm_table.acknowledge(connection, raised.number, "person:ben", 6)
        (found,) = alarm_table.open_now(connection)
    assert (found.acknowledged_by, found.acknowledged_at) == ("person:anna", 5)


def checked_days(counts, held=()):
    return [
        CheckedDay(CheckDay(day, n, found), Interval(0.0, 0.0, 0.0), day not in held, 0.8)
        for day, (n, found) in enumerate(counts)
    ]


def figures(days=(), missed=None, oldest=None, delays=()):
    nothing = BlindComparison(SaidOfCards(), SaidOfCards(), None)
    found = DeskMonitor([], [], list(days), list(delays), [], 0, oldest, None, missed, nothing)
    readings = alarm_readings.of_figures(found, NOW.desk, SETTINGS)
    return {each.name: each for each in readings}


def test_precision_is_beyond_when_it_is_surely_half_of_what_it_was():
    good = [(40, 16)] * 20
    assert figures(checked_days(good + [(40, 15)] * 7))["precision"].is_calm
    fell = figures(checked_days(good + [(40, 5)] * 7))["precision"]
    assert fell.is_beyond and fell.limit == pytest.approx(0.2)
    unsure = figures(checked_days(good + [(40, 7)] * 7))["precision"]
    assert not unsure.is_beyond and not unsure.is_calm  # below the limit, and perhaps by chance
    assert "precision" not in figures(checked_days([(5, 0)]))  # too few to say


def test_recall_is_beyond_when_its_whole_interval_is_below_the_limit():
    def missed(value, low, high):
        return MissedFrauds(30, 150, 9, 10, 0, 9, Interval(9, 5, 90), Interval(value, low, high))

    assert figures(missed=missed(0.1, 0.05, 0.2))["recall"].is_beyond
    assert not figures(missed=missed(0.1, 0.05, 0.4))["recall"].is_beyond
    assert figures(missed=missed(0.5, 0.2, 0.9))["recall"].is_calm


def test_a_range_that_holds_too_rarely_is_beyond_chance():
    counts = [(40, 16)] * 12
    assert figures(checked_days(counts, held={4, 8}))["yield"].is_calm
    assert figures(checked_days(counts, held={2, 3, 5, 6, 8, 9, 10}))["yield"].is_beyond


def test_cards_that_wait_for_long_and_claims_later_than_silence_are_beyond():
    assert figures(oldest=NOW.desk - 4 * DAY)["queue age"].is_beyond
    assert figures(oldest=NOW.desk - DAY)["queue age"].is_calm
    late = [LabelDelay("claim", 100, 10.0, 31.0), LabelDelay("investigator", 9, 1.0, 90.0)]
    assert figures(delays=late)["label delay"].is_beyond


def test_slow_answers_are_beyond_if_there_were_enough_of_them():
    (slow,) = alarm_readings.of_answers(Answers(5_000, 0.02), 0.01)
    assert slow.is_beyond and "20 ms" in slow.text
    assert list(alarm_readings.of_answers(Answers(50, 0.02), 0.01)) == []


def test_other_first_reasons_are_beyond_when_they_are_more_than_chance():
    usual = Counter(amount=200, country=150, hour=50)
    (alike,) = alarm_readings.of_reasons(Counter(amount=100, country=80, hour=20), usual)
    (moved,) = alarm_readings.of_reasons(Counter(terminal=150, amount=50), usual)
    assert alike.is_calm and moved.is_beyond
    assert list(alarm_readings.of_reasons(Counter(amount=3), usual)) == []


def test_payments_unlike_the_training_rows_are_named_by_their_feature():
    scores, features = alarm_readings.of_shift(0.4, {"card_n_1h": 0.5, "hour": 0.3})
    assert scores.is_beyond and features.is_beyond
    assert "'card_n_1h'" in features.text and "1 other" in features.text
    assert all(each.is_calm for each in alarm_readings.of_shift(None, {}))
