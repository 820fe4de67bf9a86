"""The clock of a desk whose time is that of its payments."""

from toprank.live.desk_clock import DeskClock

DAY = 86_400_000_000
START = 20_000 * DAY


def clock(*times):
    found = DeskClock("payments", START)
    for each in times:
        found.see(each)
    return found.now()


def test_one_payment_of_a_wrong_year_does_not_move_the_clock():
    assert clock(START + 365 * DAY) == START
    assert clock(START + 365 * DAY, START + 5) == START + 5
    assert clock(START + 365 * DAY, START + 5, START + 365 * DAY) == START + 5


def test_after_a_pause_as_many_payments_as_days_bring_it_on():
    times = [START + 3 * DAY + each for each in range(5)]
    assert clock(*times[:2]) == START + DAY
    assert clock(*times[:3]) == START + 2 * DAY
    assert clock(*times) == times[-1]  # the first has moved nothing, three a day each


def test_within_a_day_it_is_the_time_of_the_newest_payment():
    assert clock(START + DAY, START + 1) == START + DAY
    assert DeskClock("payments", 0).after([START]) == START


def test_what_would_be_after_some_payments_does_not_move_it():
    found = DeskClock("payments", START)
    found.see(START + 3 * DAY)
    assert found.after([START + 3 * DAY]) == START + DAY
    assert found.now() == START
